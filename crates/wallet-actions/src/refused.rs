//! Why an action does not begin.
//!
//! Each reason has a stable name for callers and a message for people. When an action is refused,
//! nothing was signed, and nothing is charged.

use alloy_primitives::{Address, U256};
use custody::{CustodyError, PolicyRefusal};
use serde_json::Value;
use thiserror::Error;

use crate::{IntentId, PlanRefused, StoreError};

/// Why an action did not begin. Nothing was signed, and nothing is charged.
#[derive(Debug, Clone, PartialEq, Error)]
#[non_exhaustive]
pub enum Refused {
    /// The wallet lacks tokens.
    #[error("the wallet lacks {} of the smallest unit of {} on chain {}", .0.missing, .0.token, .0.chain_id)]
    Funds(Box<FundsRequired>),
    /// The wallet lacks coins for gas, and no top-up is possible.
    #[error("{wallet} lacks {missing} wei for gas on chain {chain_id}: {reason}")]
    Gas {
        /// The chain.
        chain_id: u64,
        /// The wallet.
        wallet: Address,
        /// How many wei are missing.
        missing: U256,
        /// Why no top-up is possible: `no_gas_account` or `gas_topup_too_large`.
        reason: &'static str,
    },
    /// There is nothing to act on: the balance is empty, or the position, product or route is
    /// unknown.
    #[error("{message}")]
    Nothing {
        /// The stable name of the reason: `nothing_to_withdraw`, `no_such_position`,
        /// `no_such_product` or `no_route`.
        reason: &'static str,
        /// A message for people.
        message: String,
    },
    /// The action is not supported, or the product does not accept it.
    #[error("{message}")]
    Unsupported {
        /// The stable name of the reason.
        reason: &'static str,
        /// A message for people.
        message: String,
    },
    /// A member of the request is invalid.
    #[error("{path}: {message}")]
    Invalid {
        /// The path of the member.
        path: &'static str,
        /// A message for people.
        message: String,
    },
    /// There is no plan of the swap or bridge.
    #[error(transparent)]
    Plan(#[from] PlanRefused),
    /// The wallet's signing policy refuses a transaction.
    #[error("{0}")]
    Policy(PolicyRefusal),
    /// The order is forbidden and can never begin.
    #[error("the order was forbidden: {0}")]
    Forbidden(String),
    /// The owner has no wallet. Actions make none.
    #[error("the owner has no sub-wallet")]
    NoWallet,
    /// The wallet is busy with another intent.
    #[error("the wallet is busy with the intent {0}")]
    Busy(IntentId),
    /// The owner has begun the same action with another payment, and it may still be charged.
    #[error(
        "the intent {0} has begun the same action with an earlier payment, which is not charged yet: it is not begun again. \
         Send this payment again until the earlier one is charged, or look the intent up"
    )]
    Uncharged(IntentId),
    /// A node, the store or custody cannot answer now.
    #[error("{message}")]
    Unavailable {
        /// The stable name of the reason.
        reason: &'static str,
        /// A message for people and the log.
        message: String,
    },
}

/// The tokens that the owner must bring, and the authorization that brings them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FundsRequired {
    /// The chain.
    pub chain_id: u64,
    /// The wallet that lacks the token.
    pub wallet: Address,
    /// The token.
    pub token: Address,
    /// The missing amount, in the token's smallest unit.
    pub missing: U256,
    /// The token's decimals.
    pub decimals: u8,
    /// The typed data for the owner to sign (EIP-3009): `{domain, types, primaryType, message}`.
    /// `None` when the token accepts no authorizations.
    pub principal_auth: Option<Value>,
}

impl Refused {
    /// Returns the stable name of the reason.
    #[must_use]
    pub fn reason(&self) -> &str {
        match self {
            Self::Funds(_) => "insufficient_balance",
            Self::Gas { reason, .. }
            | Self::Nothing { reason, .. }
            | Self::Unsupported { reason, .. }
            | Self::Unavailable { reason, .. } => reason,
            Self::Invalid { .. } => "invalid",
            Self::Plan(plan) => &plan.check,
            Self::Policy(refusal) => refusal.code(),
            Self::NoWallet => "no_sub_wallet",
            Self::Busy(_) | Self::Uncharged(_) => "action_in_flight",
            Self::Forbidden(_) => "order_forbidden",
        }
    }

    pub(crate) fn nothing(reason: &'static str, message: impl Into<String>) -> Self {
        let message = message.into();
        Self::Nothing { reason, message }
    }

    pub(crate) fn unsupported(reason: &'static str, message: impl Into<String>) -> Self {
        let message = message.into();
        Self::Unsupported { reason, message }
    }

    pub(crate) fn invalid(path: &'static str, message: impl Into<String>) -> Self {
        let message = message.into();
        Self::Invalid { path, message }
    }

    pub(crate) fn unavailable(reason: &'static str, error: impl ToString) -> Self {
        let message = error.to_string();
        Self::Unavailable { reason, message }
    }
}

impl From<chain_reader::ReadFault> for Refused {
    fn from(fault: chain_reader::ReadFault) -> Self {
        Self::unavailable("chain_unreadable", fault)
    }
}

impl From<StoreError> for Refused {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Busy { running } => Self::Busy(running),
            StoreError::Uncharged { intent } => Self::Uncharged(intent),
            StoreError::Forbidden { reason } => Self::Forbidden(reason),
            error => Self::unavailable(error.code(), error),
        }
    }
}

impl From<CustodyError> for Refused {
    fn from(error: CustodyError) -> Self {
        match error {
            CustodyError::Refused(refusal) => Self::Policy(refusal),
            error => Self::unavailable(error.code(), error),
        }
    }
}

impl From<PolicyRefusal> for Refused {
    fn from(refusal: PolicyRefusal) -> Self {
        Self::Policy(refusal)
    }
}
