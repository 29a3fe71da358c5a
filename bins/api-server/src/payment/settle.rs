//! Phase: the answer is stored, the payment is settled, and the charge is recorded.

use alloy_primitives::Address;
use credit::Cost;
use ledger::{
    Answer, EntryId, Journal, LedgerError, Settlement as Attempt, State, StoredAnswer,
    StoredReceipt,
};
use route_catalog::Next;
use settlement::{Cause, Receipt, Settlement, Settler};
use tokio::time::timeout;
use x402_wire::{Payment, Reason, SettlementResponse};

use super::claim::Claimed;
use super::credit_book::Earning;
use super::ended::Pending;
use super::open_entry::{OpenEntry, TRY_AGAIN_AFTER, Written};
use super::work::Answered;
use super::{Declined, Delivered, Ended, PaymentProcessor, Refusal, Worker};
use crate::observe;

/// Bytes of a `PAYMENT-RESPONSE` value. Clients refuse heads above 8 to 16 kB.
const MAX_RECEIPT_BYTES: usize = 4096;

/// A payment that was sent to a settlement and not taken.
struct Untaken {
    open: OpenEntry,
    payment: Payment,
    spent: Cost,
    wait: Next,
    url: String,
}

impl<S: Settler, J: Journal, W: Worker> PaymentProcessor<S, J, W> {
    /// Stores the answer, settles the payment, records the charge.
    pub(super) async fn settle(&self, answered: Answered) -> Result<Delivered, Ended> {
        let Answered {
            claimed,
            answer,
            spent,
        } = answered;
        let Claimed {
            open,
            payment,
            wait,
            url,
            ..
        } = claimed;
        let settle_budget = self.shared.policy.settle_budget_seconds;
        if let Err(late) = payment.check_window(self.now(), settle_budget) {
            self.release(open, late.reason().as_str(), spent).await;
            let late = Declined::from(late);
            return Err(self.advise_after_release(&payment, wait, late).await.into());
        }
        let attempt = Attempt {
            payment: payment.clone(),
            answer: answer.clone(),
        };
        let stored = self
            .journal()
            .begin_settlement(open.id, attempt, self.now());
        if let Err(error) = stored.await {
            tracing::error!(entry = %open.id, code = error.code(), %error, "an answer cannot be stored");
            self.release(open, error.code(), Cost::ZERO).await;
            return Err(Refusal::LedgerUnavailable.into());
        }
        // The settler has time limits of its own; this one only guards against one that forgets them.
        let settling = Box::pin(self.settler().settle(&payment));
        let outcome = timeout(self.shared.policy.settle_guard, settling).await;
        let untaken = |open| Untaken {
            open,
            payment,
            spent,
            wait,
            url,
        };
        match outcome {
            Ok(Settlement::Settled(receipt)) => Ok(self.settled(open, answer, receipt).await),
            Ok(Settlement::Rejected { reason, message }) => {
                Err(self.rejected(untaken(open), reason, message).await.into())
            }
            Ok(Settlement::StillOpen { reason, message }) => {
                let refused = self.still_open(untaken(open), reason, message);
                Err(refused.await.into())
            }
            Ok(Settlement::Failed {
                transaction,
                reason,
            }) => Err(self.failed(untaken(open), transaction, reason).await.into()),
            Ok(Settlement::NotSent { cause }) => {
                Err(self.not_sent(untaken(open), &cause).await.into())
            }
            Ok(Settlement::Unknown { transaction, cause }) => {
                let cause = cause.to_string();
                let unknown = self.unknown(untaken(open), transaction, cause);
                Err(unknown.await.into())
            }
            Err(_elapsed) => {
                let cause = "the settler did not return".to_owned();
                Err(self.unknown(untaken(open), None, cause).await.into())
            }
        }
    }

    /// Records a settled payment and hands out its answer.
    ///
    /// The answer is durable since before the settlement. Should the record of the settlement itself fail, the caller has
    /// paid and gets the answer all the same, and the record is tried again.
    async fn settled(&self, open: OpenEntry, answer: Answer, receipt: Receipt) -> Delivered {
        let charge = Charge::of(receipt);
        self.record(open.id, &charge, Some(open)).await;
        let stored = StoredAnswer {
            answer,
            receipt: charge.stored,
            settled_at: self.now(),
        };
        Delivered {
            stored,
            again: false,
        }
    }

