//! Files of every version are brought up, and what is no ledger is refused.

use super::*;
use crate::{
    sqlite::{seen::Seen, statements::Statements},
    state::State,
};

mod version_5;

/// The states that files before version 6 know.
const OLD_STATES: &[State] = State::ALL.split_at(6).0;

fn folder_with(write: impl FnOnce(&Connection)) -> (tempfile::TempDir, std::path::PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger.db");
    write(&Connection::open(&path).unwrap());
    (folder, path)
}

/// One payer can make any number of released entries with one identifier: they must cost the next
/// claim nothing.
#[test]
fn an_identifier_is_looked_up_without_its_released_entries() {
    let (_folder, path) = folder_with(|_| ());
    let connection = open(&path, None).unwrap();
    let plans: Vec<String> = connection
        .prepare(&format!(
            "EXPLAIN QUERY PLAN {}",
            crate::sqlite::store::TAKEN
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
        connection.execute_batch(FORMAT.migrations[0]).unwrap();
        connection
            .pragma_update(None, "application_id", FORMAT.application_id)
            .unwrap();
        connection.pragma_update(None, "user_version", 1).unwrap();
        for &state in OLD_STATES {
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
    for &state in OLD_STATES {
        let (open, digest, payment_id): (i64, Vec<u8>, Option<String>) = connection
            .query_row(
                "SELECT open, authorization, payment_id FROM entry WHERE state = ?1",
                [state.code()],
                |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)),
            )
            .unwrap();
        let expected = match state {
            State::Unknown => 2,
            state => i64::from(state.is_in_flight()),
        };
        assert_eq!(open, expected, "{state}");
        assert_eq!(digest, [u8::try_from(state.code()).unwrap(); 16]);
        assert_eq!(payment_id.is_some(), state != State::Released, "{state}");
    }
    let version: u32 = connection
        .pragma_query_value(None, "user_version", |row| row.get(0))
        .unwrap();
    assert_eq!(version, 8);
    let mut statements = Statements::new(&connection);
    let seen = Seen::load(&mut statements).unwrap();
    for &state in OLD_STATES {
        let digest = [u8::try_from(state.code()).unwrap(); 16];
        let entry = seen.find(&mut statements, &digest).unwrap();
        assert_eq!(entry, Some(state.code()), "{state}");
    }
    let in_flight: Vec<i64> = seen.in_flight().collect();
    let open = State::ALL.into_iter().filter(|state| state.is_in_flight());
    let open: Vec<i64> = open.map(State::code).collect();
    assert_eq!(in_flight, open);
}

const ENTRIES: u8 = 29;

/// A file of version 4, with more digests than a start reads otherwise. Entry 3 is in flight, the
/// others are settled.
fn version_4() -> (tempfile::TempDir, std::path::PathBuf) {
    folder_with(|connection| {
        for migration in &FORMAT.migrations[..4] {
            connection.execute_batch(migration).unwrap();
        }
        connection
            .pragma_update(None, "application_id", FORMAT.application_id)
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
    assert_eq!(number("user_version"), 8);
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
            expected: 8,
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
    for &state in OLD_STATES {
        assert_eq!(state < State::Settled, state.code() < 6);
    }
    assert_eq!(State::Released.code(), 7);
    assert!(
        FORMAT.migrations[1].contains("WHERE state < 6")
            && FORMAT.migrations[1].contains("state = 7")
    );
    assert_eq!(State::Unknown.code(), 5);
    assert!(FORMAT.migrations[5].contains("WHERE open = 1 AND state = 5"));
}
