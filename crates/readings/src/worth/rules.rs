//! The operator's rules: the limits, and the sources whose prices count on each chain.

use std::collections::BTreeMap;

use crate::Decimal;
use crate::token::consensus::Bounds;

/// The sources that have prices of tokens and quote no swaps.
pub const SOURCES: [&str; 2] = ["defillama", "dexscreener"];

/// The least certainty that a source must have of its own price, from 0 to 1.
const LEAST_CERTAINTY: Decimal = Decimal::from_parts(9, 0, 0, false, 1);

/// The limits of the judgement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The greatest loss by the quote's own statement, in basis points.
    pub max_price_impact_bps: u32,
    /// The greatest loss at the prices of independent sources, in basis points.
    pub max_deviation_bps: u32,
    /// The greatest part of a transfer that a token may keep, in basis points.
    pub max_tax_bps: u32,
    /// The fewest dollars in the pools of a price that has pools.
    pub min_liquidity_usd: u32,
    /// The greatest age of a price, in seconds.
    pub max_age_seconds: u32,
    /// How many sources must agree on a price.
    pub agree: u32,
    /// Up to which loss a caller may loosen the limits, in basis points.
    pub price_impact_ceiling_bps: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_price_impact_bps: 300,
            max_deviation_bps: 300,
            max_tax_bps: 100,
            min_liquidity_usd: 10_000,
            max_age_seconds: 300,
            agree: 2,
            price_impact_ceiling_bps: 1_000,
        }
    }
}

impl Limits {
    /// Returns the limits of the loss for a caller: by the quote's own statement, and at the prices
    /// of independent sources. A caller's number takes the place of each: it tightens a larger
    /// limit, and loosens a smaller one up to the ceiling.
    #[must_use]
    pub fn of_caller(&self, asked: Option<u32>) -> (u32, u32) {
        let each = |limit: u32| match asked {
            None => limit,
            Some(bps) if bps <= limit => bps,
            Some(bps) => bps.min(self.price_impact_ceiling_bps).max(limit),
        };
        (
            each(self.max_price_impact_bps),
            each(self.max_deviation_bps),
        )
    }

    pub(super) fn bounds(&self) -> Bounds {
        Bounds {
            max_age_seconds: self.max_age_seconds.into(),
            least_certainty: LEAST_CERTAINTY,
            least_liquidity_usd: self.min_liquidity_usd.into(),
            needs_support: true,
        }
    }
}

/// The sources of prices on one chain, by the names of their upstreams.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChainSources {
    /// The sources that count. None of them quotes swaps on the chain.
    pub independent: Vec<String>,
    /// Those of them of which one suffices, unless another one contradicts it.
    pub strong: Vec<String>,
}

impl Default for ChainSources {
    fn default() -> Self {
        Self {
            independent: SOURCES.map(str::to_owned).to_vec(),
            strong: Vec::new(),
        }
    }
}

impl ChainSources {
    /// All sources, with DefiLlama as strong. Few pools on the chain trade its stablecoins against
    /// each other, so that a second source is often silent about them.
    #[must_use]
    pub fn trusting_defillama() -> Self {
        Self {
            strong: vec!["defillama".to_owned()],
            ..Self::default()
        }
    }
}

/// The limits, and the sources of each chain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rules {
    /// The limits.
    pub limits: Limits,
    /// The sources by chain.
    pub chains: BTreeMap<u64, ChainSources>,
    /// The sources of every other chain.
    pub others: ChainSources,
}

impl Default for Rules {
    fn default() -> Self {
        Self {
            limits: Limits::default(),
            chains: [196, 8453]
                .map(|chain_id| (chain_id, ChainSources::trusting_defillama()))
                .into(),
            others: ChainSources::default(),
        }
    }
}

impl Rules {
    /// The sources of a chain.
    #[must_use]
    pub fn sources(&self, chain_id: u64) -> &ChainSources {
        self.chains.get(&chain_id).unwrap_or(&self.others)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_caller_tightens_both_limits_and_loosens_them_up_to_the_ceiling() {
        let limits = Limits {
            max_price_impact_bps: 300,
            max_deviation_bps: 200,
            ..Limits::default()
        };
        for (asked, expected) in [
            (None, (300, 200)),
            (Some(0), (0, 0)),
            (Some(50), (50, 50)),
            (Some(250), (250, 250)),
            (Some(300), (300, 300)),
            (Some(500), (500, 500)),
            (Some(1_000), (1_000, 1_000)),
            (Some(u32::MAX), (1_000, 1_000)),
        ] {
            assert_eq!(limits.of_caller(asked), expected, "{asked:?}");
        }
        // A ceiling below the limit loosens nothing, and tightens nothing.
        let low = Limits {
            price_impact_ceiling_bps: 100,
            ..limits
        };
        assert_eq!(low.of_caller(Some(900)), (300, 200));
        // A number between the two loosens the smaller limit and tightens the larger one.
        let apart = Limits {
            max_price_impact_bps: 100,
            max_deviation_bps: 300,
            ..limits
        };
        assert_eq!(apart.of_caller(Some(200)), (200, 200));
    }
}
