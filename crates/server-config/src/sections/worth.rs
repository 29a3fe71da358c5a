//! `[worth]`: the limits of the judgement of worth, and the sources of prices on each chain.

use std::collections::BTreeMap;

use readings::worth::{ChainSources, Limits, Rules, SOURCES};
use serde::Deserialize;

use crate::{Problem, lenient};

/// One hundred percent, in basis points.
const ALL_BPS: u32 = 10_000;

/// The refusal of `plans.price_source`, an earlier key.
pub const PRICE_SOURCE_MOVED: &str =
    "no such key: the sources of prices are worth.chains.N.independent";

/// The accepted ages of a price, in seconds. A younger price would never be had, and an older one
/// says nothing about the present.
const AGES: std::ops::RangeInclusive<u32> = 30..=3_600;

/// `[worth]`. Each key has a default, so the judgement is on without the section.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct WorthSection {
    /// The greatest loss of a swap by its quote's own statement, in basis points.
    #[serde(deserialize_with = "lenient::scalar")]
    pub max_price_impact_bps: u32,
    /// The greatest loss of a swap at the prices of independent sources, in basis points.
    #[serde(deserialize_with = "lenient::scalar")]
    pub max_deviation_bps: u32,
    /// The greatest part of a transfer that a token may keep, in basis points.
    #[serde(deserialize_with = "lenient::scalar")]
    pub max_tax_bps: u32,
    /// The fewest dollars in the pools of a price that has pools.
    #[serde(deserialize_with = "lenient::scalar")]
    pub min_liquidity_usd: u32,
    /// The greatest age of a price, in seconds.
    #[serde(deserialize_with = "lenient::scalar")]
    pub max_age_seconds: u32,
    /// How many sources must agree on a price.
    #[serde(deserialize_with = "lenient::scalar")]
    pub agree: u32,
    /// Up to which loss a caller may loosen the limits, in basis points.
    #[serde(deserialize_with = "lenient::scalar")]
    pub price_impact_ceiling_bps: u32,
    /// The sources by the id of the chain. A chain without a table has its own default.
    pub chains: BTreeMap<String, WorthChainTable>,
}

/// `[worth.chains.N]`: the sources whose prices count on a chain, by the names of their upstreams.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct WorthChainTable {
    /// The sources that count.
    #[serde(deserialize_with = "lenient::list")]
    pub independent: Vec<String>,
    /// Those of which one suffices, unless another one contradicts it.
    #[serde(deserialize_with = "lenient::list")]
    pub strong: Vec<String>,
}

impl Default for WorthSection {
    fn default() -> Self {
        let limits = Limits::default();
        Self {
            max_price_impact_bps: limits.max_price_impact_bps,
            max_deviation_bps: limits.max_deviation_bps,
            max_tax_bps: limits.max_tax_bps,
            min_liquidity_usd: limits.min_liquidity_usd,
            max_age_seconds: limits.max_age_seconds,
            agree: limits.agree,
            price_impact_ceiling_bps: limits.price_impact_ceiling_bps,
            chains: BTreeMap::new(),
        }
    }
}

impl Default for WorthChainTable {
    fn default() -> Self {
        let sources = ChainSources::default();
        Self {
            independent: sources.independent,
            strong: sources.strong,
        }
    }
}

impl WorthSection {
    /// The rules of the judgement. A chain's table replaces the default of the chain.
    #[must_use]
    pub fn rules(&self) -> Rules {
        let mut rules = Rules {
            limits: Limits {
                max_price_impact_bps: self.max_price_impact_bps,
                max_deviation_bps: self.max_deviation_bps,
                max_tax_bps: self.max_tax_bps,
                min_liquidity_usd: self.min_liquidity_usd,
                max_age_seconds: self.max_age_seconds,
                agree: self.agree,
                price_impact_ceiling_bps: self.price_impact_ceiling_bps,
            },
            ..Rules::default()
        };
        for (id, table) in &self.chains {
            if let Ok(chain_id) = id.parse() {
                let sources = ChainSources {
                    independent: table.independent.clone(),
                    strong: table.strong.clone(),
                };
                rules.chains.insert(chain_id, sources);
            }
        }
        rules
    }

