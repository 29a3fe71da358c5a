//! The store of wallet actions: intents and forbidden orders.
//!
//! Drivers and planners use the port [`Store`]. [`SqliteStore`] keeps the records in a file of one
//! machine, and [`PostgresStore`] in a database that several servers share.

mod postgres;
mod sqlite;

use alloy_primitives::{Address, B256};
use storage::postgres::Condition;
use thiserror::Error;

pub use self::postgres::PostgresStore;
pub use self::sqlite::SqliteStore;
use crate::{Intent, IntentId, PortFuture};

/// The future that a store returns.
pub type StoreFuture<'a, T> = PortFuture<'a, Result<T, StoreError>>;

/// The place of an intent in the order of creation: the Unix second, and its id. The id `None` is
/// before all intents of the second.
pub type Place = (u64, Option<IntentId>);

/// Stores intents durably. What a write has changed is on disk when it returns. A write that
/// depends on earlier content is conditional.
pub trait Store: Send + Sync + 'static {
    /// Stores a new intent. When the payment has an intent already, returns that one unchanged,
    /// unless it has no effect and no reorganisation can give it one
    /// ([`Intent::may_have_effect`]). With `claim`, the condition holds until the intent is stored.
    /// A store of one server ignores `claim`.
    ///
    /// # Errors
    /// [`StoreError::Busy`] while another intent of the wallet is running;
    /// [`StoreError::Uncharged`] while an intent of the same purchase may still be charged
    /// ([`Self::uncharged`]); [`StoreError::Forbidden`] when the payment is forbidden;
    /// [`StoreError::ClaimLost`].
    fn insert(&self, intent: Intent, claim: Option<Condition>) -> StoreFuture<'_, Intent>;

    /// Returns the intent with this id.
    fn get(&self, id: &IntentId) -> StoreFuture<'_, Option<Intent>>;

    /// Returns the intent of this payment.
    fn of_payment(&self, payment: B256) -> StoreFuture<'_, Option<Intent>>;

    /// Forbids this payment to begin anything, until [`Self::forget`] deletes that. The first
    /// reason is kept. An intent that exists already stays unchanged.
    fn forbid(&self, payment: B256, reason: &str, at: u64) -> StoreFuture<'_, Forbidden>;

    /// Returns why this payment is forbidden. `None` when it is not.
    fn forbidden(&self, payment: B256) -> StoreFuture<'_, Option<String>>;

    /// Replaces the intent that was read. Returns it with its new revision.
    ///
    /// # Errors
    /// [`StoreError::Conflict`] when the intent was written since it was read.
    fn write(&self, intent: Intent) -> StoreFuture<'_, Intent>;

    /// Lists the open intents, the oldest first.
    fn open(&self) -> StoreFuture<'_, Vec<IntentId>>;

    /// Lists the intents that have ended and are not final, the oldest first. A reorganisation may
    /// still change their result.
    fn unsettled(&self) -> StoreFuture<'_, Vec<IntentId>>;

    /// Lists intents that may still have to be charged ([`Intent::awaits_charge`]) and have not
    /// come to nothing: the first `most` ones after this place, the oldest first.
    fn awaiting_charge(&self, after: Place, most: u32) -> StoreFuture<'_, Vec<Place>>;

    /// Deletes intents that were created before this Unix second and are empty
    /// ([`Intent::is_empty`]), and payments that were forbidden before it: at most `most` of each.
    fn forget(&self, before: u64, most: u32) -> StoreFuture<'_, ()>;

    /// Returns the newest intents of an owner (a CAIP-10 id) that were created since this Unix
    /// second, at most `most` of them.
    fn of_owner(&self, owner: &str, created_at: u64, most: u32) -> StoreFuture<'_, Vec<Intent>>;

    /// Returns an intent of this owner and purchase that may still have to be charged and was
    /// created since this Unix second. `None` when there is none.
    fn uncharged(
        &self,
        owner: &str,
        purchase: B256,
        created_at: u64,
    ) -> StoreFuture<'_, Option<IntentId>>;

    /// Returns the running intent of the wallet. `None` when no intent of it is running.
    fn is_busy(&self, wallet: Address) -> StoreFuture<'_, Option<IntentId>>;
}

/// For how many seconds after its creation an intent counts as not charged yet. By then the window
/// of its payment has closed.
pub const CHARGED_WITHIN_SECONDS: u64 = 86_400;

/// Whether [`Store::awaiting_charge`] lists the intent.
fn awaits_charge(intent: &Intent) -> bool {
    intent.awaits_charge && !intent.came_to_nothing()
}

/// A payment that can no longer begin anything.
#[derive(Debug, Clone, PartialEq)]
pub struct Forbidden {
    /// The first reason.
    pub reason: String,
    /// The intent that the payment had before. `None` when it had none.
    pub intent: Option<Intent>,
}

/// Why a store operation failed. Nothing was written, except that a write may have taken effect
/// before [`Unavailable`](Self::Unavailable).
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The intent was written since it was read.
    #[error("the intent {id} has changed since it was read")]
    Conflict {
        /// The intent.
        id: IntentId,
    },
    /// The wallet has a running intent.
    #[error("the wallet is busy with the intent {running}")]
    Busy {
        /// The running intent.
        running: IntentId,
    },
    /// The owner has begun the same action with another payment, and it may still be charged.
    #[error("the intent {intent} of the same purchase is not charged yet")]
    Uncharged {
        /// The intent of the other payment.
        intent: IntentId,
    },
    /// The payment is forbidden.
    #[error("the order was forbidden: {reason}")]
    Forbidden {
        /// The first reason.
        reason: String,
    },
    /// The payment is no longer claimed for the call: another server may have released it.
    #[error("the claim of the payment was lost")]
    ClaimLost,
    /// The records cannot be read or written. The code contains no path.
    #[error("the records of actions cannot be used: {code}")]
    Unavailable {
        /// The name that the database gives to the error.
        code: &'static str,
    },
}

impl StoreError {
    /// Returns the stable code.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Conflict { .. } => "intent_conflict",
            Self::Busy { .. } => "wallet_busy",
            Self::Uncharged { .. } => "purchase_uncharged",
            Self::Forbidden { .. } => "order_forbidden",
            Self::ClaimLost => "claim_lost",
            Self::Unavailable { .. } => "wallet_store_unavailable",
        }
    }
}