    async fn rejected(&self, untaken: Untaken, reason: Reason, message: Option<String>) -> Refusal {
        let Untaken {
            open,
            payment,
            spent,
            wait,
            url,
        } = untaken;
        if !self.release(open, reason.as_str(), spent).await {
            // The journal still has the entry as settling and would send it again: not a case for a new payment.
            return pending(&payment, None, url);
        }
        let refused = Declined::by_settler(reason, message).advising(wait);
        refused_by_settler(&payment, "", refused)
    }

    /// Our own transaction has failed. It is not sent again.
    async fn failed(&self, untaken: Untaken, transaction: String, reason: Reason) -> Refusal {
        let untaken = Untaken {
            spent: untaken.spent.plus(self.shared.policy.credit.transaction),
            ..untaken
        };
        let cause = format!("own transaction failed: {reason}");
        let refused = Declined::by_settler(reason, None);
        self.keep_open(untaken, Some(transaction), cause, refused)
            .await
    }

    /// The settler has been refused, and somebody else has the authorization.
    async fn still_open(
        &self,
        untaken: Untaken,
        reason: Reason,
        message: Option<String>,
    ) -> Refusal {
        let cause = format!("refused: {reason}");
        let refused = Declined::by_settler(reason, message);
        self.keep_open(untaken, None, cause, refused).await
    }

    /// The payment was not taken, and others than the payer have seen its authorization: anybody may still execute it. So
    /// the entry stays unknown until nobody can, and its stored answer is the payer's should the money move.
    async fn keep_open(
        &self,
        untaken: Untaken,
        transaction: Option<String>,
        cause: String,
        refused: Declined,
    ) -> Refusal {
        let Untaken {
            mut open,
            payment,
            spent,
            wait,
            ..
        } = untaken;
        let debit = open.spend(spent);
        self.leave_unknown(open, transaction.clone(), cause).await;
        self.debit(payment.payer(), debit).await;
        let refused = refused.advising(wait);
        refused_by_settler(&payment, &transaction.unwrap_or_default(), refused)
    }

    async fn not_sent(&self, untaken: Untaken, cause: &Cause) -> Refusal {
        let Untaken {
            open, payment, url, ..
        } = untaken;
        tracing::warn!(entry = %open.id, %cause, "a settlement could not be sent");
        if !self.release(open, "settlement_not_sent", Cost::ZERO).await {
            return pending(&payment, None, url);
        }
        Refusal::SettlementUnavailable
    }

    async fn unknown(
        &self,
        untaken: Untaken,
        transaction: Option<String>,
        cause: String,
    ) -> Refusal {
        let Untaken {
            open, payment, url, ..
        } = untaken;
        tracing::warn!(entry = %open.id, transaction, %cause, "the outcome of a settlement is unknown");
        self.leave_unknown(open, transaction.clone(), cause).await;
        pending(&payment, transaction, url)
    }

    /// Writes down that an outcome is unknown. What only this process knows of it must not be lost to a full disk: without the
    /// transaction, reconciliation may settle once more. While it is tried again, the entry stays owned.
    async fn leave_unknown(&self, open: OpenEntry, transaction: Option<String>, cause: String) {
        let marked = self.mark_unknown(open.id, transaction.clone(), &cause);
        if marked.await != Written::NotYet {
            return;
        }
        let (processor, entry) = (self.clone(), open.id);
        self.shared.tasks.spawn(async move {
            // All of it: a block that only reads the id would drop the rest at once.
            let _owned = open;
            for seconds in TRY_AGAIN_AFTER {
                // At shutdown there is one last try, at once.
                let closing = processor.pause(seconds).await;
                let marked = processor.mark_unknown(entry, transaction.clone(), &cause);
                if marked.await != Written::NotYet || closing {
                    return;
                }
            }
        });
    }

