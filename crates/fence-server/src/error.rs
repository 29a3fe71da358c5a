//! The errors of operations on delegations.

use delegation_fence::Refusal;
use thiserror::Error;

use crate::{PortError, StoreError};

/// The reason why an operation failed.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum DelegationError {
    /// A rule refuses the request. The same request will be refused again.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The store cannot be used now.
    #[error(transparent)]
    Store(StoreError),
    /// Custody cannot name the account's owner now.
    #[error("the owner of the account cannot be determined: {0}")]
    Accounts(#[from] PortError),
    /// The prices that a plan is compared with cannot be read now.
    #[error("the prices of the plan's tokens cannot be read: {0}")]
    Prices(PortError),
    /// The chain cannot be read now.
    #[error("the request cannot be checked on the chain: {0}")]
    Chain(PortError),
    /// The store does not read back what was written.
    #[error("the store does not read back what was written")]
    NotReadBack,
}

impl DelegationError {
    /// The stable code.
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
