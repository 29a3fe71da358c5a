//! The port to the nodes of a chain. [`RpcNode`] implements it over JSON-RPC.

mod http;
mod json_rpc;
mod member;
mod refusal;
mod rollup;
mod rpc;
mod set;
mod view;

use std::pin::Pin;

use alloy_primitives::{Address, B256, Bytes, U256};
use thiserror::Error;

pub use self::http::{HttpTransport, InvalidUrl};
pub use self::json_rpc::{RpcAnswer, RpcError, Transport, ask, rpc_request};
pub use self::refusal::Refusal;
pub use self::rollup::AddedFees;
pub use self::rpc::RpcNode;
pub(crate) use self::set::{Canonical, Delivery, Nodes};
pub(crate) use self::view::View;

/// A pending answer of a node.
pub type NodeFuture<'a, T> = Pin<Box<dyn Future<Output = Result<T, NodeFault>> + Send + 'a>>;

/// Why a node gave no answer.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum NodeFault {
    /// No connection could be made. The node has not seen the request.
    #[error("no connection")]
    Unreachable,
    /// The node got the request, and did not answer in time, completely, or in the form of the
    /// protocol. It may have acted.
    #[error("no usable answer to {method}")]
    Lost {
        /// The JSON-RPC method.
        method: &'static str,
    },
    /// The node refused the request.
    #[error("refused with code {code}: {message}")]
    Refused {
        /// The JSON-RPC error code.
        code: i64,
        /// The node's message, at most 200 characters of it.
        message: String,
    },
    /// The node serves another chain.
    #[error("it serves chain {observed}, expected {expected}")]
    OtherChain {
        /// The chain of the lane.
        expected: u64,
        /// The chain of the node.
        observed: u64,
    },
}

/// The members of a block that the sender uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Head {
    /// The number of the block.
    pub number: u64,
    /// The hash of the block.
    pub hash: B256,
    /// The time of the block, in Unix seconds.
    pub timestamp: u64,
    /// The base fee of the block, in wei. `None` on chains without one.
    pub base_fee: Option<u128>,
}

/// The members of a transaction's receipt that the sender uses. A receipt proves nothing until its
/// block is known to be canonical.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Receipt {
    /// The hash of the transaction.
    pub hash: B256,
    /// The number of its block.
    pub number: u64,
    /// The hash of its block.
    pub block: B256,
    /// Whether the transaction succeeded.
    pub succeeded: bool,
}

/// A transaction in a block, with its sender and its nonce.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mined {
    /// The hash of the transaction.
    pub hash: B256,
    /// The account that signed the transaction.
    pub from: Address,
    /// The nonce of the transaction.
    pub nonce: u64,
}

/// One node of a chain.
pub trait Node: Send + Sync + 'static {
    /// Returns the chain that the node serves (`eth_chainId`).
    fn chain_id(&self) -> NodeFuture<'_, u64>;

    /// Returns the newest canonical block (`eth_getBlockByNumber` of `latest`).
    fn head(&self) -> NodeFuture<'_, Head>;

    /// Returns the canonical block with this number (`eth_getBlockByNumber`).
    fn block(&self, number: u64) -> NodeFuture<'_, Option<Head>>;

    /// Returns the hash and the transactions of the canonical block with this number.
    fn transactions(&self, number: u64) -> NodeFuture<'_, Option<(B256, Vec<Mined>)>>;

    /// Returns how many transactions the account has up to and including the block with this hash.
    /// The call is pinned to the block (EIP-1898 with `requireCanonical`): a node that is behind,
    /// or on another fork, refuses.
    fn count(&self, account: Address, block: B256) -> NodeFuture<'_, u64>;

    /// Returns how many transactions the account has as of the block with this number. The caller
    /// knows that the block is canonical.
    fn count_at(&self, account: Address, number: u64) -> NodeFuture<'_, u64>;

    /// Returns the account's balance as of the block with this hash, in wei.
    fn balance(&self, account: Address, block: B256) -> NodeFuture<'_, U256>;

    /// Returns `eth_gasPrice`, in wei.
    fn gas_price(&self) -> NodeFuture<'_, u128>;

    /// Returns `eth_maxPriorityFeePerGas`, in wei.
    fn priority_fee(&self) -> NodeFuture<'_, u128>;

    /// Returns the gas of an empty transfer from the account to itself (`eth_estimateGas`).
    fn noop_gas(&self, account: Address) -> NodeFuture<'_, u64>;

    /// Returns the most that the chain adds to the gas of a transaction with this much calldata and
    /// gas, in wei, as of the block with this hash ([`AddedFees`]).
    fn added_fees(&self, transaction: (usize, u64), block: B256) -> NodeFuture<'_, U256>;

    /// Sends signed bytes (`eth_sendRawTransaction`).
    fn send(&self, raw: Bytes) -> NodeFuture<'_, ()>;

    /// Returns the transaction's receipt, if the node has one (`eth_getTransactionReceipt`).
    fn receipt(&self, hash: B256) -> NodeFuture<'_, Option<Receipt>>;

    /// Returns the receipts of several transactions, in the order of the hashes. It is one request
    /// if the node supports that. A receipt that the node does not return is `None`.
    fn receipts(&self, hashes: Vec<B256>) -> NodeFuture<'_, Vec<Option<Receipt>>>;
}
