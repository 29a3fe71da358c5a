//! The state that outlives a restart: the use of the upstreams' limits, and the callers' shares.
//!
//! Quotas and long windows are written before the calls that they count. Shares change with every
//! call, so they are written together every few seconds and at the end. A crash therefore gives
//! back the shares that were used since the last write.

use std::sync::Arc;
use std::time::Duration;

use data_sources::{Clock, QuotaStore};
use jiff::Timestamp;
use storage::{Level, ServerStore, SqliteStore, StoreError, StoreOptions};
use tokio::time::{Instant, interval_at};

use crate::shares::Shares;

/// The time between two writes of shares.
const SAVE_EVERY: Duration = Duration::from_secs(5);
/// The number of writes after which old rows are deleted: about an hour.
const PRUNE_AFTER: u32 = 720;
/// The most pools and shares in the file. Beyond it, those that changed longest ago are full again
/// after a restart.
const MOST_LEVELS: u32 = 65_536;

/// The file of a server.
#[derive(Clone)]
pub(crate) struct LimitsFile {
    store: Arc<SqliteStore>,
    shares: Option<Arc<Shares>>,
    clock: Arc<dyn Clock>,
}

impl LimitsFile {
    /// Opens the file at `path` for this server alone, and restores the shares in it.
    ///
    /// # Errors
    /// The file cannot be used, or another server uses it.
    pub(crate) async fn open(
        path: &str,
        shares: Option<Arc<Shares>>,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, StoreError> {
        let store = Arc::new(SqliteStore::open_alone(path, StoreOptions::default())?);
        if let Some(shares) = &shares {
            // Nothing has changed yet. The call starts the recording of changes.
            shares.changed();
            let now = millis(clock.now());
            for Level { name, amount, at } in store.levels().await? {
                shares.resume(&name, amount, now.saturating_sub(at));
            }
        }
        Ok(Self {
            store,
            shares,
            clock,
        })
    }

    /// The store of quotas and windows.
    pub(crate) fn limits(&self) -> Arc<dyn QuotaStore> {
        self.store.clone()
    }

    /// Writes shares periodically, without end.
    pub(crate) async fn keep_up(self) {
        let mut ticks = interval_at(Instant::now(), SAVE_EVERY);
        let mut written: u32 = 0;
        loop {
            ticks.tick().await;
            if written.checked_rem(PRUNE_AFTER) == Some(0) {
                let now = millis(self.clock.now()) / 1_000;
                if let Err(error) = self.store.prune(now).await {
                    tracing::warn!(%error, "cannot delete old rows");
                }
            }
            written = written.wrapping_add(1);
            self.save().await;
        }
    }

    /// Writes the shares that changed since the last write.
    pub(crate) async fn save(&self) {
        let Some(shares) = &self.shares else {
            return;
        };
        let changed = shares.changed();
        if changed.is_empty() {
            return;
        }
        let at = millis(self.clock.now());
        let level = |key| {
            let (name, amount) = shares.level(key);
            Level { name, amount, at }
        };
        let levels = changed.iter().copied().map(level).collect();
        if let Err(error) = self.store.keep_levels(levels, MOST_LEVELS).await {
            tracing::error!(%error, "cannot write the callers' shares: a restart would forget their use");
            // The next write includes them.
            changed.into_iter().for_each(|key| shares.note(key));
        }
    }
}

fn millis(now: Timestamp) -> u64 {
    u64::try_from(now.as_millisecond()).unwrap_or(0)
}
