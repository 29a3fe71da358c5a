//! The kinds of settlers.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

/// The kind of settler, as `settlement.mode` names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Mode {
    /// Any facilitator of x402 v2.
    #[default]
    Facilitator,
    /// The broker of OKX.
    Okx,
    /// This process settles with a key of its own.
    Onchain,
}

/// A text that names no mode.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("expected `facilitator`, `okx` or `onchain`, observed `{observed}`")]
pub struct UnknownMode {
    /// The text, at most 80 characters of it.
    pub observed: String,
}

impl Mode {
    /// Returns the name in the configuration.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Facilitator => "facilitator",
            Self::Okx => "okx",
            Self::Onchain => "onchain",
        }
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Mode {
    type Err = UnknownMode;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        [Self::Facilitator, Self::Okx, Self::Onchain]
            .into_iter()
            .find(|mode| mode.as_str() == text)
            .ok_or_else(|| UnknownMode {
                observed: text.chars().take(80).collect(),
            })
    }
}
