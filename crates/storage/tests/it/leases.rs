//! Tests of leases. A lease has one holder at a time, also between instances.

use std::sync::Arc;

use storage::ServerStore;
use tokio::task::JoinSet;

use crate::support::{Bench, NOW};

#[tokio::test(flavor = "multi_thread")]
async fn of_many_instances_that_race_for_a_lease_exactly_one_gets_it() {
    let bench = Bench::new();
    let instances: Vec<_> = (0..2).map(|_| Arc::new(bench.open())).collect();
    for round in 0..50 {
        let name = format!("job-{round}");
        let mut race = JoinSet::new();
        for n in 0..6 {
            let store = Arc::clone(&instances[n % 2]);
            let name = name.clone();
            race.spawn(async move {
                store
                    .lease(&name, &format!("holder-{n}"), NOW, 30)
                    .await
                    .unwrap()
            });
        }
        let won = race.join_all().await.into_iter().filter(|won| *won).count();
        assert_eq!(won, 1, "{name}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn of_many_instances_that_race_for_an_expired_lease_exactly_one_takes_it_over() {
    let bench = Bench::new();
    let instances: Vec<_> = (0..2).map(|_| Arc::new(bench.open())).collect();
    assert!(instances[0].lease("job", "gone", NOW, 30).await.unwrap());
    let mut race = JoinSet::new();
    for n in 0..8 {
        let store = Arc::clone(&instances[n % 2]);
        race.spawn(async move {
            let holder = format!("holder-{n}");
            store.lease("job", &holder, NOW + 30, 30).await.unwrap()
        });
    }
    let won = race.join_all().await.into_iter().filter(|won| *won).count();
    assert_eq!(won, 1);
}

#[tokio::test]
async fn a_lease_is_renewed_by_its_holder_and_taken_over_when_it_has_expired() {
    let bench = Bench::new();
    let (a, b) = (bench.open(), bench.open());
    assert!(a.lease("job", "a", NOW, 30).await.unwrap());
    assert!(!b.lease("job", "b", NOW + 29, 30).await.unwrap());
    assert!(a.lease("job", "a", NOW + 29, 30).await.unwrap());
    // The renewed lease counts from the time of the request.
    assert!(!b.lease("job", "b", NOW + 58, 30).await.unwrap());
    assert!(b.lease("job", "b", NOW + 59, 30).await.unwrap());
    // The holder comes too late and finds the lease taken.
    assert!(!a.lease("job", "a", NOW + 60, 30).await.unwrap());
    // Other leases do not depend on this one.
    assert!(a.lease("other", "a", NOW + 60, 30).await.unwrap());
}

#[tokio::test]
async fn only_the_holder_can_give_a_lease_back() {
    let bench = Bench::new();
    let store = bench.open();
    assert!(store.lease("job", "a", NOW, 30).await.unwrap());
    assert!(!store.give_back("job", "b").await.unwrap());
    assert!(!store.lease("job", "b", NOW, 30).await.unwrap());
    assert!(store.give_back("job", "a").await.unwrap());
    assert!(store.lease("job", "b", NOW, 30).await.unwrap());
}

#[tokio::test]
async fn a_lease_survives_the_death_of_its_instance() {
    let bench = Bench::new();
    let store = bench.open();
    assert!(store.lease("job", "a", NOW, 30).await.unwrap());
    drop(store);
    let store = bench.open();
    assert!(!store.lease("job", "b", NOW + 1, 30).await.unwrap());
    assert!(store.lease("job", "a", NOW + 1, 30).await.unwrap());
}

#[tokio::test]
async fn a_lease_without_end_does_not_wrap_around() {
    let bench = Bench::new();
    let store = bench.open();
    assert!(store.lease("job", "a", u64::MAX, u32::MAX).await.unwrap());
    assert!(!store.lease("job", "b", NOW, 30).await.unwrap());
}
