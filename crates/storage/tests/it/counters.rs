//! Tests of the counters of periods. Instances share them, and they survive restarts.

use std::sync::Arc;

use storage::ServerStore;
use tokio::task::JoinSet;

use crate::support::{Bench, NOW};

const NOVEMBER: u64 = NOW - 2_000_000;

#[tokio::test(flavor = "multi_thread")]
async fn no_addition_is_lost_between_instances() {
    let bench = Bench::new();
    let instances: Vec<_> = (0..2).map(|_| Arc::new(bench.open())).collect();
    let mut race = JoinSet::new();
    for n in 0..40 {
        let store = Arc::clone(&instances[n % 2]);
        race.spawn(async move { store.count("a.month", NOVEMBER, 3).await.unwrap() });
    }
    let mut totals = race.join_all().await;
    totals.sort_unstable();
    // Each addition returned a total of its own.
    assert_eq!(totals, (1..=40).map(|n| 3 * n).collect::<Vec<_>>());
}

#[tokio::test]
async fn a_counter_survives_a_restart_and_each_period_has_its_own() {
    let bench = Bench::new();
    let store = bench.open();
    assert_eq!(store.count("a.month", NOVEMBER, 0).await, Ok(0));
    assert_eq!(store.count("a.month", NOVEMBER, 20).await, Ok(20));
    drop(store);
    let store = bench.open();
    assert_eq!(store.count("a.month", NOVEMBER, 0).await, Ok(20));
    assert_eq!(store.count("a.month", NOW, 7).await, Ok(7));
    assert_eq!(store.count("b.month", NOVEMBER, 1).await, Ok(1));
    // The total never exceeds the highest number.
    let most = i64::MAX.unsigned_abs();
    assert_eq!(store.count("b.month", NOVEMBER, u64::MAX).await, Ok(most));
    assert_eq!(store.count("b.month", NOVEMBER, 1).await, Ok(most));
}

#[tokio::test]
async fn old_counters_are_deleted() {
    let bench = Bench::new();
    let store = bench.open();
    store.count("a.month", NOW, 5).await.unwrap();
    store.prune(NOW + 400 * 86_400).await.unwrap();
    assert_eq!(store.count("a.month", NOW, 0).await, Ok(5));
    store.prune(NOW + 400 * 86_400 + 1).await.unwrap();
    assert_eq!(store.count("a.month", NOW, 0).await, Ok(0));
}
