//! The port to the durable records, and the fences that protect them.

mod memory;
mod postgres;
mod sqlite;
mod turn;

use std::pin::Pin;

pub use self::memory::MemoryStore;
pub use self::postgres::PostgresStore;
pub use self::sqlite::SqliteStore;
pub use self::turn::{TurnEnd, TurnFence, TurnStore};
use crate::{Lane, Record, StoreError};

/// A pending answer of a store.
pub type StoreFuture<'a, T> = Pin<Box<dyn Future<Output = Result<T, StoreError>> + Send + 'a>>;

/// The right to write the records of a lane. A later holder has a higher token, and the store
/// refuses every write with a lower one. So a sender that was suspended for longer than its lease
/// cannot write any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fence {
    /// The lane.
    pub lane: Lane,
    /// A number that rises each time the lane changes hands.
    pub token: u64,
}

/// The behaviour when another holder's lease is still running.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Takeover {
    /// The sender waits until the lease ends.
    #[default]
    WhenOver,
    /// The sender takes the lane. This is for a process that knows by other means that its
    /// predecessor has ended. If that is wrong, the predecessor's writes are refused from now on.
    AtOnce,
}

/// Durable records, which several processes may share.
///
/// After `Ok`, a write survives a crash and a loss of power. After an error other than
/// [`StoreError::Conflict`] and [`StoreError::Fenced`], the write may or may not have happened, and
/// the caller reads again. A store keeps no state in memory only.
pub trait Store: Send + Sync + 'static {
    /// Takes the lane for `holder` until `seconds` after `now`, or renews its lease. `None` while
    /// another holder has it.
    ///
    /// The same holder keeps its token; a new holder gets a higher one. A lease that ends more than
    /// a minute later than one taken at `now` counts as over, because the clock was set back. `now`
    /// is in Unix seconds.
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

    /// Inserts a record, unless its key already exists. Returns the record of the key, with its
    /// `id`. This needs no fence, because a submission changes no other record.
    fn insert(&self, record: Record) -> StoreFuture<'_, Record>;

    /// Like [`Self::insert`], as a part of work that holds a turn. A new record is refused when the
    /// turn is not the account's newest ([`StoreError::TurnLost`]). Whoever takes the turn after
    /// that finds every record that was inserted under this turn.
    ///
    /// A store that is no [`TurnStore`] has given out no turn. It refuses every new record.
    fn insert_in_turn(&self, record: Record, turn: TurnFence) -> StoreFuture<'_, Record> {
        let known = self.get(&record.key);
        Box::pin(async move {
            let account = turn.account;
            known.await?.ok_or(StoreError::TurnLost { account })
        })
    }

    /// Returns the nonce after the highest one of the lane's records, plus the number of requests
    /// that still wait for a nonce. `None` when no record has a nonce. A store that gives out no
    /// turns always returns `None`.
    fn next_nonce(&self, lane: Lane) -> StoreFuture<'_, Option<u64>> {
        let _ = lane;
        Box::pin(std::future::ready(Ok(None)))
    }

    /// Returns the record with this key.
    fn get(&self, key: &str) -> StoreFuture<'_, Option<Record>>;

    /// Returns the records of the lane that are not final, in the order of their ids.
    fn live(&self, lane: Lane) -> StoreFuture<'_, Vec<Record>>;

    /// Returns the lanes that have a record which is not final.
    fn lanes(&self) -> StoreFuture<'_, Vec<Lane>>;

    /// Writes records of one lane, all or none. Each replaces the revision that it carries. Returns
    /// the records with their new revisions.
    ///
    /// The store refuses a fence that is not the lane's newest ([`StoreError::Fenced`]). It also
    /// refuses a record that has another revision now, and a nonce that another record of the lane
    /// has ([`StoreError::Conflict`]).
    fn write(&self, fence: Fence, records: Vec<Record>) -> StoreFuture<'_, Vec<Record>>;

    /// Writes one record over the revision that it carries, without a fence. It is for callers that
    /// close a request. When this makes a write of the lane's sender conflict, the sender reads
    /// again.
    fn amend(&self, record: Record) -> StoreFuture<'_, Record>;

    /// Deletes final records that were submitted before this time (Unix seconds). Returns how many
    /// were deleted.
    fn prune(&self, submitted_before: u64) -> StoreFuture<'_, u64>;
}
