//! The operator's decisions: the reviewed fee configuration and the lives of plans.

mod fees;

use calldata_checks::{UtcSeconds, commitment::MAX_LIFE_SECONDS};

pub(crate) use self::fees::is_tool_key;
pub use self::fees::{FeeConfigError, FeeDocument, FeeProblem, ReviewedFees};

/// The operator's versioned decisions that a plan depends on.
///
/// # Example
/// ```
/// use plan_builder::{FeeDocument, LifeSeconds, Policy, SimulationMode};
///
/// # macro_rules! file {
/// #     ($name:literal) => { include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/", $name)) };
/// # }
/// let document: FeeDocument = toml::from_str(file!("fees.toml"))?; // reviewed by the operator
/// let mut policy = Policy::new(document.review()?);
/// policy.simulation = SimulationMode::Required;
/// policy.validity.swap = LifeSeconds::new(60).ok_or("30 to 600")?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Policy {
    /// The reviewed fee configuration.
    pub fees: ReviewedFees,
    /// The lives of plans.
    pub validity: Validity,
    /// Whether plans are simulated before they are given.
    pub simulation: SimulationMode,
    /// Whether a bridge plan is given for an account with a key when no endpoint can tell whether
    /// the account is a contract.
    pub allow_unread_accounts: bool,
}

impl Policy {
    /// Creates a policy with the default lives that prefers a simulation and requires accounts to
    /// be read.
    #[must_use]
    pub const fn new(fees: ReviewedFees) -> Self {
        Self {
            fees,
            validity: Validity::DEFAULT,
            simulation: SimulationMode::Preferred,
            allow_unread_accounts: false,
        }
    }
}

/// Whether plans with transactions are simulated before they are given. Orders have no transactions
/// and are not simulated.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum SimulationMode {
    /// A plan that could not be run is refused, except for an account that does not hold the input
    /// yet: that plan says that it was not run.
    Required,
    /// A plan that could not be run is given, and says so.
    #[default]
    Preferred,
    /// No plan is run.
    Off,
}

impl SimulationMode {
    /// All modes.
    pub const ALL: [Self; 3] = [Self::Required, Self::Preferred, Self::Off];

    /// The mode's word in a configuration.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Required => "required",
            Self::Preferred => "preferred",
            Self::Off => "off",
        }
    }

    /// Reads the mode's word.
    #[must_use]
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|mode| mode.as_str() == word)
    }
}

/// The lives of plans, per rail, from building to `valid_until`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
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
    /// Five minutes for the EVM rails; shorter for orders, because the venue's facts move.
    pub const DEFAULT: Self = Self {
        swap: LifeSeconds(300),
        bridge: LifeSeconds(300),
        pm_order: LifeSeconds(90),
        perp_order: LifeSeconds(120),
    };
}

/// A life of 30 to 600 seconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LifeSeconds(u64);

impl LifeSeconds {
    /// The shortest life.
    pub const MIN: u64 = 30;
    /// The longest life.
    pub const MAX: u64 = MAX_LIFE_SECONDS;

    /// Creates a life; `None` outside 30 to 600 seconds.
    #[must_use]
    pub const fn new(seconds: u64) -> Option<Self> {
        if seconds >= Self::MIN && seconds <= Self::MAX {
            Some(Self(seconds))
        } else {
            None
        }
    }

    /// The life in seconds.
    #[must_use]
    pub const fn get(self) -> u64 {
        self.0
    }
}

/// The time and the random bytes of a constructor. The crate reads no clock.
///
/// # Example
/// ```
/// use std::time::{SystemTime, UNIX_EPOCH};
///
/// use plan_builder::Moment;
///
/// let now = SystemTime::now().duration_since(UNIX_EPOCH)?;
/// let moment = Moment {
///     now_millis: u64::try_from(now.as_millis())?,
///     entropy: [7; 32], // of the system's random generator
/// };
/// assert!(moment.now().unix() > 1_700_000_000);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
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
