//! What is kept of actions: the intents, and the orders that were forbidden.

mod sqlite;

use alloy_primitives::{Address, B256};
use thiserror::Error;

pub use self::sqlite::SqliteStore;
use crate::{Intent, IntentId, PortFuture};

/// The answer of a store.
pub type StoreFuture<'a, T> = PortFuture<'a, Result<T, StoreError>>;

/// Durable intents. Every write is conditional, and what was written is on disk when it returns.
pub trait Store: Send + Sync + 'static {
    /// Keeps a new intent. A payment that has one already gets that one, unchanged, unless it ended
    /// without effect.
    ///
    /// # Errors
    /// [`StoreError::Busy`] while another intent of the wallet is running;
    /// [`StoreError::Forbidden`].
    fn insert(&self, intent: Intent) -> StoreFuture<'_, Intent>;

    /// The intent with this id.
    fn get(&self, id: &IntentId) -> StoreFuture<'_, Option<Intent>>;

    /// The intent that this payment bought.
    fn of_payment(&self, payment: B256) -> StoreFuture<'_, Option<Intent>>;

    /// Sees to it that this payment begins nothing from now on, for ever. The first reason stands;
    /// what was begun before stays as it is.
    fn forbid(&self, payment: B256, reason: &str, at: u64) -> StoreFuture<'_, Forbidden>;

    /// Why this payment begins nothing, if it was forbidden.
    fn forbidden(&self, payment: B256) -> StoreFuture<'_, Option<String>>;

    /// Writes an intent over the one that was read, and returns it as it is now.
    ///
    /// # Errors
    /// [`StoreError::Conflict`] when somebody wrote it since.
    fn write(&self, intent: Intent) -> StoreFuture<'_, Intent>;

    /// The intents that something is left to do for, the oldest first.
    fn open(&self) -> StoreFuture<'_, Vec<IntentId>>;

    /// The intents that are over and not final, the oldest first: a block may change what they say.
    fn unsettled(&self) -> StoreFuture<'_, Vec<IntentId>>;

    /// The intents that were made since this Unix second, whatever became of them.
    fn since(&self, created_at: u64) -> StoreFuture<'_, Vec<Intent>>;

    /// The newest intents of an owner (a CAIP-10 id) that were made since this Unix second, at most
    /// so many.
    fn of_owner(&self, owner: &str, created_at: u64, most: u32) -> StoreFuture<'_, Vec<Intent>>;

    /// Whether the wallet has an intent that is running.
    fn is_busy(&self, wallet: Address) -> StoreFuture<'_, Option<IntentId>>;
}

/// A payment that begins nothing any more.
#[derive(Debug, Clone, PartialEq)]
pub struct Forbidden {
    /// The first reason that was given.
    pub reason: String,
    /// The intent that the payment had bought before.
    pub intent: Option<Intent>,
}

/// Why the store could not do what was asked. Nothing was written.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum StoreError {
    /// Somebody wrote the intent since it was read.
    #[error("the intent {id} has changed since it was read")]
    Conflict {
        /// The intent.
        id: IntentId,
    },
    /// The wallet has an intent that is running.
    #[error("the wallet is busy with the intent {running}")]
    Busy {
        /// That intent.
        running: IntentId,
    },
    /// The payment begins nothing any more.
    #[error("the order was forbidden: {reason}")]
    Forbidden {
        /// Why.
        reason: String,
    },
    /// The records cannot be read or written. The code names no path.
    #[error("the records of actions cannot be used: {code}")]
    Unavailable {
        /// What the database calls it.
        code: &'static str,
    },
}

impl StoreError {
    /// The stable machine-readable name of the error.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Conflict { .. } => "intent_conflict",
            Self::Busy { .. } => "wallet_busy",
            Self::Forbidden { .. } => "order_forbidden",
            Self::Unavailable { .. } => "wallet_store_unavailable",
        }
    }
}
