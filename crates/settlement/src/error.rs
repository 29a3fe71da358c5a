//! The errors: an unusable configuration, and answers that are unavailable.

use std::fmt;
use std::time::Duration;

use alloy_primitives::{Address, B256, U256};
use thiserror::Error;
use tx_sender::{Hold, SenderError};
use x402_wire::Network;

use crate::Mode;

/// A settlement that cannot be set up. Every variant is a mistake in the configuration. An
/// unreachable service is not an error here: it is asked again before the first payment.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum SettlementError {
    /// The records of own transactions cannot be read.
    #[error(transparent)]
    Records(Box<SenderError>),
    /// A key that the mode requires is missing.
    #[error("{key} is required when the settlement mode is `{mode}`")]
    Missing {
        /// The configuration key.
        key: &'static str,
        /// The mode that requires it.
        mode: Mode,
    },
    /// The URL is not an absolute `http` or `https` URL. The text may hold a key and is not
    /// repeated.
    #[error(
        "{key}: expected an absolute http or https URL with a host and without query or fragment"
    )]
    Url {
        /// The configuration key.
        key: &'static str,
    },
    /// The text is not a secp256k1 private key.
    #[error("{key}: expected 32 bytes as hexadecimal digits that are a secp256k1 private key")]
    PrivateKey {
        /// The configuration key.
        key: &'static str,
    },
    /// The credential cannot be sent in an HTTP header.
    #[error("{key}: expected visible ASCII characters")]
    Credential {
        /// The configuration key.
        key: &'static str,
    },
    /// The HTTP client could not be built, for example because the machine has no TLS certificates.
    #[error("the HTTP client cannot be set up: {detail}")]
    Client {
        /// The message of the TLS or HTTP library.
        detail: String,
    },
    /// The RPC endpoint serves another chain.
    #[error("settlement.rpc_url: expected chain {expected}, observed {observed}")]
    Chain {
        /// The chain of the payment terms.
        expected: u64,
        /// The chain that the endpoint reports.
        observed: u64,
    },
    /// An asset on chain differs from the configuration.
    #[error(transparent)]
    Asset(Box<AssetFault>),
}

impl SettlementError {
    /// A stable code for logs and scripts.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Records(error) => error.code(),
            Self::Missing { .. } => "settlement_key_missing",
            Self::Url { .. } => "settlement_url_invalid",
            Self::PrivateKey { .. } => "settlement_private_key_invalid",
            Self::Credential { .. } => "settlement_credential_invalid",
            Self::Client { .. } => "settlement_client_unusable",
            Self::Chain { .. } => "settlement_chain_mismatch",
            Self::Asset(fault) => fault.code(),
        }
    }
}

/// An asset on chain that differs from the configuration. Signatures under the configured name and
/// version would fail there, or pay with something else.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum AssetFault {
    /// `DOMAIN_SEPARATOR()` is not the one of the configured name and version (EIP-712).
    #[error(
        "asset {asset} is not `{name}` version `{version}`: expected the domain separator {expected}, \
         observed {observed}"
    )]
    AssetMismatch {
        /// The token.
        asset: Address,
        /// The configured EIP-712 name.
        name: String,
        /// The configured EIP-712 version.
        version: String,
        /// The separator of the configuration.
        expected: B256,
        /// The separator that the token states.
        observed: B256,
    },
    /// There is no contract at the address.
    #[error("asset {asset} (`{name}`) has no code on {network}")]
    NoCode {
        /// The configured address.
        asset: Address,
        /// The configured EIP-712 name.
        name: String,
        /// The network that was searched.
        network: Network,
    },
    /// The contract has no `DOMAIN_SEPARATOR()`, so it cannot have EIP-3009.
    #[error(
        "asset {asset} (`{name}`) has no DOMAIN_SEPARATOR(): it does not take EIP-3009 payments"
    )]
    NoSeparator {
        /// The token.
        asset: Address,
        /// The configured EIP-712 name.
        name: String,
    },
}

impl AssetFault {
    /// A stable code for logs and scripts.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::AssetMismatch { .. } => "asset_mismatch",
            Self::NoCode { .. } => "asset_without_code",
            Self::NoSeparator { .. } => "asset_without_domain_separator",
        }
    }
}

