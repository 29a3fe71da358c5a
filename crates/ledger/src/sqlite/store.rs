//! The journal's rules as SQL, each operation within the writer's open transaction.

use std::{
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
};

use alloy_primitives::B256;
use rusqlite::{Connection, MAIN_DB, Row, hooks::Wal, params, types::Type, wal::CheckpointMode};

use super::{
    failure::{Failure, named},
    location::Location,
    schema,
    seen::{Digest, Seen},
    statements::Statements,
};
use crate::{
    answer::{Answer, Header, StoredAnswer, StoredReceipt},
    claim::Claim,
    error::LedgerError,
    journal::{Reservation, Standing},
    state::{EntryId, State},
};

mod transitions;
mod upkeep;

/// In the columns for answers and receipts: none. The numbers of those rows follow it (see the schema).
const NONE: i64 = 1 << 40;

/// A ledger's file, open.
#[derive(Debug)]
pub(super) struct Database {
    connection: Connection,
    // Given back after the connection is closed.
    location: Location,
    /// Pages in the log after the last commit.
    log_pages: Arc<AtomicU32>,
}

impl Database {
    pub(super) fn open(location: Location, max_bytes: Option<u64>) -> Result<Self, LedgerError> {
        let mut connection = schema::open(location.path(), max_bytes)?;
        let log_pages = Arc::new(AtomicU32::new(0));
        let reported = Arc::clone(&log_pages);
        let report = move |_: &mut Wal, pages: i32| {
            reported.store(u32::try_from(pages).unwrap_or(0), Ordering::Relaxed);
            Ok(())
        };
        connection
            .wal_hook(Some(report))
            .map_err(|error| named(&error, location.path(), "open"))?;
        Ok(Self {
            connection,
            location,
            log_pages,
        })
    }
}

/// The journal in an open file.
///
/// An operation may be run again after a rollback: besides the database it changes only numbers that may have gaps.
#[derive(Debug)]
pub(super) struct Store<'c> {
    database: &'c Database,
    statements: Statements<'c>,
    retention_seconds: u64,
    /// `None` until it is read, at first and after a rollback.
    seen: Option<Seen>,
    next_entry: i64,
    next_answer: i64,
    next_receipt: i64,
    /// The last entry that pruning has looked at.
    prune_after: i64,
}

/// The part of an entry that decides what it means for a request.
struct Found {
    entry: EntryId,
    state: State,
    request: B256,
    changed_at: u64,
    answer: i64,
    receipt: i64,
    transaction: Option<String>,
}

/// A released entry has no identifier any more.
pub(super) const IS_TAKEN: &str =
    "SELECT EXISTS (SELECT 1 FROM entry WHERE payer = ?1 AND payment_id = ?2)";

impl<'c> Store<'c> {
    /// Reads how far the ledger has come.
    pub(super) fn open(
        database: &'c Database,
        retention_seconds: u64,
    ) -> Result<Self, LedgerError> {
        let connection = &database.connection;
        let next = |table, before_first: i64| -> rusqlite::Result<i64> {
            let sql = format!("SELECT coalesce(max(id), ?1) + 1 FROM {table}");
            connection.query_row(&sql, [before_first], |row| row.get(0))
        };
        let mut statements = Statements::new(connection);
        let mut read = || {
            let seen = Seen::load(&mut statements)?;
            // The newest entries may have been deleted, and their numbers must not come back: they are written down.
            let next_entry = next("entry", 0)?.max(seen.until().saturating_add(1));
            Ok((
                seen,
                next_entry,
                next("answer", NONE)?,
                next("receipt", NONE)?,
            ))
        };
        let (seen, next_entry, next_answer, next_receipt) =
            read().map_err(|error| named(&error, database.location.path(), "open"))?;
        Ok(Self {
            database,
            statements,
            retention_seconds,
            seen: Some(seen),
            next_entry,
            next_answer,
            next_receipt,
            prune_after: 0,
        })
    }

    pub(super) fn path(&self) -> &Path {
        self.database.location.path()
    }

