//! The port to the durable records.

mod memory;
mod sqlite;

use std::pin::Pin;

pub use self::memory::MemoryStore;
pub use self::sqlite::SqliteStore;
use crate::{Lane, Record, StoreError};

/// The answer of a store.
pub type StoreFuture<'a, T> = Pin<Box<dyn Future<Output = Result<T, StoreError>> + Send + 'a>>;

/// The right to write a lane's records. A later holder's token is higher, and the store refuses
/// every write with a lower one: a sender that was held up for longer than its lease can do nothing
/// any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fence {
    /// The lane.
    pub lane: Lane,
    /// Rises each time the lane changes hands.
    pub token: u64,
}

/// What is done about a lease of somebody else that is not over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Takeover {
    /// It is waited for.
    #[default]
    WhenOver,
    /// The lane is taken. For a process that knows by other means that its predecessor has ended;
    /// should it be wrong, the predecessor's writes are refused from now on.
    AtOnce,
}

/// Durable records, which several processes may share.
///
/// When a write answers `Ok`, its effect survives a crash and a loss of power. When it answers an
/// error other than [`StoreError::Conflict`] and [`StoreError::Fenced`], it may or may not have
/// happened: the caller reads again. A store holds no truth in memory.
pub trait Store: Send + Sync + 'static {
    /// Takes the lane for `holder` for `seconds` after `now`, or renews it; `None` while somebody
    /// else has it.
    ///
    /// The same holder keeps its token, a new one gets a higher one. A lease that ends later than a
    /// lease taken at `now` could is over: the clock was set back. `now` is Unix seconds.
    fn acquire(
        &self,
        lane: Lane,
        holder: &str,
        now: u64,
        seconds: u64,
        takeover: Takeover,
    ) -> StoreFuture<'_, Option<Fence>>;

    /// Gives the lane back before its lease ends.
    fn give_back(&self, fence: Fence, holder: &str) -> StoreFuture<'_, ()>;

    /// Inserts a record unless its key is there already; the record that has the key now, with its
    /// `id`. Needs no fence: a submission takes nothing from anybody.
    fn insert(&self, record: Record) -> StoreFuture<'_, Record>;

    /// The record with this key.
    fn get(&self, key: &str) -> StoreFuture<'_, Option<Record>>;

    /// The lane's records that are not final, in the order of their ids.
    fn live(&self, lane: Lane) -> StoreFuture<'_, Vec<Record>>;

    /// The lanes that have a record which is not final.
    fn lanes(&self) -> StoreFuture<'_, Vec<Lane>>;

    /// Writes records of one lane, all or none, each in the place of the revision that it carries;
    /// the records with their new revisions.
    ///
    /// Refused are a fence that is not the lane's newest ([`StoreError::Fenced`]), a record that
    /// has another revision now, and a nonce that another record of the lane has which is not
    /// abandoned without a block ([`StoreError::Conflict`]).
    fn write(&self, fence: Fence, records: Vec<Record>) -> StoreFuture<'_, Vec<Record>>;

    /// Writes one record in the place of the revision that it carries, without a fence. For callers
    /// that close a request: the sender that works the lane reads again when its own write meets a
    /// conflict.
    fn amend(&self, record: Record) -> StoreFuture<'_, Record>;

    /// Deletes final records that were submitted before this time (Unix seconds); how many those
    /// were.
    fn prune(&self, submitted_before: u64) -> StoreFuture<'_, u64>;
}
