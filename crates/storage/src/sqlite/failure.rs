//! The failure of one operation, before its SQLite error has a name.

use super::DatabaseError;

/// The reason why an operation on a file failed. `E` is the error of the store, which includes
/// those of the database. Nothing of the operation remains once its transaction is rolled back.
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
