//! The file's format: settings of the connection, tables, migrations.

use std::{path::Path, time::Duration};

use rusqlite::{Connection, OpenFlags};

use super::failure::named;
use crate::error::LedgerError;

/// Marks a SQLite file as a ledger of this program (`x4ld`).
const APPLICATION_ID: i32 = 0x7834_6c64;

/// The schema's versions. `PRAGMA user_version` counts those that a file has gone through; a change is a new row.
const MIGRATIONS: &[&str] = &[
    include_str!("schema/0001.sql"),
    include_str!("schema/0002.sql"),
    include_str!("schema/0003.sql"),
    include_str!("schema/0004.sql"),
    include_str!("schema/0005.sql"),
    include_str!("schema/0006.sql"),
];

/// How long a write waits for a program that has locked the file (a backup, a shell) before it fails.
const BUSY_TIMEOUT: Duration = Duration::from_secs(2);

/// Pages that are held for the work, in KiB. The tail of the tables and the inner pages of the index fit many times over, the
/// index of a large ledger never does and is read from the system's cache. Pages are allocated as they are used, so an idle
/// ledger stays small; and a split page makes the commit walk through all of them, so more is not better.
pub(super) const WORK_KIB: i32 = 4096;

/// Pages that are held while entries are looked through, in KiB.
pub(super) const UPKEEP_KIB: i32 = 256;

/// Sets how much of the file the connection may hold in memory, in KiB; what it holds beyond that is given back.
pub(super) fn hold_pages_of(connection: &Connection, kib: i32) -> rusqlite::Result<()> {
    // Negative: in KiB and not in pages.
    connection.pragma_update(None, "cache_size", -kib)
}

/// Opens the file at `path` and brings it to the newest schema.
pub(super) fn open(path: &Path, max_bytes: Option<u64>) -> Result<Connection, LedgerError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
        // The connection belongs to one thread.
        | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut connection =
        Connection::open_with_flags(path, flags).map_err(|error| named(&error, path, "open"))?;
    identify(&connection, path)?;
    configure(&connection, max_bytes).map_err(|error| named(&error, path, "configure"))?;
    migrate(&mut connection, path)?;
    Ok(connection)
}

/// Refuses a file that is not a ledger, before anything is written to it.
fn identify(connection: &Connection, path: &Path) -> Result<(), LedgerError> {
    let read = || -> rusqlite::Result<(i32, u32, bool)> {
        let application = connection.pragma_query_value(None, "application_id", |r| r.get(0))?;
        let version = connection.pragma_query_value(None, "user_version", |r| r.get(0))?;
        let empty =
            connection.query_row("SELECT NOT EXISTS (SELECT 1 FROM sqlite_schema)", [], |r| {
                r.get(0)
            })?;
        Ok((application, version, empty))
    };
    let (application, version, empty) = read().map_err(|error| named(&error, path, "open"))?;
    let supported = u32::try_from(MIGRATIONS.len()).unwrap_or(u32::MAX);
    match application {
        APPLICATION_ID if version > supported => Err(LedgerError::NewerSchema {
            expected: supported,
            observed: version,
        }),
        APPLICATION_ID => Ok(()),
        0 if empty && version == 0 => Ok(()),
        observed => Err(LedgerError::ForeignFile {
            path: path.to_owned(),
            expected: APPLICATION_ID,
            observed,
        }),
    }
}

fn configure(connection: &Connection, max_bytes: Option<u64>) -> rusqlite::Result<()> {
    connection.busy_timeout(BUSY_TIMEOUT)?;
    connection.execute_batch(
        "
        -- Commits append to one file, and readers (a backup, an operator's shell) do not block them.
        PRAGMA journal_mode = WAL;
        -- A commit is on disk when it returns. NORMAL would lose the last ones when the power fails, and with them
        -- the proof that an authorization was used.
        PRAGMA synchronous = FULL;
        -- On macOS a plain fsync stops at the drive's cache.
        PRAGMA fullfsync = ON;
        PRAGMA checkpoint_fullfsync = ON;
        -- A log that has grown under load shrinks again.
        PRAGMA journal_size_limit = 67108864;
        -- The writer checkpoints by itself, after it has answered.
        PRAGMA wal_autocheckpoint = 0;
        PRAGMA temp_store = MEMORY;
        -- The file is data, never code.
        PRAGMA trusted_schema = OFF;
        -- Finds a damaged page when it is read, not when it is used.
        PRAGMA cell_size_check = ON;
        ",
    )?;
    hold_pages_of(connection, WORK_KIB)?;
    if let Some(max_bytes) = max_bytes {
        let page_size: u64 = connection
            .pragma_query_value(None, "page_size", |row| row.get::<_, u32>(0).map(u64::from))?;
        let pages = max_bytes
            .checked_div(page_size)
            .unwrap_or(0)
            .clamp(1, u64::from(u32::MAX - 1));
        connection.pragma_update(
            None,
            "max_page_count",
            i64::try_from(pages).unwrap_or(i64::MAX),
        )?;
    }
    Ok(())
}

fn migrate(connection: &mut Connection, path: &Path) -> Result<(), LedgerError> {
    let run = |connection: &mut Connection| -> rusqlite::Result<()> {
        let applied: u32 = connection.pragma_query_value(None, "user_version", |row| row.get(0))?;
        for (version, migration) in (1u32..).zip(MIGRATIONS) {
            if version <= applied {
                continue;
            }
            let transaction = connection.transaction()?;
            transaction.execute_batch(migration)?;
            transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
            transaction.pragma_update(None, "user_version", version)?;
            transaction.commit()?;
        }
        Ok(())
    };
    run(connection).map_err(|error| named(&error, path, "migrate"))
}

#[cfg(test)]
mod tests;
