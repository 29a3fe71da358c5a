//! SQLite's errors, by the names of [`LedgerError`].

use std::path::Path;

use storage::sqlite::DatabaseError;

use crate::error::LedgerError;

/// Why one operation did not happen.
#[derive(Debug)]
pub(super) enum Failure {
    /// The journal's rules refuse it; nothing was written.
    Refused(LedgerError),
    /// The store failed; what the operation had written before must be rolled back.
    Store(rusqlite::Error),
}

impl From<LedgerError> for Failure {
    fn from(error: LedgerError) -> Self {
        Self::Refused(error)
    }
}

impl From<rusqlite::Error> for Failure {
    fn from(error: rusqlite::Error) -> Self {
        Self::Store(error)
    }
}

/// Names what SQLite reported while `operation` ran on the ledger at `path`.
pub(super) fn named(error: &rusqlite::Error, path: &Path, operation: &'static str) -> LedgerError {
    DatabaseError::named(error, path, operation).into()
}