    pub(super) fn connection(&self) -> &'c Connection {
        &self.database.connection
    }

    /// Pages in the log after the last commit, as SQLite's hook reports them.
    pub(super) fn log_pages(&self) -> u32 {
        self.database.log_pages.load(Ordering::Relaxed)
    }

    /// Begins the transaction as a writer: to read first and to write later could meet another writer in between.
    pub(super) fn begin(&mut self) -> rusqlite::Result<()> {
        self.run("BEGIN IMMEDIATE")
    }

    pub(super) fn commit(&mut self) -> rusqlite::Result<()> {
        self.run("COMMIT")
    }

    /// At the end of a batch, within its transaction.
    pub(super) fn advance_seen(&mut self) -> rusqlite::Result<()> {
        let (seen, statements) = self.seen()?;
        seen.advance(statements)
    }

    /// Undoes the open transaction, unless SQLite has done so already, as it does when the disk is full.
    pub(super) fn roll_back(&mut self) {
        // It has followed what is undone.
        self.seen = None;
        if !self.connection().is_autocommit()
            && let Err(error) = self.run("ROLLBACK")
        {
            tracing::error!(%error, "a rollback failed");
        }
    }

    /// Writes the log back into the file, as far as nobody still reads what lies there. Returns the pages of the log
    /// and how many of them are written back.
    pub(super) fn checkpoint(&self) -> rusqlite::Result<(u32, u32)> {
        let (log, written) = self
            .connection()
            .wal_checkpoint_v2(Some(MAIN_DB), CheckpointMode::PASSIVE)?;
        Ok((
            u32::try_from(log).unwrap_or(0),
            u32::try_from(written).unwrap_or(0),
        ))
    }

    fn run(&mut self, sql: &'static str) -> rusqlite::Result<()> {
        self.statements.execute(sql, []).map(drop)
    }

    pub(super) fn seen(&mut self) -> rusqlite::Result<(&mut Seen, &mut Statements<'c>)> {
        let seen = match self.seen.take() {
            Some(seen) => seen,
            None => Seen::load(&mut self.statements)?,
        };
        Ok((self.seen.insert(seen), &mut self.statements))
    }

    pub(super) fn reserve(&mut self, digest: B256, claim: &Claim) -> Result<Reservation, Failure> {
        let digest = kept(digest);
        let found = self.look_up(&digest)?;
        if let Some(found) = &found
            && let Some(standing) = self.standing(found, claim.request.digest(), claim.now)?
        {
            return Ok(Reservation::Standing(standing));
        }
        if let Some(payment_id) = &claim.payment_id
            && self.is_taken(claim, payment_id)?
        {
            return Ok(Reservation::Standing(Standing::BoundElsewhere));
        }
        if let Some(released) = found {
            self.forget_released(&digest, released.entry)?;
        }
        Ok(Reservation::Reserved(self.insert(digest, claim)?))
    }

    pub(super) fn find(
        &mut self,
        digest: B256,
        request: B256,
        now: u64,
    ) -> Result<Option<Standing>, Failure> {
        match self.look_up(&kept(digest))? {
            Some(found) => self.standing(&found, request, now),
            None => Ok(None),
        }
    }

    fn look_up(&mut self, digest: &Digest) -> rusqlite::Result<Option<Found>> {
        let (seen, statements) = self.seen()?;
        let Some(entry) = seen.find(statements, digest)? else {
            return Ok(None);
        };
        let sql = "SELECT id, state, request, changed_at, answer, receipt, transaction_hash
                   FROM entry WHERE id = ?1 AND authorization = ?2";
        statements.find(sql, params![entry, digest], |row| {
            Ok(Found {
                entry: EntryId::new(row.get(0)?),
                state: state_in(row, 1)?,
                request: row.get::<_, [u8; 32]>(2)?.into(),
                changed_at: seconds_in(row, 3)?,
                answer: row.get(4)?,
                receipt: row.get(5)?,
                transaction: row.get(6)?,
            })
        })
    }

    /// What a found entry means for a request; `None` when it is released.
    fn standing(
        &mut self,
        found: &Found,
        request: B256,
        now: u64,
    ) -> Result<Option<Standing>, Failure> {
        if found.state == State::Released {
            return Ok(None);
        }
        if found.request != request {
            return Ok(Some(Standing::BoundElsewhere));
        }
        let entry = found.entry;
        Ok(Some(match found.state {
            State::Unknown => Standing::Unknown {
                entry,
                transaction: found.transaction.clone(),
            },
            State::Settled => self.settled(found, now)?,
            state => Standing::InFlight { entry, state },
        }))
    }

    fn settled(&mut self, found: &Found, now: u64) -> Result<Standing, Failure> {
        let kept_until = found.changed_at.saturating_add(self.retention_seconds);
        if kept_until <= now || found.answer == NONE {
            return Ok(Standing::AnswerExpired);
        }
        Ok(Standing::Answered(StoredAnswer {
            answer: self.read_answer(found.answer)?,
            receipt: self.read_receipt(found.receipt)?,
            settled_at: found.changed_at,
        }))
    }

    fn read_answer(&mut self, id: i64) -> rusqlite::Result<Answer> {
        self.statements
            .get("SELECT status, headers, body_digest, body FROM answer WHERE id = ?1")?
            .query_row([id], |row| {
                let headers: String = row.get(1)?;
                let headers: Vec<Header> = serde_json::from_str(&headers)
                    .map_err(|error| unreadable(1, Type::Text, error.into()))?;
                Ok(Answer::restored(
                    row.get(0)?,
                    headers,
                    row.get::<_, Vec<u8>>(3)?.into(),
                    row.get::<_, [u8; 32]>(2)?.into(),
                ))
            })
    }

    fn read_receipt(&mut self, id: i64) -> rusqlite::Result<StoredReceipt> {
        self.statements
            .get("SELECT header, transaction_hash FROM receipt WHERE id = ?1")?
            .query_row([id], |row| {
                Ok(StoredReceipt {
                    header: row.get(0)?,
                    transaction: row.get(1)?,
                })
            })
    }

    /// Makes room for a new reservation of the same authorization.
    fn forget_released(&mut self, digest: &Digest, entry: EntryId) -> rusqlite::Result<()> {
        self.seen()?.0.remove(digest);
        let sql = "DELETE FROM entry WHERE id = ?1 AND state = ?2";
        self.statements
            .execute(sql, params![entry.number(), State::Released.code()])
            .map(drop)
    }

    /// Whether the payer has used the identifier for an authorization that was not released.
    fn is_taken(&mut self, claim: &Claim, payment_id: &str) -> rusqlite::Result<bool> {
        self.statements
            .get(IS_TAKEN)?
            .query_row(params![claim.key.payer.as_slice(), payment_id], |row| {
                row.get(0)
            })
    }

    /// Inserts a reserved entry of an authorization that has none.
    fn insert(&mut self, digest: Digest, claim: &Claim) -> rusqlite::Result<EntryId> {
        let id = next_number(&mut self.next_entry);
        let now = stored(claim.now);
        self.statements.execute(
            "INSERT INTO entry (id, state, authorization, request, payer, valid_before,
             reserved_at, changed_at, amount, method, path, payment_id)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?7, ?8, ?9, ?10, ?11)",
            params![
                id,
                State::Reserved.code(),
                digest,
                claim.request.digest().as_slice(),
                claim.key.payer.as_slice(),
                stored(claim.valid_before),
                now,
                claim.amount.to_string(),
                claim.request.method(),
                claim.request.path(),
                claim.payment_id,
            ],
        )?;
        self.seen()?.0.add(digest, id);
        Ok(EntryId::new(id))
    }
}

