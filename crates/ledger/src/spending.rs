//! What uncharged work has cost, and whom.

use std::net::IpAddr;

/// Who pays for work that ended without a charge, in micro-USD.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spent {
    /// The payer's credit, at most what there is.
    pub payer: u64,
    /// The pool of those who have no credit.
    pub pool: u64,
    /// The share of a client address.
    pub address: Option<(IpAddr, u64)>,
}

impl Spent {
    /// Nobody pays anything.
    pub const NOTHING: Self = Self::by_payer(0);

    /// The payer pays for all of it.
    #[must_use]
    pub const fn by_payer(micro_usd: u64) -> Self {
        Self {
            payer: micro_usd,
            pool: 0,
            address: None,
        }
    }
}

/// How far back the time of a write may lie behind that of an earlier one without being a
/// correction of the clock. A write waits for the disk, and others come before it.
pub(crate) const LATE_SECONDS: u64 = 3600;

/// How much can be spent, and how fast it comes back, in micro-USD.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Allowance {
    /// The most that is there.
    pub capacity: u64,
    /// What comes back in a second.
    pub per_second: u64,
}

impl Allowance {
    /// What is missing `seconds` after so much was missing.
    pub(crate) fn missing_after(self, seconds: u64, missing: u64) -> u64 {
        let back = seconds.saturating_mul(self.per_second);
        missing.min(self.capacity).saturating_sub(back)
    }
}

/// What was spent and has not come back yet, in micro-USD.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Missing {
    /// Of the pool.
    pub pool: u64,
    /// Of the shares of addresses: those that are not full.
    pub addresses: Vec<(IpAddr, u64)>,
}
