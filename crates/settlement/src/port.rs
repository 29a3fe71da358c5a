//! The port: what a server asks of a settlement, and every answer that it can get.

use alloy_primitives::{Address, U256};
use serde_json::value::RawValue;
use x402_wire::{
    Authorization, AuthorizationKey, Network, Payment, Reason, Scheme, SettlementResponse,
};

use crate::Cause;
use crate::answer::inconclusive;

/// Takes payments: checks what only a remote party can tell, settles, and finds out what became of
/// a settlement whose outcome was lost.
///
/// Implementations never retry in a way that could charge twice: whatever they re-send is the
/// identical authorization, which its token accepts once (EIP-3009).
///
/// Dropping a future of [`settle`](Self::settle) does not undo what it has sent. A caller that may
/// be cancelled runs it in a task of its own, or treats the payment as unknown and reconciles.
pub trait Settler: Send + Sync + 'static {
    /// Whether payments of this scheme are taken at all, as far as that can be told without asking
    /// about one; a remote party's own list is kept for a while. [`verify`](Self::verify) includes
    /// it.
    fn supports(&self, _scheme: Scheme) -> impl Future<Output = Verification> + Send {
        std::future::ready(Verification::Valid)
    }

    /// Whether balances and the states of authorizations are read from a chain.
    fn reads_chain(&self) -> bool {
        false
    }

    /// Whether a signature that does not recover to the payer may be the payer's all the same,
    /// because the payer has code and judges signatures itself (EIP-1271). Asked before a payment
    /// is claimed: answers are kept for a while, failures and "no code" too, so that any number of
    /// forged signatures in the name of one payer costs one look-up.
    ///
    /// # Errors
    /// When the chain cannot be read.
    fn accepts_wallet(&self, _payer: Address) -> impl Future<Output = Result<bool, Cause>> + Send {
        std::future::ready(Ok(false))
    }

    /// The remote checks before the work. The caller has already made the offline ones: terms,
    /// window, and the signature as far as [`Payment::check_signature`] can tell; 65 bytes that it
    /// refuses are judged here as a contract wallet's. `committed` is the sum, in the asset's
    /// smallest unit, of the payer's other payments of this asset that are in flight: a settler
    /// that reads the chain asks the balance to cover them and this one. `now` is unix seconds.
    fn verify(
        &self,
        payment: &Payment,
        committed: U256,
        now: u64,
    ) -> impl Future<Output = Verification> + Send;

    /// Whether settlements are transactions of an account of our own, whose gas has to be paid.
    fn pays_gas(&self) -> bool {
        false
    }

    /// Whether one more settlement can be paid for beside `others` that are still to come, at the
    /// present fee. Asked before the work, where [`pays_gas`](Self::pays_gas) is true.
    ///
    /// # Errors
    /// Why it cannot.
    fn affords(&self, _others: usize) -> impl Future<Output = Result<(), Cause>> + Send {
        std::future::ready(Ok(()))
    }

    /// Takes the payment. Called once for each payment, after a durable record of the attempt.
    fn settle(&self, payment: &Payment) -> impl Future<Output = Settlement> + Send;

    /// Decides a payment whose outcome is unknown. May settle it with the identical authorization
    /// when it is certain to be unused or when the remote party makes re-sending safe.
    /// `transaction` is the hash that an earlier answer named; `now` is unix seconds.
    ///
    /// Every payment reaches an end: what neither the remote party nor a chain has decided when its
    /// window has been over for [`DECISION_MARGIN_SECONDS`] is [`Reconciliation::Undecidable`].
    fn reconcile(
        &self,
        payment: &Payment,
        transaction: Option<&str>,
        now: u64,
    ) -> impl Future<Output = Reconciliation> + Send;

    /// Whether the authorization can never move money any more: a canonical block is past
    /// `valid_before` (unix seconds) by more than a reorganisation takes back, and the token calls
    /// the authorization unused as of that block. Only then may a payer be told to sign another
    /// one: whoever has seen a broadcast authorization can execute it until it ends. `false` also
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

    /// Whether a canonical block shows that the authorization was cancelled, or used for something
    /// else than the transfer that it names: it can never make that transfer any more, however long
    /// it would have been valid. `false` also when no chain is read, and when the node has no log
    /// of the use. Asks for more than [`is_void`](Self::is_void): the use is searched for in the
    /// logs.
    ///
    /// Says nothing of a payment of scheme `aggr_deferred`, which a batch may settle all the same.
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

    /// Forgets what is kept of own transactions that were submitted before this time (unix seconds)
    /// and are over for good. For a caller that has forgotten the payments themselves. A settler
    /// that keeps nothing does nothing.
    fn forget(&self, submitted_before: u64) -> impl Future<Output = ()> + Send {
        let _ = submitted_before;
        async {}
    }

    /// Whether payments can be taken at the moment.
    fn readiness(&self) -> impl Future<Output = Readiness> + Send;
}

