//! Looks payments up in the journal, for the stages before the claim.
//!
//! The rule: a payment that the journal knows gets the answer of the journal, whatever a stage
//! thinks of it.

use ledger::{EntryId, Journal, PaymentRecord, PaymentStatus, State};
use route_catalog::{Next, Operation};
use settlement::Settler;

use super::advice::unreadable;
use super::call::Presented;
use super::claim::Claimed;
use super::{Declined, Ended, PaidCall, PaymentProcessor, Refusal, Worker};

impl<S: Settler, J: Journal, W: Worker> PaymentProcessor<S, J, W> {
    /// Passes on the result of a stage before the claim. If the stage refused and the journal knows
    /// the payment, the journal's state replaces the refusal.
    pub(super) async fn unless_known<T>(
        &self,
        call: &PaidCall,
        stage: Result<T, impl Into<Ended>>,
    ) -> Result<T, Ended> {
        let refusal = match stage.map_err(Into::into) {
            Err(Ended::Refused(refusal)) => refusal,
            ended_or_not => return ended_or_not,
        };
        Err(Box::pin(self.refuse_unless_known(call, refusal)).await)
    }

    async fn refuse_unless_known(&self, call: &PaidCall, refusal: Refusal) -> Ended {
        match self.recognise(call).await {
            Ok(released) => self.advise(call, refusal, released).await.into(),
            Err(known) => known,
        }
    }

    /// Looks a payment up by its authorization, and ends the call when the journal knows it. A
    /// released payment may be claimed again, so it does not count as known; its record is
    /// returned.
    pub(super) async fn recognise(&self, call: &PaidCall) -> Result<Option<PaymentRecord>, Ended> {
        let Some(presented) = &call.presented else {
            return Ok(None);
        };
        let key = &presented.key;
        loop {
            let record = self.journal().look_up(key).await;
            let record = record.map_err(|error| unreadable(&error))?;
            if record.as_ref().is_none_or(may_be_claimed) {
                return Ok(record);
            }
            let found = self.journal().find(key, &call.binding, self.now()).await;
            match found.map_err(|error| unreadable(&error))? {
                // Released between the two reads, perhaps after a settlement: reads the record
                // again.
                None => {}
                Some(PaymentStatus::Unknown { entry, .. }) => {
                    return Err(Box::pin(self.decide_and_answer(call, presented, entry)).await);
                }
                Some(status) => return Err(self.tell(call, key, status).await),
            }
        }
    }

    /// Replaces the advice to sign a new payment when a settlement of the present one was tried
    /// before and it can still be executed by anyone who saw it.
    async fn advise(
        &self,
        call: &PaidCall,
        refusal: Refusal,
        record: Option<PaymentRecord>,
    ) -> Refusal {
        let Some(presented) = &call.presented else {
            return refusal;
        };
        match refusal {
            Refusal::Declined(declined) if record.is_some_and(|record| record.attempted) => {
                let next = self.after_attempt(presented).await;
                declined.unless_signing_anew(next).into()
            }
            refusal => refusal,
        }
    }

    /// Like [`Self::advise`], for a payment whose entry has just been released.
    ///
    /// A copy of the payment may arrive later, here or at another server. So before its payer is
    /// told to sign a new one, the journal retires a payment that is proven to be its payer's. A
    /// forged one must not retire the authorization that it names: its sender waits.
    ///
    /// Lasting work begins only under the claim of an entry that is not released, and the journal
    /// retires nothing that was claimed again since. So what has not begun by now never begins.
    pub(super) async fn advise_after_release(
        &self,
        released: Released,
        declined: Declined,
    ) -> Refusal {
        let Released {
            entry,
            presented,
            operation,
            retires,
        } = released;
        match self.journal().look_up(&presented.key).await {
            Ok(Some(record)) if record.attempted => {
                let next = self.after_attempt(&presented).await;
                return declined.unless_signing_anew(next).into();
            }
            Ok(_) if declined.next != Next::SignNew => return declined.into(),
            Ok(_) if !retires => {
                let next = self.next_for_now(&presented);
                return declined.advising(next).into();
            }
            Ok(_) => {}
            Err(error) => return unreadable(&error),
        }
        let payment = presented.key.digest();
        if self.shared.worker.has_begun(payment).await {
            return self.begun(operation, &presented, declined).into();
        }
        match self.journal().retire(entry, false).await {
            Ok(true) => declined.into(),
            // Another call has claimed the payment meanwhile.
            Ok(false) => Refusal::InFlight {
                state: State::Reserved,
            },
            Err(error) => unreadable(&error),
        }
    }
}

/// Whether an authorization with this record may be claimed again. One that was answered as a
/// repetition gets its answer.
fn may_be_claimed(record: &PaymentRecord) -> bool {
    record.state == State::Released && !record.is_repetition
}

/// A payment whose entry is released.
pub(super) struct Released {
    entry: EntryId,
    presented: Presented,
    operation: Operation,
    retires: bool,
}

impl Released {
    /// A payment that was refused itself. It is retired if its payer is proven.
    pub(super) fn refused(claimed: &Claimed) -> Self {
        Self {
            retires: claimed.open.presence.is_proven(),
            ..Self::too_late(claimed)
        }
    }

    /// A payment whose window is too short. It is not retired, because every server looks at the
    /// window after its claim.
    pub(super) fn too_late(claimed: &Claimed) -> Self {
        Self {
            entry: claimed.open.id,
            presented: Presented::of(&claimed.payment),
            operation: claimed.work.operation,
            retires: false,
        }
    }
}
