//! The store of a server for everything except payments: leases, published datasets, artifacts of
//! paid answers, counters, windows and levels. [`SqliteStore`] and [`PostgresStore`] implement it.

use alloy_primitives::B256;
use bytes::Bytes;

mod any;
mod artifact;
mod error;
mod postgres;
mod quota;
mod schema;
mod sqlite;
mod statements;

pub use any::AnyStore;
pub use artifact::Artifact;
pub use error::StoreError;
pub use postgres::PostgresStore;
pub use sqlite::{SqliteStore, StoreOptions};

/// When a counter is deleted: so many seconds after the beginning of its period.
const COUNTERS_KEPT_SECONDS: u64 = 400 * 86_400;

/// When a slice of a window is deleted: so many seconds after its beginning. Every window is
/// shorter.
const WINDOWS_KEPT_SECONDS: u64 = 2 * 86_400;

/// A durable store that several instances of a server may share.
///
/// After `Ok`, the effect of an operation survives a crash and a loss of power. Dropping a future
/// undoes nothing, and the operation may still take effect: in a file it does, in a database only
/// if it was already sent. Times are Unix seconds and come from the caller. The clocks of instances
/// that share a store must differ by much less than the length of a lease.
pub trait ServerStore: Send + Sync + 'static {
    /// Takes or renews the lease `name` for `holder` until `seconds` after `now`. Returns whether
    /// `holder` has it now.
    ///
    /// A lease has one holder at a time. The holder may renew it at any time; another holder gets
    /// it only after it has expired. When several holders ask for a free lease, one of them gets
    /// it.
    fn lease(
        &self,
        name: &str,
        holder: &str,
        now: u64,
        seconds: u32,
    ) -> impl Future<Output = Result<bool, StoreError>> + Send;

    /// Ends the lease `name` if `holder` has it. Returns whether it did. A server calls this when
    /// it shuts down, so that the next one need not wait until the lease expires.
    fn give_back(
        &self,
        name: &str,
        holder: &str,
    ) -> impl Future<Output = Result<bool, StoreError>> + Send;

    /// Replaces the whole dataset `name`. A reader sees either the old record or the new one.
    ///
    /// A record of the same age replaces the stored one. An older record is refused
    /// ([`StoreError::OlderRecord`]), so that a slow job cannot undo a later one. A record with a
    /// time in the future is refused ([`StoreError::FutureRecord`]), because it would block every
    /// true record until that time.
    fn publish(
        &self,
        name: &str,
        record: DatasetRecord,
    ) -> impl Future<Output = Result<(), StoreError>> + Send;

    /// Returns the last published record of the dataset `name`. The caller judges its age.
    fn latest(
        &self,
        name: &str,
    ) -> impl Future<Output = Result<Option<DatasetRecord>, StoreError>> + Send;

    /// Stores an artifact until it expires. When an artifact with the same digest is already
    /// stored, it stays until the later of both times.
    ///
    /// Artifacts that have expired at `now` are deleted first. If the store's limit still leaves no
    /// room, nothing else is deleted or written: [`StoreError::ArtifactsFull`].
    fn keep(
        &self,
        artifact: Artifact,
        now: u64,
    ) -> impl Future<Output = Result<(), StoreError>> + Send;

    /// Checks that an artifact of this size could be stored at `now`. It is for work that costs
    /// money before the size of its result is known. Nothing is reserved.
    ///
    /// A store in a file deletes expired artifacts first. It then writes as many bytes to the disk
    /// and rolls them back. A store in a database checks only its limit.
    fn has_room(&self, bytes: u64, now: u64)
    -> impl Future<Output = Result<(), StoreError>> + Send;

    /// Returns the artifact with this digest. `None` when there is none, or when it has expired at
    /// `now`. The store checks the bytes against the digest.
    fn artifact(
        &self,
        sha256: B256,
        now: u64,
    ) -> impl Future<Output = Result<Option<Artifact>, StoreError>> + Send;

    /// Adds `amount` to the counter `name` of the period that begins at `period` (Unix seconds),
    /// and returns the new total. A counter begins at 0; adding 0 reads it. Each addition is
    /// atomic, also between instances.
    fn count(
        &self,
        name: &str,
        period: u64,
        amount: u64,
    ) -> impl Future<Output = Result<u64, StoreError>> + Send;

    /// Adds `weight` to the use of the window `name` in the slice of time that begins at `slice`.
    /// Deletes the slices of the window that begin before `oldest`.
    fn use_window(
        &self,
        name: &str,
        slice: u64,
        weight: u64,
        oldest: u64,
    ) -> impl Future<Output = Result<(), StoreError>> + Send;

    /// Returns the use of the window `name`: the slices that begin at `oldest` or later, in their
    /// order, each with its weight.
    fn window_use(
        &self,
        name: &str,
        oldest: u64,
    ) -> impl Future<Output = Result<Vec<(u64, u64)>, StoreError>> + Send;

    /// Stores levels. Each replaces the stored level with the same name. Of all stored levels, only
    /// the newest `most` stay.
    fn keep_levels(
        &self,
        levels: Vec<Level>,
        most: u32,
    ) -> impl Future<Output = Result<(), StoreError>> + Send;

    /// Returns every stored level, the oldest first.
    fn levels(&self) -> impl Future<Output = Result<Vec<Level>, StoreError>> + Send;

    /// Deletes the artifacts and leases that have expired at `now`, counters whose period began
    /// more than 400 days ago, and slices of windows that began more than two days ago. Returns how
    /// many artifacts were deleted.
    fn prune(&self, now: u64) -> impl Future<Output = Result<u64, StoreError>> + Send;
}

/// The remaining part of an amount that refills, at one time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Level {
    /// The name of the amount.
    pub name: String,
    /// The remaining part.
    pub amount: u64,
    /// The time, in Unix milliseconds.
    pub at: u64,
}

/// One edition of a dataset.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DatasetRecord {
    /// The id of this edition.
    pub snapshot_id: String,
    /// The oldest time of an upstream in the data, in Unix seconds.
    pub as_of: u64,
    /// The SHA-256 of the inputs from which it was computed.
    pub inputs_sha256: B256,
    /// When it was computed, in Unix seconds.
    pub written_at: u64,
    /// The dataset as its writer has encoded it.
    pub body: Bytes,
}

impl DatasetRecord {
    /// By how many seconds `as_of` may be after `written_at`: the clocks of two machines may differ
    /// by that much.
    pub const CLOCK_TOLERANCE_SECONDS: u64 = 300;

    fn check_time(&self, name: &str) -> Result<(), StoreError> {
        match self.is_from_the_future() {
            true => Err(StoreError::FutureRecord {
                name: name.to_owned(),
                expected: self.written_at,
                observed: self.as_of,
            }),
            false => Ok(()),
        }
    }

    /// Whether the record claims data that is later than its own computation.
    #[must_use]
    pub const fn is_from_the_future(&self) -> bool {
        self.as_of
            > self
                .written_at
                .saturating_add(Self::CLOCK_TOLERANCE_SECONDS)
    }
}
