//! The records of which owner has which wallet. They are kept beside the ledger, apart from the
//! keys.
//!
//! An owner's wallet is recorded once and never changes. [`SqliteWalletRecords`] and
//! [`PostgresWalletRecords`] implement the port.

mod postgres;
mod sqlite;

use alloy_primitives::Address;
use storage::postgres::PostgresError;
use storage::sqlite::DatabaseError;

pub use self::postgres::PostgresWalletRecords;
pub use self::sqlite::SqliteWalletRecords;
use crate::{CustodyError, CustodyFuture, Owner};

/// What is recorded about an owner's wallet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WalletRecord {
    /// A server makes it, or has ended while it did.
    Making,
    /// It is this one, for good.
    Made(Address),
}

/// The durable records of wallets. A call's effect is durable when it returns. Times are Unix
/// seconds. The errors are [`CustodyError::Records`].
pub trait WalletRecords: Send + Sync + 'static {
    /// All records.
    fn all(&self) -> CustodyFuture<'_, Vec<(Owner, WalletRecord)>>;

    /// The owners whose wallets are being made, and when that began.
    fn unfinished(&self) -> CustodyFuture<'_, Vec<(Owner, u64)>>;

    /// The record of an owner.
    fn find(&self, owner: Owner) -> CustodyFuture<'_, Option<WalletRecord>>;

    /// Records that the owner's wallet is being made from `now` on. A wallet that is made stays.
    fn begin(&self, owner: Owner, now: u64) -> CustodyFuture<'_, ()>;

    /// Records the owner's wallet, unless one is recorded. Returns the recorded one. A wallet that
    /// is another owner's is an error.
    fn finish(&self, owner: Owner, wallet: Address, now: u64) -> CustodyFuture<'_, Address>;

    /// Removes the record of a wallet that is still being made, if that began before `before`.
    fn forget(&self, owner: Owner, before: u64) -> CustodyFuture<'_, ()>;
}

impl From<DatabaseError> for CustodyError {
    fn from(error: DatabaseError) -> Self {
        tracing::warn!(%error, "the records of wallets cannot be used");
        Self::Records { code: error.code() }
    }
}

impl From<PostgresError> for CustodyError {
    fn from(error: PostgresError) -> Self {
        tracing::warn!(%error, "the records of wallets cannot be used");
        Self::Records { code: error.code() }
    }
}
