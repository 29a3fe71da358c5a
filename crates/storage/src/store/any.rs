//! A store in a SQLite file or in a PostgreSQL database. It passes every call on to the one that is
//! open.

use alloy_primitives::B256;

use super::{
    Artifact, DatasetRecord, Level, PostgresStore, ServerStore, SqliteStore, StoreError,
    StoreOptions,
};
use crate::postgres::Postgres;

/// A store in a SQLite file or in a PostgreSQL database.
#[derive(Debug)]
pub enum AnyStore {
    /// A store in a file.
    Sqlite(SqliteStore),
    /// A store in a database.
    Postgres(PostgresStore),
}

impl AnyStore {
    /// Opens the store that belongs to a ledger: in the ledger's database, or beside its file.
    ///
    /// # Errors
    ///
    /// The same as [`SqliteStore::beside`] and [`PostgresStore::open`].
    pub async fn beside(
        ledger: &str,
        postgres: Option<&Postgres>,
        options: StoreOptions,
    ) -> Result<Self, StoreError> {
        Ok(match postgres {
            Some(postgres) => Self::Postgres(PostgresStore::open(postgres.clone(), options).await?),
            None => Self::Sqlite(SqliteStore::beside(ledger, options)?),
        })
    }
}

impl From<SqliteStore> for AnyStore {
    fn from(store: SqliteStore) -> Self {
        Self::Sqlite(store)
    }
}

/// Calls the operation on the open store.
macro_rules! either {
    ($self:ident, $store:ident => $call:expr) => {
        match $self {
            AnyStore::Sqlite($store) => $call,
            AnyStore::Postgres($store) => $call,
        }
    };
}

impl ServerStore for AnyStore {
    async fn lease(
        &self,
        name: &str,
        holder: &str,
        now: u64,
        seconds: u32,
    ) -> Result<bool, StoreError> {
        either!(self, store => store.lease(name, holder, now, seconds).await)
    }

    async fn give_back(&self, name: &str, holder: &str) -> Result<bool, StoreError> {
        either!(self, store => store.give_back(name, holder).await)
    }

    async fn publish(&self, name: &str, record: DatasetRecord) -> Result<(), StoreError> {
        either!(self, store => store.publish(name, record).await)
    }

    async fn latest(&self, name: &str) -> Result<Option<DatasetRecord>, StoreError> {
        either!(self, store => store.latest(name).await)
    }

    async fn keep(&self, artifact: Artifact, now: u64) -> Result<(), StoreError> {
        either!(self, store => store.keep(artifact, now).await)
    }

    async fn has_room(&self, bytes: u64, now: u64) -> Result<(), StoreError> {
        either!(self, store => store.has_room(bytes, now).await)
    }

    async fn artifact(&self, sha256: B256, now: u64) -> Result<Option<Artifact>, StoreError> {
        either!(self, store => store.artifact(sha256, now).await)
    }

    async fn count(&self, name: &str, period: u64, amount: u64) -> Result<u64, StoreError> {
        either!(self, store => store.count(name, period, amount).await)
    }

    async fn use_window(
        &self,
        name: &str,
        slice: u64,
        weight: u64,
        oldest: u64,
    ) -> Result<(), StoreError> {
        either!(self, store => store.use_window(name, slice, weight, oldest).await)
    }

    async fn window_use(&self, name: &str, oldest: u64) -> Result<Vec<(u64, u64)>, StoreError> {
        either!(self, store => store.window_use(name, oldest).await)
    }

    async fn keep_levels(&self, levels: Vec<Level>, most: u32) -> Result<(), StoreError> {
        either!(self, store => store.keep_levels(levels, most).await)
    }

    async fn levels(&self) -> Result<Vec<Level>, StoreError> {
        either!(self, store => store.levels().await)
    }

    async fn prune(&self, now: u64) -> Result<u64, StoreError> {
        either!(self, store => store.prune(now).await)
    }
}
