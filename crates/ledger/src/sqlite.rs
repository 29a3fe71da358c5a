//! [`SqliteLedger`]: the journal in a SQLite file.

use std::{
    path::{Path, PathBuf},
    sync::{
        Arc, MutexGuard, PoisonError, Weak,
        atomic::{AtomicBool, AtomicI64},
        mpsc,
    },
    thread::{self, JoinHandle},
};

use alloy_primitives::{Address, B256};
use storage::Migration;
use storage::sqlite::{ClaimedFile, DatabaseError};
use tokio::sync::oneshot;

use crate::{
    answer::StoredAnswer,
    copied::{EntryRow, NumbersRow},
    error::LedgerError,
    journal::Recovery,
    options::Options,
    record::{EntryRecord, Filter},
    state::{EntryId, State},
    status::PaymentStatus,
};

mod credit;
mod newcomers;
mod port;
mod schema;
mod statements;
mod stats;
mod store;
mod writer;

pub use stats::Stats;

use stats::Counters;
use store::{Database, Store, Sweep};
use writer::{Job, Marks, Pending, Request, Writer};

type Failure = storage::sqlite::Failure<LedgerError>;

/// The queue of the writer.
type Queue = mpsc::Sender<Box<dyn Job>>;

/// A journal in one SQLite file, for one server.
///
/// One thread, the writer, uses the connection. It takes all requests that have queued up during
/// the previous commit, runs them in one transaction, and answers them after one `fsync` (group
/// commit). So all calls in flight share the cost of a durable write. A commit window lets the
/// callers of one batch queue their next move before the next batch begins, so that batches do not
/// split. Reads use the same thread: they see every earlier write, take microseconds, and need no
/// second page cache.
///
/// Dropping the ledger finishes the queue, writes the log back into the file and joins the thread.
#[derive(Debug)]
pub struct SqliteLedger {
    path: PathBuf,
    queue: Option<Arc<Queue>>,
    writer: Option<JoinHandle<()>>,
    marks: Marks,
    /// Whether the writer waits for a request and does not look at the marks.
    is_idle: Arc<AtomicBool>,
    /// The entry after which the next sweep for orphaned calls begins.
    abandon_after: AtomicI64,
    counters: Arc<Counters>,
}

impl SqliteLedger {
    /// Opens the ledger at a path or `sqlite://` URL (`sqlite://data/service.db` is relative to the
    /// working folder). Creates the file and its folder if they are missing, both readable only by
    /// their owner.
    ///
    /// Opening takes milliseconds for a ledger of any size. The caller must run
    /// [`Journal::recover`](crate::Journal::recover) before the first claim.
    ///
    /// # Errors
    ///
    /// The errors about files: [`InUse`](LedgerError::InUse), [`Damaged`](LedgerError::Damaged),
    /// [`ForeignFile`](LedgerError::ForeignFile), [`NewerSchema`](LedgerError::NewerSchema),
    /// [`CannotOpen`](LedgerError::CannotOpen),
    /// [`UnsupportedAddress`](LedgerError::UnsupportedAddress), [`Full`](LedgerError::Full).
    pub fn open(path_or_url: &str, options: Options) -> Result<Self, LedgerError> {
        let file = ClaimedFile::claim(path_or_url)?;
        let path = file.path().to_owned();
        let database = Database::open(file, options.max_bytes)?;
        let counters = Arc::new(Counters::default());
        let marks = Marks::default();
        let is_idle = Arc::new(AtomicBool::new(true));
        let (queue, requests) = mpsc::channel();
        let (opened, outcome) = mpsc::channel();
        let (notes, count) = (Arc::clone(&marks), Arc::clone(&counters));
        let idle = Arc::clone(&is_idle);
        let write = move || match Store::open(&database, options) {
            Ok(store) => {
                // The opening caller waits for this message.
                let _ = opened.send(Ok(()));
                Writer::new(store, notes, idle, count).run(&requests);
            }
            Err(error) => {
                let _ = opened.send(Err(error));
            }
        };
        let writer = thread::Builder::new()
            .name("ledger-writer".to_owned())
            .spawn(write)
            .map_err(|error| LedgerError::CannotOpen {
                path: path.clone(),
                kind: error.kind(),
            })?;
        // On failure, dropping this value closes the file before the caller gets the error.
        let ledger = Self {
            path,
            queue: Some(Arc::new(queue)),
            writer: Some(writer),
            marks,
            is_idle,
            abandon_after: AtomicI64::new(0),
            counters,
        };
        outcome
            .recv()
            .unwrap_or(Err(LedgerError::Closed))
            .map(|()| ledger)
    }

    /// Returns the migration that [`open`](Self::open) would run on the file at `path`; `None` when
    /// there is no file. Does not write to it.
    ///
    /// # Errors
    ///
    /// The same as [`storage::sqlite::pending`].
    pub fn pending(path: &Path) -> Result<Option<Migration>, DatabaseError> {
        schema::pending(path)
    }

    /// Returns the writer's counts since the ledger was opened.
    #[must_use]
    pub fn stats(&self) -> Stats {
        self.counters.read()
    }

    /// Lists entries, as [`AnyLedger::entries`](crate::AnyLedger::entries).
    ///
    /// # Errors
    ///
    /// [`Closed`](LedgerError::Closed) and the errors of reading the file.
    pub async fn entries(
        &self,
        filter: &Filter,
        after: Option<EntryId>,
        limit: u32,
    ) -> Result<Vec<EntryRecord>, LedgerError> {
        let filter = filter.clone();
        let list = move |store: &mut Store<'_>| store.entries(&filter, after, limit);
        self.submit("entries", list).await
    }

