//! Tests of the editions of datasets. A new edition replaces the whole old one, and an older
//! edition never replaces a newer one.

use std::sync::Arc;

use storage::sqlite::DatabaseError;
use storage::{DatasetRecord, ServerStore, StoreError};
use tokio::task::JoinSet;

use crate::support::{Bench, NOW, record};

#[tokio::test]
async fn the_last_edition_is_read_by_every_instance_and_after_a_restart() {
    let bench = Bench::new();
    let (a, b) = (bench.open(), bench.open());
    assert_eq!(a.latest("news").await.unwrap(), None);
    a.publish("news", record(NOW, "old")).await.unwrap();
    a.publish("news", record(NOW + 1, "₮ new")).await.unwrap();
    b.publish("pools", record(NOW, "pools")).await.unwrap();
    assert_eq!(
        b.latest("news").await.unwrap(),
        Some(record(NOW + 1, "₮ new"))
    );
    drop((a, b));
    let store = bench.open();
    assert_eq!(
        store.latest("news").await.unwrap(),
        Some(record(NOW + 1, "₮ new"))
    );
    assert_eq!(
        store.latest("pools").await.unwrap(),
        Some(record(NOW, "pools"))
    );
}

#[tokio::test]
async fn an_older_record_is_refused_and_a_record_of_the_same_age_is_accepted() {
    let bench = Bench::new();
    let store = bench.open();
    store.publish("news", record(NOW, "first")).await.unwrap();
    store.publish("news", record(NOW, "again")).await.unwrap();
    assert_eq!(
        store.publish("news", record(NOW - 1, "late")).await,
        Err(StoreError::OlderRecord {
            name: "news".to_owned(),
            expected: NOW,
            observed: NOW - 1,
        })
    );
    assert_eq!(
        store.latest("news").await.unwrap(),
        Some(record(NOW, "again"))
    );
}

#[tokio::test]
async fn a_record_from_the_future_cannot_lock_the_dataset() {
    let bench = Bench::new();
    let store = bench.open();
    let at = |as_of| DatasetRecord {
        written_at: NOW,
        ..record(as_of, "x")
    };
    let limit = NOW + DatasetRecord::CLOCK_TOLERANCE_SECONDS;
    assert_eq!(
        store.publish("news", at(limit + 1)).await,
        Err(StoreError::FutureRecord {
            name: "news".to_owned(),
            expected: NOW,
            observed: limit + 1,
        })
    );
    assert_eq!(store.latest("news").await.unwrap(), None);
    store.publish("news", at(limit)).await.unwrap();
}

/// The newest record stays, whatever the order in which two instances write.
#[tokio::test(flavor = "multi_thread")]
async fn the_newest_record_wins_a_race() {
    let bench = Bench::new();
    let instances: Vec<_> = (0..2).map(|_| Arc::new(bench.open())).collect();
    let mut race = JoinSet::new();
    for n in 0..20u64 {
        let store = Arc::clone(&instances[usize::from(n % 2 == 1)]);
        race.spawn(async move {
            match store.publish("news", record(NOW + n, "x")).await {
                Ok(()) | Err(StoreError::OlderRecord { .. }) => {}
                Err(error) => panic!("{error}"),
            }
        });
    }
    race.join_all().await;
    let latest = instances[0].latest("news").await.unwrap().unwrap();
    assert_eq!(latest.as_of, NOW + 19);
}

#[tokio::test]
async fn a_changed_body_is_not_served() {
    let bench = Bench::in_file();
    let store = bench.open();
    store.publish("news", record(NOW, "truth")).await.unwrap();
    rusqlite::Connection::open(bench.path())
        .unwrap()
        .execute("UPDATE dataset SET body = x'00'", [])
        .unwrap();
    assert_eq!(
        store.latest("news").await,
        Err(DatabaseError::Damaged { path: bench.path() }.into())
    );
}
