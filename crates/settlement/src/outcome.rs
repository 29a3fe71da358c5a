//! The answers of a settler: before the work, after the settlement, and after a lost outcome.

use alloy_primitives::{Address, U256};
use serde_json::value::RawValue;
use x402_wire::{Network, Payment, Reason, SettlementResponse};

use crate::Cause;

/// For how many seconds after the end of a payment's window a remote party is still asked for its
/// outcome.
pub const DECISION_MARGIN_SECONDS: u64 = 600;

/// The answer before the work. Asking for it never charges anything.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verification {
    /// The payment would settle now.
    Valid,
    /// The payment would not settle.
    Invalid {
        /// The reason, as a code of x402 v2 section 9.
        reason: Reason,
        /// The reason for people, at most 300 characters of it.
        message: Option<String>,
    },
    /// The payment could not be judged.
    Unavailable {
        /// Why it could not be judged.
        cause: Cause,
    },
}

/// The outcome of a settlement.
#[derive(Debug, Clone)]
pub enum Settlement {
    /// The payment is taken.
    Settled(Receipt),
    /// The payment is not taken. This attempt will not take it and costs nothing. Without a chain,
    /// this is what the remote party says. With a chain, it is stated only for an authorization
    /// that was used otherwise or is over.
    Rejected {
        /// The reason, as a code of x402 v2 section 9.
        reason: Reason,
        /// The reason for people, at most 300 characters of it.
        message: Option<String>,
    },
    /// A remote party says that it has not taken the payment, and the chain shows no use of it. The
    /// remote party still has the authorization, so the money may move until the authorization is
    /// void ([`Settler::is_void`](crate::Settler::is_void)). The caller must reconcile.
    StillOpen {
        /// Why it was refused, as a code of x402 v2 section 9.
        reason: Reason,
        /// The reason for people, at most 300 characters of it.
        message: Option<String>,
    },
    /// The payment is not taken. Our own transaction for it is in a canonical block and failed, so
    /// its gas is lost. The caller must not settle the authorization again, or the same payment
    /// costs gas as often as its payer likes. The authorization is also public now, and anybody may
    /// execute it until it is void ([`Settler::is_void`](crate::Settler::is_void)).
    Failed {
        /// The hash of the transaction.
        transaction: String,
        /// The reason, as a code of x402 v2 section 9.
        reason: Reason,
    },
    /// The payment is not taken: nothing was broadcast, so the authorization is untouched. The
    /// caller may release it or settle it again.
    NotSent {
        /// Why it was not sent.
        cause: Cause,
    },
    /// The payment may or may not be taken. This is not a failure: the caller must reconcile before
    /// doing anything else with it.
    Unknown {
        /// The hash of the transaction that may have taken it, if one is known.
        transaction: Option<String>,
        /// Why the outcome is unknown.
        cause: Cause,
    },
}

/// The outcome of a payment after a reconciliation.
#[derive(Debug, Clone)]
pub enum Reconciliation {
    /// The payment is taken.
    Settled(Receipt),
    /// The payment is not taken, and nothing can take it any more.
    NotSettled {
        /// The reason, as a code of x402 v2 section 9.
        reason: Reason,
    },
    /// Our own transaction for the payment has failed, and is not sent again. See
    /// [`Settlement::Failed`].
    Failed {
        /// The hash of the transaction.
        transaction: String,
        /// The reason, as a code of x402 v2 section 9.
        reason: Reason,
    },
    /// The outcome is still open. Ask again later.
    Undecided {
        /// The hash of the transaction that may have taken it, if one is known.
        transaction: Option<String>,
        /// Why the outcome is unknown.
        cause: Cause,
    },
    /// The outcome stays open for ever. The payment's window is over, and no party that could know
    /// the outcome has stated it. Asking again is useless, and a guess would cost the payer or the
    /// seller money. The operator must investigate.
    Undecidable {
        /// The hash of the transaction that may have taken it, if one is known.
        transaction: Option<String>,
        /// Why the outcome is unknown.
        cause: Cause,
    },
}

/// Whether payments can be taken now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Readiness {
    /// The scheme `exact` can be settled.
    Ready {
        /// Whether the scheme `aggr_deferred` can be settled too.
        aggr_deferred: bool,
        /// For how many more settlements the paying account has coins, at the current fee and the
        /// gas cap. `None` when another party pays the gas.
        settlements_left: Option<u64>,
    },
    /// No payment can be settled.
    NotReady {
        /// Why nothing can be settled.
        reason: Cause,
    },
}

/// The proof of a settlement.
#[derive(Debug, Clone)]
pub struct Receipt {
    /// The hash of the transaction. Empty for a stored `aggr_deferred` payment, which has none yet.
    pub transaction: String,
    /// The network of the settlement.
    pub network: Network,
    /// The payer.
    pub payer: Address,
    /// The paid amount, in the asset's smallest unit.
    pub amount: U256,
    /// The state of the settlement at the broker.
    pub status: Option<String>,
    /// The extensions that the facilitator added, unchanged.
    pub extensions: Option<Box<RawValue>>,
    /// Further members of a scheme, unchanged.
    pub extra: Option<Box<RawValue>>,
}

impl Receipt {
    /// Makes the receipt of a payment that a transaction has settled.
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

    /// Converts the receipt to the content of the header `PAYMENT-RESPONSE`.
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
    /// Returns a short name for logs and metrics: `settled`, `rejected`, `still_open`, `failed`,
    /// `not_sent` or `unknown`.
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
    /// Returns a short name for logs and metrics: `valid`, `invalid` or `unavailable`.
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
    /// Returns a short name for logs and metrics: `settled`, `not_settled`, `failed`, `undecided`
    /// or `undecidable`.
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

    /// Makes an undecided outcome undecidable when the payment's window has been over for
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

    /// Leaves the decision to the chain. A refusal and an undecidable outcome become undecided,
    /// because the authorization can still be used.
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
