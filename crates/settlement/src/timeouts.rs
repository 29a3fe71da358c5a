//! The time limits of a settlement.

use std::time::Duration;

/// The time limits of the calls of a settlement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timeouts {
    /// How long making a connection may take.
    pub connect: Duration,
    /// How long one answer to `/verify`, `/supported` or a status query may take.
    pub verify: Duration,
    /// How long one answer to `/settle` may take. A broker that settles synchronously takes up to
    /// 30 seconds.
    pub settle: Duration,
    /// How long one JSON-RPC answer may take.
    pub rpc: Duration,
    /// How long to wait for the receipt of our own transaction, or of one that a backend reports.
    pub receipt: Duration,
    /// How long to poll a broker's state in total.
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
