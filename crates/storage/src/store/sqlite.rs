//! The store in a SQLite file.

use std::path::{Path, PathBuf};

use alloy_primitives::B256;
use rusqlite::{Connection, Transaction};

use super::{
    Artifact, DatasetRecord, Level, ServerStore, StoreError,
    schema::{FORMAT, SETTINGS},
    statements::{self, limits},
};
use crate::Migration;
use crate::sqlite::{self, ClaimedFile, DatabaseError, Worker};

/// The extension of the store's file. It replaces the extension of the ledger's file.
const EXTENSION: &str = "store.db";
/// The extension that earlier versions used.
const EARLIER_EXTENSION: &str = "shelf.db";

/// The options of a [`SqliteStore`] or a [`PostgresStore`](super::PostgresStore).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoreOptions {
    /// The largest size of all artifacts together, in bytes.
    pub max_artifact_bytes: u64,
}

impl StoreOptions {
    /// The default of the largest size of all artifacts together, in bytes.
    pub const USUAL_BYTES: u64 = 512 << 20;
}

impl Default for StoreOptions {
    /// 512 MiB. That is enough for about two hundred images a day.
    fn default() -> Self {
        Self {
            max_artifact_bytes: Self::USUAL_BYTES,
        }
    }
}

/// A store in one SQLite file.
///
/// One thread with one connection does the work of a handle, in the order of the calls. The write
/// lock of SQLite orders the writes of several handles.
///
/// Dropping the store finishes the queue and joins the thread.
#[derive(Debug)]
pub struct SqliteStore {
    worker: Worker,
    options: StoreOptions,
}

impl SqliteStore {
    /// Opens the store beside the ledger at a path or `sqlite://` URL. For
    /// `sqlite://data/service.db` that is `data/service.store.db`. Several servers on one machine
    /// may share it. Creates the file and its folder if they are missing; only their owner can read
    /// them. Renames a file that has the name of earlier versions.
    ///
    /// # Errors
    ///
    /// [`StoreError::Database`], and [`InUse`](crate::sqlite::DatabaseError::InUse) when a server
    /// still has the file open under its earlier name.
    pub fn beside(ledger: &str, options: StoreOptions) -> Result<Self, StoreError> {
        let ledger = sqlite::path_of(ledger)?;
        let path = ledger.with_extension(EXTENSION);
        let earlier = ledger.with_extension(EARLIER_EXTENSION);
        sqlite::rename(&earlier, &path, &FORMAT, &SETTINGS)?;
        Self::open(path, options)
    }

    /// Opens the store in the file at `path`, which several servers on one machine may share.
    /// Creates the file and its folder if they are missing.
    ///
    /// # Errors
    ///
    /// The same as [`beside`](Self::beside).
    pub fn open(path: PathBuf, options: StoreOptions) -> Result<Self, StoreError> {
        let worker = Worker::shared(path, &FORMAT, &SETTINGS)?;
        Ok(Self { worker, options })
    }

    /// Opens the store at a path or `sqlite://` URL for this server alone. A second server gets an
    /// error. Creates the file and its folder if they are missing.
    ///
    /// # Errors
    ///
    /// The same as [`beside`](Self::beside), and [`InUse`](crate::sqlite::DatabaseError::InUse).
    pub fn open_alone(address: &str, options: StoreOptions) -> Result<Self, StoreError> {
        let worker = Worker::alone(ClaimedFile::claim(address)?, &FORMAT, &SETTINGS)?;
        Ok(Self { worker, options })
    }

    /// Returns the migration that [`beside`](Self::beside) would run for the ledger at the path
    /// `ledger`. Reads the file with the earlier name when there is none with the present name;
    /// `None` when there is neither. Does not write to it.
    ///
    /// # Errors
    ///
    /// The same as [`sqlite::pending`].
    pub fn pending(ledger: &Path) -> Result<Option<Migration>, DatabaseError> {
        match sqlite::pending(&ledger.with_extension(EXTENSION), &FORMAT)? {
            None => sqlite::pending(&ledger.with_extension(EARLIER_EXTENSION), &FORMAT),
            found => Ok(found),
        }
    }
}

