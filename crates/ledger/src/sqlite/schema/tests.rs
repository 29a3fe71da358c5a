//! Tests of the file format: files of every version are migrated, and files that are no ledger are
//! refused.

use super::*;
use crate::state::State;

mod version_5;

/// The states that exist in files before version 6.
const OLD_STATES: &[State] = State::ALL.split_at(6).0;

fn folder_with(write: impl FnOnce(&Connection)) -> (tempfile::TempDir, std::path::PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger.db");
    write(&Connection::open(&path).unwrap());
    (folder, path)
}

/// A payer can make any number of released entries with one identifier. They must not make the next
/// claim slower.
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

/// The file is one that the program wrote at version 1, with one entry in each state.
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
    assert_eq!(version, 12);
}

const ENTRIES: u8 = 29;

/// Makes a file of version 4, with more digests than a start otherwise reads. Entry 3 is in flight,
/// the others are settled.
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

#[test]
fn every_claim_of_version_4_is_found_and_stays_claimed() {
    let (_folder, path) = version_4();
    // The second time, the migration has nothing to do.
    for _ in 0..2 {
        let connection = open(&path, None).unwrap();
        for entry in 1..=ENTRIES {
            let sql = "SELECT id, open FROM entry WHERE authorization = ?1";
            let found = connection.query_row(sql, [[entry; 16]], |row| {
                Ok((row.get::<_, u8>(0)?, row.get::<_, u8>(1)?))
            });
            assert_eq!(found, Ok((entry, u8::from(entry == 3))));
        }
    }
}

/// The database itself ensures this, even for a program that does not check first.
#[test]
fn an_authorization_and_an_identifier_have_one_entry_at_most() {
    let (_folder, path) = folder_with(|_| ());
    let connection = open(&path, None).unwrap();
    let insert = |authorization: u8, payer: u8, identifier: Option<&str>| {
        connection.execute(
            "INSERT INTO entry (state, authorization, request, payer, valid_before, reserved_at,
             changed_at, amount, method, path, payment_id)
             VALUES (6, ?1, zeroblob(32), ?2, 9, 8, 8, '1', 'GET', '/', ?3)",
            rusqlite::params![[authorization; 16], [payer; 20], identifier],
        )
    };
    let is_refused = |outcome: rusqlite::Result<usize>| {
        let code = outcome
            .unwrap_err()
            .sqlite_error()
            .map(|error| error.extended_code);
        assert_eq!(code, Some(rusqlite::ffi::SQLITE_CONSTRAINT_UNIQUE));
    };
    insert(1, 1, Some("a")).unwrap();
    is_refused(insert(1, 1, None));
    is_refused(insert(1, 2, None));
    is_refused(insert(2, 1, Some("a")));
    insert(2, 2, Some("a")).unwrap();
    insert(3, 1, Some("b")).unwrap();
    insert(4, 1, None).unwrap();
    insert(5, 1, None).unwrap();
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
    assert_eq!(number("user_version"), 12);
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
            expected: 12,
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
