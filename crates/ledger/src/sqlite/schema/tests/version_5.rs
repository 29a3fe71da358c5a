//! A file as the program wrote it at version 5, and its migration.

use alloy_primitives::{Address, keccak256};
use storage::sqlite::ClaimedFile;

use super::*;
use crate::spending::Spent;
use crate::{
    answer::StoredReceipt,
    journal::OpenCounts,
    sqlite::{
        Options,
        store::{Database, Store},
    },
    state::EntryId,
    status::PaymentStatus,
};

const NOW: u64 = 1_000_000;
const NONE: i64 = 1 << 40;

/// Makes an entry whose digest repeats its number, for the request `[number; 32]` and the payer
/// `[9; 20]`.
fn entry(connection: &Connection, number: u8, state: State, open: bool) {
    let has_answer = matches!(state, State::Settling | State::Unknown | State::Settled);
    let answer = NONE + i64::from(number);
    let receipt = if state == State::Settled {
        answer
    } else {
        NONE
    };
    connection
        .execute(
            "INSERT INTO entry (id, state, authorization, request, payer, valid_before,
             reserved_at, changed_at, answer, receipt, amount, method, path, cause, open)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?6, ?6, ?7, ?8, '2000', 'GET', '/', 'old', ?9)",
            rusqlite::params![
                number,
                state.code(),
                [number; 16],
                [number; 32],
                [9u8; 20],
                i64::try_from(NOW).unwrap(),
                if has_answer { answer } else { NONE },
                receipt,
                open
            ],
        )
        .unwrap();
    if has_answer {
        connection
            .execute(
                "INSERT INTO answer (id, entry, payload, requirements, status, headers, body_digest, body)
                 VALUES (?1, ?2, '{}', '{}', 200, '[]', ?3, x'')",
                rusqlite::params![answer, number, keccak256(b"").as_slice()],
            )
            .unwrap();
    }
    if state == State::Settled {
        connection
            .execute(
                "INSERT INTO receipt (id, entry, transaction_hash, header)
                 VALUES (?1, ?2, '0xa1', 'h')",
                [receipt, i64::from(number)],
            )
            .unwrap();
    }
}

fn version_5() -> (tempfile::TempDir, std::path::PathBuf) {
    folder_with(|connection| {
        for migration in &FORMAT.migrations[..5] {
            connection.execute_batch(migration).unwrap();
        }
        connection
            .pragma_update(None, "application_id", FORMAT.application_id)
            .unwrap();
        connection.pragma_update(None, "user_version", 5).unwrap();
        // This entry is in flight, with its digest in a table that only this version had.
        entry(connection, 1, State::Settling, true);
        connection
            .execute_batch(
                "INSERT INTO generation (id, last, filter) VALUES (1, 1, x'ffffffffffffffffffff')",
            )
            .unwrap();
        let digests = [&[1; 16][..], &1i64.to_be_bytes()].concat();
        connection
            .execute(
                "INSERT INTO bucket (id, digests) VALUES (257, ?1)",
                [digests],
            )
            .unwrap();
        entry(connection, 2, State::Unknown, true);
        entry(connection, 3, State::Settled, false);
        // This entry is settled. Its answer was deleted after its retention, and its receipt
        // stayed.
        entry(connection, 4, State::Settled, false);
        connection
            .execute_batch(
                "DELETE FROM answer WHERE entry = 4;
                 UPDATE entry SET answer = 1099511627776 WHERE id = 4",
            )
            .unwrap();
        entry(connection, 5, State::Released, false);
        entry(connection, 6, State::Working, false);
    })
}

/// Makes the digest of the authorization of entry `number`. The file has only its first 16 bytes.
fn digest(number: u8) -> alloy_primitives::B256 {
    alloy_primitives::B256::repeat_byte(number)
}

#[test]
fn everything_in_the_file_keeps_its_meaning() {
    let (_folder, path) = version_5();
    let file = ClaimedFile::claim(path.to_str().unwrap()).unwrap();
    let database = Database::open(file, None).unwrap();
    let mut store = Store::open(&database, Options::default()).unwrap();
    store.begin().unwrap();
    let status = |store: &mut Store<'_>, number| {
        let request = alloy_primitives::B256::repeat_byte(number);
        store.find(digest(number), request, NOW).unwrap()
    };
    for (number, state) in [(1, State::Settling), (6, State::Working)] {
        let entry = EntryId::new(number.into());
        let expected = Some(PaymentStatus::InFlight { entry, state });
        assert_eq!(status(&mut store, number), expected);
    }
    assert!(matches!(
        status(&mut store, 2),
        Some(PaymentStatus::Unknown { .. })
    ));
    let Some(PaymentStatus::Answered(answered)) = status(&mut store, 3) else {
        panic!("not answered")
    };
    assert_eq!(answered.receipt.transaction, "0xa1");
    // The digest was checked when it was written. It is returned in its present form.
    let expected = crate::PaidAnswer::new(200, Vec::new(), "".into());
    assert_eq!(answered.answer, expected);
    let transaction = "0xa1".to_owned();
    assert_eq!(
        status(&mut store, 4),
        Some(PaymentStatus::AnswerExpired { transaction })
    );
    assert_eq!(status(&mut store, 5), None);
    let record = store.look_up(digest(5)).unwrap().unwrap();
    assert_eq!(
        (record.state, record.reason.as_deref(), record.attempted),
        (State::Released, Some("old"), false)
    );
    assert_eq!(
        store.open_counts().unwrap(),
        OpenCounts {
            in_flight: 2,
            unknown: 1,
            undecidable: 0,
            oldest_unknown: Some(NOW),
        }
    );
    let undecided = store.list(State::Unknown, None, 10).unwrap();
    assert_eq!(undecided.len(), 1);
    assert_eq!(undecided[0].entry, EntryId::new(2));

    // An entry from before the migration can still be settled, and earns credit.
    let payer = Address::repeat_byte(9);
    assert_eq!(store.credit(payer).unwrap(), 0);
    let receipt = StoredReceipt {
        header: String::new(),
        transaction: String::new(),
    };
    store.settle(EntryId::new(1), &receipt, NOW).unwrap();
    store
        .mark_undecidable(EntryId::new(2), "nobody knows", NOW)
        .unwrap();
    store
        .release(EntryId::new(6), "test", Spent::by_payer(500), NOW)
        .unwrap();
    store.finish_batch().unwrap();
    store.commit().unwrap();
    assert_eq!(store.credit(payer).unwrap(), 1500);
    let counts = OpenCounts {
        undecidable: 1,
        ..OpenCounts::default()
    };
    assert_eq!(store.open_counts().unwrap(), counts);
}
