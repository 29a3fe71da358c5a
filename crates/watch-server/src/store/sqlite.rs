//! Mandates in a SQLite file.
//!
//! The file keeps each mandate and each record as one JSON text, next to the columns that the
//! queries need.

use std::path::{Path, PathBuf};

use jiff::Timestamp;
use rusqlite::{Connection, OptionalExtension, Row, Transaction, params};
use serde::{Serialize, de::DeserializeOwned};
use storage::sqlite::{
    self, DatabaseError, Format, Settings, Worker, damaged, number, unsigned, unwritable,
};
use storage::{CLOCKS_DIFFER_SECONDS, Migration};
use yield_watch::{AuditRecord, MAX_ACTIVE};

use super::{Creation, Kept, Lease, Store, StoreError, StoreFuture, Write};

/// The format of the file. Its id is `x4yw` in ASCII.
const FORMAT: Format = Format {
    application_id: 0x7834_7977,
    migrations: &[include_str!("0001.sql")],
};

const SETTINGS: Settings = Settings::of_records(2048);

/// Mandates in one SQLite file, which several processes of one machine may have open. One thread
/// does all work of a handle, in the order of the calls. SQLite's write lock orders the writes of
/// several handles.
#[derive(Debug)]
pub struct SqliteStore {
    worker: Worker,
}

impl SqliteStore {
    /// Opens the file at `path`. Creates the file and its folder if they are missing. Only their
    /// owner can read them.
    ///
    /// # Errors
    /// [`DatabaseError`] when the file cannot be opened or migrated.
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

type Done<T> = Result<T, storage::sqlite::Failure<StoreError>>;

impl From<DatabaseError> for StoreError {
    fn from(error: DatabaseError) -> Self {
        Self::Unavailable { code: error.code() }
    }
}

fn from_json<T: DeserializeOwned>(row: &Row<'_>, column: usize) -> rusqlite::Result<T> {
    let text: String = row.get(column)?;
    serde_json::from_str(&text).map_err(damaged)
}

fn to_json(value: &impl Serialize) -> rusqlite::Result<String> {
    serde_json::to_string(value).map_err(unwritable)
}

const KEPT: &str = "SELECT place, revision, state, due_at FROM mandate";

fn kept(row: &Row<'_>) -> rusqlite::Result<Kept> {
    let due_at: Option<i64> = row.get(3)?;
    Ok(Kept {
        place: unsigned(row, 0)?,
        revision: unsigned(row, 1)?,
        watched: from_json(row, 2)?,
        due_at: due_at
            .map(Timestamp::from_second)
            .transpose()
            .map_err(damaged)?,
    })
}

fn find(connection: &Connection, id: &str) -> rusqlite::Result<Option<Kept>> {
    connection
        .prepare_cached(&format!("{KEPT} WHERE id = ?1"))?
        .query_row([id], kept)
        .optional()
}

fn create(transaction: &Transaction<'_>, creation: &Creation) -> Done<Kept> {
    let mandate = creation.watched.mandate();
    if let Some(kept) = find(transaction, &mandate.id)? {
        return Ok(kept);
    }
    let active: i64 = transaction
        .prepare_cached(
            "SELECT COUNT(*) FROM mandate WHERE owner = ?1 AND has_ended = 0 AND expires_at > ?2",
        )?
        .query_row(params![mandate.owner, creation.now.as_second()], |row| {
            row.get(0)
        })?;
    if usize::try_from(active).unwrap_or(usize::MAX) >= MAX_ACTIVE {
        return Err(StoreError::TooMany.into());
    }
    transaction
        .prepare_cached(
            "INSERT INTO mandate (id, owner, revision, expires_at, has_ended, due_at, state) \
             VALUES (?1, ?2, 1, ?3, 0, ?4, ?5)",
        )?
        .execute(params![
            mandate.id,
            mandate.owner,
            mandate.expires_at.as_second(),
            creation.watched.due_at().map(Timestamp::as_second),
            to_json(&creation.watched)?,
        ])?;
    add(
        transaction,
        &mandate.id,
        std::slice::from_ref(&creation.record),
    )?;
    let kept = find(transaction, &mandate.id)?;
    Ok(kept.ok_or(rusqlite::Error::QueryReturnedNoRows)?)
}

fn add(transaction: &Transaction<'_>, id: &str, records: &[AuditRecord]) -> rusqlite::Result<()> {
    for record in records {
        transaction
            .prepare_cached("INSERT INTO record (id, seq, record) VALUES (?1, ?2, ?3)")?
            .execute(params![id, number(record.seq), to_json(record)?])?;
    }
    Ok(())
}

fn write(transaction: &Transaction<'_>, write: &Write) -> Done<u64> {
    let mandate = write.watched.mandate();
    let known = transaction
        .prepare_cached("SELECT revision, token FROM mandate WHERE id = ?1")?
        .query_row([&mandate.id], |row| {
            Ok((unsigned(row, 0)?, unsigned(row, 1)?))
        })
        .optional()?;
    let (revision, token) = known.ok_or(StoreError::Conflict)?;
    if revision != write.revision {
        return Err(StoreError::Conflict.into());
    }
    if write
        .lease
        .as_ref()
        .is_some_and(|lease| lease.token != token)
    {
        return Err(StoreError::Fenced.into());
    }
    let next = revision.saturating_add(1);
    transaction
        .prepare_cached(
            "UPDATE mandate SET revision = ?2, has_ended = ?3, due_at = ?4, state = ?5 WHERE id = ?1",
        )?
        .execute(params![
            mandate.id,
            number(next),
            mandate.ended.is_some(),
            write.due_at.map(Timestamp::as_second),
            to_json(&write.watched)?,
        ])?;
    add(transaction, &mandate.id, &write.records)?;
    Ok(next)
}

fn acquire(
    transaction: &Transaction<'_>,
    id: &str,
    holder: &str,
    now: i64,
    seconds: u32,
) -> Done<Option<Lease>> {
    let until = now.saturating_add(i64::from(seconds));
    let token = transaction
        .prepare_cached(
            "UPDATE mandate SET token = token + (holder <> ?2), holder = ?2, until = ?4 \
             WHERE id = ?1 AND (holder = ?2 OR holder = '' OR until <= ?3 OR until > ?4 + ?5) \
             RETURNING token",
        )?
        .query_row(
            params![id, holder, now, until, CLOCKS_DIFFER_SECONDS],
            |row| unsigned(row, 0),
        )
        .optional()?;
    Ok(token.map(|token| Lease {
        id: id.to_owned(),
        token,
    }))
}

impl Store for SqliteStore {
    fn create(&self, creation: Creation) -> StoreFuture<'_, Kept> {
        self.worker
            .write("create", move |transaction| create(transaction, &creation))
    }

