//! JSON-RPC through this crate's own HTTP client. The size of answers is limited. No log and no
//! error contains an endpoint, which may hold a key, or a body.

mod endpoints;
mod fault;
mod several;

use std::sync::Arc;
use std::time::Duration;

use alloy_eips::{BlockId, BlockNumberOrTag};
use alloy_json_rpc::{RpcRecv, RpcSend};
use alloy_primitives::{Address, B256, Bytes, U64, U128, U256};
use alloy_provider::{Provider, RootProvider};
use alloy_rpc_client::RpcClient;
use alloy_rpc_types_eth::{Filter, Log, TransactionRequest};
use alloy_sol_types::SolCall;
use reqwest::Url;
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;

pub(crate) use self::endpoints::METHODS;
use self::endpoints::{Endpoint, InOrder};
pub(crate) use self::fault::RpcFault;
use self::fault::fault;
use crate::http::Http;
use crate::{Cause, Malformation, RemoteCall, SettlementError};

/// The longest JSON-RPC answer, in bytes. Receipts and lists of logs are the longest ones.
const MAX_RPC_BODY: usize = 4 * 1024 * 1024;

const BLOCK: &str = "eth_getBlockByNumber";

/// The nodes of the chain, together and each alone.
#[derive(Clone)]
pub(crate) struct Rpc {
    /// Reads from the first node that answers.
    provider: RootProvider,
    each: Arc<[Each]>,
}

/// One node.
#[derive(Clone)]
struct Each {
    endpoint: Arc<Endpoint>,
    provider: RootProvider,
}

/// The members of a block that this crate uses. Mostly it is the newest block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Head {
    number: U64,
    timestamp: U64,
    #[serde(default)]
    hash: Option<B256>,
    #[serde(default)]
    base_fee_per_gas: Option<U128>,
}

impl Head {
    pub(crate) fn number(&self) -> u64 {
        self.number.to()
    }

    /// Returns the block's time, in Unix seconds.
    pub(crate) fn timestamp(&self) -> u64 {
        self.timestamp.to()
    }

    /// Returns the block's hash. `None` for a block that is still being made.
    pub(crate) fn hash(&self) -> Option<B256> {
        self.hash
    }

    pub(crate) fn base_fee(&self) -> Option<u128> {
        self.base_fee_per_gas.map(|fee| fee.to())
    }
}

/// The members of a receipt that this crate uses. Chains add members and transaction types of their
/// own.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct TransactionOutcome {
    pub(crate) transaction_hash: B256,
    /// The sender.
    #[serde(default)]
    pub(crate) from: Option<Address>,
    #[serde(default)]
    status: Option<U64>,
    #[serde(default)]
    block_number: Option<U64>,
    #[serde(default)]
    block_hash: Option<B256>,
    pub(crate) logs: Vec<Log>,
}

impl TransactionOutcome {
    /// Returns the number and the hash of the transaction's block. `None` while it has none.
    pub(crate) fn place(&self) -> Option<(u64, B256)> {
        Some((self.block_number?.to(), self.block_hash?))
    }

    pub(crate) fn succeeded(&self) -> bool {
        self.status == Some(U64::ONE)
    }
}

