//! The port between a server and a settlement: what a settler promises, whoever settles.

use alloy_primitives::{Address, U256};
use x402_wire::{Authorization, AuthorizationKey, Payment, Scheme, SignatureStanding};

use crate::{Cause, Readiness, Reconciliation, Settlement, Verification};

/// Takes payments: makes the remote checks, settles, and reconciles a settlement whose outcome was
/// lost.
///
/// An implementation never repeats anything in a way that could charge twice. It only sends the
/// identical authorization again, which the token accepts once (EIP-3009).
///
/// Dropping a future of [`settle`](Self::settle) does not undo what it has sent. A caller that may
/// be cancelled runs the future in a task of its own, or treats the payment as unknown and
/// reconciles.
pub trait Settler: Send + Sync + 'static {
    /// Whether payments of this scheme are taken, as far as that is known without a payment. The
    /// list of a remote party is kept for a while. [`verify`](Self::verify) includes this check.
    fn supports(&self, _scheme: Scheme) -> impl Future<Output = Verification> + Send {
        std::future::ready(Verification::Valid)
    }

    /// Whether the settler reads balances and the states of authorizations from a chain.
    fn reads_chain(&self) -> bool {
        false
    }

    /// Whether a signature that does not recover to the payer may be the payer's nevertheless. That
    /// is so when the payer has code, which judges signatures itself (EIP-1271). The caller asks
    /// before it claims a payment. Answers are kept for a while, including failures and "no code".
    /// So any number of forged signatures for one payer costs one look-up.
    ///
    /// # Errors
    /// When the chain cannot be read.
    fn accepts_wallet(&self, _payer: Address) -> impl Future<Output = Result<bool, Cause>> + Send {
        std::future::ready(Ok(false))
    }

    /// Makes the remote checks before the work. The caller has already made the offline checks: the
    /// terms, the window, and the signature as far as [`Payment::check_signature`] can judge it. A
    /// refused signature of 65 bytes is judged here as the signature of a contract wallet.
    ///
    /// `committed` is the sum of the payer's other payments of this asset that are in progress, in
    /// the asset's smallest unit. A settler that reads the chain requires that the balance covers
    /// them and this payment. `now` is in Unix seconds.
    fn verify(
        &self,
        payment: &Payment,
        committed: U256,
        now: u64,
    ) -> impl Future<Output = Verification> + Send;

    /// Whether this process has proof of its own that the payer signed: the signature recovers to
    /// the payer, or the payer's contract accepts it (EIP-1271) on two nodes when two are
    /// configured. The word of a facilitator or broker is no proof. The caller has
    /// [verified](Self::verify) the payment before.
    ///
    /// # Errors
    /// When the chain cannot be read.
    fn proves_signer(&self, payment: &Payment) -> impl Future<Output = Result<bool, Cause>> + Send {
        let recovered = payment.check_signature() == Ok(SignatureStanding::Recovered);
        std::future::ready(Ok(recovered))
    }

    /// Whether settlements are transactions of our own account, which pays their gas.
    fn pays_gas(&self) -> bool {
        false
    }

    /// Checks that our account can pay for one more settlement beside `others` that are still to
    /// come, at the current fee. The caller asks before the work, if [`pays_gas`](Self::pays_gas)
    /// is true.
    ///
    /// # Errors
    /// Why the account cannot pay.
    fn affords(&self, _others: usize) -> impl Future<Output = Result<(), Cause>> + Send {
        std::future::ready(Ok(()))
    }

    /// Takes the payment. The caller calls it once for each payment, after it has recorded the
    /// attempt durably.
    fn settle(&self, payment: &Payment) -> impl Future<Output = Settlement> + Send;

    /// Decides a payment whose outcome is unknown. It may settle the payment with the identical
    /// authorization, if that is certainly unused or if the remote party makes a repetition safe.
    /// `transaction` is the hash from an earlier answer. `now` is in Unix seconds.
    ///
    /// Every payment comes to an end. If neither the remote party nor a chain has decided it
    /// [`DECISION_MARGIN_SECONDS`](crate::DECISION_MARGIN_SECONDS) after its window, it is
    /// [`Reconciliation::Undecidable`].
    fn reconcile(
        &self,
        payment: &Payment,
        transaction: Option<&str>,
        now: u64,
    ) -> impl Future<Output = Reconciliation> + Send;

    /// Whether the authorization can never move money any more. For that, a canonical block must be
    /// past `valid_before` (Unix seconds) by more than a reorganisation can undo, and the
    /// authorization must be unused as of that block. Only then may a payer sign another one:
    /// anybody who has seen a broadcast authorization can execute it until it ends. `false` also
    /// when no chain is read.
    ///
    /// # Errors
    /// When the chain cannot be read.
    fn is_void(
        &self,
        _key: &AuthorizationKey,
        _valid_before: U256,
    ) -> impl Future<Output = Result<bool, Cause>> + Send {
        std::future::ready(Ok(false))
    }

    /// Whether a canonical block shows that the authorization was cancelled, or used for another
    /// transfer than the one that it names. It can then never make that transfer. `false` also when
    /// no chain is read, and when the node has no log of the use. This costs more than
    /// [`is_void`](Self::is_void), because it searches the logs for the use.
    ///
    /// It says nothing about a payment of the scheme `aggr_deferred`, which a batch may still
    /// settle.
    ///
    /// # Errors
    /// When the chain cannot be read.
    fn is_spent(
        &self,
        _key: &AuthorizationKey,
        _authorization: &Authorization,
    ) -> impl Future<Output = Result<bool, Cause>> + Send {
        std::future::ready(Ok(false))
    }

    /// Returns the transaction in a canonical block by which the authorization made the transfer
    /// that it names. `None` also when no chain is read, and when the node has no log of the use.
    /// This costs as much as [`is_spent`](Self::is_spent).
    ///
    /// # Errors
    /// When the chain cannot be read.
    fn paid_by(
        &self,
        _key: &AuthorizationKey,
        _authorization: &Authorization,
    ) -> impl Future<Output = Result<Option<String>, Cause>> + Send {
        std::future::ready(Ok(None))
    }

    /// Drops the records of our own transactions that were submitted before this time (Unix
    /// seconds) and are finally over. The caller has dropped the payments themselves before. A
    /// settler without records does nothing.
    fn forget(&self, submitted_before: u64) -> impl Future<Output = ()> + Send {
        let _ = submitted_before;
        async {}
    }

    /// Ends the settler's own work. The caller calls it when it settles nothing any more. Other
    /// processes that share the account then continue at once.
    fn close(&self) -> impl Future<Output = ()> + Send {
        async {}
    }

    /// Whether payments can be taken now.
    fn readiness(&self) -> impl Future<Output = Readiness> + Send;
}
