//! The use of a long window, written down in slices of time and ahead of the use itself.
//!
//! A call waits for a write only when its slice has no unused weight in the store. A write adds as
//! much as the slice has so far, at most a 64th of the budget, so that a busy window costs about a
//! hundred writes. After a restart a window counts at least its real use and at most twice as much.
//! A budget of less than 128 is counted exactly.

use std::{
    sync::{Arc, OnceLock},
    time::Duration,
};

use jiff::Timestamp;
use tokio::sync::Mutex;

use super::{QuotaStore, QuotaStoreError, Rate, window::TRANSIT};

/// The shortest window that is written down, in seconds. A shorter window is over before a server
/// has restarted.
const LEAST_WINDOW: u32 = 60;
/// The number of slices of a window.
const SLICES: u32 = 60;
/// The divisor of a budget that gives the most weight written ahead of its use.
const AHEAD: u32 = 64;

/// Where the use of one family's window is kept.
pub(super) struct KeptUse {
    window_seconds: u64,
    slice_seconds: u64,
    most_ahead: u64,
    store: OnceLock<Arc<dyn QuotaStore>>,
    /// Held during a write, so that all calls that need it wait for one write instead of one each.
    slice: Mutex<Slice>,
}

/// The use of one slice by this process.
#[derive(Default)]
struct Slice {
    begins: u64,
    used: u64,
    written: u64,
    /// Whether the last write failed.
    failing: bool,
}

impl Slice {
    /// Uses `weight`, and returns the weight to write down first: nothing while the use is covered.
    fn take(&mut self, begins: u64, weight: u64, most_ahead: u64) -> Option<u64> {
        if self.begins != begins {
            *self = Self {
                begins,
                failing: self.failing,
                ..Self::default()
            };
        }
        self.used = self.used.saturating_add(weight);
        let missing = self.used.saturating_sub(self.written);
        (missing > 0).then(|| missing.max(self.written.min(most_ahead)))
    }
}

impl KeptUse {
    /// `None` for a window that is too short.
    pub(super) fn of(rate: Rate) -> Option<Self> {
        let long = rate.seconds >= LEAST_WINDOW;
        long.then(|| Self {
            window_seconds: u64::from(rate.seconds).saturating_add(TRANSIT.as_secs()),
            slice_seconds: u64::from(rate.seconds / SLICES).max(1),
            most_ahead: u64::from(rate.weight / AHEAD),
            store: OnceLock::new(),
            slice: Mutex::default(),
        })
    }

    /// From now on, keeps the use in `store`. Returns the use that is already there: its age and
    /// its weight. A slice counts as if all of it had been used at its end.
    pub(super) async fn resume(
        &self,
        store: Arc<dyn QuotaStore>,
        family: &str,
        now: Timestamp,
    ) -> Result<Vec<(Duration, u32)>, QuotaStoreError> {
        let spent = store.spent(family, self.oldest(now)).await?;
        let aged = |(slice, weight): (u64, u64)| {
            let end = Duration::from_secs(slice.saturating_add(self.slice_seconds));
            let age = since_epoch(now).saturating_sub(end);
            (age, u32::try_from(weight).unwrap_or(u32::MAX))
        };
        let spent = spent.into_iter().map(aged).collect();
        // `set` keeps the store that was set first.
        let _ = self.store.set(store);
        Ok(spent)
    }

    /// Uses `weight` now, and first writes it down if no earlier write covers it. The budget is
    /// also kept in memory: a failing store stops no call.
    pub(super) async fn spend(&self, family: &str, weight: u32, now: Timestamp) {
        let Some(store) = self.store.get() else {
            return;
        };
        let seconds = since_epoch(now).as_secs();
        let into = seconds.checked_rem(self.slice_seconds).unwrap_or(0);
        let begins = seconds.saturating_sub(into);
        let mut slice = self.slice.lock().await;
        let Some(more) = slice.take(begins, weight.into(), self.most_ahead) else {
            return;
        };
        match store.spend(family, begins, more, self.oldest(now)).await {
            Ok(()) => {
                slice.written = slice.written.saturating_add(more);
                slice.failing = false;
            }
            Err(error) => {
                if !slice.failing {
                    tracing::error!(family, %error, "the use of a budget could not be stored: a restart would forget it");
                }
                slice.failing = true;
            }
        }
    }

    /// Where the first slice begins that a window from now on can contain.
    fn oldest(&self, now: Timestamp) -> u64 {
        let reach = self.window_seconds.saturating_add(self.slice_seconds);
        since_epoch(now).as_secs().saturating_sub(reach)
    }
}

fn since_epoch(now: Timestamp) -> Duration {
    Duration::try_from(now.duration_since(Timestamp::UNIX_EPOCH)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slice_is_written_ahead_of_its_use_in_few_writes() {
        let (mut slice, mut writes) = (Slice::default(), 0);
        for call in 1..=1_000 {
            if let Some(more) = slice.take(60, 1, 100) {
                slice.written += more;
                writes += 1;
            }
            assert!(
                (call..=2 * call).contains(&slice.written) && slice.written < call + 100,
                "{call}"
            );
        }
        // 1, 2, 4, … 128, 228, … 1,028.
        assert_eq!(writes, 17);
        // A weight above the amount written ahead is covered as a whole.
        assert_eq!(slice.take(60, 5_000, 100), Some(4_972));
    }

    #[test]
    fn a_small_budget_is_written_as_it_is_used() {
        let mut slice = Slice::default();
        for _ in 0..5 {
            assert_eq!(slice.take(60, 1, 1), Some(1));
            slice.written += 1;
        }
    }

    #[test]
    fn the_next_slice_begins_with_nothing() {
        let mut slice = Slice::default();
        slice.written += slice.take(60, 7, 100).unwrap();
        assert_eq!(slice.take(61, 2, 100), Some(2));
    }

    /// The next call writes what a cancelled or failed write left out.
    #[test]
    fn the_next_write_makes_up_for_a_missing_one() {
        let mut slice = Slice::default();
        assert_eq!(slice.take(60, 7, 100), Some(7));
        assert_eq!(slice.take(60, 1, 100), Some(8));
    }
}
