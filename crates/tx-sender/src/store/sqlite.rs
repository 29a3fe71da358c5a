//! The records in a SQLite file.

use std::path::{Path, PathBuf};

use rusqlite::{Connection, OptionalExtension, Row, Transaction, params};
use storage::sqlite::{
    self, DatabaseError, Format, Settings, Worker, damaged, is_constraint, number, parsed,
    unsigned, unwritable,
};
use storage::{CLOCKS_DIFFER_SECONDS, Migration};

use super::{Fence, Store, StoreFuture, Takeover};
use crate::{Lane, Record, StoreError};

/// The application id is `x4tx`.
const FORMAT: Format = Format {
    application_id: 0x7834_7478,
    migrations: &[include_str!("0001.sql")],
};

const SETTINGS: Settings = Settings::of_records(1024);

/// Records in one SQLite file, which several processes of one machine may open. One thread does all
/// the work of a handle, in the order of the calls. The write lock of SQLite orders the writes of
/// several handles.
#[derive(Debug)]
pub struct SqliteStore {
    worker: Worker,
}

impl SqliteStore {
    /// Opens the file at `path`. Creates the file and its folder if they are missing; only their
    /// owner can read them.
    ///
    /// # Errors
    /// What is wrong with the file.
    pub fn open(path: PathBuf) -> Result<Self, DatabaseError> {
        let worker = Worker::shared(path, &FORMAT, &SETTINGS)?;
        Ok(Self { worker })
    }

    /// Returns the migration that [`open`](Self::open) would run on the file at `path`; `None` when
    /// there is no file. Does not write to it.
    ///
    /// # Errors
    /// The same as [`sqlite::pending`].
    pub fn pending(path: &Path) -> Result<Option<Migration>, DatabaseError> {
        sqlite::pending(path, &FORMAT)
    }
}

type Failure = storage::sqlite::Failure<StoreError>;

impl From<DatabaseError> for StoreError {
    fn from(error: DatabaseError) -> Self {
        Self::Unavailable { code: error.code() }
    }
}

fn account(lane: Lane) -> String {
    lane.account.to_string()
}

const COLUMNS: &str = "id, revision, is_final, body";

fn read(row: &Row<'_>) -> rusqlite::Result<Record> {
    let body: String = row.get(3)?;
    let record: Record = serde_json::from_str(&body).map_err(damaged)?;
    Ok(Record {
        id: unsigned(row, 0)?,
        revision: unsigned(row, 1)?,
        is_final: row.get(2)?,
        ..record
    })
}

fn body(record: &Record) -> rusqlite::Result<String> {
    serde_json::to_string(record).map_err(unwritable)
}

fn find(connection: &Connection, key: &str) -> rusqlite::Result<Option<Record>> {
    connection
        .prepare_cached(&format!("SELECT {COLUMNS} FROM record WHERE key = ?1"))?
        .query_row([key], read)
        .optional()
}

fn replace(transaction: &Transaction<'_>, record: &Record) -> Result<Record, Failure> {
    let conflict = || StoreError::Conflict {
        key: record.key.clone(),
    };
    let next = Record {
        revision: record.revision.saturating_add(1),
        ..record.clone()
    };
    let changed = transaction
        .prepare_cached(
            "UPDATE record SET state = ?1, nonce = ?2, is_final = ?3, revision = ?4, body = ?5 \
             WHERE id = ?6 AND revision = ?7 AND key = ?8",
        )?
        .execute(params![
            next.state.as_str(),
            next.nonce.map(number),
            next.is_final,
            number(next.revision),
            body(&next)?,
            number(record.id),
            number(record.revision),
            record.key,
        ]);
    match changed {
        Ok(1) => Ok(next),
        Ok(_) => Err(conflict().into()),
        // Of all constraints, a caller's write can only break the one on the nonce.
        Err(error) if is_constraint(&error) => Err(conflict().into()),
        Err(error) => Err(error.into()),
    }
}

