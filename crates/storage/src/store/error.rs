//! Why the store could not do what was asked.

use alloy_primitives::B256;

use crate::{postgres::PostgresError, sqlite::DatabaseError};

/// Everything that can go wrong in the store. Nothing was written when an operation ends in one of
/// these, unless the machine fails at that very moment.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
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
    /// The artifacts would take more bytes than the store may hold.
    #[error("artifacts may take {expected} bytes, with this one they would take {observed}")]
    ArtifactsFull {
        /// The limit, bytes.
        expected: u64,
        /// What they would take, bytes.
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
    /// The stable machine-readable name of the error.
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
