//! The errors of the store.

use alloy_primitives::B256;

use crate::{postgres::PostgresError, sqlite::DatabaseError};

/// Why an operation of the store failed. A failed operation has written nothing, unless the machine
/// failed at that moment.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The published record is newer than the given one.
    #[error("dataset {name} is of {expected}, the record is of {observed}")]
    OlderRecord {
        /// The dataset.
        name: String,
        /// The time of the published record, in Unix seconds. A new record must be at least as new.
        expected: u64,
        /// The time of the refused record, in Unix seconds.
        observed: u64,
    },
    /// The record claims data that is later than the record itself.
    #[error(
        "the record of dataset {name} was written at {expected} and claims to be of {observed}"
    )]
    FutureRecord {
        /// The dataset.
        name: String,
        /// The time of the record, in Unix seconds.
        expected: u64,
        /// The time that the record claims for its data, in Unix seconds.
        observed: u64,
    },
    /// The bytes do not have the digest that came with them.
    #[error("the artifact has the digest {observed}, not {expected}")]
    DigestMismatch {
        /// The digest that came with the bytes.
        expected: B256,
        /// The digest of the bytes.
        observed: B256,
    },
    /// The artifacts would exceed the store's limit.
    #[error("artifacts may take {expected} bytes, with this one they would take {observed}")]
    ArtifactsFull {
        /// The limit, in bytes.
        expected: u64,
        /// How many bytes the artifacts would take.
        observed: u64,
    },
    /// The store's file cannot be opened, read or written.
    #[error(transparent)]
    Database(#[from] DatabaseError),
    /// The store's database cannot be reached, read or written.
    #[error(transparent)]
    Postgres(#[from] PostgresError),
}

impl StoreError {
    /// Returns the stable machine-readable name of the error.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::OlderRecord { .. } => "store_older_record",
            Self::FutureRecord { .. } => "store_future_record",
            Self::DigestMismatch { .. } => "store_digest_mismatch",
            Self::ArtifactsFull { .. } => "store_artifacts_full",
            Self::Database(error) => error.code(),
            Self::Postgres(error) => error.code(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_error_has_its_own_code_and_a_plain_sentence() {
        let name = || "crypto-news".to_owned();
        let (expected, observed) = (B256::repeat_byte(0x11), B256::repeat_byte(0x22));
        let errors = [
            StoreError::OlderRecord {
                name: name(),
                expected: 9,
                observed: 8,
            },
            StoreError::FutureRecord {
                name: name(),
                expected: 9,
                observed: 999,
            },
            StoreError::DigestMismatch { expected, observed },
            StoreError::ArtifactsFull {
                expected: 10,
                observed: 11,
            },
            DatabaseError::Full.into(),
        ];
        let text: Vec<String> = errors
            .iter()
            .map(|error| format!("{}: {error}", error.code()))
            .collect();
        assert_eq!(
            text,
            [
                "store_older_record: dataset crypto-news is of 9, the record is of 8",
                "store_future_record: the record of dataset crypto-news was written at 9 and claims to be of 999",
                "store_digest_mismatch: the artifact has the digest \
                 0x2222222222222222222222222222222222222222222222222222222222222222, not \
                 0x1111111111111111111111111111111111111111111111111111111111111111",
                "store_artifacts_full: artifacts may take 10 bytes, with this one they would take 11",
                "database_full: the database has no room left",
            ]
        );
    }
}
