//! Classifies real-world assets.

use serde::Serialize;

use crate::macro_data::Market;

/// A class of real-world assets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum AssetClass {
    /// Shares of one company, or funds of shares.
    Equities,
    /// Indices of shares.
    Indices,
    /// Metals, energy and crops.
    Commodities,
    /// Currencies.
    Fx,
}

/// How an asset is classified.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Classification {
    /// A real-world asset with a public market.
    Asset(AssetClass),
    /// A company without a public market. Its price cannot be checked.
    Private,
    /// A crypto asset, which is not a real-world asset.
    Crypto,
    /// An unknown asset.
    Unknown,
}

impl AssetClass {
    /// Its name in an answer.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Equities => "equities",
            Self::Indices => "indices",
            Self::Commodities => "commodities",
            Self::Fx => "fx",
        }
    }

    /// The market that its oracle follows.
    #[must_use]
    pub fn market(self) -> Market {
        match self {
            Self::Equities | Self::Indices => Market::EquitiesDayAndNight,
            Self::Commodities => Market::CommodityFutures,
            Self::Fx => Market::Currencies,
        }
    }
}

/// Assets by the name after the dex, for markets to which the venue gives no category. The table
/// lists only well-known names, and no ambiguous one.
const KNOWN: [(AssetClass, &[&str]); 4] = [
    (
        AssetClass::Equities,
        &[
            "AAPL", "AMD", "AMZN", "BABA", "COIN", "COST", "CRCL", "GME", "GOOGL", "HOOD", "INTC",
            "LLY", "META", "MSFT", "MSTR", "MU", "NFLX", "NVDA", "ORCL", "PLTR", "QQQ", "RIVN",
            "SPY", "TSLA", "TSM",
        ],
    ),
    (
        AssetClass::Indices,
        &[
            "XYZ100",
            "SP500",
            "US500",
            "NDX",
            "NAS100",
            "USTECH",
            "JP225",
            "KR200",
            "SMALL2000",
        ],
    ),
    (
        AssetClass::Commodities,
        &[
            "GOLD",
            "SILVER",
            "COPPER",
            "PLATINUM",
            "PALLADIUM",
            "CL",
            "OIL",
            "USOIL",
            "WTI",
            "BRENT",
            "BRENTOIL",
            "NATGAS",
            "ALUMINIUM",
            "URANIUM",
            "CORN",
            "WHEAT",
        ],
    ),
    (
        AssetClass::Fx,
        &["EUR", "JPY", "GBP", "CHF", "CAD", "AUD", "KRW", "DXY"],
    ),
];

/// Companies without a public market that are traded as perpetuals.
const PRIVATE: [&str; 3] = ["SPACEX", "OPENAI", "ANTHROPIC"];

/// Classifies `coin` (`"dex:NAME"`): by the venue's category if that is known, otherwise by the
/// name.
#[must_use]
pub fn classify(coin: &str, categories: &[(String, String)]) -> Classification {
    let category = categories
        .iter()
        .find(|(of, _)| of == coin)
        .map(|(_, category)| category);
    let name = coin.split_once(':').map_or(coin, |(_, name)| name);
    category
        .and_then(|category| of_category(category))
        .unwrap_or_else(|| of_name(name))
}

fn of_category(category: &str) -> Option<Classification> {
    Some(match category.trim().to_ascii_lowercase().as_str() {
        "stocks" | "stock" | "equities" | "equity" | "etf" | "etfs" => {
            Classification::Asset(AssetClass::Equities)
        }
        "indices" | "index" => Classification::Asset(AssetClass::Indices),
        "commodities" | "commodity" | "metals" | "energy" => {
            Classification::Asset(AssetClass::Commodities)
        }
        "fx" | "forex" | "currencies" => Classification::Asset(AssetClass::Fx),
        "preipo" | "pre-ipo" | "private" => Classification::Private,
        "crypto" => Classification::Crypto,
        _ => return None,
    })
}

fn of_name(name: &str) -> Classification {
    if PRIVATE.contains(&name) {
        return Classification::Private;
    }
    let class = KNOWN.iter().find(|(_, names)| names.contains(&name));
    class.map_or(Classification::Unknown, |(class, _)| {
        Classification::Asset(*class)
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn the_venue_decides_before_the_name() {
        let categories = vec![
            ("xyz:GOLD".to_owned(), "stocks".to_owned()),
            ("xyz:NVDA".to_owned(), "memes".to_owned()),
            ("vntl:TSLA".to_owned(), "preipo".to_owned()),
        ];
        let of = |coin: &str| classify(coin, &categories);
        // The venue says that this is a miner with the metal's name.
        assert_eq!(of("xyz:GOLD"), Classification::Asset(AssetClass::Equities));
        assert_eq!(
            of("flx:GOLD"),
            Classification::Asset(AssetClass::Commodities)
        );
        assert_eq!(of("xyz:NVDA"), Classification::Asset(AssetClass::Equities));
        assert_eq!(of("vntl:TSLA"), Classification::Private);
        assert_eq!(of("vntl:SPACEX"), Classification::Private);
        // A Cyrillic letter makes it another name.
        for unknown in ["xyz:NEWCO", "xyz:ТSLA", "xyz:tsla", "", ":"] {
            assert_eq!(of(unknown), Classification::Unknown, "{unknown}");
        }
    }

    #[test]
    fn a_name_has_one_class() {
        let mut seen = BTreeSet::new();
        for name in KNOWN.iter().flat_map(|(_, names)| *names).chain(&PRIVATE) {
            assert!(seen.insert(*name), "{name} twice");
        }
    }
}
