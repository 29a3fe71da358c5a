//! The records in a SQLite file.

mod bounds;
mod read;
mod write;

use std::{path::PathBuf, time::Duration};

use alloy_primitives::{Address, B256};
use calldata_checks::UtcSeconds;
use delegation_fence::{Entry, Policy, Record, Spent};
use rusqlite::{Connection, Transaction, TransactionBehavior, types::Type};
use storage::sqlite::{Checkpoints, DatabaseError, Format, Settings, Worker};

use super::{
    InstalledPolicy, KeptSubmission, Lease, Store, StoreError, StoreFuture, TopUp, View, Write,
};

/// A file of the fence's records (`x4fe`).
const FORMAT: Format = Format {
    application_id: 0x7834_6665,
    migrations: &[
        include_str!("0001.sql"),
        include_str!("0002.sql"),
        include_str!("0003.sql"),
    ],
};

const SETTINGS: Settings = Settings {
    busy_timeout: Duration::from_secs(5),
    cache_kib: 2048,
    max_bytes: None,
    checkpoints: Checkpoints::InCommits,
};

/// Records in one SQLite file, which several processes of one machine may have open. All work of
/// one handle is done by one thread, in the order in which it was asked for; between handles
/// SQLite's write lock decides.
#[derive(Debug)]
pub struct SqliteStore {
    worker: Worker,
}

impl SqliteStore {
    /// Opens the file at `path`, and creates file and folder if they are missing, both readable by
    /// their owner only.
    ///
    /// # Errors
    /// What is wrong with the file.
    pub fn open(path: PathBuf) -> Result<Self, DatabaseError> {
        let worker = Worker::shared(path, &FORMAT, &SETTINGS)?;
        Ok(Self { worker })
    }

    fn run<T: Send + 'static>(
        &self,
        operation: &'static str,
        work: impl FnOnce(&mut Connection) -> Result<T, Fault> + Send + 'static,
    ) -> StoreFuture<'_, T> {
        let path = self.worker.path().to_owned();
        let done = self.worker.submit(move |connection| {
            work(connection).map_err(|fault| match fault {
                Fault::Named(error) => Failure(error),
                Fault::Sqlite(error) => DatabaseError::named(&error, &path, operation).into(),
            })
        });
        Box::pin(async move { done.await.map_err(|Failure(error)| error) })
    }
}

/// What an operation ends in.
enum Fault {
    Named(StoreError),
    Sqlite(rusqlite::Error),
}

type Done<T> = Result<T, Fault>;

/// A named error that a worker may make of its own.
struct Failure(StoreError);

impl From<DatabaseError> for Failure {
    fn from(error: DatabaseError) -> Self {
        tracing::warn!(%error, "the records of the fence cannot be used");
        Self(StoreError::Unavailable { code: error.code() })
    }
}

impl From<rusqlite::Error> for Fault {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sqlite(error)
    }
}

impl From<StoreError> for Fault {
    fn from(error: StoreError) -> Self {
        Self::Named(error)
    }
}

/// A number as SQLite has them. No time, version or amount of money here is as large as the bound.
fn number(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

/// A number of a column that holds none below zero.
fn unsigned(column: usize, value: i64) -> rusqlite::Result<u64> {
    u64::try_from(value).map_err(|_| rusqlite::Error::IntegralValueOutOfRange(column, value))
}

/// A row that was not written by this program: it reads as a damaged file.
fn damaged(error: impl std::error::Error + Send + Sync + 'static) -> rusqlite::Error {
    rusqlite::Error::FromSqlConversionFailure(0, Type::Text, Box::new(error))
}

/// One reading of a moment.
fn reading(connection: &mut Connection) -> rusqlite::Result<Transaction<'_>> {
    connection.transaction_with_behavior(TransactionBehavior::Deferred)
}

/// The write lock from the start, so that what is read still holds when it is written.
fn writing(connection: &mut Connection) -> rusqlite::Result<Transaction<'_>> {
    connection.transaction_with_behavior(TransactionBehavior::Immediate)
}

impl Store for SqliteStore {
    fn install(&self, policy: Policy, at: UtcSeconds) -> StoreFuture<'_, ()> {
        self.run("install", move |connection| {
            let transaction = writing(connection)?;
            write::install(&transaction, &policy, at)?;
            Ok(transaction.commit()?)
        })
    }

    fn installed(&self) -> StoreFuture<'_, Option<InstalledPolicy>> {
        self.run("installed", |connection| Ok(read::installed(connection)?))
    }

    fn view(&self, account: Address, grant_id: B256, plan: Option<B256>) -> StoreFuture<'_, View> {
        self.run("view", move |connection| {
            let moment = reading(connection)?;
            Ok(read::view(&moment, account, grant_id, plan)?)
        })
    }

    fn write(&self, write: Write) -> StoreFuture<'_, u64> {
        self.run("write", move |connection| {
            let transaction = writing(connection)?;
            let version = write::apply(&transaction, &write)?;
            transaction.commit()?;
            Ok(version)
        })
    }

    fn note_refusal(
        &self,
        account: Address,
        grant_id: B256,
        refusal: Entry,
        most: u32,
    ) -> StoreFuture<'_, ()> {
        self.run("note", move |connection| {
            let transaction = writing(connection)?;
            write::note_refusal(&transaction, account, grant_id, refusal, most)?;
            Ok(transaction.commit()?)
        })
    }

    fn log(
        &self,
        account: Address,
        grant_id: B256,
        from: u64,
        most: u32,
    ) -> StoreFuture<'_, Vec<Record>> {
        self.run("log", move |connection| {
            Ok(read::log(connection, account, grant_id, from, most)?)
        })
    }

    fn submission(&self, payload_digest: B256) -> StoreFuture<'_, Option<KeptSubmission>> {
        self.run("submission", move |connection| {
            let moment = reading(connection)?;
            Ok(read::submission(&moment, payload_digest)?)
        })
    }

    fn sendings(&self, ended_since: UtcSeconds) -> StoreFuture<'_, Vec<B256>> {
        self.run("sendings", move |connection| {
            Ok(read::sendings(connection, ended_since)?)
        })
    }

    fn gas_spent(&self, account: Address, at: UtcSeconds) -> StoreFuture<'_, Spent> {
        self.run("gas spent", move |connection| {
            Ok(read::gas_spent(connection, account, at)?)
        })
    }

    fn book_top_up(&self, top_up: TopUp) -> StoreFuture<'_, ()> {
        self.run("book", move |connection| {
            let transaction = writing(connection)?;
            bounds::book_top_up(&transaction, &top_up)?;
            Ok(transaction.commit()?)
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
        self.run("acquire", move |connection| {
            let token = write::acquire(connection, account, &holder, now, seconds)?;
            Ok(token.map(|token| Lease { account, token }))
        })
    }

    fn give_back(&self, lease: Lease, holder: &str) -> StoreFuture<'_, ()> {
        let holder = holder.to_owned();
        self.run("give back", move |connection| {
            Ok(write::give_back(connection, lease, &holder)?)
        })
    }

    fn probe(&self) -> StoreFuture<'_, ()> {
        self.run("probe", |connection| {
            // The write lock is taken and given back: a full disk or a file that is gone shows.
            Ok(writing(connection)?.rollback()?)
        })
    }
}
