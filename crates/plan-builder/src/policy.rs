//! The operator's decisions, on which plans depend: the reviewed fee configuration, the lives of
//! plans, and simulation.

mod fees;

use calldata_checks::{UtcSeconds, commitment::MAX_LIFE_SECONDS};

pub(crate) use self::fees::is_tool_key;
pub use self::fees::{FeeConfigError, FeeDocument, FeeProblem, ReviewedFees};

/// The greatest age of a reading on which a plan is built, in seconds. A reading's clock may run
/// ahead by as much.
pub(crate) const OLDEST_READING: u64 = 60;

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
#[non_exhaustive]
pub struct Policy {
    /// The reviewed fee configuration.
    pub fees: ReviewedFees,
    /// How long plans are valid.
    pub validity: Validity,
    /// Whether plans are simulated before a caller gets them.
    pub simulation: SimulationMode,
    /// Whether a caller gets a bridge plan for an account with a key when no endpoint can tell
    /// whether the account is a contract.
    pub allow_unread_accounts: bool,
}

impl Policy {
    /// Creates a policy with the default lives. It prefers a simulation, and requires that accounts
    /// are read.
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

/// Whether plans with transactions are simulated before a caller gets them. Orders have no
/// transactions and are not simulated.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SimulationMode {
    /// A plan that could not be simulated is refused. The one exception is an account that does not
    /// hold the input yet: its plan says that it was not simulated.
    Required,
    /// A plan that could not be simulated is given, and says so.
    #[default]
    Preferred,
    /// No plan is simulated.
    Off,
}

impl SimulationMode {
    /// All modes.
    pub const ALL: [Self; 3] = [Self::Required, Self::Preferred, Self::Off];

    /// The word for the mode in a configuration.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Required => "required",
            Self::Preferred => "preferred",
            Self::Off => "off",
        }
    }

    /// Converts a configuration's word to a mode.
    ///
    /// # Example
    /// ```
    /// use plan_builder::SimulationMode;
    ///
    /// assert_eq!(SimulationMode::from_word("required"), Some(SimulationMode::Required));
    /// assert_eq!(SimulationMode::from_word("Required"), None);
    /// ```
    #[must_use]
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|mode| mode.as_str() == word)
    }
}

/// The lives of plans, for each rail: the time from building until `valid_until`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Validity {
    /// The life of a swap plan.
    pub swap: LifeSeconds,
    /// The life of a bridge plan.
    pub bridge: LifeSeconds,
    /// The life of a prediction-market order plan.
    pub pm_order: LifeSeconds,
    /// The life of a perpetuals order plan.
    pub perp_order: LifeSeconds,
}

impl Validity {
    /// Five minutes for the EVM rails. Orders have less, because the venues' facts change.
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
    ///
    /// # Example
    /// ```
    /// use plan_builder::LifeSeconds;
    ///
    /// assert_eq!(LifeSeconds::new(60).map(LifeSeconds::get), Some(60));
    /// assert_eq!(LifeSeconds::new(601), None);
    /// ```
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
    /// Fresh random bytes, for the name of the artifact and the salt of an order.
    pub entropy: [u8; 32],
}

impl Moment {
    /// The time in whole seconds.
    #[must_use]
    pub const fn now(&self) -> UtcSeconds {
        UtcSeconds::from_unix(self.now_millis / 1000)
    }
}
