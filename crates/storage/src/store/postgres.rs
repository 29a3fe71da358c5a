//! The store in a PostgreSQL database. A change is one statement where possible, so that instances
//! share nothing except the database.

use alloy_primitives::B256;
use bytes::Bytes;

use super::{
    Artifact, COUNTERS_KEPT_SECONDS, DatasetRecord, Level, ServerStore, StoreError, StoreOptions,
    WINDOWS_KEPT_SECONDS, artifact::digest,
};
use crate::Migration;
use crate::postgres::{
    Component, Postgres, PostgresError, Row, ToSql, bytes, damaged, get, number, unsigned,
};

/// The store's tables.
pub(crate) const COMPONENT: Component = Component {
    name: "server",
    migrations: &[include_str!("postgres/0001.sql")],
};

/// A store in a PostgreSQL database. Any number of servers may share it.
///
/// When two servers store an artifact at the same moment, both together may exceed the limit by one
/// artifact.
#[derive(Clone, Debug)]
pub struct PostgresStore {
    postgres: Postgres,
    options: StoreOptions,
}

impl PostgresStore {
    /// Opens the store in a database, and migrates its tables.
    ///
    /// # Errors
    ///
    /// [`StoreError::Postgres`].
    pub async fn open(postgres: Postgres, options: StoreOptions) -> Result<Self, StoreError> {
        postgres.migrate(&COMPONENT).await?;
        Ok(Self { postgres, options })
    }

    /// Returns the migration that [`open`](Self::open) would run. Writes nothing.
    ///
    /// # Errors
    ///
    /// The same as [`Postgres::pending`].
    pub async fn pending(postgres: &Postgres) -> Result<Migration, PostgresError> {
        postgres.pending(&COMPONENT).await
    }

    async fn row(
        &self,
        operation: &'static str,
        sql: &str,
        params: &[&(dyn ToSql + Sync)],
    ) -> Result<Option<Row>, PostgresError> {
        self.postgres.query_opt(operation, sql, params).await
    }

    fn full(&self, observed: u64) -> StoreError {
        StoreError::ArtifactsFull {
            expected: self.options.max_artifact_bytes,
            observed,
        }
    }
}

impl ServerStore for PostgresStore {
    async fn lease(
        &self,
        name: &str,
        holder: &str,
        now: u64,
        seconds: u32,
    ) -> Result<bool, StoreError> {
        let sql = "INSERT INTO server_lease AS l (name, holder, expires_at) VALUES ($1, $2, $3)
                   ON CONFLICT (name) DO UPDATE
                   SET holder = excluded.holder, expires_at = excluded.expires_at
                   WHERE l.holder = excluded.holder OR l.expires_at <= $4
                   RETURNING name";
        let until = number(now.saturating_add(u64::from(seconds)));
        let params: &[&(dyn ToSql + Sync)] = &[&name, &holder, &until, &number(now)];
        Ok(self.row("lease", sql, params).await?.is_some())
    }

    async fn give_back(&self, name: &str, holder: &str) -> Result<bool, StoreError> {
        let sql = "DELETE FROM server_lease WHERE name = $1 AND holder = $2 RETURNING name";
        Ok(self
            .row("give_back", sql, &[&name, &holder])
            .await?
            .is_some())
    }

    async fn publish(&self, name: &str, record: DatasetRecord) -> Result<(), StoreError> {
        record.check_time(name)?;
        let sql = "INSERT INTO server_dataset AS d
                       (name, snapshot_id, as_of, inputs_sha256, written_at, body_sha256, body)
                   VALUES ($1, $2, $3, $4, $5, $6, $7)
                   ON CONFLICT (name) DO UPDATE SET
                       snapshot_id = excluded.snapshot_id, as_of = excluded.as_of,
                       inputs_sha256 = excluded.inputs_sha256, written_at = excluded.written_at,
                       body_sha256 = excluded.body_sha256, body = excluded.body
                   WHERE d.as_of <= excluded.as_of
                   RETURNING d.as_of";
        let (sha256, body) = (digest(&record.body), record.body.as_ref());
        let params: &[&(dyn ToSql + Sync)] = &[
            &name,
            &record.snapshot_id,
            &number(record.as_of),
            &record.inputs_sha256.as_slice(),
            &number(record.written_at),
            &sha256.as_slice(),
            &body,
        ];
        if self.row("publish", sql, params).await?.is_some() {
            return Ok(());
        }
        // This is a second statement, because the newer record may have come after the first one
        // began.
        let sql = "SELECT as_of FROM server_dataset WHERE name = $1";
        let row = self.postgres.query_one("publish", sql, &[&name]).await?;
        Err(StoreError::OlderRecord {
            name: name.to_owned(),
            expected: unsigned(&row, 0, "publish")?,
            observed: record.as_of,
        })
    }