impl ServerStore for SqliteStore {
    async fn lease(
        &self,
        name: &str,
        holder: &str,
        now: u64,
        seconds: u32,
    ) -> Result<bool, StoreError> {
        let (name, holder) = (name.to_owned(), holder.to_owned());
        let work = move |t: &Transaction<'_>| statements::lease(t, &name, &holder, now, seconds);
        self.worker.write("lease", work).await
    }

    async fn give_back(&self, name: &str, holder: &str) -> Result<bool, StoreError> {
        let (name, holder) = (name.to_owned(), holder.to_owned());
        let work = move |t: &Transaction<'_>| statements::give_back(t, &name, &holder);
        self.worker.write("give_back", work).await
    }

    async fn publish(&self, name: &str, record: DatasetRecord) -> Result<(), StoreError> {
        let name = name.to_owned();
        let work = move |t: &Transaction<'_>| statements::publish(t, &name, &record);
        self.worker.write("publish", work).await
    }

    async fn latest(&self, name: &str) -> Result<Option<DatasetRecord>, StoreError> {
        let name = name.to_owned();
        let work = move |t: &Transaction<'_>| statements::latest(t, &name);
        self.worker.read("latest", work).await
    }

    async fn keep(&self, artifact: Artifact, now: u64) -> Result<(), StoreError> {
        let most = self.options.max_artifact_bytes;
        let work = move |t: &Transaction<'_>| statements::keep(t, &artifact, most, now);
        self.worker.write("keep", work).await?
    }

    async fn has_room(&self, bytes: u64, now: u64) -> Result<(), StoreError> {
        let most = self.options.max_artifact_bytes;
        let work = move |t: &Transaction<'_>| statements::has_room(t, bytes, most, now);
        self.worker.write("has_room", work).await??;
        let attempt = move |c: &mut Connection| statements::try_write(c, bytes);
        self.worker.run("has_room", attempt).await
    }

    async fn artifact(&self, sha256: B256, now: u64) -> Result<Option<Artifact>, StoreError> {
        let work = move |t: &Transaction<'_>| statements::artifact(t, sha256, now);
        self.worker.read("artifact", work).await
    }

    async fn count(&self, name: &str, period: u64, amount: u64) -> Result<u64, StoreError> {
        let name = name.to_owned();
        let work = move |t: &Transaction<'_>| statements::count(t, &name, period, amount);
        self.worker.write("count", work).await
    }

    async fn use_window(
        &self,
        name: &str,
        slice: u64,
        weight: u64,
        oldest: u64,
    ) -> Result<(), StoreError> {
        let name = name.to_owned();
        let work = move |t: &Transaction<'_>| limits::use_window(t, &name, slice, weight, oldest);
        self.worker.write("use_window", work).await
    }

    async fn window_use(&self, name: &str, oldest: u64) -> Result<Vec<(u64, u64)>, StoreError> {
        let name = name.to_owned();
        let work = move |t: &Transaction<'_>| limits::window_use(t, &name, oldest);
        self.worker.read("window_use", work).await
    }

    async fn keep_levels(&self, levels: Vec<Level>, most: u32) -> Result<(), StoreError> {
        let work = move |t: &Transaction<'_>| limits::keep_levels(t, &levels, most);
        self.worker.write("keep_levels", work).await
    }

    async fn levels(&self) -> Result<Vec<Level>, StoreError> {
        self.worker.read("levels", limits::levels).await
    }

    async fn prune(&self, now: u64) -> Result<u64, StoreError> {
        let work = move |t: &Transaction<'_>| statements::prune(t, now);
        self.worker.write("prune", work).await
    }
}
