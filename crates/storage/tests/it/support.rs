//! A store in a temporary place, and records for it.

use std::path::PathBuf;

use alloy_primitives::B256;
use storage::{AnyStore, Artifact, DatasetRecord, StoreOptions};
use tempfile::TempDir;
use test_support::postgres::Schema;
use test_support::wait;

pub(crate) const NOW: u64 = 1_790_000_000;

/// A file, or a schema of a database if the suite has one. Any number of instances can open a store
/// on it.
pub(crate) struct Bench {
    folder: TempDir,
    schema: Option<Schema>,
}

impl Bench {
    pub(crate) fn new() -> Self {
        Self {
            schema: Schema::new(),
            ..Self::in_file()
        }
    }

    /// Makes a SQLite file, even when the suite uses a database.
    pub(crate) fn in_file() -> Self {
        Self {
            folder: tempfile::tempdir().unwrap(),
            schema: None,
        }
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.folder.path().join("service.store.db")
    }

    pub(crate) fn open(&self) -> AnyStore {
        self.open_with(StoreOptions::default())
    }

    pub(crate) fn open_with(&self, options: StoreOptions) -> AnyStore {
        let ledger = self.folder.path().join("service.db").display().to_string();
        let database = self.schema.as_ref().map(Schema::connect);
        wait(AnyStore::beside(&ledger, database.as_ref(), options)).unwrap()
    }
}

/// Makes a record with `body` and with data of the time `as_of`.
pub(crate) fn record(as_of: u64, body: &str) -> DatasetRecord {
    DatasetRecord {
        snapshot_id: format!("s-{as_of}"),
        as_of,
        inputs_sha256: B256::repeat_byte(0x5a),
        written_at: as_of + 60,
        body: body.to_owned().into(),
    }
}

pub(crate) fn artifact(body: &str, expires_at: u64) -> Artifact {
    Artifact::new("image/png", body.to_owned().into(), expires_at)
}
