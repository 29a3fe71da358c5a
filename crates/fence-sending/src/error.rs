//! The faults that hold a plan up.

use delegation_fence::OutOfOrder;
use fence_server::{DelegationError, StoreError};
use gas_funding::FundingError;
use thiserror::Error;
use tx_sender::{SenderError, StoreError as RecordsError};

use crate::{ReadFault, RouteFault};

/// The reason why a plan cannot proceed now. The driver retries and draws no conclusion about the
/// plan from it.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum SendingFault {
    /// The store of the fence.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The confirmation of the plan.
    #[error(transparent)]
    Delegations(#[from] DelegationError),
    /// The chain.
    #[error(transparent)]
    Chain(#[from] ReadFault),
    /// The sender of transactions.
    #[error(transparent)]
    Sender(#[from] SenderError),
    /// The funding of gas.
    #[error(transparent)]
    Funding(#[from] FundingError),
    /// The route of the account.
    #[error(transparent)]
    Route(#[from] RouteFault),
    /// The events in the store are not a possible sequence of a send. Nothing is done with them.
    #[error(transparent)]
    Events(#[from] OutOfOrder),
}

impl SendingFault {
    /// Whether other work has the account's turn now.
    pub(crate) const fn is_turn_lost(&self) -> bool {
        matches!(
            self,
            Self::Sender(SenderError::Store(RecordsError::TurnLost { .. }))
                | Self::Funding(FundingError::Sender(SenderError::Store(
                    RecordsError::TurnLost { .. }
                )))
        )
    }
}
