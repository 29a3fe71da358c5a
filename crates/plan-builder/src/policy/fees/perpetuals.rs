//! The part of a fee configuration about the perpetuals rail.

use std::collections::BTreeSet;

use alloy_primitives::Address;
use calldata_checks::{
    fees::{BasisPoints, FeePolicy, PerpBuilder, ReviewedPerpAsset},
    perp_order::{PERP_DEX_SIZE, is_perpetual},
};
use exact::address::ConfiguredAddress;
use serde::Deserialize;

use super::{MOST_ROWS, Problems};

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PerpetualsTable {
    builder: Option<ConfiguredAddress>,
    fee_tenth_bps: Option<u64>,
    max_trigger_slippage_bps: Option<u64>,
    max_price_deviation_bps: Option<u64>,
    #[serde(default)]
    assets: Vec<PerpAssetTable>,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
struct PerpAssetTable {
    coin: String,
    asset: u32,
    sz_decimals: u8,
}

/// The tolerance of a market trigger when none is configured: the venue's own default, 10 %.
const DEFAULT_TRIGGER_SLIPPAGE_BPS: u64 = 1000;
/// How far from its reference price the venue accepts a price at most, in basis points.
const MOST_PRICE_DEVIATION_BPS: u64 = 9500;
/// The venue's highest builder fee for perpetuals, in tenths of a basis point.
const MOST_BUILDER_FEE: u64 = 100;
/// The most decimals of a size. A size and a price have six decimals together.
const MOST_SIZE_DECIMALS: u8 = 6;

/// The reviewed part.
pub(super) struct Perpetuals {
    pub(super) builder: Option<PerpBuilder>,
    pub(super) max_trigger_slippage: Option<BasisPoints>,
    pub(super) price_band: Option<BasisPoints>,
    pub(super) assets: Vec<ReviewedPerpAsset>,
}

impl PerpetualsTable {
    pub(super) fn review(self, problems: &mut Problems) -> Perpetuals {
        let slippage = self.max_trigger_slippage_bps;
        Perpetuals {
            max_trigger_slippage: problems.bps(
                slippage.unwrap_or(DEFAULT_TRIGGER_SLIPPAGE_BPS),
                "perpetuals.max_trigger_slippage_bps",
            ),
            price_band: price_band(self.max_price_deviation_bps, problems),
            builder: perp_builder(&self, problems),
            assets: perp_assets(self.assets, problems),
        }
    }
}

fn price_band(configured: Option<u64>, problems: &mut Problems) -> Option<BasisPoints> {
    let Some(bps) = configured else {
        return Some(FeePolicy::PERP_PRICE_BAND);
    };
    problems.check(
        (1..=MOST_PRICE_DEVIATION_BPS).contains(&bps),
        "perpetuals.max_price_deviation_bps",
        "1 to 9500 basis points",
    );
    u16::try_from(bps).ok().and_then(BasisPoints::new)
}

fn perp_builder(table: &PerpetualsTable, problems: &mut Problems) -> Option<PerpBuilder> {
    match (&table.builder, table.fee_tenth_bps) {
        (None, None) => None,
        (Some(written), Some(fee)) => {
            let address = problems.address(written, "perpetuals.builder")?;
            problems.check(
                address != Address::ZERO,
                "perpetuals.builder",
                "an address that is not zero",
            );
            let fee_fits = (1..=MOST_BUILDER_FEE).contains(&fee);
            problems.check(
                fee_fits,
                "perpetuals.fee_tenth_bps",
                "1 to 100 (tenths of a basis point)",
            );
            let fee_tenth_bps = u16::try_from(fee).ok()?;
            Some(PerpBuilder {
                address,
                fee_tenth_bps,
            })
        }
        (Some(_), None) => problems.note(
            "perpetuals.fee_tenth_bps",
            "given together with perpetuals.builder",
        ),
        (None, Some(_)) => problems.note(
            "perpetuals.builder",
            "given together with perpetuals.fee_tenth_bps",
        ),
    }
}

fn perp_assets(tables: Vec<PerpAssetTable>, problems: &mut Problems) -> Vec<ReviewedPerpAsset> {
    problems.check(
        tables.len() <= MOST_ROWS,
        "perpetuals.assets",
        "at most 256 assets",
    );
    let (mut coins, mut ids) = (BTreeSet::new(), BTreeSet::new());
    for (index, table) in tables.iter().enumerate() {
        let key = format!("perpetuals.assets[{index}]");
        problems.check(
            !table.coin.is_empty() && table.coin.len() <= 40 && coins.insert(&table.coin),
            &format!("{key}.coin"),
            "1 to 40 characters, named once",
        );
        // The ids of the first dex and of the builder-deployed ones do not overlap. Only coins of
        // the latter have a prefix.
        let deployed = table.asset >= PERP_DEX_SIZE;
        problems.check(
            is_perpetual(table.asset)
                && deployed == table.coin.contains(':')
                && ids.insert(table.asset),
            &format!("{key}.asset"),
            "the id of a perpetual on the coin's dex, named once",
        );
        problems.check(
            table.sz_decimals <= MOST_SIZE_DECIMALS,
            &format!("{key}.sz_decimals"),
            "0 to 6",
        );
    }
    tables
        .into_iter()
        .map(|table| ReviewedPerpAsset {
            coin: table.coin,
            asset_id: table.asset,
            size_decimals: table.sz_decimals,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reviews a part. Returns it, or the keys of its problems.
    fn reviewed(text: &str) -> Result<Perpetuals, Vec<String>> {
        let mut problems = Problems::default();
        let perpetuals = toml::from_str::<PerpetualsTable>(text)
            .unwrap()
            .review(&mut problems);
        if problems.0.is_empty() {
            Ok(perpetuals)
        } else {
            Err(problems.0.into_iter().map(|problem| problem.key).collect())
        }
    }

    #[test]
    fn reviewed_assets() {
        let perpetuals = reviewed(
            "assets = [{ coin = \"ETH\", asset = 1, sz_decimals = 4 }, { coin = \"xyz:TSLA\", asset = 110001, sz_decimals = 3 }]",
        )
        .unwrap();
        let assets: Vec<_> = perpetuals
            .assets
            .iter()
            .map(|asset| (asset.coin.as_str(), asset.asset_id, asset.size_decimals))
            .collect();
        assert_eq!(assets, [("ETH", 1, 4), ("xyz:TSLA", 110_001, 3)]);
        assert!(reviewed("").unwrap().assets.is_empty());
    }

    #[test]
    fn the_price_band_is_tight_unless_it_is_configured() {
        let band =
            |text: &str| reviewed(text).map(|perpetuals| perpetuals.price_band.unwrap().get());
        assert_eq!(band(""), Ok(500));
        assert_eq!(band("max_price_deviation_bps = 1"), Ok(1));
        assert_eq!(band("max_price_deviation_bps = 9500"), Ok(9500));
        for text in ["0", "9501", "100000"] {
            let refused = band(&format!("max_price_deviation_bps = {text}"));
            assert_eq!(
                refused,
                Err(vec!["perpetuals.max_price_deviation_bps".to_owned()])
            );
        }
    }

    #[test]
    fn impossible_assets_are_refused_by_their_keys() {
        for (rows, keys) in [
            (
                "{ coin = \"\", asset = 0, sz_decimals = 5 }",
                vec!["[0].coin"],
            ),
            (
                "{ coin = \"BTC\", asset = 0, sz_decimals = 7 }",
                vec!["[0].sz_decimals"],
            ),
            // The cases are a spot pair, an outcome, and ids of the other kind of dex.
            (
                "{ coin = \"BTC\", asset = 10000, sz_decimals = 5 }",
                vec!["[0].asset"],
            ),
            (
                "{ coin = \"BTC\", asset = 100000000, sz_decimals = 5 }",
                vec!["[0].asset"],
            ),
            (
                "{ coin = \"BTC\", asset = 110000, sz_decimals = 5 }",
                vec!["[0].asset"],
            ),
            (
                "{ coin = \"xyz:BTC\", asset = 0, sz_decimals = 5 }",
                vec!["[0].asset"],
            ),
            (
                "{ coin = \"BTC\", asset = 0, sz_decimals = 5 }, { coin = \"BTC\", asset = 0, sz_decimals = 5 }",
                vec!["[1].coin", "[1].asset"],
            ),
        ] {
            let expected = keys.iter().map(|key| format!("perpetuals.assets{key}"));
            let problems = reviewed(&format!("assets = [{rows}]")).err();
            assert_eq!(problems, Some(expected.collect()), "{rows}");
        }
        assert!(
            toml::from_str::<PerpetualsTable>("assets = [{ coin = \"BTC\", asset = 0 }]").is_err()
        );
    }
}
