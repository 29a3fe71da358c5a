//! Why something was not done.

use thiserror::Error;
use yield_watch::{AuditError, MAX_ACTIVE, Problem};

use crate::StoreError;

/// Why a server did not do what was asked of a mandate.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum WatchError {
    /// The terms are out of bounds.
    #[error("{} of the mandate's terms are out of bounds", .0.len())]
    Invalid(Vec<Problem>),
    /// The owner has no mandate of this id.
    #[error("the owner has no mandate of this id")]
    NotFound,
    /// The owner has as many active mandates as one may have.
    #[error("the owner has {MAX_ACTIVE} active mandates, which is the most")]
    TooMany,
    /// The payment has made another mandate before.
    #[error("the payment has made a mandate with other terms")]
    OtherTerms,
    /// The mandate would act, and nobody moves money here.
    #[error("nobody moves money for a mandate here")]
    NoMover,
    /// The records cannot be used now.
    #[error(transparent)]
    Store(StoreError),
    /// A record could not be made.
    #[error(transparent)]
    Audit(#[from] AuditError),
    /// The mandate changes all the time, or what was written does not read back.
    #[error("what was written does not read back")]
    NotReadBack,
}

impl WatchError {
    /// The stable machine-readable name of the error.
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
