//! `[storage]`.

use serde::Deserialize;
use server_config::lenient;
use storage::StoreOptions;

use super::problem;
use crate::config::Problem;

/// Enough for at least one image.
const LEAST_ARTIFACT_BYTES: u64 = 32 << 20;

/// `[storage]`: the ledger.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct StorageSection {
    /// `sqlite://` and a path.
    pub url: String,
    /// For how many seconds the same payment can fetch an answer again.
    #[serde(deserialize_with = "lenient::scalar")]
    pub answer_retention_seconds: u64,
    /// The same for an answer about the payer's own wallet. Fetching it again needs the payment
    /// identifier with which it was bought.
    #[serde(deserialize_with = "lenient::scalar")]
    pub private_answer_seconds: u64,
    /// For how many days a payment's state and transaction outlive its answer.
    #[serde(deserialize_with = "lenient::scalar")]
    pub payment_retention_days: u32,
    /// The size limit of the ledger in bytes; no limit when absent.
    #[serde(deserialize_with = "lenient::optional_scalar")]
    pub max_bytes: Option<u64>,
    /// The size limit of all generated images together in bytes. They are stored beside the ledger.
    #[serde(deserialize_with = "lenient::scalar")]
    pub artifact_max_bytes: u64,
}

impl Default for StorageSection {
    fn default() -> Self {
        Self {
            url: "sqlite://data/service.db".to_owned(),
            answer_retention_seconds: 86_400,
            // Long enough to reconnect after a lost connection, but short, because these answers
            // show what wallets did.
            private_answer_seconds: 3_600,
            payment_retention_days: 30,
            max_bytes: None,
            artifact_max_bytes: StoreOptions::USUAL_BYTES,
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
        if self.private_answer_seconds > self.answer_retention_seconds {
            problem(
                problems,
                "storage.private_answer_seconds",
                "expected at most answer_retention_seconds",
            );
        }
        if self.payment_retention_days == 0 {
            problem(
                problems,
                "storage.payment_retention_days",
                "expected at least 1: otherwise a payer could not look up a payment",
            );
        }
        if self.artifact_max_bytes < LEAST_ARTIFACT_BYTES {
            problem(
                problems,
                "storage.artifact_max_bytes",
                "expected at least 33554432",
            );
        }
    }
}
