//! Why an outcome is unavailable.

use std::time::Duration;

use alloy_primitives::{Address, U256};
use thiserror::Error;
use tx_sender::{Hold, SenderError};
use x402_wire::{Network, Reason};

use super::asset::AssetFault;
use super::remote::{Malformation, RemoteCall};
use crate::text::clip;

/// Why an outcome is unavailable. No cause says that a payment failed.
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
    /// No connection could be made, so no byte was sent.
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
    /// The answer is longer than every protocol message.
    #[error("{call}: the answer is longer than {limit} bytes")]
    Oversize {
        /// The call.
        call: RemoteCall,
        /// The limit in bytes.
        limit: usize,
    },
    /// The answer has an HTTP status with which its body decides nothing.
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
        /// The defect. It is never a part of the answer.
        detail: Malformation,
    },
    /// The answer is about another payment.
    #[error("{call}: {member} contradicts the payment: expected {expected}, observed {observed}")]
    Contradiction {
        /// The call.
        call: RemoteCall,
        /// The member that contradicts the payment.
        member: &'static str,
        /// The payment's value.
        expected: String,
        /// The value in the answer, at most 80 characters of it.
        observed: String,
    },
    /// The service says that the outcome is still open.
    #[error("{call}: the outcome is still open (`{state}`)")]
    Pending {
        /// The call.
        call: RemoteCall,
        /// The state or reason that the service names, at most 80 characters of it.
        state: String,
    },
    /// The broker refused the call itself, and not the payment.
    #[error("{call}: the broker refused the call with code {code}")]
    Broker {
        /// The call.
        call: RemoteCall,
        /// The broker's error code.
        code: String,
    },
    /// The node refused the call.
    #[error("{call}: the node refused with code {code}: {message}")]
    Rpc {
        /// The call.
        call: RemoteCall,
        /// The JSON-RPC error code.
        code: i64,
        /// The node's message, at most 200 characters of it.
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
    /// The asset on the chain is not the configured one, so no payment in it can be judged.
    #[error(transparent)]
    Asset(Box<AssetFault>),
    /// The payment's asset is not configured.
    #[error("asset {asset} is not configured")]
    UnknownAsset {
        /// The payment's asset.
        asset: Address,
    },
    /// The authorization is used, by a transaction that this settlement neither sent nor knew.
    #[error("the authorization is used by another transaction")]
    UsedElsewhere,
    /// The authorization is used, but the node has no log of it in the searched time.
    #[error("the authorization is used, but no log of its time shows by which transaction")]
    NotLocated,
    /// The refusal leaves open whether the payment is taken. The transaction that it names may take
    /// it, or an earlier settlement, or one that our node has not seen yet.
    #[error("{call}: `{reason}` does not exclude that the payment is taken")]
    Inconclusive {
        /// The call.
        call: RemoteCall,
        /// The reason code.
        reason: String,
    },
    /// The account that pays the gas cannot pay for one more settlement at the current fee.
    #[error(
        "the settling account {account} holds {balance} wei, too little for one more settlement"
    )]
    NoGas {
        /// The account.
        account: Address,
        /// The account's balance, in wei.
        balance: U256,
    },
    /// The transactions of the settling account are held back.
    #[error("the transactions of the settling account are held: {0}")]
    Held(Box<Hold>),
    /// The records of the settling account's transactions cannot be used.
    #[error(transparent)]
    Records(Box<SenderError>),
    /// The settlements that wait before this one would take longer than the payment is valid.
    #[error("{waiting} settlements wait to be sent, and the payment would end before its turn")]
    QueueTooLong {
        /// How many settlements are waiting.
        waiting: usize,
    },
    /// The machine's clock and the chain's clock contradict each other.
    #[error("the machine's clock says {machine}, the chain's newest block {block}")]
    Clock {
        /// The machine's time, in Unix seconds.
        machine: u64,
        /// The block's time, in Unix seconds.
        block: u64,
    },
    /// The service cannot settle the scheme `exact` on our network.
    #[error("the facilitator does not list scheme `exact` on {network}")]
    ExactUnsupported {
        /// Our network.
        network: Network,
    },
}

impl Cause {
    /// Whether a party was asked about a payment, and the payment itself may be why its answer
    /// decides nothing. `false` for causes that affect every payment: no connection, the list of
    /// supported kinds, the settling account, the clocks, the assets.
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

    /// Returns the cause for a refusal that decides nothing.
    pub(crate) fn inconclusive(reason: &Reason) -> Self {
        Self::Inconclusive {
            call: RemoteCall::Settle,
            reason: clip(reason.as_str()),
        }
    }

    /// Returns a stable code for logs and metrics.
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

impl From<AssetFault> for Cause {
    fn from(fault: AssetFault) -> Self {
        Self::Asset(Box::new(fault))
    }
}