/// The remote call that an outcome depended on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RemoteCall {
    /// `POST /verify` (x402 v2 section 7.1).
    Verify,
    /// `POST /settle` (x402 v2 section 7.2).
    Settle,
    /// `GET /supported` (x402 v2 section 7.3).
    Supported,
    /// `GET /settle/status` of the broker.
    SettleStatus,
    /// A JSON-RPC method.
    Rpc(&'static str),
}

impl RemoteCall {
    /// The name in logs: `verify`, `settle`, `supported`, `settle/status`, or the JSON-RPC method.
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

/// Why an outcome is unavailable. None of these says that a payment failed.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Cause {
    /// No complete answer arrived in time.
    #[error("{call}: no complete answer within {} ms", after.as_millis())]
    Timeout {
        /// The call.
        call: RemoteCall,
        /// How long the caller waited.
        after: Duration,
    },
    /// No connection could be made: no byte was sent.
    #[error("{call}: no connection")]
    Unreachable {
        /// The call.
        call: RemoteCall,
    },
    /// The connection broke before the answer was complete.
    #[error("{call}: the connection broke before the answer was complete")]
    Interrupted {
        /// The call.
        call: RemoteCall,
    },
    /// The answer is longer than any protocol message.
    #[error("{call}: the answer is longer than {limit} bytes")]
    Oversize {
        /// The call.
        call: RemoteCall,
        /// The limit in bytes.
        limit: usize,
    },
    /// An HTTP status whose body decides nothing.
    #[error("{call}: answered with status {status} and nothing conclusive")]
    Status {
        /// The call.
        call: RemoteCall,
        /// The HTTP status.
        status: u16,
    },
    /// The answer is not a protocol message.
    #[error("{call}: the answer is not the protocol's: {detail}")]
    Malformed {
        /// The call.
        call: RemoteCall,
        /// The defect; never a part of the answer.
        detail: Malformation,
    },
    /// The answer concerns another payment.
    #[error("{call}: {member} contradicts the payment: expected {expected}, observed {observed}")]
    Contradiction {
        /// The call.
        call: RemoteCall,
        /// The contradicting member.
        member: &'static str,
        /// The payment's value.
        expected: String,
        /// The answer's value, at most 80 characters.
        observed: String,
    },
    /// The service says that the outcome is open.
    #[error("{call}: the outcome is still open (`{state}`)")]
    Pending {
        /// The call.
        call: RemoteCall,
        /// The state or reason that it names, at most 80 characters.
        state: String,
    },
    /// The broker refused the call itself, not the payment.
    #[error("{call}: the broker refused the call with code {code}")]
    Broker {
        /// The call.
        call: RemoteCall,
        /// Its error code.
        code: String,
    },
    /// The node refused the call.
    #[error("{call}: the node refused with code {code}: {message}")]
    Rpc {
        /// The call.
        call: RemoteCall,
        /// The JSON-RPC error code.
        code: i64,
        /// Its message, at most 200 characters.
        message: String,
    },
    /// The node serves another chain.
    #[error("the node serves chain {observed}, expected {expected}")]
    Chain {
        /// The chain of the payment.
        expected: u64,
        /// The chain of the node.
        observed: u64,
    },
    /// The asset on chain is not the configured one, so no payment in it can be judged.
    #[error(transparent)]
    Asset(Box<AssetFault>),
    /// The payment's asset is not configured here.
    #[error("asset {asset} is not configured")]
    UnknownAsset {
        /// The payment's asset.
        asset: Address,
    },
    /// The authorization is used, by a transaction that this settlement neither sent nor knew.
    #[error("the authorization is used by another transaction")]
    UsedElsewhere,
    /// The authorization is used, but the node has no log of it for the possible time.
    #[error("the authorization is used, but no log of its time shows by which transaction")]
    NotLocated,
    /// A refusal after which the payment may still be taken: by the transaction that it names, by
    /// an earlier settlement, or by one that our node has not seen yet.
    #[error("{call}: `{reason}` does not exclude that the payment is taken")]
    Inconclusive {
        /// The call.
        call: RemoteCall,
        /// The reason code.
        reason: String,
    },
    /// The account that pays the gas cannot pay for one more settlement at the present fee.
    #[error(
        "the settling account {account} holds {balance} wei, too little for one more settlement"
    )]
    NoGas {
        /// The account.
        account: Address,
        /// Its balance, in wei.
        balance: U256,
    },
    /// The transactions of the settling account are held.
    #[error("the transactions of the settling account are held: {0}")]
    Held(Box<Hold>),
    /// The records of the settling account's transactions cannot be used.
    #[error(transparent)]
    Records(Box<SenderError>),
    /// The earlier settlements take longer than the payment is valid.
    #[error("{waiting} settlements wait to be sent, and the payment would end before its turn")]
    QueueTooLong {
        /// How many settlements are waiting.
        waiting: usize,
    },
    /// The machine's clock and the chain's contradict each other.
    #[error("the machine's clock says {machine}, the chain's newest block {block}")]
    Clock {
        /// Unix seconds by the machine.
        machine: u64,
        /// Unix seconds of the block.
        block: u64,
    },
    /// The service cannot settle scheme `exact` on our network.
    #[error("the facilitator does not list scheme `exact` on {network}")]
    ExactUnsupported {
        /// Our network.
        network: Network,
    },
}