    /// Checks the section.
    pub fn check(&self, problems: &mut Vec<Problem>) {
        let mut problem = |key: &str, message: String| {
            problems.push(Problem::new(format!("worth.{key}"), message));
        };
        for (key, bps) in [
            ("max_price_impact_bps", self.max_price_impact_bps),
            ("max_deviation_bps", self.max_deviation_bps),
            ("max_tax_bps", self.max_tax_bps),
            ("price_impact_ceiling_bps", self.price_impact_ceiling_bps),
        ] {
            if bps >= ALL_BPS {
                problem(key, "expected less than 10000 basis points".to_owned());
            }
        }
        if self.price_impact_ceiling_bps < self.max_price_impact_bps {
            let message = "expected at least max_price_impact_bps".to_owned();
            problem("price_impact_ceiling_bps", message);
        }
        if !AGES.contains(&self.max_age_seconds) {
            let (least, most) = (AGES.start(), AGES.end());
            problem("max_age_seconds", format!("expected {least} to {most}"));
        }
        if self.agree < 2 {
            let message = "expected at least 2: a source that suffices alone is named in worth.chains.N.strong";
            problem("agree", message.to_owned());
        }
        for (id, table) in &self.chains {
            if !id
                .parse::<u64>()
                .is_ok_and(|parsed| parsed.to_string() == *id)
            {
                let message = "expected a chain id as an integer".to_owned();
                problem(&format!("chains.{id}"), message);
            }
            for name in &table.independent {
                if !SOURCES.contains(&name.as_str()) {
                    let message = match name.as_str() {
                        "okx" | "lifi" => format!(
                            "{name} quotes swaps, so that its prices are not independent: expected {}",
                            SOURCES.join(" or ")
                        ),
                        _ => format!("observed {name}, expected {}", SOURCES.join(" or ")),
                    };
                    problem(&format!("chains.{id}.independent"), message);
                }
            }
            for name in &table.strong {
                if !table.independent.contains(name) {
                    let message = format!("observed {name}, which is not in independent");
                    problem(&format!("chains.{id}.strong"), message);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> WorthSection {
        toml::from_str(text).unwrap()
    }

    fn problems(text: &str) -> Vec<String> {
        let mut problems = Vec::new();
        read(text).check(&mut problems);
        problems.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn without_the_section_the_judgement_is_on() {
        assert_eq!(problems(""), [""; 0]);
        let rules = read("").rules();
        assert_eq!(rules, Rules::default());
        assert_eq!(rules.limits.agree, 2);
        assert_eq!(rules.sources(196).strong, ["defillama"]);
        assert_eq!(rules.sources(8453).strong, ["defillama"]);
        assert!(rules.sources(42_161).strong.is_empty());
    }

    #[test]
    fn a_chain_s_table_replaces_its_default() {
        let rules =
            read("max_tax_bps = \"5\"\n[chains.196]\nindependent = \"dexscreener\"").rules();
        assert_eq!(rules.limits.max_tax_bps, 5);
        assert_eq!(rules.sources(196).independent, ["dexscreener"]);
        assert!(rules.sources(196).strong.is_empty());
        assert_eq!(rules.sources(8453), Rules::default().sources(8453));
    }

    #[test]
    fn every_wrong_key_is_named() {
        let text = "max_deviation_bps = 10000\nprice_impact_ceiling_bps = 299\nmax_age_seconds = 29\nagree = 1\n\
                    [chains.196]\nindependent = [\"okx\", \"defilama\"]\nstrong = [\"defillama\"]\n\
                    [chains.base]\n";
        assert_eq!(
            problems(text),
            [
                "worth.max_deviation_bps: expected less than 10000 basis points",
                "worth.price_impact_ceiling_bps: expected at least max_price_impact_bps",
                "worth.max_age_seconds: expected 30 to 3600",
                "worth.agree: expected at least 2: a source that suffices alone is named in worth.chains.N.strong",
                "worth.chains.196.independent: okx quotes swaps, so that its prices are not independent: expected defillama or dexscreener",
                "worth.chains.196.independent: observed defilama, expected defillama or dexscreener",
                "worth.chains.196.strong: observed defillama, which is not in independent",
                "worth.chains.base: expected a chain id as an integer",
            ]
        );
    }
}
