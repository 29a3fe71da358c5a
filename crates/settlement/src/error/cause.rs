//! The causes of an unavailable outcome.

use std::time::Duration;

use alloy_primitives::{Address, U256};
use thiserror::Error;
use tx_sender::{Hold, SenderError};
use x402_wire::{Network, Reason};

use super::asset::AssetFault;
use super::remote::{Malformation, RemoteCall};
use crate::text::clip;

/// The reason why an outcome is unavailable. None of these says that a payment failed.
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

    /// The cause for a refusal that decides nothing.
    pub(crate) fn inconclusive(reason: &Reason) -> Self {
        Self::Inconclusive {
            call: RemoteCall::Settle,
            reason: clip(reason.as_str()),
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

impl From<AssetFault> for Cause {
    fn from(fault: AssetFault) -> Self {
        Self::Asset(Box::new(fault))
    }
}
