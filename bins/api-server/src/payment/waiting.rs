//! The authorizations that wait for an earlier purchase of their payer, by the entry of the
//! purchase.
//!
//! A waiting call has no place, no credit and no entry. It is woken when this process learns of the
//! decision. Another server's decision is found in the journal, where one of the calls that wait
//! for an entry looks from time to time.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use alloy_primitives::Address;
use ledger::EntryId;
use tokio::sync::Notify;
use tokio::sync::futures::OwnedNotified;
use tokio::time::Instant;

/// The most authorizations of one payer that wait in this process.
pub(crate) const MAX_WAITING: usize = 64;

/// The most authorizations of all payers that wait in this process.
const MOST_WAITING: usize = 4_096;

/// The time between two looks at an entry, whatever the number of calls that wait for it.
pub(super) const LOOK_EVERY: Duration = Duration::from_millis(250);

/// The waiting calls of this process.
#[derive(Default)]
pub(super) struct Waiting {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    payers: HashMap<Address, usize>,
    groups: HashMap<EntryId, Group>,
}

/// The calls that wait for one entry.
#[derive(Default)]
struct Group {
    calls: usize,
    decided: Arc<Notify>,
    looked_at: Option<Instant>,
}

impl Waiting {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins to wait. `None` when too many calls, or too many of the payer, wait already.
    pub(super) fn join(self: &Arc<Self>, payer: Address, entry: EntryId) -> Option<Waiter> {
        let mut state = self.lock();
        if state
            .groups
            .values()
            .map(|group| group.calls)
            .sum::<usize>()
            >= MOST_WAITING
        {
            return None;
        }
        let of_payer = state.payers.entry(payer).or_default();
        if *of_payer >= MAX_WAITING {
            return None;
        }
        *of_payer = of_payer.saturating_add(1);
        let group = state.groups.entry(entry).or_default();
        group.calls = group.calls.saturating_add(1);
        let decided = Arc::clone(&group.decided);
        let is_first = group.calls == 1;
        drop(state);
        Some(Waiter {
            waiting: Arc::clone(self),
            payer,
            entry,
            decided,
            is_first,
        })
    }

    /// Wakes the calls that wait for an entry, because it is decided.
    pub(super) fn decided(&self, entry: EntryId) {
        if let Some(group) = self.lock().groups.get(&entry) {
            group.decided.notify_waiters();
        }
    }

    /// Whether no call waits.
    #[cfg(test)]
    pub(super) fn is_empty(&self) -> bool {
        let state = self.lock();
        state.payers.is_empty() && state.groups.is_empty()
    }
}

/// One waiting call. It ends when this is dropped.
pub(super) struct Waiter {
    waiting: Arc<Waiting>,
    payer: Address,
    entry: EntryId,
    decided: Arc<Notify>,
    /// Whether no other call waited for the entry before.
    pub(super) is_first: bool,
}

impl Waiter {
    /// Resolves when the entry is decided after this call.
    pub(super) fn decided(&self) -> OwnedNotified {
        Arc::clone(&self.decided).notified_owned()
    }

    /// Whether this call looks at the entry now. Of all that wait for the entry, one looks in each
    /// interval.
    pub(super) fn looks_now(&self) -> bool {
        let now = Instant::now();
        let mut state = self.waiting.lock();
        let Some(group) = state.groups.get_mut(&self.entry) else {
            return true;
        };
        let is_due = group
            .looked_at
            .is_none_or(|at| now.duration_since(at) >= LOOK_EVERY);
        if is_due {
            group.looked_at = Some(now);
        }
        is_due
    }

    /// Wakes the other calls that wait for the entry.
    pub(super) fn tell_others(&self) {
        self.decided.notify_waiters();
    }
}

impl Drop for Waiter {
    fn drop(&mut self) {
        let mut state = self.waiting.lock();
        if let Some(calls) = state.payers.get_mut(&self.payer) {
            *calls = calls.saturating_sub(1);
            if *calls == 0 {
                state.payers.remove(&self.payer);
            }
        }
        if let Some(group) = state.groups.get_mut(&self.entry) {
            group.calls = group.calls.saturating_sub(1);
            if group.calls == 0 {
                state.groups.remove(&self.entry);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAYER: Address = Address::repeat_byte(1);

    #[test]
    fn each_payer_has_a_limited_number_of_waiting_calls() {
        let waiting = Arc::new(Waiting::default());
        let entry = |number| EntryId::new(i64::try_from(number).unwrap());
        let mut waiters: Vec<_> = (0..MAX_WAITING)
            .map(|number| waiting.join(PAYER, entry(number % 3)).unwrap())
            .collect();
        assert!(waiting.join(PAYER, entry(0)).is_none());
        assert!(waiting.join(Address::repeat_byte(2), entry(0)).is_some());
        waiters.pop();
        assert!(waiting.join(PAYER, entry(0)).is_some());
        drop(waiters);
        assert!(waiting.is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn a_decision_wakes_every_call_and_one_of_them_looks() {
        let waiting = Arc::new(Waiting::default());
        let entry = EntryId::new(7);
        let (first, second) = (
            waiting.join(PAYER, entry).unwrap(),
            waiting.join(PAYER, entry).unwrap(),
        );
        assert!(first.is_first && !second.is_first);
        let woken = (first.decided(), second.decided());
        waiting.decided(EntryId::new(8));
        waiting.decided(entry);
        tokio::join!(woken.0, woken.1);
        assert!(first.looks_now() && !second.looks_now());
        tokio::time::advance(LOOK_EVERY).await;
        assert!(second.looks_now() && !first.looks_now());
    }
}
