//! The shelf on SQLite.

use std::{
    fmt,
    path::PathBuf,
    sync::mpsc::{self, Sender},
    thread::{self, JoinHandle},
};

use alloy_primitives::B256;
use rusqlite::Connection;
use tokio::sync::oneshot;

use super::{Artifact, Record, Shelf, ShelfError, file, schema, statements::Statements};

/// How a [`SqliteShelf`] is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShelfOptions {
    /// The most bytes that artifacts may take together.
    pub max_artifact_bytes: u64,
}

impl ShelfOptions {
    /// The most bytes of artifacts where nothing else is said.
    pub const USUAL_BYTES: u64 = 512 << 20;
}

impl Default for ShelfOptions {
    /// 512 MiB: some two hundred images a day.
    fn default() -> Self {
        Self {
            max_artifact_bytes: Self::USUAL_BYTES,
        }
    }
}

/// A shelf in one SQLite file, which several servers on one machine may have open.
///
/// All work of one handle is done by one thread with one connection, in the order in which it was asked for. Between
/// handles SQLite's write lock decides.
///
/// Dropping the shelf finishes what is queued and joins the thread.
pub struct SqliteShelf {
    queue: Option<Sender<Job>>,
    thread: Option<JoinHandle<()>>,
    options: ShelfOptions,
}

/// One operation, with whoever waits for it.
type Job = Box<dyn FnOnce(Statements<'_>) + Send>;

impl SqliteShelf {
    /// Opens the shelf beside the ledger at a path or `sqlite://` URL: `data/service.shelf.db` for
    /// `sqlite://data/service.db`. Creates file and folder if they are missing, both readable by their owner only.
    ///
    /// # Errors
    ///
    /// Everything that [`ShelfError`] says about files: [`Damaged`](ShelfError::Damaged),
    /// [`ForeignFile`](ShelfError::ForeignFile), [`NewerSchema`](ShelfError::NewerSchema),
    /// [`CannotOpen`](ShelfError::CannotOpen), [`UnsupportedAddress`](ShelfError::UnsupportedAddress),
    /// [`DiskFull`](ShelfError::DiskFull), [`Busy`](ShelfError::Busy).
    pub fn beside(ledger: &str, options: ShelfOptions) -> Result<Self, ShelfError> {
        Self::open(file::beside(ledger)?, options)
    }

    /// Opens the shelf in the file at `path`, and creates file and folder if they are missing.
    ///
    /// # Errors
    ///
    /// As [`beside`](Self::beside).
    pub fn open(path: PathBuf, options: ShelfOptions) -> Result<Self, ShelfError> {
        file::create(&path)?;
        let mut connection = schema::open(&path)?;
        let (queue, jobs) = mpsc::channel::<Job>();
        let file = path.clone();
        let run = move || {
            for job in jobs {
                job(Statements {
                    connection: &mut connection,
                    path: &file,
                });
            }
            close(connection);
        };
        let thread = thread::Builder::new()
            .name("shelf".to_owned())
            .spawn(run)
            .map_err(|error| ShelfError::CannotOpen {
                path,
                kind: error.kind(),
            })?;
        Ok(Self {
            queue: Some(queue),
            thread: Some(thread),
            options,
        })
    }

    /// Queues an operation and waits until it is done.
    fn submit<T, F>(
        &self,
        operation: F,
    ) -> impl Future<Output = Result<T, ShelfError>> + Send + use<T, F>
    where
        T: Send + 'static,
        F: FnOnce(Statements<'_>) -> Result<T, ShelfError> + Send + 'static,
    {
        let (reply, answer) = oneshot::channel();
        let job: Job = Box::new(move |statements| {
            // Whoever asked may have gone; what was done stays done.
            let _ = reply.send(operation(statements));
        });
        let sent = match &self.queue {
            Some(queue) => queue.send(job).map_err(|_| ShelfError::Closed),
            None => Err(ShelfError::Closed),
        };
        async move {
            sent?;
            answer.await.unwrap_or(Err(ShelfError::Closed))
        }
    }
}

impl Shelf for SqliteShelf {
    async fn lease(
        &self,
        name: &str,
        holder: &str,
        now: u64,
        seconds: u32,
    ) -> Result<bool, ShelfError> {
        let (name, holder) = (name.to_owned(), holder.to_owned());
        self.submit(move |shelf| shelf.lease(&name, &holder, now, seconds))
            .await
    }

    async fn give_back(&self, name: &str, holder: &str) -> Result<bool, ShelfError> {
        let (name, holder) = (name.to_owned(), holder.to_owned());
        self.submit(move |shelf| shelf.give_back(&name, &holder))
            .await
    }

    async fn publish(&self, name: &str, record: Record) -> Result<(), ShelfError> {
        let name = name.to_owned();
        self.submit(move |mut shelf| shelf.publish(&name, &record))
            .await
    }

    async fn latest(&self, name: &str) -> Result<Option<Record>, ShelfError> {
        let name = name.to_owned();
        self.submit(move |shelf| shelf.latest(&name)).await
    }

    async fn keep(&self, artifact: Artifact, now: u64) -> Result<(), ShelfError> {
        let max_bytes = self.options.max_artifact_bytes;
        self.submit(move |mut shelf| shelf.keep(&artifact, max_bytes, now))
            .await
    }

    async fn has_room(&self, bytes: u64, now: u64) -> Result<(), ShelfError> {
        let max_bytes = self.options.max_artifact_bytes;
        self.submit(move |mut shelf| shelf.has_room(bytes, max_bytes, now))
            .await
    }

    async fn artifact(&self, sha256: B256, now: u64) -> Result<Option<Artifact>, ShelfError> {
        self.submit(move |shelf| shelf.artifact(sha256, now)).await
    }

    async fn count(&self, name: &str, period: u64, amount: u64) -> Result<u64, ShelfError> {
        let name = name.to_owned();
        self.submit(move |shelf| shelf.count(&name, period, amount))
            .await
    }

    async fn prune(&self, now: u64) -> Result<u64, ShelfError> {
        self.submit(move |mut shelf| shelf.prune(now)).await
    }
}

impl fmt::Debug for SqliteShelf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SqliteShelf")
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}

impl Drop for SqliteShelf {
    fn drop(&mut self) {
        // The thread stops when the sender is gone and the queue is empty.
        self.queue = None;
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            tracing::error!("the shelf's thread ended abnormally");
        }
    }
}

/// The last handle of a file writes the log back into it.
fn close(connection: Connection) {
    if let Err((_, error)) = connection.close() {
        tracing::warn!(%error, "the shelf was not closed in order");
    }
}
