//! The failure of one operation, before its SQLite error is converted.

use super::DatabaseError;

/// Why an operation on a file failed. `E` is the error of the store, which includes the errors of
/// the database. When the transaction is rolled back, nothing of the operation remains.
#[derive(Debug)]
pub enum Failure<E> {
    /// A rule of the store refuses the operation.
    Refused(E),
    /// SQLite failed.
    Sqlite(rusqlite::Error),
}

impl<E: From<DatabaseError>> From<E> for Failure<E> {
    fn from(error: E) -> Self {
        Self::Refused(error)
    }
}

impl<E> From<rusqlite::Error> for Failure<E> {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sqlite(error)
    }
}
