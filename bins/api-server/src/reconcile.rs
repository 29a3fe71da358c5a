//! Deciding payments whose outcome is unknown, and keeping the journal tidy.

use std::time::Duration;

use ledger::{EntryId, Journal, RequestBinding, Undecided};
use settlement::{Reconciliation, Settler};
use x402_wire::{Payment, Reason};

use crate::paid::{Declined, Outcome, Till, standing, stored_receipt};

/// Further in the past than any paid call lasts.
const DEAD_CALL_SECONDS: u64 = 900;
const PAGE: u32 = 64;
/// At 128 entries a batch and a look every 15 seconds, more than any server takes in.
const MOST_PRUNE_BATCHES: usize = 4096;

/// What became of an undecided entry.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Decision {
    Settled,
    Released { reason: Reason },
    Undecided,
}

impl<S: Settler, J: Journal> Till<S, J> {
    /// Looks at undecided payments at every tick, for as long as the future is polled.
    pub(crate) async fn keep_reconciling(&self, every: Duration) {
        let mut ticks = tokio::time::interval(every);
        ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            self.reconcile_all().await;
            self.tidy().await;
        }
    }

    /// Looks once at every undecided payment.
    pub(crate) async fn reconcile_all(&self) {
        let mut after = None;
        loop {
            let page = match self.journal().undecided(after, PAGE).await {
                Ok(page) => page,
                Err(error) => {
                    tracing::error!(code = error.code(), %error, "undecided payments cannot be read");
                    return;
                }
            };
            let Some(last) = page.last() else { return };
            after = Some(last.entry);
            for undecided in page {
                self.reconcile(undecided).await;
            }
        }
    }

    async fn tidy(&self) {
        let now = self.now();
        match self
            .journal()
            .abandon(now.saturating_sub(DEAD_CALL_SECONDS), now)
            .await
        {
            Ok(found) if found.released + found.unknown > 0 => {
                tracing::warn!(
                    released = found.released,
                    unknown = found.unknown,
                    "dead calls decided"
                );
            }
            Ok(_) => {}
            Err(error) => {
                tracing::error!(code = error.code(), %error, "dead calls cannot be decided")
            }
        }
        // Small batches, so that paid calls get their turn between them.
        for _ in 0..MOST_PRUNE_BATCHES {
            match self.journal().prune(now).await {
                Ok(pruned) if pruned.more => {}
                Ok(_) => return,
                Err(error) => {
                    tracing::error!(code = error.code(), %error, "the journal cannot be pruned");
                    return;
                }
            }
        }
    }

    /// Asks the settler what became of one payment and writes down the answer.
    async fn reconcile(&self, undecided: Undecided) -> Decision {
        let entry = undecided.entry;
        let Some(_claim) = self.begin_reconciling(entry) else {
            return Decision::Undecided;
        };
        let payload = undecided.payload_json.as_bytes();
        let payment = match Payment::restore(payload, undecided.requirements_json.as_bytes()) {
            Ok(payment) => payment,
            Err(error) => {
                tracing::error!(%entry, %error, "a stored payment cannot be read");
                return Decision::Undecided;
            }
        };
        let known = undecided.transaction.as_deref();
        match self.settler().reconcile(&payment, known, self.now()).await {
            Reconciliation::Settled(receipt) => {
                let receipt = stored_receipt(&receipt);
                tracing::info!(%entry, transaction = %receipt.transaction, "an unknown payment was settled");
                match self.journal().settle(entry, receipt, self.now()).await {
                    Ok(()) => Decision::Settled,
                    Err(error) => {
                        tracing::error!(%entry, code = error.code(), %error, "a decision cannot be recorded");
                        Decision::Undecided
                    }
                }
            }
            Reconciliation::NotSettled { reason } => {
                tracing::info!(%entry, %reason, "an unknown payment was not settled");
                self.release(entry, reason.as_str()).await;
                Decision::Released { reason }
            }
            Reconciliation::Undecided { transaction, cause } => {
                tracing::debug!(%entry, %cause, "a payment is still undecided");
                if transaction.is_some() && transaction != undecided.transaction {
                    self.unknown(entry, transaction, &cause.to_string()).await;
                }
                Decision::Undecided
            }
        }
    }

    /// A caller presents a payment whose outcome is unknown: decide it now if that is possible, then answer from the
    /// journal.
    pub(crate) async fn decide_and_answer(
        &self,
        entry: EntryId,
        payment: &Payment,
        request: &RequestBinding,
    ) -> Outcome {
        // The page after the entry before it: the entry itself, unless it has been decided meanwhile.
        let before = EntryId::new(entry.number().saturating_sub(1));
        let decision = match self.journal().undecided(Some(before), 1).await {
            Ok(page) => match page.into_iter().find(|undecided| undecided.entry == entry) {
                Some(undecided) => self.reconcile(undecided).await,
                None => Decision::Undecided,
            },
            Err(error) => {
                tracing::error!(%entry, code = error.code(), %error, "an entry cannot be read");
                Decision::Undecided
            }
        };
        if let Decision::Released { reason } = decision {
            let message =
                "the earlier settlement of this payment did not happen; nothing was charged";
            return Outcome::Declined(Declined::new(reason, message));
        }
        match self
            .journal()
            .find(&payment.key(), request, self.now())
            .await
        {
            Ok(Some(standing)) => standing::outcome(standing, payment),
            Ok(None) | Err(_) => standing::pending(payment, None),
        }
    }
}
