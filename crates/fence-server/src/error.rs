//! Why something was not done.

use delegation_fence::Refusal;
use thiserror::Error;

use crate::{PortError, StoreError};

/// Why a server did not do what was asked.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum DelegationError {
    /// A rule refuses it: what was asked is wrong, and stays wrong.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The records cannot be used now.
    #[error(transparent)]
    Store(StoreError),
    /// Custody cannot say now whose an account is.
    #[error("whose the account is cannot be found out: {0}")]
    Accounts(#[from] PortError),
    /// The prices that a plan is held against cannot be read now.
    #[error("the prices of the plan's tokens cannot be read: {0}")]
    Prices(PortError),
    /// The chain cannot say now whether a plan would succeed, or what became of an account's
    /// delegations.
    #[error("what is asked cannot be held against the chain: {0}")]
    Chain(PortError),
    /// What was written does not read back.
    #[error("what was written does not read back")]
    NotReadBack,
}

impl DelegationError {
    /// The stable machine-readable name of the error.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Refused(refusal) => refusal.code(),
            Self::Store(_) | Self::NotReadBack => "fence_store_unavailable",
            Self::Accounts(_) => "custody_unavailable",
            Self::Prices(_) => "prices_unavailable",
            Self::Chain(_) => "chain_unavailable",
        }
    }
}

impl From<StoreError> for DelegationError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Refused(refusal) => Self::Refused(*refusal),
            other => Self::Store(other),
        }
    }
}
