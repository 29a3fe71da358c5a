//! The parts that drivers and planners share: custody, policy, chains, the sender of transactions,
//! and the store. The caller of this crate supplies them as [`Parts`].

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use chain_reader::ChainReader;
use custody::{Custody, SigningPolicy, Turns};
use gas_funding::GasFunding;
use tokio::sync::Notify;
use tx_sender::Sender;

use crate::Refused;
use crate::drive::Fault;
use crate::ports::Plans;
use crate::store::Store;

/// The parts that wallet actions need.
pub struct Parts {
    /// Holds the wallets' keys, behind the policy.
    pub custody: Arc<dyn Custody>,
    /// The signing policy of the keys. An action with a refused transaction does not begin.
    pub policy: SigningPolicy,
    /// The chains, by id.
    pub chains: Vec<ChainReader>,
    /// The sender of transactions. No other sender may send for these wallets.
    pub sender: Sender,
    /// The turns on wallets, shared with every other part that sends for them.
    pub turns: Turns,
    /// The store of intents.
    pub store: Arc<dyn Store>,
    /// Plans swaps and bridges.
    pub plans: Arc<dyn Plans>,
    /// Tops up wallets with coins for gas. It is shared with every other part that sends for them.
    pub funding: GasFunding,
    /// The pauses of the background work.
    pub pace: Pace,
    /// The machine's clock, in Unix seconds.
    pub clock: Arc<dyn Fn() -> u64 + Send + Sync>,
}

/// The pauses of the background work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pace {
    /// The pause before the next look at something that may change soon.
    pub look: Duration,
    /// The pause after a fault.
    pub after_fault: Duration,
    /// The pause before the next look at a wallet that gets no coins for gas.
    pub unfunded: Duration,
    /// The pause between two requests for an attestation.
    pub attestation: Duration,
    /// The pause between two searches for open intents, and between two checks of ended intents
    /// that are not final.
    pub sweep: Duration,
}

impl Default for Pace {
    fn default() -> Self {
        Self {
            look: Duration::from_millis(500),
            after_fault: Duration::from_secs(2),
            unfunded: Duration::from_secs(30),
            attestation: Duration::from_secs(5),
            sweep: Duration::from_secs(5),
        }
    }
}

/// The parts that drivers and planners share.
pub(crate) struct Shared {
    pub(crate) custody: Arc<dyn Custody>,
    pub(crate) policy: SigningPolicy,
    pub(crate) chains: HashMap<u64, ChainReader>,
    pub(crate) sender: Sender,
    pub(crate) turns: Turns,
    pub(crate) store: Arc<dyn Store>,
    pub(crate) plans: Arc<dyn Plans>,
    pub(crate) funding: GasFunding,
    pub(crate) pace: Pace,
    pub(crate) clock: Arc<dyn Fn() -> u64 + Send + Sync>,
    /// Notified after every write of an intent.
    pub(crate) changed: Notify,
    /// Notified when an intent was inserted or reopened.
    pub(crate) made: Notify,
}

impl Shared {
    pub(crate) fn now(&self) -> u64 {
        (self.clock)()
    }

    /// Returns a chain for a request. A chain without nodes refuses the request.
    pub(crate) fn chain(&self, chain_id: u64) -> Result<&ChainReader, Refused> {
        self.chains.get(&chain_id).ok_or_else(|| {
            let message = format!("no node of chain {chain_id} is configured for wallets");
            Refused::unsupported("chain_unsupported", message)
        })
    }

    /// Returns a chain for the work on an intent. A chain without nodes is a fault, and the work
    /// waits.
    pub(crate) fn chain_of(&self, chain_id: u64) -> Result<&ChainReader, Fault> {
        self.chains.get(&chain_id).ok_or(Fault::Chain(chain_id))
    }
}
