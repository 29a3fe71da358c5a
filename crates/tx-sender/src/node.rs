//! The port to a chain's nodes, and the one implementation over JSON-RPC.

mod http;
mod member;
mod refusal;
mod rpc;
mod set;
mod view;

use std::pin::Pin;

use alloy_primitives::{Address, B256, Bytes, U256};
use thiserror::Error;

pub use self::http::{HttpTransport, InvalidUrl};
pub use self::refusal::Refusal;
pub use self::rpc::{RpcNode, Transport};
pub(crate) use self::set::{Canonical, Delivery, Nodes};
pub(crate) use self::view::View;

/// A pending answer of a node.
pub type NodeFuture<'a, T> = Pin<Box<dyn Future<Output = Result<T, NodeFault>> + Send + 'a>>;

/// The reason why a node gave no answer.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum NodeFault {
    /// No connection could be made: the node has not seen the request.
    #[error("no connection")]
    Unreachable,
    /// The node got the request, and did not answer in time, completely, or in the protocol's form.
    /// It may have acted.
    #[error("no usable answer to {method}")]
    Lost {
        /// The JSON-RPC method.
        method: &'static str,
    },
    /// The node refused.
    #[error("refused with code {code}: {message}")]
    Refused {
        /// The JSON-RPC error code.
        code: i64,
        /// Its message, at most 200 characters.
        message: String,
    },
    /// The node serves another chain.
    #[error("it serves chain {observed}, expected {expected}")]
    OtherChain {
        /// The lane's chain.
        expected: u64,
        /// The node's.
        observed: u64,
    },
}

/// The members of a block that are used here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Head {
    /// Its number.
    pub number: u64,
    /// Its hash.
    pub hash: B256,
    /// Its time, in Unix seconds.
    pub timestamp: u64,
    /// Its base fee in wei; `None` on chains without one.
    pub base_fee: Option<u128>,
}

/// The members of a transaction's receipt that are used here. It proves nothing until its block is
/// known to be canonical.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Receipt {
    /// The transaction.
    pub hash: B256,
    /// The number of its block.
    pub number: u64,
    /// The hash of its block.
    pub block: B256,
    /// Whether its execution succeeded.
    pub succeeded: bool,
}

/// A transaction in a block: its sender and nonce.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mined {
    /// The transaction.
    pub hash: B256,
    /// The account that signed it.
    pub from: Address,
    /// Its nonce.
    pub nonce: u64,
}

/// One node of a chain.
pub trait Node: Send + Sync + 'static {
    /// The chain that it serves (`eth_chainId`).
    fn chain_id(&self) -> NodeFuture<'_, u64>;

    /// The newest canonical block (`eth_getBlockByNumber` of `latest`).
    fn head(&self) -> NodeFuture<'_, Head>;

    /// The canonical block with this number (`eth_getBlockByNumber`).
    fn block(&self, number: u64) -> NodeFuture<'_, Option<Head>>;

    /// The transactions of the canonical block with this number, and its hash.
    fn transactions(&self, number: u64) -> NodeFuture<'_, Option<(B256, Vec<Mined>)>>;

    /// The number of the account's transactions up to and including the block with this hash. The
    /// call is pinned to the block (EIP-1898 with `requireCanonical`): a node that is behind or on
    /// another fork refuses.
    fn count(&self, account: Address, block: B256) -> NodeFuture<'_, u64>;

    /// The number of the account's transactions as of a block's number. For blocks that are known
    /// to be canonical.
    fn count_at(&self, account: Address, number: u64) -> NodeFuture<'_, u64>;

    /// The account's balance in wei, as of the block with this hash.
    fn balance(&self, account: Address, block: B256) -> NodeFuture<'_, U256>;

    /// `eth_gasPrice`, in wei.
    fn gas_price(&self) -> NodeFuture<'_, u128>;

    /// `eth_maxPriorityFeePerGas`, in wei.
    fn priority_fee(&self) -> NodeFuture<'_, u128>;

    /// The gas of an empty transfer from the account to itself (`eth_estimateGas`).
    fn noop_gas(&self, account: Address) -> NodeFuture<'_, u64>;

    /// Sends signed bytes (`eth_sendRawTransaction`).
    fn send(&self, raw: Bytes) -> NodeFuture<'_, ()>;

    /// The transaction's receipt, when the node has one (`eth_getTransactionReceipt`).
    fn receipt(&self, hash: B256) -> NodeFuture<'_, Option<Receipt>>;

    /// The receipts of several transactions, in the order of the hashes: in one request where the
    /// node supports it. A receipt that the node does not return is `None`.
    fn receipts(&self, hashes: Vec<B256>) -> NodeFuture<'_, Vec<Option<Receipt>>>;
}
