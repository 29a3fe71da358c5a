//! The ends of a paid call: a delivered answer, or the reason why there is none. The stages make
//! them, and `deliver` renders them.

use std::time::Duration;

use alloy_primitives::Address;
use http_edge::RequestId;
use ledger::{State, StoredAnswer};
use route_catalog::{Catalog, Next, Operation, Problem};
use serde_json::{Map, Value};
use x402_wire::{AuthorizationKey, HeaderError, Invalid, Mismatch, Network, Reason, Scheme};

use crate::reply::ErrorReply;

/// The end of a paid call.
#[derive(Debug)]
pub(crate) enum Ended {
    /// The call was paid and answered.
    Delivered(Delivered),
    /// This call charged nothing, or the outcome is not known yet.
    Refused(Refusal),
}

/// A paid answer.
#[derive(Debug, Clone)]
pub(crate) struct Delivered {
    /// The answer and its receipt.
    pub(crate) stored: StoredAnswer,
    /// Whether an earlier call bought the answer. Then nothing was charged this time.
    pub(crate) again: bool,
}

/// A reason why a paid call gets no answer.
#[derive(Debug, Clone)]
pub(crate) enum Refusal {
    /// 402: the payment is not valid; the reply has a fresh challenge.
    Declined(Declined),
    /// 400: the parameters are not valid.
    Parameters(Vec<Problem>),
    /// 409: another call with the same payment and request is in flight.
    InFlight { state: State },
    /// 409: the authorization belongs to another request, or came with another signature before.
    BoundElsewhere { next: Next },
    /// 409: the payer has used the payment identifier for another request, with another
    /// authorization.
    IdentifierTaken {
        /// The transaction that settled the other authorization.
        transaction: Option<String>,
        /// The URL at which the other authorization, or this one, can be looked up.
        url: String,
    },
    /// 409: whether an earlier purchase of the payer for the same request was charged is not
    /// decided yet. This authorization was not reserved.
    PurchaseUndecided {
        /// The URL at which the earlier authorization can be looked up.
        url: String,
    },
    /// 409: an earlier authorization of the payer has begun the same action.
    ActionRepeated {
        /// The members that name the action and its state.
        began: Map<String, Value>,
        /// The URL at which the earlier authorization can be looked up.
        url: String,
    },
    /// 429: too many authorizations were answered for one purchase.
    TooManyRepetitions {
        /// The URL at which the authorization that paid can be looked up.
        url: String,
    },
    /// 409: the payment was settled, and its answer is deleted.
    AnswerExpired { transaction: String, url: String },
    /// 409: the payment was settled, and its answer, which is about the payer's own wallet, is not
    /// for this call.
    AnswerPrivate { transaction: String, url: String },
    /// 409: the chain shows that the payment was made to this service, and the journal has no
    /// record of it.
    NoAnswer { transaction: String, url: String },
    /// 503: whether the payment was settled is not known.
    Pending(Pending),
    /// 429: neither credit nor the newcomers' pool covers the work.
    OutOfCredit { retry_after_seconds: u64 },
    /// 429: a payer without credit has a call in flight, and its balance cannot be read.
    OneCallAtATime,
    /// 429: the number of calls in flight is at its limit.
    TooManyCalls,
    /// 503: payments cannot be verified or settled now.
    SettlementUnavailable,
    /// 503: the journal cannot be read or written.
    LedgerUnavailable,
    /// The work refused; its own reply gives the reason.
    Work(ErrorReply),
}

/// A payment that the server does not take.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Declined {
    /// The code that clients branch on.
    pub(crate) reason: Reason,
    /// The expected and the observed value, for people.
    pub(crate) message: String,
    /// The value of `PAYMENT-RESPONSE`, if a settlement was tried.
    pub(crate) receipt: Option<String>,
    /// The caller's next step with the payment.
    pub(crate) next: Next,
}

/// A payment with an unknown outcome.
#[derive(Debug, Clone)]
pub(crate) struct Pending {
    pub(crate) network: Network,
    pub(crate) payer: Address,
    /// The transaction that may have settled it.
    pub(crate) transaction: Option<String>,
    /// The URL at which it can be looked up.
    pub(crate) url: String,
    /// Whether only the operator can still decide it.
    pub(crate) undecidable: bool,
}

impl Ended {
    /// Whether the answer says `sign_new`.
    pub(super) fn says_sign_new(&self) -> bool {
        matches!(self, Self::Refused(Refusal::Declined(declined)) if declined.next == Next::SignNew)
    }

    /// The name of this end in metrics and logs.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Delivered(Delivered { again: false, .. }) => "served",
            Self::Delivered(Delivered { again: true, .. }) => "served_again",
            Self::Refused(refusal) => refusal.name(),
        }
    }

    /// Logs one line for each call. Ends that a caller without funds can cause are logged at the
    /// level `debug`, because they could fill a disk.
    pub(super) fn log(&self, request_id: RequestId, operation: Operation, took: Duration) {
        let (operation, outcome) = (operation.name(), self.name());
        let milliseconds = took.as_millis();
        if self.is_of_a_payer() {
            tracing::info!(%request_id, operation, outcome, milliseconds, "paid call");
            return;
        }
        let reason = match self {
            Self::Refused(Refusal::Declined(declined)) => declined.reason.as_str(),
            _ => "",
        };
        tracing::debug!(%request_id, operation, outcome, reason, milliseconds, "paid call");
    }

    /// Whether only a payer with funds reaches this end: the work began after the payment was
    /// verified, or the same payment was sent to a settlement before.
    fn is_of_a_payer(&self) -> bool {
        match self {
            Self::Delivered(_) => true,
            Self::Refused(refusal) => matches!(refusal, Refusal::Work(_) | Refusal::Pending(_)),
        }
    }
}

