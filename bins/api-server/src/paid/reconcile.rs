//! Deciding payments whose outcome is unknown, and keeping the journal tidy.

use std::sync::PoisonError;
use std::time::Duration;

use ledger::{EntryId, Journal, RequestBinding, Undecided};
use settlement::{Reconciliation, Settler};
use tokio::task::JoinHandle;
use x402_wire::{Payment, Reason};

use super::visit::stored_receipt;
use super::{Declined, Outcome, Till, standing};
use crate::observe;

/// Further in the past than any paid call lasts.
const DEAD_CALL_SECONDS: u64 = 900;
/// Undecided payments that are looked at side by side.
const AT_ONCE: u32 = 8;
const LONGEST_PAUSE_SECONDS: u64 = 3600;
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
    /// Looks at undecided payments at every tick, until the till is closed.
    pub(crate) async fn keep_reconciling(&self, every: Duration) {
        let mut ticks = tokio::time::interval(every);
        ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        let look = async {
            loop {
                ticks.tick().await;
                self.tidy().await;
                self.reconcile_all().await;
            }
        };
        // What a look has begun goes on in tasks of its own.
        self.shared.closing.run_until_cancelled(look).await;
    }

    /// Looks once at every undecided payment whose time has come, a few at a time.
    async fn reconcile_all(&self) {
        let mut after = None;
        let mut open: usize = 0;
        loop {
            let page = match self.journal().undecided(after, AT_ONCE).await {
                Ok(page) => page,
                Err(error) => {
                    tracing::error!(code = error.code(), %error, "undecided payments cannot be read");
                    return;
                }
            };
            let Some(last) = page.last() else { break };
            open = open.saturating_add(page.len());
            after = Some(last.entry);
            let now = self.now();
            let due = page
                .into_iter()
                .filter(|undecided| self.is_due(undecided, now));
            let looks: Vec<_> = due.map(|undecided| self.begin(undecided)).collect();
            for look in looks {
                drop(look.await);
            }
        }
        observe::undecided(open);
    }

    /// Decides in a task of its own: a facilitator that was asked half a question may have settled.
    fn begin(&self, undecided: Undecided) -> JoinHandle<Decision> {
        let till = self.clone();
        self.shared
            .visits
            .spawn(async move { till.reconcile(undecided).await })
    }

    fn is_due(&self, undecided: &Undecided, now: u64) -> bool {
        let looks = self
            .shared
            .next_look
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        looks.get(&undecided.entry).is_none_or(|next| *next <= now)
    }

    /// Looks at old riddles ever more rarely.
    fn look_again_later(&self, undecided: &Undecided) {
        let now = self.now();
        let pause = (now.saturating_sub(undecided.since) / 4).min(LONGEST_PAUSE_SECONDS);
        let mut looks = self
            .shared
            .next_look
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        looks.insert(undecided.entry, now.saturating_add(pause));
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
        let decision = self.decide(&undecided).await;
        if decision == Decision::Undecided {
            self.look_again_later(&undecided);
        } else {
            let mut looks = self
                .shared
                .next_look
                .lock()
                .unwrap_or_else(PoisonError::into_inner);
            looks.remove(&entry);
        }
        decision
    }

    async fn decide(&self, undecided: &Undecided) -> Decision {
        let entry = undecided.entry;
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
                observe::settled(&receipt);
                let receipt = stored_receipt(receipt);
                tracing::info!(%entry, transaction = %receipt.transaction, "an unknown payment was settled");
                self.record(entry, &receipt).await;
                Decision::Settled
            }
            Reconciliation::NotSettled { reason } => {
                tracing::info!(%entry, %reason, "an unknown payment was not settled");
                if self.release(entry, reason.as_str()).await {
                    Decision::Released { reason }
                } else {
                    Decision::Undecided
                }
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
                Some(undecided) => self.begin(undecided).await.unwrap_or(Decision::Undecided),
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
