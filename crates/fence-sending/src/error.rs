//! What keeps a plan from going on at the moment.

use delegation_fence::OutOfOrder;
use fence_server::{DelegationError, StoreError};
use thiserror::Error;
use tx_sender::SenderError;

use crate::{ReadFault, RouteFault};

/// Why a plan cannot go on at the moment. Nothing is concluded from it about the plan: it is tried
/// again.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Fault {
    /// The records of the fence.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// What confirms plans.
    #[error(transparent)]
    Delegations(#[from] DelegationError),
    /// The chain.
    #[error(transparent)]
    Chain(#[from] ReadFault),
    /// The sender of transactions.
    #[error(transparent)]
    Sender(#[from] SenderError),
    /// Whoever gives coins for gas.
    #[error(transparent)]
    Funding(#[from] gas_funding::FundingError),
    /// Whoever knows the accounts.
    #[error(transparent)]
    Route(#[from] RouteFault),
    /// The events of the plan are not those of a send: nothing is done by them.
    #[error(transparent)]
    Events(#[from] OutOfOrder),
}