impl Rpc {
    /// Makes the nodes of these endpoints, in the order in which they are asked. The first URL
    /// comes from `settlement.rpc_url`.
    pub(crate) fn new(
        http: &Http,
        urls: &[SecretString],
        timeout: Duration,
    ) -> Result<Self, SettlementError> {
        let mut endpoints: Vec<Arc<Endpoint>> = Vec::with_capacity(urls.len());
        for (at, url) in urls.iter().enumerate() {
            let key = match at {
                0 => "settlement.rpc_url",
                _ => "chains.ID.rpc_urls",
            };
            let url = Url::parse(url.expose_secret())
                .ok()
                .filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host())
                .ok_or(SettlementError::Url { key })?;
            let http = http.with_max_body(MAX_RPC_BODY);
            endpoints.push(Arc::new(Endpoint::new(http, url, timeout)));
        }
        if endpoints.is_empty() {
            let key = "settlement.rpc_url";
            return Err(SettlementError::Url { key });
        }
        let over = |endpoints: Vec<Arc<Endpoint>>| {
            RootProvider::new(RpcClient::new(InOrder(endpoints.into()), false))
        };
        let each = endpoints.iter().map(|endpoint| Each {
            endpoint: Arc::clone(endpoint),
            provider: over(vec![Arc::clone(endpoint)]),
        });
        Ok(Self {
            each: each.collect(),
            provider: over(endpoints),
        })
    }

    /// Returns the same endpoints for sending transactions.
    pub(crate) fn sending_nodes(&self) -> Vec<tx_sender::RpcNode> {
        let endpoints = self.each.iter().map(|each| Arc::clone(&each.endpoint));
        endpoints
            .map(|endpoint| tx_sender::RpcNode::new(endpoint))
            .collect()
    }

    /// Asks each unconfirmed endpoint which chain it serves. Skips a resting endpoint while another
    /// one is confirmed. Fails when an endpoint serves another chain, or when none is confirmed in
    /// the end.
    pub(crate) async fn confirm(&self, expected: u64) -> Result<(), Cause> {
        let mut failure = None;
        for Each { endpoint, provider } in self.each.iter() {
            if endpoint.is_confirmed() || (endpoint.rests() && self.is_confirmed()) {
                continue;
            }
            let answer = provider.get_chain_id().await;
            match answer.map_err(|error| fault("eth_chainId", error)) {
                Ok(observed) if observed == expected => endpoint.confirm(),
                Ok(observed) => return Err(Cause::Chain { expected, observed }),
                Err(fault) => failure = failure.or(Some(fault.cause())),
            }
        }
        match failure {
            Some(cause) if !self.is_confirmed() => Err(cause),
            _ => Ok(()),
        }
    }

    /// Whether at least one endpoint is confirmed to serve the chain.
    fn is_confirmed(&self) -> bool {
        self.each.iter().any(|each| each.endpoint.is_confirmed())
    }

    /// Returns the canonical block with this number, if there is one.
    pub(crate) async fn block(&self, number: u64) -> Result<Option<Head>, RpcFault> {
        let number = BlockNumberOrTag::Number(number);
        request(&self.provider, BLOCK, (number, false)).await
    }

    pub(crate) async fn code(&self, address: Address) -> Result<Bytes, RpcFault> {
        self.provider
            .get_code_at(address)
            .await
            .map_err(|error| fault("eth_getCode", error))
    }

    /// Returns the account's balance in the chain's own coin.
    pub(crate) async fn coin_balance(&self, address: Address) -> Result<U256, RpcFault> {
        self.provider
            .get_balance(address)
            .await
            .map_err(|error| fault("eth_getBalance", error))
    }

    /// Calls a view function and decodes its result.
    pub(crate) async fn view<C: SolCall>(
        &self,
        to: Address,
        call: &C,
        block: BlockId,
    ) -> Result<C::Return, RpcFault> {
        let request = TransactionRequest::default()
            .to(to)
            .input(call.abi_encode().into());
        decoded::<C>(&self.execute(request, block).await?)
    }

    /// Executes a call without sending a transaction.
    pub(crate) async fn execute(
        &self,
        request: TransactionRequest,
        block: BlockId,
    ) -> Result<Bytes, RpcFault> {
        self.provider
            .call(request)
            .block(block)
            .await
            .map_err(|error| fault("eth_call", error))
    }

    pub(crate) async fn estimate_gas(&self, request: TransactionRequest) -> Result<u64, RpcFault> {
        self.provider
            .estimate_gas(request)
            .await
            .map_err(|error| fault("eth_estimateGas", error))
    }

    pub(crate) async fn gas_price(&self) -> Result<u128, RpcFault> {
        self.provider
            .get_gas_price()
            .await
            .map_err(|error| fault("eth_gasPrice", error))
    }

    pub(crate) async fn priority_fee(&self) -> Result<u128, RpcFault> {
        self.provider
            .get_max_priority_fee_per_gas()
            .await
            .map_err(|error| fault("eth_maxPriorityFeePerGas", error))
    }

    pub(crate) async fn logs(&self, filter: &Filter) -> Result<Vec<Log>, RpcFault> {
        self.provider
            .get_logs(filter)
            .await
            .map_err(|error| fault("eth_getLogs", error))
    }
}

async fn request<P: RpcSend, R: RpcRecv>(
    provider: &RootProvider,
    method: &'static str,
    params: P,
) -> Result<R, RpcFault> {
    let answer = provider.client().request(method, params).await;
    answer.map_err(|error| fault(method, error))
}

fn decoded<C: SolCall>(data: &[u8]) -> Result<C::Return, RpcFault> {
    C::abi_decode_returns_validate(data).map_err(|_| {
        let (call, detail) = (RemoteCall::Rpc("eth_call"), Malformation::RpcResult);
        RpcFault::Lost(Cause::Malformed { call, detail })
    })
}