/// The part of an authorization's digest that is kept: half of it is beyond chance and beyond finding a second authorization
/// with the digest of another payer's. Somebody who makes two of their own alike has one of them refused.
fn kept(digest: B256) -> Digest {
    digest.0.first_chunk().copied().unwrap_or_default()
}

fn next_number(counter: &mut i64) -> i64 {
    let number = *counter;
    *counter = number.saturating_add(1);
    number
}

/// Seconds as SQLite keeps them.
fn stored(seconds: u64) -> i64 {
    i64::try_from(seconds).unwrap_or(i64::MAX)
}

fn seconds_in(row: &Row<'_>, column: usize) -> rusqlite::Result<u64> {
    let seconds: i64 = row.get(column)?;
    u64::try_from(seconds).map_err(|_| rusqlite::Error::IntegralValueOutOfRange(column, seconds))
}

pub(super) fn state_in(row: &Row<'_>, column: usize) -> rusqlite::Result<State> {
    let code: i64 = row.get(column)?;
    State::from_code(code).ok_or(rusqlite::Error::IntegralValueOutOfRange(column, code))
}

pub(super) fn unreadable(
    column: usize,
    kind: Type,
    error: Box<dyn std::error::Error + Send + Sync>,
) -> rusqlite::Error {
    rusqlite::Error::FromSqlConversionFailure(column, kind, error)
}
