//! Tests with nodes that are behind, on another fork, down, or show facts that do not exist.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use alloy_primitives::U256;
use dev_chain::{BadAnswer, Fate, InjectedFault, Mining};
use test_support::{eventually, pass};
use tokio::time::Instant;
use tx_sender::{Closing, Node, NodeFault, RpcNode, Transport};

use crate::support::{InProcess, LANE, World, builder, key, name, submit, transfer};

#[tokio::test(start_paused = true)]
async fn a_node_that_is_behind_is_not_used_first() {
    let world = World::new();
    let behind = InProcess::new(&world.chain.fork());
    for nonce in 0..2 {
        world.send_behind_its_back(nonce);
    }
    for _ in 0..20 {
        world.chain.mine();
    }
    let nodes = vec![behind.node(), world.node.node()];
    let sender = world.sender_over(world.store.clone(), nodes, key()).await;
    submit(&sender, 1).await;
    world.blocks(2).await;
    let record = world.record(&name(1)).await;
    // By the count of the node that is behind, this transaction would be the first one.
    assert_eq!((record.state.as_str(), record.nonce), ("sealed", Some(2)));
}

#[tokio::test(start_paused = true)]
async fn a_block_that_another_node_contradicts_is_not_believed() {
    let world = World::new();
    let fork = world.chain.fork();
    let second = InProcess::new(&fork);
    let nodes = vec![world.node.node(), second.node()];
    let sender = world.sender_over(world.store.clone(), nodes, key()).await;
    submit(&sender, 1).await;
    world.comes_to(&name(1), "broadcast").await;
    for _ in 0..5 {
        fork.mine();
    }
    world.blocks(5).await;
    assert_eq!(world.hold(&sender), Some("nodes_contradict"));
    assert!(!world.record(&name(1)).await.state.is_outcome());
    second.turn_to(&world.chain);
    world.blocks(6).await;
    assert_eq!(world.state(&name(1)).await, "sealed");
    assert_eq!(world.hold(&sender), None);
}

#[tokio::test(start_paused = true)]
async fn a_node_of_another_chain_is_never_asked_for_anything_else() {
    let world = World::new();
    let other = InProcess::new(&builder().chain_id(195).build().unwrap());
    let nodes = vec![other.node(), world.node.node()];
    let sender = world.sender_over(world.store.clone(), nodes, key()).await;
    submit(&sender, 1).await;
    // From the second time on, every node gets the bytes.
    let sends = || {
        let asked = world.node.asked.lock().unwrap();
        asked.get("eth_sendRawTransaction").copied()
    };
    eventually("the second time", async || {
        (sends() == Some(2)).then_some(())
    })
    .await;
    world.blocks(2).await;
    assert_eq!(world.state(&name(1)).await, "sealed");
    let asked = other.asked.lock().unwrap().clone();
    let others: Vec<_> = asked
        .keys()
        .filter(|method| **method != "eth_chainId")
        .collect();
    assert!(others.is_empty(), "{asked:?}");
}

#[tokio::test(start_paused = true)]
async fn the_second_node_takes_over_and_a_lane_without_nodes_is_held() {
    let world = World::new();
    let second = InProcess::new(&world.chain);
    let dead = InProcess::new(&builder().mining(Mining::Manual).build().unwrap());
    let down = builder().build().unwrap();
    for method in [
        "eth_chainId",
        "eth_getBlockByNumber",
        "eth_sendRawTransaction",
        "eth_getTransactionReceipt",
    ] {
        down.inject(InjectedFault::new(method, BadAnswer::Close).times(u32::MAX));
    }
    dead.turn_to(&down);
    let nodes = vec![dead.node(), second.node()];
    let sender = world.sender_over(world.store.clone(), nodes, key()).await;
    submit(&sender, 1).await;
    world.blocks(2).await;
    assert_eq!(world.state(&name(1)).await, "sealed");

    second.turn_to(&down);
    submit(&sender, 2).await;
    world.blocks(5).await;
    assert_eq!(world.hold(&sender), Some("nodes_unavailable"));
    second.turn_to(&world.chain);
    world.blocks(20).await;
    assert_eq!(world.state(&name(2)).await, "sealed");
    assert_eq!(world.hold(&sender), None);
}

/// The node shows a receipt, and its block never comes.
#[tokio::test(start_paused = true)]
async fn a_preconfirmed_receipt_that_vanishes_settles_nothing() {
    for fate in [Fate::Dropped, Fate::Waiting] {
        let world = World::new();
        let sender = world.sender().await;
        submit(&sender, 1).await;
        world.comes_to(&name(1), "broadcast").await;
        world.chain.preconfirm();
        for _ in 0..20 {
            pass(Duration::from_millis(200)).await;
            assert_eq!(world.state(&name(1)).await, "broadcast");
        }
        world.chain.drop_preconfirmed(fate);
        world.blocks(8).await;
        let record = world.record(&name(1)).await;
        assert_eq!(record.state.as_str(), "sealed");
        assert_eq!(world.chain.transactions().len(), 1);
        assert_eq!(world.effect(1), U256::from(1));
    }
}

