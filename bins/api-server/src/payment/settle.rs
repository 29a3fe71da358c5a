//! Stage: the answer is stored, then the payment is settled, then the charge is recorded.
//!
//! The settler is asked to settle a payment once. An outcome that it does not know is left to
//! [`reconcile`](super::reconcile).

use alloy_primitives::Address;
use credit::Cost;
use ledger::{EntryId, Journal, PaidAnswer, Spent, StoredAnswer};
use route_catalog::Next;
use settlement::{Cause, Receipt, RemoteCall, Settlement, Settler};
use tokio::time::timeout;
use x402_wire::{Payment, Reason, Scheme, SettlementResponse};

use super::call::Presented;
use super::claim::Claimed;
use super::open_entry::{OpenEntry, Written, pauses};
use super::recognise::Released;
use super::record::{Charge, Sold};
use super::work::Answered;
use super::{Declined, Delivered, Ended, PaymentProcessor, Refusal, Worker};

impl<S: Settler, J: Journal, W: Worker> PaymentProcessor<S, J, W> {
    /// Stores the answer, settles the payment, records the charge.
    pub(super) async fn settle(&self, answered: Answered) -> Result<Delivered, Ended> {
        let Answered {
            claimed,
            answer,
            spent,
            stays,
        } = answered;
        let settle_budget = self.shared.policy.settle_budget_seconds;
        if let Err(late) = claimed.payment.check_window(self.now(), settle_budget) {
            let late = self.too_late(*claimed, spent, late.into());
            return Err(Box::pin(late).await.into());
        }
        let entry = claimed.open.id;
        let attempt = Sold::new(&claimed, &answer).attempt();
        let stored = self.journal().begin_settlement(entry, attempt, self.now());
        if let Err(error) = stored.await {
            tracing::error!(%entry, code = error.code(), %error, "an answer cannot be stored");
            Box::pin(self.release(claimed.open, error.code(), stays)).await;
            return Err(Refusal::LedgerUnavailable.into());
        }
        // The settler has time limits of its own; this one only guards against a settler that
        // exceeds them.
        let settling = Box::pin(self.settler().settle(&claimed.payment));
        // Failures are rare, so their futures are on the heap.
        let ended = match timeout(self.shared.policy.settle_guard, settling).await {
            Ok(Settlement::Settled(receipt)) => {
                return Ok(self.settled(claimed, answer, receipt).await);
            }
            Ok(
                Settlement::Rejected { reason, message }
                | Settlement::StillOpen { reason, message },
            ) if claimed.payment.scheme() == Scheme::AggrDeferred => {
                Box::pin(self.refused_for_good(claimed, spent, reason, message)).await
            }
            Ok(Settlement::Rejected { reason, message }) => {
                Box::pin(self.rejected(claimed, spent, reason, message)).await
            }
            Ok(Settlement::StillOpen { reason, message }) => {
                Box::pin(self.still_open(claimed, spent, reason, message)).await
            }
            Ok(Settlement::Failed {
                transaction,
                reason,
            }) => Box::pin(self.failed(claimed, spent, transaction, reason)).await,
            Ok(Settlement::NotSent { cause }) => {
                Box::pin(self.not_sent(claimed, stays, &cause)).await
            }
            Ok(Settlement::Unknown { transaction, cause }) => {
                Box::pin(self.unknown(claimed, spent, transaction, cause)).await
            }
            Err(_elapsed) => {
                let cause = Cause::Timeout {
                    call: RemoteCall::Settle,
                    after: self.shared.policy.settle_guard,
                };
                Box::pin(self.unknown(claimed, spent, None, cause)).await
            }
        };
        Err(ended.into())
    }

    /// Ends a call whose payment window closed before the settlement.
    pub(super) async fn too_late(&self, claimed: Claimed, spent: Cost, late: Declined) -> Refusal {
        let released = Released::too_late(&claimed);
        self.release(claimed.open, late.reason.as_str(), spent)
            .await;
        self.advise_after_release(released, late).await
    }

    /// Records a settled payment and delivers its answer.
    ///
    /// The answer was stored before the settlement. When the record of the settlement cannot be
    /// written, the caller has still paid: it gets the answer, and the write is tried again.
    async fn settled(
        &self,
        claimed: Box<Claimed>,
        answer: PaidAnswer,
        receipt: Receipt,
    ) -> Delivered {
        let charge = Charge::of(&claimed.payment, receipt);
        let entry = claimed.open.id;
        self.record(entry, &charge, Some((claimed, &answer))).await;
        let stored = StoredAnswer {
            answer,
            receipt: charge.stored,
            settled_at: self.now(),
            entry,
            is_repetition: false,
        };
        Delivered {
            stored,
            again: false,
        }
    }

    async fn rejected(
        &self,
        claimed: Box<Claimed>,
        spent: Cost,
        reason: Reason,
        message: Option<String>,
    ) -> Refusal {
        let payment = claimed.payment;
        if !self.release(claimed.open, reason.as_str(), spent).await {
            // The journal still has the entry as settling and would send it again, so the payer
            // must not sign a new payment.
            return self.pending(&payment.key(), None);
        }
        let next = self.after_attempt(&Presented::of(&payment)).await;
        let refused = Declined::by_settler(reason, message);
        with_receipt(&payment, "", refused.advising(next)).into()
    }

