//! The port: a server's requests to a settlement.

use alloy_primitives::{Address, U256};
use x402_wire::{Authorization, AuthorizationKey, Payment, Scheme};

use crate::{Cause, Readiness, Reconciliation, Settlement, Verification};

/// Takes payments: makes the remote checks, settles, and reconciles a settlement whose outcome was
/// lost.
///
/// Implementations never retry in a way that could charge twice: they only re-send the identical
/// authorization, which its token accepts once (EIP-3009).
///
/// Dropping a future of [`settle`](Self::settle) does not undo what it has sent. A caller that may
/// be cancelled runs it in a task of its own, or treats the payment as unknown and reconciles.
pub trait Settler: Send + Sync + 'static {
    /// Whether payments of this scheme are taken at all, as far as that is known without a payment.
    /// A remote party's own list is kept for a while. [`verify`](Self::verify) includes it.
    fn supports(&self, _scheme: Scheme) -> impl Future<Output = Verification> + Send {
        std::future::ready(Verification::Valid)
    }

    /// Whether balances and the states of authorizations are read from a chain.
    fn reads_chain(&self) -> bool {
        false
    }

    /// Whether a signature that does not recover to the payer may be the payer's all the same,
    /// because the payer has code and judges signatures itself (EIP-1271). It is called before a
    /// payment is claimed. Answers are kept for a while, failures and "no code" too, so that any
    /// number of forged signatures for one payer costs one look-up.
    ///
    /// # Errors
    /// When the chain cannot be read.
    fn accepts_wallet(&self, _payer: Address) -> impl Future<Output = Result<bool, Cause>> + Send {
        std::future::ready(Ok(false))
    }

    /// The remote checks before the work. The caller has already made the offline ones: terms,
    /// window, and the signature as far as [`Payment::check_signature`] can judge it. A refused
    /// signature of 65 bytes is judged here as that of a contract wallet. `committed` is the sum,
    /// in the asset's smallest unit, of the payer's other payments of this asset that are in
    /// flight: a settler that reads the chain requires the balance to cover them and this one.
    /// `now` is in Unix seconds.
    fn verify(
        &self,
        payment: &Payment,
        committed: U256,
        now: u64,
    ) -> impl Future<Output = Verification> + Send;

    /// Whether settlements are transactions of our own account, which pays their gas.
    fn pays_gas(&self) -> bool {
        false
    }

    /// Whether our account can pay for one more settlement beside `others` that are still to come,
    /// at the present fee. It is called before the work, where [`pays_gas`](Self::pays_gas) is
    /// true.
    ///
    /// # Errors
    /// The reason why it cannot pay.
    fn affords(&self, _others: usize) -> impl Future<Output = Result<(), Cause>> + Send {
        std::future::ready(Ok(()))
    }

    /// Takes the payment. The caller calls it once for each payment, after a durable record of the
    /// attempt.
    fn settle(&self, payment: &Payment) -> impl Future<Output = Settlement> + Send;

    /// Decides a payment whose outcome is unknown. It may settle the payment with the identical
    /// authorization when that is certainly unused, or when the remote party makes re-sending safe.
    /// `transaction` is the hash from an earlier answer; `now` is in Unix seconds.
    ///
    /// Every payment reaches an end: when neither the remote party nor a chain has decided it
    /// [`DECISION_MARGIN_SECONDS`](crate::DECISION_MARGIN_SECONDS) after its window, it is
    /// [`Reconciliation::Undecidable`].
    fn reconcile(
        &self,
        payment: &Payment,
        transaction: Option<&str>,
        now: u64,
    ) -> impl Future<Output = Reconciliation> + Send;

    /// Whether the authorization can never move money any more: a canonical block is past
    /// `valid_before` (Unix seconds) by more than a reorganisation can undo, and the authorization
    /// is unused as of that block. Only then may a payer sign another one, because anybody who saw
    /// a broadcast authorization can execute it until it ends. `false` also when no chain is read.
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
    /// transfer than the one that it names: it can then never make that transfer. `false` also when
    /// no chain is read, and when the node has no log of the use. It costs more than
    /// [`is_void`](Self::is_void), because it searches the logs for the use.
    ///
    /// It says nothing about a payment of scheme `aggr_deferred`, which a batch may still settle.
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

    /// The transaction in a canonical block by which the authorization made the transfer that it
    /// names. `None` also when no chain is read, and when the node has no log of the use. It costs
    /// as much as [`is_spent`](Self::is_spent).
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

    /// Drops the records of own transactions that were submitted before this time (Unix seconds)
    /// and are finally over. It is for a caller that has dropped the payments themselves. A settler
    /// without records does nothing.
    fn forget(&self, submitted_before: u64) -> impl Future<Output = ()> + Send {
        let _ = submitted_before;
        async {}
    }

    /// Ends the settler's own work. A caller calls it when it settles nothing any more; other
    /// processes that share the account then continue at once.
    fn close(&self) -> impl Future<Output = ()> + Send {
        async {}
    }

    /// Whether payments can be taken at the moment.
    fn readiness(&self) -> impl Future<Output = Readiness> + Send;
}
