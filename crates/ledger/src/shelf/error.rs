//! Why the shelf could not do what was asked.

use std::{io, path::Path, path::PathBuf};

use alloy_primitives::B256;
use rusqlite::{ErrorCode, ffi};

/// Everything that can go wrong on the shelf. Nothing was written when an operation ends in one of these, unless the
/// machine fails at that very moment.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ShelfError {
    /// The dataset has newer data than the record that was to replace it.
    #[error("dataset {name} is of {expected}, the record is of {observed}")]
    OlderRecord {
        /// The dataset.
        name: String,
        /// The time of what is published, Unix seconds: a new record is at least as new.
        expected: u64,
        /// The time of the refused record.
        observed: u64,
    },
    /// The record's data is later than the moment at which the record was written.
    #[error(
        "the record of dataset {name} was written at {expected} and claims to be of {observed}"
    )]
    FutureRecord {
        /// The dataset.
        name: String,
        /// When the record was written, Unix seconds.
        expected: u64,
        /// The time that it claims for its data.
        observed: u64,
    },
    /// Bytes do not have the digest that they were handed over with.
    #[error("the artifact has the digest {observed}, not {expected}")]
    DigestMismatch {
        /// The digest that was named.
        expected: B256,
        /// The digest of the bytes.
        observed: B256,
    },
    /// The artifacts would take more bytes than the shelf may hold.
    #[error("artifacts may take {expected} bytes, with this one they would take {observed}")]
    ArtifactsFull {
        /// The limit, bytes.
        expected: u64,
        /// What they would take, bytes.
        observed: u64,
    },
    /// There is no room on the disk.
    #[error("the disk of the shelf has no room left")]
    DiskFull,
    /// Another program keeps the file locked for longer than the shelf is willing to wait.
    #[error("another program holds the shelf's file locked")]
    Busy,
    /// The file is not a readable shelf, or what lies on it is not what was put there.
    #[error("the shelf {} is damaged or is not a database", .path.display())]
    Damaged {
        /// The shelf's file.
        path: PathBuf,
    },
    /// The file is a database of another program.
    #[error("{} is no shelf (application id {observed:#010x}, expected {expected:#010x})", .path.display())]
    ForeignFile {
        /// The file.
        path: PathBuf,
        /// The application id of a shelf.
        expected: i32,
        /// The application id of the file.
        observed: i32,
    },
    /// The shelf was written by a later version of this program.
    #[error("the shelf has schema {observed}, this version knows schemas up to {expected}")]
    NewerSchema {
        /// The newest schema that this version knows.
        expected: u32,
        /// The schema of the file.
        observed: u32,
    },
    /// The ledger's address has a form beside which this build can keep no shelf.
    #[error("a shelf needs an address of the form sqlite://FILE, not {observed}")]
    UnsupportedAddress {
        /// The scheme that was given; the rest of an address may hold a password.
        observed: String,
    },
    /// The file or its folder cannot be created or opened.
    #[error("cannot open the shelf {}: {kind}", .path.display())]
    CannotOpen {
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        kind: io::ErrorKind,
    },
    /// The store failed in a way that has no name of its own.
    #[error("the shelf's store failed in {operation} (SQLite code {})", .code.unwrap_or_default())]
    Storage {
        /// What was being done.
        operation: &'static str,
        /// SQLite's extended result code, if it had one.
        code: Option<i32>,
    },
    /// The shelf is closed.
    #[error("the shelf is closed")]
    Closed,
}

impl ShelfError {
    /// The stable machine-readable name of the error.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::OlderRecord { .. } => "shelf_older_record",
            Self::FutureRecord { .. } => "shelf_future_record",
            Self::DigestMismatch { .. } => "shelf_digest_mismatch",
            Self::ArtifactsFull { .. } => "shelf_artifacts_full",
            Self::DiskFull => "shelf_disk_full",
            Self::Busy => "shelf_busy",
            Self::Damaged { .. } => "shelf_damaged",
            Self::ForeignFile { .. } => "shelf_foreign_file",
            Self::NewerSchema { .. } => "shelf_newer_schema",
            Self::UnsupportedAddress { .. } => "shelf_unsupported_address",
            Self::CannotOpen { .. } => "shelf_cannot_open",
            Self::Storage { .. } => "shelf_storage",
            Self::Closed => "shelf_closed",
        }
    }
}

