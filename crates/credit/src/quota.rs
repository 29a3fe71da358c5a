//! The port to a durable store of quotas and budgets.

use std::{future::Future, pin::Pin};

/// The pending answer of a store.
pub type Stored<'a, T> = Pin<Box<dyn Future<Output = Result<T, QuotaStoreError>> + Send + 'a>>;

/// A durable store for the counters of quotas and the use of budgets.
pub trait QuotaStore: Send + Sync + 'static {
    /// Adds `calls` to the counter `name` of the period that begins at `period` (Unix seconds), and
    /// returns the new total. Counters begin at 0; adding 0 reads one.
    ///
    /// After `Ok`, the addition survives a crash. Servers that share a store add to the same
    /// counters, and each addition is atomic.
    fn add<'a>(&'a self, name: &'a str, period: u64, calls: u64) -> Stored<'a, u64>;

    /// Adds `weight` to the use of the budget of `family` in the slice of time that begins at
    /// `slice` (Unix seconds), and deletes the family's slices that begin before `oldest`.
    fn spend<'a>(&'a self, family: &'a str, slice: u64, weight: u64, oldest: u64)
    -> Stored<'a, ()>;

    /// Returns the use of the budget of `family`: the slices that begin at `oldest` or later, each
    /// with its weight.
    fn spent<'a>(&'a self, family: &'a str, oldest: u64) -> Stored<'a, Vec<(u64, u64)>>;
}

/// The store failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the counter cannot be kept: {code}")]
pub struct QuotaStoreError {
    /// The store's own stable code.
    pub code: &'static str,
}
