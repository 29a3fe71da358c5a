//! Intents in a SQLite file.
//!
//! The file keeps each intent as one JSON text, next to the columns that the queries need.

use std::path::{Path, PathBuf};

use alloy_primitives::{Address, B256};
use rusqlite::{OptionalExtension as _, Row, Statement, Transaction, params};
use storage::Migration;
use storage::postgres::Condition;
use storage::sqlite::{
    self, DatabaseError, Format, Settings, Worker, damaged, is_constraint, number, parsed,
    unwritable,
};

use super::{
    CHARGED_WITHIN_SECONDS, Forbidden, Place, Store, StoreError, StoreFuture, awaits_charge,
};
use crate::{Intent, IntentId};

/// The format of the file. Its id is `x4wa` in ASCII.
const FORMAT: Format = Format {
    application_id: 0x7834_7761,
    migrations: &[
        include_str!("0001.sql"),
        include_str!("0002.sql"),
        include_str!("0003.sql"),
        include_str!("0004.sql"),
    ],
};

const SETTINGS: Settings = Settings::of_records(1024);

/// Intents in one SQLite file.
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

type Failure = storage::sqlite::Failure<StoreError>;

impl From<DatabaseError> for StoreError {
    fn from(error: DatabaseError) -> Self {
        Self::Unavailable { code: error.code() }
    }
}

fn read(row: &Row<'_>) -> rusqlite::Result<Intent> {
    let revision: i64 = row.get(0)?;
    let body: String = row.get(1)?;
    let intent: Intent = serde_json::from_str(&body).map_err(damaged)?;
    Ok(Intent {
        revision: u64::try_from(revision).unwrap_or_default(),
        ..intent
    })
}

fn body(intent: &Intent) -> rusqlite::Result<String> {
    serde_json::to_string(intent).map_err(unwritable)
}

fn of_payment(transaction: &Transaction<'_>, payment: B256) -> rusqlite::Result<Option<Intent>> {
    transaction
        .prepare_cached("SELECT revision, body FROM intent WHERE payment = ?1")?
        .query_row([payment.as_slice()], read)
        .optional()
}

fn forbidden(transaction: &Transaction<'_>, payment: B256) -> rusqlite::Result<Option<String>> {
    transaction
        .prepare_cached("SELECT reason FROM forbidden WHERE payment = ?1")?
        .query_row([payment.as_slice()], |row| row.get(0))
        .optional()
}

fn running(transaction: &Transaction<'_>, wallet: Address) -> Result<Option<IntentId>, Failure> {
    let id: Option<String> = transaction
        .prepare_cached("SELECT id FROM intent WHERE wallet = ?1 AND state = 'running'")?
        .query_row([wallet.to_string()], |row| row.get(0))
        .optional()?;
    Ok(id.and_then(|id| id.parse().ok()))
}

fn uncharged(
    transaction: &Transaction<'_>,
    owner: &str,
    purchase: B256,
    created_at: u64,
) -> Result<Option<IntentId>, Failure> {
    let id: Option<String> = transaction
        .prepare_cached(
            "SELECT id FROM intent WHERE owner = ?1 AND created_at >= ?2 AND awaits_charge = 1 \
             AND json_extract(body, '$.purchase') = ?3 LIMIT 1",
        )?
        .query_row(
            params![owner, number(created_at), purchase.to_string()],
            |row| row.get(0),
        )
        .optional()?;
    Ok(id.and_then(|id| id.parse().ok()))
}

fn ids(statement: &mut Statement<'_>) -> Result<Vec<IntentId>, Failure> {
    let ids = statement.query_map([], |row| row.get::<_, String>(0))?;
    let ids = ids.collect::<Result<Vec<_>, _>>()?;
    Ok(ids.into_iter().filter_map(|id| id.parse().ok()).collect())
}

