//! JSON-RPC over the crate's own HTTP client: answers are bounded, and neither the endpoint (which may hold
//! a key) nor a body ever reaches a log or an error.

mod fault;

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use alloy_eips::{BlockId, BlockNumberOrTag};
use alloy_json_rpc::{RequestPacket, ResponsePacket, RpcRecv, RpcSend};
use alloy_primitives::{Address, B256, Bytes, U64, U128, U256};
use alloy_provider::{Provider, RootProvider};
use alloy_rpc_client::RpcClient;
use alloy_rpc_types_eth::{Filter, Log, TransactionRequest};
use alloy_sol_types::SolCall;
use alloy_transport::{TransportError, TransportErrorKind, TransportFut};
use reqwest::Url;
use reqwest::header::HeaderMap;
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use serde::de::IgnoredAny;
use tower_service::Service;
use tx_sender::NodeFault;

pub(crate) use self::fault::RpcFault;
use self::fault::fault;
use crate::http::Http;
use crate::{Call, Cause, Malformation, SettlementError};

/// The longest JSON-RPC answer in bytes; receipts and log lists are the longest that are asked for.
const MAX_RPC_BODY: usize = 4 * 1024 * 1024;

/// A node.
#[derive(Clone)]
pub(crate) struct Rpc {
    provider: RootProvider,
    transport: Transport,
}

/// A block, mostly the newest one, as far as it is needed here.
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

    /// Unix seconds of the block.
    pub(crate) fn timestamp(&self) -> u64 {
        self.timestamp.to()
    }

    /// `None` for a block that is still made.
    pub(crate) fn hash(&self) -> Option<B256> {
        self.hash
    }

    pub(crate) fn base_fee(&self) -> Option<u128> {
        self.base_fee_per_gas.map(|fee| fee.to())
    }
}

/// A transaction's receipt, as far as it is needed here: chains add members and transaction types of their
/// own.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct TransactionOutcome {
    pub(crate) transaction_hash: B256,
    /// Who sent it.
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
    /// Number and hash of its block; `None` while it has none.
    pub(crate) fn place(&self) -> Option<(u64, B256)> {
        Some((self.block_number?.to(), self.block_hash?))
    }

    pub(crate) fn succeeded(&self) -> bool {
        self.status == Some(U64::ONE)
    }
}

impl Rpc {
    pub(crate) fn new(
        http: &Http,
        url: &SecretString,
        timeout: Duration,
    ) -> Result<Self, SettlementError> {
        let key = "settlement.rpc_url";
        let url = Url::parse(url.expose_secret())
            .ok()
            .filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host())
            .ok_or(SettlementError::Url { key })?;
        let transport = Transport {
            http: http.with_max_body(MAX_RPC_BODY),
            url,
            timeout,
        };
        Ok(Self {
            provider: RootProvider::new(RpcClient::new(transport.clone(), false)),
            transport,
        })
    }

    /// The same endpoint for transactions that are sent from here.
    pub(crate) fn sending_node(&self) -> tx_sender::RpcNode {
        tx_sender::RpcNode::new(Arc::new(self.transport.clone()))
    }

    pub(crate) async fn chain_id(&self) -> Result<u64, RpcFault> {
        self.provider
            .get_chain_id()
            .await
            .map_err(|error| fault("eth_chainId", error))
    }

    pub(crate) async fn head(&self) -> Result<Head, RpcFault> {
        self.request("eth_getBlockByNumber", (BlockNumberOrTag::Latest, false))
            .await
    }

    /// The canonical block with this number, when there is one.
    pub(crate) async fn block(&self, number: u64) -> Result<Option<Head>, RpcFault> {
        let number = BlockNumberOrTag::Number(number);
        self.request("eth_getBlockByNumber", (number, false)).await
    }

    pub(crate) async fn code(&self, address: Address) -> Result<Bytes, RpcFault> {
        self.provider
            .get_code_at(address)
            .await
            .map_err(|error| fault("eth_getCode", error))
    }

    /// The account's balance of the chain's own coin.
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
        let data = self.execute(request, block).await?;
        C::abi_decode_returns_validate(&data).map_err(|_| {
            let (call, detail) = (Call::Rpc("eth_call"), Malformation::RpcResult);
            RpcFault::Lost(Cause::Malformed { call, detail })
        })
    }

    /// Executes a call without sending it.
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

    pub(crate) async fn outcome(&self, hash: B256) -> Result<Option<TransactionOutcome>, RpcFault> {
        self.request("eth_getTransactionReceipt", (hash,)).await
    }

    /// Whether the node knows the transaction, in a block or waiting.
    pub(crate) async fn knows(&self, hash: B256) -> Result<bool, RpcFault> {
        let known: Option<IgnoredAny> = self.request("eth_getTransactionByHash", (hash,)).await?;
        Ok(known.is_some())
    }

    pub(crate) async fn logs(&self, filter: &Filter) -> Result<Vec<Log>, RpcFault> {
        self.provider
            .get_logs(filter)
            .await
            .map_err(|error| fault("eth_getLogs", error))
    }

    async fn request<P: RpcSend, R: RpcRecv>(
        &self,
        method: &'static str,
        params: P,
    ) -> Result<R, RpcFault> {
        let answer = self.provider.client().request(method, params).await;
        answer.map_err(|error| fault(method, error))
    }
}