    async fn debit(&self, payer: Address, micro_usd: u64) {
        if micro_usd == 0 {
            return;
        }
        if let Err(error) = self.journal().debit(payer, micro_usd).await {
            tracing::error!(code = error.code(), %error, "a payer's credit cannot be written");
        }
    }

    /// Writes down that an entry is settled. What is known only here must not be lost to a full disk: a facilitator may not be
    /// able to tell it a second time. While it is tried again, the call's entry stays owned and nobody reconciles it.
    pub(super) async fn record(&self, entry: EntryId, charge: &Charge, open: Option<OpenEntry>) {
        if self.try_record(entry, charge).await != Written::NotYet {
            return;
        }
        let (processor, charge) = (self.clone(), charge.clone());
        self.shared.tasks.spawn(async move {
            let _look = processor.shared.looks.begin(entry);
            for seconds in TRY_AGAIN_AFTER {
                // At shutdown there is one last try, at once.
                let closing = processor.pause(seconds).await;
                if processor.try_record(entry, &charge).await != Written::NotYet || closing {
                    return;
                }
            }
            let transaction = Some(charge.stored.transaction);
            let cause = "settled, not recorded";
            processor.mark_unknown(entry, transaction, cause).await;
            drop(open);
        });
    }

    /// One write earns and counts, however often the same settlement is found and recorded.
    async fn try_record(&self, entry: EntryId, charge: &Charge) -> Written {
        let Charge { receipt, stored } = charge;
        // The assets have six decimals, so their smallest unit is a millionth of a dollar.
        let amount = u64::try_from(receipt.amount).unwrap_or(u64::MAX);
        let amount = Cost::micro_usd(amount);
        let earning = Earning::begin(&self.shared.credit, receipt.payer, amount);
        let recorded = self.journal().settle(entry, stored.clone(), self.now());
        match recorded.await {
            Ok(()) => {
                earning.keep();
                observe::settled(receipt);
                Written::Yes
            }
            Err(LedgerError::WrongState {
                observed: State::Settled,
                ..
            }) => Written::Yes,
            Err(error) => {
                tracing::error!(%entry, code = error.code(), %error, "a settled payment cannot be recorded");
                Written::not(&error)
            }
        }
    }

    pub(super) async fn mark_unknown(
        &self,
        entry: EntryId,
        transaction: Option<String>,
        cause: &str,
    ) -> Written {
        let marked = self
            .journal()
            .mark_unknown(entry, transaction, cause, self.now());
        match marked.await {
            Ok(()) => Written::Yes,
            Err(error) => {
                // An entry that is still settling is made unknown by a sweep.
                tracing::error!(%entry, code = error.code(), %error, "an unknown outcome cannot be recorded");
                Written::not(&error)
            }
        }
    }
}

fn pending(payment: &Payment, transaction: Option<String>, url: String) -> Refusal {
    Refusal::Pending(Pending {
        network: Some(payment.requirements().network),
        payer: payment.payer(),
        transaction,
        url,
        undecidable: false,
    })
}

/// With the receipt of a settlement that was tried.
fn refused_by_settler(payment: &Payment, transaction: &str, refused: Declined) -> Refusal {
    let network = payment.requirements().network;
    let failed = SettlementResponse::failed(&refused.reason, transaction, network, payment.payer());
    let declined = Declined {
        receipt: Some(failed.to_header()),
        ..refused
    };
    declined.into()
}

/// A settlement that is to be recorded.
#[derive(Clone)]
pub(super) struct Charge {
    receipt: Receipt,
    stored: StoredReceipt,
}

impl Charge {
    pub(super) fn of(receipt: Receipt) -> Self {
        Self {
            stored: stored_receipt(receipt.clone()),
            receipt,
        }
    }
}

/// What the journal keeps of a receipt. What a facilitator adds beyond the protocol is left out when it makes the header too
/// long: a receipt that cannot be read is no receipt.
fn stored_receipt(receipt: Receipt) -> StoredReceipt {
    let mut response = receipt.into_response();
    let mut header = response.to_header();
    if header.len() > MAX_RECEIPT_BYTES {
        response.extensions = None;
        response.extra = None;
        header = response.to_header();
    }
    StoredReceipt {
        header,
        transaction: response.transaction,
    }
}
