//! Revocations of accounts that a server does not know take a bounded room, and displace nothing.

use std::sync::Arc;

use alloy_primitives::{B256, U256};
use alloy_signer_local::PrivateKeySigner;
use delegation_fence::onchain::Level;
use delegation_fence::{MOST_TOMBSTONES, Revocation, Signed, TOMBSTONE_SECONDS};
use fence_server::{DelegationError, Delegations, Parts, SqliteStore, Store};

use crate::{
    dying::Dying,
    onchain::{ChainAnswers, Node, account, delegated_grant, delegated_parts, file},
    sample::{ACCOUNT, NOW},
    stage::{GRANT_ID, StoreLocation, at, grant, key, owner, revocation, sign},
    world::{Clock, Custody, code, desk, log},
};

fn id(number: u64) -> B256 {
    B256::from(U256::from(number + 1))
}

fn of(key: &PrivateKeySigner, grant_id: B256, revoked_at: u64) -> Signed<Revocation> {
    let message = Revocation {
        account: key.address(),
        ..revocation(grant_id, revoked_at).message().clone()
    };
    sign(message, key)
}

struct World {
    location: StoreLocation,
    clock: Clock,
    node: Node,
    desk: Delegations,
}

/// A server with room for so many revocations of strangers.
async fn world(strangers_revocations: u64) -> World {
    let (location, clock) = (StoreLocation::new(), Clock::new());
    let node = Node::new(Level::Stock);
    let parts = delegated_parts(location.open(), &clock, &Custody::delegated(), &node);
    let desk = Delegations::install(Parts {
        strangers_revocations,
        ..parts
    });
    let desk = desk.await.unwrap();
    node.change(|answers| answers.code.clear());
    World {
        location,
        clock,
        node,
        desk,
    }
}

impl World {
    async fn revoke(&self, signed: Signed<Revocation>) -> &'static str {
        code(self.desk.receive_revocation(signed).await)
    }

    async fn is_known(&self, key: &PrivateKeySigner, grant_id: B256) -> bool {
        self.desk.grant_state(key.address(), grant_id).await.is_ok()
    }
}

#[tokio::test]
async fn the_room_of_strangers_is_theirs_alone() {
    let world = world(3).await;
    for number in 1..=3 {
        assert_eq!(world.revoke(of(&key(number), id(0), NOW)).await, "ok");
    }
    let late = of(&key(4), id(0), NOW);
    let DelegationError::Refused(refusal) = world
        .desk
        .receive_revocation(late.clone())
        .await
        .unwrap_err()
    else {
        panic!("refused")
    };
    assert_eq!(refusal.code(), "revocations_full");
    assert!(refusal.message.starts_with("nothing is revoked: "));
    assert_eq!(
        world.revoke(of(&key(4), B256::ZERO, NOW)).await,
        "revocations_full"
    );
    assert!(!world.is_known(&key(4), id(0)).await);
    // A repetition needs no room.
    assert_eq!(world.revoke(of(&key(1), id(0), NOW + 9)).await, "ok");

    // A node that does not answer makes nobody known.
    world.node.change(|answers| answers.is_away = true);
    assert_eq!(world.revoke(late.clone()).await, "revocations_full");
    // Accounts with delegation code have as much room, and only for themselves.
    world
        .node
        .change(|answers| *answers = ChainAnswers::fresh());
    for number in 4..=6 {
        assert_eq!(world.revoke(of(&key(number), id(0), NOW)).await, "ok");
    }
    assert_eq!(
        world.revoke(of(&key(7), id(0), NOW)).await,
        "revocations_full"
    );
    // A sub-wallet has room of its own, also for all of its grants.
    for grant_id in [id(0), id(1), B256::ZERO] {
        assert_eq!(world.revoke(revocation(grant_id, NOW)).await, "ok");
    }
    // So has an account with a grant, and its grant can always be revoked.
    let granted = file(delegated_grant(GRANT_ID), Level::Stock);
    assert_eq!(code(world.desk.receive_grant(granted).await), "ok");
    world.node.change(|answers| answers.code.clear());
    for grant_id in [id(0), GRANT_ID, B256::ZERO] {
        assert_eq!(world.revoke(of(&owner(), grant_id, NOW)).await, "ok");
    }
}

