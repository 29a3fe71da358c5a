//! Sends the plans of accounts for which this server can sign.

use std::sync::Arc;

use calldata_checks::UtcSeconds;
use custody::Custody;
use data_sources::Clock;
use fence_sending::{
    ChainReader, DelegatedAccounts, GasFunding, GasRules, Pace, Parts, Route, RoutedAccounts,
    Sendings, SubWallets,
};
use fence_server::{Accounts, Chain, Delegations, NoAccounts};

use super::redeemer;
use crate::config::{Config, DelegationSection};
use crate::error::ServeError;
use crate::wallets::{Sending, nodes};

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
        let delegated = redeemer::accounts(config)?.map(Arc::new);
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
