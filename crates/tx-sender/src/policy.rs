//! What a sender is set up with.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::{Node, Takeover};

/// How many blocks an outcome is watched after it counts.
pub(crate) const WATCHED_BLOCKS: u64 = 64;

/// A chain: its nodes in the order in which they are asked, and the rules of its lanes.
#[derive(Clone)]
pub struct Chain {
    /// The chain id (EIP-155).
    pub id: u64,
    /// Its nodes. The first one that answers and is not behind the others is asked; what it says of
    /// a block is compared with all.
    pub nodes: Vec<Arc<dyn Node>>,
    /// The rules.
    pub policy: Policy,
}

/// The rules of a chain's lanes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Policy {
    /// The most that one gas may cost, in wei, where a request says nothing else.
    pub max_fee_per_gas: u128,
    /// The most that one gas of a transaction without effect may cost, in wei; twice the other when
    /// absent.
    pub noop_max_fee_per_gas: Option<u128>,
    /// The most gas that a transaction without effect may use; by the node's estimate when absent.
    /// It must be set for a chain whose nodes estimate too little.
    pub noop_gas: Option<u64>,
    /// How many blocks must stand above a transaction's before it counts, where a request says
    /// nothing else.
    pub confirmations: u64,
    /// How many transactions of one lane may wait for a block at a time.
    pub max_in_flight: usize,
    /// How far the chain's blocks are apart. Looks follow soon after a transaction was handed over,
    /// and then five times in a block.
    pub block_time: Duration,
    /// The longest pause between two looks at the chain while something waits for it: for what
    /// waits longer than for a few blocks.
    pub poll_interval: Duration,
    /// How often it is looked at while outcomes are only watched for a reorganisation.
    pub watch_interval: Duration,
    /// How long after a transaction was handed to a node the same bytes are handed to all.
    pub resend_after: Duration,
    /// How long after a transaction was signed a replacement with higher fees is, and how long a
    /// missing nonce is waited for.
    pub bump_after: Duration,
    /// How long a transaction at its cap may keep others from being mined whose caps are higher.
    pub clear_after: Duration,
    /// How long a signature is waited for.
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
    /// How far the blocks of a chain are apart, as far as it is known here; one second for others.
    #[must_use]
    pub fn usual_block_time(chain_id: u64) -> Duration {
        Duration::from_millis(match chain_id {
            1 => 12_000,
            10 | 137 | 8453 => 2_000,
            42_161 => 250,
            _ => 1_000,
        })
    }

    /// The cap of transactions without effect.
    #[must_use]
    pub fn noop_cap(&self) -> u128 {
        self.noop_max_fee_per_gas
            .unwrap_or(self.max_fee_per_gas.saturating_mul(2))
    }
}

/// How a sender runs.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// The clock, for leases and ages.
    pub clock: Clock,
    /// Whether lanes are taken from a predecessor whose lease is not over.
    pub takeover: Takeover,
}

/// A clock that tells Unix seconds.
#[derive(Clone)]
pub struct Clock(Arc<dyn Fn() -> u64 + Send + Sync>);

impl Clock {
    /// A clock that asks this function.
    #[must_use]
    pub fn new(now: impl Fn() -> u64 + Send + Sync + 'static) -> Self {
        Self(Arc::new(now))
    }

    pub(crate) fn now(&self) -> u64 {
        (self.0)()
    }
}

/// The system's clock.
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
