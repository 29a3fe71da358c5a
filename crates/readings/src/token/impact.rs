//! The cost of a trade in the deepest pool of a token, by its size.

use serde::Serialize;

use super::pools::DexPair;
use crate::{Decimal, Figure, share_pct};

/// The sizes of the trades, in dollars.
pub const SIZES_USD: [u32; 3] = [1_000, 10_000, 100_000];
/// The digits after the point of a percentage.
const PLACES: u32 = 4;

/// The share of a trade's value that is lost in the deepest pool, by size.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PoolImpact {
    /// The pair.
    pub pair: String,
    /// How it is computed.
    pub method: &'static str,
    /// The dollars on the smaller side of the pool.
    pub side_usd: Figure,
    /// How that value is known: `reserves` as the source states them, or `half_of_liquidity`.
    pub side_basis: &'static str,
    /// A row for each size.
    pub sizes: Vec<SizeImpact>,
}

/// A trade of one size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct SizeImpact {
    /// Its size in dollars.
    pub usd: u32,
    /// How much less the trade gives than the price before it, in percent of the size.
    pub loss_pct: Figure,
}

/// The rule, which is published with the figures.
const METHOD: &str =
    "loss_pct = 100 * usd / (usd + side_usd): constant product of the deepest pool, without fees";

/// Makes the estimate for the deepest of `pairs`, among those whose liquidity is known. A pool
/// whose sides are known comes before one that only states a sum. `None` when there is none, or
/// when a side of the deepest one is empty.
#[must_use]
pub fn pool_impact<'a>(pairs: impl IntoIterator<Item = &'a DexPair>) -> Option<PoolImpact> {
    let deepest = pairs
        .into_iter()
        .filter(|pair| pair.liquidity_usd.is_some())
        .max_by_key(|pair| (pair.depth_usd(), pair.liquidity_usd))?;
    let (side, side_basis) = smaller_side(deepest)?;
    let row = |usd: u32| {
        let size = Decimal::from(usd);
        let loss = share_pct(size, size.checked_add(side)?)?;
        Some(SizeImpact {
            usd,
            loss_pct: Figure(loss.round_dp(PLACES)),
        })
    };
    Some(PoolImpact {
        pair: deepest.pair.clone(),
        method: METHOD,
        side_usd: Figure(side.round_dp(2)),
        side_basis,
        sizes: SIZES_USD.into_iter().map(row).collect::<Option<_>>()?,
    })
}

/// Returns the dollars on the smaller side. Where liquidity is concentrated, the sides are far from
/// equal, and the smaller one runs out first.
fn smaller_side(pair: &DexPair) -> Option<(Decimal, &'static str)> {
    let half = || pair.liquidity_usd?.get().checked_div(Decimal::TWO);
    let found = pair
        .smaller_side_usd()
        .map(|side| (side, "reserves"))
        .or_else(|| Some((half()?, "half_of_liquidity")))?;
    (found.0 > Decimal::ZERO).then_some(found)
}

#[cfg(test)]
mod tests {
    use super::{super::pools::DexToken, *};

    fn pair(liquidity: &str, reserves: Option<(&str, &str)>) -> DexPair {
        let figure = |text: &str| text.parse::<Figure>().ok();
        let token = |symbol: &str| DexToken {
            address: format!("0x{symbol}"),
            symbol: symbol.to_owned(),
            name: symbol.to_owned(),
        };
        DexPair {
            platform: "xlayer".to_owned(),
            pair: format!("pair of {liquidity}"),
            base: token("A"),
            quote: token("Q"),
            price_usd: figure("2"),
            // A quote token is worth half a dollar.
            price_native: figure("4"),
            liquidity_usd: figure(liquidity),
            base_reserve: reserves.and_then(|(base, _)| figure(base)),
            quote_reserve: reserves.and_then(|(_, quote)| figure(quote)),
            volume_24h_usd: None,
            traded_within_seconds: None,
            change_1h_pct: None,
            change_24h_pct: None,
            market_cap_usd: None,
            fdv_usd: None,
        }
    }

    fn losses(impact: &PoolImpact) -> Vec<String> {
        let text = |row: &SizeImpact| row.loss_pct.to_string();
        impact.sizes.iter().map(text).collect()
    }

    #[test]
    fn the_smaller_side_of_the_deepest_pool_decides() {
        // The pool has 150,000 dollars of one token, and 90,000 of the other.
        let pairs = [
            pair("1000", None),
            pair("240000", Some(("75000", "180000"))),
        ];
        let impact = pool_impact(&pairs).unwrap();
        assert_eq!(impact.pair, "pair of 240000");
        assert_eq!(
            (impact.side_usd.to_string().as_str(), impact.side_basis),
            ("90000", "reserves")
        );
        assert_eq!(losses(&impact), ["1.0989", "10", "52.6316"]);
    }

    #[test]
    fn without_reserves_half_of_the_liquidity_counts_as_a_side() {
        let impact = pool_impact(&[pair("2000000", None)]).unwrap();
        assert_eq!(impact.side_basis, "half_of_liquidity");
        assert_eq!(losses(&impact), ["0.0999", "0.9901", "9.0909"]);
        assert_eq!(pool_impact(&[pair("0", None)]), None);
        assert_eq!(pool_impact(&[]), None);
        // An empty side does not count.
        assert_eq!(pool_impact(&[pair("9", Some(("0", "9")))]), None);
    }
}
