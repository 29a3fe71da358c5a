//! Reads the policy of plans: the reviewed fee configuration and the plans' life. `plan-builder`
//! and the checks apply it.

use std::io;
use std::path::{Path, PathBuf};

use exact::address::check_payee;
use plan_builder::{FeeConfigError, FeeDocument, LifeSeconds, Policy, ReviewedFees, Validity};
use server_config::Problem;
use thiserror::Error;

use crate::config::PlansSection;

/// The reason why a configuration gives no policy.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum PolicyError {
    /// The configuration names no file.
    #[error(
        "plans.fee_config: is missing: every plan is checked against it, and there is no default for who is paid"
    )]
    Missing,
    /// The file cannot be read.
    #[error("plans.fee_config: cannot read {}: {kind}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The kind of the operating system's error.
        kind: io::ErrorKind,
    },
    /// The file is not TOML, or has unknown, missing or mistyped keys.
    #[error("plans.fee_config: {}: {detail}", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// The place and the cause.
        detail: String,
    },
    /// A value cannot be used.
    #[error("plans.fee_config: {}: {error}", path.display())]
    Unusable {
        /// The file.
        path: PathBuf,
        /// Every problem, by its key.
        error: FeeConfigError,
    },
    /// The file names recipients that must not be paid.
    #[error("plans.fee_config: {}: {}", path.display(), listed(problems))]
    Recipients {
        /// The file.
        path: PathBuf,
        /// Every one of them, by its key in the file.
        problems: Vec<Problem>,
    },
    /// The life of a rail's plans is out of bounds.
    #[error("plans.{rail}_valid_seconds: expected 30 to 600")]
    Life {
        /// The rail.
        rail: &'static str,
    },
}

/// Reads the policy of a configuration.
///
/// # Errors
/// A [`PolicyError`] that names the key.
pub(crate) fn read(plans: &PlansSection) -> Result<Policy, PolicyError> {
    let path = plans.fee_config.as_deref().ok_or(PolicyError::Missing)?;
    let life = |rail, seconds| LifeSeconds::new(seconds).ok_or(PolicyError::Life { rail });
    let validity = Validity {
        swap: life("swap", plans.swap_valid_seconds)?,
        bridge: life("bridge", plans.bridge_valid_seconds)?,
        pm_order: life("pm_order", plans.pm_order_valid_seconds)?,
        perp_order: life("perp_order", plans.perp_order_valid_seconds)?,
    };
    let mut policy = Policy::new(fees(path)?);
    policy.validity = validity;
    policy.simulation = plans.simulation_mode();
    policy.allow_unread_accounts = plans.allow_unread_accounts;
    Ok(policy)
}

/// [`read`] for plans that callers will sign: refuses recipients that must not be paid. A demo may
/// pay them.
///
/// # Errors
/// As [`read`]; [`PolicyError::Recipients`].
pub(crate) fn read_to_serve(plans: &PlansSection) -> Result<Policy, PolicyError> {
    let policy = read(plans)?;
    let fees = &policy.fees;
    let recipients = fees.recipients.iter().enumerate();
    let recipients =
        recipients.map(|(index, paid)| (format!("recipients[{index}].address"), paid.address));
    let builder = fees.perp_builder.iter();
    let builder = builder.map(|paid| ("perpetuals.builder".to_owned(), paid.address));
    let problems: Vec<Problem> = recipients
        .chain(builder)
        .filter_map(|(key, payee)| Some(Problem::new(key, check_payee(payee).err()?.to_string())))
        .collect();
    if problems.is_empty() {
        return Ok(policy);
    }
    Err(PolicyError::Recipients {
        path: plans.fee_config.clone().unwrap_or_default(),
        problems,
    })
}

fn listed(problems: &[Problem]) -> String {
    let problems: Vec<String> = problems.iter().map(ToString::to_string).collect();
    problems.join("; ")
}

fn fees(path: &Path) -> Result<ReviewedFees, PolicyError> {
    let text = std::fs::read_to_string(path).map_err(|error| PolicyError::Unreadable {
        path: path.to_owned(),
        kind: error.kind(),
    })?;
    let document: FeeDocument = toml::from_str(&text).map_err(|error| PolicyError::Malformed {
        path: path.to_owned(),
        detail: place(&text, &error),
    })?;
    document.review().map_err(|error| PolicyError::Unusable {
        path: path.to_owned(),
        error,
    })
}

fn place(text: &str, error: &toml::de::Error) -> String {
    let start = error.span().map_or(0, |span| span.start);
    let before = text.get(..start).unwrap_or_default();
    let line = before.matches('\n').count().saturating_add(1);
    format!("line {line}: {}", error.message())
}
