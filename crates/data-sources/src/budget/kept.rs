//! What was used of a long window, written down in slices of time.

use std::{
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use jiff::Timestamp;

use super::{QuotaStore, QuotaStoreError, Rate, window::TRANSIT};

/// The shortest window that is written down, in seconds: what is shorter is over before a server has
/// started again.
const LEAST_WINDOW: u32 = 60;
/// Slices of a window.
const SLICES: u32 = 60;

/// Where the use of one family's window is kept.
pub(super) struct KeptUse {
    window_seconds: u64,
    slice_seconds: u64,
    store: OnceLock<Arc<dyn QuotaStore>>,
    failing: AtomicBool,
}

impl KeptUse {
    /// `None` for a window that is too short.
    pub(super) fn of(rate: Rate) -> Option<Self> {
        let long = rate.seconds >= LEAST_WINDOW;
        long.then(|| Self {
            window_seconds: u64::from(rate.seconds).saturating_add(TRANSIT.as_secs()),
            slice_seconds: u64::from(rate.seconds / SLICES).max(1),
            store: OnceLock::new(),
            failing: AtomicBool::new(false),
        })
    }

    /// Keeps the use in `store` from now on, and gives what is there: how long ago, and how much. A
    /// slice counts as if all of it had been used at its end.
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
        // The first store stays.
        let _ = self.store.set(store);
        Ok(spent)
    }

    /// Writes down that `weight` is used now. A budget is kept in memory as well: a store that fails
    /// stops no call.
    pub(super) async fn spend(&self, family: &str, weight: u32, now: Timestamp) {
        let Some(store) = self.store.get() else {
            return;
        };
        let seconds = since_epoch(now).as_secs();
        let begun = seconds.checked_rem(self.slice_seconds).unwrap_or(0);
        let slice = seconds.saturating_sub(begun);
        let written = store.spend(family, slice, weight.into(), self.oldest(now));
        let failed = match written.await {
            Ok(()) => false,
            Err(error) => {
                if !self.failing.load(Ordering::Relaxed) {
                    tracing::error!(family, %error, "a restart would forget what was used of a budget");
                }
                true
            }
        };
        self.failing.store(failed, Ordering::Relaxed);
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
