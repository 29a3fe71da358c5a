//! The unknown payments that are being decided, and the time of the next look at each.

use std::collections::{HashMap, HashSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

use ledger::{EntryId, Undecided};

/// The longest pause between two looks at the same payment.
const LONGEST_PAUSE_SECONDS: u64 = 3600;

/// The tasks that look at unknown payments, and the time of the next look at each.
#[derive(Default)]
pub(super) struct Looks {
    state: Mutex<LookState>,
}

#[derive(Default)]
struct LookState {
    under_way: HashSet<EntryId>,
    /// The time of the next look, in Unix seconds.
    next: HashMap<EntryId, u64>,
    /// Entries whose own transaction failed and was charged.
    failed: HashSet<EntryId>,
}

impl Looks {
    fn lock(&self) -> MutexGuard<'_, LookState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the right to decide a payment. `None` when another task has it.
    pub(super) fn begin(&self, entry: EntryId) -> Option<Look<'_>> {
        let fresh = self.lock().under_way.insert(entry);
        // The drop of a look ends it, so only the fresh one may exist.
        fresh.then(|| Look { entry, looks: self })
    }

    pub(super) fn is_due(&self, entry: EntryId, now: u64) -> bool {
        let state = self.lock();
        state.next.get(&entry).is_none_or(|next| *next <= now)
    }

    /// Sets when a payment is looked at again: the older it is, the later.
    pub(super) fn look_again(&self, undecided: &Undecided, now: u64) {
        let pause = (now.saturating_sub(undecided.since) / 4).min(LONGEST_PAUSE_SECONDS);
        let next = now.saturating_add(pause);
        self.lock().next.insert(undecided.entry, next);
    }

    /// Notes that our own transaction for an entry has failed. Returns whether that is new to this
    /// process.
    pub(super) fn learn_failure(&self, entry: EntryId) -> bool {
        self.lock().failed.insert(entry)
    }

    pub(super) fn forget(&self, entry: EntryId) {
        let mut state = self.lock();
        state.next.remove(&entry);
        state.failed.remove(&entry);
    }
}

/// The right to decide a payment, given back when dropped.
pub(super) struct Look<'a> {
    entry: EntryId,
    looks: &'a Looks,
}

impl Drop for Look<'_> {
    fn drop(&mut self) {
        self.looks.lock().under_way.remove(&self.entry);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_task_at_a_time_looks_at_a_payment() {
        let (looks, entry) = (Looks::default(), EntryId::new(7));
        let first = looks.begin(entry);
        assert!(first.is_some());
        for _ in 0..2 {
            assert!(looks.begin(entry).is_none());
        }
        drop(first);
        assert!(looks.begin(entry).is_some());
    }
}
