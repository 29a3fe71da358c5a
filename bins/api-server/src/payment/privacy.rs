//! Decides who gets an answer about the payer's own wallet a second time.
//!
//! A settled payment is public, its signature included: anybody can read it on the chain and write
//! its header again. So the header alone does not fetch such an answer. The payment identifier is
//! in no transaction, and only the payer has it.

use ledger::{Journal, PaymentStatus, State, StoredAnswer};
use settlement::Settler;
use x402_wire::AuthorizationKey;

use super::advice::unreadable;
use super::{Delivered, Ended, PaidCall, PaymentProcessor, Refusal, Worker};

impl<S: Settler, J: Journal, W: Worker> PaymentProcessor<S, J, W> {
    /// The end of a call whose payment the journal knows. An answer about the payer's own wallet is
    /// given again, for a time, to a call with the payment identifier that bought it. Any other
    /// call learns only that the payment was settled, and by which transaction.
    pub(super) async fn tell(
        &self,
        call: &PaidCall,
        key: &AuthorizationKey,
        status: PaymentStatus,
    ) -> Ended {
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
            // Perhaps the same request with another identifier, or with none.
            PaymentStatus::BoundElsewhere => match Box::pin(self.journal().look_up(key)).await {
                Ok(Some(record)) if record.state == State::Settled => {
                    record.transaction.unwrap_or_default()
                }
                Ok(_) => return self.known(key, status),
                Err(error) => return unreadable(&error).into(),
            },
            status => return self.known(key, status),
        };
        let url = self.catalog().payment_url(key);
        Refusal::AnswerPrivate { transaction, url }.into()
    }

    /// The journal has compared the request, the signature and the identifier already.
    fn is_given_again(&self, call: &PaidCall, stored: &StoredAnswer) -> bool {
        let seconds = self.shared.policy.private_answer_seconds;
        call.is_identified && self.now() < stored.settled_at.saturating_add(seconds)
    }
}
