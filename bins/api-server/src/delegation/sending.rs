//! Sends the plans of accounts for which this server can sign.
//!
//! This module opens the routes and the chain of a configuration. `fence-sending` drives the plans.

use std::sync::Arc;

use alloy_primitives::{Address, address};
use calldata_checks::UtcSeconds;
use custody::Custody;
use data_sources::Clock;
use fence_sending::{
    ChainReader, DelegatedAccounts, GasFunding, GasRules, Pace, Parts, Route, RoutedAccounts,
    Sendings, SubWallets,
};
use fence_server::{Accounts, Chain, Delegations, NoAccounts};
use tx_sender::TransactionSigner;

use super::{pinned, redeemer};
use crate::config::{Config, DelegationSection};
use crate::error::ServeError;
use crate::wallets::{Sending, nodes};

/// Tokens that many accounts of Base hold. At the stock level the redeemer of a delegation could
/// spend the router's allowances of these tokens, so a grant is refused while such an allowance
/// exists. The list cannot be complete: `docs/FENCE.md` says so.
const WATCHED: [Address; 6] = [
    address!("4200000000000000000000000000000000000006"),
    address!("d9aAEc86B65D86f6A7B5B1b0c42FFA531710b6CA"),
    address!("cbB7C0000aB88B473b1f5aFd9ef808440eed33Bf"),
    address!("2Ae3F1Ec7F1F5012CFEab0185bfc7aa3cf0DEc22"),
    address!("50c5725949A6F0c72E6C4a641F24049A917DB0Cb"),
    address!("940181a94A35A4569E4529A3CDfB74e38FD98631"),
];

/// The accounts for which this server can send.
pub(crate) struct Routes {
    routes: Vec<Arc<dyn Route>>,
    chain: Option<Arc<dyn Chain>>,
}

impl Routes {
    /// The sub-wallets of the custodian, and the accounts that delegate to this server's redeemer.
    ///
    /// # Errors
    /// A redeemer that cannot be used, or that cannot read its chain.
    pub(crate) fn new(
        config: &Config,
        custody: Option<&Arc<dyn Custody>>,
    ) -> Result<Self, ServeError> {
        let mut routes: Vec<Arc<dyn Route>> = Vec::new();
        if let Some(custody) = custody {
            routes.push(Arc::new(SubWallets::new(Arc::clone(custody))));
        }
        let delegated = delegated_accounts(config)?.map(Arc::new);
        let chain = delegated.map(|delegated| -> Arc<dyn Chain> {
            routes.push(Arc::<DelegatedAccounts>::clone(&delegated));
            delegated
        });
        Ok(Self { routes, chain })
    }

    pub(super) fn is_empty(&self) -> bool {
        self.routes.is_empty()
    }

    pub(crate) fn accounts(&self) -> Arc<dyn Accounts> {
        match self.routes.is_empty() {
            true => Arc::new(NoAccounts),
            false => Arc::new(RoutedAccounts::new(self.routes.clone())),
        }
    }

    /// The chain that restricts redemptions to the fence.
    pub(super) fn chain(&self) -> Option<Arc<dyn Chain>> {
        self.chain.clone()
    }
}

/// The accounts that delegate to this service; `None` without a key that redeems.
///
/// # Errors
/// A key or nodes of the configuration that are missing or cannot be used.
fn delegated_accounts(config: &Config) -> Result<Option<DelegatedAccounts>, ServeError> {
    let Some(section) = &config.delegation else {
        return Ok(None);
    };
    let Some(key) = redeemer::key(section).map_err(ServeError::Delegation)? else {
        return Ok(None);
    };
    let pinned = pinned(config).map_err(ServeError::Delegation)?;
    let Some(pinned) = pinned else {
        return Ok(None);
    };
    let chain_id = pinned.fence.policy().chain_id();
    let reader: ChainReader = reader(config, section, chain_id)?;
    let signer: Arc<dyn TransactionSigner> = Arc::new(key);
    let terms = config.payment.terms();
    let payer_chain = terms.map_or(0, |terms| terms.network.chain_id());
    Ok(Some(DelegatedAccounts::new(
        reader,
        signer,
        redeemer::level(section),
        WATCHED.to_vec(),
        payer_chain,
    )))
}

/// The chain on which plans are sent or followed; `None` when this server has nothing to send. When
/// the keys are no longer available, nothing is signed: open plans are followed and halted, and a
/// remaining allowance is reported.
///
/// # Errors
/// Records that cannot be read.
pub(crate) async fn chain_to_send_on(
    delegations: Option<&Arc<Delegations>>,
    routes: &Routes,
) -> Result<Option<u64>, ServeError> {
    let Some(delegations) = delegations else {
        return Ok(None);
    };
    if routes.is_empty() {
        // Only open plans count.
        let open = delegations
            .store()
            .sendings(UtcSeconds::from_unix(u64::MAX));
        let open = open.await.map_err(ServeError::Fence)?.len();
        if open == 0 {
            return Ok(None);
        }
        tracing::error!(
            plans = open,
            "plans are open, but the keys of their accounts are unavailable: set [custody]"
        );
    }
    Ok(Some(delegations.fence().policy().chain_id()))
}

/// Starts to send ordered plans, and resumes the plans that an earlier process left open.
///
/// # Errors
/// A chain without nodes in the configuration.
pub(crate) fn start(
    config: &Config,
    section: &DelegationSection,
    delegations: &Arc<Delegations>,
    routes: Routes,
    sending: &Sending,
    funding: GasFunding,
    clock: &Arc<dyn Clock>,
) -> Result<Sendings, ServeError> {
    let chain_id = delegations.fence().policy().chain_id();
    let nodes = nodes(config, chain_id)?;
    let confirmations = confirmations(config, section, chain_id);
    let chain = ChainReader::new(chain_id, nodes, confirmations);
    let clock = Arc::clone(clock);
    Ok(Sendings::start(Parts {
        delegations: Arc::clone(delegations),
        routes: routes.routes,
        chain,
        sender: sending.sender.clone(),
        turns: sending.turns.clone(),
        gas: GasRules::default(),
        funding,
        pace: Pace::default(),
        clock: Arc::new(move || u64::try_from(clock.now().as_second()).unwrap_or_default()),
    }))
}

/// Makes a reader of the chain on which plans are sent.
///
/// # Errors
/// A chain without nodes in the configuration.
pub(super) fn reader(
    config: &Config,
    section: &DelegationSection,
    chain_id: u64,
) -> Result<ChainReader, ServeError> {
    let confirmations = confirmations(config, section, chain_id);
    let nodes = nodes(config, chain_id)?;
    Ok(ChainReader::new(chain_id, nodes, confirmations))
}

/// The confirmations that a plan's transaction needs to count as sealed.
fn confirmations(config: &Config, section: &DelegationSection, chain_id: u64) -> u64 {
    let of_chain = config.chains.confirmations(chain_id);
    section.confirmations.or(of_chain).unwrap_or(1)
}