/// The end of all grants rises with each message, and each writes a record of the log.
#[tokio::test]
async fn what_a_stranger_writes_again_and_again_takes_room_each_time() {
    let world = world(3).await;
    for seconds in 0..3 {
        assert_eq!(
            world.revoke(of(&key(1), B256::ZERO, NOW + seconds)).await,
            "ok"
        );
    }
    assert_eq!(
        world.revoke(of(&key(1), B256::ZERO, NOW + 3)).await,
        "revocations_full"
    );
    // One account cannot take more than any account may.
    let wide = self::world(1000).await;
    for number in 0..MOST_TOMBSTONES {
        assert_eq!(wide.revoke(of(&key(1), id(number), NOW)).await, "ok");
    }
    let above = of(&key(1), id(MOST_TOMBSTONES), NOW);
    assert_eq!(wide.revoke(above).await, "too_many_revocations");
    assert_eq!(wide.revoke(of(&key(1), B256::ZERO, NOW)).await, "ok");
}

#[tokio::test]
async fn an_account_that_becomes_known_gives_its_room_back() {
    let world = world(2).await;
    for grant_id in [id(0), B256::ZERO] {
        assert_eq!(world.revoke(of(&owner(), grant_id, NOW - 60)).await, "ok");
    }
    assert_eq!(
        world.revoke(of(&key(1), id(0), NOW)).await,
        "revocations_full"
    );
    world
        .node
        .change(|answers| *answers = ChainAnswers::fresh());
    let granted = file(delegated_grant(GRANT_ID), Level::Stock);
    assert_eq!(code(world.desk.receive_grant(granted).await), "ok");
    world.node.change(|answers| answers.code.clear());
    assert_eq!(world.revoke(of(&key(1), id(0), NOW)).await, "ok");
    // Its revocations stay, and the end of all grants for ever.
    world.clock.pass(TOMBSTONE_SECONDS);
    world
        .desk
        .forget(at(NOW + TOMBSTONE_SECONDS))
        .await
        .unwrap();
    let view = world
        .location
        .open()
        .view(account(), id(0), None)
        .await
        .unwrap();
    assert_eq!((view.ended, view.ended_all.unwrap().at), (None, NOW - 60));
}

#[tokio::test]
async fn tombstones_are_deleted_when_every_grant_is_over() {
    let world = world(2).await;
    let granted = sign(grant(GRANT_ID), &owner());
    assert_eq!(code(world.desk.receive_grant(granted).await), "ok");
    let strangers = [(key(1), id(0)), (key(2), B256::ZERO)];
    for (key, grant_id) in &strangers {
        assert_eq!(world.revoke(of(key, *grant_id, NOW)).await, "ok");
    }
    for grant_id in [GRANT_ID, id(7)] {
        assert_eq!(world.revoke(revocation(grant_id, NOW)).await, "ok");
    }
    let over = NOW + TOMBSTONE_SECONDS;
    let records = async |account, grant_id| {
        let log = world.desk.store().log(account, grant_id, 0, 9).await;
        log.unwrap().len()
    };
    world.desk.forget(at(over - 1)).await.unwrap();
    for (key, grant_id) in &strangers {
        assert_eq!(records(key.address(), *grant_id).await, 1);
    }
    // The room is free at that second, before anything is deleted.
    world.clock.pass(TOMBSTONE_SECONDS);
    assert_eq!(world.revoke(of(&key(3), id(0), over)).await, "ok");
    // Within ten minutes it looks once.
    world.desk.forget(at(over)).await.unwrap();
    assert_eq!(records(key(1).address(), id(0)).await, 1);
    world.desk.forget(at(over + 600)).await.unwrap();
    for (key, grant_id) in &strangers {
        assert_eq!(records(key.address(), *grant_id).await, 0);
        assert_eq!(
            world
                .desk
                .store()
                .view(key.address(), id(0), None)
                .await
                .unwrap()
                .version,
            0
        );
    }
    assert_eq!(records(ACCOUNT, id(7)).await, 0);
    // The end of a grant that was received stays, with its log.
    assert_eq!(
        log(&**world.desk.store(), GRANT_ID).await,
        ["granted", "revoked"]
    );
    assert!(world.is_known(&key(3), id(0)).await);
}

