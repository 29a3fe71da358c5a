//! The port to the durable mandates and their audits.

mod memory;
mod sqlite;

use std::pin::Pin;

use jiff::Timestamp;
use thiserror::Error;
use yield_watch::{Record, Watched};

pub use self::memory::MemoryStore;
pub use self::sqlite::SqliteStore;

/// The answer of a store.
pub type StoreFuture<'a, T> = Pin<Box<dyn Future<Output = Result<T, StoreError>> + Send + 'a>>;

/// A mandate as it is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kept {
    /// Its place among all mandates, by creation.
    pub place: u64,
    /// Rises with every write.
    pub revision: u64,
    /// The mandate, and where its audit stands.
    pub watched: Watched,
    /// When something is left to be done; `None` when nothing is.
    pub due_at: Option<Timestamp>,
}

/// A mandate that is created.
#[derive(Clone, Debug)]
pub struct Creation {
    /// The mandate.
    pub watched: Watched,
    /// Its first record.
    pub record: Record,
    /// When, by the server's clock: what has expired by then is not active.
    pub now: Timestamp,
}

/// What is written about a mandate, all or nothing.
#[derive(Clone, Debug)]
pub struct Write {
    /// The revision of the [`Kept`] that it was judged by.
    pub revision: u64,
    /// The lease that must still be held; needed by a check.
    pub lease: Option<Lease>,
    /// The mandate after it.
    pub watched: Watched,
    /// The records that it adds to the audit.
    pub records: Vec<Record>,
    /// When something is left to be done.
    pub due_at: Option<Timestamp>,
}

/// The right to check a mandate. A later holder's token is higher, and the store refuses every
/// write that carries a lower one: a process that was held up for longer than its lease can write
/// nothing any more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lease {
    /// The mandate.
    pub id: String,
    /// Rises each time the lease changes hands.
    pub token: u64,
}

/// Why the store could not do what was asked.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum StoreError {
    /// Something was written about the mandate since it was read, or there is none: read again,
    /// judge again.
    #[error("the mandate has changed since it was read")]
    Conflict,
    /// Somebody else has taken the lease since it was given.
    #[error("the lease of the mandate was taken by another process")]
    Fenced,
    /// The owner has [`MAX_ACTIVE`](yield_watch::MAX_ACTIVE) active mandates.
    #[error("the owner has as many active mandates as one may have")]
    TooMany,
    /// The store cannot be used at the moment; names no path.
    #[error("the records of mandates cannot be used: {code}")]
    Unavailable {
        /// What the store calls it.
        code: &'static str,
    },
}

impl StoreError {
    /// The stable machine-readable name of the error.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Conflict => "watch_store_conflict",
            Self::Fenced => "watch_store_fenced",
            Self::TooMany => "too_many_mandates",
            Self::Unavailable { code } => code,
        }
    }
}

/// Durable mandates and their audits. Several processes may share a store.
///
/// When a write answers `Ok`, its effect survives a crash and a loss of power. When it answers
/// [`StoreError::Unavailable`], it may or may not have happened: the caller reads again. Records
/// are added and never changed. Times are kept in whole seconds and come from the caller.
pub trait Store: Send + Sync + 'static {
    /// Keeps a new mandate. When there is one of its id, that one stays and is the answer, whatever
    /// it says.
    ///
    /// # Errors
    /// [`StoreError::TooMany`].
    fn create(&self, creation: Creation) -> StoreFuture<'_, Kept>;

    /// A mandate.
    fn find(&self, id: &str) -> StoreFuture<'_, Option<Kept>>;

    /// Mandates of an owner, the newest first, at most `most`: those with a lower place than
    /// `before`.
    fn list(&self, owner: &str, before: Option<u64>, most: u32) -> StoreFuture<'_, Vec<Kept>>;

    /// Writes, and gives the new revision.
    ///
    /// # Errors
    /// [`StoreError::Conflict`] and [`StoreError::Fenced`].
    fn write(&self, write: Write) -> StoreFuture<'_, u64>;

    /// Records of an audit from a number on, at most `most`.
    fn records(&self, id: &str, from: u64, most: u32) -> StoreFuture<'_, Vec<Record>>;

    /// Mandates for which something is left to be done at `now`, the longest due first, at most
    /// `most`.
    fn due(&self, now: Timestamp, most: u32) -> StoreFuture<'_, Vec<String>>;

    /// Takes the lease of a mandate for `holder` for `seconds` after `now`, or renews it; `None`
    /// while somebody else has it and where there is no such mandate. The same holder keeps its
    /// token, a new one gets a higher one. A lease that ends later than one taken at `now` could is
    /// over: the clock was set back.
    fn acquire(
        &self,
        id: &str,
        holder: &str,
        now: Timestamp,
        seconds: u32,
    ) -> StoreFuture<'_, Option<Lease>>;

    /// Gives a lease back before it ends.
    fn give_back(&self, lease: Lease, holder: &str) -> StoreFuture<'_, ()>;

    /// Whether the store can be read and written now.
    fn probe(&self) -> StoreFuture<'_, ()>;
}
