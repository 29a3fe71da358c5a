//! `[plans]`.

use std::path::{Path, PathBuf};

use plan_builder::SimulationMode;
use serde::Deserialize;
use server_config::{Problem, lenient};

use super::SharesSection;
use crate::throttle::CallLimits;

/// What a brand looks like.
pub(super) const BRAND_RULE: &str = "expected 1 to 32 characters of a-z, 0-9 and _, the first a letter: every tool's name starts with it";

/// `[plans]`: how long plans are valid, who is paid for them, how many are built.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PlansSection {
    /// The prefix of every tool's name; `server.brand` when absent.
    pub brand: Option<String>,
    /// Seconds for which a swap plan is valid.
    #[serde(deserialize_with = "lenient::scalar")]
    pub swap_valid_seconds: u64,
    /// Seconds for which a bridge plan is valid.
    #[serde(deserialize_with = "lenient::scalar")]
    pub bridge_valid_seconds: u64,
    /// Seconds for which a prediction-market order is valid.
    #[serde(deserialize_with = "lenient::scalar")]
    pub pm_order_valid_seconds: u64,
    /// Seconds for which a perpetuals order is valid.
    #[serde(deserialize_with = "lenient::scalar")]
    pub perp_order_valid_seconds: u64,
    /// The versioned fee configuration. A relative path starts at the folder of this file.
    pub fee_config: Option<PathBuf>,
    /// The fence policy that is installed. A relative path starts at the folder of this file.
    pub fence_policy: Option<PathBuf>,
    /// Whether plans are run in `eth_simulateV1` before they are given: `required`, `preferred` or
    /// `off`.
    pub simulation: String,
    /// Whether a bridge plan for an `eoa` is given where no endpoint of its chain can say whether
    /// it is a contract.
    #[serde(deserialize_with = "lenient::boolean")]
    pub allow_unread_accounts: bool,
    /// Who is asked for an independent price of a swap's tokens; nobody when absent.
    pub price_source: Option<PriceSource>,
    /// Tool calls a second that are taken, in the long run and for all callers together.
    #[serde(deserialize_with = "lenient::scalar")]
    pub calls_per_second: u32,
    /// Tool calls that may come at once.
    #[serde(deserialize_with = "lenient::scalar")]
    pub calls_burst: u32,
    /// Tool calls that are worked on at the same time.
    #[serde(deserialize_with = "lenient::scalar")]
    pub calls_in_flight: u32,
    /// What callers may use of the limits of the upstreams.
    pub shares: SharesSection,
}

/// A source of prices that is not the aggregator.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PriceSource {
    /// DefiLlama's current prices, without a key.
    Defillama,
}

impl Default for PlansSection {
    fn default() -> Self {
        let limits = CallLimits::default();
        Self {
            brand: None,
            swap_valid_seconds: 300,
            bridge_valid_seconds: 300,
            pm_order_valid_seconds: 90,
            perp_order_valid_seconds: 120,
            fee_config: None,
            fence_policy: None,
            simulation: SimulationMode::default().as_str().to_owned(),
            allow_unread_accounts: false,
            price_source: None,
            calls_per_second: limits.per_second,
            calls_burst: limits.burst,
            calls_in_flight: limits.in_flight,
            shares: SharesSection::default(),
        }
    }
}

impl PlansSection {
    /// How many tool calls are taken.
    #[must_use]
    pub fn call_limits(&self) -> CallLimits {
        CallLimits {
            per_second: self.calls_per_second,
            burst: self.calls_burst,
            in_flight: self.calls_in_flight,
        }
    }

    pub(super) fn resolve(&mut self, folder: &Path) {
        for path in [&mut self.fee_config, &mut self.fence_policy]
            .into_iter()
            .flatten()
        {
            *path = folder.join(&path);
        }
    }

    /// Whether plans are run; the default where the word is none.
    #[must_use]
    pub fn simulation_mode(&self) -> SimulationMode {
        SimulationMode::from_word(&self.simulation).unwrap_or_default()
    }

    pub(super) fn check(&self, problems: &mut Vec<Problem>) {
        if SimulationMode::from_word(&self.simulation).is_none() {
            let expected = "expected \"required\", \"preferred\" or \"off\"";
            problems.push(Problem::new("plans.simulation", expected));
        }
        for (key, seconds) in [
            ("plans.swap_valid_seconds", self.swap_valid_seconds),
            ("plans.bridge_valid_seconds", self.bridge_valid_seconds),
            ("plans.pm_order_valid_seconds", self.pm_order_valid_seconds),
            (
                "plans.perp_order_valid_seconds",
                self.perp_order_valid_seconds,
            ),
        ] {
            if !(30..=600).contains(&seconds) {
                problems.push(Problem::new(key, "expected 30 to 600"));
            }
        }
        for (key, calls) in [
            ("plans.calls_per_second", self.calls_per_second),
            ("plans.calls_burst", self.calls_burst),
            ("plans.calls_in_flight", self.calls_in_flight),
        ] {
            if calls == 0 {
                problems.push(Problem::new(key, "expected at least 1"));
            }
        }
        self.shares.check(problems);
    }
}

/// Whether a text can be the prefix of tool names.
pub(super) fn is_brand(text: &str) -> bool {
    text.len() <= 32
        && text.starts_with(|c: char| c.is_ascii_lowercase())
        && text
            .chars()
            .all(|c| matches!(c, 'a'..='z' | '0'..='9' | '_'))
}