impl Store for SqliteStore {
    fn insert(&self, intent: Intent, _claim: Option<Condition>) -> StoreFuture<'_, Intent> {
        self.worker.write("insert an intent", move |transaction| {
            if let Some(known) = of_payment(transaction, intent.payment)? {
                if known.may_have_effect() {
                    return Ok(known);
                }
                // The earlier intent had no effect, gets none, and was not charged, so the payment
                // may begin another one.
                transaction
                    .prepare_cached("UPDATE intent SET payment = ?2 WHERE id = ?1")?
                    .execute(params![known.id.as_str(), known.id.as_str().as_bytes()])?;
            }
            if let Some(reason) = forbidden(transaction, intent.payment)? {
                return Err(StoreError::Forbidden { reason }.into());
            }
            if let Some(running) = running(transaction, intent.wallet)? {
                return Err(StoreError::Busy { running }.into());
            }
            if let Some(purchase) = intent.purchase {
                let since = intent.created_at.saturating_sub(CHARGED_WITHIN_SECONDS);
                if let Some(intent) = uncharged(transaction, &intent.owner, purchase, since)? {
                    return Err(StoreError::Uncharged { intent }.into());
                }
            }
            transaction
                .prepare_cached(
                    "INSERT INTO intent (id, payment, owner, wallet, state, created_at, revision, \
                     body, awaits_charge, is_empty) \
                     VALUES (?1, ?2, ?3, ?4, ?5, ?6, 1, ?7, ?8, ?9)",
                )?
                .execute(params![
                    intent.id.as_str(),
                    intent.payment.as_slice(),
                    intent.owner,
                    intent.wallet.to_string(),
                    intent.state.as_str(),
                    number(intent.created_at),
                    body(&intent)?,
                    awaits_charge(&intent),
                    intent.is_empty(),
                ])?;
            Ok(Intent {
                revision: 1,
                ..intent
            })
        })
    }

    fn get(&self, id: &IntentId) -> StoreFuture<'_, Option<Intent>> {
        let id = id.clone();
        self.worker.read("read an intent", move |transaction| {
            Ok(transaction
                .prepare_cached("SELECT revision, body FROM intent WHERE id = ?1")?
                .query_row([id.as_str()], read)
                .optional()?)
        })
    }

    fn of_payment(&self, payment: B256) -> StoreFuture<'_, Option<Intent>> {
        self.worker.read("find an intent", move |transaction| {
            Ok(of_payment(transaction, payment)?)
        })
    }

    fn forbid(&self, payment: B256, reason: &str, at: u64) -> StoreFuture<'_, Forbidden> {
        let reason = reason.to_owned();
        self.worker.write("forbid an order", move |transaction| {
            transaction
                .prepare_cached(
                    "INSERT OR IGNORE INTO forbidden (payment, reason, at) VALUES (?1, ?2, ?3)",
                )?
                .execute(params![payment.as_slice(), reason, number(at)])?;
            Ok(Forbidden {
                reason: forbidden(transaction, payment)?.unwrap_or(reason),
                intent: of_payment(transaction, payment)?,
            })
        })
    }

    fn forbidden(&self, payment: B256) -> StoreFuture<'_, Option<String>> {
        self.worker
            .read("find a forbidden order", move |transaction| {
                Ok(forbidden(transaction, payment)?)
            })
    }

    fn write(&self, intent: Intent) -> StoreFuture<'_, Intent> {
        self.worker.write("write an intent", move |transaction| {
            let written = transaction
                .prepare_cached(
                    "UPDATE intent SET state = ?2, revision = revision + 1, body = ?3, is_final = ?5, \
                     awaits_charge = ?6, is_empty = ?7 WHERE id = ?1 AND revision = ?4",
                )?
                .execute(params![
                    intent.id.as_str(),
                    intent.state.as_str(),
                    body(&intent)?,
                    number(intent.revision),
                    intent.is_final,
                    awaits_charge(&intent),
                    intent.is_empty(),
                ]);
            match written {
                Ok(1) => Ok(Intent {
                    revision: intent.revision.saturating_add(1),
                    ..intent
                }),
                Ok(_) => Err(StoreError::Conflict { id: intent.id }.into()),
                Err(error) if is_constraint(&error) => {
                    Err(StoreError::Conflict { id: intent.id }.into())
                }
                Err(error) => Err(error.into()),
            }
        })
    }

    fn open(&self) -> StoreFuture<'_, Vec<IntentId>> {
        self.worker.read("list open intents", |transaction| {
            let mut statement = transaction.prepare_cached(
                "SELECT id FROM intent WHERE state IN ('running', 'following', 'reopened') \
                 ORDER BY created_at, id",
            )?;
            ids(&mut statement)
        })
    }

    fn unsettled(&self) -> StoreFuture<'_, Vec<IntentId>> {
        self.worker.read("list ended intents", |transaction| {
            let mut statement = transaction.prepare_cached(
                "SELECT id FROM intent WHERE is_final = 0 \
                 AND state IN ('completed', 'partial', 'failed', 'cancelled') \
                 ORDER BY created_at, id",
            )?;
            ids(&mut statement)
        })
    }

    fn awaiting_charge(&self, after: Place, most: u32) -> StoreFuture<'_, Vec<Place>> {
        self.worker
            .read("list uncharged intents", move |transaction| {
                let mut statement = transaction.prepare_cached(
                    "SELECT created_at, id FROM intent \
                 WHERE awaits_charge = 1 AND (created_at, id) > (?1, ?2) \
                 ORDER BY created_at, id LIMIT ?3",
                )?;
                let id = after.1.as_ref().map_or("", IntentId::as_str);
                let places = statement.query_map(params![number(after.0), id, most], |row| {
                    let created_at: i64 = row.get(0)?;
                    let id = parsed(row, 1)?;
                    Ok((u64::try_from(created_at).unwrap_or_default(), Some(id)))
                })?;
                Ok(places.collect::<Result<_, _>>()?)
            })
    }

    fn forget(&self, before: u64, most: u32) -> StoreFuture<'_, ()> {
        self.worker.write("forget intents", move |transaction| {
            for sql in [
                "DELETE FROM intent WHERE rowid IN (SELECT rowid FROM intent \
                 WHERE is_empty = 1 AND created_at < ?1 LIMIT ?2)",
                "DELETE FROM forbidden WHERE rowid IN (SELECT rowid FROM forbidden \
                 WHERE at < ?1 LIMIT ?2)",
            ] {
                transaction
                    .prepare_cached(sql)?
                    .execute(params![number(before), most])?;
            }
            Ok(())
        })
    }

    fn of_owner(&self, owner: &str, created_at: u64, most: u32) -> StoreFuture<'_, Vec<Intent>> {
        let owner = owner.to_owned();
        self.worker
            .read("list an owner's intents", move |transaction| {
                let mut statement = transaction.prepare_cached(
                    "SELECT revision, body FROM intent WHERE owner = ?1 AND created_at >= ?2 \
                 ORDER BY created_at DESC, id LIMIT ?3",
                )?;
                let intents =
                    statement.query_map(params![owner, number(created_at), most], read)?;
                Ok(intents.collect::<Result<_, _>>()?)
            })
    }

    fn uncharged(
        &self,
        owner: &str,
        purchase: B256,
        created_at: u64,
    ) -> StoreFuture<'_, Option<IntentId>> {
        let owner = owner.to_owned();
        self.worker
            .read("look for an uncharged intent", move |transaction| {
                uncharged(transaction, &owner, purchase, created_at)
            })
    }

    fn is_busy(&self, wallet: Address) -> StoreFuture<'_, Option<IntentId>> {
        self.worker
            .read("look for a running intent", move |transaction| {
                running(transaction, wallet)
            })
    }
}
