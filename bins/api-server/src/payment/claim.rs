//! Stage: the journal reserves the authorization for this request, in one durable write.

use alloy_primitives::{B256, U256};
use credit::Cost;
use ledger::{Claim, Journal, PaymentStatus, Reservation};
use settlement::Settler;
use x402_wire::Payment;

use super::admit::Admitted;
use super::call::Presented;
use super::open_entry::OpenEntry;
use super::{Ended, PaidCall, PaymentProcessor, Refusal, Worker};
use crate::call::Call;

/// A call that owns its authorization: no other call can use it.
pub(super) struct Claimed {
    pub(super) open: OpenEntry,
    pub(super) payment: Payment,
    pub(super) work: Call,
    /// The digest of the request, by which work stores its answers.
    pub(super) request: B256,
    /// The amount of the same asset that the payer's other calls in flight will take.
    pub(super) committed: U256,
}

impl<S: Settler, J: Journal, W: Worker> PaymentProcessor<S, J, W> {
    /// Claims the authorization, or ends the call with the state that the journal has for it.
    pub(super) async fn claim(
        &self,
        call: &PaidCall,
        admitted: Admitted,
    ) -> Result<Box<Claimed>, Ended> {
        let payment = &admitted.payment;
        let presented = Presented::of(payment);
        let key = presented.key;
        let claim = Claim {
            key,
            request: call.binding.clone(),
            payment_id: payment.payload().payment_id().map(str::to_owned),
            amount: payment.requirements().amount,
            valid_before: presented.ends_at(),
            now: self.now(),
        };
        let instance = self.journal().owner();
        let entry = match self.journal().reserve(claim).await {
            Ok(Reservation::Reserved(entry)) => entry,
            Ok(Reservation::Known(PaymentStatus::Unknown { entry, .. })) => {
                return Err(Box::pin(self.decide_and_answer(call, &presented, entry)).await);
            }
            Ok(Reservation::Known(status)) => {
                return Err(Box::pin(self.tell(call, &key, status)).await);
            }
            Err(error) => {
                tracing::error!(code = error.code(), %error, "the journal cannot claim a payment");
                return Err(Refusal::LedgerUnavailable.into());
            }
        };
        let Admitted {
            payment,
            mut work,
            place,
            presence,
            hold,
        } = admitted;
        work.claim = self.journal().reservation(entry, instance);
        let mut open = OpenEntry::new((entry, instance), presence, hold, place);
        let terms = payment.requirements();
        let committed = open.presence.commit(terms.asset, terms.amount);
        let claimed = Box::new(Claimed {
            open,
            committed,
            request: call.request.binding.digest(),
            payment,
            work,
        });
        // The claim may have taken long. Another server that finds the window too short and does
        // not see this claim tells the payer to sign a new payment, so the call must not go on in
        // such a window.
        let needed = self.seconds_needed(call.request.operation);
        if let Err(late) = claimed.payment.check_window(self.now(), needed) {
            let late = self.too_late(*claimed, Cost::ZERO, late.into());
            return Err(Box::pin(late).await.into());
        }
        Ok(claimed)
    }
}
