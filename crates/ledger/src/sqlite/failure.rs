//! SQLite's errors, by the names of [`LedgerError`].

use std::path::Path;

use rusqlite::{ErrorCode, ffi};

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
    if let rusqlite::Error::FromSqlConversionFailure(..)
    | rusqlite::Error::IntegralValueOutOfRange(..)
    | rusqlite::Error::InvalidColumnType(..)
    | rusqlite::Error::QueryReturnedNoRows = error
    {
        // Only this crate writes these rows, so one that cannot be read back is not as it was written.
        return LedgerError::Damaged {
            path: path.to_owned(),
        };
    }
    let Some(code) = error.sqlite_error() else {
        return LedgerError::Storage {
            operation,
            code: None,
        };
    };
    match code.code {
        ErrorCode::DiskFull => LedgerError::Full,
        ErrorCode::SystemIoFailure if is_failed_write(code.extended_code) => LedgerError::Full,
        ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked => LedgerError::Busy,
        ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase => LedgerError::Damaged {
            path: path.to_owned(),
        },
        _ => LedgerError::Storage {
            operation,
            code: Some(code.extended_code),
        },
    }
}

/// A full disk does not always come as `SQLITE_FULL`: a quota, a size limit of the process, or a file system that
/// allocates late fail in the write, the sync or the truncation instead.
fn is_failed_write(extended_code: i32) -> bool {
    matches!(
        extended_code,
        ffi::SQLITE_IOERR_WRITE
            | ffi::SQLITE_IOERR_FSYNC
            | ffi::SQLITE_IOERR_DIR_FSYNC
            | ffi::SQLITE_IOERR_TRUNCATE
            | ffi::SQLITE_IOERR_SHMSIZE
            | ffi::SQLITE_IOERR_SHMOPEN
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(code: i32, expect: LedgerError) {
        let error = rusqlite::Error::SqliteFailure(ffi::Error::new(code), None);
        assert_eq!(named(&error, Path::new("x.db"), "settle"), expect);
    }

    #[test]
    fn codes_have_names() {
        let damaged = || LedgerError::Damaged {
            path: "x.db".into(),
        };
        check(ffi::SQLITE_FULL, LedgerError::Full);
        check(ffi::SQLITE_IOERR_WRITE, LedgerError::Full);
        check(ffi::SQLITE_IOERR_FSYNC, LedgerError::Full);
        check(ffi::SQLITE_BUSY, LedgerError::Busy);
        check(ffi::SQLITE_CORRUPT, damaged());
        check(ffi::SQLITE_NOTADB, damaged());
        for code in [ffi::SQLITE_IOERR_READ, ffi::SQLITE_CONSTRAINT_UNIQUE] {
            check(
                code,
                LedgerError::Storage {
                    operation: "settle",
                    code: Some(code),
                },
            );
        }
    }
}
