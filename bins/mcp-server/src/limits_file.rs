//! The state that outlives a restart: the use of the upstreams' limits, and the callers' shares.
//!
//! All of it is written before the requests that it counts. A call writes the most that its plan
//! can cost. The unused part, and repeated requests beyond that cost, are written by the next call
//! or else within seconds: after a crash, a call of that time counts at that cost.

use std::sync::Arc;
use std::time::Duration;

use data_sources::{Clock, QuotaStore};
use jiff::Timestamp;
use storage::{Level, ServerStore, SqliteStore, StoreError, StoreOptions};
use tokio::sync::Mutex;
use tokio::time::{Instant, interval_at};

use crate::shares::Shares;

/// The time between two writes of shares without a call.
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
    /// Held during a write of shares. Whether the last one failed.
    failing: Arc<Mutex<bool>>,
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
            failing: Arc::default(),
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

    /// Returns when every earlier change of a share is in the file. Calls that come during a write
    /// have the next one in common.
    pub(crate) async fn save(&self) {
        let file = self.clone();
        // The write ends even when the caller disconnects.
        let write = tokio::spawn(async move { file.write().await });
        if let Err(error) = write.await {
            tracing::error!(%error, "a write of the callers' shares ended abnormally");
        }
    }

    async fn write(&self) {
        let Some(shares) = &self.shares else {
            return;
        };
        let mut failing = self.failing.lock().await;
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
        let written = self.store.keep_levels(levels, MOST_LEVELS).await;
        if let Err(error) = &written {
            if !*failing {
                tracing::error!(%error, "cannot write the callers' shares: a restart would forget their use");
            }
            // The next write includes them.
            changed.into_iter().for_each(|key| shares.note(key));
        }
        *failing = written.is_err();
    }
}

fn millis(now: Timestamp) -> u64 {
    u64::try_from(now.as_millisecond()).unwrap_or(0)
}
