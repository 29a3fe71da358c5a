//! The records in a PostgreSQL database.
//!
//! A reading is one statement, and so one snapshot. A write is one serializable transaction: what
//! it judges, such as the gas of all accounts, still holds when it commits.

mod bounds;
mod read;
mod write;

use std::sync::Arc;

use alloy_primitives::{Address, B256};
use calldata_checks::UtcSeconds;
use delegation_fence::{LogEntry, LogRecord, Policy, Spent};
use storage::Migration;
use storage::postgres::{Component, Postgres, PostgresError, ToSql};

use super::{InstalledPolicy, KeptSubmission, Lease, Store, StoreError, StoreFuture, View, Write};

const COMPONENT: Component = Component {
    name: "fence",
    migrations: &[
        include_str!("postgres/0001.sql"),
        include_str!("postgres/0002.sql"),
        include_str!("postgres/0003.sql"),
    ],
};

/// The parameters of a statement.
type Params<'a> = &'a [&'a (dyn ToSql + Sync)];

/// Records in a PostgreSQL database, which any number of servers may share.
#[derive(Debug, Clone)]
pub struct PostgresStore {
    postgres: Postgres,
}

impl PostgresStore {
    /// Brings the tables of the fence to the newest version.
    ///
    /// # Errors
    /// The defect of the database.
    pub async fn open(postgres: Postgres) -> Result<Self, PostgresError> {
        postgres.migrate(&COMPONENT).await?;
        Ok(Self { postgres })
    }

    /// Returns the migration that [`open`](Self::open) would run. Writes nothing.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub async fn pending(postgres: &Postgres) -> Result<Migration, PostgresError> {
        postgres.pending(&COMPONENT).await
    }
}

/// The reason why a transaction ends without a commit.
enum Failure {
    Database(PostgresError),
    Store(StoreError),
}

type Done<T> = Result<T, Failure>;

impl From<PostgresError> for Failure {
    fn from(error: PostgresError) -> Self {
        Self::Database(error)
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl From<Failure> for StoreError {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Database(error) => error.into(),
            Failure::Store(error) => error,
        }
    }
}

impl From<PostgresError> for StoreError {
    fn from(error: PostgresError) -> Self {
        tracing::warn!(%error, "the fence's records cannot be used");
        Self::Unavailable { code: error.code() }
    }
}

impl Store for PostgresStore {
    fn install(&self, policy: Policy, at: UtcSeconds) -> StoreFuture<'_, ()> {
        Box::pin(async move {
            let policy = Arc::new(policy);
            let installed = self.postgres.transaction("install", |transaction| {
                let policy = Arc::clone(&policy);
                Box::pin(async move { write::install(transaction, &policy, at).await })
            });
            installed.await.map_err(|failure: Failure| failure.into())
        })
    }

    fn installed(&self) -> StoreFuture<'_, Option<InstalledPolicy>> {
        Box::pin(async move { Ok(read::installed(&self.postgres).await?) })
    }

    fn view(&self, account: Address, grant_id: B256, plan: Option<B256>) -> StoreFuture<'_, View> {
        Box::pin(async move { Ok(read::view(&self.postgres, account, grant_id, plan).await?) })
    }

    fn write(&self, write: Write) -> StoreFuture<'_, u64> {
        Box::pin(async move {
            let write = Arc::new(write);
            let version = self.postgres.transaction("write", |transaction| {
                let write = Arc::clone(&write);
                Box::pin(async move { write::apply(transaction, &write).await })
            });
            version.await.map_err(|failure: Failure| failure.into())
        })
    }

    fn note_refusal(
        &self,
        account: Address,
        grant_id: B256,
        refusal: LogEntry,
        most: u32,
    ) -> StoreFuture<'_, ()> {
        Box::pin(async move {
            let refusal = Arc::new(refusal);
            let noted = self.postgres.transaction("note", |transaction| {
                let refusal = Arc::clone(&refusal);
                Box::pin(async move {
                    write::note_refusal(transaction, account, grant_id, &refusal, most).await
                })
            });
            noted.await.map_err(|failure: Failure| failure.into())
        })
    }

    fn log(
        &self,
        account: Address,
        grant_id: B256,
        from: u64,
        most: u32,
    ) -> StoreFuture<'_, Vec<LogRecord>> {
        Box::pin(async move { Ok(read::log(&self.postgres, account, grant_id, from, most).await?) })
    }

    fn submission(&self, payload_digest: B256) -> StoreFuture<'_, Option<KeptSubmission>> {
        Box::pin(async move { Ok(read::submission(&self.postgres, payload_digest).await?) })
    }

    fn sendings(&self, ended_since: UtcSeconds) -> StoreFuture<'_, Vec<B256>> {
        Box::pin(async move { Ok(read::sendings(&self.postgres, ended_since).await?) })
    }

    fn gas_spent(&self, account: Address, at: UtcSeconds) -> StoreFuture<'_, Spent> {
        Box::pin(async move { Ok(read::gas_spent(&self.postgres, account, at).await?) })
    }

    fn acquire(
        &self,
        account: Address,
        holder: &str,
        now: UtcSeconds,
        seconds: u64,
    ) -> StoreFuture<'_, Option<Lease>> {
        let holder = holder.to_owned();
        Box::pin(async move {
            let token = write::acquire(&self.postgres, account, &holder, now, seconds).await?;
            Ok(token.map(|token| Lease { account, token }))
        })
    }

    fn give_back(&self, lease: Lease, holder: &str) -> StoreFuture<'_, ()> {
        let holder = holder.to_owned();
        Box::pin(async move { Ok(write::give_back(&self.postgres, lease, &holder).await?) })
    }

    fn forget(&self, now: UtcSeconds, most: u32) -> StoreFuture<'_, u64> {
        Box::pin(async move {
            let forgotten = self.postgres.transaction("forget", |transaction| {
                Box::pin(async move { bounds::forget(transaction, now, most).await })
            });
            forgotten.await.map_err(|failure: Failure| failure.into())
        })
    }

    fn history(&self) -> StoreFuture<'_, Option<String>> {
        Box::pin(async move { Ok(self.postgres.history().await?) })
    }

    fn probe(&self) -> StoreFuture<'_, ()> {
        Box::pin(async move {
            let sql = "INSERT INTO fence_probe (id, at) VALUES (1, clock_timestamp())
                       ON CONFLICT (id) DO UPDATE SET at = excluded.at";
            Ok(self.postgres.query("probe", sql, &[]).await.map(drop)?)
        })
    }
}
