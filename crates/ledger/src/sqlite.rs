//! The journal on SQLite.

use std::{
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError, mpsc},
    thread::{self, JoinHandle},
};

use tokio::sync::oneshot;
use x402_wire::AuthorizationKey;

use crate::{
    answer::{Settlement, StoredReceipt},
    claim::{Claim, RequestBinding},
    error::LedgerError,
    journal::{Journal, Pruned, Recovery, Reservation, Standing, Undecided},
    state::EntryId,
};

mod failure;
mod location;
mod schema;
mod seen;
mod statements;
mod stats;
mod store;
mod writer;

pub use stats::Stats;

use failure::Failure;
use stats::Counters;
use store::{Database, Store};
use writer::{Call, Job, Marks, Writer};

/// How a [`SqliteLedger`] is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// The most bytes that the ledger may hold, the log beside it not counted (usually 8 MiB; more while another
    /// program reads the file). Without it the disk is the limit.
    pub max_bytes: Option<u64>,
    /// How long an answer can be fetched again after its settlement, in seconds.
    pub retention_seconds: u64,
}

impl Default for Options {
    /// No size limit, and a day of retention.
    fn default() -> Self {
        Self {
            max_bytes: None,
            retention_seconds: 86_400,
        }
    }
}

/// A journal in one SQLite file, for one server.
///
/// All work is done by one thread with one connection. It takes whatever requests have queued up while the previous
/// commit was being written, runs them in one transaction, and answers them after one `fsync` (group commit): the
/// cost of a durable write is shared by all calls in flight. The next batch begins when those who were told of the last
/// one have had a turn to queue what they do next, so that batches do not fall apart into halves. Reads go through the same
/// thread: they see every earlier answer, cost microseconds, and need no second page cache.
///
/// Dropping the ledger finishes what is queued, writes the log back into the file and joins the thread.
#[derive(Debug)]
pub struct SqliteLedger {
    path: PathBuf,
    queue: Option<mpsc::Sender<Box<dyn Job>>>,
    writer: Option<JoinHandle<()>>,
    marks: Marks,
    counters: Arc<Counters>,
}

