//! The records in a SQLite file.
//!
//! Every operation is one transaction in the thread of its handle. A write is on the disk when its
//! future resolves.

mod bounds;
mod read;
mod write;

use std::path::{Path, PathBuf};

use alloy_primitives::{Address, B256};
use calldata_checks::UtcSeconds;
use delegation_fence::{LogEntry, LogRecord, Policy, Spent};
use storage::Migration;
use storage::sqlite::{self, DatabaseError, Format, Settings, Worker};

use super::{InstalledPolicy, KeptSubmission, Lease, Store, StoreError, StoreFuture, View, Write};

/// A file of the fence's records (`x4fe`).
const FORMAT: Format = Format {
    application_id: 0x7834_6665,
    migrations: &[
        include_str!("0001.sql"),
        include_str!("0002.sql"),
        include_str!("0003.sql"),
        include_str!("0004.sql"),
        include_str!("0005.sql"),
    ],
};

const SETTINGS: Settings = Settings::of_records(2048);

/// Records in one SQLite file, which several processes of one machine may have open. One thread
/// does all work of a handle, in the order of the calls. Between handles SQLite's write lock
/// decides.
#[derive(Debug)]
pub struct SqliteStore {
    worker: Worker,
}

impl SqliteStore {
    /// Opens the file at `path`, and creates file and folder if they are missing, both readable by
    /// their owner only.
    ///
    /// # Errors
    /// The defect of the file.
    pub fn open(path: PathBuf) -> Result<Self, DatabaseError> {
        let worker = Worker::shared(path, &FORMAT, &SETTINGS)?;
        Ok(Self { worker })
    }

    /// Returns the migration that [`open`](Self::open) would run on the file at `path`; `None` when
    /// there is no file. Does not write to it.
    ///
    /// # Errors
    /// The same as [`sqlite::pending`].
    pub fn pending(path: &Path) -> Result<Option<Migration>, DatabaseError> {
        sqlite::pending(path, &FORMAT)
    }
}

type Done<T> = Result<T, storage::sqlite::Failure<StoreError>>;

impl From<DatabaseError> for StoreError {
    fn from(error: DatabaseError) -> Self {
        Self::Unavailable { code: error.code() }
    }
}

impl Store for SqliteStore {
    fn install(&self, policy: Policy, at: UtcSeconds) -> StoreFuture<'_, ()> {
        self.worker.write("install", move |transaction| {
            write::install(transaction, &policy, at)
        })
    }

    fn installed(&self) -> StoreFuture<'_, Option<InstalledPolicy>> {
        self.worker
            .read("installed", |moment| Ok(read::installed(moment)?))
    }

    fn view(&self, account: Address, grant_id: B256, plan: Option<B256>) -> StoreFuture<'_, View> {
        self.worker.read("view", move |moment| {
            Ok(read::view(moment, account, grant_id, plan)?)
        })
    }

    fn write(&self, write: Write) -> StoreFuture<'_, u64> {
        self.worker.write("write", move |transaction| {
            write::apply(transaction, &write)
        })
    }

    fn note_refusal(
        &self,
        account: Address,
        grant_id: B256,
        refusal: LogEntry,
        most: u32,
    ) -> StoreFuture<'_, ()> {
        self.worker.write("note", move |transaction| {
            write::note_refusal(transaction, account, grant_id, refusal, most)
        })
    }

    fn log(
        &self,
        account: Address,
        grant_id: B256,
        from: u64,
        most: u32,
    ) -> StoreFuture<'_, Vec<LogRecord>> {
        self.worker.read("log", move |moment| {
            Ok(read::log(moment, account, grant_id, from, most)?)
        })
    }

    fn submission(&self, payload_digest: B256) -> StoreFuture<'_, Option<KeptSubmission>> {
        self.worker.read("submission", move |moment| {
            Ok(read::submission(moment, payload_digest)?)
        })
    }

    fn sendings(&self, ended_since: UtcSeconds) -> StoreFuture<'_, Vec<B256>> {
        self.worker.read("sendings", move |moment| {
            Ok(read::sendings(moment, ended_since)?)
        })
    }

    fn gas_spent(&self, account: Address, at: UtcSeconds) -> StoreFuture<'_, Spent> {
        self.worker.read("gas spent", move |moment| {
            Ok(read::gas_spent(moment, account, at)?)
        })
    }

    fn acquire(
        &self,
        account: Address,
        holder: &str,
        now: UtcSeconds,
        seconds: u64,
    ) -> StoreFuture<'_, Option<Lease>> {
        let holder = holder.to_owned();
        self.worker.write("acquire", move |transaction| {
            let token = write::acquire(transaction, account, &holder, now, seconds)?;
            Ok(token.map(|token| Lease { account, token }))
        })
    }

    fn give_back(&self, lease: Lease, holder: &str) -> StoreFuture<'_, ()> {
        let holder = holder.to_owned();
        self.worker.write("give back", move |transaction| {
            Ok(write::give_back(transaction, lease, &holder)?)
        })
    }

    fn forget(&self, now: UtcSeconds, most: u32) -> StoreFuture<'_, u64> {
        self.worker.write("forget", move |transaction| {
            Ok(bounds::forget(transaction, now, most)?)
        })
    }

    fn probe(&self) -> StoreFuture<'_, ()> {
        // The transaction takes the write lock and releases it, which shows a lost or locked file.
        self.worker.write("probe", |_| Ok(()))
    }
}
