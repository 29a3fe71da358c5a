//! The answer about a payment that the journal knows, and the caller's next step. Every stage may
//! call these methods; they call no stage.

use ledger::{Journal, LedgerError, PaymentStatus, State};
use route_catalog::{Next, Operation};
use settlement::{Cause, Settler};
use x402_wire::{AuthorizationKey, MAX_WINDOW_SECONDS, Reason};

use super::call::Presented;
use super::ended::Pending;
use super::{Declined, Delivered, Ended, PaidCall, PaymentProcessor, Refusal, Worker};

impl<S: Settler, J: Journal, W: Worker> PaymentProcessor<S, J, W> {
    /// Ends a call whose payment the journal knows.
    pub(super) fn known(&self, key: &AuthorizationKey, status: PaymentStatus) -> Ended {
        let url = || self.catalog().payment_url(key);
        let refusal = match status {
            PaymentStatus::Answered(stored) => {
                return Ended::Delivered(Delivered {
                    stored,
                    again: true,
                });
            }
            PaymentStatus::InFlight { state, .. } => Refusal::InFlight { state },
            PaymentStatus::Retired { reason } => {
                let message = "the payment was refused before, and a new one was asked for";
                Declined::new(Reason::from(reason.as_str()), message).into()
            }
            PaymentStatus::BoundElsewhere => Refusal::BoundElsewhere {
                next: Next::LookUp { url: url() },
            },
            PaymentStatus::IdentifierTaken {
                transaction,
                key: other,
            } => Refusal::IdentifierTaken {
                transaction,
                url: other.map_or_else(url, |other| self.catalog().payment_url(&other)),
            },
            PaymentStatus::Occupied(occupant) => Refusal::PurchaseUndecided {
                url: occupant
                    .key
                    .map_or_else(url, |other| self.catalog().payment_url(&other)),
            },
            PaymentStatus::AnswerExpired { transaction } => Refusal::AnswerExpired {
                transaction,
                url: url(),
            },
            PaymentStatus::Unknown { transaction, .. } => self.pending(key, transaction),
            PaymentStatus::Undecidable { transaction, .. } => Refusal::Pending(Pending {
                network: key.network,
                payer: key.payer,
                transaction,
                url: url(),
                undecidable: true,
            }),
        };
        refusal.into()
    }

    /// Ends a call whose payment belongs to another request.
    pub(super) async fn bound_elsewhere(&self, call: &PaidCall, key: &AuthorizationKey) -> Ended {
        let record = match self.journal().look_up(key).await {
            Ok(record) => record,
            Err(error) => return unreadable(&error).into(),
        };
        let url = self.catalog().payment_url(key);
        let next = match (record, &call.presented) {
            // The request may be the same, with another identifier or with none.
            (Some(record), _) if record.state == State::Settled && call.request.is_private() => {
                let transaction = record.transaction.unwrap_or_default();
                return Refusal::AnswerPrivate { transaction, url }.into();
            }
            (Some(record), Some(presented))
                if record.state == State::Released && !record.is_repetition =>
            {
                self.after_other_request(presented).await
            }
            _ => Next::LookUp { url },
        };
        Refusal::BoundElsewhere { next }.into()
    }

    /// Refuses a call because the outcome of its payment is unknown.
    pub(super) fn pending(&self, key: &AuthorizationKey, transaction: Option<String>) -> Refusal {
        Refusal::pending(self.catalog(), key, transaction)
    }

    /// The payer's next step after this server has sent its authorization to others: the payer
    /// signs a new one only when the old one can no longer move money.
    ///
    /// No block shows that of a deferred payment. It is retired when the broker has refused it for
    /// good, and otherwise a server may still take it.
    pub(super) async fn after_attempt(&self, presented: &Presented) -> Next {
        if !presented.is_exact {
            return match self.journal().look_up(&presented.key).await {
                Ok(Some(record)) if record.is_retired => Next::SignNew,
                _ => self.next_for_now(presented),
            };
        }
        match self.can_never_pay(presented).await {
            Ok(true) => Next::SignNew,
            Ok(false) | Err(_) => self.wait(presented),
        }
    }

    /// The payer's next step with a released payment that is kept for another request: a settlement
    /// was attempted for that one.
    async fn after_other_request(&self, presented: &Presented) -> Next {
        match self.after_attempt(presented).await {
            Next::SignNew if self.shared.worker.has_begun(presented.key.digest()).await => {
                Next::LookUp {
                    url: self.catalog().payment_url(&presented.key),
                }
            }
            next => next,
        }
    }

