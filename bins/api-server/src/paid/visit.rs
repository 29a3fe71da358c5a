//! One paid call from its reservation to its end.

use std::time::Duration;

use ledger::{
    Answer, EntryId, Journal, LedgerError, Settlement as Settling, State, StoredAnswer,
    StoredReceipt,
};
use route_catalog::ErrorCode;
use settlement::{Cause, Receipt, Settlement, Settler, Verification};
use tokio::time::timeout;
use x402_wire::{Payment, Reason, SettlementResponse};

use super::{Declined, Outcome, Till, Work, journal_failed, standing};
use crate::observe;
use crate::reply::ErrorReply;

/// Bytes of a `PAYMENT-RESPONSE` value.
const LONGEST_RECEIPT: usize = 4096;
/// Pauses, in seconds, between tries to record a settlement.
const RECORD_AGAIN_AFTER: [u64; 6] = [1, 2, 5, 15, 60, 300];

/// Verify, work, settle, answer. Whatever ends it early before the settlement releases the reservation.
pub(crate) async fn run<S, J>(
    till: &Till<S, J>,
    entry: EntryId,
    payment: Payment,
    work: Work,
) -> Outcome
where
    S: Settler,
    J: Journal,
{
    let (settler, journal) = (till.settler(), till.journal());
    // A settler that asks over HTTP has large futures, and a call is long done with the one when it makes the other.
    let verified = Box::pin(settler.verify(&payment, till.now()));
    match verified.await {
        Verification::Valid => {}
        Verification::Invalid { reason, message } => {
            till.release(entry, reason.as_str()).await;
            return Outcome::Declined(declined(reason, message));
        }
        Verification::Unavailable { cause } => {
            tracing::warn!(%entry, %cause, "a payment cannot be verified");
            till.release(entry, "verification_unavailable").await;
            return Outcome::Refused(settlement_unavailable());
        }
    }

    journal.start_work(entry);
    let budget = Duration::from_secs(work.budget_seconds);
    let answer = match timeout(budget, work.answer).await {
        Ok(Ok(answer)) => answer,
        Ok(Err(refusal)) => {
            till.release(entry, refusal.code().code()).await;
            return Outcome::Refused(refusal);
        }
        Err(_elapsed) => {
            till.release(entry, "work_timed_out").await;
            return Outcome::Refused(
                ErrorReply::new(ErrorCode::UpstreamUnavailable, "the answer took too long")
                    .detail("reason", "timed_out")
                    .retry_after(5),
            );
        }
    };

    let settle_budget = till.shared.policy.settle_budget_seconds;
    if let Err(late) = payment.check_window(till.now(), settle_budget) {
        till.release(entry, late.reason().as_str()).await;
        return Outcome::Declined(late.into());
    }
    let settling = Settling {
        payment: payment.clone(),
        answer: answer.clone(),
    };
    if let Err(error) = journal.begin_settlement(entry, settling, till.now()).await {
        tracing::error!(%entry, code = error.code(), %error, "an answer cannot be stored");
        till.release(entry, error.code()).await;
        return Outcome::Refused(journal_failed());
    }
    // The settler has time limits of its own; this one only guards against one that forgets them.
    let settled = Box::pin(settler.settle(&payment));
    let outcome = timeout(till.shared.policy.settle_guard, settled).await;
    match outcome {
        Ok(Settlement::Settled(receipt)) => till.settled(entry, answer, receipt).await,
        Ok(Settlement::Rejected { reason, message }) => {
            till.rejected(entry, &payment, &reason, message).await
        }
        Ok(Settlement::NotSent { cause }) => till.not_sent(entry, &payment, &cause).await,
        Ok(Settlement::Unknown { transaction, cause }) => {
            let cause = cause.to_string();
            till.undecided(entry, &payment, transaction, &cause).await
        }
        Err(_elapsed) => {
            let cause = "the settler did not return";
            till.undecided(entry, &payment, None, cause).await
        }
    }
}

impl<S: Settler, J: Journal> Till<S, J> {
    /// Records a settled payment and hands out its answer.
    ///
    /// The answer is durable since before the settlement. Should the record of the settlement itself fail, the caller has
    /// paid and gets the answer all the same, and the record is tried again.
    pub(crate) fn settled(
        &self,
        entry: EntryId,
        answer: Answer,
        receipt: Receipt,
    ) -> impl Future<Output = Outcome> + Send {
        observe::settled(&receipt);
        let receipt = stored_receipt(receipt);
        async move {
            self.record(entry, &receipt).await;
            let stored = StoredAnswer {
                answer,
                receipt,
                settled_at: self.now(),
            };
            Outcome::Served {
                stored,
                again: false,
            }
        }
    }

