//! The scale of a siege: how long it is, how many servers it has, and what it tolerates.

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

/// The size of a siege, and its tolerances.
#[derive(Debug, Clone, Copy)]
pub struct Scale {
    /// How long the honest buyers are alone.
    pub peace: Duration,
    /// How long the crowd stays.
    pub siege: Duration,
    /// How long the siege waits at most until everything is decided.
    pub calm: Duration,
    /// The settler of the payments.
    pub settlement: Settlement,
    /// The number of the paid API's servers. Several share a PostgreSQL database.
    pub servers: usize,
    /// How often each server is killed in the first third of the siege.
    pub kills: u32,
    /// The tolerated deviations.
    pub tolerance: Tolerance,
}

impl Scale {
    /// A short siege, for slow machines with other work. Times have one generous limit, and buyers
    /// that wait for the end of a window are not waited for.
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

    /// Makes a siege of this many minutes.
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
