//! Tests of the speed of a lane, and of the number of its requests to nodes.

use std::collections::HashMap;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use alloy_primitives::{B256, U256};
use dev_chain::{BadAnswer, InjectedFault};
use test_support::{eventually_every, pass};
use tokio::time::Instant;
use tx_sender::{Node, NodeFault, Policy, RpcNode, Transport};

use crate::support::{InProcess, LANE, World, key, name, submit, transfer};

const RECEIPT: &str = "eth_getTransactionReceipt";
const HEAD: &str = "eth_getBlockByNumber";

/// Makes a world with the rules of a server. They are slower than those of other tests.
fn world() -> World {
    let mut world = World::new();
    world.policy = Policy {
        max_fee_per_gas: world.policy.max_fee_per_gas,
        ..Policy::default()
    };
    world
}

fn call_counts(world: &World) -> HashMap<&'static str, usize> {
    world.node.asked.lock().unwrap().clone()
}

/// Here every answer takes two milliseconds.
#[tokio::test(start_paused = true)]
async fn a_submission_is_sent_at_once_whatever_the_lane_waits_for() {
    let world = world();
    let sender = world.sender().await;
    let soon = Duration::from_millis(40);
    assert!(world.time_to_send(&sender, 1).await < soon, "a new lane");
    assert!(world.time_to_send(&sender, 2).await < soon, "one at work");
    world.blocks(20).await;
    // Now only outcomes are left to watch.
    assert_eq!(world.state(&name(2)).await, "sealed");
    assert!(
        world.time_to_send(&sender, 3).await < soon,
        "one that watches"
    );
    world.blocks(80).await;
    world
        .chain
        .inject(InjectedFault::new(HEAD, BadAnswer::Close).times(12));
    submit(&sender, 4).await;
    // Several checks fail, and the pause between them grows.
    pass(Duration::from_secs(2)).await;
    assert_eq!(world.hold(&sender), Some("nodes_unavailable"));
    world.chain.clear_faults();
    assert!(
        world.time_to_send(&sender, 5).await < soon,
        "after failures"
    );
}

