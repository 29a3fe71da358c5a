//! The options of a journal: retentions, credit, limits.

use crate::spending::Allowance;

/// The options of a journal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// The size limit of a SQLite file in bytes; `None` leaves the disk as the limit. The log does
    /// not count (usually 8 MiB; more while another program reads the file).
    pub max_bytes: Option<u64>,
    /// The retention of an answer in seconds: its payer can fetch it again for so long after the
    /// settlement.
    pub retention_seconds: u64,
    /// The same for an answer about its payer alone; at most
    /// [`retention_seconds`](Self::retention_seconds).
    pub private_retention_seconds: u64,
    /// The retention of a payment's entry in seconds: it stays for so long after the settlement,
    /// with its state and transaction but without the answer. At least
    /// [`retention_seconds`](Self::retention_seconds).
    pub entry_retention_seconds: u64,
    /// The most credit of a payer, in micro-USD.
    pub credit_cap_micro_usd: u64,
    /// The pool of callers without credit.
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
    /// The retention of an answer, in seconds.
    pub(crate) fn answer_retention(&self, private: bool) -> u64 {
        match private {
            true => self.private_retention_seconds.min(self.retention_seconds),
            false => self.retention_seconds,
        }
    }
}
