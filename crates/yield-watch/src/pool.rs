//! A market in the form for comparison.

use readings::Figure;
use serde::{Deserialize, Serialize};

/// A market in the form for comparison.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pool {
    /// Its id.
    pub pool: String,
    /// Its protocol.
    pub project: String,
    /// Its chain's name.
    pub chain: String,
    /// Its assets.
    pub symbol: String,
    /// The yield that counts, in percent a year.
    pub apy_pct: Figure,
}