    async fn rejected(
        &self,
        entry: EntryId,
        payment: &Payment,
        reason: &Reason,
        message: Option<String>,
    ) -> Outcome {
        if !self.release(entry, reason.as_str()).await {
            // The journal still holds the entry as settling and would send it again: not a case for a new payment.
            return standing::pending(payment, None);
        }
        let network = payment.requirements().network;
        let failed = SettlementResponse::failed(reason, "", network, payment.payer());
        Outcome::Declined(Declined {
            receipt: Some(failed.to_header()),
            ..declined(reason.clone(), message)
        })
    }

    async fn not_sent(&self, entry: EntryId, payment: &Payment, cause: &Cause) -> Outcome {
        tracing::warn!(%entry, %cause, "a settlement could not be sent");
        if !self.release(entry, "settlement_not_sent").await {
            return standing::pending(payment, None);
        }
        Outcome::Refused(settlement_unavailable())
    }

    async fn undecided(
        &self,
        entry: EntryId,
        payment: &Payment,
        transaction: Option<String>,
        cause: &str,
    ) -> Outcome {
        tracing::warn!(%entry, transaction, %cause, "the outcome of a settlement is unknown");
        self.unknown(entry, transaction.clone(), cause).await;
        standing::pending(payment, transaction.as_deref())
    }

    /// Writes down that an entry is settled. What is known only here must not be lost to a full disk: a facilitator may
    /// not be able to tell it a second time.
    pub(crate) async fn record(&self, entry: EntryId, receipt: &StoredReceipt) {
        if self.try_record(entry, receipt).await {
            return;
        }
        let (till, receipt) = (self.clone(), receipt.clone());
        self.shared.visits.spawn(async move {
            let _claim = till.begin_reconciling(entry);
            for seconds in RECORD_AGAIN_AFTER {
                let pause = tokio::time::sleep(Duration::from_secs(seconds));
                // At shutdown there is one last try, at once.
                let closing = tokio::select! {
                    () = pause => false,
                    () = till.shared.closing.cancelled() => true,
                };
                if till.try_record(entry, &receipt).await || closing {
                    return;
                }
            }
            till.unknown(entry, Some(receipt.transaction), "settled, not recorded")
                .await;
        });
    }

    async fn try_record(&self, entry: EntryId, receipt: &StoredReceipt) -> bool {
        let recorded = self.journal().settle(entry, receipt.clone(), self.now());
        match recorded.await {
            Ok(())
            | Err(LedgerError::WrongState {
                observed: State::Settled,
                ..
            }) => true,
            Err(error) => {
                tracing::error!(%entry, code = error.code(), %error, "a settled payment cannot be recorded yet");
                false
            }
        }
    }

    /// Gives an authorization back; whether the journal could write that down.
    pub(crate) async fn release(&self, entry: EntryId, reason: &str) -> bool {
        match self.journal().release(entry, reason, self.now()).await {
            Ok(()) => true,
            Err(error) => {
                tracing::error!(%entry, code = error.code(), %error, "a reservation cannot be released");
                false
            }
        }
    }

    pub(crate) async fn unknown(&self, entry: EntryId, transaction: Option<String>, cause: &str) {
        let now = self.now();
        if let Err(error) = self
            .journal()
            .mark_unknown(entry, transaction, cause, now)
            .await
        {
            tracing::error!(%entry, code = error.code(), %error, "an unknown outcome cannot be recorded");
        }
    }
}

/// What the journal keeps of a receipt.
///
/// Clients refuse heads above 8 to 16 kB, and a receipt that cannot be read is no receipt: what a facilitator adds beyond
/// the protocol is left out when it makes the header too long.
pub(crate) fn stored_receipt(receipt: Receipt) -> StoredReceipt {
    let mut response = receipt.into_response();
    let mut header = response.to_header();
    if header.len() > LONGEST_RECEIPT {
        response.extensions = None;
        response.extra = None;
        header = response.to_header();
    }
    StoredReceipt {
        header,
        transaction: response.transaction,
    }
}

pub(super) fn settlement_unavailable() -> ErrorReply {
    ErrorReply::new(
        ErrorCode::UpstreamUnavailable,
        "payments cannot be verified or settled right now; the payment was not used",
    )
    .detail("reason", "settlement_unavailable")
    .retry_after(5)
}

pub(super) fn declined(reason: Reason, message: Option<String>) -> Declined {
    let message = message.unwrap_or_else(|| format!("the payment is not valid: {reason}"));
    Declined::new(reason, message)
}

#[cfg(test)]
mod tests;
