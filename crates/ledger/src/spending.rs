//! The cost of uncharged work, by payer, pool and address.

use std::net::IpAddr;

/// The cost of work that ended without a charge, by source, in micro-USD.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spent {
    /// Taken from the payer's credit, down to zero.
    pub payer: u64,
    /// Taken from the pool of callers without credit.
    pub pool: u64,
    /// Taken from the share of a client address.
    pub address: Option<(IpAddr, u64)>,
}

impl Spent {
    /// No cost.
    pub const NOTHING: Self = Self::by_payer(0);

    /// A cost that the payer's credit covers alone.
    #[must_use]
    pub const fn by_payer(micro_usd: u64) -> Self {
        Self {
            payer: micro_usd,
            pool: 0,
            address: None,
        }
    }
}

/// How many seconds the time of a write may be before that of an earlier write without counting as
/// a correction of the clock. Writes wait for the disk and may be overtaken.
pub(crate) const LATE_SECONDS: u64 = 3600;

/// The capacity of an amount and how fast it refills, in micro-USD.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Allowance {
    /// The highest amount.
    pub capacity: u64,
    /// The refill of a second.
    pub per_second: u64,
}

impl Allowance {
    /// The deficit `seconds` after it was `missing`.
    pub(crate) fn missing_after(self, seconds: u64, missing: u64) -> u64 {
        let back = seconds.saturating_mul(self.per_second);
        missing.min(self.capacity).saturating_sub(back)
    }
}

/// The deficits that have not refilled yet, in micro-USD.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Missing {
    /// The deficit of the pool.
    pub pool: u64,
    /// The deficits of the shares that are not full.
    pub addresses: Vec<(IpAddr, u64)>,
}
