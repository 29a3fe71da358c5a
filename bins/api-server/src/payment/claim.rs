//! Stage: the journal reserves the authorization for this request, in one durable write.

use alloy_primitives::{B256, U256};
use credit::Cost;
use data_sources::Usage;
use ledger::{Journal, PaymentStatus, Reservation};
use settlement::Settler;
use x402_wire::Payment;

use super::admit::Admitted;
use super::call::Presented;
use super::match_offer::{Matched, Proof};
use super::open_entry::OpenEntry;
use super::repeat::{GIVES_WAY, Occupied, Stop};
use super::{PaidCall, PaymentProcessor, Refusal, Worker};
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
        matched: Matched,
        admitted: Admitted,
    ) -> Result<Box<Claimed>, Stop> {
        let Matched {
            payment,
            mut work,
            proof,
        } = matched;
        let presented = Presented::of(&payment);
        let key = presented.key;
        let claim = self.claim_of(call, &payment, &work, proof == Proof::Recovered);
        let instance = self.journal().owner();
        let entry = match self.journal().reserve(claim).await {
            Ok(Reservation::Reserved(entry)) => entry,
            Ok(Reservation::ReservedBeside(entry)) => {
                work.is_beside_undecidable = true;
                entry
            }
            Ok(Reservation::Known(PaymentStatus::Occupied(occupant))) => {
                let claim = self.claim_of(call, &payment, &work, true);
                return Err(Occupied::stop(&payment, claim, occupant));
            }
            Ok(Reservation::Known(PaymentStatus::Unknown { entry, .. })) => {
                return Err(Box::pin(self.decide_and_answer(call, &presented, entry))
                    .await
                    .into());
            }
            Ok(Reservation::Known(status)) => {
                return Err(Box::pin(self.tell(call, &key, status)).await.into());
            }
            Err(error) => {
                tracing::error!(code = error.code(), %error, "the journal cannot claim a payment");
                return Err(Refusal::LedgerUnavailable.into());
            }
        };
        let Admitted {
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

    /// Lets a claimed payment count as its payer's purchase, because the payer is proven only now.
    /// When another authorization stands for the purchase, this one is released.
    pub(super) async fn enter(
        &self,
        call: &PaidCall,
        mut claimed: Box<Claimed>,
    ) -> Result<Box<Claimed>, Stop> {
        let claim = self.claim_of(call, &claimed.payment, &claimed.work, true);
        let status = match self.journal().prove(claimed.open.id, claim.clone()).await {
            Ok(Reservation::Reserved(_)) => return Ok(claimed),
            Ok(Reservation::ReservedBeside(_)) => {
                claimed.work.is_beside_undecidable = true;
                return Ok(claimed);
            }
            Ok(Reservation::Known(status)) => status,
            Err(error) => {
                tracing::error!(code = error.code(), %error, "the journal cannot note a purchase");
                self.release(claimed.open, error.code(), Cost::ZERO).await;
                return Err(Refusal::LedgerUnavailable.into());
            }
        };
        // The settler was asked.
        let spent = self.shared.policy.credit.spent(Usage::default());
        self.release(claimed.open, GIVES_WAY, spent).await;
        Err(match status {
            PaymentStatus::Occupied(occupant) => Occupied::stop(&claimed.payment, claim, occupant),
            status => self.tell(call, &claim.key, status).await.into(),
        })
    }
}
