//! The record of a charge: the settlement has happened, and the journal must learn it.

use credit::Cost;
use ledger::{EntryId, Journal, LedgerError, PaidAnswer, PendingSettlement, State, StoredReceipt};
use settlement::{Receipt, Settler};
use x402_wire::{AuthorizationKey, Payment};

use super::claim::Claimed;
use super::credit_book::Earning;
use super::open_entry::{Written, pauses};
use super::{PaymentProcessor, Worker};
use crate::observe;

/// The most bytes of a `PAYMENT-RESPONSE` value. Clients refuse heads above 8 to 16 kB.
const MAX_RECEIPT_BYTES: usize = 4096;

impl<S: Settler, J: Journal, W: Worker> PaymentProcessor<S, J, W> {
    /// Records that an entry is settled. A full disk must not lose the receipt, because a
    /// facilitator may not give it again. While the write is tried again, the call's entry stays
    /// owned, so it is not reconciled.
    ///
    /// `call` is the call that has settled the entry, with its answer. A look at an unknown entry
    /// has none.
    pub(super) async fn record(
        &self,
        entry: EntryId,
        charge: &Charge,
        call: Option<(Box<Claimed>, &PaidAnswer)>,
    ) {
        let sold = call
            .as_ref()
            .map(|(claimed, answer)| Sold::new(claimed, answer));
        if self.try_record(entry, charge, sold).await != Written::NotYet {
            return;
        }
        let (processor, charge) = (self.clone(), charge.clone());
        let owner = call.map(|(claimed, answer)| (claimed, answer.clone()));
        self.shared.tasks.spawn(async move {
            let sold = owner
                .as_ref()
                .map(|(claimed, answer)| Sold::new(claimed, answer));
            let _look = processor.shared.looks.begin(entry);
            for seconds in pauses() {
                // At shutdown there is one last try, without a pause.
                let closing = processor.pause(seconds).await;
                if processor.try_record(entry, &charge, sold).await != Written::NotYet {
                    return;
                }
                if closing {
                    break;
                }
            }
            let transaction = Some(charge.stored.transaction);
            let cause = "settled, not recorded";
            processor.mark_unknown(entry, transaction, cause).await;
            drop(owner);
        });
    }

    /// Tries to record a charge. However often a settlement is found, it earns credit and counts
    /// once.
    async fn try_record(&self, entry: EntryId, charge: &Charge, sold: Option<Sold<'_>>) -> Written {
        let Charge {
            key,
            receipt,
            stored,
        } = charge;
        // The assets have six decimals, so their smallest unit is a millionth of a dollar.
        let amount = u64::try_from(receipt.amount).unwrap_or(u64::MAX);
        let amount = Cost::micro_usd(amount);
        let earning = Earning::begin(&self.shared.credit, receipt.payer, amount);
        let settle = || {
            let stored = stored.clone();
            self.journal().settle(entry, *key, stored, self.now())
        };
        let mut recorded = settle().await;
        if let (Some(sold), Err(LedgerError::WrongState { observed, .. })) = (sold, &recorded)
            && matches!(observed, State::Reserved | State::Working)
        {
            recorded = match self.store_again(entry, sold).await {
                Ok(()) => settle().await,
                Err(error) => Err(error),
            };
        }
        match recorded {
            Ok(()) => {
                earning.keep();
                self.shared.waiting.decided(entry);
                observe::settled(receipt);
                Written::Yes
            }
            Err(LedgerError::WrongState {
                observed: State::Settled,
                ..
            }) => Written::Yes,
            Err(error) => {
                // Until it is recorded, only this process and the log have the transaction.
                let transaction = &stored.transaction;
                tracing::error!(
                    %entry, transaction, code = error.code(), %error, "a settled payment cannot be recorded"
                );
                Written::not(&error)
            }
        }
    }

    /// Stores an answer once more. A replica of the database that has taken over may lack it,
    /// although it has the entry.
    async fn store_again(&self, entry: EntryId, sold: Sold<'_>) -> Result<(), LedgerError> {
        tracing::warn!(%entry, "the journal has lost the answer of a settled payment; it is stored again");
        let attempt = sold.attempt();
        let stored = self.journal().begin_settlement(entry, attempt, self.now());
        match stored.await {
            // An earlier try has stored it.
            Err(LedgerError::WrongState { .. }) => Ok(()),
            stored => stored,
        }
    }
}

/// A call and the answer that its payment buys.
#[derive(Clone, Copy)]
pub(super) struct Sold<'a> {
    claimed: &'a Claimed,
    answer: &'a PaidAnswer,
}

impl<'a> Sold<'a> {
    pub(super) fn new(claimed: &'a Claimed, answer: &'a PaidAnswer) -> Self {
        Self { claimed, answer }
    }

    /// The data that the journal stores before the settlement.
    pub(super) fn attempt(&self) -> PendingSettlement {
        PendingSettlement {
            payment: self.claimed.payment.clone(),
            answer: self.answer.clone(),
            private: self.claimed.work.is_private(),
        }
    }
}

/// A settlement that must be recorded.
#[derive(Clone)]
pub(super) struct Charge {
    key: AuthorizationKey,
    receipt: Receipt,
    pub(super) stored: StoredReceipt,
}

impl Charge {
    pub(super) fn of(payment: &Payment, receipt: Receipt) -> Self {
        Self {
            key: payment.key(),
            stored: stored_receipt(receipt.clone()),
            receipt,
        }
    }
}

/// The receipt in the journal's form. Members that a facilitator adds to the protocol are left out
/// when they make the header too long for clients.
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