    /// Reads entries with their answers, to copy them.
    pub(crate) async fn rows(&self, after: i64, limit: u32) -> Result<Vec<EntryRow>, LedgerError> {
        self.submit("copy", move |store| store.rows(after, limit))
            .await
    }

    /// Reads the credit and the sum of every payer, to copy them.
    pub(crate) async fn payers(&self) -> Result<Vec<NumbersRow>, LedgerError> {
        self.submit("copy", |store| store.payers()).await
    }

    /// Reads the deficits of newcomers, to copy them.
    pub(crate) async fn newcomers(&self) -> Result<Vec<NumbersRow>, LedgerError> {
        self.submit("copy", |store| store.newcomers()).await
    }

    /// Returns a reader of payers' sums, for parts of a server that do not own the ledger.
    #[must_use]
    pub fn paid_sums(&self) -> PaidSums {
        PaidSums {
            queue: self.queue.as_ref().map(Arc::downgrade).unwrap_or_default(),
        }
    }

    /// Refuses a stored answer whose body has changed. This runs in the caller's task, because all
    /// calls share the time of the writer.
    fn check(&self, status: &PaymentStatus) -> Result<(), LedgerError> {
        match status {
            PaymentStatus::Answered(stored) => self.check_answer(stored),
            _ => Ok(()),
        }
    }

    fn check_answer(&self, stored: &StoredAnswer) -> Result<(), LedgerError> {
        match stored.answer.is_intact() {
            true => Ok(()),
            false => Err(LedgerError::Damaged {
                path: self.path.clone(),
            }),
        }
    }

    fn marks(&self) -> MutexGuard<'_, Pending> {
        self.marks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Queues an operation and waits until it is durable. The operation may run more than once
    /// after rollbacks, but takes effect once.
    fn submit<T, F>(
        &self,
        name: &'static str,
        operation: F,
    ) -> impl Future<Output = Result<T, LedgerError>> + Send + use<T, F>
    where
        T: Send + 'static,
        F: FnMut(&mut Store<'_>) -> Result<T, Failure> + Send + 'static,
    {
        submit(self.queue.as_deref(), name, operation)
    }

    /// Closes entries in flight, batch by batch. Each batch is an operation of its own. After each
    /// one, `go_on` gets the entry after which the next batch begins, or `None` at the end, and
    /// returns whether to continue.
    async fn sweep(
        &self,
        name: &'static str,
        sweep: Sweep,
        mut after: i64,
        mut go_on: impl FnMut(Option<i64>) -> bool,
    ) -> Result<Recovery, LedgerError> {
        let sweep = Arc::new(sweep);
        let mut total = Recovery::default();
        loop {
            let sweep = Arc::clone(&sweep);
            let batch = self.submit(name, move |store| store.close_open(&sweep, after));
            let (closed, next) = batch.await?;
            total.released = total.released.saturating_add(closed.released);
            total.unknown = total.unknown.saturating_add(closed.unknown);
            match next {
                Some(next) if go_on(Some(next)) => after = next,
                Some(_) => return Ok(total),
                None => {
                    go_on(None);
                    return Ok(total);
                }
            }
        }
    }
}

/// A reader of the sums that payers have paid. It does not keep the ledger open. Cheap to clone.
#[derive(Clone, Debug)]
pub struct PaidSums {
    queue: Weak<Queue>,
}

impl PaidSums {
    /// Returns the sum of a payer, as [`Journal::paid`](crate::Journal::paid).
    ///
    /// # Errors
    ///
    /// [`LedgerError::Closed`] after the ledger was closed, and the errors of reading the file.
    pub async fn paid(&self, payer: Address) -> Result<u64, LedgerError> {
        let read = {
            let queue = self.queue.upgrade();
            submit(queue.as_deref(), "paid", move |store| store.paid(payer))
        };
        read.await
    }

    /// Whether the authorization with this digest has an entry that is not settled.
    ///
    /// # Errors
    ///
    /// The same as [`Self::paid`].
    pub async fn is_unsettled(&self, authorization: B256) -> Result<bool, LedgerError> {
        let read = {
            let queue = self.queue.upgrade();
            submit(queue.as_deref(), "look_up", move |store| {
                store.look_up(authorization)
            })
        };
        let found = read.await?;
        Ok(found.is_some_and(|found| found.state != State::Settled))
    }
}

fn submit<T, F>(
    queue: Option<&Queue>,
    name: &'static str,
    operation: F,
) -> impl Future<Output = Result<T, LedgerError>> + Send + use<T, F>
where
    T: Send + 'static,
    F: FnMut(&mut Store<'_>) -> Result<T, Failure> + Send + 'static,
{
    let (reply, answer) = oneshot::channel();
    let job = Box::new(Request::new(name, operation, reply));
    let sent = match queue {
        Some(queue) => queue.send(job).map_err(|_| LedgerError::Closed),
        None => Err(LedgerError::Closed),
    };
    async move {
        sent?;
        answer.await.unwrap_or(Err(LedgerError::Closed))
    }
}

impl Drop for SqliteLedger {
    fn drop(&mut self) {
        // The writer stops when the last sender is gone and the queue is empty.
        self.queue = None;
        if let Some(writer) = self.writer.take()
            && writer.join().is_err()
        {
            tracing::error!("the ledger's writer ended abnormally");
        }
    }
}

#[cfg(test)]
mod tests;
