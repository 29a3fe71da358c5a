//! Ethereum JSON-RPC over the configured endpoints of each chain: reads of accounts, and simulation
//! of a whole plan where a node offers it. When one endpoint fails, the next one is asked.

pub(crate) mod endpoint;
mod simulate;

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use alloy_primitives::{Address, Bytes};
use calldata_checks::Step;
use plan_builder::ports::{Accounts, PortError, PortErrorReason, SimulatedCall, Simulator};
use secrecy::{ExposeSecret, SecretString};
use serde_json::{Value, json};

use self::endpoint::{Endpoint, NodeError, RpcReply, nothing};
use crate::{
    budget::Families,
    error::SourceErrorKind,
    json::Json,
    provenance::{Clock, Mode},
    source::{Conduct, KeyRule, UpstreamSpec},
    transport::{Limits, SourceHealth, Transport, TransportError},
};

/// Ids of the sources of each endpoint, as they appear in `/status`.
pub const SOURCES: [&str; 4] = [CHAIN_ID, CODE, CALL, SIMULATE];

const NAME: &str = "rpc";
const CHAIN_ID: &str = "rpc.chain-id";
const CODE: &str = "rpc.code";
const CALL: &str = "rpc.call";
const SIMULATE: &str = "rpc.simulate";

/// Time and tries of a call to one endpoint: 3 s and one try, because the next endpoint is a better
/// second try.
const LIMITS: Limits = Limits {
    attempts: 1,
    ..Limits::USUAL.within_seconds(3)
};

static SPEC: UpstreamSpec = node(&SOURCES);

/// The description of a node that is asked for `sources`. Nodes have no known limits, and another
/// node can stand in for one that is overloaded.
pub(crate) const fn node(sources: &'static [&'static str]) -> UpstreamSpec {
    UpstreamSpec {
        name: NAME,
        urls: &[],
        key: KeyRule::Keyless,
        sources,
        families: Families::UNLIMITED,
        limits: LIMITS,
        conduct: Conduct {
            usual_pause: Duration::from_secs(2),
            ..Conduct::PLANS
        },
        ..UpstreamSpec::DATA
    }
}

/// The endpoints by chain.
#[derive(Clone, Debug)]
pub struct RpcConfig {
    /// The endpoints of each chain id, in order of preference. Their addresses often carry a key,
    /// so none is ever printed.
    pub chains: BTreeMap<u64, Vec<SecretString>>,
    /// Whether the endpoints are nodes of the chains or their stand-ins.
    pub mode: Mode,
    /// Time and size of a call to one endpoint, and its tries. The next endpoint is a better second
    /// try.
    pub limits: Limits,
}

impl Default for RpcConfig {
    /// No chain; 3 s and one try for each endpoint.
    fn default() -> Self {
        Self {
            chains: BTreeMap::new(),
            mode: Mode::Live,
            limits: LIMITS,
        }
    }
}

/// The configured nodes as [`Accounts`] and [`Simulator`].
#[derive(Debug)]
pub struct RpcReader {
    chains: BTreeMap<u64, Vec<Endpoint>>,
    mode: Mode,
}

/// The health of one endpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EndpointHealth {
    /// Its chain.
    pub chain_id: u64,
    /// Its position among the chain's endpoints, from 1.
    pub position: usize,
    /// Each of [`SOURCES`].
    pub sources: Vec<SourceHealth>,
}

