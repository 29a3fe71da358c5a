//! Whom plans are sent for, and the sending itself.

use std::sync::Arc;
use std::time::Duration;

use alloy_primitives::U256;
use custody::Custody;
use data_sources::Clock;
use fence_sending::{
    ChainReader, DelegatedAccounts, Funder, GasRules, Pace, Parts, Route, RoutedAccounts, Sendings,
    SubWallets,
};
use fence_server::{Accounts, Chain, Delegations, NoAccounts};
use plan_checks::UtcSeconds;
use server_config::{Problem, UpstreamMode};
use storage::sqlite::path_of;
use tx_sender::{
    Chain as Network, HttpTransport, LocalKey, Node, Options, Policy, RpcNode, Sender, SqliteStore,
    Takeover, TransactionSigner, Transport,
};

use super::redeemer;
use crate::config::{Config, DelegationSection};
use crate::error::ServeError;

/// How long a node is waited for.
const NODE_TIMEOUT: Duration = Duration::from_secs(10);

/// Whom this server can send for.
pub(crate) struct Routes {
    routes: Vec<Arc<dyn Route>>,
    chain: Option<Arc<dyn Chain>>,
}

impl Routes {
    /// The sub-wallets of whoever holds their keys, and the accounts that delegate to this server's redeemer.
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

    /// The chain that holds redemptions to the fence.
    pub(super) fn chain(&self) -> Option<Arc<dyn Chain>> {
        self.chain.clone()
    }
}

/// Starts sending what was ordered, and goes on with what an earlier process has left. Where nobody holds a key any more, nothing is signed: plans
/// that are open are followed, halted, and an allowance that is left is reported.
///
/// # Errors
/// A key of the configuration that is missing or cannot be used; records that cannot be read.
pub(crate) async fn start(
    config: &Config,
    delegations: &Arc<Delegations>,
    routes: Routes,
    clock: &Arc<dyn Clock>,
) -> Result<Option<Sendings>, ServeError> {
    let Some(section) = &config.delegation else {
        return Ok(None);
    };
    if routes.is_empty() {
        // Those that are open, and none that ended.
        let open = delegations
            .store()
            .sendings(UtcSeconds::from_unix(u64::MAX));
        let open = open.await.map_err(ServeError::Fence)?.len();
        if open == 0 {
            return Ok(None);
        }
        tracing::error!(
            plans = open,
            "plans are open, and nobody holds their accounts' keys: set [custody]"
        );
    }
    let chain_id = delegations.fence().policy().chain_id();
    let nodes = nodes(config, chain_id)?;
    let confirmations = confirmations(config, section, chain_id);
    let chain = ChainReader::new(chain_id, nodes.clone(), confirmations);

    let mut signers: Vec<Arc<dyn TransactionSigner>> = Vec::new();
    let mut gas = GasRules::default();
    if let Some(key) = &config.wallets.gas_account_key {
        let wrong = |_| problem("wallets.gas_account_key", "is no private key");
        let key = LocalKey::from_hex(key).map_err(wrong)?;
        gas.funder = Some(Funder {
            account: key.account(),
            most_per_plan: U256::from(config.wallets.gas_topup_most_wei),
            of_account: config.wallets.gas_topup_budget_usd.as_micro(),
            of_all: config.wallets.gas_topup_total_usd.as_micro(),
        });
        signers.push(Arc::new(key));
    }
    let node = |transport: &Arc<dyn Transport>| -> Arc<dyn Node> {
        Arc::new(RpcNode::new(Arc::clone(transport)))
    };
    let usual = Policy::usual_block_time(chain_id);
    let network = Network {
        id: chain_id,
        nodes: nodes.iter().map(node).collect(),
        policy: Policy {
            confirmations,
            block_time: config.chains.block_time(chain_id).unwrap_or(usual),
            ..Policy::default()
        },
    };
    let path = path_of(&config.storage.url).map_err(ServeError::Records)?;
    let records = SqliteStore::open(path.with_extension("fence-sender.db"));
    let records = Arc::new(records.map_err(ServeError::Records)?);
    let options = Options {
        // Beside the ledger, which this server has claimed for itself: whoever had a lane has ended.
        takeover: Takeover::AtOnce,
        ..Options::default()
    };
    let clock = Arc::clone(clock);
    Ok(Some(Sendings::start(Parts {
        delegations: Arc::clone(delegations),
        routes: routes.routes,
        chain,
        sender: Sender::new(records, vec![network], signers, options),
        gas,
        pace: Pace::default(),
        clock: Arc::new(move || u64::try_from(clock.now().as_second()).unwrap_or_default()),
    })))
}

/// Reads the chain that plans are sent on.
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

/// Blocks above the one that holds a transaction of a plan before it counts as sealed.
fn confirmations(config: &Config, section: &DelegationSection, chain_id: u64) -> u64 {
    let of_chain = config.chains.confirmations(chain_id);
    section.confirmations.or(of_chain).unwrap_or(1)
}

/// The nodes of the chain that plans are sent on.
fn nodes(config: &Config, chain_id: u64) -> Result<Vec<Arc<dyn Transport>>, ServeError> {
    let key = format!("chains.{chain_id}.rpc_urls");
    let table = config.chains.0.get(&chain_id.to_string());
    let live = table.filter(|table| table.mode != Some(UpstreamMode::Replay));
    let mut nodes: Vec<Arc<dyn Transport>> = Vec::new();
    for url in live.map_or(&[][..], |table| &table.rpc_urls) {
        let node = HttpTransport::new(&url.clone().into(), NODE_TIMEOUT);
        nodes.push(Arc::new(
            node.map_err(|error| problem(&key, &error.to_string()))?,
        ));
    }
    if nodes.is_empty() {
        let message =
            "is missing: plans are sent on this chain, and nothing is sent that is not read back";
        return Err(problem(&key, message));
    }
    Ok(nodes)
}

fn problem(key: &str, message: &str) -> ServeError {
    ServeError::Delegation(Problem::new(key, message))
}
