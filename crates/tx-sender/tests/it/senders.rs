//! Tests with two senders on one store, and with a clock that is set back.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use alloy_primitives::U256;
use test_support::eventually;
use tx_sender::{Chain, Clock, Options, Sender, Takeover};

use crate::support::{LANE, NOW, World, key, name, submit};

#[tokio::test(start_paused = true)]
async fn two_senders_on_one_store_send_everything_once() {
    let world = World::new();
    let (one, two) = (world.sender().await, world.sender().await);
    for number in 1..=10 {
        submit(if number % 2 == 0 { &one } else { &two }, number).await;
        // Both senders get the same idempotency key.
        submit(&one, 1).await;
    }
    world.blocks(6).await;
    for number in 1..=10 {
        assert_eq!(world.state(&name(number)).await, "sealed");
        assert_eq!(world.effect(number), U256::from(1));
    }
    assert_eq!(world.chain.transactions().len(), 10);
    // While requests wait for a block, one of the senders works on the lane. The other one reports
    // that.
    submit(&one, 11).await;
    submit(&two, 12).await;
    world.until_waiting(2).await;
    let is_elsewhere = |sender: &Sender| sender.status(LANE).elsewhere;
    let differs = async || (is_elsewhere(&one) != is_elsewhere(&two)).then_some(());
    eventually("one of them works the lane", differs).await;
    assert_eq!([world.hold(&one), world.hold(&two)], [None, None]);

    // The holder ends. The other sender continues when the lease is over.
    let (rest, gone) = if is_elsewhere(&one) {
        (one, two)
    } else {
        (two, one)
    };
    drop(gone);
    submit(&rest, 13).await;
    world.blocks(60).await;
    assert_eq!(world.state(&name(13)).await, "sealed");
    assert_eq!(world.chain.transactions().len(), 13);
}

/// Two processes use one signing key and do not know each other's records. They take nonces from
/// each other, and no request takes effect twice.
#[tokio::test(start_paused = true)]
async fn two_senders_of_one_key_with_records_of_their_own_settle_every_request_once_or_not() {
    let (one, mut two) = (World::new(), World::new());
    // Both use the same chain.
    two.chain = one.chain.clone();
    two.node = one.node.clone();
    let (first, second) = (one.sender().await, two.sender().await);
    for number in 1..=6 {
        submit(&first, number).await;
        submit(&second, number + 10).await;
        one.blocks(2).await;
    }
    one.blocks(60).await;
    let (mut sealed, mut replaced) = (0, 0);
    for (world, number) in (1..=6).flat_map(|number| [(&one, number), (&two, number + 10)]) {
        let record = world.record(&name(number)).await;
        match record.state.as_str() {
            "sealed" => sealed += 1,
            "replaced" => replaced += 1,
            state => panic!("{number}: {state}"),
        }
        let effect = U256::from(u64::from(record.state.as_str() == "sealed"));
        assert_eq!(one.effect(number), effect, "{number}");
    }
    assert!(sealed >= 6, "{sealed} {replaced}");
    assert_eq!(one.chain.transactions().len(), sealed);
    for (world, sender) in [(&one, &first), (&two, &second)] {
        assert_eq!(world.hold(sender), None);
    }
}

#[tokio::test(start_paused = true)]
async fn a_predecessor_that_has_ended_is_not_waited_for() {
    let world = World::new();
    let first = world.sender().await;
    submit(&first, 1).await;
    world.blocks(1).await;
    drop(first);
    let chain = Chain {
        id: LANE.chain_id,
        nodes: vec![world.node.node()],
        policy: world.policy,
    };
    let options = Options {
        takeover: Takeover::AtOnce,
        ..world.options()
    };
    let second = Sender::start(world.store.clone(), vec![chain], vec![key()], options).await;
    let second = second.unwrap();
    submit(&second, 2).await;
    world.blocks(2).await;
    assert_eq!(world.state(&name(2)).await, "sealed");
}

#[tokio::test(start_paused = true)]
async fn a_clock_that_is_set_back_delays_nothing() {
    let world = World::new();
    let now = Arc::new(AtomicU64::new(NOW));
    let chain = || Chain {
        id: LANE.chain_id,
        nodes: vec![world.node.node()],
        policy: world.policy,
    };
    let options = || {
        let now = now.clone();
        Options {
            clock: Clock::new(move || now.load(Ordering::Relaxed)),
            ..Options::default()
        }
    };
    let first = Sender::start(world.store.clone(), vec![chain()], vec![key()], options());
    let first = first.await.unwrap();
    world.chain.forget_sends(1);
    submit(&first, 1).await;
    world.comes_to(&name(1), "broadcast").await;
    now.store(NOW - 86_400, Ordering::Relaxed);
    world.blocks(8).await;
    assert_eq!(world.state(&name(1)).await, "sealed");

    // A lease that ends a day ahead counts as over.
    now.store(NOW, Ordering::Relaxed);
    submit(&first, 2).await;
    world.blocks(2).await;
    drop(first);
    now.store(NOW - 86_400, Ordering::Relaxed);
    let second = Sender::start(world.store.clone(), vec![chain()], vec![key()], options());
    let second = second.await.unwrap();
    submit(&second, 3).await;
    world.blocks(3).await;
    assert_eq!(world.state(&name(3)).await, "sealed");
}
