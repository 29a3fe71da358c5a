//! The answers of a settlement to a server's requests.

use alloy_primitives::{Address, U256};
use serde_json::value::RawValue;
use x402_wire::{Network, Payment, Reason, SettlementResponse};

use crate::Cause;

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
    /// void ([`Settler::is_void`](crate::Settler::is_void)): reconcile.
    StillOpen {
        /// The reason why it was refused, as a code of x402 v2 section 9.
        reason: Reason,
        /// The reason for people, at most 300 characters.
        message: Option<String>,
    },
    /// The payment is not taken: our own transaction for it is in a canonical block and failed, so
    /// its gas was wasted. The authorization must not be settled again, or the same payment costs
    /// gas as often as its payer likes. It is also public now, and anybody may execute it until it
    /// is void ([`Settler::is_void`](crate::Settler::is_void)).
    Failed {
        /// The hash of the transaction.
        transaction: String,
        /// Why, as a code of x402 v2 section 9.
        reason: Reason,
    },
    /// The payment is not taken: nothing was broadcast, so the authorization is untouched, and the
    /// caller may release it or settle it again.
    NotSent {
        /// The reason why it was not sent.
        cause: Cause,
    },
    /// The payment may or may not be taken. It is not a failure: reconcile before doing anything
    /// else with it.
    Unknown {
        /// The hash of the transaction that may have taken it, when one is known.
        transaction: Option<String>,
        /// The reason why the outcome is unknown.
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
        /// The reason why the outcome is unknown.
        cause: Cause,
    },
    /// The outcome stays open for ever: the payment's window is over, and no party that could know
    /// the outcome has stated it. Asking again is useless, and a guess would cost the payer or the
    /// seller. The operator has to investigate.
    Undecidable {
        /// The hash of the transaction that may have taken it, when one is known.
        transaction: Option<String>,
        /// The reason why the outcome is unknown.
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
                cause: Cause::inconclusive(&reason),
            },
            Self::Undecidable { transaction, cause } => Self::Undecided { transaction, cause },
            other => other,
        }
    }
}
