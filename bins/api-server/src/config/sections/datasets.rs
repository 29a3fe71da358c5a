//! `[datasets]`.

use serde::Deserialize;
use server_config::lenient;

/// `[datasets]`: the datasets that this server refreshes on a schedule. It sells no other datasets.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct DatasetsSection {
    /// The news, every hour.
    #[serde(deserialize_with = "lenient::boolean")]
    pub news: bool,
    /// The yields, every half hour.
    #[serde(deserialize_with = "lenient::boolean")]
    pub yields: bool,
}

impl Default for DatasetsSection {
    fn default() -> Self {
        Self {
            news: true,
            yields: true,
        }
    }
}
