//! How a journal is kept: retentions, credit, limits.

use crate::spending::Allowance;

/// How a journal is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// The most bytes that a SQLite file may hold, the log beside it not counted (usually 8 MiB;
    /// more while another program reads the file). Without it the disk is the limit.
    pub max_bytes: Option<u64>,
    /// How long an answer can be fetched again after its settlement, in seconds.
    pub retention_seconds: u64,
    /// The same for an answer that tells of its payer alone. Above
    /// [`retention_seconds`](Self::retention_seconds) it counts as that.
    pub private_retention_seconds: u64,
    /// How long the entry of a settled payment is kept after its settlement, in seconds: that it
    /// was settled and by which transaction, without the answer. Below
    /// [`retention_seconds`](Self::retention_seconds) it counts as that.
    pub entry_retention_seconds: u64,
    /// The most credit of a payer, in micro-USD.
    pub credit_cap_micro_usd: u64,
    /// The pool of those who have no credit.
    pub pool: Allowance,
    /// The share of each client address.
    pub address_share: Allowance,
}

impl Default for Options {
    /// No size limit, answers for a day and private ones for an hour, entries for 30 days, credit
    /// up to 5 USD, a pool of 1 USD.
    fn default() -> Self {
        Self {
            max_bytes: None,
            retention_seconds: 86_400,
            private_retention_seconds: 3_600,
            entry_retention_seconds: 30 * 86_400,
            credit_cap_micro_usd: 5_000_000,
            pool: Allowance {
                capacity: 1_000_000,
                per_second: 500,
            },
            address_share: Allowance {
                capacity: 2_000,
                per_second: 5,
            },
        }
    }
}

impl Options {
    /// How long an answer is kept, in seconds.
    pub(crate) fn answer_retention(&self, private: bool) -> u64 {
        match private {
            true => self.private_retention_seconds.min(self.retention_seconds),
            false => self.retention_seconds,
        }
    }
}
