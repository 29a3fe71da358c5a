//! The file's format: settings of the connection, tables, migrations.

use std::{
    path::Path,
    thread,
    time::{Duration, Instant},
};

use rusqlite::{Connection, OpenFlags, TransactionBehavior};

use super::{ShelfError, error::named};

/// Marks a SQLite file as a shelf of this program (`x4sh`).
const APPLICATION_ID: i32 = 0x7834_7368;

/// The schema's versions. `PRAGMA user_version` counts those that a file has gone through; a change is a new row.
const MIGRATIONS: &[&str] = &[
    include_str!("schema/0001.sql"),
    include_str!("schema/0002.sql"),
];

/// How long an operation waits for another instance or program that has locked the file.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

/// How often opening looks again while another instance sets up the same new file. The change to the write-ahead log
/// is refused at once while anybody else reads, whatever the busy time-out.
const LOOK_AGAIN: Duration = Duration::from_millis(10);

/// Opens the file at `path` and brings it to the newest schema.
pub(super) fn open(path: &Path) -> Result<Connection, ShelfError> {
    let deadline = Instant::now() + BUSY_TIMEOUT;
    loop {
        match try_open(path) {
            Err(ShelfError::Busy) if Instant::now() < deadline => thread::sleep(LOOK_AGAIN),
            done => return done,
        }
    }
}

fn try_open(path: &Path) -> Result<Connection, ShelfError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
        // The connection belongs to one thread.
        | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut connection =
        Connection::open_with_flags(path, flags).map_err(|error| named(&error, path, "open"))?;
    connection
        .busy_timeout(BUSY_TIMEOUT)
        .map_err(|error| named(&error, path, "open"))?;
    identify(&mut connection, path)?;
    configure(&connection).map_err(|error| named(&error, path, "configure"))?;
    migrate(&mut connection).map_err(|error| named(&error, path, "migrate"))?;
    Ok(connection)
}

/// Refuses a file that is not a shelf, before anything is written to it.
fn identify(connection: &mut Connection, path: &Path) -> Result<(), ShelfError> {
    // One transaction: another instance may be setting up the file at this very moment.
    let read = |connection: &mut Connection| -> rusqlite::Result<(i32, u32, bool)> {
        let view = connection.transaction_with_behavior(TransactionBehavior::Deferred)?;
        let empty = view.query_row("SELECT NOT EXISTS (SELECT 1 FROM sqlite_schema)", [], |r| {
            r.get(0)
        })?;
        let application = view.pragma_query_value(None, "application_id", |r| r.get(0))?;
        let version = view.pragma_query_value(None, "user_version", |r| r.get(0))?;
        Ok((application, version, empty))
    };
    let (application, version, empty) =
        read(connection).map_err(|error| named(&error, path, "open"))?;
    let supported = u32::try_from(MIGRATIONS.len()).unwrap_or(u32::MAX);
    match application {
        APPLICATION_ID if version > supported => Err(ShelfError::NewerSchema {
            expected: supported,
            observed: version,
        }),
        APPLICATION_ID => Ok(()),
        0 if empty && version == 0 => Ok(()),
        observed => Err(ShelfError::ForeignFile {
            path: path.to_owned(),
            expected: APPLICATION_ID,
            observed,
        }),
    }
}

fn configure(connection: &Connection) -> rusqlite::Result<()> {
    connection.execute_batch(
        "
        -- Readers do not block the writer, nor it them.
        PRAGMA journal_mode = WAL;
        -- A paid answer refers to what lies here: it is on disk before the payment is settled.
        PRAGMA synchronous = FULL;
        -- On macOS a plain fsync stops at the drive's cache.
        PRAGMA fullfsync = ON;
        PRAGMA checkpoint_fullfsync = ON;
        -- Bodies are large and rarely read twice.
        PRAGMA cache_size = -1024;
        PRAGMA journal_size_limit = 67108864;
        PRAGMA temp_store = MEMORY;
        -- The file is data, never code.
        PRAGMA trusted_schema = OFF;
        -- Finds a damaged page when it is read, not when it is used.
        PRAGMA cell_size_check = ON;
        ",
    )?;
    connection.set_prepared_statement_cache_capacity(32);
    Ok(())
}

