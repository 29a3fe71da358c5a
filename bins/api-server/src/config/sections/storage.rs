//! `[storage]`.

use serde::Deserialize;
use server_config::lenient;

use super::problem;
use crate::config::Problem;

/// `[storage]`: the ledger.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct StorageSection {
    /// `sqlite://` and a path.
    pub url: String,
    /// Seconds for which an answer can be fetched again with the same payment.
    #[serde(deserialize_with = "lenient::scalar")]
    pub answer_retention_seconds: u64,
    /// A cap on the ledger's size in bytes; none when absent.
    #[serde(deserialize_with = "lenient::optional_scalar")]
    pub max_bytes: Option<u64>,
}

impl Default for StorageSection {
    fn default() -> Self {
        Self {
            url: "sqlite://data/service.db".to_owned(),
            answer_retention_seconds: 86_400,
            max_bytes: None,
        }
    }
}

impl StorageSection {
    pub(crate) fn check(&self, problems: &mut Vec<Problem>) {
        if !self.url.starts_with("sqlite://") {
            problem(problems, "storage.url", "expected sqlite:// and a path");
        }
        if self.answer_retention_seconds < 60 {
            problem(
                problems,
                "storage.answer_retention_seconds",
                "expected at least 60",
            );
        }
    }
}
