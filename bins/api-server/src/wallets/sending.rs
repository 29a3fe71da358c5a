//! The only sender for accounts of callers: it sends plans under the fence, and wallet actions. One
//! account on one chain must have one sender, because two senders would use the same nonce.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use alloy_primitives::{Address, U256};
use chain_reader::ChainReader;
use custody::{SigningPolicy, Turns};
use data_sources::Clock;
use gas_funding::{Funder, GasFunding};
use ledger::PaidSums;
use secrecy::SecretString;
use server_config::{Problem, UpstreamMode};
use tx_sender::{
    Chain as Network, HttpTransport, LocalKey, Node, Policy, RpcNode, Sender, TransactionSigner,
    Transport,
};
use wallet_actions::ListedProduct;

use super::{NativePrices, PaidByOwners};
use crate::Sources;
use crate::config::Config;
use crate::error::ServeError;
use crate::serve::{Stores, Transactions};

/// The time limit of a node.
const NODE_TIMEOUT: Duration = Duration::from_secs(10);

/// The parts that send transactions of accounts.
#[derive(Clone)]
pub(crate) struct Sending {
    pub(crate) sender: Sender,
    pub(crate) turns: Turns,
    /// The chains of wallet actions.
    pub(crate) chains: Vec<ChainReader>,
    /// The account that tops up others for gas.
    gas_account: Option<Address>,
    /// The place of the intents and of the book of gas.
    pub(crate) stores: Stores,
}

impl Sending {
    /// Opens the sender over the nodes of its chains: the chain of the fence, if the fence sends,
    /// and the wallets' chains that have configured nodes. `None` without any chain.
    ///
    /// # Errors
    /// A key of the configuration that cannot be used, or records that cannot be opened.
    pub(crate) async fn open(
        config: &Config,
        stores: &Stores,
        fence: Option<u64>,
    ) -> Result<Option<Self>, ServeError> {
        let mut networks = BTreeMap::new();
        let mut chains = Vec::new();
        let wallets = config.custody.iter().flat_map(|_| &config.wallets.chains);
        for chain_id in wallets.copied() {
            let nodes = configured(config, chain_id)?;
            if nodes.is_empty() {
                tracing::warn!(
                    chain_id,
                    "wallets do not act on a chain without nodes: set chains.N.rpc_urls"
                );
                continue;
            }
            let confirmations = config.chains.confirmations(chain_id).unwrap_or(1);
            chains.push(ChainReader::new(chain_id, nodes.clone(), confirmations));
            networks.insert(chain_id, network(config, chain_id, &nodes));
        }
        if let Some(chain_id) = fence {
            let nodes = nodes(config, chain_id)?;
            networks.insert(chain_id, network(config, chain_id, &nodes));
        }
        if networks.is_empty() {
            return Ok(None);
        }
        let gas_key = config.wallets.gas_account_key.as_ref();
        let gas_key = gas_key.map(gas_account).transpose()?;
        let gas_account = gas_key.as_ref().map(|key| key.account());
        let records = stores.transactions(Transactions::Wallets).await?;
        let options = stores.sender_options(config);
        let networks = networks.into_values().collect();
        let signers = gas_key.into_iter().collect();
        Ok(Some(Self {
            sender: Sender::new(records, networks, signers, options),
            turns: stores.turns(config).await?,
            chains,
            gas_account,
            stores: stores.clone(),
        }))
    }

    /// Makes the funding of gas: one book for the plans of the fence and for the actions of
    /// wallets. In a file it also counts the top-ups of earlier versions of the server, which kept
    /// two books.
    ///
    /// # Errors
    /// A book that cannot be opened or is locked by another server.
    pub(crate) async fn funding(
        &self,
        config: &Config,
        sources: &Sources,
        paid: PaidSums,
        clock: &Arc<dyn Clock>,
    ) -> Result<GasFunding, ServeError> {
        let Some(account) = self.gas_account else {
            return Ok(GasFunding::none());
        };
        let section = &config.wallets;
        let clock = Arc::clone(clock);
        Ok(GasFunding::new(gas_funding::Parts {
            funder: Funder {
                account,
                most_wei: U256::from(section.gas_topup_most_wei),
                of_owner: section.gas_topup_budget_usd.as_micro(),
                of_all: section.gas_topup_total_usd.as_micro(),
                of_chain_wei: U256::from(section.gas_topup_total_wei),
            },
            sender: self.sender.clone(),
            book: self.stores.gas_book().await?,
            prices: Arc::new(NativePrices::new(sources)),
            paid: Arc::new(PaidByOwners::new(paid, sources.wallets.payer_chain)),
            clock: Arc::new(move || u64::try_from(clock.now().as_second()).unwrap_or_default()),
        }))
    }
}

fn gas_account(key: &SecretString) -> Result<Arc<dyn TransactionSigner>, ServeError> {
    let wrong = |_| problem("wallets.gas_account_key", "is no private key");
    Ok(Arc::new(LocalKey::from_hex(key).map_err(wrong)?))
}

fn network(config: &Config, chain_id: u64, nodes: &[Arc<dyn Transport>]) -> Network {
    let node = |transport: &Arc<dyn Transport>| -> Arc<dyn Node> {
        Arc::new(RpcNode::new(Arc::clone(transport)))
    };
    let usual = Policy::usual_block_time(chain_id);
    Network {
        id: chain_id,
        nodes: nodes.iter().map(node).collect(),
        policy: Policy {
            // Each request sets its own number.
            confirmations: config.chains.confirmations(chain_id).unwrap_or(1),
            block_time: config.chains.block_time(chain_id).unwrap_or(usual),
            ..Policy::default()
        },
    }
}

/// The nodes of a chain that must have some.
///
/// # Errors
/// A chain without nodes in the configuration.
pub(crate) fn nodes(config: &Config, chain_id: u64) -> Result<Vec<Arc<dyn Transport>>, ServeError> {
    let nodes = configured(config, chain_id)?;
    if nodes.is_empty() {
        let message =
            "is missing: plans are sent on this chain, and every transaction must be read back";
        return Err(problem(&format!("chains.{chain_id}.rpc_urls"), message));
    }
    Ok(nodes)
}

/// Adds the products of the reviewed list to the sources. A chain of theirs can be read when it has
/// configured nodes.
///
/// # Errors
/// A node whose address cannot be used.
pub(crate) fn with_products(
    sources: Sources,
    config: &Config,
    policy: &SigningPolicy,
) -> Result<Sources, ServeError> {
    let products = ListedProduct::all(policy);
    let chains: BTreeSet<u64> = products.iter().map(|product| product.chain_id).collect();
    let mut readers = BTreeMap::new();
    for chain_id in chains {
        let nodes = configured(config, chain_id)?;
        if !nodes.is_empty() {
            let confirmations = config.chains.confirmations(chain_id).unwrap_or(1);
            readers.insert(chain_id, ChainReader::new(chain_id, nodes, confirmations));
        }
    }
    Ok(sources.with_products(products, readers))
}

/// The nodes of a chain that are configured and not recordings.
fn configured(config: &Config, chain_id: u64) -> Result<Vec<Arc<dyn Transport>>, ServeError> {
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
    Ok(nodes)
}

fn problem(key: &str, message: &str) -> ServeError {
    ServeError::Delegation(Problem::new(key, message))
}
