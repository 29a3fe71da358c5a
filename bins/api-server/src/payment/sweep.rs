//! Closes journal entries that have no call, and deletes expired ones.

use std::time::Duration;

use ledger::Journal;
use settlement::Settler;
use tokio::time::Instant;

use super::{PaymentProcessor, Worker};
use crate::observe;

/// The least age of an entry's last change before a sweep may close it, because a call that has
/// just claimed an entry may not be in the list of owners yet.
const UNTOUCHED_SECONDS: u64 = 60;
/// The most batches of one sweep: more than a server fills between two sweeps.
const MAX_PRUNE_BATCHES: usize = 4096;
/// The time between two deletions of the settler's old transactions.
const FORGET_EVERY: Duration = Duration::from_secs(3600);

impl<S: Settler, J: Journal, W: Worker> PaymentProcessor<S, J, W> {
    /// Sweeps at every tick, until the processor is closed.
    pub(crate) async fn keep_sweeping(&self, every: Duration) {
        let mut ticks = tokio::time::interval(every);
        ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        let mut forgets = None;
        let sweeping = async {
            loop {
                ticks.tick().await;
                self.close_orphans().await;
                self.prune().await;
                if forgets.is_none_or(|at: Instant| at.elapsed() >= FORGET_EVERY) {
                    forgets = Some(Instant::now());
                    self.forget_transactions().await;
                }
            }
        };
        self.shared.closing.run_until_cancelled(sweeping).await;
    }

    /// Closes entries whose call ended without a record: after a panic, or when the disk was full.
    pub(super) async fn close_orphans(&self) {
        let now = self.now();
        let owned = self.owned();
        let untouched_since = now.saturating_sub(UNTOUCHED_SECONDS);
        match self.journal().abandon(owned, untouched_since, now).await {
            Ok(found) if found.released + found.unknown > 0 => {
                tracing::warn!(
                    released = found.released,
                    unknown = found.unknown,
                    "orphaned calls decided"
                );
            }
            Ok(_) => {}
            Err(error) => {
                tracing::error!(code = error.code(), %error, "orphaned calls cannot be decided");
            }
        }
    }

    /// Deletes expired entries in small batches, so that paid calls get their turn between them.
    async fn prune(&self) {
        for _ in 0..MAX_PRUNE_BATCHES {
            match self.journal().prune(self.now()).await {
                Ok(pruned) => {
                    if let Some(endless) = pruned.endless {
                        observe::endless_payments(endless);
                    }
                    if !pruned.more {
                        return;
                    }
                }
                Err(error) => {
                    tracing::error!(code = error.code(), %error, "the journal cannot be pruned");
                    return;
                }
            }
        }
    }

    /// Deletes old transactions of the service. Each is kept as long as the journal keeps its
    /// payment, so that a retry or a reconciliation finds it.
    pub(super) async fn forget_transactions(&self) {
        let kept = self.shared.policy.transaction_retention;
        let before = self.now().saturating_sub(kept.as_secs());
        self.settler().forget(before).await;
    }
}
