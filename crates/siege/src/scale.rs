//! How long a siege is, against how many servers, and what it tolerates.

use std::time::Duration;

use crate::judge::Tolerance;

/// The settler of payments.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Settlement {
    /// A facilitator that fails.
    Facilitator,
    /// The paid API, with its own gas.
    Onchain,
}

/// The length of a siege, and its tolerances.
#[derive(Debug, Clone, Copy)]
pub struct Scale {
    /// The time with honest buyers only.
    pub peace: Duration,
    /// The time with the crowd.
    pub siege: Duration,
    /// The longest time until everything is decided.
    pub calm: Duration,
    /// The settler.
    pub settlement: Settlement,
    /// The number of the paid API's servers. Several share a PostgreSQL database.
    pub servers: usize,
    /// How often each server is killed in the first third of the siege.
    pub kills: u32,
    /// The tolerances.
    pub tolerance: Tolerance,
}

impl Scale {
    /// A short one, for slow machines with other work: times are only reported, and buyers that
    /// wait for the end of a window are not waited for.
    pub const QUICK: Self = Self {
        peace: Duration::from_secs(8),
        siege: Duration::from_secs(35),
        calm: Duration::from_secs(60),
        settlement: Settlement::Facilitator,
        servers: 1,
        kills: 0,
        tolerance: Tolerance {
            memory: 48 << 20,
            descriptors: 128,
            ratio: None,
            p99: Some(Duration::from_secs(10)),
            waiting: true,
        },
    };

    /// A siege of this many minutes.
    pub const fn minutes(minutes: u64) -> Self {
        Self {
            peace: Duration::from_secs(30),
            siege: Duration::from_secs(minutes.saturating_mul(60)),
            calm: Duration::from_secs(300),
            settlement: Settlement::Facilitator,
            servers: 1,
            kills: 0,
            tolerance: Tolerance {
                memory: 48 << 20,
                descriptors: 128,
                ratio: Some(3),
                p99: None,
                waiting: false,
            },
        }
    }
}
