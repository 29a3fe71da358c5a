//! Reads of the eleven chains over their configured nodes: calls, balances, tokens and
//! transactions.
//!
//! The nodes of a chain are asked one after another, beginning with the one that answered last. A
//! node is asked for its chain id before anything else. A transaction counts as unknown only after
//! a second node was asked.

mod batch;
mod endpoints;
mod gas;
mod read;
mod tokens;
mod transactions;
mod witness;

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use alloy_primitives::{Address, B256, Bytes, b256};
use jiff::Timestamp;
use readings::chain::{Network, Record};
use secrecy::ExposeSecret;
use serde_json::{Value, json};

pub use self::{
    batch::{Batch, Leg},
    endpoints::{PUBLIC_ENDPOINTS, source},
};
use crate::{
    cached::{Ages, Cached},
    error::{Error, SourceError, SourceErrorKind},
    json::Json,
    provenance::{Clock, Mode, Provenance, Sourced},
    rpc::{
        self, EndpointHealth, RpcConfig,
        endpoint::{Endpoint, NodeError, Revert, RpcReply},
    },
    source::UpstreamSpec,
    transport::{Transport, TransportError},
};

/// Ids of the calls of each endpoint, as they appear in `/status`.
pub const SOURCES: [&str; 6] = [
    "rpc.chain-id",
    CALL,
    TRANSACTION,
    RECEIPT,
    BLOCK,
    "rpc.gas-price",
];

static SPEC: UpstreamSpec = rpc::node(&SOURCES);

const CALL: &str = "rpc.call";
const TRANSACTION: &str = "rpc.transaction";
const RECEIPT: &str = "rpc.receipt";
const BLOCK: &str = "rpc.block";

/// The storage slot in which a proxy names its implementation (EIP-1967): the hash of
/// `eip1967.proxy.implementation`, less one.
const IMPLEMENTATION_SLOT: B256 =
    b256!("360894a13ba1a3210667c828492db98dca3e2076cc3735a920a3ca505d382bbc");
/// The largest answer, in bytes. Receipts with thousands of logs are larger than other answers.
const MAX_BODY_BYTES: usize = 8 * 1024 * 1024;
/// Transactions that are kept.
const KEPT_TRANSACTIONS: usize = 4_096;
/// How old a young transaction may be: outside of a block, it may be in one the next moment.
const RECENT: Ages = Ages::seconds(5, 5);
/// How old a transaction deep in the chain may be: it does not change.
const FINAL: Ages = Ages::seconds(7 * 86_400, 7 * 86_400);

/// The configured nodes of the chains that [`readings::chain::NETWORKS`] lists. Clones share
/// everything.
#[derive(Clone)]
pub struct EvmReader {
    inner: Arc<Inner>,
    recent: Cached<(u64, B256), Option<Record>>,
    settled: Cached<(u64, B256), Option<Record>>,
    tokens: tokens::Kept,
}

struct Inner {
    chains: BTreeMap<u64, Chain>,
    mode: Mode,
    clock: Arc<dyn Clock>,
}

/// A chain and its nodes.
struct Chain {
    network: &'static Network,
    endpoints: Vec<Endpoint>,
    /// The place of the node that answered last.
    last_good: AtomicUsize,
}

/// The outcome of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CallOutcome {
    /// The call ran and returned this.
    Returned(Bytes),
    /// The call reverted.
    Reverted {
        /// The returned data, when the node passes it on.
        data: Option<Bytes>,
        /// The node's message, cleaned. Untrusted text.
        message: String,
    },
}

