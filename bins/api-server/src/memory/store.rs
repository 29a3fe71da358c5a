//! Keeps the memory's readings in the store.

use std::sync::Arc;
use std::time::Duration;

use data_sources::Clock;
use jiff::Timestamp;
use sha2::{Digest, Sha256};
use storage::{DatasetRecord, ServerStore, StoreError};

use super::{Memory, Readings};

/// The name of the dataset.
const NAME: &str = "token_readings";
/// The time between two writes of new readings. A crash loses no more than this.
const EVERY: Duration = Duration::from_secs(60);

/// Loads the stored readings, then writes new ones periodically, for ever.
pub(crate) async fn keep<S: ServerStore>(memory: Memory, store: Arc<S>, clock: Arc<dyn Clock>) {
    let mut ticks = tokio::time::interval(EVERY);
    let mut written = None;
    loop {
        ticks.tick().await;
        match memory.synchronise(&*store, clock.now(), written).await {
            Ok(changes) => written = Some(changes),
            Err(error) => tracing::warn!(%error, "readings are kept in memory only"),
        }
    }
}

impl Memory {
    /// Adds the stored readings, which another server may have written, and writes the memory if it
    /// changed since the count `written`. Returns the count of changes that is in the store now.
    pub(super) async fn synchronise<S: ServerStore>(
        &self,
        store: &S,
        now: Timestamp,
        written: Option<u64>,
    ) -> Result<u64, StoreError> {
        let changes = self.state().changes;
        if written == Some(changes) {
            return Ok(changes);
        }
        if let Some(record) = store.latest(NAME).await? {
            // Another version of this program wrote it. Only its readings are lost.
            let stored: Readings = serde_json::from_slice(&record.body).unwrap_or_default();
            self.join(stored, now);
        }
        if changes == 0 {
            return Ok(changes);
        }
        let Ok(body) = serde_json::to_vec(&self.state().subjects) else {
            return Ok(changes);
        };
        match store.publish(NAME, record(NAME, body, now)).await {
            // Another server wrote at the same time: the next round loads its readings and tries
            // again.
            Err(StoreError::OlderRecord { .. }) => Ok(written.unwrap_or_default()),
            Err(error) => Err(error),
            Ok(()) => Ok(changes),
        }
    }
}

/// Makes a dataset record for the store.
pub(crate) fn record(name: &str, body: Vec<u8>, now: Timestamp) -> DatasetRecord {
    let as_of = u64::try_from(now.as_second()).unwrap_or_default();
    let digest: [u8; 32] = Sha256::digest(&body).into();
    DatasetRecord {
        snapshot_id: format!("{name}-{as_of}"),
        as_of,
        inputs_sha256: digest.into(),
        written_at: as_of,
        body: body.into(),
    }
}

#[cfg(test)]
mod tests {
    use storage::{SqliteStore, StoreOptions};

    use super::super::tests::{holders, reading};
    use super::*;

    fn at(hours: i64) -> Timestamp {
        Timestamp::from_second(hours * 3600).unwrap()
    }

    #[tokio::test]
    async fn readings_survive_a_restart() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("service.store.db");
        let open = || SqliteStore::open(path.clone(), StoreOptions::default()).unwrap();
        let first = Memory::default();
        assert_eq!(first.compare("a", reading(0, 100)), None);
        let written = first.synchronise(&open(), at(0), None).await.unwrap();
        assert_eq!(written, 1);
        drop(first);

        let second = Memory::default();
        second.synchronise(&open(), at(20), None).await.unwrap();
        let change = second.compare("a", reading(24, 130)).unwrap();
        assert_eq!((change.since, holders(&change)), (at(0), "30".to_owned()));
        // Two days later the reading is too old, and a reading from the future does not count.
        for (now, token) in [(at(49), "a"), (at(-1), "a")] {
            let late = Memory::default();
            late.synchronise(&open(), now, None).await.unwrap();
            assert_eq!(late.state().subjects.get(token), None);
        }
    }

    #[tokio::test]
    async fn servers_that_share_a_store_share_their_readings() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("service.store.db");
        let store = SqliteStore::open(path, StoreOptions::default()).unwrap();
        let (one, other) = (Memory::default(), Memory::default());
        one.compare("a", reading(0, 100));
        other.compare("b", reading(0, 7));
        one.synchronise(&store, at(0), None).await.unwrap();
        other.synchronise(&store, at(1), None).await.unwrap();
        let change = other.compare("a", reading(24, 90)).unwrap();
        assert_eq!(holders(&change), "-10");
        // An unchanged memory is neither read nor written again.
        let written = store.latest(NAME).await.unwrap().unwrap();
        assert_eq!(other.synchronise(&store, at(2), Some(1)).await.unwrap(), 2);
        assert_ne!(store.latest(NAME).await.unwrap().unwrap(), written);
        let written = store.latest(NAME).await.unwrap().unwrap();
        assert_eq!(other.synchronise(&store, at(3), Some(2)).await.unwrap(), 2);
        assert_eq!(store.latest(NAME).await.unwrap().unwrap(), written);
    }
}
