//! Tests with records that a database has lost. A replica that takes over may lack the last
//! commits.

mod switched;

use std::sync::Arc;
use std::time::Duration;

use alloy_primitives::U256;
use test_support::eventually;
use tokio::time::timeout;
use tx_sender::{
    MemoryStore, Options, Record, Sender, SenderError, State, Store, TurnEnd, TurnStore,
};

use self::switched::Switched;
use crate::support::{LANE, World, name, submit, transfer};

/// Submits a transfer as a part of work that holds the account's turn.
async fn submit_in_turn(store: &MemoryStore, sender: &Sender, number: u64) {
    let turn = store.take_turn(LANE.account, "work", Duration::from_secs(600));
    let turn = turn.await.unwrap().unwrap();
    let (key, request) = (name(number), transfer(number));
    let submitted = sender.submit_in_turn(&key, LANE, request, Some(turn));
    submitted.await.unwrap();
    store.end_turn(turn, TurnEnd::Finished).await.unwrap();
}

/// How much of a record a replica still has.
#[derive(Debug, Clone, Copy)]
enum Left {
    Nothing,
    Prepared,
    Claimed,
}

/// Sends a request, loses its record, and submits it again. It must take effect once.
async fn takes_effect_once(left: Left, is_mined: bool) {
    let case = format!("{left:?} {is_mined}");
    let mut world = World::new();
    let primary = Arc::new(MemoryStore::default());
    world.store = primary.clone();
    let sender = world.sender().await;
    submit_in_turn(&primary, &sender, 1).await;
    world.blocks(3).await;
    submit_in_turn(&primary, &sender, 2).await;
    eventually("an attempt", async || {
        let lost = world.record(&name(2)).await;
        (!lost.attempts.is_empty()).then_some(())
    })
    .await;
    if is_mined {
        world.blocks(1).await;
    }
    let first = world.record(&name(1)).await;
    let lost = world.record(&name(2)).await;
    sender.close().await;

    let replica = Arc::new(MemoryStore::default());
    replica.insert(first).await.unwrap();
    let attempts = Vec::new();
    let known = match left {
        Left::Nothing => None,
        Left::Prepared => Some((State::Prepared, None)),
        Left::Claimed => Some((State::Claimed, lost.nonce)),
    };
    if let Some((state, nonce)) = known {
        let known = Record {
            state,
            nonce,
            attempts,
            ..lost
        };
        replica.insert(known).await.unwrap();
    }
    world.store = replica.clone();
    let sender = world.sender().await;
    submit_in_turn(&replica, &sender, 2).await;
    world.blocks(20).await;
    assert_eq!(world.effect(2), U256::from(1), "{case}");
    if is_mined {
        assert_eq!(world.state(&name(2)).await, "replaced", "{case}");
    }
    // The account can be used again.
    submit_in_turn(&replica, &sender, 3).await;
    world.blocks(3).await;
    assert_eq!(world.state(&name(3)).await, "sealed", "{case}");
}

#[tokio::test(start_paused = true)]
async fn a_request_whose_record_is_lost_takes_effect_once() {
    for left in [Left::Nothing, Left::Prepared, Left::Claimed] {
        for is_mined in [true, false] {
            takes_effect_once(left, is_mined).await;
        }
    }
}

/// Each of several lost requests is refused once. Nothing else is refused.
#[tokio::test(start_paused = true)]
async fn every_lost_request_takes_effect_once() {
    let mut world = World::new();
    let primary = Arc::new(MemoryStore::default());
    world.store = primary.clone();
    let sender = world.sender().await;
    for number in 1..=3 {
        submit_in_turn(&primary, &sender, number).await;
        world.blocks(3).await;
    }
    let first = world.record(&name(1)).await;
    sender.close().await;
    let replica = Arc::new(MemoryStore::default());
    replica.insert(first).await.unwrap();
    world.store = replica.clone();
    let sender = world.sender().await;
    for (number, state) in [(2, "replaced"), (3, "replaced"), (4, "sealed")] {
        submit_in_turn(&replica, &sender, number).await;
        world.blocks(12).await;
        assert_eq!(world.state(&name(number)).await, state, "{number}");
        assert_eq!(world.effect(number), U256::from(1), "{number}");
    }
}

/// A foreign transaction of the account uses a nonce. A request without a turn then takes the next
/// nonce; only a request that has the account to itself would be displaced.
#[tokio::test(start_paused = true)]
async fn a_foreign_transaction_displaces_no_request_without_a_turn() {
    let world = World::new();
    let sender = world.sender().await;
    submit(&sender, 1).await;
    world.blocks(3).await;
    world.send_behind_its_back(1);
    world.blocks(1).await;
    submit(&sender, 2).await;
    world.blocks(3).await;
    assert_eq!(world.state(&name(2)).await, "sealed");
}

/// Sends a request, lets a replica take over, and returns what the watch on the request returns.
async fn watched(replica: MemoryStore) -> Result<Record, SenderError> {
    let mut world = World::new();
    let store = Arc::new(Switched::default());
    world.store = store.clone();
    let sender = world.sender().await;
    submit(&sender, 1).await;
    world.comes_to(&name(1), "broadcast").await;
    let mut watch = sender.watch(&name(1)).await.unwrap();
    store.to(replica);
    let outcome = timeout(Duration::from_secs(60), watch.outcome()).await;
    outcome.unwrap()
}

/// A caller that waits for a record which the replica lacks gets an error, and can ask again.
#[tokio::test(start_paused = true)]
async fn the_watch_of_a_lost_record_ends() {
    let key = name(1);
    let lost = watched(MemoryStore::default()).await;
    assert_eq!(lost, Err(SenderError::UnknownKey { key }));
}

/// In the replica, a record may have ended with fewer writes than it had before.
#[tokio::test(start_paused = true)]
async fn a_record_without_its_last_writes_is_followed() {
    let replica = Arc::new(MemoryStore::default());
    let other = Sender::new(replica.clone(), Vec::new(), Vec::new(), Options::default());
    let ended = other.forbid(&name(1), LANE).await.unwrap();
    drop(other);
    let outcome = watched(Arc::into_inner(replica).unwrap()).await;
    assert_eq!(outcome, Ok(ended));
}
