//! Where what was used of limits outlives a process.

use std::{future::Future, pin::Pin};

/// What a store answers later.
pub type Stored<'a, T> = Pin<Box<dyn Future<Output = Result<T, QuotaStoreError>> + Send + 'a>>;

/// Where the counters of quotas, and what was used of budgets, outlive the process.
pub trait QuotaStore: Send + Sync + 'static {
    /// Adds `calls` to the counter `name` of the period that begins at `period` (Unix seconds), and
    /// gives its new total. A counter that was never added to stands at 0; adding 0 reads it.
    ///
    /// When it answers `Ok`, the addition outlives a crash. Servers that share a store add to the
    /// same counters, and each addition is one step.
    fn add<'a>(&'a self, name: &'a str, period: u64, calls: u64) -> Stored<'a, u64>;

    /// Adds `weight` to what was used of the budget of `family` in the slice of time that begins at
    /// `slice` (Unix seconds), and forgets the family's slices that begin before `oldest`.
    fn spend<'a>(&'a self, family: &'a str, slice: u64, weight: u64, oldest: u64)
    -> Stored<'a, ()>;

    /// What was used of the budget of `family`: the slices that begin at `oldest` or later, each
    /// with its weight.
    fn spent<'a>(&'a self, family: &'a str, oldest: u64) -> Stored<'a, Vec<(u64, u64)>>;
}

/// A counter could not be kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the counter cannot be kept: {code}")]
pub struct QuotaStoreError {
    /// The store's own stable code.
    pub code: &'static str,
}