/// Names what SQLite reported while `operation` ran on the shelf at `path`.
pub(super) fn named(error: &rusqlite::Error, path: &Path, operation: &'static str) -> ShelfError {
    let damaged = || ShelfError::Damaged {
        path: path.to_owned(),
    };
    if let rusqlite::Error::FromSqlConversionFailure(..)
    | rusqlite::Error::IntegralValueOutOfRange(..)
    | rusqlite::Error::InvalidColumnType(..)
    | rusqlite::Error::QueryReturnedNoRows = error
    {
        // Only this crate writes these rows, so one that cannot be read back is not as it was written.
        return damaged();
    }
    let Some(code) = error.sqlite_error() else {
        return ShelfError::Storage {
            operation,
            code: None,
        };
    };
    match (code.code, code.extended_code) {
        // A full disk does not always come as `SQLITE_FULL`: a quota or a late allocation fails in the write instead.
        (ErrorCode::DiskFull, _)
        | (
            ErrorCode::SystemIoFailure,
            ffi::SQLITE_IOERR_WRITE
            | ffi::SQLITE_IOERR_FSYNC
            | ffi::SQLITE_IOERR_DIR_FSYNC
            | ffi::SQLITE_IOERR_TRUNCATE
            | ffi::SQLITE_IOERR_SHMSIZE
            | ffi::SQLITE_IOERR_SHMOPEN,
        ) => ShelfError::DiskFull,
        (ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked, _) => ShelfError::Busy,
        (ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase, _) => damaged(),
        (_, extended_code) => ShelfError::Storage {
            operation,
            code: Some(extended_code),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_error_has_its_own_code_and_a_plain_sentence() {
        let path = || PathBuf::from("data/service.shelf.db");
        let name = || "crypto-news".to_owned();
        let (expected, observed) = (B256::repeat_byte(0x11), B256::repeat_byte(0x22));
        let errors = [
            ShelfError::OlderRecord {
                name: name(),
                expected: 9,
                observed: 8,
            },
            ShelfError::FutureRecord {
                name: name(),
                expected: 9,
                observed: 999,
            },
            ShelfError::DigestMismatch { expected, observed },
            ShelfError::ArtifactsFull {
                expected: 10,
                observed: 11,
            },
            ShelfError::DiskFull,
            ShelfError::Busy,
            ShelfError::Damaged { path: path() },
            ShelfError::ForeignFile {
                path: path(),
                expected: 1,
                observed: 2,
            },
            ShelfError::NewerSchema {
                expected: 1,
                observed: 2,
            },
            ShelfError::UnsupportedAddress {
                observed: "postgres://".to_owned(),
            },
            ShelfError::CannotOpen {
                path: path(),
                kind: io::ErrorKind::PermissionDenied,
            },
            ShelfError::Storage {
                operation: "keep",
                code: Some(19),
            },
            ShelfError::Closed,
        ];
        let text: Vec<String> = errors
            .iter()
            .map(|error| format!("{}: {error}", error.code()))
            .collect();
        assert_eq!(
            text,
            [
                "shelf_older_record: dataset crypto-news is of 9, the record is of 8",
                "shelf_future_record: the record of dataset crypto-news was written at 9 and claims to be of 999",
                "shelf_digest_mismatch: the artifact has the digest \
                 0x2222222222222222222222222222222222222222222222222222222222222222, not \
                 0x1111111111111111111111111111111111111111111111111111111111111111",
                "shelf_artifacts_full: artifacts may take 10 bytes, with this one they would take 11",
                "shelf_disk_full: the disk of the shelf has no room left",
                "shelf_busy: another program holds the shelf's file locked",
                "shelf_damaged: the shelf data/service.shelf.db is damaged or is not a database",
                "shelf_foreign_file: data/service.shelf.db is no shelf (application id 0x00000002, \
                 expected 0x00000001)",
                "shelf_newer_schema: the shelf has schema 2, this version knows schemas up to 1",
                "shelf_unsupported_address: a shelf needs an address of the form sqlite://FILE, not \
                 postgres://",
                "shelf_cannot_open: cannot open the shelf data/service.shelf.db: permission denied",
                "shelf_storage: the shelf's store failed in keep (SQLite code 19)",
                "shelf_closed: the shelf is closed",
            ]
        );
    }

    #[test]
    fn codes_of_the_store_have_names() {
        let check = |code: i32, expect: &str| {
            let error = rusqlite::Error::SqliteFailure(ffi::Error::new(code), None);
            assert_eq!(named(&error, Path::new("x.db"), "keep").code(), expect);
        };
        check(ffi::SQLITE_FULL, "shelf_disk_full");
        check(ffi::SQLITE_IOERR_WRITE, "shelf_disk_full");
        check(ffi::SQLITE_BUSY, "shelf_busy");
        check(ffi::SQLITE_CORRUPT, "shelf_damaged");
        check(ffi::SQLITE_NOTADB, "shelf_damaged");
        check(ffi::SQLITE_IOERR_READ, "shelf_storage");
    }
}