impl RpcReader {
    /// Builds the reader. It makes no connection yet.
    ///
    /// # Errors
    ///
    /// [`TransportError::BaseUrl`] when an endpoint's address cannot be used.
    pub fn new(
        transport: &Transport,
        config: RpcConfig,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, TransportError> {
        let endpoint = |chain_id: u64, (index, url): (usize, &SecretString)| {
            Endpoint::new(
                transport,
                &SPEC,
                url.expose_secret(),
                config.mode,
                config.limits,
                clock.clone(),
                (chain_id, index.saturating_add(1)),
            )
        };
        let mut chains = BTreeMap::new();
        for (chain_id, urls) in &config.chains {
            let endpoints = urls.iter().enumerate().map(|url| endpoint(*chain_id, url));
            chains.insert(*chain_id, endpoints.collect::<Result<Vec<_>, _>>()?);
        }
        Ok(Self {
            chains,
            mode: config.mode,
        })
    }

    /// Whether calls go to nodes or to their stand-ins.
    pub fn mode(&self) -> Mode {
        self.mode
    }

    /// The health of each endpoint, by chain and position.
    pub fn health(&self) -> Vec<EndpointHealth> {
        self.chains
            .values()
            .flatten()
            .map(Endpoint::health)
            .collect()
    }

    /// Asks the endpoints of a chain one after another until one answers. Endpoints without the
    /// method count only when no other one is left.
    async fn ask<T>(
        &self,
        chain_id: u64,
        source: &'static str,
        method: &str,
        params: &Value,
        read: impl Fn(&Json<'_>) -> Result<T, SourceErrorKind> + Send + Sync,
    ) -> Result<RpcReply<T>, PortError> {
        let read = |result: Option<&Json<'_>>| read(result.ok_or_else(nothing)?);
        let mut failure = None;
        for endpoint in self.endpoints(chain_id) {
            match endpoint.ask(source, method, params, &read).await {
                Ok(told) => match told.value {
                    RpcReply::NoMethod => {}
                    outcome => return Ok(outcome),
                },
                Err(error @ NodeError::Refused(_)) => return Err(port_error(error)),
                Err(error) => failure = Some(port_error(error)),
            }
        }
        failure.map_or(Ok(RpcReply::NoMethod), Err)
    }

    /// Every endpoint, by chain and position.
    pub(crate) fn all_endpoints(&self) -> impl Iterator<Item = &Endpoint> {
        self.chains.values().flatten()
    }

    fn endpoints(&self, chain_id: u64) -> &[Endpoint] {
        self.chains.get(&chain_id).map_or(&[], Vec::as_slice)
    }

    /// The error for a chain whose endpoints neither answer nor fail.
    fn unserved(&self, chain_id: u64, method: &str) -> PortError {
        let reason = if self.endpoints(chain_id).is_empty() {
            PortErrorReason::NotConfigured {
                detail: format!("no endpoint for chain {chain_id}"),
            }
        } else {
            PortErrorReason::Unavailable {
                detail: format!("no endpoint of chain {chain_id} offers {method}"),
            }
        };
        port_error(reason)
    }
}

fn port_error(reason: impl Into<PortErrorReason>) -> PortError {
    PortError {
        source_name: NAME.into(),
        reason: reason.into(),
    }
}

impl From<NodeError> for PortErrorReason {
    fn from(error: NodeError) -> Self {
        match error {
            NodeError::Source(error) => error.into(),
            NodeError::Refused(detail) => Self::Refused { detail },
            NodeError::Unsuitable(detail) => Self::Unavailable { detail },
        }
    }
}

impl Accounts for RpcReader {
    async fn code(&self, chain_id: u64, address: Address) -> Result<Bytes, PortError> {
        let params = json!([format!("{address:#x}"), "latest"]);
        let outcome = self
            .ask(chain_id, CODE, "eth_getCode", &params, |result| {
                result.bytes()
            })
            .await?;
        match outcome {
            RpcReply::Value(code) => Ok(code),
            // Refuses a revert of a method that only reads: such a node does not work.
            RpcReply::Reverted(_) | RpcReply::NoMethod => {
                Err(self.unserved(chain_id, "eth_getCode"))
            }
        }
    }

    async fn call(
        &self,
        chain_id: u64,
        to: Address,
        data: Bytes,
    ) -> Result<Option<Bytes>, PortError> {
        let params = json!([{"to": format!("{to:#x}"), "data": data}, "latest"]);
        let outcome = self
            .ask(chain_id, CALL, "eth_call", &params, |result| result.bytes())
            .await?;
        match outcome {
            RpcReply::Value(returned) => Ok(Some(returned)),
            RpcReply::Reverted(_) => Ok(None),
            RpcReply::NoMethod => Err(self.unserved(chain_id, "eth_call")),
        }
    }
}

impl Simulator for RpcReader {
    fn simulates(&self, chain_id: u64) -> bool {
        !self.endpoints(chain_id).is_empty()
    }

    async fn simulate(
        &self,
        chain_id: u64,
        account: Address,
        calls: &[Step],
    ) -> Result<Option<Vec<SimulatedCall>>, PortError> {
        let params = simulate::params(account, calls);
        let outcome = self
            .ask(chain_id, SIMULATE, "eth_simulateV1", &params, |result| {
                simulate::read(result, calls.len())
            })
            .await?;
        match outcome {
            RpcReply::Value(calls) => Ok(Some(calls)),
            RpcReply::Reverted(_) | RpcReply::NoMethod if self.endpoints(chain_id).is_empty() => {
                Ok(None)
            }
            RpcReply::Reverted(_) | RpcReply::NoMethod => {
                Err(self.unserved(chain_id, "eth_simulateV1"))
            }
        }
    }
}
