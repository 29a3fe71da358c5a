//! Tests of entries in flight that have no call. The sweep spares entries with a live call, and its
//! cost is bounded.

use std::sync::Arc;

use ledger::{
    AnyLedger, Claim, EntryId, Journal, OpenCounts, Options, Recovery, Spent, SqliteLedger, State,
};
use rusqlite::Connection;

use crate::support::{Bench, NOW, OPTIONS, bring, claim, find, reserved};

/// As many entries as one script leaves in half a minute.
const MANY: u32 = 50_000;
/// How many entries one call examines.
const RUN: u64 = 16_384;

/// Writes `MANY` reserved entries with numbers from 1, as a killed server would leave them.
fn reserve_many(file: &Connection) {
    file.pragma_update(None, "synchronous", "OFF").unwrap();
    let sql = "WITH RECURSIVE number (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM number WHERE n < ?1)
         INSERT INTO entry (id, state, authorization, request, payer, valid_before, reserved_at,
                            changed_at, amount, method, path, open)
         SELECT n, 2, randomblob(16), zeroblob(32), zeroblob(20), ?2, ?2, ?2, '2000', 'GET', '/price', 1
         FROM number";
    let now = i64::try_from(NOW).unwrap();
    file.execute(sql, rusqlite::params![MANY, now]).unwrap();
}

async fn in_flight(ledger: &AnyLedger) -> u64 {
    ledger.open_counts().await.unwrap().in_flight
}

fn released(released: u64) -> Recovery {
    Recovery {
        released,
        unknown: 0,
    }
}

#[tokio::test]
async fn an_entry_with_a_live_task_is_never_abandoned() {
    let ledger = Bench::new();
    let mut owned = Vec::new();
    let mut lost = Vec::new();
    for nonce in 0..8 {
        let state = [State::Reserved, State::Settling][usize::from(nonce % 4 == 0)];
        let entry = bring(&ledger, nonce, state).await;
        if nonce < 4 {
            owned.push(entry);
        } else {
            lost.push((nonce, entry));
        }
    }
    // The snapshot may have any order, and may contain entries that have ended meanwhile.
    owned.reverse();
    owned.push(EntryId::new(1_000));
    let much_later = NOW + 1_000_000;
    let before = [find(&ledger, 0, NOW).await, find(&ledger, 1, NOW).await];
    let abandoned = ledger.abandon(owned, much_later, much_later).await.unwrap();
    assert_eq!(
        abandoned,
        Recovery {
            released: 3,
            unknown: 1
        }
    );
    let after = [find(&ledger, 0, NOW).await, find(&ledger, 1, NOW).await];
    assert_eq!(before, after);
    assert_eq!(in_flight(&ledger).await, 4);
}

#[tokio::test]
async fn an_entry_claimed_after_the_snapshot_is_spared_by_its_age() {
    let ledger = Bench::new();
    let old = reserved(&ledger, claim(1)).await;
    let snapshot = Vec::new();
    let newer = Claim {
        now: NOW + 100,
        ..claim(2)
    };
    reserved(&ledger, newer).await;
    let abandoned = ledger.abandon(snapshot, NOW + 99, NOW + 200).await;
    assert_eq!(abandoned, Ok(released(1)));
    assert!(find(&ledger, 2, NOW + 200).await.is_some());
    assert!(
        ledger
            .release(old, "late", Spent::NOTHING, NOW + 200)
            .await
            .is_err()
    );
}

#[tokio::test]
async fn one_call_looks_at_a_bounded_number_and_the_next_goes_on() {
    let mut ledger = Bench::in_file(OPTIONS);
    ledger.change(reserve_many);
    let mut left = u64::from(MANY);
    assert_eq!(in_flight(&ledger).await, left);
    // A live entry comes first, and each round examines it.
    let owned = vec![EntryId::new(1)];
    while left > 1 {
        let commits = ledger.sqlite().stats().commits;
        let abandoned = ledger.abandon(owned.clone(), NOW, NOW).await.unwrap();
        assert!(abandoned.released <= RUN, "{abandoned:?}");
        assert!(ledger.sqlite().stats().commits - commits <= RUN / 256);
        left -= abandoned.released;
        assert_eq!(in_flight(&ledger).await, left);
        assert!(abandoned.released > 0);
    }
    // The sweep reaches the end, and then begins again at the front.
    assert_eq!(ledger.abandon(owned, NOW, NOW).await, Ok(released(0)));
    assert_eq!(ledger.abandon(Vec::new(), NOW, NOW).await, Ok(released(1)));
}

#[tokio::test]
async fn young_entries_in_front_do_not_hide_the_old_ones_behind() {
    let mut ledger = Bench::in_file(OPTIONS);
    ledger.change(|file| {
        reserve_many(file);
        // The clock was wrong when all entries but the last ones were written.
        let sql = "UPDATE entry SET reserved_at = ?1, changed_at = ?1 WHERE id <= ?2";
        let (wrong, young) = (NOW + 1_000_000, MANY - 10);
        let wrong = i64::try_from(wrong).unwrap();
        file.execute(sql, rusqlite::params![wrong, young]).unwrap();
    });
    let mut total = 0;
    for _ in 0..=u64::from(MANY) / RUN {
        total += ledger.abandon(Vec::new(), NOW, NOW).await.unwrap().released;
    }
    assert_eq!(total, 10);
}

#[tokio::test]
async fn others_have_their_turn_while_many_are_abandoned() {
    let mut bench = Bench::in_file(OPTIONS);
    bench.change(reserve_many);
    let path = bench.path();
    // The test closes the ledger and opens it again in a form that several tasks can share.
    let folder = bench.close();
    let ledger = Arc::new(AnyLedger::Sqlite(
        SqliteLedger::open(path.to_str().unwrap(), OPTIONS).unwrap(),
    ));
    let sweep = {
        let ledger = Arc::clone(&ledger);
        tokio::spawn(async move { ledger.abandon(Vec::new(), NOW, NOW).await })
    };
    tokio::task::yield_now().await;
    reserved(&ledger, claim(1_000_000)).await;
    assert!(!sweep.is_finished());
    assert_eq!(sweep.await.unwrap(), Ok(released(RUN)));
    drop(folder);
}

/// A restart decides all open entries before the first claim, in batches as well.
#[tokio::test]
async fn a_restart_decides_all_of_them() {
    let mut ledger = Bench::in_file(OPTIONS);
    ledger.change(reserve_many);
    let recovered = ledger.recover(NOW).await.unwrap();
    assert_eq!(recovered, released(u64::from(MANY)));
    assert_eq!(ledger.open_counts().await, Ok(OpenCounts::default()));
    // The sweep runs in batches, so no transaction had all entries.
    assert!(ledger.sqlite().stats().commits >= u64::from(MANY) / 256);
}

#[test]
fn the_defaults_are_as_documented() {
    let options = Options::default();
    assert_eq!(options.retention_seconds, 86_400);
    assert_eq!(options.entry_retention_seconds, 2_592_000);
    assert_eq!(options.credit_cap_micro_usd, 5_000_000);
}
