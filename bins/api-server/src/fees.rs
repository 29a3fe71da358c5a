//! The reviewed fee configuration, and the other keys of `[plans]` that this server reads.

use std::path::Path;

use plan_builder::{FeeDocument, LifeSeconds, Policy, ReviewedFees, SimulationMode};
use serde::Deserialize;
use server_config::{PRICE_SOURCE_MOVED, lenient};

use crate::config::{Config, Problem};

/// The key of the fee file.
const KEY: &str = "plans.fee_config";

/// The keys of `[plans]` that also apply to plans of wallets' actions. The agent rail reads the
/// same keys.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Read {
    #[serde(deserialize_with = "lenient::optional_scalar")]
    swap_valid_seconds: Option<u64>,
    #[serde(deserialize_with = "lenient::optional_scalar")]
    bridge_valid_seconds: Option<u64>,
    simulation: Option<String>,
    #[serde(deserialize_with = "lenient::boolean")]
    allow_unread_accounts: bool,
    price_source: Option<toml::Value>,
}

/// Reads the policy with which plans of wallets' actions are built and verified. `None` when the
/// configuration names no fees or there are no wallets; nothing is planned then.
///
/// # Errors
/// A [`Problem`] that names the key.
pub(crate) fn policy(config: &Config) -> Result<Option<Policy>, Problem> {
    let (Some(_), Some(path)) = (&config.custody, config.fee_config()) else {
        return Ok(None);
    };
    let mut policy = Policy::new(fees(path)?);
    let read: Read = config.plans.clone().try_into().map_err(|error| {
        let error: toml::de::Error = error;
        Problem::new("plans", error.message())
    })?;
    for (key, seconds, life) in [
        (
            "plans.swap_valid_seconds",
            read.swap_valid_seconds,
            &mut policy.validity.swap,
        ),
        (
            "plans.bridge_valid_seconds",
            read.bridge_valid_seconds,
            &mut policy.validity.bridge,
        ),
    ] {
        if let Some(seconds) = seconds {
            let wrong = || Problem::new(key, "expected 30 to 600");
            *life = LifeSeconds::new(seconds).ok_or_else(wrong)?;
        }
    }
    if let Some(word) = read.simulation {
        let expected = "expected \"required\", \"preferred\" or \"off\"";
        let wrong = || Problem::new("plans.simulation", expected);
        policy.simulation = SimulationMode::from_word(&word).ok_or_else(wrong)?;
    }
    policy.allow_unread_accounts = read.allow_unread_accounts;
    if read.price_source.is_some() {
        return Err(Problem::new("plans.price_source", PRICE_SOURCE_MOVED));
    }
    Ok(Some(policy))
}

/// Reads the reviewed fees from a file.
///
/// # Errors
/// A [`Problem`] that names the key and the file.
pub(crate) fn fees(path: &Path) -> Result<ReviewedFees, Problem> {
    let wrong = |message: &str| Problem::new(KEY, format!("{}: {message}", path.display()));
    let text = std::fs::read_to_string(path).map_err(|error| {
        let message = format!("cannot read {}: {}", path.display(), error.kind());
        Problem::new(KEY, message)
    })?;
    let document: FeeDocument = toml::from_str(&text).map_err(|error| wrong(error.message()))?;
    document.review().map_err(|error| wrong(&error.to_string()))
}
