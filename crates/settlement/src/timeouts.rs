//! How long is waited for what.

use std::time::Duration;

/// How long is waited for what.
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
    /// For the receipt of an own transaction.
    pub receipt: Duration,
    /// How long a broker's state is polled in all.
    pub poll_budget: Duration,
    /// Between two polls of a state or of a receipt.
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
