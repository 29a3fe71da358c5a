//! JSON-RPC through this crate's own HTTP client. The size of answers is limited. No log and no
//! error contains an endpoint, which may hold a key, or a body.

mod endpoints;
mod fault;
mod several;

use std::sync::Arc;
use std::time::Duration;

use alloy_eips::BlockId;
use alloy_primitives::{Address, B256, Bytes, U64, U128, U256};
use alloy_rpc_types_eth::{Filter, Log, TransactionRequest};
use alloy_sol_types::SolCall;
use reqwest::Url;
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use serde_json::json;

pub(crate) use self::endpoints::METHODS;
use self::endpoints::{Endpoint, InOrder};
pub(crate) use self::fault::RpcFault;
use crate::http::Http;
use crate::{Cause, SettlementError};

/// The longest JSON-RPC answer, in bytes. Receipts and lists of logs are the longest ones.
const MAX_RPC_BODY: usize = 4 * 1024 * 1024;

const BLOCK: &str = "eth_getBlockByNumber";

/// The nodes of the chain, together and each alone.
#[derive(Clone)]
pub(crate) struct Rpc {
    nodes: InOrder,
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
        let nodes = InOrder(endpoints.into());
        Ok(Self { nodes })
    }

    /// Returns the same endpoints for sending transactions.
    pub(crate) fn sending_nodes(&self) -> Vec<tx_sender::RpcNode> {
        let endpoints = self.nodes.0.iter().cloned();
        endpoints
            .map(|endpoint| tx_sender::RpcNode::new(endpoint))
            .collect()
    }

    /// Asks each unconfirmed endpoint which chain it serves. Skips a resting endpoint while another
    /// one is confirmed. Fails when an endpoint serves another chain, or when none is confirmed in
    /// the end.
    pub(crate) async fn confirm(&self, expected: u64) -> Result<(), Cause> {
        let mut failure = None;
        for endpoint in self.nodes.0.iter() {
            if endpoint.is_confirmed() || (endpoint.rests() && self.is_confirmed()) {
                continue;
            }
            let id: Result<U64, _> = endpoint.alone().ask("eth_chainId", json!([])).await;
            match id.map(|id| id.to::<u64>()) {
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
        self.nodes.0.iter().any(|endpoint| endpoint.is_confirmed())
    }

    /// Returns the canonical block with this number, if there is one.
    pub(crate) async fn block(&self, number: u64) -> Result<Option<Head>, RpcFault> {
        let params = json!([U64::from(number), false]);
        self.nodes.ask(BLOCK, params).await
    }

    pub(crate) async fn code(&self, address: Address) -> Result<Bytes, RpcFault> {
        let params = json!([address, "latest"]);
        self.nodes.ask("eth_getCode", params).await
    }

    /// Returns the account's balance in the chain's own coin.
    pub(crate) async fn coin_balance(&self, address: Address) -> Result<U256, RpcFault> {
        let params = json!([address, "latest"]);
        self.nodes.ask("eth_getBalance", params).await
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
        self.nodes.ask("eth_call", json!([request, block])).await
    }

    /// Estimates the gas of a transaction that follows the pending ones.
    pub(crate) async fn estimate_gas(&self, request: TransactionRequest) -> Result<u64, RpcFault> {
        let params = json!([request, "pending"]);
        let gas: U64 = self.nodes.ask("eth_estimateGas", params).await?;
        Ok(gas.to())
    }

    pub(crate) async fn gas_price(&self) -> Result<u128, RpcFault> {
        let price: U128 = self.nodes.ask("eth_gasPrice", json!([])).await?;
        Ok(price.to())
    }

    pub(crate) async fn priority_fee(&self) -> Result<u128, RpcFault> {
        const METHOD: &str = "eth_maxPriorityFeePerGas";
        let fee: U128 = self.nodes.ask(METHOD, json!([])).await?;
        Ok(fee.to())
    }

    pub(crate) async fn logs(&self, filter: &Filter) -> Result<Vec<Log>, RpcFault> {
        self.nodes.ask("eth_getLogs", json!([filter])).await
    }
}

fn decoded<C: SolCall>(data: &[u8]) -> Result<C::Return, RpcFault> {
    C::abi_decode_returns_validate(data).map_err(|_| RpcFault::malformed("eth_call"))
}
