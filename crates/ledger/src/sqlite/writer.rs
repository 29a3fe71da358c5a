//! The one thread that writes: group commit.

use std::{
    mem,
    sync::{
        Arc, Mutex, PoisonError,
        mpsc::{self, Receiver},
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

/// Entries whose work has begun, to be noted with the next batch.
pub(super) type Marks = Arc<Mutex<Vec<EntryId>>>;

/// The most requests in one transaction. More would only make the first of them wait.
const MAX_BATCH: usize = 256;

/// The longest commit window: how long the next batch waits for the callers of the last one.
const COMMIT_WINDOW: Duration = Duration::from_millis(2);

/// Pages in the write-ahead log after which it is written back (8 MiB): enough that pages which
/// change in every batch are written back once for many, and little enough that reading the log
/// after a crash takes milliseconds.
const CHECKPOINT_PAGES: u32 = 2048;

/// A queued request.
pub(super) trait Job: Send {
    /// What it does, for errors and logs.
    fn name(&self) -> &'static str;
    /// Does it within the open transaction. An error means that the transaction must be rolled
    /// back.
    fn run(&mut self, store: &mut Store<'_>) -> rusqlite::Result<()>;
    /// The runtime of whoever waits, if its threads run by themselves.
    fn runtime(&self) -> Option<&Handle>;
    /// Answers whoever waits, once the transaction is durable or lost.
    fn answer(self: Box<Self>, verdict: Result<(), LedgerError>);
}

/// A request as a function of the store.
pub(super) struct Call<T, F> {
    name: &'static str,
    operation: F,
    outcome: Option<Result<T, LedgerError>>,
    reply: oneshot::Sender<Result<T, LedgerError>>,
    runtime: Option<Handle>,
}

impl<T, F> Call<T, F> {
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

impl<T, F> Job for Call<T, F>
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
        // Whoever asked may have gone; what was done stays done.
        let _ = self.reply.send(outcome);
    }
}

/// Jobs that are done and durable, whose callers are answered when this is dropped.
struct Delivery(Vec<Box<dyn Job>>);

impl Drop for Delivery {
    fn drop(&mut self) {
        self.0.drain(..).for_each(|job| job.answer(Ok(())));
    }
}

/// Answers the callers of a batch. The returned receiver ends when their commit window is over.
///
/// To wake a task from outside its runtime takes a lock and often a system call, for each task
/// anew; from inside it is a push to a queue. So several are woken by a task of the runtime itself,
/// which then goes to the end of the queue. Should the runtime be shutting down, the task is
/// dropped instead, which answers them as well.
fn deliver(batch: Vec<Box<dyn Job>>) -> Option<Receiver<()>> {
    let several = batch.len() > 1;
    let runtime = batch.iter().find_map(|job| job.runtime().cloned());
    let delivery = Delivery(batch);
    let runtime = runtime.filter(|_| several)?;
    let (turn, over) = mpsc::channel();
    runtime.spawn(async move {
        drop(delivery);
        tokio::task::yield_now().await;
        drop(turn);
    });
    Some(over)
}

/// Why a transaction was lost.
enum Lost {
    /// One of its requests failed. The others have done nothing wrong.
    Request {
        name: &'static str,
        error: rusqlite::Error,
    },
    /// It could not be begun or made durable.
    Transaction(rusqlite::Error),
}

pub(super) struct Writer<'c> {
    store: Store<'c>,
    marks: Marks,
    counters: Arc<Counters>,
    last_log_pages: u32,
    checkpoint_at: u32,
}

impl<'c> Writer<'c> {
    pub(super) fn new(store: Store<'c>, marks: Marks, counters: Arc<Counters>) -> Self {
        Self {
            store,
            marks,
            counters,
            last_log_pages: 0,
            checkpoint_at: CHECKPOINT_PAGES,
        }
    }

    /// Serves requests until the last sender is gone and the queue is empty.
    pub(super) fn run(mut self, requests: &Receiver<Box<dyn Job>>) {
        let mut batch = Vec::with_capacity(MAX_BATCH);
        while let Ok(first) = requests.recv() {
            batch.push(first);
            batch.extend(requests.try_iter().take(MAX_BATCH - 1));
            let turn = self.serve(&mut batch);
            self.checkpoint_if_due();
            // A commit costs as much as a few payments. Those who share one come back together with
            // their next moves, and share the next one as well, if it lets them come.
            if let Some(over) = turn {
                let _ = over.recv_timeout(COMMIT_WINDOW);
            }
        }
    }

    /// Runs a batch; see [`deliver`] for what is returned.
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
            // Nothing of the batch has happened, so each of its requests may have a transaction of
            // its own, and only those that really fail fail.
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

    /// Runs all jobs in one transaction; when it fails, none of them has happened.
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
            // A batch that is lost loses its marks too, which is what they are: notes.
            let marks = mem::take(&mut *self.marks.lock().unwrap_or_else(PoisonError::into_inner));
            for entry in marks {
                self.store
                    .start_work(entry)
                    .map_err(|error| Lost::Request {
                        name: "start_work",
                        error,
                    })?;
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

    /// Writes the log back, so that the next commit may begin it anew in the room that it already
    /// has: on a full disk the log cannot grow, and often enough this is all that is missing.
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

    /// Between batches, so that nobody who has been served waits for it.
    fn checkpoint_if_due(&mut self) {
        let pages = self.store.log_pages();
        if mem::replace(&mut self.last_log_pages, pages) > pages {
            // The log has begun anew.
            self.checkpoint_at = CHECKPOINT_PAGES;
        }
        if pages < self.checkpoint_at {
            return;
        }
        match self.store.checkpoint() {
            // Written back altogether: the next commit begins the log anew.
            Ok((pages, written)) if written >= pages => self.checkpoint_at = CHECKPOINT_PAGES,
            // Somebody reads an older state; not worth another try until the log has grown further.
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