impl Cause {
    /// Whether a party was asked about a payment, and the payment itself may be the reason for an
    /// indecisive answer. `false` for causes that affect every payment: no connection, a cached
    /// list, the settling account, the clocks, the assets.
    #[must_use]
    pub fn is_about_the_payment(&self) -> bool {
        match self {
            Self::Timeout { call, .. }
            | Self::Interrupted { call }
            | Self::Oversize { call, .. }
            | Self::Status { call, .. }
            | Self::Malformed { call, .. }
            | Self::Contradiction { call, .. }
            | Self::Pending { call, .. }
            | Self::Broker { call, .. }
            | Self::Rpc { call, .. }
            | Self::Inconclusive { call, .. } => *call != RemoteCall::Supported,
            Self::UsedElsewhere | Self::NotLocated => true,
            Self::Unreachable { .. }
            | Self::Chain { .. }
            | Self::Asset(_)
            | Self::UnknownAsset { .. }
            | Self::NoGas { .. }
            | Self::Held(_)
            | Self::Records(_)
            | Self::QueueTooLong { .. }
            | Self::Clock { .. }
            | Self::ExactUnsupported { .. } => false,
        }
    }

    /// A stable code for logs and metrics.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Timeout { .. } => "timeout",
            Self::Unreachable { .. } => "unreachable",
            Self::Interrupted { .. } => "interrupted",
            Self::Oversize { .. } => "oversize",
            Self::Status { .. } => "http_status",
            Self::Malformed { .. } => "malformed",
            Self::Contradiction { .. } => "contradiction",
            Self::Pending { .. } => "pending",
            Self::Broker { .. } => "broker_refused",
            Self::Rpc { .. } => "rpc_refused",
            Self::Chain { .. } => "chain_mismatch",
            Self::Asset(fault) => fault.code(),
            Self::UnknownAsset { .. } => "asset_unknown",
            Self::UsedElsewhere => "authorization_used_elsewhere",
            Self::NotLocated => "transaction_not_located",
            Self::Inconclusive { .. } => "refusal_inconclusive",
            Self::NoGas { .. } => "no_gas",
            Self::Held(hold) => hold.code(),
            Self::Records(error) => error.code(),
            Self::QueueTooLong { .. } => "settlement_queue_too_long",
            Self::Clock { .. } => "clock_disagrees",
            Self::ExactUnsupported { .. } => "exact_unsupported",
        }
    }
}

impl From<AssetFault> for SettlementError {
    fn from(fault: AssetFault) -> Self {
        Self::Asset(Box::new(fault))
    }
}

impl From<AssetFault> for Cause {
    fn from(fault: AssetFault) -> Self {
        Self::Asset(Box::new(fault))
    }
}

/// The defect of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum Malformation {
    /// It is not the JSON object that the protocol prescribes.
    #[error("not the prescribed JSON")]
    Json,
    /// It reports a settled payment without the hash of its transaction.
    #[error("success without a transaction hash")]
    NoTransaction,
    /// The transaction hash is not 32 bytes of hexadecimal digits.
    #[error("the transaction hash is not 32 bytes")]
    TransactionHash,
    /// It reports a success with an HTTP error status.
    #[error("success with an HTTP error status")]
    SuccessWithErrorStatus,
    /// The receipt's transaction is on chain and did not make the payment.
    #[error("the transaction did not transfer the payment")]
    NoTransfer,
    /// The JSON-RPC result has another type.
    #[error("the result has another type")]
    RpcResult,
}
