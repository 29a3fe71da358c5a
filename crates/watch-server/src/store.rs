//! The port to the durable mandates and their audits.
//!
//! [`SqliteStore`] keeps them in a file of one machine, [`PostgresStore`] in a database that
//! several servers share, and [`MemoryStore`] in memory.

mod memory;
mod postgres;
mod sqlite;

use std::pin::Pin;

use jiff::Timestamp;
use storage::postgres::Condition;
use thiserror::Error;
use yield_watch::{AuditRecord, Watched};

pub use self::memory::MemoryStore;
pub use self::postgres::PostgresStore;
pub use self::sqlite::SqliteStore;

/// The future that a store returns.
pub type StoreFuture<'a, T> = Pin<Box<dyn Future<Output = Result<T, StoreError>> + Send + 'a>>;

/// A stored mandate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kept {
    /// Its place in the order of creation. A later mandate of the same owner has a higher place.
    pub place: u64,
    /// Rises with every write.
    pub revision: u64,
    /// The mandate with the head of its audit.
    pub watched: Watched,
    /// When the next work is due. `None` when nothing is left to do.
    pub due_at: Option<Timestamp>,
}

/// A new mandate.
#[derive(Clone, Debug)]
pub struct Creation {
    /// The mandate.
    pub watched: Watched,
    /// The first record of its audit.
    pub record: AuditRecord,
    /// The condition that the payment is still claimed for the call. A new mandate is stored only
    /// while the condition holds. `None` when no other server shares the database. A store of one
    /// server ignores it.
    pub claim: Option<Condition>,
    /// The time, by the server's clock. Mandates that have expired by then do not count as active.
    pub now: Timestamp,
}

/// A write to one mandate and its audit. All of it is written, or nothing.
#[derive(Clone, Debug)]
pub struct Write {
    /// The revision on which the write is based.
    pub revision: u64,
    /// The lease that the writer must still hold. Checks have one. Owners need none.
    pub lease: Option<Lease>,
    /// The new state of the mandate.
    pub watched: Watched,
    /// The records that the write appends to the audit.
    pub records: Vec<AuditRecord>,
    /// When the next work is due. `None` when nothing is left to do.
    pub due_at: Option<Timestamp>,
}

/// The right to check a mandate. Each new holder gets a higher token, and the store refuses every
/// write with another token. A process that was suspended for longer than its lease can no longer
/// write once another process has the lease.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lease {
    /// The mandate.
    pub id: String,
    /// Rises each time the lease gets a new holder.
    pub token: u64,
}

/// Why a store operation failed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The mandate was written since it was read, or does not exist. The caller reads it and
    /// decides again.
    #[error("the mandate has changed since it was read")]
    Conflict,
    /// Another process has taken the lease.
    #[error("the lease of the mandate was taken by another process")]
    Fenced,
    /// The owner already has [`MAX_ACTIVE`](yield_watch::MAX_ACTIVE) active mandates.
    #[error("the owner has the maximum of active mandates")]
    TooMany,
    /// The payment is no longer claimed for the call: another server may have released it.
    #[error("the claim of the payment was lost")]
    ClaimLost,
    /// The store cannot be used now. The code contains no path.
    #[error("the records of mandates cannot be used: {code}")]
    Unavailable {
        /// The name that the database gives to the error.
        code: &'static str,
    },
}

impl StoreError {
    /// Returns the stable code.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Conflict => "watch_store_conflict",
            Self::Fenced => "watch_store_fenced",
            Self::TooMany => "too_many_mandates",
            Self::ClaimLost => "claim_lost",
            Self::Unavailable { code } => code,
        }
    }
}

/// Stores mandates and their audits. Several processes may share a file or a database.
///
/// When a write to a file or a database returns `Ok`, its effect survives a crash and a loss of
/// power. When it returns [`StoreError::Unavailable`], it may or may not have happened, and the
/// caller reads again. Records are appended and never changed. Times are in whole seconds and come
/// from the caller.
pub trait Store: Send + Sync + 'static {
    /// Stores a new mandate. If its id exists already, returns the existing mandate unchanged,
    /// whatever its terms.
    ///
    /// # Errors
    /// [`StoreError::TooMany`], [`StoreError::ClaimLost`].
    fn create(&self, creation: Creation) -> StoreFuture<'_, Kept>;

    /// Returns the mandate with this id.
    fn find(&self, id: &str) -> StoreFuture<'_, Option<Kept>>;

    /// Returns at most `most` mandates of an owner, the newest first. With `before`, returns only
    /// mandates of a lower place.
    fn list(&self, owner: &str, before: Option<u64>, most: u32) -> StoreFuture<'_, Vec<Kept>>;

    /// Makes a write, and returns the new revision.
    ///
    /// # Errors
    /// [`StoreError::Conflict`] and [`StoreError::Fenced`].
    fn write(&self, write: Write) -> StoreFuture<'_, u64>;

    /// Returns at most `most` records of an audit, from the record with number `from` on.
    fn records(&self, id: &str, from: u64, most: u32) -> StoreFuture<'_, Vec<AuditRecord>>;

    /// Returns the ids of at most `most` mandates that are due at `now`, the longest due first.
    fn due(&self, now: Timestamp, most: u32) -> StoreFuture<'_, Vec<String>>;

    /// Takes or renews the lease of a mandate for `holder`, for `seconds` after `now`. `None` while
    /// another holder has the lease, and for an unknown mandate. The same holder keeps its token. A
    /// new holder gets a higher one.
    ///
    /// The clocks of processes may differ by a minute. A stored lease that ends more than a minute
    /// later than a lease taken at `now` could end shows that a clock was set back. It counts as
    /// over.
    fn acquire(
        &self,
        id: &str,
        holder: &str,
        now: Timestamp,
        seconds: u32,
    ) -> StoreFuture<'_, Option<Lease>>;

    /// Gives a lease back before its end.
    fn give_back(&self, lease: Lease, holder: &str) -> StoreFuture<'_, ()>;

    /// Names the store's history. A database begins another history when a replica takes over,
    /// which may lack the last commits. `None` when the store can lose nothing, or when the
    /// database does not tell its history.
    fn history(&self) -> StoreFuture<'_, Option<String>> {
        Box::pin(async { Ok(None) })
    }

    /// Whether the store can be read and written now.
    fn probe(&self) -> StoreFuture<'_, ()>;
}