/// The crate's HTTP client as an alloy transport.
#[derive(Debug, Clone)]
struct Transport {
    http: Http,
    url: Url,
    timeout: Duration,
}

impl Transport {
    async fn exchange(self, request: RequestPacket) -> Result<ResponsePacket, TransportError> {
        let body = serde_json::to_vec(&request).map_err(TransportError::ser_err)?;
        let call = Call::Rpc(method(&request));
        let reply = self
            .http
            .post(call, self.url, HeaderMap::new(), body, self.timeout)
            .await
            .map_err(TransportErrorKind::custom)?;
        // Some nodes answer errors with an error status and a JSON-RPC body.
        match serde_json::from_slice::<ResponsePacket>(&reply.body) {
            Ok(packet) if reply.is_success() || packet.is_error() => Ok(packet),
            Ok(_) | Err(_) if !reply.is_success() => {
                Err(TransportErrorKind::custom(Cause::Status {
                    call,
                    status: reply.status,
                }))
            }
            _ => {
                let detail = Malformation::Json;
                Err(TransportErrorKind::custom(Cause::Malformed {
                    call,
                    detail,
                }))
            }
        }
    }
}

impl tx_sender::Transport for Transport {
    fn exchange(
        &self,
        method: &'static str,
        body: Vec<u8>,
    ) -> Pin<Box<dyn Future<Output = Result<Vec<u8>, NodeFault>> + Send + '_>> {
        let (call, url) = (Call::Rpc(method), self.url.clone());
        let reply = self
            .http
            .post(call, url, HeaderMap::new(), body, self.timeout);
        Box::pin(async move {
            match reply.await {
                // Some nodes answer errors with an error status and a JSON-RPC body: the body decides.
                Ok(reply) => Ok(reply.body.to_vec()),
                Err(Cause::Unreachable { .. }) => Err(NodeFault::Unreachable),
                Err(_) => Err(NodeFault::Lost { method }),
            }
        })
    }
}

impl Service<RequestPacket> for Transport {
    type Response = ResponsePacket;
    type Error = TransportError;
    type Future = TransportFut<'static>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: RequestPacket) -> Self::Future {
        Box::pin(self.clone().exchange(request))
    }
}

/// The methods that this crate calls.
const METHODS: [&str; 13] = [
    "eth_call",
    "eth_chainId",
    "eth_estimateGas",
    "eth_gasPrice",
    "eth_getBalance",
    "eth_getBlockByNumber",
    "eth_getCode",
    "eth_getLogs",
    "eth_getTransactionByHash",
    "eth_getTransactionCount",
    "eth_getTransactionReceipt",
    "eth_maxPriorityFeePerGas",
    "eth_sendRawTransaction",
];

/// The method of a request, as a label of a bounded set.
fn method(request: &RequestPacket) -> &'static str {
    let name = match request {
        RequestPacket::Single(request) => request.method(),
        RequestPacket::Batch(_) => "batch",
    };
    let known = METHODS.iter().find(|known| **known == name);
    known.copied().unwrap_or("other")
}