    fn find(&self, id: &str) -> StoreFuture<'_, Option<Kept>> {
        let id = id.to_owned();
        self.worker
            .read("find", move |transaction| Ok(find(transaction, &id)?))
    }

    fn list(&self, owner: &str, before: Option<u64>, most: u32) -> StoreFuture<'_, Vec<Kept>> {
        let owner = owner.to_owned();
        let before = number(before.unwrap_or(u64::MAX));
        self.worker.read("list", move |transaction| {
            let select =
                format!("{KEPT} WHERE owner = ?1 AND place < ?2 ORDER BY place DESC LIMIT ?3");
            let mut statement = transaction.prepare_cached(&select)?;
            let rows = statement.query_map(params![owner, before, most], kept)?;
            Ok(rows.collect::<Result<_, _>>()?)
        })
    }

    fn write(&self, change: Write) -> StoreFuture<'_, u64> {
        self.worker
            .write("write", move |transaction| write(transaction, &change))
    }

    fn records(&self, id: &str, from: u64, most: u32) -> StoreFuture<'_, Vec<AuditRecord>> {
        let id = id.to_owned();
        self.worker.read("records", move |transaction| {
            let mut statement = transaction.prepare_cached(
                "SELECT record FROM record WHERE id = ?1 AND seq >= ?2 ORDER BY seq LIMIT ?3",
            )?;
            let rows =
                statement.query_map(params![id, number(from), most], |row| from_json(row, 0))?;
            Ok(rows.collect::<Result<_, _>>()?)
        })
    }

    fn due(&self, now: Timestamp, most: u32) -> StoreFuture<'_, Vec<String>> {
        self.worker.read("due", move |transaction| {
            let mut statement = transaction.prepare_cached(
                "SELECT id FROM mandate WHERE due_at <= ?1 ORDER BY due_at, place LIMIT ?2",
            )?;
            let rows = statement.query_map(params![now.as_second(), most], |row| row.get(0))?;
            Ok(rows.collect::<Result<_, _>>()?)
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
        self.worker.write("acquire", move |transaction| {
            acquire(transaction, &id, &holder, now.as_second(), seconds)
        })
    }

    fn give_back(&self, lease: Lease, holder: &str) -> StoreFuture<'_, ()> {
        let holder = holder.to_owned();
        self.worker.write("give back", move |transaction| {
            transaction
                .prepare_cached(
                    "UPDATE mandate SET holder = '', until = 0 \
                     WHERE id = ?1 AND holder = ?2 AND token = ?3",
                )?
                .execute(params![lease.id, holder, number(lease.token)])?;
            Ok(())
        })
    }

    fn probe(&self) -> StoreFuture<'_, ()> {
        // The transaction takes the write lock and releases it, which shows a lost or locked file.
        self.worker.write("probe", |_| Ok(()))
    }
}
