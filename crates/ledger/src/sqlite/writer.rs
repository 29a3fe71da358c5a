//! The writer: the only thread that uses the connection.
//!
//! It runs all requests that wait in one transaction and answers them after the commit (group
//! commit). When a request of a batch fails, each request gets a transaction of its own. Between
//! batches, it writes the log back into the file. The meaning of a request belongs to the store.

use std::{
    mem,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
        mpsc::{self, Receiver, RecvTimeoutError},
    },
    time::Duration,
};

use storage::sqlite::DatabaseError;
use tokio::{
    runtime::{Handle, RuntimeFlavor},
    sync::oneshot,
};

use super::{Failure, stats::Counters, store::Store};
use crate::{error::LedgerError, state::EntryId};

/// Marks that nobody waits for. The next batch writes them.
pub(super) type Marks = Arc<Mutex<Pending>>;

/// The entries that are to be marked.
#[derive(Debug, Default)]
pub(super) struct Pending {
    /// Entries whose work has begun.
    pub(super) begun: Vec<EntryId>,
    /// Entries whose answer was written whole to a connection.
    pub(super) delivered: Vec<EntryId>,
}

/// The most requests in one transaction. A larger batch would delay the first of them.
const MAX_BATCH: usize = 256;

/// The longest commit window: how long the next batch waits for the callers of the previous one.
const COMMIT_WINDOW: Duration = Duration::from_millis(2);

/// How long marks of deliveries wait for a batch of requests to share its commit.
const MARK_WINDOW: Duration = Duration::from_millis(500);

/// How many pages the write-ahead log has when it is written back (32 MiB). Pages that change in
/// every batch, and the pages of the indexes that many batches share, are then written back once.
/// Reading the log after a crash still takes less than a tenth of a second.
const CHECKPOINT_PAGES: u32 = 8192;

/// A queued request.
pub(super) trait Job: Send {
    /// The name of the operation, for errors and logs.
    fn name(&self) -> &'static str;
    /// Runs the operation in the open transaction. After an error, the transaction must be rolled
    /// back.
    fn run(&mut self, store: &mut Store<'_>) -> rusqlite::Result<()>;
    /// The runtime of the caller, if it is multi-threaded.
    fn runtime(&self) -> Option<&Handle>;
    /// Answers the caller. The transaction is then durable or lost.
    fn answer(self: Box<Self>, verdict: Result<(), LedgerError>);
}

/// A request: a function of the store, and the channel for the reply to its caller.
pub(super) struct Request<T, F> {
    name: &'static str,
    operation: F,
    outcome: Option<Result<T, LedgerError>>,
    reply: oneshot::Sender<Result<T, LedgerError>>,
    runtime: Option<Handle>,
}

impl<T, F> Request<T, F> {
    pub(super) fn new(
        name: &'static str,
        operation: F,
        reply: oneshot::Sender<Result<T, LedgerError>>,
    ) -> Self {
        Self {
            name,
            operation,
            outcome: None,
            reply,
            runtime: Handle::try_current()
                .ok()
                .filter(|runtime| runtime.runtime_flavor() == RuntimeFlavor::MultiThread),
        }
    }
}

impl<T, F> Job for Request<T, F>
where
    T: Send,
    F: FnMut(&mut Store<'_>) -> Result<T, Failure> + Send,
{
    fn name(&self) -> &'static str {
        self.name
    }

    fn run(&mut self, store: &mut Store<'_>) -> rusqlite::Result<()> {
        self.outcome = match (self.operation)(store) {
            Ok(value) => Some(Ok(value)),
            Err(Failure::Refused(error)) => Some(Err(error)),
            Err(Failure::Sqlite(error)) => return Err(error),
        };
        Ok(())
    }

    fn runtime(&self) -> Option<&Handle> {
        self.runtime.as_ref()
    }

    fn answer(self: Box<Self>, verdict: Result<(), LedgerError>) {
        let outcome = match verdict {
            Ok(()) => self.outcome.unwrap_or(Err(LedgerError::Closed)),
            Err(error) => Err(error),
        };
        // The caller may have gone. The write counts nevertheless.
        let _ = self.reply.send(outcome);
    }
}

/// Durable jobs. Dropping this value answers their callers.
struct Delivery(Vec<Box<dyn Job>>);

impl Drop for Delivery {
    fn drop(&mut self) {
        self.0.drain(..).for_each(|job| job.answer(Ok(())));
    }
}

/// Answers the callers of a batch. The returned receiver ends when their commit window is over.
///
/// Waking a task from outside its runtime takes a lock, and often a system call, for each task.
/// From inside, it is a push to a queue. So a task of the runtime wakes several callers, and then
/// yields to them. A runtime that shuts down drops this task, which also answers the callers.
fn deliver(batch: Vec<Box<dyn Job>>) -> Option<Receiver<()>> {
    let several = batch.len() > 1;
    let runtime = batch.iter().find_map(|job| job.runtime().cloned());
    let delivery = Delivery(batch);
    let runtime = runtime.filter(|_| several)?;
    let (window, over) = mpsc::channel::<()>();
    runtime.spawn(async move {
        drop(delivery);
        tokio::task::yield_now().await;
        drop(window);
    });
    Some(over)
}

/// Why a transaction was rolled back.
enum Lost {
    /// One of the transaction's requests failed. The others may succeed without it.
    Request {
        name: &'static str,
        error: rusqlite::Error,
    },
    /// The begin or the commit of the transaction failed.
    Transaction(rusqlite::Error),
}

pub(super) struct Writer<'c> {
    store: Store<'c>,
    marks: Marks,
    /// Set while the writer waits for a request without looking at the marks.
    is_idle: Arc<AtomicBool>,
    counters: Arc<Counters>,
    last_log_pages: u32,
    checkpoint_at: u32,
}