/// The block comes with another hash than the preconfirmed block had.
#[tokio::test(start_paused = true)]
async fn only_the_canonical_block_of_a_preconfirmed_transaction_counts() {
    let world = World::new();
    let sender = world.sender().await;
    submit(&sender, 1).await;
    world.comes_to(&name(1), "broadcast").await;
    world.chain.preconfirm();
    // The sender sees the receipt meanwhile.
    pass(Duration::from_millis(500)).await;
    world.blocks(1).await;
    let sealed = world.record(&name(1)).await.state;
    assert_eq!(sealed.as_str(), "sealed");
    assert_eq!(
        sealed.inclusion().unwrap().number,
        world.chain.transactions()[0].block_number
    );
}

/// For 45 minutes the node has mined everything, and shows no receipt.
#[tokio::test(start_paused = true)]
async fn null_receipts_are_never_a_failure() {
    let world = World::new();
    let sender = world.sender().await;
    world.chain.delay_receipts(u32::MAX);
    submit(&sender, 1).await;
    for minute in 0..45 {
        world.blocks(60).await;
        assert_eq!(world.state(&name(1)).await, "broadcast", "{minute}");
    }
    // The nonce is used. So no request waits for the receipt, and the sender raises nothing.
    submit(&sender, 2).await;
    world.blocks(3).await;
    assert_eq!(world.effect(2), U256::from(1));
    assert_eq!(world.record(&name(1)).await.attempts.len(), 1);
    world.chain.delay_receipts(0);
    world.blocks(3).await;
    for number in [1, 2] {
        assert_eq!(world.state(&name(number)).await, "sealed");
    }
    assert_eq!(world.chain.transactions().len(), 2);
}

/// A node that refuses every transaction with this message, and answers everything else.
struct Refuses(InProcess, &'static str);

impl Transport for Refuses {
    fn exchange(
        &self,
        method: &'static str,
        body: Vec<u8>,
    ) -> Pin<Box<dyn Future<Output = Result<Vec<u8>, NodeFault>> + Send + '_>> {
        if method != "eth_sendRawTransaction" {
            return self.0.exchange(method, body);
        }
        let refusal = serde_json::json!({"jsonrpc": "2.0", "id": 1, "error": {"code": -32000, "message": self.1}});
        Box::pin(async move { Ok(refusal.to_string().into_bytes()) })
    }
}

fn refuses(world: &World, words: &'static str) -> Arc<dyn Node> {
    Arc::new(RpcNode::new(Arc::new(Refuses(world.node.clone(), words))))
}

/// When one node calls a transaction invalid, another node may still accept it.
#[tokio::test(start_paused = true)]
async fn only_a_refusal_by_all_nodes_is_about_the_transaction() {
    const INVALID: &str = "intrinsic gas too low";
    for (first, second, ends) in [
        (INVALID, None, "sealed"),
        ("internal error", None, "sealed"),
        ("nonce too low", None, "sealed"),
        (INVALID, Some("rate limited"), "waits"),
        ("rate limited", Some(INVALID), "waits"),
        (INVALID, Some(INVALID), "closed"),
    ] {
        let world = World::new();
        let second = match second {
            Some(words) => refuses(&world, words),
            None => world.node.node(),
        };
        let nodes = vec![refuses(&world, first), second];
        let sender = world.sender_over(world.store.clone(), nodes, key()).await;
        submit(&sender, 1).await;
        world.blocks(4).await;
        let record = world.record(&name(1)).await;
        let refused = matches!(record.closing, Some(Closing::Refused(_)));
        let observed = match record.state.as_str() {
            "sealed" => "sealed",
            _ if refused => "closed",
            _ => "waits",
        };
        assert_eq!(observed, ends, "{first}: {record:?}");
    }
}

/// A node that never answers.
struct Silent;

impl Transport for Silent {
    fn exchange(
        &self,
        _: &'static str,
        _: Vec<u8>,
    ) -> Pin<Box<dyn Future<Output = Result<Vec<u8>, NodeFault>> + Send + '_>> {
        Box::pin(std::future::pending())
    }
}

#[tokio::test(start_paused = true)]
async fn a_silent_node_delays_no_transaction() {
    for first in [true, false] {
        let world = World::new();
        let mut nodes: Vec<Arc<dyn Node>> =
            vec![Arc::new(RpcNode::new(Arc::new(Silent))), world.node.node()];
        if !first {
            nodes.reverse();
        }
        let sender = world.sender_over(world.store.clone(), nodes, key()).await;
        let began = Instant::now();
        for number in 1..=3 {
            let submitted = sender.submit(&name(number), LANE, transfer(number)).await;
            let mut watch = submitted.unwrap();
            world.until_waiting(1).await;
            assert!(began.elapsed() < Duration::from_secs(8), "{first} {number}");
            world.chain.mine();
            assert_eq!(watch.outcome().await.unwrap().state.as_str(), "sealed");
        }
        assert!(
            began.elapsed() < Duration::from_secs(8),
            "{first}: {:?}",
            began.elapsed()
        );
    }
}
