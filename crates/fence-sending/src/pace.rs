//! The pauses of the background work.

use std::time::Duration;

/// The pauses of the background work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pace {
    /// The pause between two turns of a plan that waits.
    pub look: Duration,
    /// The pause after prices could not be read. A plan waits for them until its time is over.
    pub unpriced: Duration,
    /// The pause between two searches for plans without a driver, and for ended plans that have
    /// lost a block.
    pub sweep: Duration,
    /// The pause between two readings of an allowance that the service cannot clear.
    pub rest: Duration,
    /// How long a clearing waits for coins that are on their way to the account.
    pub coins: Duration,
    /// The life of a lease. Every turn renews it.
    pub lease_seconds: u64,
    /// How long a plan's blocks are watched after its end.
    pub watched: Duration,
}

impl Default for Pace {
    fn default() -> Self {
        Self {
            look: Duration::from_millis(750),
            unpriced: Duration::from_secs(3),
            sweep: Duration::from_secs(5),
            rest: Duration::from_secs(60),
            coins: Duration::from_secs(60),
            lease_seconds: 30,
            watched: Duration::from_secs(900),
        }
    }
}