impl<'c> Writer<'c> {
    pub(super) fn new(
        store: Store<'c>,
        marks: Marks,
        is_idle: Arc<AtomicBool>,
        counters: Arc<Counters>,
    ) -> Self {
        Self {
            store,
            marks,
            is_idle,
            counters,
            last_log_pages: 0,
            checkpoint_at: CHECKPOINT_PAGES,
        }
    }

    /// Serves requests until the last sender is gone and the queue is empty.
    pub(super) fn run(mut self, requests: &Receiver<Box<dyn Job>>) {
        let mut batch = Vec::with_capacity(MAX_BATCH);
        while let Ok(first) = self.wait(requests) {
            batch.extend(first);
            batch.extend(requests.try_iter().take(MAX_BATCH - batch.len()));
            let window = self.serve(&mut batch);
            self.checkpoint_if_due();
            // A commit costs as much as a few payments. The callers of one batch queue their next
            // moves at about the same time, and this window lets them share the next commit as
            // well.
            if let Some(over) = window {
                let _ = over.recv_timeout(COMMIT_WINDOW);
            }
        }
        if self.has_deliveries() {
            self.serve(&mut batch);
        }
    }

    /// Waits for a request. `None` when there is none, and marks of deliveries must be written.
    fn wait(
        &self,
        requests: &Receiver<Box<dyn Job>>,
    ) -> Result<Option<Box<dyn Job>>, mpsc::RecvError> {
        if !self.is_idle.load(Ordering::SeqCst) {
            match requests.recv_timeout(MARK_WINDOW) {
                Ok(job) => return Ok(Some(job)),
                Err(RecvTimeoutError::Disconnected) => return Err(mpsc::RecvError),
                Err(RecvTimeoutError::Timeout) if self.has_deliveries() => return Ok(None),
                Err(RecvTimeoutError::Timeout) => self.is_idle.store(true, Ordering::SeqCst),
            }
            // A mark may have come before its sender could see that nobody looks.
            if self.has_deliveries() {
                self.is_idle.store(false, Ordering::SeqCst);
                return Ok(None);
            }
        }
        let first = requests.recv();
        self.is_idle.store(false, Ordering::SeqCst);
        first.map(Some)
    }

    fn has_deliveries(&self) -> bool {
        let marks = self.marks.lock().unwrap_or_else(PoisonError::into_inner);
        !marks.delivered.is_empty()
    }

