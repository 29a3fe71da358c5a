//! Follows records: a watch learns of each change, whichever process has written it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Instant;

use super::Shared;
use crate::{Record, SenderError};

/// How often the store is asked about a record of which no task of this process has reported a
/// change.
const LOOK: Duration = Duration::from_secs(2);

/// The records that somebody watches in this process.
#[derive(Debug, Default)]
pub(crate) struct Watchers {
    channels: Mutex<HashMap<String, watch::Sender<Record>>>,
}

/// Follows the changes of one record.
pub struct Watch {
    shared: Arc<Shared>,
    changes: watch::Receiver<Record>,
    /// When the store was last asked. A caller may stop waiting for a change at any time, and wait
    /// again later.
    looked_at: Instant,
}

impl Watchers {
    pub(super) fn watch(&self, shared: &Arc<Shared>, record: Record) -> Watch {
        let mut channels = self.lock();
        let key = record.key.clone();
        let sender = channels
            .entry(key)
            .or_insert_with(|| watch::channel(record.clone()).0);
        offer(sender, &record);
        Watch {
            shared: Arc::clone(shared),
            changes: sender.subscribe(),
            looked_at: Instant::now(),
        }
    }

    /// Tells the watches about these records.
    pub(crate) fn publish<'a>(&self, records: impl IntoIterator<Item = &'a Record>) {
        let channels = self.lock();
        for record in records {
            if let Some(sender) = channels.get(&record.key) {
                offer(sender, record);
            }
        }
    }

    /// Replaces a known record by the one that the store has returned since. A record that was
    /// published meanwhile stays.
    fn replace(&self, known: &Record, stored: &Record) {
        if let Some(sender) = self.lock().get(&known.key) {
            sender.send_if_modified(|current| {
                let replaced = current == known && stored != known;
                if replaced {
                    current.clone_from(stored);
                }
                replaced
            });
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, watch::Sender<Record>>> {
        self.channels.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Passes a record on if its revision is newer than the known one.
fn offer(sender: &watch::Sender<Record>, record: &Record) {
    sender.send_if_modified(|known| {
        let newer = record.revision > known.revision;
        if newer {
            known.clone_from(record);
        }
        newer
    });
}

impl Watch {
    /// Returns the last known state of the record.
    #[must_use]
    pub fn record(&self) -> Record {
        self.changes.borrow().clone()
    }

    /// Waits for the record's next change. A database that has lost its last commits may have an
    /// earlier state of the record. That is a change, too.
    ///
    /// # Errors
    /// [`SenderError::UnknownKey`] when the store has lost or pruned the record. An error of the
    /// store. Neither affects the record itself.
    pub async fn changed(&mut self) -> Result<Record, SenderError> {
        loop {
            let look_at = self.looked_at + LOOK;
            let changed = tokio::time::timeout_at(look_at, self.changes.changed()).await;
            if let Ok(Ok(())) = changed {
                return Ok(self.changes.borrow_and_update().clone());
            }
            // Another process may have ended the record.
            self.looked_at = Instant::now();
            let known = self.record();
            match self.shared.store.get(&known.key).await? {
                Some(stored) => self.shared.watchers.replace(&known, &stored),
                None => return Err(SenderError::UnknownKey { key: known.key }),
            }
        }
    }

    /// Waits until the record has an outcome ([`State::is_outcome`](crate::State::is_outcome)).
    ///
    /// # Errors
    /// The same as [`Self::changed`].
    pub async fn outcome(&mut self) -> Result<Record, SenderError> {
        let mut record = self.record();
        while !record.state.is_outcome() {
            record = self.changed().await?;
        }
        Ok(record)
    }
}

/// The channel of a record ends with the last watch on it.
impl Drop for Watch {
    fn drop(&mut self) {
        let mut channels = self.shared.watchers.lock();
        let key = self.changes.borrow().key.clone();
        if channels
            .get(&key)
            .is_some_and(|sender| sender.receiver_count() <= 1)
        {
            channels.remove(&key);
        }
    }
}

impl std::fmt::Debug for Watch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Watch")
            .field("record", &*self.changes.borrow())
            .finish()
    }
}
