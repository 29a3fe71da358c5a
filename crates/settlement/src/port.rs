//! The port: a server's requests to a settlement, and all possible answers.

use alloy_primitives::{Address, U256};
use serde_json::value::RawValue;
use x402_wire::{
    Authorization, AuthorizationKey, Network, Payment, Reason, Scheme, SettlementResponse,
};

use crate::Cause;
use crate::answer::inconclusive;

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
    /// [`DECISION_MARGIN_SECONDS`] after its window, it is [`Reconciliation::Undecidable`].
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

/// How many seconds after the end of a payment's window a remote party is still asked for its
/// outcome.
pub const DECISION_MARGIN_SECONDS: u64 = 600;

/// The answer before the work. It never charges anything.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verification {
    /// The payment would settle now.
    Valid,
    /// The payment would not settle.
    Invalid {
        /// Why, as a code of x402 v2 section 9.
        reason: Reason,
        /// The reason for people, at most 300 characters.
        message: Option<String>,
    },
    /// It could not be judged.
    Unavailable {
        /// The reason.
        cause: Cause,
    },
}

/// The outcome of a settlement.
#[derive(Debug, Clone)]
pub enum Settlement {
    /// The payment is taken.
    Settled(Receipt),
    /// The payment is not taken, and this attempt will not take it or cost anything. Without a
    /// chain this is the remote party's word. With a chain it is only stated for an authorization
    /// that was used otherwise, or is over.
    Rejected {
        /// Why, as a code of x402 v2 section 9.
        reason: Reason,
        /// The reason for people, at most 300 characters.
        message: Option<String>,
    },
    /// A remote party says that it has not taken the payment, and the chain shows no use of it. The
    /// remote party still holds the authorization, so the money may move until the authorization is
    /// void ([`Settler::is_void`]): reconcile.
    StillOpen {
        /// Why it was refused, as a code of x402 v2 section 9.
        reason: Reason,
        /// The reason for people, at most 300 characters.
        message: Option<String>,
    },
    /// The payment is not taken: our own transaction for it is in a canonical block and failed, so
    /// its gas was wasted. The authorization must not be settled again, or the same payment costs
    /// gas as often as its payer likes. It is also public now, and anybody may execute it until it
    /// is void ([`Settler::is_void`]).
    Failed {
        /// The hash of the transaction.
        transaction: String,
        /// Why, as a code of x402 v2 section 9.
        reason: Reason,
    },
    /// The payment is not taken: nothing was broadcast, so the authorization is untouched, and the
    /// caller may release it or settle it again.
    NotSent {
        /// Why it was not sent.
        cause: Cause,
    },
    /// The payment may or may not be taken. It is not a failure: reconcile before doing anything
    /// else with it.
    Unknown {
        /// The hash of the transaction that may have taken it, when one is known.
        transaction: Option<String>,
        /// Why the outcome is unknown.
        cause: Cause,
    },
}

/// The reconciled outcome of a payment.
#[derive(Debug, Clone)]
pub enum Reconciliation {
    /// The payment is taken.
    Settled(Receipt),
    /// The payment is not taken and cannot be taken any more.
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
        /// Why the outcome is unknown.
        cause: Cause,
    },
    /// The outcome stays open for ever: the payment's window is over, and no party that could know
    /// the outcome has stated it. Asking again is useless, and a guess would cost the payer or the
    /// seller. The operator has to investigate.
    Undecidable {
        /// The hash of the transaction that may have taken it, when one is known.
        transaction: Option<String>,
        /// Why the outcome is unknown.
        cause: Cause,
    },
}

/// Whether payments can be taken at the moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Readiness {
    /// Scheme `exact` can be settled.
    Ready {
        /// Whether scheme `aggr_deferred` can be settled too.
        aggr_deferred: bool,
        /// How many settlements the paying account can still pay at the present fee and the gas
        /// cap; `None` when another party pays the gas.
        settlements_left: Option<u64>,
    },
    /// Nothing can be settled.
    NotReady {
        /// The reason.
        reason: Cause,
    },
}

/// Proof of a settlement.
#[derive(Debug, Clone)]
pub struct Receipt {
    /// The transaction hash; empty for a stored `aggr_deferred` payment, which has none yet.
    pub transaction: String,
    /// The network of the settlement.
    pub network: Network,
    /// The payer.
    pub payer: Address,
    /// The paid amount, in the asset's smallest unit.
    pub amount: U256,
    /// The broker's state of the settlement.
    pub status: Option<String>,
    /// Extensions of the facilitator, unchanged.
    pub extensions: Option<Box<RawValue>>,
    /// Further members of a scheme, unchanged.
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

    /// Turns an open outcome into its end when the payment's window has been over for
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

    /// Leaves the decision to the chain: a remote party's refusal or undecidable outcome stays open
    /// while the authorization can be used.
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
