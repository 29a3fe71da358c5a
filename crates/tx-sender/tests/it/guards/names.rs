//! Tests of the guards about holds: every cause that holds a lane has a name, and nothing else
//! holds one.

use alloy_consensus::{Transaction, TxEnvelope};
use alloy_eips::Decodable2718;
use tx_sender::Kind;

use super::*;

const SEND: &str = "eth_sendRawTransaction";

fn sends(world: &World) -> usize {
    world
        .node
        .asked
        .lock()
        .unwrap()
        .get(SEND)
        .copied()
        .unwrap_or_default()
}

/// The nonces of these requests are used: a block has taken them, even if the node does not show
/// that block.
#[tokio::test(start_paused = true)]
async fn a_request_that_only_lacks_its_receipt_takes_no_room() {
    let mut world = World::new();
    world.policy.max_in_flight = 2;
    world.chain.delay_receipts(u32::MAX);
    let sender = world.sender().await;
    for number in 1..=3 {
        submit(&sender, number).await;
    }
    world.blocks(6).await;
    assert_eq!(world.effect(3), U256::from(1));
    for number in 1..=3 {
        assert_eq!(world.state(&name(number)).await, "broadcast");
    }
    assert_eq!(world.hold(&sender), Some("outcome_unknown"));
    world.chain.delay_receipts(0);
    world.blocks(3).await;
    for number in 1..=3 {
        assert_eq!(world.state(&name(number)).await, "sealed");
    }
    assert_eq!(world.hold(&sender), None);
}

/// A node requires more than the cap allows, although the base fee is far below the cap.
#[tokio::test(start_paused = true)]
async fn a_request_for_which_nodes_require_more_than_its_cap_holds_the_lane() {
    for words in [
        "transaction underpriced",
        "replacement transaction underpriced",
    ] {
        let world = World::new();
        let sender = world.sender().await;
        let refusal = BadAnswer::Error {
            code: -32000,
            message: words.to_owned(),
        };
        world
            .chain
            .inject(InjectedFault::new(SEND, refusal).times(u32::MAX));
        submit(&sender, 1).await;
        pass(Duration::from_secs(30)).await;
        for _ in 0..10 {
            pass(Duration::from_millis(700)).await;
            assert_eq!(world.hold(&sender), Some("fees_above_cap"), "{words}");
        }
        assert_eq!(world.state(&name(1)).await, "broadcast");
        world.chain.clear_faults();
        world.blocks(6).await;
        assert_eq!(world.state(&name(1)).await, "sealed");
        assert_eq!(world.hold(&sender), None);
    }
}

fn gas_limit(raw: &[u8]) -> u64 {
    TxEnvelope::decode_2718(&mut &*raw).unwrap().gas_limit()
}

/// On some chains gas also pays for data on another chain, so a transfer there needs more than
/// 21,000 gas.
#[tokio::test(start_paused = true)]
async fn a_transaction_without_effect_has_the_gas_that_its_chain_asks_for() {
    for (configured, expected) in [(None, 125_000), (Some(70_000), 70_000)] {
        let mut world = World::new();
        world.policy.noop_gas = configured;
        let refuses = Arc::new(AtomicBool::new(false));
        let refuse = Arc::clone(&refuses);
        let node = scripted(&world.node, move |method, _| match method {
            "eth_estimateGas" => Some(Ok(json!({ "result": "0x186a0" }))),
            SEND if refuse.load(Ordering::Relaxed) => {
                let error = json!({ "code": -32000, "message": "intrinsic gas too low" });
                Some(Ok(json!({ "error": error })))
            }
            _ => None,
        });
        let sender = world
            .sender_over(world.store.clone(), vec![node], key())
            .await;
        submit(&sender, 1).await;
        world.comes_to(&name(1), "broadcast").await;
        assert_eq!(world.hold(&sender), None);
        // The hold states why the nodes still refuse.
        refuses.store(true, Ordering::Relaxed);
        sender.cancel(&name(1)).await.unwrap();
        world.until_held(&sender, Some("noop_refused")).await;
        let record = world.record(&name(1)).await;
        let newest = record.newest().unwrap();
        assert_eq!(newest.kind, Kind::Noop);
        assert_eq!(newest.noop_gas, Some(expected));
        assert_eq!(gas_limit(&newest.raw), expected);
        refuses.store(false, Ordering::Relaxed);
        world.until_held(&sender, None).await;
        world.blocks(2).await;
        assert_eq!(world.state(&name(1)).await, "abandoned");
        assert_eq!(world.effect(1), U256::ZERO);
        assert_eq!(world.hold(&sender), None);
    }
}

