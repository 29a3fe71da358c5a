//! The cost of work.

use std::fmt;

/// The cost of a piece of work, in micro-dollars.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Cost(u64);

impl Cost {
    /// Work that costs nothing, such as an answer from a cache.
    pub const ZERO: Self = Self(0);

    /// A cost of this many micro-dollars.
    #[must_use]
    pub const fn micro_usd(amount: u64) -> Self {
        Self(amount)
    }

    /// The cost in micro-dollars.
    #[must_use]
    pub const fn as_micro_usd(self) -> u64 {
        self.0
    }

    /// The sum of both costs, saturating.
    #[must_use]
    pub const fn plus(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }

    /// The cost of `count` times the work, saturating.
    #[must_use]
    pub fn times(self, count: u32) -> Self {
        Self(self.0.saturating_mul(u64::from(count)))
    }

    /// This cost less `other`; zero when `other` is larger.
    #[must_use]
    pub const fn minus(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

impl fmt::Display for Cost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} micro-USD", self.0)
    }
}
