//! The name of a coin's perpetual at each venue.

use super::Venue;
use crate::{Decimal, symbol::SymbolKey};

/// The perpetual of a coin at one venue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contract {
    /// The venue's name.
    pub name: String,
    /// How many coins one unit is: a thousand for `1000PEPEUSDT`.
    pub coins: Decimal,
}

/// Cheap coins of which some venues quote a thousand at once: the coin, and the names of that
/// thousand at Hyperliquid, Binance and Bybit. OKX quotes single coins.
const THOUSANDS: [(&str, &str, &str, &str); 5] = [
    ("PEPE", "kPEPE", "1000PEPEUSDT", "1000PEPEUSDT"),
    ("SHIB", "kSHIB", "1000SHIBUSDT", "SHIB1000USDT"),
    ("BONK", "kBONK", "1000BONKUSDT", "1000BONKUSDT"),
    ("FLOKI", "kFLOKI", "1000FLOKIUSDT", "1000FLOKIUSDT"),
    ("LUNC", "kLUNC", "1000LUNCUSDT", "1000LUNCUSDT"),
];

/// Returns the coin of a caller's symbol: `kPEPE` and `1000PEPE` are `PEPE`. `None` for a name that
/// no venue can list, because other characters than ASCII letters and digits may imitate a name.
#[must_use]
pub fn coin_of(symbol: &SymbolKey) -> Option<String> {
    let text = symbol.as_str();
    let listable = text.len() <= 20 && text.bytes().all(|byte| byte.is_ascii_alphanumeric());
    if !listable {
        return None;
    }
    let thousand = THOUSANDS.iter().find(|(coin, hyperliquid, ..)| {
        text.strip_prefix("1000") == Some(coin) || hyperliquid.eq_ignore_ascii_case(text)
    });
    Some(thousand.map_or(text, |(coin, ..)| coin).to_owned())
}

/// Returns the perpetual of `coin` against dollars at `venue`.
#[must_use]
pub fn contract_for(venue: Venue, coin: &str) -> Contract {
    let thousand = THOUSANDS.iter().find(|(of, ..)| *of == coin);
    let single = |name: String| Contract {
        name,
        coins: Decimal::ONE,
    };
    let thousand_of = |name: &str| Contract {
        name: name.to_owned(),
        coins: Decimal::ONE_THOUSAND,
    };
    match (venue, thousand) {
        (Venue::Okx, _) => single(format!("{coin}-USDT-SWAP")),
        (Venue::Hyperliquid, None) => single(coin.to_owned()),
        (Venue::Binance | Venue::Bybit, None) => single(format!("{coin}USDT")),
        (Venue::Hyperliquid, Some((_, name, _, _)))
        | (Venue::Binance, Some((_, _, name, _)))
        | (Venue::Bybit, Some((_, _, _, name))) => thousand_of(name),
    }
}

/// Returns the coin of the perpetual that `venue` calls `name`, and how many coins one unit is.
/// `None` for other contracts: dated futures, other quote currencies, deployed markets, and
/// multiples that are not listed.
#[must_use]
pub fn coin_of_contract(venue: Venue, name: &str) -> Option<(String, Contract)> {
    let stem = match venue {
        Venue::Hyperliquid => name,
        Venue::Okx => name.strip_suffix("-USDT-SWAP")?,
        Venue::Binance | Venue::Bybit => name.strip_suffix("USDT")?,
    };
    let known = THOUSANDS
        .iter()
        .find(|(_, hyperliquid, binance, bybit)| match venue {
            Venue::Hyperliquid => *hyperliquid == name,
            Venue::Binance => *binance == name,
            Venue::Bybit => *bybit == name,
            Venue::Okx => false,
        });
    let coin = match known {
        Some((coin, ..)) => (*coin).to_owned(),
        None => {
            let plain = stem
                .bytes()
                .all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit());
            // The name may be another multiple of a coin. Without the multiple, its price has no
            // meaning.
            let multiple = stem.starts_with("1000") || stem.ends_with("1000");
            (plain && !multiple && !stem.is_empty()).then(|| stem.to_owned())?
        }
    };
    let contract = contract_for(venue, &coin);
    (contract.name == name).then_some((coin, contract))
}

#[cfg(test)]
mod tests {
    use super::*;

    const VENUES: [Venue; 4] = [Venue::Hyperliquid, Venue::Binance, Venue::Okx, Venue::Bybit];

    #[test]
    fn names_lead_to_the_coin_and_back() {
        for venue in VENUES {
            for coin in ["BTC", "ETH", "PEPE", "SHIB", "1INCH"] {
                let contract = contract_for(venue, coin);
                let found = coin_of_contract(venue, &contract.name);
                assert_eq!(found, Some((coin.to_owned(), contract)), "{venue:?} {coin}");
            }
        }
        let shib = contract_for(Venue::Bybit, "SHIB");
        assert_eq!(
            (shib.name.as_str(), shib.coins),
            ("SHIB1000USDT", Decimal::ONE_THOUSAND)
        );
        assert_eq!(contract_for(Venue::Okx, "SHIB").coins, Decimal::ONE);
    }

    #[test]
    fn other_contracts_have_no_coin() {
        for (venue, name) in [
            (Venue::Binance, "BTCUSDC"),
            (Venue::Binance, "BTCUSDT_261225"),
            (Venue::Binance, "1000000MOGUSDT"),
            (Venue::Binance, "PEPEUSDT"),
            (Venue::Bybit, "1000SHIBUSDT"),
            (Venue::Okx, "BTC-USD-SWAP"),
            (Venue::Hyperliquid, "xyz:NVDA"),
            (Venue::Hyperliquid, "kDOGS"),
            (Venue::Hyperliquid, ""),
            (Venue::Bybit, "USDT"),
        ] {
            assert_eq!(coin_of_contract(venue, name), None, "{venue:?} {name}");
        }
    }

    #[test]
    fn spellings_of_a_coin_are_one_symbol() {
        let of = |text: &str| coin_of(&SymbolKey::new(text).unwrap());
        assert_eq!(of("$btc").as_deref(), Some("BTC"));
        for pepe in ["pepe", "kPEPE", "1000pepe"] {
            assert_eq!(of(pepe).as_deref(), Some("PEPE"), "{pepe}");
        }
        // These names have Cyrillic letters, a path or a query.
        for no_coin in ["ВТС", "BTC/../x", "BTC&limit=1", "xyz:NVDA", "BTC USDT"] {
            assert_eq!(of(no_coin), None, "{no_coin}");
        }
    }
}
