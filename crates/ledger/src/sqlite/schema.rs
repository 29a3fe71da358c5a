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
mod tests {
    use super::*;
    use crate::{
        sqlite::{seen::Seen, statements::Statements},
        state::State,
    };

    fn folder_with(write: impl FnOnce(&Connection)) -> (tempfile::TempDir, std::path::PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ledger.db");
        write(&Connection::open(&path).unwrap());
        (folder, path)
    }

    /// One payer can make any number of released entries with one identifier: they must cost the next claim nothing.
    #[test]
    fn an_identifier_is_looked_up_without_its_released_entries() {
        let (_folder, path) = folder_with(|_| ());
        let connection = open(&path, None).unwrap();
        let plans: Vec<String> = connection
            .prepare(&format!(
                "EXPLAIN QUERY PLAN {}",
                crate::sqlite::store::IS_TAKEN
            ))
            .unwrap()
            .query_map([[1u8; 20].as_slice(), b"id".as_slice()], |row| {
                row.get("detail")
            })
            .unwrap()
            .map(Result::unwrap)
            .collect();
        assert!(
            plans.iter().any(|step| step.contains("entry_payment_id")),
            "{plans:?}"
        );
    }

    /// A file of version 1 as the program of its time has left it: one entry in each state.
    #[test]
    fn a_ledger_of_version_1_is_brought_up() {
        let (_folder, path) = folder_with(|connection| {
            connection.execute_batch(MIGRATIONS[0]).unwrap();
            connection
                .pragma_update(None, "application_id", APPLICATION_ID)
                .unwrap();
            connection.pragma_update(None, "user_version", 1).unwrap();
            for state in State::ALL {
                let digest = [u8::try_from(state.code()).unwrap(); 32];
                connection
                    .execute(
                        "INSERT INTO entry (id, state, authorization, request, payer, valid_before,
                         reserved_at, changed_at, amount, method, path, payment_id)
                         VALUES (?1, ?1, ?2, ?2, x'01', 9, 8, 8, '1', 'GET', '/', 'id-' || ?1)",
                        rusqlite::params![state.code(), digest],
                    )
                    .unwrap();
            }
        });
        let connection = open(&path, None).unwrap();
        for state in State::ALL {
            let (open, digest, payment_id): (bool, Vec<u8>, Option<String>) = connection
                .query_row(
                    "SELECT open, authorization, payment_id FROM entry WHERE state = ?1",
                    [state.code()],
                    |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)),
                )
                .unwrap();
            assert_eq!(open, state < State::Settled, "{state}");
            assert_eq!(digest, [u8::try_from(state.code()).unwrap(); 16]);
            assert_eq!(payment_id.is_some(), state != State::Released, "{state}");
        }
        let version: u32 = connection
            .pragma_query_value(None, "user_version", |row| row.get(0))
            .unwrap();
        assert_eq!(version, 5);
        let mut statements = Statements::new(&connection);
        let seen = Seen::load(&mut statements).unwrap();
        for state in State::ALL {
            let digest = [u8::try_from(state.code()).unwrap(); 16];
            let entry = seen.find(&mut statements, &digest).unwrap();
            assert_eq!(entry, Some(state.code()), "{state}");
        }
        let in_flight: Vec<i64> = seen.in_flight().collect();
        let mut open = State::ALL.map(State::code).to_vec();
        open.retain(|code| *code < State::Unknown.code());
        assert_eq!(in_flight, open);
    }

    const ENTRIES: u8 = 29;

    /// A file of version 4, with more digests than a start reads otherwise. Entry 3 is in flight, the others are settled.
    fn version_4() -> (tempfile::TempDir, std::path::PathBuf) {
        folder_with(|connection| {
            for migration in &MIGRATIONS[..4] {
                connection.execute_batch(migration).unwrap();
            }
            connection
                .pragma_update(None, "application_id", APPLICATION_ID)
                .unwrap();
            connection.pragma_update(None, "user_version", 4).unwrap();
            for entry in 1..=ENTRIES {
                let (digest, state) = ([entry; 16], if entry == 3 { 4 } else { 6 });
                connection
                    .execute(
                        "INSERT INTO entry (id, state, authorization, request, payer, valid_before,
                         reserved_at, changed_at, amount, method, path)
                         VALUES (?1, ?2, ?3, zeroblob(32), zeroblob(20), 9, 8, 8, '1', 'GET', '/')",
                        rusqlite::params![entry, state, digest],
                    )
                    .unwrap();
                connection
                    .execute(
                        "INSERT INTO seen (entry, authorization) VALUES (?1, ?2)",
                        rusqlite::params![entry, digest],
                    )
                    .unwrap();
            }
        })
    }

    fn check_version_4(connection: &Connection) {
        let mut statements = Statements::new(connection);
        let seen = Seen::load(&mut statements).unwrap();
        for entry in 1..=ENTRIES {
            let found = seen.find(&mut statements, &[entry; 16]).unwrap();
            assert_eq!(found, Some(i64::from(entry)));
        }
        assert_eq!(seen.find(&mut statements, &[0; 16]).unwrap(), None);
        assert_eq!(seen.in_flight().collect::<Vec<_>>(), [3]);
        let written: Vec<i64> = connection
            .prepare("SELECT last FROM generation ORDER BY id")
            .unwrap()
            .query_map([], |row| row.get(0))
            .unwrap()
            .map(Result::unwrap)
            .collect();
        assert_eq!(written, [8, 16, 24]);
    }

    #[test]
    fn the_digests_of_version_4_are_written_down() {
        let (_folder, path) = version_4();
        // The second time there is nothing left to do.
        for _ in 0..2 {
            check_version_4(&open(&path, None).unwrap());
        }
    }

    /// A process that ends, or a disk that is full, in the middle of it.
    #[test]
    fn digests_that_are_written_down_in_part_are_not_lost() {
        let (_folder, path) = version_4();
        let connection = open(&path, None).unwrap();
        connection
            .execute_batch(
                "CREATE TRIGGER fails BEFORE INSERT ON bucket WHEN NEW.id = 2 * 256 + 12
                 BEGIN SELECT RAISE (FAIL, 'for the test'); END",
            )
            .unwrap();
        let mut statements = Statements::new(&connection);
        Seen::load(&mut statements).unwrap_err();
        drop(statements);
        drop(connection);
        let connection = open(&path, None).unwrap();
        connection.execute_batch("DROP TRIGGER fails").unwrap();
        check_version_4(&connection);
    }

    #[test]
    fn settings_hold() {
        let (_folder, path) = folder_with(|_| ());
        let connection = open(&path, Some(1 << 20)).unwrap();
        let text = |name| -> String {
            connection
                .pragma_query_value(None, name, |row| row.get(0))
                .unwrap()
        };
        let number = |name| -> i64 {
            connection
                .pragma_query_value(None, name, |row| row.get(0))
                .unwrap()
        };
        assert_eq!(text("journal_mode"), "wal");
        assert_eq!(number("synchronous"), 2);
        assert_eq!(number("max_page_count"), 256);
        assert_eq!(number("wal_autocheckpoint"), 0);
        assert_eq!(number("cache_size"), -4096);
        assert_eq!(number("user_version"), 5);
    }

    #[test]
    fn opening_twice_changes_nothing() {
        let (_folder, path) = folder_with(|_| ());
        drop(open(&path, None).unwrap());
        let before = std::fs::read(&path).unwrap();
        drop(open(&path, None).unwrap());
        assert_eq!(std::fs::read(&path).unwrap(), before);
    }

    #[test]
    fn a_foreign_database_is_refused_untouched() {
        let (_folder, path) = folder_with(|c| c.execute_batch("CREATE TABLE t (x)").unwrap());
        let before = std::fs::read(&path).unwrap();
        assert_eq!(open(&path, None).unwrap_err().code(), "ledger_foreign_file");
        assert_eq!(std::fs::read(&path).unwrap(), before);
    }

    #[test]
    fn a_newer_schema_is_refused() {
        let (_folder, path) = folder_with(|_| ());
        open(&path, None)
            .unwrap()
            .pragma_update(None, "user_version", 99)
            .unwrap();
        assert_eq!(
            open(&path, None).unwrap_err(),
            LedgerError::NewerSchema {
                expected: 5,
                observed: 99
            }
        );
    }

    #[test]
    fn noise_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ledger.db");
        std::fs::write(&path, [0xa5u8; 8192]).unwrap();
        assert_eq!(
            open(&path, None).unwrap_err(),
            LedgerError::Damaged { path }
        );
    }

    #[test]
    fn the_states_of_the_migration_are_those_of_the_code() {
        for state in State::ALL {
            assert_eq!(state < State::Settled, state.code() < 6);
        }
        assert_eq!(State::Released.code(), 7);
        assert!(MIGRATIONS[1].contains("WHERE state < 6") && MIGRATIONS[1].contains("state = 7"));
    }
}