impl From<Refusal> for Ended {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

impl Refusal {
    /// The refusal for an unknown outcome. The caller looks the payment up at its URL.
    pub(super) fn pending(
        catalog: &Catalog,
        key: &AuthorizationKey,
        transaction: Option<String>,
    ) -> Self {
        Self::Pending(Pending {
            network: key.network,
            payer: key.payer,
            transaction,
            url: catalog.payment_url(key),
            undecidable: false,
        })
    }

    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Declined(_) => "declined",
            Self::Parameters(_) => "invalid_params",
            Self::InFlight { .. } => "payment_in_flight",
            Self::IdentifierTaken { .. } => "identifier_taken",
            Self::PurchaseUndecided { .. } => "purchase_undecided",
            Self::ActionRepeated { .. } => "action_repeated",
            Self::BoundElsewhere { .. }
            | Self::AnswerExpired { .. }
            | Self::AnswerPrivate { .. }
            | Self::NoAnswer { .. } => "payment_bound_elsewhere",
            Self::Pending(_) => "settlement_pending",
            Self::OutOfCredit { .. }
            | Self::OneCallAtATime
            | Self::TooManyCalls
            | Self::TooManyRepetitions { .. } => "rate_limited",
            Self::SettlementUnavailable => "upstream_unavailable",
            Self::LedgerUnavailable => "ledger_unavailable",
            Self::Work(error) => error.code().code(),
        }
    }
}

impl Declined {
    /// Declines a payment that no settler was asked to settle: its payer signs a new one.
    pub(crate) fn new(reason: Reason, message: impl Into<String>) -> Self {
        Self {
            reason,
            message: message.into(),
            receipt: None,
            next: Next::SignNew,
        }
    }

    /// Declines a request without a payment.
    pub(crate) fn unpaid() -> Self {
        Self::new(
            Reason::PaymentMissing,
            "PAYMENT-SIGNATURE header is required",
        )
    }

    /// Declines with a reason code of the settler, and with the settler's message if it has one.
    pub(super) fn by_settler(reason: Reason, message: Option<String>) -> Self {
        let message = message.unwrap_or_else(|| format!("the payment is not valid: {reason}"));
        Self::new(reason, message)
    }

    /// Declines a payment for something that concerns the payer's own wallet, because this process
    /// has no proof that the payer signed.
    pub(super) fn not_proven(scheme: Scheme) -> Self {
        let message = match scheme {
            Scheme::AggrDeferred => {
                "this route is about the payer's own wallet, and only the broker could say who signed an aggr_deferred \
                 payment: sign one with scheme exact"
            }
            _ => {
                "this route is about the payer's own wallet, and no node proves here that the payer's contract accepts \
                 the signature: pay from an account whose own key signs, with scheme exact"
            }
        };
        Self::new(Reason::PaymentNotProven, message)
    }

    /// Replaces the advice.
    #[must_use]
    pub(super) fn advising(mut self, next: Next) -> Self {
        self.next = next;
        self
    }

    /// Replaces the advice if it is to sign a new payment.
    #[must_use]
    pub(super) fn unless_signing_anew(self, next: Next) -> Self {
        match self.next {
            Next::SignNew => self.advising(next),
            _ => self,
        }
    }

    /// Whether the same call can succeed with another payment. It cannot when the scheme has no
    /// settler.
    pub(crate) fn retryable(&self) -> bool {
        self.reason != Reason::UnsupportedScheme
    }
}

impl From<HeaderError> for Declined {
    fn from(error: HeaderError) -> Self {
        Self::new(error.reason(), format!("PAYMENT-SIGNATURE: {error}"))
    }
}

impl From<Mismatch> for Declined {
    fn from(mismatch: Mismatch) -> Self {
        Self::new(mismatch.reason(), mismatch.to_string())
    }
}

impl From<Invalid> for Declined {
    fn from(invalid: Invalid) -> Self {
        Self::new(invalid.reason(), invalid.to_string())
    }
}

impl From<Declined> for Refusal {
    fn from(declined: Declined) -> Self {
        Self::Declined(declined)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_of_forged_payments_are_logged_at_debug_only() {
        let url = || "http://localhost/payments".to_owned();
        for refusal in [
            Refusal::from(Declined::unpaid()),
            Refusal::Parameters(Vec::new()),
            Refusal::InFlight {
                state: State::Working,
            },
            Refusal::BoundElsewhere {
                next: Next::LookUp { url: url() },
            },
            Refusal::OutOfCredit {
                retry_after_seconds: 1,
            },
            Refusal::OneCallAtATime,
            Refusal::TooManyCalls,
            Refusal::SettlementUnavailable,
            Refusal::LedgerUnavailable,
        ] {
            assert!(!Ended::from(refusal.clone()).is_of_a_payer(), "{refusal:?}");
        }
        let work = ErrorReply::new(route_catalog::ErrorCode::NotFound, "no such token");
        assert!(Ended::from(Refusal::Work(work)).is_of_a_payer());
    }
}
