//! One thread with one connection to a database, and the queue of its operations.

use std::{
    fmt,
    path::{Path, PathBuf},
    pin::Pin,
    sync::mpsc::{self, Sender},
    thread::{self, JoinHandle},
};

use rusqlite::{Connection, Transaction, TransactionBehavior};
use tokio::sync::oneshot;

use super::{ClaimedFile, DatabaseError, Failure, Format, Settings, create, open};

/// An open database. Its operations run one after the other on a thread of its own, in the order of
/// the calls.
///
/// Dropping the worker finishes the queue, writes the log back into the file (unless another
/// process has the file open), and joins the thread.
pub struct Worker {
    path: PathBuf,
    queue: Option<Sender<Job>>,
    thread: Option<JoinHandle<()>>,
}

/// The pending result of an operation.
pub type Pending<T, E> = Pin<Box<dyn Future<Output = Result<T, E>> + Send>>;

/// One operation, which also sends its result to the caller.
type Job = Box<dyn FnOnce(&mut Connection) + Send>;

impl Worker {
    /// Opens the file at `path`, which several servers on one machine may share. Creates the file
    /// and its folder if they are missing. Only their owner can read them.
    ///
    /// # Errors
    ///
    /// The same as [`open`], and [`CannotOpen`](DatabaseError::CannotOpen).
    pub fn shared(
        path: PathBuf,
        format: &Format,
        settings: &Settings,
    ) -> Result<Self, DatabaseError> {
        create(&path)?;
        Self::start(path, None, format, settings)
    }

    /// Opens a claimed file. The worker keeps the claim until the file is closed.
    ///
    /// # Errors
    ///
    /// The same as [`open`].
    pub fn alone(
        file: ClaimedFile,
        format: &Format,
        settings: &Settings,
    ) -> Result<Self, DatabaseError> {
        Self::start(file.path().to_owned(), Some(file), format, settings)
    }

    fn start(
        path: PathBuf,
        claim: Option<ClaimedFile>,
        format: &Format,
        settings: &Settings,
    ) -> Result<Self, DatabaseError> {
        let mut connection = open(&path, format, settings)?;
        connection.set_prepared_statement_cache_capacity(32);
        let (queue, jobs) = mpsc::channel::<Job>();
        let run = move || {
            for job in jobs {
                job(&mut connection);
            }
            close(connection);
            // The claim ends only when the file is closed.
            drop(claim);
        };
        let thread = thread::Builder::new()
            .name("storage".to_owned())
            .spawn(run)
            .map_err(|error| DatabaseError::cannot_open(&path, &error))?;
        Ok(Self {
            path,
            queue: Some(queue),
            thread: Some(thread),
        })
    }

    /// Returns the path of the file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Runs `work` in one read transaction. Everything that it reads is from the same moment.
    pub fn read<T, E, F>(&self, operation: &'static str, work: F) -> Pending<T, E>
    where
        T: Send + 'static,
        E: From<DatabaseError> + Send + 'static,
        F: FnOnce(&Transaction<'_>) -> Result<T, Failure<E>> + Send + 'static,
    {
        self.run(operation, move |connection| {
            in_transaction(connection, TransactionBehavior::Deferred, work)
        })
    }

    /// Runs `work` in one transaction. After `Ok` it is on disk; after `Err` it is rolled back. The
    /// transaction has the write lock from its start, so what it reads still holds when it writes.
    pub fn write<T, E, F>(&self, operation: &'static str, work: F) -> Pending<T, E>
    where
        T: Send + 'static,
        E: From<DatabaseError> + Send + 'static,
        F: FnOnce(&Transaction<'_>) -> Result<T, Failure<E>> + Send + 'static,
    {
        self.run(operation, move |connection| {
            in_transaction(connection, TransactionBehavior::Immediate, work)
        })
    }

    /// Runs `work` on the connection itself, for operations that begin transactions of their own.
    ///
    /// The call queues the operation. The operation runs whether or not the future is awaited.
    /// Errors of SQLite are converted and logged, with `operation` as the name of the work.
    pub fn run<T, E, F>(&self, operation: &'static str, work: F) -> Pending<T, E>
    where
        T: Send + 'static,
        E: From<DatabaseError> + Send + 'static,
        F: FnOnce(&mut Connection) -> Result<T, Failure<E>> + Send + 'static,
    {
        let (reply, answer) = oneshot::channel();
        let path = self.path.clone();
        let job: Job = Box::new(move |connection| {
            let done = work(connection).map_err(|failure| match failure {
                Failure::Refused(error) => error,
                Failure::Sqlite(error) => {
                    reported(DatabaseError::named(&error, &path, operation), operation)
                }
            });
            // If the caller has gone, the work stays done.
            let _ = reply.send(done);
        });
        // When the thread has ended, the job is dropped, and the way to reply with it.
        let _ = self.queue.as_ref().map(|queue| queue.send(job));
        Box::pin(async move {
            let closed = |_| Err(reported(DatabaseError::Closed, operation));
            answer.await.unwrap_or_else(closed)
        })
    }
}

fn in_transaction<T, E>(
    connection: &mut Connection,
    behavior: TransactionBehavior,
    work: impl FnOnce(&Transaction<'_>) -> Result<T, Failure<E>>,
) -> Result<T, Failure<E>> {
    let transaction = connection.transaction_with_behavior(behavior)?;
    let done = work(&transaction)?;
    transaction.commit()?;
    Ok(done)
}

fn reported<E: From<DatabaseError>>(error: DatabaseError, operation: &'static str) -> E {
    tracing::warn!(%error, operation, "a database operation failed");
    error.into()
}

impl fmt::Debug for Worker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Worker")
            .field("path", &self.path)
            .finish_non_exhaustive()
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        // The thread ends when there is no sender and the queue is empty.
        self.queue = None;
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            tracing::error!(path = %self.path.display(), "the thread of a database ended abnormally");
        }
    }
}

/// Closes the connection. The last connection to a file writes its log back.
fn close(connection: Connection) {
    if let Err((_, error)) = connection.close() {
        tracing::warn!(%error, "a database was not closed in order");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sqlite::{damaged, unsigned};

    const FORMAT: Format = Format {
        application_id: 0x7834_7473,
        migrations: &["CREATE TABLE a (x INTEGER NOT NULL UNIQUE)"],
    };

    #[tokio::test]
    async fn a_write_is_whole_or_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.db");
        let worker = Worker::shared(path.clone(), &FORMAT, &Settings::of_records(512)).unwrap();
        let insert = |refusal: Option<DatabaseError>| {
            worker.write("insert", move |transaction| {
                transaction.execute("INSERT INTO a VALUES (7)", [])?;
                refusal.map_or(Ok(()), |error| Err(error.into()))
            })
        };
        let rows = || {
            worker.read("count", |moment| -> Result<u64, Failure<DatabaseError>> {
                Ok(moment.query_row("SELECT count(*) FROM a", [], |row| unsigned(row, 0))?)
            })
        };
        assert_eq!(
            insert(Some(DatabaseError::Full)).await,
            Err(DatabaseError::Full)
        );
        assert_eq!(rows().await, Ok(0));
        assert_eq!(insert(None).await, Ok(()));
        let taken = insert(None).await.unwrap_err();
        assert_eq!(
            taken.to_string(),
            "the database failed in insert (SQLite code 2067)"
        );
        assert_eq!(rows().await, Ok(1));

        let damaged: Result<u8, _> = worker
            .read("read", |_| Err(Failure::Sqlite(damaged("not a number"))))
            .await;
        assert_eq!(damaged, Err(DatabaseError::Damaged { path }));
    }
}
