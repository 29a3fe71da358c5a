//! The errors of operations on mandates.

use thiserror::Error;
use yield_watch::{AuditError, MAX_ACTIVE, Problem};

use crate::StoreError;

/// Why an operation on a mandate failed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum WatchError {
    /// The terms are out of bounds.
    #[error("{} of the mandate's terms are out of bounds", .0.len())]
    Invalid(Vec<Problem>),
    /// The owner has no mandate of this id.
    #[error("the owner has no mandate of this id")]
    NotFound,
    /// The owner already has the largest allowed number of active mandates.
    #[error("the owner has {MAX_ACTIVE} active mandates, the maximum")]
    TooMany,
    /// The payment has already created a mandate with other terms.
    #[error("the payment has made a mandate with other terms")]
    OtherTerms,
    /// The mandate would move money, and this server has no mover.
    #[error("this server moves no money for mandates")]
    NoMover,
    /// The store refuses the write, or cannot be used now.
    #[error(transparent)]
    Store(StoreError),
    /// A record could not be computed.
    #[error(transparent)]
    Audit(#[from] AuditError),
    /// Other writes came in between too many times, or the store does not read back what was
    /// written.
    #[error("the store does not read back what was written")]
    NotReadBack,
}

impl WatchError {
    /// Returns the stable code.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Invalid(_) => "watch_invalid_terms",
            Self::NotFound => "watch_not_found",
            Self::TooMany => "too_many_mandates",
            Self::OtherTerms => "watch_other_terms",
            Self::NoMover => "watch_no_mover",
            Self::Store(error) => error.code(),
            Self::Audit(error) => error.code(),
            Self::NotReadBack => "watch_not_read_back",
        }
    }
}

impl From<StoreError> for WatchError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::TooMany => Self::TooMany,
            error => Self::Store(error),
        }
    }
}