impl SqliteLedger {
    /// Opens the ledger at a path or `sqlite://` URL (`sqlite://data/service.db` is relative to the working folder),
    /// and creates file and folder if they are missing. Both are readable by their owner only.
    ///
    /// Takes milliseconds, whatever the size of the ledger. Call [`Journal::recover`] before the first claim.
    ///
    /// # Errors
    ///
    /// Everything that [`LedgerError`] says about files: [`InUse`](LedgerError::InUse),
    /// [`Damaged`](LedgerError::Damaged), [`ForeignFile`](LedgerError::ForeignFile),
    /// [`NewerSchema`](LedgerError::NewerSchema), [`CannotOpen`](LedgerError::CannotOpen),
    /// [`UnsupportedAddress`](LedgerError::UnsupportedAddress), [`Full`](LedgerError::Full).
    pub fn open(path_or_url: &str, options: Options) -> Result<Self, LedgerError> {
        let location = location::claim(path_or_url)?;
        let path = location.path().to_owned();
        let database = Database::open(location, options.max_bytes)?;
        let counters = Arc::new(Counters::default());
        let marks = Arc::new(Mutex::new(Vec::new()));
        let (queue, requests) = mpsc::channel();
        let (opened, outcome) = mpsc::channel();
        let (notes, count) = (Arc::clone(&marks), Arc::clone(&counters));
        let write = move || match Store::open(&database, options.retention_seconds) {
            Ok(store) => {
                // Whoever opens the ledger waits for this.
                let _ = opened.send(Ok(()));
                Writer::new(store, notes, count).run(&requests);
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
        // Should it fail, the file is closed and given back before anybody hears of it.
        let ledger = Self {
            path,
            queue: Some(queue),
            writer: Some(writer),
            marks,
            counters,
        };
        outcome
            .recv()
            .unwrap_or(Err(LedgerError::Closed))
            .map(|()| ledger)
    }

    /// What the writer has done since the ledger was opened.
    #[must_use]
    pub fn stats(&self) -> Stats {
        self.counters.read()
    }

    /// Refuses a stored answer whose body is not the one that was stored. Done by whoever asks for it: the writer has
    /// better things to do.
    fn check(&self, standing: &Standing) -> Result<(), LedgerError> {
        match standing {
            Standing::Answered(stored) if !stored.answer.is_intact() => Err(LedgerError::Damaged {
                path: self.path.clone(),
            }),
            _ => Ok(()),
        }
    }

    /// Queues an operation and waits until it is durable. The operation may run more than once, each time on what
    /// the others have left, but takes effect once.
    fn submit<T, F>(
        &self,
        name: &'static str,
        operation: F,
    ) -> impl Future<Output = Result<T, LedgerError>> + Send + use<T, F>
    where
        T: Send + 'static,
        F: FnMut(&mut Store<'_>) -> Result<T, Failure> + Send + 'static,
    {
        let (reply, answer) = oneshot::channel();
        let job = Box::new(Call::new(name, operation, reply));
        let sent = match &self.queue {
            Some(queue) => queue.send(job).map_err(|_| LedgerError::Closed),
            None => Err(LedgerError::Closed),
        };
        async move {
            sent?;
            answer.await.unwrap_or(Err(LedgerError::Closed))
        }
    }
}

// What writes during a payment is queued at the call, so that its future holds no more than the wait for it.
impl Journal for SqliteLedger {
    fn reserve(
        &self,
        claim: Claim,
    ) -> impl Future<Output = Result<Reservation, LedgerError>> + Send {
        let digest = claim.key.digest();
        let reservation = self.submit("reserve", move |store| store.reserve(digest, &claim));
        async move {
            let reservation = reservation.await?;
            if let Reservation::Standing(standing) = &reservation {
                self.check(standing)?;
            }
            Ok(reservation)
        }
    }

    fn find(
        &self,
        key: &AuthorizationKey,
        request: &RequestBinding,
        now: u64,
    ) -> impl Future<Output = Result<Option<Standing>, LedgerError>> + Send {
        let (digest, request) = (key.digest(), request.digest());
        let standing = self.submit("find", move |store| store.find(digest, request, now));
        async move {
            let standing = standing.await?;
            if let Some(standing) = &standing {
                self.check(standing)?;
            }
            Ok(standing)
        }
    }

    fn start_work(&self, entry: EntryId) {
        // Left for the writer to take along with its next batch: the note is not worth a wake-up, let alone a commit.
        self.marks
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(entry);
    }

    fn begin_settlement(
        &self,
        entry: EntryId,
        settlement: Settlement,
        now: u64,
    ) -> impl Future<Output = Result<(), LedgerError>> + Send {
        // Work that was done before its beginning was noted leaves nothing to note.
        self.marks
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .retain(|mark| *mark != entry);
        self.submit("begin_settlement", move |store| {
            store.begin_settlement(entry, &settlement, now)
        })
    }

    fn settle(
        &self,
        entry: EntryId,
        receipt: StoredReceipt,
        now: u64,
    ) -> impl Future<Output = Result<(), LedgerError>> + Send {
        self.submit("settle", move |store| store.settle(entry, &receipt, now))
    }

    fn release(
        &self,
        entry: EntryId,
        reason: &str,
        now: u64,
    ) -> impl Future<Output = Result<(), LedgerError>> + Send {
        let reason = reason.to_owned();
        self.submit("release", move |store| store.release(entry, &reason, now))
    }

    fn mark_unknown(
        &self,
        entry: EntryId,
        transaction: Option<String>,
        cause: &str,
        now: u64,
    ) -> impl Future<Output = Result<(), LedgerError>> + Send {
        let cause = cause.to_owned();
        self.submit("mark_unknown", move |store| {
            store.mark_unknown(entry, transaction.as_deref(), &cause, now)
        })
    }

    async fn undecided(
        &self,
        after: Option<EntryId>,
        limit: u32,
    ) -> Result<Vec<Undecided>, LedgerError> {
        self.submit("undecided", move |store| store.undecided(after, limit))
            .await
    }

    async fn recover(&self, now: u64) -> Result<Recovery, LedgerError> {
        let recovery = self
            .submit("recover", move |store| {
                store.close_open(u64::MAX, "restart", now)
            })
            .await?;
        if recovery != Recovery::default() {
            tracing::warn!(
                released = recovery.released,
                unknown = recovery.unknown,
                "the previous run left payments open"
            );
        }
        Ok(recovery)
    }

    async fn abandon(&self, untouched_since: u64, now: u64) -> Result<Recovery, LedgerError> {
        self.submit("abandon", move |store| {
            store.close_open(untouched_since, "abandoned", now)
        })
        .await
    }

    async fn prune(&self, now: u64) -> Result<Pruned, LedgerError> {
        self.submit("prune", move |store| store.prune(now)).await
    }

    async fn probe(&self) -> Result<(), LedgerError> {
        self.submit("probe", |store| store.probe()).await
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
