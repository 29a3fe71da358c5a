//! Why nothing was done.

use alloy_primitives::{Address, U256};
use custody::{CustodyError, PolicyRefusal};
use serde_json::Value;
use thiserror::Error;

use crate::{IntentId, PlanRefused, StoreError};

/// Why an action was not begun. Nothing was signed, and nothing is charged.
#[derive(Debug, Clone, PartialEq, Error)]
#[non_exhaustive]
pub enum Refused {
    /// The wallet lacks tokens.
    #[error("the wallet lacks {} of the smallest unit of {} on chain {}", .0.missing, .0.token, .0.chain_id)]
    Funds(Box<FundsRequired>),
    /// The wallet lacks coins for gas, and nobody gives any.
    #[error("{wallet} lacks {missing} wei for gas on chain {chain_id}: {reason}")]
    Gas {
        /// The chain.
        chain_id: u64,
        /// The wallet.
        wallet: Address,
        /// How many wei are missing.
        missing: U256,
        /// Why nobody gives them: `no_gas_account`, `gas_topup_too_large`.
        reason: &'static str,
    },
    /// There is nothing to act on.
    #[error("{message}")]
    Nothing {
        /// `nothing_to_withdraw`, `no_such_position`, `no_such_product`, `no_route`.
        reason: &'static str,
        /// For people.
        message: String,
    },
    /// It is not served, or the product does not take it.
    #[error("{message}")]
    Unsupported {
        /// The stable name of the reason.
        reason: &'static str,
        /// For people.
        message: String,
    },
    /// A member of the request is not valid.
    #[error("{path}: {message}")]
    Invalid {
        /// The member.
        path: &'static str,
        /// For people.
        message: String,
    },
    /// There is no plan of the swap or bridge.
    #[error(transparent)]
    Plan(#[from] PlanRefused),
    /// The wallet's key would not sign it.
    #[error("{0}")]
    Policy(PolicyRefusal),
    /// The order was forbidden: it begins nothing any more.
    #[error("the order was forbidden: {0}")]
    Forbidden(String),
    /// The wallet does something else at the moment.
    #[error("the wallet is busy with the intent {0}")]
    Busy(IntentId),
    /// Something that has to be asked does not answer.
    #[error("{message}")]
    Unavailable {
        /// The stable name of the reason.
        reason: &'static str,
        /// For people and the log.
        message: String,
    },
}

/// What the owner has to bring, and how.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FundsRequired {
    /// The chain.
    pub chain_id: u64,
    /// The wallet that lacks it.
    pub wallet: Address,
    /// The token.
    pub token: Address,
    /// How much is missing, in the token's smallest unit.
    pub missing: U256,
    /// The token's decimals.
    pub decimals: u8,
    /// What the owner signs to bring it (EIP-3009): `{domain, types, primaryType, message}`; `None`
    /// where the token takes no authorizations.
    pub principal_auth: Option<Value>,
}

impl Refused {
    /// The stable name of the reason.
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
            Self::Busy(_) => "action_in_flight",
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
