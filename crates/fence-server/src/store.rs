//! The port to the durable records.

mod change;
mod kept;
mod sqlite;
mod top_up;

use std::pin::Pin;

use alloy_primitives::{Address, B256};
use calldata_checks::UtcSeconds;
use delegation_fence::{Entry, Policy, Record, Refusal, Spent};
use thiserror::Error;

pub use self::{
    change::{Acceptance, Change, Write},
    kept::{Ended, InstalledPolicy, KeptGrant, KeptLimit, KeptSubmission, View},
    sqlite::SqliteStore,
    top_up::TopUp,
};

/// The answer of a store.
pub type StoreFuture<'a, T> = Pin<Box<dyn Future<Output = Result<T, StoreError>> + Send + 'a>>;

/// The right to go on with an account's plan. A later holder's token is higher, and the store
/// refuses every write that carries a lower one: a process that was held up for longer than its
/// lease can write nothing any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lease {
    /// The account.
    pub account: Address,
    /// Rises each time the lease changes hands.
    pub token: u64,
}

/// Why the store could not do what was asked.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum StoreError {
    /// Something was written about the account since it was read: read again, judge again.
    #[error("the records of account {account} have changed since they were read")]
    Conflict {
        /// The account.
        account: Address,
    },
    /// Somebody else has taken the account's lease since it was given.
    #[error("the lease of account {account} was taken by another process")]
    Fenced {
        /// The account.
        account: Address,
    },
    /// What is judged in the write itself does not hold: the budgets for gas, which plans of other
    /// accounts use as well.
    #[error(transparent)]
    Refused(Box<Refusal>),
    /// Another policy is installed, which this one does not follow.
    #[error("the policy {installed} is installed, which {offered} cannot replace")]
    PolicyNotNewer {
        /// What is installed, by name and digest.
        installed: String,
        /// What was to be installed.
        offered: String,
    },
    /// The store cannot be used at the moment; names no path and no secret.
    #[error("the records of the fence cannot be used: {code}")]
    Unavailable {
        /// What the store calls it.
        code: &'static str,
    },
}

impl StoreError {
    /// The stable machine-readable name of the error.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Conflict { .. } => "fence_store_conflict",
            Self::Fenced { .. } => "fence_store_fenced",
            Self::Refused(refusal) => refusal.code(),
            Self::PolicyNotNewer { .. } => "fence_policy_not_newer",
            Self::Unavailable { code } => code,
        }
    }
}

/// Durable records of grants, their ends and limits, of plans that were ordered and what became of
/// them, and the log of each grant. Several processes may share a store.
///
/// When a write answers `Ok`, its effect survives a crash and a loss of power. When it answers
/// [`StoreError::Unavailable`], it may or may not have happened: the caller reads again. A store
/// holds no truth in memory.
pub trait Store: Send + Sync + 'static {
    /// Installs a policy. The same one again changes nothing. One of the same name is installed
    /// only with a higher version than every one before: a policy that was replaced does not come
    /// back, also not after one of another name, or the grants under it would.
    fn install(&self, policy: Policy, at: UtcSeconds) -> StoreFuture<'_, ()>;

    /// The policy that is installed, as it was stored.
    fn installed(&self) -> StoreFuture<'_, Option<InstalledPolicy>>;

    /// What is known of an account, as far as one grant and, where given, one plan are concerned.
    /// One consistent reading.
    fn view(&self, account: Address, grant_id: B256, plan: Option<B256>) -> StoreFuture<'_, View>;

    /// Makes changes to one account, all or none, with their records in the logs; the account's new
    /// version. Refused are a version that is not the account's ([`StoreError::Conflict`]) and a
    /// lease that was taken ([`StoreError::Fenced`]).
    fn write(&self, write: Write) -> StoreFuture<'_, u64>;

    /// Adds the record of a refusal to a grant's log, unless it holds one of the same plan and
    /// rule, or `most` refusals of this day. It changes nothing that is judged, and no version.
    fn note_refusal(
        &self,
        account: Address,
        grant_id: B256,
        refusal: Entry,
        most: u32,
    ) -> StoreFuture<'_, ()>;

    /// Records of a grant's log from a number on, at most `most`.
    fn log(
        &self,
        account: Address,
        grant_id: B256,
        from: u64,
        most: u32,
    ) -> StoreFuture<'_, Vec<Record>>;

    /// A plan that was ordered, with what happened to it and with the account's view. One
    /// consistent reading.
    fn submission(&self, payload_digest: B256) -> StoreFuture<'_, Option<KeptSubmission>>;

    /// The plans that something is left to be done for, the oldest first, and those that came to
    /// their end at or after a time.
    fn sendings(&self, ended_since: UtcSeconds) -> StoreFuture<'_, Vec<B256>>;

    /// What the plans of the day cost that `at` lies in, by UTC.
    fn gas_spent(&self, account: Address, at: UtcSeconds) -> StoreFuture<'_, Spent>;

    /// Books coins that are about to be given to an account for its gas. What is booked counts,
    /// whatever becomes of the transfer; under the same key again it changes nothing.
    ///
    /// # Errors
    /// [`StoreError::Refused`] with `gas_budget_exhausted` when the budgets of the day do not cover
    /// it.
    fn book_top_up(&self, top_up: TopUp) -> StoreFuture<'_, ()>;

    /// Takes the lease of an account for `holder` for `seconds` after `now`, or renews it; `None`
    /// while somebody else has it. The same holder keeps its token, a new one gets a higher one. A
    /// lease that ends later than one taken at `now` could is over: the clock was set back.
    fn acquire(
        &self,
        account: Address,
        holder: &str,
        now: UtcSeconds,
        seconds: u64,
    ) -> StoreFuture<'_, Option<Lease>>;

    /// Gives a lease back before it ends.
    fn give_back(&self, lease: Lease, holder: &str) -> StoreFuture<'_, ()>;

    /// Whether the store can be read and written now.
    fn probe(&self) -> StoreFuture<'_, ()>;
}