    async fn latest(&self, name: &str) -> Result<Option<DatasetRecord>, StoreError> {
        const LATEST: &str = "latest";
        let sql = "SELECT snapshot_id, as_of, inputs_sha256, written_at, body, body_sha256
                   FROM server_dataset WHERE name = $1";
        let Some(row) = self.row(LATEST, sql, &[&name]).await? else {
            return Ok(None);
        };
        let record = DatasetRecord {
            snapshot_id: get(&row, 0, LATEST)?,
            as_of: unsigned(&row, 1, LATEST)?,
            inputs_sha256: B256::from(bytes(&row, 2, LATEST)?),
            written_at: unsigned(&row, 3, LATEST)?,
            body: Bytes::from(get::<Vec<u8>>(&row, 4, LATEST)?),
        };
        match digest(&record.body) == B256::from(bytes(&row, 5, LATEST)?) {
            true => Ok(Some(record)),
            false => Err(damaged(LATEST, "the body has another digest").into()),
        }
    }

    async fn keep(&self, artifact: Artifact, now: u64) -> Result<(), StoreError> {
        const KEEP: &str = "keep";
        let sql = "WITH forgotten AS (
                       DELETE FROM server_artifact WHERE expires_at <= $6
                   ), before AS (
                       SELECT coalesce(sum(size), 0)::bigint AS bytes,
                           bool_or(sha256 = $1) IS TRUE AS is_there
                       FROM server_artifact WHERE expires_at > $6
                   ), kept AS (
                       INSERT INTO server_artifact AS a (sha256, media_type, expires_at, size, body)
                       SELECT $1, $2, $3, $4, $5 FROM before WHERE is_there OR bytes + $4 <= $7
                       ON CONFLICT (sha256) DO UPDATE
                       SET expires_at = greatest(a.expires_at, excluded.expires_at)
                       RETURNING 1
                   )
                   SELECT EXISTS (SELECT FROM kept), bytes FROM before";
        let size = u64::try_from(artifact.bytes().len()).unwrap_or(u64::MAX);
        let row = self
            .postgres
            .query_one(
                KEEP,
                sql,
                &[
                    &artifact.sha256().as_slice(),
                    &artifact.media_type(),
                    &number(artifact.expires_at()),
                    &number(size),
                    &artifact.bytes().as_ref(),
                    &number(now),
                    &number(self.options.max_artifact_bytes),
                ],
            )
            .await?;
        match get(&row, 0, KEEP)? {
            true => Ok(()),
            false => Err(self.full(unsigned(&row, 1, KEEP)?.saturating_add(size))),
        }
    }

    /// Checks only the limit. It does not try whether the disk of the database has room.
    async fn has_room(&self, wanted: u64, now: u64) -> Result<(), StoreError> {
        const HAS_ROOM: &str = "has_room";
        let sql =
            "SELECT coalesce(sum(size), 0)::bigint FROM server_artifact WHERE expires_at > $1";
        let row = self
            .postgres
            .query_one(HAS_ROOM, sql, &[&number(now)])
            .await?;
        let observed = unsigned(&row, 0, HAS_ROOM)?.saturating_add(wanted);
        match observed <= self.options.max_artifact_bytes {
            true => Ok(()),
            false => Err(self.full(observed)),
        }
    }

    async fn artifact(&self, sha256: B256, now: u64) -> Result<Option<Artifact>, StoreError> {
        const ARTIFACT: &str = "artifact";
        let sql = "SELECT media_type, expires_at, body FROM server_artifact
                   WHERE sha256 = $1 AND expires_at > $2";
        let params: &[&(dyn ToSql + Sync)] = &[&sha256.as_slice(), &number(now)];
        let Some(row) = self.row(ARTIFACT, sql, params).await? else {
            return Ok(None);
        };
        let body = Bytes::from(get::<Vec<u8>>(&row, 2, ARTIFACT)?);
        let media_type: String = get(&row, 0, ARTIFACT)?;
        match Artifact::checked(sha256, media_type, body, unsigned(&row, 1, ARTIFACT)?) {
            Ok(artifact) => Ok(Some(artifact)),
            Err(_) => Err(damaged(ARTIFACT, "the bytes have another digest").into()),
        }
    }

    async fn count(&self, name: &str, period: u64, amount: u64) -> Result<u64, StoreError> {
        const COUNT: &str = "count";
        if amount == 0 {
            let sql = "SELECT total FROM server_counter WHERE name = $1 AND period = $2";
            let row = self.row(COUNT, sql, &[&name, &number(period)]).await?;
            return Ok(row.map_or(Ok(0), |row| unsigned(&row, 0, COUNT))?);
        }
        let sql = "INSERT INTO server_counter AS c (name, period, total) VALUES ($1, $2, $3)
                   ON CONFLICT (name, period) DO UPDATE
                   SET total = least(c.total, 9223372036854775807 - excluded.total) + excluded.total
                   RETURNING total";
        let params: &[&(dyn ToSql + Sync)] = &[&name, &number(period), &number(amount)];
        let row = self.postgres.query_one(COUNT, sql, params).await?;
        Ok(unsigned(&row, 0, COUNT)?)
    }

    async fn use_window(
        &self,
        name: &str,
        slice: u64,
        weight: u64,
        oldest: u64,
    ) -> Result<(), StoreError> {
        let sql = "WITH forgotten AS (
                       DELETE FROM server_window_use WHERE name = $1 AND slice < $4 AND slice <> $2
                   )
                   INSERT INTO server_window_use AS w (name, slice, weight) VALUES ($1, $2, $3)
                   ON CONFLICT (name, slice) DO UPDATE
                   SET weight = least(w.weight, 9223372036854775807 - excluded.weight) + excluded.weight";
        let params: &[&(dyn ToSql + Sync)] =
            &[&name, &number(slice), &number(weight), &number(oldest)];
        Ok(self
            .postgres
            .query("use_window", sql, params)
            .await
            .map(drop)?)
    }

    async fn window_use(&self, name: &str, oldest: u64) -> Result<Vec<(u64, u64)>, StoreError> {
        const WINDOW_USE: &str = "window_use";
        let sql = "SELECT slice, weight FROM server_window_use
                   WHERE name = $1 AND slice >= $2 ORDER BY slice";
        let params: &[&(dyn ToSql + Sync)] = &[&name, &number(oldest)];
        let rows = self.postgres.query(WINDOW_USE, sql, params).await?;
        let read = |row: &Row| Ok((unsigned(row, 0, WINDOW_USE)?, unsigned(row, 1, WINDOW_USE)?));
        rows.iter().map(read).collect()
    }

    async fn keep_levels(&self, levels: Vec<Level>, most: u32) -> Result<(), StoreError> {
        // If two levels have the same name, the later one counts.
        let sql = "INSERT INTO server_level AS l (name, amount, at)
                   SELECT DISTINCT ON (name) name, amount, at
                   FROM unnest($1::text[], $2::bigint[], $3::bigint[]) WITH ORDINALITY
                       AS given (name, amount, at, place)
                   ORDER BY name, place DESC
                   ON CONFLICT (name) DO UPDATE SET amount = excluded.amount, at = excluded.at";
        let names: Vec<&str> = levels.iter().map(|level| level.name.as_str()).collect();
        let amounts: Vec<i64> = levels.iter().map(|level| number(level.amount)).collect();
        let times: Vec<i64> = levels.iter().map(|level| number(level.at)).collect();
        let params: &[&(dyn ToSql + Sync)] = &[&names, &amounts, &times];
        self.postgres.query("keep_levels", sql, params).await?;
        let sql = "DELETE FROM server_level WHERE name IN
                   (SELECT name FROM server_level ORDER BY at DESC OFFSET $1)";
        let most = i64::from(most);
        Ok(self
            .postgres
            .query("keep_levels", sql, &[&most])
            .await
            .map(drop)?)
    }

    async fn levels(&self) -> Result<Vec<Level>, StoreError> {
        const LEVELS: &str = "levels";
        let sql = "SELECT name, amount, at FROM server_level ORDER BY at";
        let rows = self.postgres.query(LEVELS, sql, &[]).await?;
        let read = |row: &Row| {
            Ok(Level {
                name: get(row, 0, LEVELS)?,
                amount: unsigned(row, 1, LEVELS)?,
                at: unsigned(row, 2, LEVELS)?,
            })
        };
        rows.iter().map(read).collect()
    }

    async fn prune(&self, now: u64) -> Result<u64, StoreError> {
        const PRUNE: &str = "prune";
        let sql = "WITH artifacts AS (
                       DELETE FROM server_artifact WHERE expires_at <= $1 RETURNING 1
                   ), leases AS (
                       DELETE FROM server_lease WHERE expires_at <= $1
                   ), counters AS (
                       DELETE FROM server_counter WHERE period < $2
                   ), windows AS (
                       DELETE FROM server_window_use WHERE slice < $3
                   )
                   SELECT count(*) FROM artifacts";
        let counters = number(now.saturating_sub(COUNTERS_KEPT_SECONDS));
        let windows = number(now.saturating_sub(WINDOWS_KEPT_SECONDS));
        let params: &[&(dyn ToSql + Sync)] = &[&number(now), &counters, &windows];
        let row = self.postgres.query_one(PRUNE, sql, params).await?;
        Ok(unsigned(&row, 0, PRUNE)?)
    }
}
