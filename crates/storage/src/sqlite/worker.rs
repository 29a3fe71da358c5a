//! One thread with one connection, and a queue of operations for it.

use std::{
    fmt,
    path::{Path, PathBuf},
    sync::mpsc::{self, Sender},
    thread::{self, JoinHandle},
};

use rusqlite::Connection;
use tokio::sync::oneshot;

use super::{ClaimedFile, DatabaseError, Format, Settings, create, open};

/// An open database whose operations run one after the other, in a thread of its own, in the order
/// in which they were asked for.
///
/// Dropping it finishes what is queued, writes the log back into the file if nobody else has it
/// open, and joins the thread.
pub struct Worker {
    path: PathBuf,
    queue: Option<Sender<Job>>,
    thread: Option<JoinHandle<()>>,
}

/// One operation, with whoever waits for it.
type Job = Box<dyn FnOnce(&mut Connection) + Send>;

impl Worker {
    /// Opens the file at `path`, which several servers on one machine may have open. Creates file
    /// and folder if they are missing, both readable by their owner only.
    ///
    /// # Errors
    ///
    /// As [`open`], and [`CannotOpen`](DatabaseError::CannotOpen).
    pub fn shared(
        path: PathBuf,
        format: &Format,
        settings: &Settings,
    ) -> Result<Self, DatabaseError> {
        create(&path)?;
        Self::start(path, None, format, settings)
    }

    /// Opens a claimed file, which no other server has open as long as this one has.
    ///
    /// # Errors
    ///
    /// As [`open`].
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
            // Nobody else opens the file before it is closed.
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

    /// Where the file lies.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Queues an operation and waits until it is done. It is queued at the call, and runs whether
    /// or not the future is waited for.
    pub fn submit<T, E, F>(
        &self,
        operation: F,
    ) -> impl Future<Output = Result<T, E>> + Send + use<T, E, F>
    where
        T: Send + 'static,
        E: From<DatabaseError> + Send + 'static,
        F: FnOnce(&mut Connection) -> Result<T, E> + Send + 'static,
    {
        let (reply, answer) = oneshot::channel();
        let job: Job = Box::new(move |connection| {
            // Whoever asked may have gone; what was done stays done.
            let _ = reply.send(operation(connection));
        });
        let sent = match &self.queue {
            Some(queue) => queue.send(job).map_err(|_| DatabaseError::Closed),
            None => Err(DatabaseError::Closed),
        };
        async move {
            sent?;
            let closed = || Err(DatabaseError::Closed.into());
            answer.await.unwrap_or_else(|_| closed())
        }
    }
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
        // The thread stops when the sender is gone and the queue is empty.
        self.queue = None;
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            tracing::error!(path = %self.path.display(), "the thread of a database ended abnormally");
        }
    }
}

/// The last handle of a file writes the log back into it.
fn close(connection: Connection) {
    if let Err((_, error)) = connection.close() {
        tracing::warn!(%error, "a database was not closed in order");
    }
}
