//! The records in a PostgreSQL database.

mod turn;

use std::sync::Arc;

use storage::postgres::{
    Component, Postgres, PostgresError, Row, ToSql, Transaction, damaged, get, number, unsigned,
};
use storage::{CLOCKS_DIFFER_SECONDS, Migration};

use super::{Fence, Store, StoreFuture, Takeover, TurnFence};
use crate::{Lane, Record, StoreError};

/// The tables of all books.
const COMPONENT: Component = Component {
    name: "sender",
    migrations: &[
        include_str!("postgres/0001.sql"),
        include_str!("postgres/0002.sql"),
    ],
};

/// The constraint that a nonce of a lane belongs to one record.
const NONCE: &str = "sender_record_nonce";

const READ: &str = "read";

/// The parameters of a statement.
type Params<'a> = &'a [&'a (dyn ToSql + Sync)];

/// Records in a PostgreSQL database. Any number of processes may open it.
///
/// A database has several books. Each has keys and lanes of its own, like a file of
/// [`SqliteStore`](super::SqliteStore). But a nonce of a lane belongs to one record in all books
/// together.
#[derive(Debug, Clone)]
pub struct PostgresStore {
    postgres: Postgres,
    book: &'static str,
}

impl PostgresStore {
    /// Opens the book, and migrates the tables.
    ///
    /// # Errors
    /// What is wrong with the database.
    pub async fn open(postgres: Postgres, book: &'static str) -> Result<Self, PostgresError> {
        postgres.migrate(&COMPONENT).await?;
        Ok(Self { postgres, book })
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

    /// Inserts a record with a statement that returns its id. When the statement returns none,
    /// reads the record that the key already has, if there is one.
    async fn put(
        &self,
        sql: &str,
        record: &Record,
        turn: Option<TurnFence>,
    ) -> Result<Option<Record>, StoreError> {
        let (chain_id, account) = (
            number(record.lane.chain_id),
            record.lane.account.to_string(),
        );
        let (state, nonce) = (record.state.as_str(), record.nonce.map(number));
        let (submitted_at, body) = (number(record.submitted_at), body(record)?);
        let turn = turn.map(|turn| (turn.account.to_string(), number(turn.token)));
        let mut params: Vec<&(dyn ToSql + Sync)> = vec![
            &self.book,
            &record.key,
            &chain_id,
            &account,
            &state,
            &nonce,
            &record.is_final,
            &submitted_at,
            &body,
        ];
        if let Some((account, token)) = &turn {
            params.push(account);
            params.push(token);
        }
        let rows = self.rows("insert", sql, &params).await?;
        match rows.first() {
            Some(row) => Ok(Some(Record {
                id: unsigned(row, 0, READ)?,
                revision: 0,
                ..record.clone()
            })),
            None => self.get(&record.key).await,
        }
    }
}

impl From<PostgresError> for StoreError {
    fn from(error: PostgresError) -> Self {
        tracing::warn!(%error, "the sender's records cannot be used");
        Self::Unavailable { code: error.code() }
    }
}

/// Reads the columns id, revision, `is_final` and body.
fn read(row: &Row) -> Result<Record, StoreError> {
    let body: &str = get(row, 3, READ)?;
    let record: Record =
        serde_json::from_str(body).map_err(|_| damaged(READ, "the body is no record"))?;
    Ok(Record {
        id: unsigned(row, 0, READ)?,
        revision: unsigned(row, 1, READ)?,
        is_final: get(row, 2, READ)?,
        ..record
    })
}

fn body(record: &Record) -> Result<String, StoreError> {
    Ok(serde_json::to_string(record).map_err(|_| damaged(READ, "the record has no JSON form"))?)
}

async fn replace(
    transaction: &Transaction<'_>,
    book: &str,
    record: &Record,
) -> Result<Record, StoreError> {
    // The steps are random, like those of a lane's token, because a record may be changed without a
    // token.
    let sql = "UPDATE sender_record SET state = $1, nonce = $2, is_final = $3, body = $4,
                   revision = revision + 1 + (random() * 1000000)::bigint
               WHERE id = $5 AND revision = $6 AND key = $7 AND book = $8 RETURNING revision";
    let conflict = || StoreError::Conflict {
        key: record.key.clone(),
    };
    let params: Params<'_> = &[
        &record.state.as_str(),
        &record.nonce.map(number),
        &record.is_final,
        &body(record)?,
        &number(record.id),
        &number(record.revision),
        &record.key,
        &book,
    ];
    match transaction.query_opt(sql, params).await {
        Ok(Some(row)) => Ok(Record {
            revision: unsigned(&row, 0, READ)?,
            ..record.clone()
        }),
        Ok(None) => Err(conflict()),
        Err(PostgresError::Constraint { constraint, .. }) if constraint == NONCE => Err(conflict()),
        Err(error) => Err(error.into()),
    }
}

impl Store for PostgresStore {
    fn acquire(
        &self,
        lane: Lane,
        holder: &str,
        now: u64,
        seconds: u64,
        takeover: Takeover,
    ) -> StoreFuture<'_, Option<Fence>> {
        let holder = holder.to_owned();
        let until = now.saturating_add(seconds);
        let anyway = takeover == Takeover::AtOnce;
        Box::pin(async move {
            // The steps are random: a replica that takes over may lack the last steps, and would
            // otherwise give their tokens to others.
            let sql = "INSERT INTO sender_lane AS l (chain_id, account, holder, token, until)
                       VALUES ($1, $2, $3, 1 + (random() * 1000000)::bigint, $4)
                       ON CONFLICT (chain_id, account) DO UPDATE SET
                           token = l.token + CASE WHEN l.holder = excluded.holder THEN 0 ELSE excluded.token END,
                           holder = excluded.holder, until = excluded.until
                       WHERE l.holder = excluded.holder OR l.until <= $5 OR l.until > excluded.until + $7 OR $6
                       RETURNING token";
            let params: Params<'_> = &[
                &number(lane.chain_id),
                &lane.account.to_string(),
                &holder,
                &number(until),
                &number(now),
                &anyway,
                &i64::from(CLOCKS_DIFFER_SECONDS),
            ];
            let rows = self.rows("acquire", sql, params).await?;
            let token = rows.first().map(|row| unsigned(row, 0, READ)).transpose()?;
            Ok(token.map(|token| Fence { lane, token }))
        })
    }

    fn give_back(&self, fence: Fence, holder: &str) -> StoreFuture<'_, ()> {
        let holder = holder.to_owned();
        Box::pin(async move {
            let sql = "UPDATE sender_lane SET until = 0, holder = ''
                       WHERE chain_id = $1 AND account = $2 AND token = $3 AND holder = $4";
            let Fence { lane, token } = fence;
            let params: Params<'_> = &[
                &number(lane.chain_id),
                &lane.account.to_string(),
                &number(token),
                &holder,
            ];
            self.rows("give back", sql, params).await.map(drop)
        })
    }

    fn insert(&self, record: Record) -> StoreFuture<'_, Record> {
        Box::pin(async move {
            let sql = "INSERT INTO sender_record
                           (book, key, chain_id, account, state, nonce, is_final, revision, submitted_at, body)
                       VALUES ($1, $2, $3, $4, $5, $6, $7, 0, $8, $9)
                       ON CONFLICT (book, key) DO NOTHING RETURNING id";
            let known = self.put(sql, &record, None).await?;
            // The record was pruned meanwhile, which happens only to final records.
            known.ok_or(StoreError::Conflict { key: record.key })
        })
    }

    fn insert_in_turn(&self, record: Record, turn: TurnFence) -> StoreFuture<'_, Record> {
        Box::pin(async move {
            // The row of the turn stays locked until the record is committed. Whoever takes the
            // turn comes before, and the record is refused; or it waits, and finds the record.
            let sql = "WITH turn AS (
                           SELECT 1 FROM sender_turn WHERE account = $10 AND token = $11 FOR SHARE
                       )
                       INSERT INTO sender_record
                           (book, key, chain_id, account, state, nonce, is_final, revision, submitted_at, body)
                       SELECT $1, $2, $3::bigint, $4, $5, $6::bigint, $7::boolean, 0, $8::bigint, $9
                       WHERE EXISTS (SELECT 1 FROM turn)
                       ON CONFLICT (book, key) DO NOTHING RETURNING id";
            let known = self.put(sql, &record, Some(turn)).await?;
            let account = turn.account;
            known.ok_or(StoreError::TurnLost { account })
        })
    }

    fn next_nonce(&self, lane: Lane) -> StoreFuture<'_, Option<u64>> {
        Box::pin(async move {
            let sql = "SELECT max(nonce) + 1 + (
                           SELECT count(*) FROM sender_record
                           WHERE book = $3 AND chain_id = $1 AND account = $2
                               AND NOT is_final AND nonce IS NULL
                       )
                       FROM sender_record
                       WHERE chain_id = $1 AND account = $2 AND nonce IS NOT NULL";
            let (chain_id, account) = (number(lane.chain_id), lane.account.to_string());
            let params: Params<'_> = &[&chain_id, &account, &self.book];
            let rows = self.rows("next nonce", sql, params).await?;
            let next = rows.first().map(|row| get::<Option<i64>>(row, 0, READ));
            Ok(next.transpose()?.flatten().map(i64::cast_unsigned))
        })
    }

    fn get(&self, key: &str) -> StoreFuture<'_, Option<Record>> {
        let key = key.to_owned();
        Box::pin(async move {
            let sql = "SELECT id, revision, is_final, body FROM sender_record
                       WHERE book = $1 AND key = $2";
            let rows = self.rows("get", sql, &[&self.book, &key]).await?;
            rows.first().map(read).transpose()
        })
    }

    fn live(&self, lane: Lane) -> StoreFuture<'_, Vec<Record>> {
        Box::pin(async move {
            let sql = "SELECT id, revision, is_final, body FROM sender_record
                       WHERE book = $1 AND chain_id = $2 AND account = $3 AND NOT is_final ORDER BY id";
            let params: Params<'_> = &[
                &self.book,
                &number(lane.chain_id),
                &lane.account.to_string(),
            ];
            self.rows("live", sql, params)
                .await?
                .iter()
                .map(read)
                .collect()
        })
    }

    fn lanes(&self) -> StoreFuture<'_, Vec<Lane>> {
        Box::pin(async move {
            let sql = "SELECT DISTINCT chain_id, account FROM sender_record
                       WHERE book = $1 AND NOT is_final";
            let rows = self.rows("lanes", sql, &[&self.book]).await?;
            let read = |row: &Row| {
                let account: &str = get(row, 1, READ)?;
                Ok(Lane {
                    chain_id: unsigned(row, 0, READ)?,
                    account: account
                        .parse()
                        .map_err(|_| damaged(READ, "an account is no address"))?,
                })
            };
            let lanes: Result<Vec<Lane>, PostgresError> = rows.iter().map(read).collect();
            let mut lanes = lanes?;
            lanes.sort_unstable();
            Ok(lanes)
        })
    }

    fn write(&self, fence: Fence, records: Vec<Record>) -> StoreFuture<'_, Vec<Record>> {
        Box::pin(async move {
            let lane = fence.lane;
            if records.iter().any(|record| record.lane != lane) {
                return Err(StoreError::Fenced { lane });
            }
            let (book, records) = (self.book, Arc::new(records));
            self.postgres
                .transaction("write", |transaction| {
                    let records = Arc::clone(&records);
                    Box::pin(async move {
                        // The lock holds off a new owner of the lane until this write ends.
                        let sql = "SELECT token FROM sender_lane
                                   WHERE chain_id = $1 AND account = $2 FOR SHARE";
                        let params: Params<'_> =
                            &[&number(lane.chain_id), &lane.account.to_string()];
                        let newest = transaction.query_opt(sql, params).await?;
                        let newest = newest.map(|row| unsigned(&row, 0, READ)).transpose()?;
                        if newest != Some(fence.token) {
                            return Err(StoreError::Fenced { lane });
                        }
                        let mut written = Vec::with_capacity(records.len());
                        for record in records.iter() {
                            written.push(replace(transaction, book, record).await?);
                        }
                        Ok(written)
                    })
                })
                .await
        })
    }

    fn amend(&self, record: Record) -> StoreFuture<'_, Record> {
        Box::pin(async move {
            let (book, record) = (self.book, Arc::new(record));
            self.postgres
                .transaction("amend", |transaction| {
                    let record = Arc::clone(&record);
                    Box::pin(async move { replace(transaction, book, &record).await })
                })
                .await
        })
    }

    fn prune(&self, submitted_before: u64) -> StoreFuture<'_, u64> {
        Box::pin(async move {
            let sql = "WITH gone AS (
                           DELETE FROM sender_record
                           WHERE is_final AND submitted_at < $1 AND book = $2 RETURNING 1
                       )
                       SELECT count(*) FROM gone";
            let params: Params<'_> = &[&number(submitted_before), &self.book];
            let rows = self.rows("prune", sql, params).await?;
            Ok(rows.first().map_or(Ok(0), |row| unsigned(row, 0, READ))?)
        })
    }
}