    /// Ends a call whose deferred payment the broker has refused. The broker alone could settle it,
    /// so it is retired: no server takes it again, and its payer may sign a new one.
    async fn refused_for_good(
        &self,
        claimed: Box<Claimed>,
        spent: Cost,
        reason: Reason,
        message: Option<String>,
    ) -> Refusal {
        let (entry, payment) = (claimed.open.id, claimed.payment);
        if !self.release(claimed.open, reason.as_str(), spent).await
            || !self.retire_refused(entry).await
        {
            return self.pending(&payment.key(), None);
        }
        let refused = Declined::by_settler(reason, message);
        with_receipt(&payment, "", refused.advising(Next::SignNew)).into()
    }

    /// Ends a call whose settlement transaction of this server failed. It is not sent again.
    async fn failed(
        &self,
        claimed: Box<Claimed>,
        spent: Cost,
        transaction: String,
        reason: Reason,
    ) -> Refusal {
        let spent = spent.plus(self.shared.policy.credit.transaction);
        self.shared.looks.learn_failure(claimed.open.id);
        let cause = format!("own transaction failed: {reason}");
        let refused = Declined::by_settler(reason, None);
        self.keep_open(claimed, spent, Some(transaction), cause, refused)
            .await
    }

    /// Ends a call whose payment a remote party refused. That party holds the authorization.
    async fn still_open(
        &self,
        claimed: Box<Claimed>,
        spent: Cost,
        reason: Reason,
        message: Option<String>,
    ) -> Refusal {
        let cause = format!("refused: {reason}");
        let refused = Declined::by_settler(reason, message);
        self.keep_open(claimed, spent, None, cause, refused).await
    }

    /// Keeps the entry of a refused payment unknown until its authorization can no longer be
    /// executed, because others have seen it. If the money moves, the payer gets the stored answer.
    async fn keep_open(
        &self,
        mut claimed: Box<Claimed>,
        spent: Cost,
        transaction: Option<String>,
        cause: String,
        refused: Declined,
    ) -> Refusal {
        let debit = claimed.open.spend(spent);
        self.leave_unknown(claimed.open, transaction.clone(), cause)
            .await;
        self.debit(claimed.payment.payer(), debit).await;
        let transaction = transaction.unwrap_or_default();
        // Others may have seen the authorization.
        let next = self.wait(&Presented::of(&claimed.payment));
        with_receipt(&claimed.payment, &transaction, refused.advising(next)).into()
    }

    /// Ends a call whose settlement this server could not send. The payer pays only for what stays.
    async fn not_sent(&self, claimed: Box<Claimed>, stays: Cost, cause: &Cause) -> Refusal {
        let entry = claimed.open.id;
        tracing::warn!(%entry, %cause, "a settlement could not be sent");
        let released = self.release(claimed.open, "settlement_not_sent", stays);
        if !released.await {
            return self.pending(&claimed.payment.key(), None);
        }
        Refusal::SettlementUnavailable
    }

    /// Ends a call whose settlement has an unknown outcome. Credit pays for the work, because a
    /// payer can cause this outcome. If the payment turns out to be settled, it earns more credit
    /// than the work took.
    async fn unknown(
        &self,
        mut claimed: Box<Claimed>,
        spent: Cost,
        transaction: Option<String>,
        cause: Cause,
    ) -> Refusal {
        let entry = claimed.open.id;
        tracing::warn!(%entry, transaction, %cause, "the outcome of a settlement is unknown");
        let debit = claimed.open.spend(spent);
        self.leave_unknown(claimed.open, transaction.clone(), cause.to_string())
            .await;
        self.debit(claimed.payment.payer(), debit).await;
        self.pending(&claimed.payment.key(), transaction)
    }

    /// Records that an outcome is unknown. A full disk must not lose the transaction, which only
    /// this process knows: without it, reconciliation may settle once more. The entry stays owned
    /// while the write is tried again.
    async fn leave_unknown(&self, open: OpenEntry, transaction: Option<String>, cause: String) {
        let marked = self.mark_unknown(open.id, transaction.clone(), &cause);
        if marked.await != Written::NotYet {
            return;
        }
        let (processor, entry) = (self.clone(), open.id);
        self.shared.tasks.spawn(async move {
            // Moves the whole entry into the task; reading only the id would drop the rest now.
            let _owned = open;
            for seconds in pauses() {
                // At shutdown there is one last try, without a pause.
                let closing = processor.pause(seconds).await;
                let marked = processor.mark_unknown(entry, transaction.clone(), &cause);
                if marked.await != Written::NotYet || closing {
                    return;
                }
            }
        });
    }

    pub(super) async fn debit(&self, payer: Address, spent: Spent) {
        if spent == Spent::NOTHING {
            return;
        }
        if let Err(error) = self.journal().debit(payer, spent, self.now()).await {
            tracing::error!(code = error.code(), %error, "the cost of uncharged work cannot be recorded");
        }
    }

    pub(super) async fn mark_unknown(
        &self,
        entry: EntryId,
        transaction: Option<String>,
        cause: &str,
    ) -> Written {
        let known = transaction.clone();
        let marked = self
            .journal()
            .mark_unknown(entry, transaction, cause, self.now());
        match marked.await {
            Ok(()) => Written::Yes,
            Err(error) => {
                // A sweep makes an entry that is still settling unknown. Only this process and the
                // log have the transaction then.
                tracing::error!(%entry, transaction = known, code = error.code(), %error, "an unknown outcome cannot be recorded");
                Written::not_by_owner(&error)
            }
        }
    }
}

/// Adds the receipt of a failed settlement.
fn with_receipt(payment: &Payment, transaction: &str, refused: Declined) -> Declined {
    let network = payment.requirements().network;
    let failed = SettlementResponse::failed(&refused.reason, transaction, network, payment.payer());
    Declined {
        receipt: Some(failed.to_header()),
        ..refused
    }
}