impl Store for SqliteStore {
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
        self.worker.write("acquire", move |transaction| {
            // This is one statement, so that of several holders that ask at the same time one gets
            // the lane.
            let token = transaction
                .prepare_cached(
                    "INSERT INTO lane (chain_id, account, holder, token, until) VALUES (?1, ?2, ?3, 1, ?4) \
                     ON CONFLICT (chain_id, account) DO UPDATE SET \
                     token = token + (holder <> excluded.holder), holder = excluded.holder, until = excluded.until \
                     WHERE holder = excluded.holder OR until <= ?5 OR until > excluded.until + ?7 OR ?6 \
                     RETURNING token",
                )?
                .query_row(
                    params![
                        number(lane.chain_id),
                        account(lane),
                        holder,
                        number(until),
                        number(now),
                        anyway,
                        i64::from(CLOCKS_DIFFER_SECONDS),
                    ],
                    |row| unsigned(row, 0),
                )
                .optional()?;
            Ok(token.map(|token| Fence { lane, token }))
        })
    }

    fn give_back(&self, fence: Fence, holder: &str) -> StoreFuture<'_, ()> {
        let holder = holder.to_owned();
        self.worker.write("give back", move |transaction| {
            let Fence { lane, token } = fence;
            transaction.execute(
                "UPDATE lane SET until = 0, holder = '' \
                 WHERE chain_id = ?1 AND account = ?2 AND token = ?3 AND holder = ?4",
                params![number(lane.chain_id), account(lane), number(token), holder],
            )?;
            Ok(())
        })
    }

    fn insert(&self, record: Record) -> StoreFuture<'_, Record> {
        self.worker.write("insert", move |transaction| {
            if let Some(known) = find(transaction, &record.key)? {
                return Ok(known);
            }
            transaction
                .prepare_cached(
                    "INSERT INTO record (key, chain_id, account, state, nonce, is_final, revision, submitted_at, body) \
                     VALUES (?1, ?2, ?3, ?4, ?5, ?6, 0, ?7, ?8)",
                )?
                .execute(params![
                    record.key,
                    number(record.lane.chain_id),
                    account(record.lane),
                    record.state.as_str(),
                    record.nonce.map(number),
                    record.is_final,
                    number(record.submitted_at),
                    body(&record)?,
                ])?;
            let id = u64::try_from(transaction.last_insert_rowid()).unwrap_or_default();
            Ok(Record {
                id,
                revision: 0,
                ..record
            })
        })
    }

    fn get(&self, key: &str) -> StoreFuture<'_, Option<Record>> {
        let key = key.to_owned();
        self.worker
            .read("get", move |transaction| Ok(find(transaction, &key)?))
    }

    fn live(&self, lane: Lane) -> StoreFuture<'_, Vec<Record>> {
        self.worker.read("live", move |transaction| {
            let mut query = transaction.prepare_cached(&format!(
                "SELECT {COLUMNS} FROM record WHERE chain_id = ?1 AND account = ?2 AND is_final = 0 ORDER BY id"
            ))?;
            let rows = query.query_map(params![number(lane.chain_id), account(lane)], read)?;
            Ok(rows.collect::<rusqlite::Result<Vec<Record>>>()?)
        })
    }

    fn lanes(&self) -> StoreFuture<'_, Vec<Lane>> {
        self.worker.read("lanes", move |transaction| {
            let mut query = transaction.prepare_cached(
                "SELECT DISTINCT chain_id, account FROM record WHERE is_final = 0 ORDER BY chain_id, account",
            )?;
            let rows = query.query_map([], |row| {
                Ok(Lane {
                    chain_id: unsigned(row, 0)?,
                    account: parsed(row, 1)?,
                })
            })?;
            let mut lanes = rows.collect::<rusqlite::Result<Vec<Lane>>>()?;
            lanes.sort_unstable();
            Ok(lanes)
        })
    }

    fn write(&self, fence: Fence, records: Vec<Record>) -> StoreFuture<'_, Vec<Record>> {
        self.worker.write("write", move |transaction| {
            let lane = fence.lane;
            let newest: Option<u64> = transaction
                .prepare_cached("SELECT token FROM lane WHERE chain_id = ?1 AND account = ?2")?
                .query_row(params![number(lane.chain_id), account(lane)], |row| {
                    unsigned(row, 0)
                })
                .optional()?;
            if newest != Some(fence.token) || records.iter().any(|record| record.lane != lane) {
                return Err(StoreError::Fenced { lane }.into());
            }
            records
                .iter()
                .map(|record| replace(transaction, record))
                .collect()
        })
    }

    fn amend(&self, record: Record) -> StoreFuture<'_, Record> {
        self.worker
            .write("amend", move |transaction| replace(transaction, &record))
    }

    fn prune(&self, submitted_before: u64) -> StoreFuture<'_, u64> {
        self.worker.write("prune", move |transaction| {
            let gone = transaction.execute(
                "DELETE FROM record WHERE is_final = 1 AND submitted_at < ?1",
                [number(submitted_before)],
            )?;
            Ok(u64::try_from(gone).unwrap_or(u64::MAX))
        })
    }
}