/// The limit is a fifth of a block's time, plus the time of the answers.
#[tokio::test(start_paused = true)]
async fn a_block_is_seen_soon_after_it_was_made() {
    let world = world();
    let sender = world.sender().await;
    for (number, wait) in [(1, 5), (2, 130), (3, 777), (4, 2_950), (5, 40)] {
        let mut watch = sender
            .submit(&name(number), LANE, transfer(number))
            .await
            .unwrap();
        pass(Duration::from_millis(30 + wait)).await;
        world.chain.mine();
        let mined = Instant::now();
        let record = watch.outcome().await.unwrap();
        let took = mined.elapsed();
        assert_eq!(record.state.as_str(), "sealed");
        assert!(took <= Duration::from_millis(230), "{wait}: {took:?}");
        // The first check sees a transaction that is already in a block.
        if wait < 10 {
            assert!(took <= Duration::from_millis(50), "{wait}: {took:?}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_node_is_not_asked_too_often() {
    let world = world();
    let sender = world.sender().await;
    submit(&sender, 1).await;
    pass(Duration::from_secs(5)).await;
    let quick = call_counts(&world);
    // The first checks come close together, then there are five each second.
    assert!((20..=32).contains(&quick[HEAD]), "{quick:?}");
    // The head stays the same, so the sender asks nothing else again.
    for method in [
        "eth_getTransactionCount",
        "eth_getBalance",
        "eth_maxPriorityFeePerGas",
    ] {
        assert_eq!(quick[method], 1, "{quick:?}");
    }
    assert!(!quick.contains_key(RECEIPT), "{quick:?}");
    // A request that waits for long is checked less often: at each poll interval, with a resend or
    // a raise in between.
    let sends = call_counts(&world)["eth_sendRawTransaction"];
    pass(Duration::from_secs(100)).await;
    let later = call_counts(&world);
    assert!(later[HEAD] - quick[HEAD] <= 330, "{later:?}");
    assert!(later["eth_sendRawTransaction"] - sends <= 12, "{later:?}");
    world.blocks(1).await;
    assert_eq!(world.state(&name(1)).await, "sealed");
    for _ in 0..70 {
        world.chain.mine();
    }
    world.until_final(&name(1)).await;
    // The lane has nothing to do any more.
    pass(Duration::from_secs(10)).await;
    let over = call_counts(&world);
    pass(Duration::from_secs(3600)).await;
    assert_eq!(call_counts(&world), over, "a lane at rest asks nothing");
}

#[tokio::test(start_paused = true)]
async fn all_receipts_of_a_block_come_in_one_request() {
    let world = world();
    let sender = world.sender().await;
    for number in 1..=50 {
        submit(&sender, number).await;
    }
    world.blocks(2).await;
    for number in 1..=50 {
        assert_eq!(world.state(&name(number)).await, "sealed");
    }
    assert_eq!(call_counts(&world)[RECEIPT], 1);
}

/// The time limit of the transport itself is ten seconds.
#[tokio::test(start_paused = true)]
async fn a_missing_answer_delays_no_transaction_for_long() {
    let world = world();
    let sender = world.sender().await;
    for (number, method) in [
        (1, RECEIPT),
        (2, HEAD),
        (3, "eth_getTransactionCount"),
        (4, "eth_getBalance"),
    ] {
        world
            .chain
            .inject(InjectedFault::new(method, BadAnswer::Never));
        let watch = sender
            .submit(&name(number), LANE, transfer(number))
            .await
            .unwrap();
        let began = Instant::now();
        let outcome = async || {
            world.chain.mine();
            Some(watch.record()).filter(|record| record.state.is_outcome())
        };
        let record = eventually_every(Duration::from_millis(50), method, outcome).await;
        assert_eq!(record.state.as_str(), "sealed", "{method}");
        assert!(began.elapsed() < Duration::from_secs(2), "{method}");
    }
}

/// A node that answers several calls in one request with this text, as some gateways do.
struct OneByOne(InProcess, &'static str);

impl Transport for OneByOne {
    fn exchange(
        &self,
        method: &'static str,
        body: Vec<u8>,
    ) -> Pin<Box<dyn Future<Output = Result<Vec<u8>, NodeFault>> + Send + '_>> {
        if body.starts_with(b"[") {
            return Box::pin(async move { Ok(self.1.as_bytes().to_vec()) });
        }
        self.0.exchange(method, body)
    }
}

#[tokio::test(start_paused = true)]
async fn a_node_that_takes_no_batches_is_asked_one_by_one() {
    for answer in [
        r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"batches are not supported"}}"#,
        r#"[{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"invalid request"}}]"#,
        r#"[{"jsonrpc":"2.0","id":null,"result":null},{"jsonrpc":"2.0","id":null,"result":null}]"#,
        "[]",
        "400 Bad Request",
        "",
    ] {
        let world = world();
        let transport = OneByOne(world.node.clone(), answer);
        let node = Arc::new(RpcNode::new(Arc::new(transport)));
        let sender = world
            .sender_over(world.store.clone(), vec![node], key())
            .await;
        for number in 1..=5 {
            submit(&sender, number).await;
        }
        world.blocks(2).await;
        for number in 1..=5 {
            assert_eq!(world.state(&name(number)).await, "sealed", "{answer}");
            assert_eq!(world.effect(number), U256::from(1), "{answer}");
        }
    }
}

/// The answers of a batch come in any order. An answer about another transaction does not count.
#[tokio::test]
async fn answers_of_a_batch_are_matched_to_their_requests() {
    struct Scripted(String);
    impl Transport for Scripted {
        fn exchange(
            &self,
            _: &'static str,
            _: Vec<u8>,
        ) -> Pin<Box<dyn Future<Output = Result<Vec<u8>, NodeFault>> + Send + '_>> {
            Box::pin(async { Ok(self.0.clone().into_bytes()) })
        }
    }
    let hashes = [1, 2, 3, 4].map(B256::repeat_byte);
    let receipt = |id: usize, hash: B256| {
        format!(
            r#"{{"jsonrpc":"2.0","id":{id},"result":{{"transactionHash":"{hash}","blockNumber":"0x7","blockHash":"{}","status":"0x1"}}}}"#,
            B256::repeat_byte(9)
        )
    };
    let answers = [
        receipt(2, hashes[2]),
        // This is the receipt of another transaction than the requested one.
        receipt(1, hashes[0]),
        receipt(0, hashes[0]),
        r#"{"jsonrpc":"2.0","id":3,"error":{"code":-32005,"message":"limit"}}"#.to_owned(),
        receipt(77, hashes[3]),
    ];
    let node = RpcNode::new(Arc::new(Scripted(format!("[{}]", answers.join(",")))));
    let receipts = node.receipts(hashes.to_vec()).await.unwrap();
    let known: Vec<_> = receipts
        .iter()
        .map(|receipt| receipt.map(|receipt| receipt.hash))
        .collect();
    assert_eq!(known, [Some(hashes[0]), None, Some(hashes[2]), None]);
    let torn = RpcNode::new(Arc::new(Scripted("[{".to_owned())));
    let lost = torn.receipts(hashes.to_vec()).await;
    assert_eq!(lost, Err(NodeFault::Lost { method: RECEIPT }));
}
