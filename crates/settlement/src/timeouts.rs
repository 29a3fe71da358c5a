//! The time limits of a settlement.

use std::time::Duration;

/// The time limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timeouts {
    /// For a connection.
    pub connect: Duration,
    /// For one answer to `/verify`, `/supported` or a status query.
    pub verify: Duration,
    /// For one answer to `/settle`; a broker that settles synchronously takes up to 30 seconds.
    pub settle: Duration,
    /// For one JSON-RPC answer.
    pub rpc: Duration,
    /// For the receipt of our own transaction.
    pub receipt: Duration,
    /// The total time for polling a broker's state.
    pub poll_budget: Duration,
    /// The time between two polls of a state or a receipt.
    pub poll_interval: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(5),
            verify: Duration::from_secs(10),
            settle: Duration::from_secs(35),
            rpc: Duration::from_secs(10),
            receipt: Duration::from_secs(30),
            poll_budget: Duration::from_secs(5),
            poll_interval: Duration::from_millis(500),
        }
    }
}
