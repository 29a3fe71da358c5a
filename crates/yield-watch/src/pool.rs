//! A market with the members that a check compares and records.

use readings::Figure;
use serde::{Deserialize, Serialize};

/// A market with the members that a check compares and records.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pool {
    /// Its id.
    pub pool: String,
    /// Its protocol.
    pub project: String,
    /// The name of its chain.
    pub chain: String,
    /// The symbols of its assets.
    pub symbol: String,
    /// The yield that is compared, in percent a year.
    pub apy_pct: Figure,
}
