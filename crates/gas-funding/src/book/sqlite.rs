//! A book in a SQLite file.

use std::path::{Path, PathBuf};

use alloy_primitives::U256;
use rusqlite::{Connection, OptionalExtension as _, Transaction, params};
use storage::Migration;
use storage::sqlite::{
    self, ClaimedFile, DatabaseError, Failure, Format, Settings, Worker, number, unsigned,
};

use super::{Book, BookError, BookFuture, Booked, Given, Limits, TopUp, day_of};

/// `x4gf`.
const FORMAT: Format = Format {
    application_id: 0x7834_6766,
    migrations: &[include_str!("0001.sql")],
};

const SETTINGS: Settings = Settings::of_records(512);

/// A book in one SQLite file, which no other server may have open.
#[derive(Debug)]
pub struct SqliteBook {
    worker: Worker,
}

/// The files in which earlier versions recorded top-ups, each in a table `top_up`. Every start
/// copies their new rows into the book, because a server of an earlier version may have run in
/// between.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Predecessors {
    /// The fence's records, which have the account of each top-up.
    pub fence: Option<PathBuf>,
    /// The records of wallet actions, which have the owner of each top-up.
    pub wallets: Option<PathBuf>,
}

impl SqliteBook {
    /// Opens the file at `path`. Creates the file and its folder if they are missing, readable by
    /// their owner only. A missing predecessor counts as empty.
    ///
    /// # Errors
    /// [`DatabaseError::InUse`] while another server has the file open, or the defect of a file.
    pub fn open(path: &Path, predecessors: &Predecessors) -> Result<Self, DatabaseError> {
        let address = path.to_string_lossy();
        let file = ClaimedFile::claim(&address)?;
        let connection = sqlite::open(file.path(), &FORMAT, &SETTINGS)?;
        let accounts = "SELECT key, '', account, at, NULL, NULL, micro_usd FROM earlier.top_up";
        let owners = "SELECT key, owner, '', at, NULL, NULL, micro_usd FROM earlier.top_up";
        for (before, rows) in [
            (predecessors.fence.as_deref(), accounts),
            (predecessors.wallets.as_deref(), owners),
        ] {
            let Some(before) = before.filter(|before| before.is_file()) else {
                continue;
            };
            carry_over(&connection, before, rows).map_err(|error| {
                DatabaseError::named(&error, before, "carry over earlier top-ups")
            })?;
        }
        drop(connection);
        let worker = Worker::alone(file, &FORMAT, &SETTINGS)?;
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

/// Copies the top-ups of another file into the book. A key that is booked already does not change.
fn carry_over(connection: &Connection, before: &Path, rows: &str) -> rusqlite::Result<()> {
    connection.execute("ATTACH DATABASE ?1 AS earlier", [before.to_string_lossy()])?;
    let known: bool = connection
        .prepare("SELECT 1 FROM earlier.sqlite_schema WHERE type = 'table' AND name = 'top_up'")?
        .exists([])?;
    if known {
        let insert = format!("INSERT OR IGNORE INTO main.top_up {rows}");
        let carried = connection.execute(&insert, [])?;
        if carried > 0 {
            tracing::info!(carried, "top-ups of an earlier version are carried over");
        }
    }
    connection.execute_batch("DETACH DATABASE earlier")
}

impl Book for SqliteBook {
    fn book(&self, top_up: TopUp, limits: Limits) -> BookFuture<'_, Booked> {
        self.worker.write("book coins for gas", move |transaction| {
            book(transaction, &top_up, limits)
        })
    }
}

impl From<DatabaseError> for BookError {
    fn from(error: DatabaseError) -> Self {
        Self::Unavailable { code: error.code() }
    }
}

fn book(
    transaction: &Transaction<'_>,
    top_up: &TopUp,
    limits: Limits,
) -> Result<Booked, Failure<BookError>> {
    let known: Option<Option<String>> = transaction
        .prepare_cached("SELECT wei FROM top_up WHERE key = ?1")?
        .query_row([&top_up.key], |row| row.get(0))
        .optional()?;
    if let Some(wei) = known {
        // A copied row has no amount in wei.
        let wei = wei.and_then(|wei| U256::from_str_radix(&wei, 10).ok());
        return Ok(Booked {
            wei: wei.unwrap_or(top_up.wei),
            is_new: false,
        });
    }
    limits.require(top_up, given(transaction, top_up)?)?;
    transaction
        .prepare_cached(
            "INSERT INTO top_up (key, owner, account, at, chain_id, wei, micro_usd) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
        )?
        .execute(params![
            top_up.key,
            top_up.owner.to_string(),
            top_up.account.to_string(),
            number(top_up.at),
            number(top_up.chain_id),
            top_up.wei.to_string(),
            number(top_up.micro_usd),
        ])?;
    Ok(Booked {
        wei: top_up.wei,
        is_new: true,
    })
}

fn given(transaction: &Transaction<'_>, top_up: &TopUp) -> rusqlite::Result<Given> {
    let (owner, account) = (top_up.owner.to_string(), top_up.account.to_string());
    let day = number(day_of(top_up.at));
    let of_owner = "owner = ?1 OR (owner = '' AND account = ?2)";
    let (owner_today, owner_ever) = transaction
        .prepare_cached(&format!(
            "SELECT coalesce(sum(micro_usd) FILTER (WHERE at >= ?3), 0), coalesce(sum(micro_usd), 0) \
             FROM top_up WHERE {of_owner}"
        ))?
        .query_row(params![owner, account, day], |row| {
            Ok((unsigned(row, 0)?, unsigned(row, 1)?))
        })?;
    let all_today = transaction
        .prepare_cached("SELECT coalesce(sum(micro_usd), 0) FROM top_up WHERE at >= ?1")?
        .query_row([day], |row| unsigned(row, 0))?;
    let mut chain_today_wei = U256::ZERO;
    let mut statement =
        transaction.prepare_cached("SELECT wei FROM top_up WHERE at >= ?1 AND chain_id = ?2")?;
    let mut rows = statement.query(params![day, number(top_up.chain_id)])?;
    while let Some(row) = rows.next()? {
        let wei: Option<String> = row.get(0)?;
        // An amount that cannot be read leaves nothing of the budget.
        let wei = wei.map(|wei| U256::from_str_radix(&wei, 10).unwrap_or(U256::MAX));
        chain_today_wei = chain_today_wei.saturating_add(wei.unwrap_or_default());
    }
    Ok(Given {
        owner_today,
        owner_ever,
        all_today,
        chain_today_wei,
    })
}
