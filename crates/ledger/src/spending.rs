//! The cost of uncharged work, and the amounts from which it is taken.

use std::net::IpAddr;

/// The cost of work that ended without a charge, by source, in micro-USD.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spent {
    /// The part taken from the payer's credit, which does not fall below zero.
    pub payer: u64,
    /// The part taken from the pool of callers without credit.
    pub pool: u64,
    /// The part taken from the share of a client address.
    pub address: Option<(IpAddr, u64)>,
}

impl Spent {
    /// No cost.
    pub const NOTHING: Self = Self::by_payer(0);

    /// A cost that only the payer's credit covers.
    #[must_use]
    pub const fn by_payer(micro_usd: u64) -> Self {
        Self {
            payer: micro_usd,
            pool: 0,
            address: None,
        }
    }
}

/// By how many seconds a write's time may be before that of an earlier write without counting as a
/// correction of the clock. Writes wait for the disk, and one may overtake another.
pub(crate) const LATE_SECONDS: u64 = 3600;

/// How large an amount is when it is full, and how fast it refills, in micro-USD.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Allowance {
    /// The highest amount.
    pub capacity: u64,
    /// How much it refills in a second.
    pub per_second: u64,
}

impl Allowance {
    /// Returns the deficit that is left of `missing` after `seconds`.
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
