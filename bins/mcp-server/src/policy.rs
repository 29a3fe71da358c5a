//! The reviewed fee configuration of a file, and how long plans live.

use std::io;
use std::path::{Path, PathBuf};

use plan_builder::{FeeConfigError, FeeDocument, LifeSeconds, Policy, Validity};
use thiserror::Error;

use crate::config::PlansSection;

/// Why there is no policy.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum PolicyError {
    /// No file is named.
    #[error(
        "plans.fee_config: is missing: every plan is checked against it, and there is no default for who is paid"
    )]
    Missing,
    /// The file cannot be read.
    #[error("plans.fee_config: cannot read {}: {kind}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the operating system says.
        kind: io::ErrorKind,
    },
    /// The file is not TOML, or has unknown, missing or mistyped keys.
    #[error("plans.fee_config: {}: {detail}", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// Where and why.
        detail: String,
    },
    /// A value that cannot be.
    #[error("plans.fee_config: {}: {error}", path.display())]
    Unusable {
        /// The file.
        path: PathBuf,
        /// Every problem, by its key.
        error: FeeConfigError,
    },
    /// A life that no plan may have.
    #[error("plans.{rail}_valid_seconds: expected 30 to 600")]
    Life {
        /// The rail.
        rail: &'static str,
    },
}

/// The policy of a configuration.
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
    Ok(policy)
}

fn fees(path: &Path) -> Result<plan_checks::FeePolicy, PolicyError> {
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