/// How long after the end of a payment's window a remote party is still asked for its outcome, in
/// seconds.
pub const DECISION_MARGIN_SECONDS: u64 = 600;

/// The answer before the work. Nothing has been charged in any case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verification {
    /// The payment would settle now.
    Valid,
    /// It would not.
    Invalid {
        /// Why, as a code of x402 v2 section 9.
        reason: Reason,
        /// Why, for people, at most 300 characters.
        message: Option<String>,
    },
    /// Nobody could tell.
    Unavailable {
        /// Why not.
        cause: Cause,
    },
}

/// The outcome of a settlement.
#[derive(Debug, Clone)]
pub enum Settlement {
    /// The payment is taken.
    Settled(Receipt),
    /// It is not taken, and will not be by this attempt, which has cost nobody anything. Of a
    /// remote party that is its word, unless a chain is read: then it is only said of an
    /// authorization that is used otherwise or over.
    Rejected {
        /// Why, as a code of x402 v2 section 9.
        reason: Reason,
        /// Why, for people, at most 300 characters.
        message: Option<String>,
    },
    /// A remote party says that it has not taken it, and the chain shows no use of it. The remote
    /// party holds the authorization all the same, so until it is void ([`Settler::is_void`]) the
    /// money may still move: reconcile.
    StillOpen {
        /// Why it was refused, as a code of x402 v2 section 9.
        reason: Reason,
        /// Why, for people, at most 300 characters.
        message: Option<String>,
    },
    /// It is not taken: our own transaction for it is in a canonical block and has failed, so gas
    /// was paid for nothing. The authorization must not be settled again, or the same payment costs
    /// gas as often as its payer likes. It is also public now, and until it is void
    /// ([`Settler::is_void`]) anybody may execute it.
    Failed {
        /// The hash of the transaction.
        transaction: String,
        /// Why, as a code of x402 v2 section 9.
        reason: Reason,
    },
    /// It is not taken: nothing was broadcast, so the authorization is untouched, and the caller
    /// may release it or settle it again.
    NotSent {
        /// What kept it from being sent.
        cause: Cause,
    },
    /// It may or may not be taken. Not a failure: reconcile before anything else is done with it.
    Unknown {
        /// The hash of the transaction that may have taken it, when one is known.
        transaction: Option<String>,
        /// Why it is not known.
        cause: Cause,
    },
}

/// What became of a payment whose outcome was unknown.
#[derive(Debug, Clone)]
pub enum Reconciliation {
    /// It is taken.
    Settled(Receipt),
    /// It is not taken and cannot be any more.
    NotSettled {
        /// Why, as a code of x402 v2 section 9.
        reason: Reason,
    },
    /// As [`Settlement::Failed`]: our own transaction for it has failed, and it is not sent again.
    Failed {
        /// The hash of the transaction.
        transaction: String,
        /// Why, as a code of x402 v2 section 9.
        reason: Reason,
    },
    /// Still open: ask again later.
    Undecided {
        /// The hash of the transaction that may have taken it, when one is known.
        transaction: Option<String>,
        /// Why it is not known.
        cause: Cause,
    },
    /// Open for ever: its window is over, and whoever could have said what became of it has not.
    /// Asking again is of no use, guessing would cost the payer or the seller; it is for the
    /// operator to find out.
    Undecidable {
        /// The hash of the transaction that may have taken it, when one is known.
        transaction: Option<String>,
        /// Why it is not known.
        cause: Cause,
    },
}

