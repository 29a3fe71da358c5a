//! Routes: how plans of each kind of account are sent.
//!
//! The driver decides what is sent and when. A [`Route`] names the signer, and encodes the step for
//! its kind of account.

mod delegated;
mod sub_wallet;

use std::pin::Pin;
use std::sync::Arc;

use alloy_primitives::{Address, Bytes, U256};
use custody::Owner;
use delegation_fence::{AccountKind, Admitted, ClearObstacle, Transaction};
use fence_server::KeptSubmission;
use thiserror::Error;
use tx_sender::TransactionSigner;

pub use self::{delegated::DelegatedAccounts, sub_wallet::SubWallets};
use crate::SealedBlock;

/// The future that a route returns.
pub type RouteFuture<'a, T> = Pin<Box<dyn Future<Output = Result<T, RouteFault>> + Send + 'a>>;

/// The reason why a route has no answer now. The driver retries and draws no conclusion from it.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("accounts of this kind cannot be read now: {code}")]
pub struct RouteFault {
    /// The stable code of the underlying error.
    pub code: &'static str,
}

/// A plan's step as the call of an outgoing transaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutgoingCall {
    /// The contract or account that the transaction calls.
    pub to: Address,
    /// The coins that it carries, in wei.
    pub value: U256,
    /// Its calldata.
    pub input: Bytes,
}

/// The route of one kind of account: who signs for it, and which transaction carries out a step of
/// a plan. A route only re-encodes the steps of the admitted plan. It decides nothing about a plan.
///
/// A sub-wallet signs for itself. For an account that delegates, the redeemer signs with a key of
/// the service.
pub trait Route: Send + Sync + 'static {
    /// The kind of account.
    fn kind(&self) -> AccountKind;

    /// The present owner of the account, who must have signed the grant. `None` when it is unknown.
    fn owner(&self, account: Address) -> RouteFuture<'_, Option<Address>>;

    /// The owner whose budget counts coins for the account's gas, and whose payments bound them.
    /// `None` when it is unknown: then no coins are sent.
    fn budget_owner(&self, account: Address) -> RouteFuture<'_, Option<Owner>>;

    /// The signer of the account's transactions, which also pays their gas. `None` when there is
    /// none.
    fn signer(&self, account: Address) -> RouteFuture<'_, Option<Arc<dyn TransactionSigner>>>;

    /// The call that carries out one step, all steps ([`Transaction::Swap`]), or the clearing of
    /// the allowance.
    ///
    /// # Errors
    /// The obstacle, permanent or temporary.
    fn call(
        &self,
        kept: &KeptSubmission,
        transaction: Transaction,
    ) -> Result<OutgoingCall, ClearObstacle>;

    /// The most gas that a transaction uses beyond its call.
    fn overhead(&self) -> u64 {
        0
    }

    /// Checks, as of a sealed block, whether the allowance could be cleared. The inner error is the
    /// obstacle.
    fn clear_obstacle<'a>(
        &'a self,
        _: &'a KeptSubmission,
        _: SealedBlock,
    ) -> RouteFuture<'a, Result<(), ClearObstacle>> {
        Box::pin(async { Ok(Ok(())) })
    }
}

/// The call of a step, or of the clearing, when the account sends it itself. Such an account never
/// sends [`Transaction::Swap`].
#[must_use]
pub fn own_call(admitted: &Admitted, transaction: Transaction) -> OutgoingCall {
    let step = match transaction {
        Transaction::Step(kind) => admitted.steps.iter().find(|step| step.kind == kind),
        Transaction::Clear(_) | Transaction::Swap => None,
    };
    match step {
        Some(step) => OutgoingCall {
            to: step.to,
            value: step.value,
            input: step.data.clone(),
        },
        None => {
            let clear = admitted.clear_transaction();
            OutgoingCall {
                to: clear.to,
                value: clear.value,
                input: clear.data,
            }
        }
    }
}
