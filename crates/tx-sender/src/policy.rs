//! The configuration of a sender.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::{Node, Takeover};

/// For how many blocks the sender watches an outcome after it counts.
pub(crate) const WATCHED_BLOCKS: u64 = 64;

/// A chain: its nodes in the order of asking, and the rules of its lanes.
#[derive(Clone)]
pub struct Chain {
    /// The chain id (EIP-155).
    pub id: u64,
    /// The nodes of the chain. The first one that answers and is not behind the others is used.
    /// What it says about blocks is compared with all nodes.
    pub nodes: Vec<Arc<dyn Node>>,
    /// The rules of the lanes.
    pub policy: Policy,
}

/// The rules of a chain's lanes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Policy {
    /// The highest price of a unit of gas, in wei. A request may state another one.
    pub max_fee_per_gas: u128,
    /// The highest price of a unit of gas for a transaction without effect, in wei. When absent,
    /// twice `max_fee_per_gas`.
    pub noop_max_fee_per_gas: Option<u128>,
    /// The most gas of a transaction without effect. When absent, the node's estimate counts. It
    /// must be set for a chain whose nodes estimate too little.
    pub noop_gas: Option<u64>,
    /// How many blocks must follow a transaction's block before the transaction counts. A request
    /// may state another number.
    pub confirmations: u64,
    /// How many transactions of one lane may wait for a block at the same time.
    pub max_in_flight: usize,
    /// The time between two blocks of the chain. After sending a transaction, the sender first
    /// checks the chain soon, and then five times in each block time.
    pub block_time: Duration,
    /// The longest pause between two checks of the chain, when a transaction waits for more than a
    /// few blocks.
    pub poll_interval: Duration,
    /// The pause between two checks when the sender only watches outcomes for a reorganisation.
    pub watch_interval: Duration,
    /// How long after a transaction was sent to one node the same bytes are sent to all nodes.
    pub resend_after: Duration,
    /// How long after its signature a transaction is replaced by one with higher fees. It is also
    /// how long the sender waits for a missing nonce.
    pub bump_after: Duration,
    /// How long a transaction at its cap may block others with higher caps.
    pub clear_after: Duration,
    /// How long the sender waits for a signature.
    pub signer_timeout: Duration,
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            max_fee_per_gas: 100_000_000_000,
            noop_max_fee_per_gas: None,
            noop_gas: None,
            confirmations: 0,
            max_in_flight: 64,
            block_time: Duration::from_secs(1),
            poll_interval: Duration::from_millis(500),
            watch_interval: Duration::from_secs(5),
            resend_after: Duration::from_secs(10),
            bump_after: Duration::from_secs(20),
            clear_after: Duration::from_secs(600),
            signer_timeout: Duration::from_secs(10),
        }
    }
}

impl Policy {
    /// Returns the usual time between two blocks of a known chain. It is one second for other
    /// chains.
    #[must_use]
    pub fn usual_block_time(chain_id: u64) -> Duration {
        Duration::from_millis(match chain_id {
            1 => 12_000,
            10 | 137 | 8453 => 2_000,
            42_161 => 250,
            _ => 1_000,
        })
    }

    /// Returns the highest price for transactions without effect.
    #[must_use]
    pub fn noop_cap(&self) -> u128 {
        self.noop_max_fee_per_gas
            .unwrap_or(self.max_fee_per_gas.saturating_mul(2))
    }
}

/// The options of a sender.
#[derive(Debug, Clone)]
pub struct Options {
    /// The clock for leases and ages.
    pub clock: Clock,
    /// Whether the sender takes over lanes of a predecessor whose lease has not ended.
    pub takeover: Takeover,
    /// How long a lane is leased, in seconds. When a process ends with open requests, other senders
    /// wait so long. The lease is renewed after a third of this time.
    pub lease_seconds: u64,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            clock: Clock::default(),
            takeover: Takeover::default(),
            lease_seconds: 30,
        }
    }
}

/// A clock in Unix seconds.
#[derive(Clone)]
pub struct Clock(Arc<dyn Fn() -> u64 + Send + Sync>);

impl Clock {
    /// Makes a clock that calls this function.
    #[must_use]
    pub fn new(now: impl Fn() -> u64 + Send + Sync + 'static) -> Self {
        Self(Arc::new(now))
    }

    /// Returns the current time.
    #[must_use]
    pub fn now(&self) -> u64 {
        (self.0)()
    }
}

/// The clock of the system.
impl Default for Clock {
    fn default() -> Self {
        Self::new(|| {
            SystemTime::now()
                .duration_since(UNIX_EPOCH)
                .map_or(0, |elapsed| elapsed.as_secs())
        })
    }
}

impl fmt::Debug for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Clock")
    }
}

impl fmt::Debug for Chain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Chain")
            .field("id", &self.id)
            .field("nodes", &self.nodes.len())
            .field("policy", &self.policy)
            .finish()
    }
}
