//! The errors of a SQLite file.

use std::{io, path::Path, path::PathBuf};

use rusqlite::{ErrorCode, ffi};

/// Why an operation on a SQLite file failed. The errors say nothing about the content of a store.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DatabaseError {
    /// The disk is full, or the file has reached its size limit.
    #[error("the database has no room left")]
    Full,
    /// Another server has claimed the file.
    #[error("the database {} is in use by another server", .path.display())]
    InUse {
        /// The file.
        path: PathBuf,
    },
    /// Another program has locked the file for longer than the busy time-out.
    #[error("another program holds the database locked")]
    Busy,
    /// The file is no readable database, or its content is not what this program wrote.
    #[error("the database {} is damaged or is not a database", .path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
    },
    /// The file is a database of another program or for another purpose.
    #[error("{} belongs to another program (application id {observed:#010x}, expected {expected:#010x})", .path.display())]
    ForeignFile {
        /// The file.
        path: PathBuf,
        /// The application id of the expected format.
        expected: i32,
        /// The application id of the file.
        observed: i32,
    },
    /// A later version of this program has written the file.
    #[error("the database {} has schema {observed}, this version knows schemas up to {expected}", .path.display())]
    NewerSchema {
        /// The file.
        path: PathBuf,
        /// The newest schema that this version knows.
        expected: u32,
        /// The schema of the file.
        observed: u32,
    },
    /// This build does not support the form of the address.
    #[error("expected an address of the form sqlite://FILE, not {observed}")]
    UnsupportedAddress {
        /// The scheme of the given address. The rest of an address may contain a password.
        observed: String,
    },
    /// The file or its folder cannot be created or opened.
    #[error("cannot open the database {}: {kind}", .path.display())]
    CannotOpen {
        /// The file or folder.
        path: PathBuf,
        /// The error of the operating system.
        kind: io::ErrorKind,
    },
    /// Any other failure of SQLite.
    #[error("the database failed in {operation} (SQLite code {})", .code.unwrap_or_default())]
    Storage {
        /// The operation that failed.
        operation: &'static str,
        /// The extended result code of SQLite, if there is one.
        code: Option<i32>,
    },
    /// The thread that uses the database has ended.
    #[error("the database is closed")]
    Closed,
}

impl DatabaseError {
    /// Returns the stable machine-readable name of the error.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Full => "database_full",
            Self::InUse { .. } => "database_in_use",
            Self::Busy => "database_busy",
            Self::Damaged { .. } => "database_damaged",
            Self::ForeignFile { .. } => "database_foreign_file",
            Self::NewerSchema { .. } => "database_newer_schema",
            Self::UnsupportedAddress { .. } => "database_unsupported_address",
            Self::CannotOpen { .. } => "database_cannot_open",
            Self::Storage { .. } => "database_storage",
            Self::Closed => "database_closed",
        }
    }

    /// Converts the SQLite error of `operation` on the database at `path`.
    #[must_use]
    pub fn named(error: &rusqlite::Error, path: &Path, operation: &'static str) -> Self {
        let damaged = || Self::Damaged {
            path: path.to_owned(),
        };
        if let rusqlite::Error::FromSqlConversionFailure(..)
        | rusqlite::Error::IntegralValueOutOfRange(..)
        | rusqlite::Error::InvalidColumnType(..)
        | rusqlite::Error::QueryReturnedNoRows = error
        {
            // Only this program writes these rows. So an unreadable row was changed by something
            // else.
            return damaged();
        }
        let Some(code) = error.sqlite_error() else {
            return Self::Storage {
                operation,
                code: None,
            };
        };
        match code.code {
            ErrorCode::DiskFull => Self::Full,
            ErrorCode::SystemIoFailure if is_failed_write(code.extended_code) => Self::Full,
            ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked => Self::Busy,
            ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase => damaged(),
            _ => Self::Storage {
                operation,
                code: Some(code.extended_code),
            },
        }
    }

    pub(super) fn cannot_open(path: &Path, error: &io::Error) -> Self {
        Self::CannotOpen {
            path: path.to_owned(),
            kind: error.kind(),
        }
    }
}

/// Whether a write failed because there is no room. A quota, a size limit of the process, or a file
/// system that allocates late makes the write, the sync or the truncation fail. `SQLITE_FULL` does
/// not occur then.
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

    fn check(code: i32, expect: DatabaseError) {
        let error = rusqlite::Error::SqliteFailure(ffi::Error::new(code), None);
        let named = DatabaseError::named(&error, Path::new("x.db"), "settle");
        assert_eq!(named, expect);
    }

    #[test]
    fn codes_of_sqlite_become_errors() {
        let damaged = || DatabaseError::Damaged {
            path: "x.db".into(),
        };
        check(ffi::SQLITE_FULL, DatabaseError::Full);
        check(ffi::SQLITE_IOERR_WRITE, DatabaseError::Full);
        check(ffi::SQLITE_IOERR_FSYNC, DatabaseError::Full);
        check(ffi::SQLITE_BUSY, DatabaseError::Busy);
        check(ffi::SQLITE_CORRUPT, damaged());
        check(ffi::SQLITE_NOTADB, damaged());
        for code in [ffi::SQLITE_IOERR_READ, ffi::SQLITE_CONSTRAINT_UNIQUE] {
            check(
                code,
                DatabaseError::Storage {
                    operation: "settle",
                    code: Some(code),
                },
            );
        }
    }

    #[test]
    fn every_error_has_its_own_code_and_a_plain_sentence() {
        let path = || PathBuf::from("data/service.db");
        let errors = [
            DatabaseError::Full,
            DatabaseError::InUse { path: path() },
            DatabaseError::Busy,
            DatabaseError::Damaged { path: path() },
            DatabaseError::ForeignFile {
                path: path(),
                expected: 1,
                observed: 2,
            },
            DatabaseError::NewerSchema {
                path: path(),
                expected: 1,
                observed: 2,
            },
            DatabaseError::UnsupportedAddress {
                observed: "mysql://".to_owned(),
            },
            DatabaseError::CannotOpen {
                path: path(),
                kind: io::ErrorKind::PermissionDenied,
            },
            DatabaseError::Storage {
                operation: "settle",
                code: Some(19),
            },
            DatabaseError::Closed,
        ];
        let text: Vec<String> = errors
            .iter()
            .map(|error| format!("{}: {error}", error.code()))
            .collect();
        assert_eq!(
            text,
            [
                "database_full: the database has no room left",
                "database_in_use: the database data/service.db is in use by another server",
                "database_busy: another program holds the database locked",
                "database_damaged: the database data/service.db is damaged or is not a database",
                "database_foreign_file: data/service.db belongs to another program (application id \
                 0x00000002, expected 0x00000001)",
                "database_newer_schema: the database data/service.db has schema 2, this version knows schemas up \
                 to 1",
                "database_unsupported_address: expected an address of the form sqlite://FILE, not \
                 mysql://",
                "database_cannot_open: cannot open the database data/service.db: permission denied",
                "database_storage: the database failed in settle (SQLite code 19)",
                "database_closed: the database is closed",
            ]
        );
    }
}
