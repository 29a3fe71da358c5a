//! How a kind of account is sent for.

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

/// The answer of a route.
pub type RouteFuture<'a, T> = Pin<Box<dyn Future<Output = Result<T, RouteFault>> + Send + 'a>>;

/// Why a route cannot say anything now. It is asked again; nothing is concluded from it.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("accounts of this kind cannot be looked at now: {code}")]
pub struct RouteFault {
    /// What whoever knows the accounts calls it.
    pub code: &'static str,
}

/// A call of a plan as it goes out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    /// Whom the transaction calls.
    pub to: Address,
    /// The coins that it carries, in wei.
    pub value: U256,
    /// Its calldata.
    pub input: Bytes,
}

/// How a kind of account is sent for: who signs, and what a step of a plan is as a transaction of
/// theirs. What it returns is only what the admitted plan says, in another envelope: it decides
/// nothing about a plan.
///
/// For a sub-wallet the account signs itself. Whoever redeems a delegation signs for an account
/// with a key of the service.
pub trait Route: Send + Sync + 'static {
    /// The kind of account.
    fn kind(&self) -> AccountKind;

    /// Whose the account is, now: who has to have signed the grant. `None` when it is not known.
    fn owner(&self, account: Address) -> RouteFuture<'_, Option<Address>>;

    /// In whose budget coins for the account's gas count, and whose payments bound them. `None`
    /// when it is not known: no coins are given then.
    fn budget_owner(&self, account: Address) -> RouteFuture<'_, Option<Owner>>;

    /// Who signs the transactions for an account, and pays their gas. `None` when nobody can.
    fn signer(&self, account: Address) -> RouteFuture<'_, Option<Arc<dyn TransactionSigner>>>;

    /// What a step, all of them, or the clearing of the allowance, is as a transaction of the
    /// signer's.
    ///
    /// # Errors
    /// Why the service cannot, for ever or at the moment.
    fn call(&self, kept: &KeptSubmission, transaction: Transaction) -> Result<Call, ClearObstacle>;

    /// The most gas that a transaction uses beyond the call that it makes.
    fn overhead(&self) -> u64 {
        0
    }

    /// Why the allowance could not be cleared, by what a sealed block says.
    fn clear_obstacle<'a>(
        &'a self,
        _: &'a KeptSubmission,
        _: SealedBlock,
    ) -> RouteFuture<'a, Result<(), ClearObstacle>> {
        Box::pin(async { Ok(Ok(())) })
    }
}

/// A step of a plan, or the clearing of its allowance, as the account itself sends it. An account
/// itself sends no [`Transaction::Swap`].
#[must_use]
pub fn own_call(admitted: &Admitted, transaction: Transaction) -> Call {
    let step = match transaction {
        Transaction::Step(kind) => admitted.steps.iter().find(|step| step.kind == kind),
        Transaction::Clear(_) | Transaction::Swap => None,
    };
    match step {
        Some(step) => Call {
            to: step.to,
            value: step.value,
            input: step.data.clone(),
        },
        None => {
            let clear = admitted.clear_transaction();
            Call {
                to: clear.to,
                value: clear.value,
                input: clear.data,
            }
        }
    }
}