    /// Whether a canonical block shows that an authorization can no longer make its transfer: its
    /// window has closed, or it was cancelled or used otherwise. No block shows that of a deferred
    /// payment.
    pub(super) async fn can_never_pay(&self, presented: &Presented) -> Result<bool, Cause> {
        let Presented {
            key, authorization, ..
        } = presented;
        let settler = self.settler();
        // The broker may still pay a deferred payment in a batch, whatever the state of the
        // authorization.
        Ok(presented.is_exact
            && (settler.is_void(key, authorization.valid_before).await?
                || settler.is_spent(key, authorization).await?))
    }

    /// Declines a payment that this service does not take now, but may take later.
    pub(super) fn declined_for_now(&self, call: &PaidCall, declined: Declined) -> Declined {
        match &call.presented {
            Some(presented) => declined.advising(self.next_for_now(presented)),
            None => declined,
        }
    }

    /// The payer's next step with a payment that this service does not take now, but may take until
    /// its window has become too short for every operation: another request may take it longer than
    /// the one that was refused.
    pub(super) fn next_for_now(&self, presented: &Presented) -> Next {
        let operations = Operation::ALL.iter();
        let needed = operations.map(|operation| self.seconds_needed(*operation));
        let last = presented.ends_at().saturating_add(CLOCK_MARGIN_SECONDS);
        let last = last.saturating_sub(needed.min().unwrap_or_default());
        match last.checked_sub(self.now()) {
            // Nobody can wait for the end of an authorization that has none, and a server may take
            // it at any time.
            Some(_) if presented.has_no_end(self.now()) => Next::LookUp {
                url: self.catalog().payment_url(&presented.key),
            },
            Some(left) => Next::Wait {
                after_seconds: left.saturating_add(1),
                url: self.catalog().payment_url(&presented.key),
            },
            None => Next::SignNew,
        }
    }

    /// Replaces the advice to sign a new payment when the work of the present one has begun
    /// something: the new one would begin it again.
    pub(super) async fn unless_begun(&self, call: &PaidCall, declined: Declined) -> Refusal {
        let operation = call.request.operation;
        let Some(presented) = call.presented.filter(|_| declined.next == Next::SignNew) else {
            return declined.into();
        };
        match self.shared.worker.has_begun(presented.key.digest()).await {
            true => self.begun(operation, &presented, declined).into(),
            false => declined.into(),
        }
    }

    /// Declines a payment that has begun something. While its window lasts, the same payment can be
    /// charged and gets the answer.
    pub(super) fn begun(
        &self,
        operation: Operation,
        presented: &Presented,
        declined: Declined,
    ) -> Declined {
        let url = self.catalog().payment_url(&presented.key);
        let ends_at = self.now().saturating_add(self.seconds_needed(operation));
        let is_used = declined.reason == Reason::InvalidExactEvmNonceAlreadyUsed;
        let next = match presented.ends_at() >= ends_at && !is_used {
            true => Next::SendSameAgain { after_seconds: 5 },
            false => Next::LookUp { url },
        };
        Declined {
            message: format!(
                "{}; this payment has begun an action, and a new one would begin it again",
                declined.message
            ),
            ..declined.advising(next)
        }
    }

    /// Advises the payer to wait until the payment can no longer be executed, and to look it up
    /// then.
    pub(super) fn wait(&self, presented: &Presented) -> Next {
        let end = presented.ends_at().saturating_add(VOID_MARGIN_SECONDS);
        let left = end.saturating_sub(self.now());
        // For an authorization without an end, the payer asks again after a day.
        let longest = MAX_WINDOW_SECONDS.saturating_add(VOID_MARGIN_SECONDS);
        Next::Wait {
            after_seconds: left.clamp(VOID_MARGIN_SECONDS, longest),
            url: self.catalog().payment_url(&presented.key),
        }
    }
}

/// How far the clocks of a service's servers may be apart. For so long after a window has become
/// too short here, another server may still take the payment.
const CLOCK_MARGIN_SECONDS: u64 = 2;

/// The seconds after its window in which a payment may still show up in a block that was made
/// before.
const VOID_MARGIN_SECONDS: u64 = 60;

pub(super) fn unreadable(error: &LedgerError) -> Refusal {
    tracing::error!(code = error.code(), %error, "the journal cannot be read");
    Refusal::LedgerUnavailable
}
