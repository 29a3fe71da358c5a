//! Decides which later calls get an answer about the payer's own wallet again.
//!
//! A settled payment is public, its signature included: anybody can read it on the chain and write
//! its header again. So the header alone does not fetch such an answer. The payment identifier is
//! in no transaction, and only the payer has it.

use ledger::{Journal, PaymentStatus, StoredAnswer};
use settlement::Settler;
use x402_wire::AuthorizationKey;

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
        let is_private = call.request.is_private();
        let transaction = match status {
            PaymentStatus::BoundElsewhere => {
                return Box::pin(self.bound_elsewhere(call, key)).await;
            }
            status if !is_private => return self.known(key, status),
            // The header of a repetition is on no chain: only the payer has it.
            PaymentStatus::Answered(stored)
                if stored.is_repetition || self.is_given_again(call, &stored) =>
            {
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

    /// Whether the call gets the answer again. The journal has already compared the request, the
    /// signature and the identifier.
    fn is_given_again(&self, call: &PaidCall, stored: &StoredAnswer) -> bool {
        let seconds = self.shared.policy.private_answer_seconds;
        call.is_identified && self.now() < stored.settled_at.saturating_add(seconds)
    }
}
