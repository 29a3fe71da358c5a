//! `[plans]`: the life of plans, the fees in them, and the limits on calls.

use std::path::{Path, PathBuf};

use plan_builder::SimulationMode;
use serde::Deserialize;
use server_config::{Problem, lenient};

use super::SharesSection;
use crate::throttle::CallLimits;

/// The form of a brand, for messages.
pub(super) const BRAND_RULE: &str = "expected 1 to 32 characters of a-z, 0-9 and _, the first a letter: every tool's name starts with it";

/// `[plans]`: the life of plans, the recipients of their fees, and the limits on calls.
#[derive(Debug, Clone, PartialEq, Deserialize)]
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
    /// The installed fence policy. A relative path starts at the folder of this file.
    pub fence_policy: Option<PathBuf>,
    /// Whether plans run in `eth_simulateV1` before they are returned: `required`, `preferred` or
    /// `off`.
    pub simulation: String,
    /// Whether a caller gets a bridge plan for an `eoa` when no endpoint of its chain can tell
    /// whether the account is a contract.
    #[serde(deserialize_with = "lenient::boolean")]
    pub allow_unread_accounts: bool,
    /// An earlier key, which is refused with its present place.
    pub price_source: Option<toml::Value>,
    /// The most tool calls a second, in the long run and for all callers together.
    #[serde(deserialize_with = "lenient::scalar")]
    pub calls_per_second: u32,
    /// The most tool calls in a burst.
    #[serde(deserialize_with = "lenient::scalar")]
    pub calls_burst: u32,
    /// The most tool calls in progress.
    #[serde(deserialize_with = "lenient::scalar")]
    pub calls_in_flight: u32,
    /// The callers' shares of the upstreams' limits.
    pub shares: SharesSection,
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
    /// The limits on tool calls.
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

    /// Whether plans run before they are returned. An unknown word counts as the default.
    #[must_use]
    pub fn simulation_mode(&self) -> SimulationMode {
        SimulationMode::from_word(&self.simulation).unwrap_or_default()
    }

    pub(super) fn check(&self, problems: &mut Vec<Problem>) {
        if SimulationMode::from_word(&self.simulation).is_none() {
            let expected = "expected \"required\", \"preferred\" or \"off\"";
            problems.push(Problem::new("plans.simulation", expected));
        }
        if self.price_source.is_some() {
            problems.push(Problem::new(
                "plans.price_source",
                server_config::PRICE_SOURCE_MOVED,
            ));
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
