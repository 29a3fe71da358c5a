//! The port to the durable store of grants and plans.
//!
//! A store keeps records, orders the writes and holds leases. It judges no signature. Of the rules,
//! it judges those that depend on other records, inside the write: the bounds of an account and the
//! budgets for gas.

mod change;
pub(crate) mod kept;
mod postgres;
mod sqlite;

use std::pin::Pin;

use alloy_primitives::{Address, B256};
use calldata_checks::UtcSeconds;
use delegation_fence::{LogEntry, LogRecord, Policy, Refusal, Spent};
use thiserror::Error;

pub use self::{
    change::{Acceptance, Change, Holder, Write},
    kept::{Ended, InstalledPolicy, KeptGrant, KeptLimit, KeptSubmission, View},
    postgres::PostgresStore,
    sqlite::SqliteStore,
};

/// The future that a store returns.
pub type StoreFuture<'a, T> = Pin<Box<dyn Future<Output = Result<T, StoreError>> + Send + 'a>>;

/// The right to drive an account's plan. Each new holder gets a higher token, and the store refuses
/// every write with a lower one. A process that stalled for longer than its lease can write nothing
/// any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lease {
    /// The account.
    pub account: Address,
    /// Rises each time the lease gets a new holder.
    pub token: u64,
}

/// The reason why a store operation failed.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum StoreError {
    /// Something was written about the account since it was read. The caller reads and judges
    /// again.
    #[error("the records of account {account} have changed since they were read")]
    Conflict {
        /// The account.
        account: Address,
    },
    /// Another process has taken the account's lease.
    #[error("the lease of account {account} was taken by another process")]
    Fenced {
        /// The account.
        account: Address,
    },
    /// A rule that is judged inside the write fails: a bound of the account's records, or a budget
    /// for gas, which plans of other accounts use too.
    #[error(transparent)]
    Refused(Box<Refusal>),
    /// Another policy is installed, which this one cannot replace.
    #[error("the policy {installed} is installed, which {offered} cannot replace")]
    PolicyNotNewer {
        /// The installed policy, by name and digest.
        installed: String,
        /// The offered policy, by name and digest.
        offered: String,
    },
    /// The store cannot be used now. The code contains no path and no secret.
    #[error("the records of the fence cannot be used: {code}")]
    Unavailable {
        /// The database's name of the error.
        code: &'static str,
    },
}

impl StoreError {
    /// `installed` is the name and the digest of a policy that `offered` cannot replace.
    fn policy_not_newer(installed: (&str, &str), offered: &Policy) -> Self {
        Self::PolicyNotNewer {
            installed: format!("{} {}", installed.0, installed.1),
            offered: format!("{} {}", offered.name(), offered.digest()),
        }
    }

    /// The stable code.
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

impl From<Refusal> for StoreError {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(Box::new(refusal))
    }
}

/// Stores grants, their ends and limits, ordered plans with their events, and the log of each
/// grant. Several processes may share a store.
///
/// When a write returns `Ok`, its effect survives a crash and a loss of power. When it returns
/// [`StoreError::Unavailable`], it may or may not have happened, and the caller reads again. A
/// store keeps no state in memory.
pub trait Store: Send + Sync + 'static {
    /// Installs a policy. The same policy again changes nothing. A policy needs a higher version
    /// than every earlier one of its name: a replaced policy never comes back, not even after one
    /// of another name, because the grants under it would come back too.
    fn install(&self, policy: Policy, at: UtcSeconds) -> StoreFuture<'_, ()>;

    /// The installed policy.
    fn installed(&self) -> StoreFuture<'_, Option<InstalledPolicy>>;

    /// The state of an account, restricted to one grant and, if given, one plan. One consistent
    /// reading.
    fn view(&self, account: Address, grant_id: B256, plan: Option<B256>) -> StoreFuture<'_, View>;

    /// Makes changes to one account, all or none, with their records in the logs. Returns the
    /// account's new version. Fails with [`StoreError::Conflict`] for another version of the
    /// account, and with [`StoreError::Fenced`] for a lost lease.
    fn write(&self, write: Write) -> StoreFuture<'_, u64>;

    /// Adds the record of a refusal to a grant's log, unless the log has one of the same plan and
    /// rule, or `most` refusals of this day. It changes no version and nothing that is judged.
    fn note_refusal(
        &self,
        account: Address,
        grant_id: B256,
        refusal: LogEntry,
        most: u32,
    ) -> StoreFuture<'_, ()>;

    /// At most `most` records of a grant's log, from a number on.
    fn log(
        &self,
        account: Address,
        grant_id: B256,
        from: u64,
        most: u32,
    ) -> StoreFuture<'_, Vec<LogRecord>>;

    /// An ordered plan with its events and the account's view. One consistent reading.
    fn submission(&self, payload_digest: B256) -> StoreFuture<'_, Option<KeptSubmission>>;

    /// The open plans, the oldest first, and the plans that ended at or after a time.
    fn sendings(&self, ended_since: UtcSeconds) -> StoreFuture<'_, Vec<B256>>;

    /// The gas cost of plans on the UTC day of `at`.
    fn gas_spent(&self, account: Address, at: UtcSeconds) -> StoreFuture<'_, Spent>;

    /// Takes or renews the lease of an account for `holder`, for `seconds` after `now`. Returns
    /// `None` while another holder has it. The same holder keeps its token; a new one gets a higher
    /// token. A stored lease that ends more than a minute later than a lease taken at `now` could
    /// end counts as over, because the clock was set back.
    fn acquire(
        &self,
        account: Address,
        holder: &str,
        now: UtcSeconds,
        seconds: u64,
    ) -> StoreFuture<'_, Option<Lease>>;

    /// Gives a lease back before its end.
    fn give_back(&self, lease: Lease, holder: &str) -> StoreFuture<'_, ()>;

    /// Deletes at most `most` ends whose time is over at `now`, with their logs. Returns how many.
    /// Their grants were never received, and are over if they were ever signed. A store that keeps
    /// everything deletes nothing.
    fn forget(&self, _now: UtcSeconds, _most: u32) -> StoreFuture<'_, u64> {
        Box::pin(async { Ok(0) })
    }

    /// Names the store's history. A database begins another one when a replica takes over, which
    /// may lack the last commits. `None` where nothing can be lost, and where the database does not
    /// tell.
    fn history(&self) -> StoreFuture<'_, Option<String>> {
        Box::pin(async { Ok(None) })
    }

    /// Whether the store can be read and written now.
    fn probe(&self) -> StoreFuture<'_, ()>;
}
