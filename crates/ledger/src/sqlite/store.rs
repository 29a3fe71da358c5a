//! The rules of the journal as SQL. Each operation runs within the writer's open transaction.

use std::{
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
};

use alloy_primitives::{Address, B256, keccak256};
use rusqlite::{Connection, MAIN_DB, Row, hooks::Wal, wal::CheckpointMode};
use storage::sqlite::{ClaimedFile, DatabaseError};

use super::{
    Failure, Options, credit::Credit, newcomers::Newcomers, schema, statements::Statements,
};
use crate::{
    answer::sha256,
    error::LedgerError,
    spending::{Missing, Spent},
    state::State,
};

mod claims;
mod copy;
mod open;
mod prune;
mod purchases;
mod records;
mod status;
mod transitions;

pub(super) use open::Sweep;
use prune::Round;
#[cfg(test)]
pub(super) use purchases::TAKEN;

/// The value of the columns `answer` and `receipt` when there is none. Rows of these tables have
/// higher numbers (see the schema).
const NONE: i64 = 1 << 40;

/// The value of the column `digest_kind` for SHA-256. Answers of files before version 9 have 0, for
/// Keccak-256.
const SHA_256: i64 = 1;

/// How many bytes the probe writes: more than a page, so that a full ledger refuses them.
const PROBE_BYTES: i64 = 8192;

/// A ledger file that is open.
#[derive(Debug)]
pub(super) struct Database {
    connection: Connection,
    // Declared last, so that it is dropped after the connection and the claim on the file ends
    // last.
    file: ClaimedFile,
    /// How many pages the log had after the last commit.
    log_pages: Arc<AtomicU32>,
}

impl Database {
    pub(super) fn open(file: ClaimedFile, max_bytes: Option<u64>) -> Result<Self, LedgerError> {
        let mut connection = schema::open(file.path(), max_bytes)?;
        let log_pages = Arc::new(AtomicU32::new(0));
        let reported = Arc::clone(&log_pages);
        let report = move |_: &mut Wal, pages: i32| {
            reported.store(u32::try_from(pages).unwrap_or(0), Ordering::Relaxed);
            Ok(())
        };
        connection
            .wal_hook(Some(report))
            .map_err(|error| DatabaseError::named(&error, file.path(), "open"))?;
        Ok(Self {
            connection,
            file,
            log_pages,
        })
    }
}

/// The journal in an open file.
///
/// An operation may run again after a rollback. Outside the database it only advances counters,
/// whose numbers may be skipped.
#[derive(Debug)]
pub(super) struct Store<'c> {
    database: &'c Database,
    statements: Statements<'c>,
    options: Options,
    credit: Credit,
    newcomers: Newcomers,
    next_entry: i64,
    next_answer: i64,
    next_receipt: i64,
    round: Round,
}

impl<'c> Store<'c> {
    /// Reads the next numbers of entries, answers and receipts.
    pub(super) fn open(database: &'c Database, options: Options) -> Result<Self, LedgerError> {
        let connection = &database.connection;
        let next = |table, before_first: i64| -> rusqlite::Result<i64> {
            let sql = format!("SELECT coalesce(max(id), ?1) + 1 FROM {table}");
            connection.query_row(&sql, [before_first], |row| row.get(0))
        };
        let read = || {
            let entry = next("entry", 0)?;
            Ok((entry, next("answer", NONE)?, next("receipt", NONE)?))
        };
        let (next_entry, next_answer, next_receipt) =
            read().map_err(|error| DatabaseError::named(&error, database.file.path(), "open"))?;
        Ok(Self {
            database,
            statements: Statements::new(connection),
            options,
            credit: Credit::new(options.credit_cap_micro_usd),
            newcomers: Newcomers::new(&options),
            next_entry,
            next_answer,
            next_receipt,
            round: Round::default(),
        })
    }

    pub(super) fn path(&self) -> &Path {
        self.database.file.path()
    }

    pub(super) fn connection(&self) -> &'c Connection {
        &self.database.connection
    }

    /// How many pages the log had after the last commit, by SQLite's hook.
    pub(super) fn log_pages(&self) -> u32 {
        self.database.log_pages.load(Ordering::Relaxed)
    }

    /// Begins the transaction with the write lock. Otherwise another writer could come between its
    /// reads and its writes.
    pub(super) fn begin(&mut self) -> rusqlite::Result<()> {
        self.run("BEGIN IMMEDIATE")
    }

    pub(super) fn commit(&mut self) -> rusqlite::Result<()> {
        self.run("COMMIT")
    }

    /// Writes the earnings that the operations of a batch have collected in memory. The writer must
    /// call it at the end of the batch, in the batch's transaction.
    pub(super) fn finish_batch(&mut self) -> rusqlite::Result<()> {
        self.credit.write(&mut self.statements)
    }

    /// Rolls the open transaction back, unless SQLite has already done so, as it does when the disk
    /// is full.
    pub(super) fn roll_back(&mut self) {
        self.credit.forget();
        if !self.connection().is_autocommit()
            && let Err(error) = self.run("ROLLBACK")
        {
            tracing::error!(%error, "a rollback failed");
        }
    }

    /// Writes the log back into the file, up to the first page that a reader of the file still
    /// needs. Returns how many pages the log has, and how many of them are written back.
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

    /// Returns the credit of a payer, in micro-USD.
    pub(super) fn credit(&mut self, payer: Address) -> Result<u64, Failure> {
        Ok(self.credit.of(&mut self.statements, payer)?)
    }

    /// Returns the sum of a payer's settled payments, in micro-USD.
    pub(super) fn paid(&mut self, payer: Address) -> Result<u64, Failure> {
        Ok(self.credit.paid_by(&mut self.statements, payer)?)
    }

    /// Subtracts a cost from its sources.
    pub(super) fn debit(&mut self, payer: Address, spent: Spent, now: u64) -> Result<(), Failure> {
        if spent.payer > 0 {
            self.credit
                .spend(&mut self.statements, payer, spent.payer)?;
        }
        Ok(self.newcomers.spend(&mut self.statements, spent, now)?)
    }

    /// Returns the deficits of the pool of newcomers and of shares.
    pub(super) fn missing(&mut self, now: u64) -> Result<Missing, Failure> {
        Ok(self.newcomers.missing(&mut self.statements, now)?)
    }

    /// Writes a row and deletes it again. The commit must reach the disk like any other.
    pub(super) fn probe(&mut self) -> Result<(), Failure> {
        let insert = "INSERT INTO probe (padding) VALUES (zeroblob(?1))";
        self.statements.execute(insert, [PROBE_BYTES])?;
        self.statements.execute("DELETE FROM probe", [])?;
        Ok(())
    }
}

/// Returns SHA-256 of a stored body, from the stored digest and its kind. A body that has changed
/// on disk keeps the stored digest, so that the damage stays visible.
fn body_digest(stored: [u8; 32], kind: i64, body: &[u8]) -> B256 {
    let stored = B256::new(stored);
    match kind {
        SHA_256 => stored,
        _ if keccak256(body) == stored => sha256(body),
        _ => stored,
    }
}

fn next_number(counter: &mut i64) -> i64 {
    let number = *counter;
    *counter = number.saturating_add(1);
    number
}

pub(super) fn state_in(row: &Row<'_>, column: usize) -> rusqlite::Result<State> {
    let code: i64 = row.get(column)?;
    State::from_code(code).ok_or(rusqlite::Error::IntegralValueOutOfRange(column, code))
}