impl EvmReader {
    /// Builds the reader. It makes no connection yet. Chains outside of the eleven are ignored.
    ///
    /// # Errors
    ///
    /// [`TransportError::BaseUrl`] when a node's address cannot be used.
    pub fn new(
        transport: &Transport,
        config: RpcConfig,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, TransportError> {
        let mut limits = config.limits;
        limits.max_body_bytes = limits.max_body_bytes.max(MAX_BODY_BYTES);
        let endpoint = |chain_id: u64, (index, url): (usize, &secrecy::SecretString)| {
            Endpoint::new(
                transport,
                &SPEC,
                url.expose_secret(),
                config.mode,
                limits,
                clock.clone(),
                (chain_id, index.saturating_add(1)),
            )
        };
        let mut chains = BTreeMap::new();
        for (chain_id, urls) in &config.chains {
            let Some(network) = Network::by_id(*chain_id) else {
                continue;
            };
            let endpoints = urls.iter().enumerate().map(|url| endpoint(*chain_id, url));
            let chain = Chain {
                network,
                endpoints: endpoints.collect::<Result<Vec<_>, _>>()?,
                last_good: AtomicUsize::new(0),
            };
            chains.insert(*chain_id, chain);
        }
        Ok(Self {
            inner: Arc::new(Inner {
                chains,
                mode: config.mode,
                clock: clock.clone(),
            }),
            recent: Cached::new(KEPT_TRANSACTIONS, RECENT, clock.clone()),
            settled: Cached::new(KEPT_TRANSACTIONS, FINAL, clock),
            tokens: tokens::cache(),
        })
    }

    /// The chains that have nodes, in ascending order.
    pub fn chain_ids(&self) -> impl Iterator<Item = u64> {
        let chains = self.inner.chains.iter();
        chains
            .filter(|(_, chain)| !chain.endpoints.is_empty())
            .map(|(id, _)| *id)
    }

    /// Every endpoint, by chain and position.
    pub(crate) fn endpoints(&self) -> impl Iterator<Item = &Endpoint> {
        let chains = self.inner.chains.values();
        chains.flat_map(|chain| chain.endpoints.iter())
    }

    /// Whether calls go to nodes or to their stand-ins.
    pub fn mode(&self) -> Mode {
        self.inner.mode
    }

    /// The health of each endpoint, by chain and position.
    pub fn health(&self) -> Vec<EndpointHealth> {
        let chains = self.inner.chains.values();
        chains
            .flat_map(|chain| chain.endpoints.iter().map(Endpoint::health))
            .collect()
    }

    /// One call on the newest block. A revert is an outcome.
    ///
    /// # Errors
    ///
    /// [`Error::Source`] when no node of the chain answers.
    pub async fn call(
        &self,
        chain_id: u64,
        to: Address,
        data: Bytes,
    ) -> Result<Sourced<CallOutcome>, Error> {
        let params = json!([{"to": format!("{to:#x}"), "data": data}, "latest"]);
        Ok(self.eth_call(chain_id, &params).await?)
    }

    /// The implementation of a proxy of the usual kind (EIP-1967), from its current storage; `None`
    /// for other contracts, and when no node answers.
    pub async fn implementation(&self, chain_id: u64, proxy: Address) -> Option<Address> {
        let params = json!([format!("{proxy:#x}"), IMPLEMENTATION_SLOT, "latest"]);
        let read = |result: Option<&Json<'_>>| required(result)?.word();
        let answer = self
            .ask(chain_id, CALL, "eth_getStorageAt", &params, read)
            .await;
        let word = answer.ok()?.value.ok()?;
        let (padding, _) = word.split_at_checked(12)?;
        let found = Address::from_word(word);
        (padding.iter().all(|byte| *byte == 0) && !found.is_zero()).then_some(found)
    }

    async fn eth_call(
        &self,
        chain_id: u64,
        params: &Value,
    ) -> Result<Sourced<CallOutcome>, SourceError> {
        let read = |result: Option<&Json<'_>>| required(result)?.bytes();
        let answer = self.ask(chain_id, CALL, "eth_call", params, read).await?;
        Ok(answer.map(|outcome| match outcome {
            Ok(returned) => CallOutcome::Returned(returned),
            Err(Revert { data, message }) => CallOutcome::Reverted { data, message },
        }))
    }

    fn now(&self) -> Timestamp {
        self.inner.clock.now()
    }

    fn chain(&self, chain_id: u64) -> Result<&Chain, SourceError> {
        let chain = self.inner.chains.get(&chain_id);
        chain
            .filter(|chain| !chain.endpoints.is_empty())
            .ok_or(SourceError {
                source: endpoints::source(chain_id),
                kind: SourceErrorKind::Disabled {
                    reason: "no endpoint is configured",
                },
            })
    }

    /// Asks the nodes of a chain one after another until one returns a result or reports a revert.
    async fn ask<T>(
        &self,
        chain_id: u64,
        call: &'static str,
        method: &'static str,
        params: &Value,
        read: impl Fn(Option<&Json<'_>>) -> Result<T, SourceErrorKind> + Send + Sync,
    ) -> Result<Sourced<Result<T, Revert>>, SourceError> {
        let chain = self.chain(chain_id)?;
        let mut failure = SourceErrorKind::Unreachable;
        for (place, endpoint) in chain.in_order() {
            match endpoint.ask(call, method, params, &read).await {
                Ok(told) => {
                    let value = match told.value {
                        RpcReply::Value(value) => Ok(value),
                        RpcReply::Reverted(revert) => Err(revert),
                        RpcReply::NoMethod => {
                            failure = no_method(method);
                            continue;
                        }
                    };
                    chain.last_good.store(place, Ordering::Relaxed);
                    return Ok(of_chain(chain_id, value, told.sources));
                }
                Err(error) => failure = kind(error),
            }
        }
        let source = endpoints::source(chain_id);
        Err(SourceError {
            source,
            kind: failure,
        })
    }
}

/// A node's value under the chain's source id: the answer does not name the node.
fn of_chain<T>(chain_id: u64, value: T, mut sources: Vec<Provenance>) -> Sourced<T> {
    for node in &mut sources {
        node.source = endpoints::source(chain_id);
    }
    Sourced { value, sources }
}

impl Chain {
    /// The nodes with their indices, beginning with the one that answered last.
    fn in_order(&self) -> impl Iterator<Item = (usize, &Endpoint)> {
        let first = self.last_good.load(Ordering::Relaxed);
        let places = self.endpoints.iter().enumerate();
        let (after, before): (Vec<_>, Vec<_>) = places.partition(|(place, _)| *place >= first);
        after.into_iter().chain(before)
    }
}

/// A result that must not be `null`.
fn required<'a, 'j>(result: Option<&'a Json<'j>>) -> Result<&'a Json<'j>, SourceErrorKind> {
    result.ok_or_else(|| SourceErrorKind::Malformed {
        path: "$.result".to_owned(),
        expected: "a result",
        observed: "null".to_owned(),
    })
}

fn no_method(method: &'static str) -> SourceErrorKind {
    SourceErrorKind::Business {
        code: "no_method".to_owned(),
        message: format!("no node offers {method}"),
    }
}

/// The error of a source that a node's failure becomes.
fn kind(error: NodeError) -> SourceErrorKind {
    let business = |code: &str, message| SourceErrorKind::Business {
        code: code.to_owned(),
        message,
    };
    match error {
        NodeError::Source(error) => error.kind,
        NodeError::Refused(message) => business("refused", message),
        NodeError::Unsuitable(message) => business("unsuitable_node", message),
    }
}

impl std::fmt::Debug for EvmReader {
    /// Leaves out addresses, which may carry keys.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("EvmReader")
            .field("chains", &self.chain_ids().collect::<Vec<_>>())
            .field("mode", &self.mode())
            .finish_non_exhaustive()
    }
}
