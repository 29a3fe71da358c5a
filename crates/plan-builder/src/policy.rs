//! What the operator decides: the reviewed fee configuration and how long plans live.

mod fees;

use plan_checks::{FeePolicy, UtcSeconds, commitment::MAX_LIFE_SECONDS};

pub use self::fees::{FeeConfigError, FeeDocument, FeeProblem};

/// Everything versioned that a plan depends on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Policy {
    /// The reviewed fee configuration.
    pub fees: FeePolicy,
    /// How long plans live.
    pub validity: Validity,
}

impl Policy {
    /// A policy with the default lives.
    #[must_use]
    pub const fn new(fees: FeePolicy) -> Self {
        Self {
            fees,
            validity: Validity::DEFAULT,
        }
    }
}

/// Seconds from building to `valid_until`, per rail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Validity {
    /// Swap.
    pub swap: LifeSeconds,
    /// Bridge.
    pub bridge: LifeSeconds,
    /// Prediction-market order.
    pub pm_order: LifeSeconds,
    /// Perpetuals order.
    pub perp_order: LifeSeconds,
}

impl Validity {
    /// Five minutes for the EVM rails; shorter for orders, whose venue facts move.
    pub const DEFAULT: Self = Self {
        swap: LifeSeconds(300),
        bridge: LifeSeconds(300),
        pm_order: LifeSeconds(90),
        perp_order: LifeSeconds(120),
    };
}

/// A life of 30 to 600 seconds (decisions section 1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct LifeSeconds(u64);

impl LifeSeconds {
    /// The shortest life.
    pub const MIN: u64 = 30;
    /// The longest life.
    pub const MAX: u64 = MAX_LIFE_SECONDS;

    /// `None` outside 30 to 600.
    #[must_use]
    pub const fn new(seconds: u64) -> Option<Self> {
        if seconds >= Self::MIN && seconds <= Self::MAX {
            Some(Self(seconds))
        } else {
            None
        }
    }

    /// The number.
    #[must_use]
    pub const fn get(self) -> u64 {
        self.0
    }
}

/// What a constructor is given of time and chance: nothing here reads a clock.
#[derive(Debug, Clone, Copy)]
pub struct Moment {
    /// Unix time in milliseconds.
    pub now_millis: u64,
    /// Fresh random bytes; they name the artifact and salt an order.
    pub entropy: [u8; 32],
}

impl Moment {
    /// The time in whole seconds.
    #[must_use]
    pub const fn now(&self) -> UtcSeconds {
        UtcSeconds::from_unix(self.now_millis / 1000)
    }
}
