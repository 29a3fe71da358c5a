//! The format of the file: migrations, and the settings of the connection.

use std::{path::Path, time::Duration};

use rusqlite::Connection;
use storage::Migration;
use storage::sqlite::{self, Checkpoints, DatabaseError, Format, Settings};

use crate::error::LedgerError;

/// The format of a ledger (`x4ld`).
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
        include_str!("schema/0010.sql"),
        include_str!("schema/0011.sql"),
        include_str!("schema/0012.sql"),
    ],
};

/// How long a write waits while another program (a backup, a shell) locks the file.
const BUSY_TIMEOUT: Duration = Duration::from_secs(2);

/// The page cache for payments, in KiB. The tail of the tables and the inner pages of the index fit
/// into it many times over. The index of a large ledger never fits, and comes from the system's
/// cache. SQLite allocates pages on use, so an idle ledger stays small. A larger cache would not be
/// better, because the commit of a split page walks through all of it.
pub(super) const WORK_KIB: i32 = 4096;

/// The page cache for pruning, in KiB.
pub(super) const UPKEEP_KIB: i32 = 256;

/// Sets the size of the connection's page cache, in KiB, and frees the pages above it.
pub(super) fn hold_pages_of(connection: &Connection, kib: i32) -> rusqlite::Result<()> {
    // A negative number is in KiB, a positive one in pages.
    connection.pragma_update(None, "cache_size", -kib)
}

/// Opens the file at `path` and migrates it to the newest schema.
pub(super) fn open(path: &Path, max_bytes: Option<u64>) -> Result<Connection, LedgerError> {
    let settings = Settings {
        busy_timeout: BUSY_TIMEOUT,
        cache_kib: WORK_KIB,
        max_bytes,
        // The writer itself makes checkpoints, after it has answered.
        checkpoints: Checkpoints::ByUser,
    };
    Ok(sqlite::open(path, &FORMAT, &settings)?)
}

/// Returns the migration that [`open`] would run.
pub(super) fn pending(path: &Path) -> Result<Option<Migration>, DatabaseError> {
    sqlite::pending(path, &FORMAT)
}

#[cfg(test)]
mod tests;