fn migrate(connection: &mut Connection) -> rusqlite::Result<()> {
    let supported = u32::try_from(MIGRATIONS.len()).unwrap_or(u32::MAX);
    let applied: u32 = connection.pragma_query_value(None, "user_version", |row| row.get(0))?;
    if applied >= supported {
        return Ok(());
    }
    // The version counts once the write lock is held: of two instances that start together one migrates.
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let applied: u32 = transaction.pragma_query_value(None, "user_version", |row| row.get(0))?;
    for (version, migration) in (1u32..).zip(MIGRATIONS) {
        if version > applied {
            transaction.execute_batch(migration)?;
            transaction.pragma_update(None, "user_version", version)?;
        }
    }
    transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
    transaction.commit()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder_with(write: impl FnOnce(&Connection)) -> (tempfile::TempDir, std::path::PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("service.shelf.db");
        write(&Connection::open(&path).unwrap());
        (folder, path)
    }

    #[test]
    fn settings_hold() {
        let (_folder, path) = folder_with(|_| ());
        let connection = open(&path).unwrap();
        let mode: String = connection
            .pragma_query_value(None, "journal_mode", |row| row.get(0))
            .unwrap();
        assert_eq!(mode, "wal");
        let number = |name| -> i64 {
            connection
                .pragma_query_value(None, name, |row| row.get(0))
                .unwrap()
        };
        assert_eq!(number("synchronous"), 2);
        assert_eq!(number("user_version"), 2);
        assert_eq!(number("application_id"), i64::from(APPLICATION_ID));
    }

    #[test]
    fn many_instances_may_set_up_one_file_together() {
        let (_folder, path) = folder_with(|_| ());
        let threads: Vec<_> = (0..8)
            .map(|_| {
                let path = path.clone();
                thread::spawn(move || open(&path).map(drop))
            })
            .collect();
        for thread in threads {
            assert_eq!(thread.join().unwrap(), Ok(()));
        }
    }

    #[test]
    fn a_foreign_database_is_refused_untouched() {
        let (_folder, path) = folder_with(|c| c.execute_batch("CREATE TABLE t (x)").unwrap());
        let before = std::fs::read(&path).unwrap();
        assert_eq!(open(&path).unwrap_err().code(), "shelf_foreign_file");
        assert_eq!(std::fs::read(&path).unwrap(), before);
    }

    #[test]
    fn a_newer_schema_is_refused() {
        let (_folder, path) = folder_with(|_| ());
        open(&path)
            .unwrap()
            .pragma_update(None, "user_version", 99)
            .unwrap();
        assert_eq!(
            open(&path).unwrap_err(),
            ShelfError::NewerSchema {
                expected: 2,
                observed: 99
            }
        );
    }

    #[test]
    fn noise_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("service.shelf.db");
        std::fs::write(&path, [0xa5u8; 8192]).unwrap();
        assert_eq!(open(&path).unwrap_err(), ShelfError::Damaged { path });
    }

    /// Neither the sum nor the search for what has expired may read bodies.
    #[test]
    fn upkeep_is_done_on_the_index() {
        let (_folder, path) = folder_with(|_| ());
        let connection = open(&path).unwrap();
        for sql in [
            crate::shelf::statements::KEPT_BYTES,
            "SELECT id FROM artifact WHERE expires_at <= 9",
        ] {
            let plan: Vec<String> = connection
                .prepare(&format!("EXPLAIN QUERY PLAN {sql}"))
                .unwrap()
                .query_map([], |row| row.get("detail"))
                .unwrap()
                .map(Result::unwrap)
                .collect();
            assert!(
                plan.iter()
                    .any(|step| step.contains("COVERING INDEX artifact_expiry")),
                "{plan:?}"
            );
        }
    }
}
