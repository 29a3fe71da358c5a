//! The names of remote calls, and what can be wrong with their answers.

use std::fmt;

use thiserror::Error;

/// The remote call on which an outcome depended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RemoteCall {
    /// `POST /verify` (x402 v2 section 7.1).
    Verify,
    /// `POST /settle` (x402 v2 section 7.2).
    Settle,
    /// `GET /supported` (x402 v2 section 7.3).
    Supported,
    /// The broker's `GET /settle/status`.
    SettleStatus,
    /// A JSON-RPC method.
    Rpc(&'static str),
}

impl RemoteCall {
    /// Returns the name in logs: `verify`, `settle`, `supported`, `settle/status`, or the JSON-RPC
    /// method.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Verify => "verify",
            Self::Settle => "settle",
            Self::Supported => "supported",
            Self::SettleStatus => "settle/status",
            Self::Rpc(method) => method,
        }
    }
}

impl fmt::Display for RemoteCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The defect of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum Malformation {
    /// It is not the JSON object of the protocol.
    #[error("not the prescribed JSON")]
    Json,
    /// It reports a settled payment without the hash of a transaction.
    #[error("success without a transaction hash")]
    NoTransaction,
    /// The transaction hash is not 32 bytes of hexadecimal digits.
    #[error("the transaction hash is not 32 bytes")]
    TransactionHash,
    /// It reports a success with an HTTP error status.
    #[error("success with an HTTP error status")]
    SuccessWithErrorStatus,
    /// It names a transaction that is on the chain and did not make the payment.
    #[error("the transaction did not transfer the payment")]
    NoTransfer,
    /// The JSON-RPC result has another type.
    #[error("the result has another type")]
    RpcResult,
}
