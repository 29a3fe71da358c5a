//! Decides which later calls get an answer about the payer's own wallet again.
//!
//! A settled payment is public, its signature included: anybody can read it on the chain and write
//! its header again. So the header alone does not fetch such an answer. The payment identifier is
//! in no transaction, and only the payer has it.

use ledger::{Journal, PaymentStatus, State, StoredAnswer};
use route_catalog::Next;
use settlement::Settler;
use x402_wire::AuthorizationKey;

use super::advice::unreadable;
use super::{Delivered, Ended, PaidCall, PaymentProcessor, Refusal, Worker};

impl<S: Settler, J: Journal, W: Worker> PaymentProcessor<S, J, W> {
    /// Ends a call whose payment the journal knows. A call with the payment identifier that bought
    /// an answer about the payer's own wallet gets it again, for a limited time. Any other call
    /// learns only that the payment was settled, and by which transaction.
    pub(super) async fn tell(
        &self,
        call: &PaidCall,
        key: &AuthorizationKey,
        status: PaymentStatus,
    ) -> Ended {
        if status == PaymentStatus::BoundElsewhere {
            return Box::pin(self.bound_elsewhere(call, key)).await;
        }
        if !call.request.is_private() {
            return self.known(key, status);
        }
        let transaction = match status {
            PaymentStatus::Answered(stored) if self.is_given_again(call, &stored) => {
                return Ended::Delivered(Delivered {
                    stored,
                    again: true,
                });
            }
            PaymentStatus::Answered(stored) => stored.receipt.transaction,
            PaymentStatus::AnswerExpired { transaction } => transaction,
            status => return self.known(key, status),
        };
        let url = self.catalog().payment_url(key);
        Refusal::AnswerPrivate { transaction, url }.into()
    }

    /// Ends a call whose payment belongs to another request.
    async fn bound_elsewhere(&self, call: &PaidCall, key: &AuthorizationKey) -> Ended {
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
            (Some(record), Some(presented)) if record.state == State::Released => {
                self.after_other_request(presented).await
            }
            _ => Next::LookUp { url },
        };
        Refusal::BoundElsewhere { next }.into()
    }

    /// Whether the call gets the answer again. The journal has already compared the request, the
    /// signature and the identifier.
    fn is_given_again(&self, call: &PaidCall, stored: &StoredAnswer) -> bool {
        let seconds = self.shared.policy.private_answer_seconds;
        call.is_identified && self.now() < stored.settled_at.saturating_add(seconds)
    }
}
