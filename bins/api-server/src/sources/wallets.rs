//! Sub-wallets.

use std::collections::BTreeMap;
use std::sync::Arc;

use alloy_primitives::Address;
use chain_reader::ChainReader;
use custody::{Custody, Owner, WalletFaults};
use wallet_actions::{ListedProduct, WalletActions};

/// The custodian of sub-wallets' keys, if one is configured.
#[derive(Clone, Default)]
pub(crate) struct Wallets {
    pub(crate) custody: Option<Arc<dyn Custody>>,
    /// The files of wallets that cannot be used.
    pub(crate) faults: WalletFaults,
    /// The executor of actions, if custody and nodes are connected.
    pub(crate) actions: Option<WalletActions>,
    /// The chain of payments. An owner is a payer on it.
    pub(crate) payer_chain: u64,
    /// The chains whose balances are shown.
    pub(crate) chains: Vec<u64>,
    /// The products of the reviewed list. They are known without custody as well.
    pub(crate) reviewed: Arc<[ListedProduct]>,
    /// The readable chains of those products, by id.
    pub(crate) readers: BTreeMap<u64, ChainReader>,
}

impl Wallets {
    /// The owner of a payer's sub-wallet: the payer itself, also when it is a contract wallet.
    pub(crate) fn owner(&self, payer: Address) -> Owner {
        Owner::new(self.payer_chain, payer)
    }
}

impl std::fmt::Debug for Wallets {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Wallets")
            .field("connected", &self.custody.is_some())
            .field("actions", &self.actions)
            .field("chains", &self.chains)
            .field("reviewed", &self.reviewed)
            .finish_non_exhaustive()
    }
}
