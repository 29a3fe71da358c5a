//! What the drivers of intents and the planners of actions share: custody, policy, chains, the
//! sender of transactions, and the records.

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

/// What actions are carried out with.
pub struct Parts {
    /// Who holds the wallets' keys, behind the policy.
    pub custody: Arc<dyn Custody>,
    /// What the keys sign at most: what it refuses is refused before anything is begun.
    pub policy: SigningPolicy,
    /// The chains, by id.
    pub chains: Vec<ChainReader>,
    /// The sender of transactions. Nobody else sends for the wallets.
    pub sender: Sender,
    /// Turns on wallets, shared with whoever else sends for them.
    pub turns: Turns,
    /// The intents.
    pub store: Arc<dyn Store>,
    /// Who plans swaps and bridges.
    pub plans: Arc<dyn Plans>,
    /// Who gives wallets coins for gas, shared with whoever else sends for them.
    pub funding: GasFunding,
    /// How fast.
    pub pace: Pace,
    /// The machine's clock, in Unix seconds.
    pub clock: Arc<dyn Fn() -> u64 + Send + Sync>,
}

/// How often things are looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pace {
    /// The pause before something is looked at again that is about to change.
    pub look: Duration,
    /// The pause after something could not be asked.
    pub after_fault: Duration,
    /// The pause between two questions for an attestation.
    pub attestation: Duration,
    /// The pause between two searches for open intents, and between two looks at those that are
    /// over and not final.
    pub sweep: Duration,
}

impl Default for Pace {
    fn default() -> Self {
        Self {
            look: Duration::from_millis(500),
            after_fault: Duration::from_secs(2),
            attestation: Duration::from_secs(5),
            sweep: Duration::from_secs(5),
        }
    }
}

/// What drivers and planners share.
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
    /// Some intent was written.
    pub(crate) changed: Notify,
    /// Some intent was made, or reopened.
    pub(crate) made: Notify,
}

impl Shared {
    pub(crate) fn now(&self) -> u64 {
        (self.clock)()
    }

    /// A chain that is asked for.
    pub(crate) fn chain(&self, chain_id: u64) -> Result<&ChainReader, Refused> {
        self.chains.get(&chain_id).ok_or_else(|| {
            let message = format!("no node of chain {chain_id} is configured for wallets");
            Refused::unsupported("chain_unsupported", message)
        })
    }

    /// A chain of an intent.
    pub(crate) fn chain_of(&self, chain_id: u64) -> Result<&ChainReader, Fault> {
        self.chains.get(&chain_id).ok_or(Fault::Chain(chain_id))
    }
}
