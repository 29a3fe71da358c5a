//! Mandates in a PostgreSQL database.

use std::sync::Arc;

use jiff::Timestamp;
use serde::{Serialize, de::DeserializeOwned};
use storage::postgres::{
    Component, Postgres, PostgresError, Row, ToSql, Transaction, damaged, get, number, unsigned,
};
use storage::{CLOCKS_DIFFER_SECONDS, Migration};
use yield_watch::{AuditRecord, MAX_ACTIVE};

use super::{Creation, Kept, Lease, Store, StoreError, StoreFuture, Write};

const COMPONENT: Component = Component {
    name: "watch",
    migrations: &[include_str!("postgres/0001.sql")],
};

const READ: &str = "read";

/// The parameters of a statement.
type Params<'a> = &'a [&'a (dyn ToSql + Sync)];

/// Mandates in a PostgreSQL database, which any number of processes may open.
///
/// Revisions and tokens rise by random steps. After a failover, a replica may lack the last of
/// them. With steps of one, it would give the same numbers to other writes and holders.
#[derive(Debug, Clone)]
pub struct PostgresStore {
    postgres: Postgres,
}

impl PostgresStore {
    /// Opens the mandates, and migrates their tables to the current version.
    ///
    /// # Errors
    /// [`PostgresError`] when the database cannot be opened or migrated.
    pub async fn open(postgres: Postgres) -> Result<Self, PostgresError> {
        postgres.migrate(&COMPONENT).await?;
        Ok(Self { postgres })
    }

    /// Returns the migration that [`open`](Self::open) would run. Writes nothing.
    ///
    /// # Errors
    /// The same as [`open`](Self::open).
    pub async fn pending(postgres: &Postgres) -> Result<Migration, PostgresError> {
        postgres.pending(&COMPONENT).await
    }

    async fn rows(
        &self,
        operation: &'static str,
        sql: &str,
        params: Params<'_>,
    ) -> Result<Vec<Row>, StoreError> {
        Ok(self.postgres.query(operation, sql, params).await?)
    }

    /// Returns why a conditional write has found no row: another revision, or another token. It
    /// reads the row after the write, because a running statement does not see what others commit
    /// meanwhile.
    async fn not_written(&self, write: &Write) -> Result<StoreError, StoreError> {
        let sql = "SELECT revision, token FROM watch_mandate WHERE id = $1";
        let id = &write.watched.mandate().id;
        let rows = self.rows("write", sql, &[id]).await?;
        let Some(row) = rows.first() else {
            return Ok(StoreError::Conflict);
        };
        let is_newest = unsigned(row, 0, READ)? == write.revision;
        let token = unsigned(row, 1, READ)?;
        let is_fenced = |lease: &Lease| lease.token != token;
        Ok(
            match is_newest && write.lease.as_ref().is_some_and(is_fenced) {
                true => StoreError::Fenced,
                false => StoreError::Conflict,
            },
        )
    }
}

impl From<PostgresError> for StoreError {
    fn from(error: PostgresError) -> Self {
        tracing::warn!(%error, "the records of mandates cannot be used");
        Self::Unavailable { code: error.code() }
    }
}

fn from_json<T: DeserializeOwned>(row: &Row, column: usize) -> Result<T, PostgresError> {
    let text: &str = get(row, column, READ)?;
    serde_json::from_str(text).map_err(|_| damaged(READ, "the text has another form"))
}

fn to_json(value: &impl Serialize) -> Result<String, PostgresError> {
    serde_json::to_string(value).map_err(|_| damaged("write", "the value has no JSON form"))
}

fn seconds(time: Option<Timestamp>) -> Option<i64> {
    time.map(Timestamp::as_second)
}

/// Reads a mandate from the columns place, revision, state and `due_at`.
fn kept(row: &Row) -> Result<Kept, StoreError> {
    let due_at: Option<i64> = get(row, 3, READ)?;
    let due_at = due_at.map(Timestamp::from_second).transpose();
    Ok(Kept {
        place: unsigned(row, 0, READ)?,
        revision: unsigned(row, 1, READ)?,
        watched: from_json(row, 2)?,
        due_at: due_at.map_err(|error| damaged(READ, error))?,
    })
}

const FIND: &str = "SELECT place, revision, state, due_at FROM watch_mandate WHERE id = $1";

/// Creates a mandate in a serializable transaction. Of two creations for one owner at the same
/// time, one runs again after the other. So the number of active mandates is exact. A later mandate
/// of an owner also has a higher place, so a reader of pages misses none.
async fn create(transaction: &Transaction<'_>, creation: &Creation) -> Result<Kept, StoreError> {
    let mandate = creation.watched.mandate();
    if let Some(row) = transaction.query_opt(FIND, &[&mandate.id]).await? {
        return kept(&row);
    }
    if let Some(claim) = &creation.claim
        && !claim.holds(transaction).await?
    {
        return Err(StoreError::ClaimLost);
    }
    let sql = "SELECT count(*) FROM watch_mandate
               WHERE owner = $1 AND NOT has_ended AND expires_at > $2";
    let params: Params<'_> = &[&mandate.owner, &creation.now.as_second()];
    let active = transaction.query_opt(sql, params).await?;
    let active = active.map_or(Ok(0), |row| unsigned(&row, 0, READ))?;
    if usize::try_from(active).unwrap_or(usize::MAX) >= MAX_ACTIVE {
        return Err(StoreError::TooMany);
    }
    let due_at = creation.watched.due_at();
    let sql =
        "INSERT INTO watch_mandate (id, owner, revision, expires_at, has_ended, due_at, state)
               VALUES ($1, $2, 1 + (random() * 1000000)::bigint, $3, false, $4, $5)
               ON CONFLICT (id) DO NOTHING RETURNING place, revision";
    let params: Params<'_> = &[
        &mandate.id,
        &mandate.owner,
        &mandate.expires_at.as_second(),
        &seconds(due_at),
        &to_json(&creation.watched)?,
    ];
    let row = transaction.query_opt(sql, params).await?;
    let row = row.ok_or(StoreError::Conflict)?;
    let sql = "INSERT INTO watch_record (id, seq, record) VALUES ($1, $2, $3)";
    let record = &creation.record;
    let params: Params<'_> = &[&mandate.id, &number(record.seq), &to_json(record)?];
    transaction.query(sql, params).await?;
    Ok(Kept {
        place: unsigned(&row, 0, READ)?,
        revision: unsigned(&row, 1, READ)?,
        watched: creation.watched.clone(),
        due_at,
    })
}