/// Whether payments can be taken at the moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Readiness {
    /// Scheme `exact` can be settled.
    Ready {
        /// Scheme `aggr_deferred` can be, too.
        aggr_deferred: bool,
        /// How many settlements the account that pays the gas can still pay at the present fee and
        /// the gas cap; `None` when somebody else pays.
        settlements_left: Option<u64>,
    },
    /// Nothing can be settled.
    NotReady {
        /// Why not.
        reason: Cause,
    },
}

/// Proof of a settlement.
#[derive(Debug, Clone)]
pub struct Receipt {
    /// The transaction hash; empty for a stored `aggr_deferred` payment, which has none yet.
    pub transaction: String,
    /// Where it was settled.
    pub network: Network,
    /// Who paid.
    pub payer: Address,
    /// How much was paid, in the asset's smallest unit.
    pub amount: U256,
    /// The broker's state of it.
    pub status: Option<String>,
    /// Extensions of the facilitator, as they came.
    pub extensions: Option<Box<RawValue>>,
    /// Further members of a scheme, as they came.
    pub extra: Option<Box<RawValue>>,
}

impl Receipt {
    /// The receipt of a payment that a transaction has settled.
    #[must_use]
    pub fn of(payment: &Payment, transaction: impl Into<String>) -> Self {
        Self {
            transaction: transaction.into(),
            network: payment.requirements().network,
            payer: payment.payer(),
            amount: payment.requirements().amount,
            status: None,
            extensions: None,
            extra: None,
        }
    }

    /// The content of the header `PAYMENT-RESPONSE`.
    #[must_use]
    pub fn into_response(self) -> SettlementResponse {
        let mut response = SettlementResponse::settled(self.transaction, self.network, self.payer);
        response.amount = Some(self.amount.to_string());
        response.status = self.status;
        response.extensions = self.extensions;
        response.extra = self.extra;
        response
    }
}

impl Settlement {
    /// A short name for logs and metrics: `settled`, `rejected`, `still_open`, `failed`, `not_sent`
    /// or `unknown`.
    #[must_use]
    pub const fn outcome(&self) -> &'static str {
        match self {
            Self::Settled(_) => "settled",
            Self::Rejected { .. } => "rejected",
            Self::StillOpen { .. } => "still_open",
            Self::Failed { .. } => "failed",
            Self::NotSent { .. } => "not_sent",
            Self::Unknown { .. } => "unknown",
        }
    }

    pub(crate) fn rejected(reason: Reason) -> Self {
        Self::Rejected {
            reason,
            message: None,
        }
    }
}

impl Verification {
    /// A short name for logs and metrics: `valid`, `invalid` or `unavailable`.
    #[must_use]
    pub const fn outcome(&self) -> &'static str {
        match self {
            Self::Valid => "valid",
            Self::Invalid { .. } => "invalid",
            Self::Unavailable { .. } => "unavailable",
        }
    }

    pub(crate) fn invalid(reason: Reason) -> Self {
        Self::Invalid {
            reason,
            message: None,
        }
    }
}

impl Reconciliation {
    /// A short name for logs and metrics: `settled`, `not_settled`, `failed`, `undecided` or
    /// `undecidable`.
    #[must_use]
    pub const fn outcome(&self) -> &'static str {
        match self {
            Self::Settled(_) => "settled",
            Self::NotSettled { .. } => "not_settled",
            Self::Failed { .. } => "failed",
            Self::Undecided { .. } => "undecided",
            Self::Undecidable { .. } => "undecidable",
        }
    }

    /// An open outcome has no other end than this when the payment's window has been over for
    /// [`DECISION_MARGIN_SECONDS`].
    pub(crate) fn ended(self, payment: &Payment, now: u64) -> Self {
        let end = payment.authorization().valid_before;
        let over = U256::from(now) >= end.saturating_add(U256::from(DECISION_MARGIN_SECONDS));
        match self {
            Self::Undecided { transaction, cause } if over => {
                Self::Undecidable { transaction, cause }
            }
            other => other,
        }
    }

    /// The chain decides: what a remote party refuses, or cannot tell any more, stays open while
    /// the authorization can be used.
    pub(crate) fn reopened(self) -> Self {
        match self {
            Self::NotSettled { reason } => Self::Undecided {
                transaction: None,
                cause: inconclusive(&reason),
            },
            Self::Undecidable { transaction, cause } => Self::Undecided { transaction, cause },
            other => other,
        }
    }
}
