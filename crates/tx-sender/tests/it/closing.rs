//! Tests of requests that the caller or the sender gives up.

use std::time::Duration;

use alloy_primitives::U256;
use test_support::pass;
use tx_sender::{Closing, Request, SenderError, State};

use crate::support::{BASE_FEE, CAP, LANE, NOW, World, name, submit, transfer};

#[tokio::test(start_paused = true)]
async fn a_key_belongs_to_one_request() {
    let world = World::new();
    let sender = world.sender().await;
    let first = sender.submit("k", LANE, transfer(1)).await.unwrap();
    let again = sender.submit("k", LANE, transfer(1)).await.unwrap();
    assert_eq!(first.record().id, again.record().id);
    let other = sender.submit("k", LANE, transfer(2)).await.unwrap_err();
    assert_eq!(other.code(), "sender_key_reused");
    world.blocks(2).await;
    let after = sender.submit("k", LANE, transfer(1)).await.unwrap();
    assert_eq!(after.record().state.as_str(), "sealed");
    world.blocks(2).await;
    assert_eq!(world.chain.transactions().len(), 1);
    let unknown = sender.cancel("nothing").await.unwrap_err();
    assert_eq!(unknown.code(), "sender_unknown_key");
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_request_leaves_no_gap() {
    let world = World::new();
    let sender = world.sender().await;
    for number in 1..=3 {
        submit(&sender, number).await;
    }
    world.until_waiting(3).await;
    let cancelled = sender.cancel(&name(1)).await.unwrap();
    assert_eq!(cancelled.closing, Some(Closing::Cancelled));
    world.blocks(3).await;
    let first = world.record(&name(1)).await;
    assert_eq!(first.state.as_str(), "abandoned");
    assert_eq!(world.effect(1), U256::ZERO);
    for number in [2, 3] {
        assert_eq!(world.state(&name(number)).await, "sealed");
        assert_eq!(world.effect(number), U256::from(1));
    }
    let late = sender.cancel(&name(2)).await.unwrap_err();
    assert!(matches!(late, SenderError::TooLate(_)), "{late:?}");
}

#[tokio::test(start_paused = true)]
async fn a_withdrawn_request_is_given_up_only_without_a_nonce() {
    let world = World::new();
    let sender = world.sender().await;
    submit(&sender, 1).await;
    let withdrawn = sender.withdraw(&name(1)).await.unwrap();
    assert_eq!(withdrawn.state, State::Abandoned(None));
    submit(&sender, 2).await;
    world.comes_to(&name(2), "broadcast").await;
    let kept = sender.withdraw(&name(2)).await.unwrap();
    assert_eq!((kept.state.as_str(), kept.closing), ("broadcast", None));
    world.blocks(2).await;
    assert_eq!(world.state(&name(2)).await, "sealed");
    assert_eq!(world.effect(1), U256::ZERO);
}

#[tokio::test(start_paused = true)]
async fn a_signed_request_is_not_given_up_as_unsigned() {
    let world = World::new();
    let sender = world.sender().await;
    submit(&sender, 1).await;
    let given_up = sender.cancel_unsigned(&name(1)).await.unwrap();
    assert_eq!(given_up.state, State::Abandoned(None));
    // A second attempt changes nothing.
    let late = sender.cancel_unsigned(&name(1)).await.unwrap_err();
    assert!(matches!(late, SenderError::TooLate(_)), "{late:?}");
    submit(&sender, 2).await;
    world.comes_to(&name(2), "broadcast").await;
    let kept = sender.cancel_unsigned(&name(2)).await.unwrap();
    assert_eq!((kept.state.as_str(), kept.closing), ("broadcast", None));
    world.blocks(2).await;
    assert_eq!(world.state(&name(2)).await, "sealed");
    assert_eq!(world.effect(1), U256::ZERO);
}

/// A block may include the request before its replacement.
#[tokio::test(start_paused = true)]
async fn a_cancelled_request_may_still_win() {
    let world = World::new();
    let sender = world.sender().await;
    submit(&sender, 1).await;
    world.comes_to(&name(1), "broadcast").await;
    let cancelled = sender.cancel(&name(1)).await.unwrap();
    // A block is made at this moment.
    world.chain.mine();
    assert_eq!(cancelled.state.as_str(), "broadcast");
    world.blocks(3).await;
    assert_eq!(world.state(&name(1)).await, "sealed");
    assert_eq!(world.effect(1), U256::from(1));
}

#[tokio::test(start_paused = true)]
async fn a_freed_lane_takes_new_requests() {
    let world = World::new();
    let sender = world.sender().await;
    for number in 1..=4 {
        submit(&sender, number).await;
    }
    world.until_waiting(4).await;
    // The base fee is above the cap of the requests, and below the cap of transactions without
    // effect.
    world.chain.set_base_fee(u64::try_from(CAP).unwrap() + 1000);
    world.blocks(2).await;
    submit(&sender, 5).await;
    assert_eq!(sender.free(LANE).await.unwrap(), 5);
    world.blocks(4).await;
    for number in 1..=5 {
        assert_eq!(world.state(&name(number)).await, "abandoned", "{number}");
        assert_eq!(world.effect(number), U256::ZERO);
    }
    world.chain.set_base_fee(BASE_FEE);
    submit(&sender, 6).await;
    world.blocks(2).await;
    assert_eq!(world.state(&name(6)).await, "sealed");
}

#[tokio::test(start_paused = true)]
async fn a_request_whose_time_is_over_is_not_sent() {
    let world = World::new();
    let sender = world.sender().await;
    let soon = |number| Request {
        not_after: Some(NOW + 20),
        ..transfer(number)
    };
    // This request is sent and is not mined in time.
    sender.submit(&name(1), LANE, soon(1)).await.unwrap();
    world.comes_to(&name(1), "broadcast").await;
    world.chain.set_base_fee(u64::try_from(CAP).unwrap() + 1000);
    world.blocks(5).await;
    // This request is not sent in time.
    sender.submit(&name(2), LANE, soon(2)).await.unwrap();
    world.blocks(25).await;
    for number in [1, 2] {
        let record = world.record(&name(number)).await;
        assert_eq!(record.closing, Some(Closing::Expired));
        assert_eq!(record.state.as_str(), "abandoned");
        assert_eq!(world.effect(number), U256::ZERO);
    }
}

/// The nodes are slow, and callers always withdraw some requests before the nodes have answered.
#[tokio::test(start_paused = true)]
async fn a_request_is_sent_while_callers_withdraw_others() {
    let mut world = World::new();
    world.node.latency = Duration::from_millis(300);
    let sender = world.sender().await;
    let withdrawals = async {
        for number in 100.. {
            submit(&sender, number).await;
            if number >= 110 {
                sender.withdraw(&name(number - 10)).await.unwrap();
            }
            pass(Duration::from_millis(50)).await;
        }
    };
    let sent = async {
        pass(Duration::from_secs(2)).await;
        submit(&sender, 1).await;
        world.comes_to(&name(1), "broadcast").await;
    };
    tokio::select! {
        () = withdrawals => {}
        () = sent => {}
    }
}
