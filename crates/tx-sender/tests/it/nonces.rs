//! Tests with lost transactions, and with nonces that somebody else has used.

use crate::support::{LANE, World, name, submit};
use alloy_primitives::U256;
use dev_chain::{BadAnswer, InjectedFault};

#[tokio::test(start_paused = true)]
async fn a_transaction_that_a_node_has_taken_and_forgotten_is_sent_again_as_it_is() {
    let world = World::new();
    let sender = world.sender().await;
    world.chain.forget_sends(1);
    submit(&sender, 1).await;
    world.blocks(3).await;
    assert_eq!(world.state(&name(1)).await, "broadcast");
    assert!(world.chain.waiting().is_empty());
    world.blocks(4).await;
    let record = world.record(&name(1)).await;
    assert_eq!(
        (record.state.as_str(), record.attempts.len()),
        ("sealed", 1)
    );
    assert_eq!(world.chain.transactions()[0].hash, record.attempts[0].hash);
}

#[tokio::test(start_paused = true)]
async fn an_evicted_transaction_is_sent_again_under_its_nonce() {
    let world = World::new();
    let sender = world.sender().await;
    for number in 1..=3 {
        submit(&sender, number).await;
    }
    world.until_waiting(3).await;
    let first = world.record(&name(1)).await;
    assert!(world.chain.evict(first.attempts[0].hash));
    world.blocks(8).await;
    let hashes: Vec<_> = world
        .chain
        .transactions()
        .iter()
        .map(|sent| sent.hash)
        .collect();
    assert_eq!(hashes.len(), 3);
    for number in 1..=3 {
        let record = world.record(&name(number)).await;
        assert_eq!(
            (record.state.as_str(), record.attempts.len()),
            ("sealed", 1)
        );
        assert_eq!(record.nonce, Some(number - 1));
    }
}

#[tokio::test(start_paused = true)]
async fn a_request_is_replaced_when_somebody_else_has_used_its_nonce_and_nothing_waits_for_it() {
    let world = World::new();
    let sender = world.sender().await;
    world.chain.forget_sends(2);
    submit(&sender, 1).await;
    submit(&sender, 2).await;
    for number in [1, 2] {
        world.comes_to(&name(number), "broadcast").await;
    }
    let theirs = world.send_behind_its_back(0);
    world.blocks(12).await;
    let replaced = world.record(&name(1)).await;
    assert_eq!(replaced.state.as_str(), "replaced");
    assert_eq!(replaced.state.inclusion().unwrap().hash, theirs);
    assert_eq!(world.state(&name(2)).await, "sealed");
    assert_eq!(
        (world.effect(1), world.effect(2)),
        (U256::ZERO, U256::from(1))
    );
}

/// The transactions of another process came before the sender's check.
#[tokio::test(start_paused = true)]
async fn nonces_that_are_used_already_are_not_claimed() {
    let world = World::new();
    let sender = world.sender().await;
    for nonce in 0..3 {
        world.send_behind_its_back(nonce);
    }
    world.chain.mine();
    submit(&sender, 1).await;
    world.blocks(2).await;
    let record = world.record(&name(1)).await;
    assert_eq!((record.state.as_str(), record.nonce), ("sealed", Some(3)));
}

/// A reorganisation removes the transaction of somebody else. So a nonce below ours is missing.
#[tokio::test(start_paused = true)]
async fn a_gap_below_a_waiting_transaction_is_filled() {
    let world = World::new();
    let sender = world.sender().await;
    world.send_behind_its_back(0);
    world.chain.mine();
    submit(&sender, 1).await;
    world.comes_to(&name(1), "broadcast").await;
    assert_eq!(world.record(&name(1)).await.nonce, Some(1));
    world.chain.reorganise(1, dev_chain::Fate::Dropped);
    world.blocks(4).await;
    assert_eq!(world.state(&name(1)).await, "broadcast");
    world.blocks(8).await;
    assert_eq!(world.state(&name(1)).await, "sealed");
    assert_eq!(world.effect(1), U256::from(1));
    let live = world.store.live(LANE).await.unwrap();
    let filler = live.iter().find(|record| record.is_filler()).unwrap();
    assert_eq!(
        (filler.state.as_str(), filler.nonce),
        ("abandoned", Some(0))
    );
}

/// The next request fills the gap as well as a filler would.
#[tokio::test(start_paused = true)]
async fn a_gap_is_filled_by_the_next_request() {
    let world = World::new();
    let sender = world.sender().await;
    world.send_behind_its_back(0);
    world.chain.mine();
    submit(&sender, 1).await;
    world.comes_to(&name(1), "broadcast").await;
    world.chain.reorganise(1, dev_chain::Fate::Dropped);
    submit(&sender, 2).await;
    world.blocks(3).await;
    assert_eq!(world.record(&name(2)).await.nonce, Some(0));
    for number in [1, 2] {
        assert_eq!(world.state(&name(number)).await, "sealed");
    }
}

/// A node refuses a transaction that it has already taken. Whatever the message says, the sender
/// sends nothing under another nonce, and the block decides.
#[tokio::test(start_paused = true)]
async fn a_refusal_after_the_node_has_taken_the_transaction_changes_nothing() {
    for words in [
        "nonce too low",
        "already known",
        "replacement transaction underpriced",
        "insufficient funds for gas * price + value",
        "intrinsic gas too low",
        "rate limited",
        "internal error",
    ] {
        let world = World::new();
        let sender = world.sender().await;
        let answer = BadAnswer::Error {
            code: -32603,
            message: words.to_owned(),
        };
        world
            .chain
            .inject(InjectedFault::new("eth_sendRawTransaction", answer).after());
        submit(&sender, 1).await;
        world.until_waiting(1).await;
        world.chain.mine();
        world.blocks(12).await;
        let record = world.record(&name(1)).await;
        assert_eq!(
            (record.state.as_str(), record.nonce),
            ("sealed", Some(0)),
            "{words}"
        );
        assert_eq!(world.effect(1), U256::from(1), "{words}");
        assert_eq!(world.chain.transactions().len(), 1, "{words}");
    }
}

/// The transaction is lost before it arrives, or the answer is lost after that.
#[tokio::test(start_paused = true)]
async fn a_lost_answer_changes_nothing() {
    for (answer, after) in [
        (BadAnswer::Close, false),
        (BadAnswer::Close, true),
        (BadAnswer::Never, false),
        (BadAnswer::Never, true),
    ] {
        let world = World::new();
        let sender = world.sender().await;
        let fault = InjectedFault::new("eth_sendRawTransaction", answer);
        world
            .chain
            .inject(if after { fault.after() } else { fault });
        submit(&sender, 1).await;
        world.blocks(40).await;
        let record = world.record(&name(1)).await;
        assert_eq!((record.state.as_str(), record.nonce), ("sealed", Some(0)));
        assert_eq!(world.chain.transactions().len(), 1);
    }
}
