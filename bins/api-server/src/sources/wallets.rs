//! Sub-wallets.

use std::collections::BTreeMap;
use std::sync::Arc;

use alloy_primitives::Address;
use chain_reader::ChainReader;
use custody::{Custody, Owner};
use wallet_actions::{ListedProduct, WalletActions};

/// Who holds the keys of sub-wallets, if anybody does.
#[derive(Clone, Default)]
pub(crate) struct Wallets {
    pub(crate) custody: Option<Arc<dyn Custody>>,
    /// What carries out actions, where custody and nodes are connected.
    pub(crate) actions: Option<WalletActions>,
    /// The chain on which calls are paid: an owner is a payer there.
    pub(crate) payer_chain: u64,
    /// The chains whose balances are shown.
    pub(crate) chains: Vec<u64>,
    /// The products of the reviewed list. They are known without custody, too.
    pub(crate) reviewed: Arc<[ListedProduct]>,
    /// The chains of those products that can be read, by id.
    pub(crate) readers: BTreeMap<u64, ChainReader>,
}

impl Wallets {
    /// The owner of a payer's sub-wallet: the payer itself, a contract wallet included.
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
