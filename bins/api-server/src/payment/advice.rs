//! The answer about a payment that the journal knows, and the caller's next step. Every stage may
//! call these methods; they call no stage.

use ledger::{Journal, LedgerError, PaymentStatus};
use route_catalog::Next;
use settlement::{Cause, Settler};
use x402_wire::{AuthorizationKey, Reason};

use super::call::Presented;
use super::ended::Pending;
use super::{Declined, Delivered, Ended, PaymentProcessor, Refusal, Worker};

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
            PaymentStatus::BoundElsewhere => Refusal::BoundElsewhere { url: url() },
            PaymentStatus::IdentifierTaken {
                transaction,
                key: other,
                same_request,
            } => Refusal::IdentifierTaken {
                transaction,
                url: other.map_or_else(url, |other| self.catalog().payment_url(&other)),
                same_request,
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

    /// Refuses a call because the outcome of its payment is unknown.
    pub(super) fn pending(&self, key: &AuthorizationKey, transaction: Option<String>) -> Refusal {
        Refusal::pending(self.catalog(), key, transaction)
    }

    /// The payer's next step after this server has sent its authorization to others: the payer
    /// signs a new one only when the old one can no longer move money.
    pub(super) async fn after_attempt(&self, presented: &Presented) -> Next {
        match self.can_never_pay(presented).await {
            Ok(true) => Next::SignNew,
            Ok(false) | Err(_) => self.wait(presented),
        }
    }

    /// Whether a canonical block shows that an authorization can no longer make its transfer: its
    /// window has closed, or it was cancelled or used otherwise.
    pub(super) async fn can_never_pay(&self, presented: &Presented) -> Result<bool, Cause> {
        let Presented {
            key, authorization, ..
        } = presented;
        let settler = self.settler();
        if settler.is_void(key, authorization.valid_before).await? {
            return Ok(true);
        }
        // The broker may still pay a deferred payment in a batch, whatever the state of the
        // authorization.
        Ok(presented.is_exact && settler.is_spent(key, authorization).await?)
    }

    /// Advises the payer to wait until the payment can no longer be executed, and to look it up
    /// then.
    pub(super) fn wait(&self, presented: &Presented) -> Next {
        let end = presented.ends_at().saturating_add(VOID_MARGIN_SECONDS);
        let left = end.saturating_sub(self.now());
        Next::Wait {
            after_seconds: left.max(VOID_MARGIN_SECONDS),
            url: self.catalog().payment_url(&presented.key),
        }
    }
}

/// The seconds after its window in which a payment may still show up in a block that was made
/// before.
const VOID_MARGIN_SECONDS: u64 = 60;

pub(super) fn unreadable(error: &LedgerError) -> Refusal {
    tracing::error!(code = error.code(), %error, "the journal cannot be read");
    Refusal::LedgerUnavailable
}