impl Store for PostgresStore {
    fn create(&self, creation: Creation) -> StoreFuture<'_, Kept> {
        Box::pin(async move {
            let creation = Arc::new(creation);
            self.postgres
                .transaction("create", |transaction| {
                    let creation = Arc::clone(&creation);
                    Box::pin(async move { create(transaction, &creation).await })
                })
                .await
        })
    }

    fn find(&self, id: &str) -> StoreFuture<'_, Option<Kept>> {
        let id = id.to_owned();
        Box::pin(async move {
            // Callers pass on what their clients send. A text in PostgreSQL cannot have this
            // character, so no mandate has such an id.
            if id.contains('\0') {
                return Ok(None);
            }
            let rows = self.rows("find", FIND, &[&id]).await?;
            rows.first().map(kept).transpose()
        })
    }

    fn list(&self, owner: &str, before: Option<u64>, most: u32) -> StoreFuture<'_, Vec<Kept>> {
        let owner = owner.to_owned();
        Box::pin(async move {
            let sql = "SELECT place, revision, state, due_at FROM watch_mandate
                       WHERE owner = $1 AND place < $2 ORDER BY place DESC LIMIT $3";
            let before = number(before.unwrap_or(u64::MAX));
            let params: Params<'_> = &[&owner, &before, &i64::from(most)];
            let rows = self.rows("list", sql, params).await?;
            rows.iter().map(kept).collect()
        })
    }

    fn write(&self, write: Write) -> StoreFuture<'_, u64> {
        Box::pin(async move {
            // While another write holds the row, this one waits and then looks at the row again.
            // Its revision differs then.
            let sql = "WITH written AS (
                           UPDATE watch_mandate
                           SET revision = revision + 1 + (random() * 1000000)::bigint,
                               has_ended = $4, due_at = $5, state = $6
                           WHERE id = $1 AND revision = $2 AND ($3::bigint IS NULL OR token = $3)
                           RETURNING revision
                       ), added AS (
                           INSERT INTO watch_record (id, seq, record)
                           SELECT $1, added.seq, added.record
                           FROM written, unnest($7::bigint[], $8::text[]) AS added (seq, record)
                       )
                       SELECT revision FROM written";
            let mandate = write.watched.mandate();
            let token = write.lease.as_ref().map(|lease| number(lease.token));
            let numbers = write.records.iter().map(|record| number(record.seq));
            let numbers: Vec<i64> = numbers.collect();
            let records: Result<Vec<String>, _> = write.records.iter().map(to_json).collect();
            let params: Params<'_> = &[
                &mandate.id,
                &number(write.revision),
                &token,
                &mandate.ended.is_some(),
                &seconds(write.due_at),
                &to_json(&write.watched)?,
                &numbers,
                &records?,
            ];
            let rows = self.rows("write", sql, params).await?;
            match rows.first() {
                Some(row) => Ok(unsigned(row, 0, READ)?),
                None => Err(self.not_written(&write).await?),
            }
        })
    }

    fn records(&self, id: &str, from: u64, most: u32) -> StoreFuture<'_, Vec<AuditRecord>> {
        let id = id.to_owned();
        Box::pin(async move {
            let sql = "SELECT record FROM watch_record
                       WHERE id = $1 AND seq >= $2 ORDER BY seq LIMIT $3";
            let params: Params<'_> = &[&id, &number(from), &i64::from(most)];
            let rows = self.rows("records", sql, params).await?;
            let records: Result<_, PostgresError> =
                rows.iter().map(|row| from_json(row, 0)).collect();
            Ok(records?)
        })
    }

    fn due(&self, now: Timestamp, most: u32) -> StoreFuture<'_, Vec<String>> {
        Box::pin(async move {
            let sql = "SELECT id FROM watch_mandate
                       WHERE due_at <= $1 ORDER BY due_at, place LIMIT $2";
            let params: Params<'_> = &[&now.as_second(), &i64::from(most)];
            let rows = self.rows("due", sql, params).await?;
            let ids: Result<_, PostgresError> = rows.iter().map(|row| get(row, 0, READ)).collect();
            Ok(ids?)
        })
    }

    fn acquire(
        &self,
        id: &str,
        holder: &str,
        now: Timestamp,
        seconds: u32,
    ) -> StoreFuture<'_, Option<Lease>> {
        let (id, holder) = (id.to_owned(), holder.to_owned());
        Box::pin(async move {
            let sql = "UPDATE watch_mandate
                       SET token = token + CASE WHEN holder = $2 THEN 0 ELSE 1 + (random() * 1000000)::bigint END,
                           holder = $2, until = $4
                       WHERE id = $1 AND (holder = $2 OR holder = '' OR until <= $3 OR until > $5)
                       RETURNING token";
            let now = now.as_second();
            let until = now.saturating_add(i64::from(seconds));
            let latest = until.saturating_add(i64::from(CLOCKS_DIFFER_SECONDS));
            let params: Params<'_> = &[&id, &holder, &now, &until, &latest];
            let rows = self.rows("acquire", sql, params).await?;
            let token = rows.first().map(|row| unsigned(row, 0, READ)).transpose()?;
            Ok(token.map(|token| Lease { id, token }))
        })
    }

    fn give_back(&self, lease: Lease, holder: &str) -> StoreFuture<'_, ()> {
        let holder = holder.to_owned();
        Box::pin(async move {
            let sql = "UPDATE watch_mandate SET holder = '', until = 0
                       WHERE id = $1 AND holder = $2 AND token = $3";
            let params: Params<'_> = &[&lease.id, &holder, &number(lease.token)];
            self.rows("give back", sql, params).await.map(drop)
        })
    }

    fn history(&self) -> StoreFuture<'_, Option<String>> {
        Box::pin(async move { Ok(self.postgres.history().await?) })
    }

    fn probe(&self) -> StoreFuture<'_, ()> {
        Box::pin(async move {
            // The statement changes nothing. A database that accepts no writes refuses it.
            let sql = "DELETE FROM watch_mandate WHERE false";
            self.rows("probe", sql, &[]).await.map(drop)
        })
    }
}
