//! The options of a journal: retentions, credit and limits.

use crate::spending::Allowance;

/// The options of a journal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// The most bytes of a SQLite file; `None` leaves the disk as the limit. The log does not count
    /// (it is usually 8 MiB, and more while another program reads the file).
    pub max_bytes: Option<u64>,
    /// For how many seconds after the settlement the payer can fetch the answer again.
    pub retention_seconds: u64,
    /// The same for an answer that is only about its payer. At most
    /// [`retention_seconds`](Self::retention_seconds).
    pub private_retention_seconds: u64,
    /// For how many seconds after the settlement an entry stays, with its state and transaction but
    /// without the answer. At least [`retention_seconds`](Self::retention_seconds).
    pub entry_retention_seconds: u64,
    /// For how many seconds after its settlement a purchase whose answer was not delivered is given
    /// to another authorization of its payer, and an action is not begun again. With 0, an answer
    /// is not given to another authorization, and actions count for 600 seconds.
    pub again_seconds: u64,
    /// The most credit of a payer, in micro-USD.
    pub credit_cap_micro_usd: u64,
    /// The pool that callers without credit share.
    pub pool: Allowance,
    /// The share that each client address has.
    pub address_share: Allowance,
}

impl Default for Options {
    /// No size limit; answers for a day and private ones for an hour; entries for 30 days; lost
    /// answers for 600 seconds; credit up to 5 USD; a pool of 1 USD.
    fn default() -> Self {
        Self {
            max_bytes: None,
            retention_seconds: 86_400,
            private_retention_seconds: 3_600,
            entry_retention_seconds: 30 * 86_400,
            again_seconds: 600,
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
