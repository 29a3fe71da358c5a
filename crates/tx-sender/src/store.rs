//! The port to the durable records.

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

/// The right to write a lane's records. A later holder's token is higher, and the store refuses
/// every write with a lower one: a sender that was suspended for longer than its lease cannot write
/// any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fence {
    /// The lane.
    pub lane: Lane,
    /// It rises each time the lane changes hands.
    pub token: u64,
}

/// How much later than possible a lease may end and still count, in seconds: other machines have
/// other clocks, and other processes other leases. A clock that was set back by more holds nobody
/// up.
const CLOCKS_DIFFER: u64 = 60;

/// How another holder's running lease is treated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Takeover {
    /// The sender waits for its end.
    #[default]
    WhenOver,
    /// The lane is taken. It is for a process that knows by other means that its predecessor has
    /// ended. If that is wrong, the predecessor's writes are refused from now on.
    AtOnce,
}

/// Durable records, which several processes may share.
///
/// After `Ok`, a write survives a crash and a loss of power. After an error other than
/// [`StoreError::Conflict`] and [`StoreError::Fenced`], it may or may not have happened, and the
/// caller reads again. A store keeps no state in memory only.
pub trait Store: Send + Sync + 'static {
    /// Takes the lane for `holder` for `seconds` after `now`, or renews its lease; `None` while
    /// another holder has it.
    ///
    /// The same holder keeps its token, a new one gets a higher one. A lease that ends more than a
    /// minute later than one taken at `now` counts as over, because the clock was set back. `now`
    /// is in Unix seconds.
    fn acquire(
        &self,
        lane: Lane,
        holder: &str,
        now: u64,
        seconds: u64,
        takeover: Takeover,
    ) -> StoreFuture<'_, Option<Fence>>;

    /// Returns the lane before its lease ends.
    fn give_back(&self, fence: Fence, holder: &str) -> StoreFuture<'_, ()>;

    /// Inserts a record unless its key already exists. Returns the key's record, with its `id`. It
    /// needs no fence, because a submission changes no other record.
    fn insert(&self, record: Record) -> StoreFuture<'_, Record>;

    /// [`Self::insert`] as a part of work that holds a turn. A new record is refused when the turn
    /// is not the account's newest ([`StoreError::TurnLost`]). Who takes the turn afterwards finds
    /// every record that was inserted under this one.
    ///
    /// A store that is no [`TurnStore`] has given out no turn, and refuses every new record.
    fn insert_in_turn(&self, record: Record, turn: TurnFence) -> StoreFuture<'_, Record> {
        let known = self.get(&record.key);
        Box::pin(async move {
            let account = turn.account;
            known.await?.ok_or(StoreError::TurnLost { account })
        })
    }

    /// The nonce after the highest one of the lane's records, and as many more as requests wait for
    /// theirs. `None` when no record has a nonce, and always in a store that gives out no turns.
    fn next_nonce(&self, lane: Lane) -> StoreFuture<'_, Option<u64>> {
        let _ = lane;
        Box::pin(std::future::ready(Ok(None)))
    }

    /// The record with this key.
    fn get(&self, key: &str) -> StoreFuture<'_, Option<Record>>;

    /// The lane's records that are not final, in the order of their ids.
    fn live(&self, lane: Lane) -> StoreFuture<'_, Vec<Record>>;

    /// The lanes that have a record which is not final.
    fn lanes(&self) -> StoreFuture<'_, Vec<Lane>>;

    /// Writes records of one lane, all or none. Each replaces the revision that it carries. Returns
    /// the records with their new revisions.
    ///
    /// The store refuses a fence that is not the lane's newest ([`StoreError::Fenced`]), a record
    /// that has another revision now, and a nonce of another record of the lane, unless that record
    /// was abandoned without a block ([`StoreError::Conflict`]).
    fn write(&self, fence: Fence, records: Vec<Record>) -> StoreFuture<'_, Vec<Record>>;

    /// Writes one record over the revision that it carries, without a fence. It is for callers that
    /// close a request: the sender that works on the lane reads again when its own write meets a
    /// conflict.
    fn amend(&self, record: Record) -> StoreFuture<'_, Record>;

    /// Deletes final records that were submitted before this time (Unix seconds). Returns their
    /// number.
    fn prune(&self, submitted_before: u64) -> StoreFuture<'_, u64>;
}
