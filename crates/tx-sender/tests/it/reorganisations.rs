//! Tests with reorganisations that remove blocks.

use alloy_primitives::U256;
use dev_chain::Fate;
use tx_sender::Request;

use crate::support::{LANE, World, name, submit, transfer};

#[tokio::test(start_paused = true)]
async fn a_sealed_transaction_whose_block_is_gone_is_sent_again_unchanged() {
    for depth in 1..=5 {
        for fate in [Fate::Dropped, Fate::Waiting] {
            let world = World::new();
            let sender = world.sender().await;
            for number in 1..=3 {
                submit(&sender, number).await;
            }
            world.blocks(u32::try_from(depth).unwrap()).await;
            let before: Vec<_> = world
                .chain
                .transactions()
                .iter()
                .map(|sent| sent.hash)
                .collect();
            assert_eq!(before.len(), 3);
            for number in 1..=3 {
                assert_eq!(world.state(&name(number)).await, "sealed");
            }
            world.chain.reorganise(depth, fate);
            assert!(world.chain.transactions().is_empty());
            world.comes_to(&name(1), "broadcast").await;
            world.blocks(6).await;
            let after: Vec<_> = world
                .chain
                .transactions()
                .iter()
                .map(|sent| sent.hash)
                .collect();
            assert_eq!(after, before, "{depth} {fate:?}");
            for number in 1..=3 {
                assert_eq!(world.state(&name(number)).await, "sealed");
                assert_eq!(world.effect(number), U256::from(1));
            }
        }
    }
}

/// The depth counts from the canonical block. A request's own number of confirmations takes
/// precedence over the chain's.
#[tokio::test(start_paused = true)]
async fn confirmations_are_waited_for() {
    let mut world = World::new();
    world.policy.confirmations = 3;
    let sender = world.sender().await;
    submit(&sender, 1).await;
    let hasty = Request {
        confirmations: Some(0),
        ..transfer(2)
    };
    sender.submit(&name(2), LANE, hasty).await.unwrap();
    world.until_waiting(2).await;
    world.blocks(3).await;
    assert_eq!(world.state(&name(1)).await, "mined");
    assert_eq!(world.state(&name(2)).await, "sealed");
    world.chain.reorganise(3, Fate::Waiting);
    world.comes_to(&name(1), "broadcast").await;
    world.blocks(4).await;
    assert_eq!(world.state(&name(1)).await, "sealed");
}

#[tokio::test(start_paused = true)]
async fn the_watch_ends_after_64_blocks() {
    let world = World::new();
    let sender = world.sender().await;
    submit(&sender, 1).await;
    world.blocks(60).await;
    assert!(!world.record(&name(1)).await.is_final);
    world.blocks(10).await;
    assert!(world.record(&name(1)).await.is_final);
    drop(sender);
}

/// A replaced transaction can take effect again when the block of the other one is gone.
#[tokio::test(start_paused = true)]
async fn a_replaced_transaction_comes_back_with_a_reorganisation() {
    let world = World::new();
    let sender = world.sender().await;
    world.chain.forget_sends(1);
    submit(&sender, 1).await;
    world.comes_to(&name(1), "broadcast").await;
    world.send_behind_its_back(0);
    world.blocks(10).await;
    assert_eq!(world.state(&name(1)).await, "replaced");
    world.chain.reorganise(10, Fate::Dropped);
    world.blocks(6).await;
    assert_eq!(world.state(&name(1)).await, "sealed");
    assert_eq!(world.effect(1), U256::from(1));
}
