//! A store in a temporary folder, and things to put on it.

use std::{path::PathBuf, sync::LazyLock};

use alloy_primitives::B256;
use storage::postgres::{Postgres, PostgresOptions};
use storage::{AnyStore, Artifact, DatasetRecord, StoreOptions};
use tempfile::TempDir;
use tokio::runtime::Runtime;

pub(crate) const NOW: u64 = 1_790_000_000;

/// Names a PostgreSQL database. With it, the suite runs on that instead of on SQLite, except for
/// what is about SQLite's files.
const DATABASE: &str = "TEST_POSTGRES_URL";

/// On which connections live that outlast the test's own runtime.
static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| Runtime::new().unwrap());

/// Waits for something that needs a runtime, wherever the caller is.
fn wait<T: Send>(work: impl Future<Output = T> + Send) -> T {
    std::thread::scope(|scope| scope.spawn(|| RUNTIME.block_on(work)).join().unwrap())
}

/// A file, or a schema of a database, on which any number of instances can open a store.
pub(crate) struct Bench {
    folder: TempDir,
    postgres: Option<Postgres>,
}

impl Bench {
    pub(crate) fn new() -> Self {
        Self {
            postgres: std::env::var(DATABASE).ok().map(|url| schema(&url)),
            ..Self::in_file()
        }
    }

    /// In a SQLite file, whatever the suite runs on.
    pub(crate) fn in_file() -> Self {
        Self {
            folder: tempfile::tempdir().unwrap(),
            postgres: None,
        }
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.folder.path().join("service.shelf.db")
    }

    pub(crate) fn open(&self) -> AnyStore {
        self.open_with(StoreOptions::default())
    }

    pub(crate) fn open_with(&self, options: StoreOptions) -> AnyStore {
        let ledger = self.folder.path().join("service.db").display().to_string();
        wait(AnyStore::beside(&ledger, self.postgres.as_ref(), options)).unwrap()
    }
}

/// An empty schema of the database at `url`.
fn schema(url: &str) -> Postgres {
    use std::hash::{BuildHasher as _, RandomState};

    let open = |url: &str| Postgres::new(url.parse().unwrap(), PostgresOptions::default()).unwrap();
    let name = format!("storage_{:x}", RandomState::new().hash_one(0));
    wait(open(url).query("create", &format!("CREATE SCHEMA {name}"), &[])).unwrap();
    let separator = if url.contains('?') { '&' } else { '?' };
    open(&format!("{url}{separator}options=-csearch_path%3D{name}"))
}

/// A record of data of `as_of`, with `body`.
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
