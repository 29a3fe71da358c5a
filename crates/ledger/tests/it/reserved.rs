//! Tests of the condition under which other components of the database begin lasting work. Without
//! a database the tests do nothing.

use std::sync::Arc;

use ledger::{Journal, Spent, State};
use storage::postgres::{Condition, PostgresError};
use test_support::{eventually, postgres::Schema};
use tokio::sync::Notify;

use crate::instances::{expire, postgres, server};
use crate::support::{Bench, NOW, OPTIONS, bring, claim, look_up, reserved};

/// Reads whether the condition holds, in a transaction. With `go_on`, the transaction then reports
/// that it has looked, and waits.
async fn holds(url: &str, condition: &Condition, go_on: Option<[Arc<Notify>; 2]>) -> bool {
    let parts = Arc::new((condition.clone(), go_on));
    let postgres = postgres(url, 1);
    let held: Result<bool, PostgresError> = postgres
        .transaction("look", |transaction| {
            let parts = Arc::clone(&parts);
            Box::pin(async move {
                let (condition, go_on) = &*parts;
                let held = condition.holds(transaction).await?;
                if let Some([looked, go_on]) = go_on {
                    looked.notify_one();
                    go_on.notified().await;
                }
                Ok(held)
            })
        })
        .await;
    held.unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reservation_holds_until_it_ends_or_its_server_has_lost_its_lease() {
    let Some(schema) = Schema::new() else { return };
    let url = schema.url();
    let (a, b) = (server(url).await, server(url).await);
    let entry = reserved(&a, claim(1)).await;
    let condition = a.reservation(entry, a.owner()).unwrap();
    assert!(holds(url, &condition, None).await);
    let of_b = a.reservation(entry, b.owner()).unwrap();
    assert!(!holds(url, &of_b, None).await);

    // Without a lease, others may release the entry at any moment.
    expire(url, &a).await;
    assert!(!holds(url, &condition, None).await);
    assert_eq!(b.recover(NOW).await.unwrap().released, 1);
    assert!(!holds(url, &condition, None).await);
    // The next claim has another entry, also at the same server.
    let again = reserved(&b, claim(1)).await;
    assert!(!holds(url, &condition, None).await);
    let of_a = b.reservation(entry, b.owner()).unwrap();
    assert!(!holds(url, &of_a, None).await);
    let condition = b.reservation(again, b.owner()).unwrap();
    assert!(holds(url, &condition, None).await);
    b.release(again, "refused", Spent::NOTHING, NOW)
        .await
        .unwrap();
    assert!(!holds(url, &condition, None).await);

    let settling = bring(&b, 2, State::Settling).await;
    let condition = b.reservation(settling, b.owner()).unwrap();
    assert!(!holds(url, &condition, None).await);
}

/// Work that has begun under a reservation is committed before the reservation ends.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_release_waits_for_what_begins_under_the_reservation() {
    let Some(schema) = Schema::new() else { return };
    let url = schema.url().to_owned();
    let ledger = Arc::new(server(&url).await);
    let entry = reserved(&ledger, claim(1)).await;
    let condition = ledger.reservation(entry, ledger.owner()).unwrap();
    let [looked, go_on] = [Arc::new(Notify::new()), Arc::new(Notify::new())];
    let signals = Some([Arc::clone(&looked), Arc::clone(&go_on)]);
    let work = tokio::spawn({
        let url = url.clone();
        async move { holds(&url, &condition, signals).await }
    });
    looked.notified().await;
    let release = tokio::spawn({
        let ledger = Arc::clone(&ledger);
        async move {
            ledger
                .release(entry, "refused", Spent::NOTHING, NOW)
                .await
                .unwrap();
        }
    });
    let database = postgres(&url, 1);
    eventually("the release waits", async || {
        let sql = "SELECT pid FROM pg_stat_activity
                   WHERE wait_event_type = 'Lock' AND query LIKE '%UPDATE ledger_entry%'
                       AND datname = current_database()";
        let waiting = database.query("look", sql, &[]).await.unwrap();
        (!waiting.is_empty()).then_some(())
    })
    .await;
    assert!(!release.is_finished());
    // A sweep skips the entry.
    let swept = ledger.abandon(Vec::new(), NOW, NOW).await.unwrap();
    assert_eq!(swept.released, 0);
    go_on.notify_one();
    assert!(work.await.unwrap());
    release.await.unwrap();
    assert_eq!(look_up(&ledger, 1).await.unwrap().state, State::Released);
}

#[tokio::test]
async fn the_one_server_of_a_file_needs_no_condition() {
    let bench = Bench::in_file(OPTIONS);
    let entry = reserved(&bench, claim(1)).await;
    assert_eq!(bench.reservation(entry, bench.owner()), None);
}
