//! Sub-wallets.

use std::collections::BTreeMap;
use std::sync::Arc;

use alloy_primitives::Address;
use chain_reader::ChainReader;
use custody::{Custody, Owner, WalletFaults};
use readings::{Decimal, Figure};
use wallet_actions::{ListedProduct, WalletActions};
use yield_watch::Rules;

use crate::config::WalletsSection;

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
    /// The operator's limits of mandates that act.
    pub(crate) mandates: MandateLimits,
    /// The products of the reviewed list. They are known without custody as well.
    pub(crate) reviewed: Arc<[ListedProduct]>,
    /// The readable chains of those products, by id.
    pub(crate) readers: BTreeMap<u64, ChainReader>,
}

/// The operator's limits of mandates that act.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct MandateLimits {
    max_moves_per_day: u32,
    min_gain_usd: Figure,
}

impl MandateLimits {
    pub(super) fn of(section: &WalletsSection) -> Self {
        let gain = Decimal::try_from_i128_with_scale(section.min_gain_usd.as_micro().into(), 6);
        Self {
            max_moves_per_day: section.max_moves_per_day,
            min_gain_usd: Figure(gain.unwrap_or(Decimal::MAX).normalize()),
        }
    }

    /// The rules beyond the limits, each by its path and with what is expected.
    pub(crate) fn broken_by(&self, rules: &Rules) -> Vec<(&'static str, String)> {
        let (most, least) = (self.max_moves_per_day, self.min_gain_usd);
        let mut broken = Vec::new();
        if rules.max_moves_per_day > most {
            let expected = format!("at most {most}, the limit of this server");
            broken.push(("rules.max_moves_per_day", expected));
        }
        if rules.min_gain_usd.get() < least.get() {
            let expected = format!("at least {least}, the limit of this server");
            broken.push(("rules.min_gain_usd", expected));
        }
        broken
    }
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