    /// Runs a batch. Returns the commit window of its callers ([`deliver`]).
    fn serve(&mut self, batch: &mut Vec<Box<dyn Job>>) -> Option<Receiver<()>> {
        self.counters.answering(batch.len());
        let mut done = self.attempt(batch, true);
        if let Err(lost) = &done
            && self.is_full(lost)
            && self.make_room()
        {
            done = self.attempt(batch, false);
        }
        match done {
            Ok(()) => return deliver(mem::take(batch)),
            Err(Lost::Transaction(error)) => {
                let error = self.report(&error, "commit");
                batch
                    .drain(..)
                    .for_each(|job| job.answer(Err(error.clone())));
            }
            // Nothing of the batch was written. Each request now gets a transaction of its own, so
            // that only the faulty ones fail.
            Err(Lost::Request { .. }) => {
                for mut job in batch.drain(..) {
                    let verdict =
                        self.attempt(std::slice::from_mut(&mut job), false)
                            .map_err(|lost| match lost {
                                Lost::Request { name, error } => self.report(&error, name),
                                Lost::Transaction(error) => self.report(&error, "commit"),
                            });
                    job.answer(verdict);
                }
            }
        }
        None
    }

    /// Runs all jobs in one transaction. When it fails, none of them has an effect.
    fn attempt(&mut self, jobs: &mut [Box<dyn Job>], with_marks: bool) -> Result<(), Lost> {
        let changes = self.store.connection().total_changes();
        self.store.begin().map_err(Lost::Transaction)?;
        let done = self.run_all(jobs, with_marks);
        let done = done.and_then(|()| self.store.commit().map_err(Lost::Transaction));
        match done {
            Ok(()) if self.store.connection().total_changes() != changes => {
                self.counters.committed();
            }
            Ok(()) => {}
            Err(_) => self.store.roll_back(),
        }
        done
    }

    fn run_all(&mut self, jobs: &mut [Box<dyn Job>], with_marks: bool) -> Result<(), Lost> {
        if with_marks {
            // A rollback loses the marks, and nobody was promised that they are durable.
            let marks = mem::take(&mut *self.marks.lock().unwrap_or_else(PoisonError::into_inner));
            let lost = |name| move |error| Lost::Request { name, error };
            for entry in marks.begun {
                self.store.start_work(entry).map_err(lost("start_work"))?;
            }
            for entry in marks.delivered {
                self.store
                    .mark_delivered(entry)
                    .map_err(lost("mark_delivered"))?;
            }
        }
        for job in jobs {
            let name = job.name();
            job.run(&mut self.store)
                .map_err(|error| Lost::Request { name, error })?;
        }
        self.store.finish_batch().map_err(|error| Lost::Request {
            name: "finish_batch",
            error,
        })
    }

    fn is_full(&self, lost: &Lost) -> bool {
        let (Lost::Request { error, .. } | Lost::Transaction(error)) = lost;
        DatabaseError::named(error, self.store.path(), "commit") == DatabaseError::Full
    }

    /// Writes the log back, so that the next commit can reuse its room. Returns whether all of it
    /// was written back. When the disk is full and the log cannot grow, this often helps.
    fn make_room(&mut self) -> bool {
        self.counters.checkpointed();
        match self.store.checkpoint() {
            Ok((pages, written)) => pages > 0 && written >= pages,
            Err(error) => {
                self.report(&error, "checkpoint");
                false
            }
        }
    }

    /// Writes the log back when it is long enough. The writer calls it between batches, when the
    /// callers have their answers.
    fn checkpoint_if_due(&mut self) {
        let pages = self.store.log_pages();
        if mem::replace(&mut self.last_log_pages, pages) > pages {
            // The log has started again from its beginning.
            self.checkpoint_at = CHECKPOINT_PAGES;
        }
        if pages < self.checkpoint_at {
            return;
        }
        match self.store.checkpoint() {
            // The whole log is written back, so the next commit starts it again.
            Ok((pages, written)) if written >= pages => self.checkpoint_at = CHECKPOINT_PAGES,
            // A reader still uses an older state. The writer tries again when the log has grown
            // further.
            Ok((pages, _)) => self.checkpoint_at = pages.saturating_add(CHECKPOINT_PAGES),
            Err(error) => {
                self.report(&error, "checkpoint");
                self.checkpoint_at = pages.saturating_add(CHECKPOINT_PAGES);
            }
        }
        self.counters.checkpointed();
    }

    fn report(&self, error: &rusqlite::Error, operation: &'static str) -> LedgerError {
        let name = LedgerError::from(DatabaseError::named(error, self.store.path(), operation));
        tracing::error!(code = name.code(), operation, %error, "a ledger operation failed");
        name
    }
}
