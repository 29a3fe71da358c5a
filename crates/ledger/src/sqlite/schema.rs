//! The file's format: tables, migrations, settings of the connection.

use std::{path::Path, time::Duration};

use rusqlite::Connection;
use storage::sqlite::{self, Checkpoints, Format, Settings};

use crate::error::LedgerError;

/// A ledger (`x4ld`).
const FORMAT: Format = Format {
    application_id: 0x7834_6c64,
    migrations: &[
        include_str!("schema/0001.sql"),
        include_str!("schema/0002.sql"),
        include_str!("schema/0003.sql"),
        include_str!("schema/0004.sql"),
        include_str!("schema/0005.sql"),
        include_str!("schema/0006.sql"),
        include_str!("schema/0007.sql"),
        include_str!("schema/0008.sql"),
        include_str!("schema/0009.sql"),
    ],
};

/// How long a write waits for a program that has locked the file (a backup, a shell) before it
/// fails.
const BUSY_TIMEOUT: Duration = Duration::from_secs(2);

/// Pages that are held for the work, in KiB. The tail of the tables and the inner pages of the
/// index fit many times over, the index of a large ledger never does and is read from the system's
/// cache. Pages are allocated as they are used, so an idle ledger stays small; and a split page
/// makes the commit walk through all of them, so more is not better.
pub(super) const WORK_KIB: i32 = 4096;

/// Pages that are held while entries are looked through, in KiB.
pub(super) const UPKEEP_KIB: i32 = 256;

/// Sets how much of the file the connection may hold in memory, in KiB; what it holds beyond that
/// is given back.
pub(super) fn hold_pages_of(connection: &Connection, kib: i32) -> rusqlite::Result<()> {
    // Negative: in KiB and not in pages.
    connection.pragma_update(None, "cache_size", -kib)
}

/// Opens the file at `path` and brings it to the newest schema.
pub(super) fn open(path: &Path, max_bytes: Option<u64>) -> Result<Connection, LedgerError> {
    let settings = Settings {
        busy_timeout: BUSY_TIMEOUT,
        cache_kib: WORK_KIB,
        max_bytes,
        // The writer checkpoints by itself, after it has answered.
        checkpoints: Checkpoints::ByUser,
    };
    Ok(sqlite::open(path, &FORMAT, &settings)?)
}

#[cfg(test)]
mod tests;