/// A page holds 256 of them.
#[tokio::test]
async fn tombstones_are_deleted_in_pages() {
    let world = world(1000).await;
    for number in 0..300 {
        let key = key(1 + u8::try_from(number % 2).unwrap());
        assert_eq!(world.revoke(of(&key, id(number), NOW)).await, "ok");
    }
    let store = world.desk.store();
    let over = at(NOW + TOMBSTONE_SECONDS);
    assert_eq!(store.forget(over, 7).await, Ok(7));
    world.desk.forget(over).await.unwrap();
    assert_eq!(store.forget(over, 7).await, Ok(0));
}

/// The database loses the owner's revocation after strangers have sent more than any number that a
/// server would like to remember.
#[tokio::test]
async fn four_thousand_tombstones_displace_no_revocation() {
    let location = StoreLocation::in_file();
    let store: Arc<dyn Store> = Arc::new(SqliteStore::open(location.file()).unwrap());
    let store = Arc::new(Dying::never(store));
    store.begin_history("1");
    let (clock, node) = (Clock::new(), Node::new(Level::Stock));
    let parts = delegated_parts(store.clone(), &clock, &Custody::delegated(), &node);
    let desk = Delegations::install(Parts {
        strangers_revocations: 4_096,
        ..parts
    });
    let desk = desk.await.unwrap();
    let granted = sign(grant(GRANT_ID), &owner());
    desk.receive_grant(granted).await.unwrap();
    let told = desk.receive_revocation(revocation(GRANT_ID, NOW)).await;
    let told = told.unwrap();
    node.change(|answers| answers.code.clear());
    for number in 0..4_096_u64 {
        let key = key(1 + u8::try_from(number % 16).unwrap());
        let signed = of(&key, id(number), NOW);
        desk.receive_revocation(signed).await.unwrap();
    }
    let refused = of(&key(99), id(0), NOW);
    assert_eq!(
        code(desk.receive_revocation(refused).await),
        "revocations_full"
    );
    desk.reassert().await.unwrap();

    let file = rusqlite::Connection::open(location.file()).unwrap();
    let lost = format!(
        "DELETE FROM ending WHERE account = '{ACCOUNT}';
         DELETE FROM log WHERE account = '{ACCOUNT}' AND event = 'revoked';
         DELETE FROM ending WHERE account = '{}';",
        key(1).address()
    );
    file.execute_batch(&lost).unwrap();
    let state = desk.grant_state(ACCOUNT, GRANT_ID).await.unwrap();
    assert_eq!(state.state, "active");
    store.begin_history("2");
    desk.reassert().await.unwrap();
    let again = desk.receive_revocation(revocation(GRANT_ID, NOW)).await;
    assert_eq!(again.unwrap(), told);
    // Nor are the acknowledged ones of a stranger lost, and the refused one was never remembered.
    let state = desk.grant_state(key(1).address(), id(0)).await.unwrap();
    assert_eq!(state.state, "revoked");
    assert!(desk.grant_state(key(99).address(), id(0)).await.is_err());
}

/// What is over is not written again.
#[tokio::test]
async fn the_memory_ends_with_the_longest_life_of_a_grant() {
    let location = StoreLocation::in_file();
    let store: Arc<dyn Store> = Arc::new(SqliteStore::open(location.file()).unwrap());
    let store = Arc::new(Dying::never(store));
    let clock = Clock::new();
    let desk = desk(store.clone(), 1, &clock, &Custody::new()).await;
    desk.receive_revocation(revocation(id(0), NOW))
        .await
        .unwrap();
    for (now, state) in [
        (TOMBSTONE_SECONDS - 1, true),
        (TOMBSTONE_SECONDS + 600, false),
    ] {
        let file = rusqlite::Connection::open(location.file()).unwrap();
        file.execute_batch("DELETE FROM ending; DELETE FROM log;")
            .unwrap();
        desk.forget(at(NOW + now)).await.unwrap();
        store.begin_history(&now.to_string());
        desk.reassert().await.unwrap();
        assert_eq!(
            desk.grant_state(ACCOUNT, id(0)).await.is_ok(),
            state,
            "{now}"
        );
    }
}
