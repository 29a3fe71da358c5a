//! The store of what is not payments: leases, published datasets, artifacts of paid answers,
//! counters.

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

/// How long after its beginning the counter of a period is kept.
const COUNTERS_KEPT_SECONDS: u64 = 400 * 86_400;

/// How long what was used of a window is kept when nobody uses it again: no window is as long.
const WINDOWS_KEPT_SECONDS: u64 = 2 * 86_400;

/// A durable store that several instances of a server may share.
///
/// When an operation answers `Ok`, its effect survives a crash and a loss of power. Dropping a
/// future does not take its operation back. Times are Unix seconds and come from the caller:
/// instances that share a store need clocks that agree far better than a lease is long.
pub trait ServerStore: Send + Sync + 'static {
    /// Takes or renews the lease `name` for `holder`, until `seconds` after `now`; whether `holder`
    /// has it now.
    ///
    /// A lease has one holder at a time. The same holder may renew it at any time, anybody else
    /// takes it over once it has expired. It is one conditional write: of any number of holders
    /// that ask for a free lease one gets it.
    fn lease(
        &self,
        name: &str,
        holder: &str,
        now: u64,
        seconds: u32,
    ) -> impl Future<Output = Result<bool, StoreError>> + Send;

    /// Gives the lease `name` back, if `holder` has it; whether it had it. For a server that shuts
    /// down, so that the next one need not wait for the lease to expire.
    fn give_back(
        &self,
        name: &str,
        holder: &str,
    ) -> impl Future<Output = Result<bool, StoreError>> + Send;

    /// Replaces the dataset `name` as a whole: a reader sees the old record or the new one.
    ///
    /// A record of the same age replaces what is there, an older one is
    /// [`StoreError::OlderRecord`]: a slow job cannot turn the clock back. A record that claims to
    /// be from the future is [`StoreError::FutureRecord`], because it would lock out every true one
    /// until then.
    fn publish(
        &self,
        name: &str,
        record: DatasetRecord,
    ) -> impl Future<Output = Result<(), StoreError>> + Send;

    /// The dataset `name` as it was last published, or `None` when it never was. Its age is the
    /// caller's to judge.
    fn latest(
        &self,
        name: &str,
    ) -> impl Future<Output = Result<Option<DatasetRecord>, StoreError>> + Send;

    /// Keeps an artifact until it expires. One that is there already stays until the later of both
    /// times.
    ///
    /// What has expired at `now` makes room first. When there is still no room under the store's
    /// limit, nothing is written and nothing else is thrown out: [`StoreError::ArtifactsFull`].
    fn keep(
        &self,
        artifact: Artifact,
        now: u64,
    ) -> impl Future<Output = Result<(), StoreError>> + Send;

    /// Whether an artifact of `bytes` could be kept at `now`, for work that is paid for before its
    /// size is known. What has expired makes room first; the disk is tried out, and what was tried
    /// is taken back. It reserves nothing.
    fn has_room(&self, bytes: u64, now: u64)
    -> impl Future<Output = Result<(), StoreError>> + Send;

    /// The artifact with this digest, unless there is none or it has expired at `now`. Its bytes
    /// are checked against the digest.
    fn artifact(
        &self,
        sha256: B256,
        now: u64,
    ) -> impl Future<Output = Result<Option<Artifact>, StoreError>> + Send;

    /// Adds `amount` to the counter `name` of the period that begins at `period` (Unix seconds),
    /// and gives its new total. A counter that was never added to stands at 0; adding 0 reads it.
    /// Each addition is one step, also between instances.
    fn count(
        &self,
        name: &str,
        period: u64,
        amount: u64,
    ) -> impl Future<Output = Result<u64, StoreError>> + Send;

    /// Adds `weight` to what was used of the window `name` in the slice of time that begins at
    /// `slice`, and forgets the window's slices that begin before `oldest`.
    fn use_window(
        &self,
        name: &str,
        slice: u64,
        weight: u64,
        oldest: u64,
    ) -> impl Future<Output = Result<(), StoreError>> + Send;

    /// What was used of the window `name`: the slices that begin at `oldest` or later, in their
    /// order, each with its weight.
    fn window_use(
        &self,
        name: &str,
        oldest: u64,
    ) -> impl Future<Output = Result<Vec<(u64, u64)>, StoreError>> + Send;

    /// Keeps levels, each instead of the one of the same name. At most `most` are kept altogether:
    /// beyond that the oldest go.
    fn keep_levels(
        &self,
        levels: Vec<Level>,
        most: u32,
    ) -> impl Future<Output = Result<(), StoreError>> + Send;

    /// Every level that is kept, the oldest first.
    fn levels(&self) -> impl Future<Output = Result<Vec<Level>, StoreError>> + Send;

    /// Deletes the artifacts and leases that have expired at `now`, counters whose period began
    /// more than 400 days before, and what was used of windows more than two days before; how many
    /// artifacts those were.
    fn prune(&self, now: u64) -> impl Future<Output = Result<u64, StoreError>> + Send;
}

/// What was left at some time of an amount that refills.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Level {
    /// Names the amount.
    pub name: String,
    /// How much was left.
    pub amount: u64,
    /// When it was, Unix milliseconds.
    pub at: u64,
}

/// One edition of a dataset.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DatasetRecord {
    /// Names this edition.
    pub snapshot_id: String,
    /// How old the data is: the oldest upstream time in it, Unix seconds.
    pub as_of: u64,
    /// SHA-256 over what it was computed from.
    pub inputs_sha256: B256,
    /// When it was put together, Unix seconds.
    pub written_at: u64,
    /// The dataset itself, as its writer encoded it.
    pub body: Bytes,
}

impl DatasetRecord {
    /// How far `as_of` may lie after `written_at`, in seconds: as much as the clocks of two
    /// machines may differ.
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

    /// Whether the record claims data from after its own making.
    #[must_use]
    pub const fn is_from_the_future(&self) -> bool {
        self.as_of
            > self
                .written_at
                .saturating_add(Self::CLOCK_TOLERANCE_SECONDS)
    }
}