/// One node calls the request invalid, and nobody knows what the other node has done with it.
#[tokio::test(start_paused = true)]
async fn a_refusal_that_another_node_has_not_confirmed_closes_nothing() {
    for fault in [NodeFault::Lost { method: SEND }, NodeFault::Unreachable] {
        for lost_first in [true, false] {
            let world = World::new();
            let fails = fault.clone();
            let lost = scripted(&world.node, move |method, _| {
                (method == SEND).then(|| Err(fails.clone()))
            });
            let invalid = scripted(&world.node, |method, _| {
                let error = json!({ "code": -32000, "message": "intrinsic gas too low" });
                (method == SEND).then(|| Ok(json!({ "error": error })))
            });
            let mut nodes = vec![invalid, lost];
            if lost_first {
                nodes.reverse();
            }
            let sender = world.sender_over(world.store.clone(), nodes, key()).await;
            submit(&sender, 1).await;
            for _ in 0..8 {
                pass(Duration::from_secs(1)).await;
                assert_eq!(world.record(&name(1)).await.closing, None, "{fault:?}");
                assert_eq!(world.hold(&sender), Some("nodes_unavailable"), "{fault:?}");
            }
        }
    }
}

/// A request is in the way of others only while the market is above its cap.
#[tokio::test(start_paused = true)]
async fn a_request_is_in_the_way_only_while_the_market_is_above_its_cap() {
    let world = World::new();
    let sender = world.sender().await;
    let tight = Request {
        max_fee_per_gas: Some(u128::from(BASE_FEE) * 21 / 10),
        ..transfer(1)
    };
    sender.submit(&name(1), LANE, tight).await.unwrap();
    submit(&sender, 2).await;
    world.until_waiting(2).await;
    // This block does not have the waiting transactions. So the sender sees the market, and nothing
    // is mined.
    let head_at = |base_fee: u64| {
        world.chain.set_base_fee(base_fee);
        for hash in world.chain.waiting() {
            assert!(world.chain.evict(hash));
        }
        world.chain.mine();
    };
    for _ in 0..3 {
        head_at(BASE_FEE * 5);
        pass(Duration::from_secs(40)).await;
        assert_eq!(world.hold(&sender), Some("fees_above_cap"));
        assert_eq!(world.record(&name(1)).await.closing, None);
        head_at(BASE_FEE);
        world.until_held(&sender, None).await;
    }
    head_at(BASE_FEE * 5);
    let closing = async || world.record(&name(1)).await.closing;
    let closing = eventually("the request is closed", closing).await;
    assert_eq!(closing, tx_sender::Closing::InTheWay);
}

/// The sender cannot close the nonce yet, but it must stop sending the cancelled request.
#[tokio::test(start_paused = true)]
async fn the_bytes_of_a_cancelled_request_are_not_sent() {
    let mut world = World::new();
    world.policy.noop_max_fee_per_gas = Some(u128::from(BASE_FEE));
    let sender = world.sender().await;
    submit(&sender, 1).await;
    world.comes_to(&name(1), "broadcast").await;
    sender.cancel(&name(1)).await.unwrap();
    let before = sends(&world);
    for hash in world.chain.waiting() {
        assert!(world.chain.evict(hash));
    }
    pass(Duration::from_secs(30)).await;
    assert_eq!(sends(&world), before);
    assert_eq!(world.hold(&sender), Some("fees_above_cap"));
    assert!(world.chain.waiting().is_empty());
}

#[tokio::test(start_paused = true)]
async fn fees_above_the_cap_of_transactions_without_effect_hold_the_lane_until_they_fall() {
    let world = World::new();
    let sender = world.sender().await;
    submit(&sender, 1).await;
    let sent = world.comes_to(&name(1), "broadcast").await;
    let first = sent.attempts[0].hash;
    world
        .chain
        .set_base_fee(u64::try_from(CAP).unwrap() * 2 + 1000);
    assert!(world.chain.evict(first));
    world.chain.mine();
    sender.cancel(&name(1)).await.unwrap();
    for _ in 0..20 {
        pass(Duration::from_secs(1)).await;
        assert_eq!(world.record(&name(1)).await.attempts.len(), 1);
        assert_eq!(world.hold(&sender), Some("fees_above_cap"));
    }
    world.chain.set_base_fee(BASE_FEE);
    world.blocks(3).await;
    assert_eq!(world.state(&name(1)).await, "abandoned");
    assert_eq!(world.effect(1), U256::ZERO);
    assert_eq!(world.hold(&sender), None);
}
