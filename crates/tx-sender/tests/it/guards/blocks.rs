//! Tests of the guards about blocks, receipts and nodes.

use super::*;

/// Another node is ahead on a fork, and only that node shows a receipt. The receipt's block is
/// above the head that the lane has seen.
#[tokio::test(start_paused = true)]
async fn a_receipt_from_above_the_head_is_not_believed() {
    let world = World::new();
    let fork = world.chain.fork();
    let ahead = InProcess::new(&fork);
    world.chain.delay_receipts(u32::MAX);
    let nodes = vec![world.node.node(), ahead.node()];
    let sender = world.sender_over(world.store.clone(), nodes, key()).await;
    submit(&sender, 1).await;
    let record = world.comes_to(&name(1), "broadcast").await;
    fork.mine();
    hand_over(&fork, &record.attempts[0].raw);
    fork.mine();
    world.chain.mine();
    for _ in 0..10 {
        pass(Duration::from_millis(300)).await;
        assert_eq!(world.state(&name(1)).await, "broadcast");
    }
}

/// A transaction that a reorganisation has dropped is sent again at once, even when it was sent a
/// moment ago.
#[tokio::test(start_paused = true)]
async fn a_transaction_dropped_by_a_reorganisation_is_sent_at_once() {
    let mut world = World::new();
    world.policy.resend_after = Duration::from_secs(60);
    let sender = world.sender().await;
    submit(&sender, 1).await;
    world.blocks(1).await;
    assert_eq!(world.state(&name(1)).await, "sealed");
    world.chain.reorganise(1, Fate::Dropped);
    assert!(world.chain.waiting().is_empty());
    let sent = timeout(Duration::from_secs(2), world.until_waiting(1));
    sent.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn an_outcome_is_final_exactly_64_blocks_above_its_own() {
    let world = World::new();
    let sender = world.sender().await;
    submit(&sender, 1).await;
    world.blocks(1).await;
    let number = world
        .record(&name(1))
        .await
        .state
        .inclusion()
        .unwrap()
        .number;
    while world.chain.block_number() < number + 63 {
        world.chain.mine();
    }
    pass(Duration::from_secs(5)).await;
    assert!(!world.record(&name(1)).await.is_final);
    world.chain.mine();
    world.until_final(&name(1)).await;
    drop(sender);
}

/// A node that keeps no old states cannot say what has used a nonce. That proves nothing about our
/// transaction.
#[tokio::test(start_paused = true)]
async fn a_nonce_whose_user_cannot_be_found_is_not_replaced() {
    let world = World::new();
    world.chain.delay_receipts(u32::MAX);
    let pruned = scripted(&world.node, |method, params| {
        let by_number = method == "eth_getTransactionCount" && params[1].is_string();
        by_number
            .then(|| Ok(json!({ "error": { "code": -32000, "message": "missing trie node" } })))
    });
    let sender = world
        .sender_over(world.store.clone(), vec![pruned], key())
        .await;
    submit(&sender, 1).await;
    for _ in 0..6 {
        world.blocks(10).await;
        assert_eq!(world.state(&name(1)).await, "broadcast");
        assert_eq!(world.hold(&sender), Some("outcome_unknown"));
    }
    world.chain.delay_receipts(0);
    world.blocks(3).await;
    assert_eq!(world.state(&name(1)).await, "sealed");
    assert_eq!(world.hold(&sender), None);
}

/// The first node says that somebody else has used the nonce, in a block that the second node does
/// not have.
#[tokio::test(start_paused = true)]
async fn a_block_that_is_contradicted_replaces_nothing() {
    let world = World::new();
    let fork = world.chain.fork();
    let second = InProcess::new(&fork);
    let nodes = vec![world.node.node(), second.node()];
    let sender = world.sender_over(world.store.clone(), nodes, key()).await;
    world.chain.forget_sends(1);
    submit(&sender, 1).await;
    world.comes_to(&name(1), "broadcast").await;
    world.send_behind_its_back(0);
    world.chain.mine();
    fork.mine();
    for _ in 0..30 {
        pass(Duration::from_millis(500)).await;
        assert_eq!(world.state(&name(1)).await, "broadcast");
    }
    // The fork of the second node is the one that stays. Our bytes have reached it too.
    fork.mine();
    world.node.turn_to(&fork);
    world.comes_to(&name(1), "sealed").await;
}

/// A foreign transaction replaces ours only at the depth that our own outcome would need.
#[tokio::test(start_paused = true)]
async fn a_replacement_by_somebody_else_has_the_depth_of_an_outcome() {
    let mut world = World::new();
    world.policy.confirmations = 5;
    let sender = world.sender().await;
    world.chain.forget_sends(1);
    submit(&sender, 1).await;
    world.comes_to(&name(1), "broadcast").await;
    world.send_behind_its_back(0);
    world.chain.mine();
    pass(Duration::from_secs(15)).await;
    assert_eq!(world.state(&name(1)).await, "broadcast");
    for _ in 0..5 {
        world.chain.mine();
    }
    world.comes_to(&name(1), "replaced").await;
    drop(sender);
}

/// A node that has fallen back behind the block says nothing about it. A node that has come back on
/// another fork does.
#[tokio::test(start_paused = true)]
async fn a_node_that_is_behind_the_block_takes_nothing_back() {
    for comes_back in [true, false] {
        let world = World::new();
        let behind = world.chain.fork();
        let sender = world.sender().await;
        submit(&sender, 1).await;
        world.blocks(2).await;
        assert_eq!(world.state(&name(1)).await, "sealed");
        world.node.turn_to(&behind);
        pass(Duration::from_secs(5)).await;
        assert_eq!(world.state(&name(1)).await, "sealed");
        if comes_back {
            world.node.turn_to(&world.chain);
            world.blocks(3).await;
            assert_eq!(world.state(&name(1)).await, "sealed");
            assert_eq!(world.chain.transactions().len(), 1);
            continue;
        }
        for _ in 0..4 {
            behind.mine();
            pass(Duration::from_secs(2)).await;
        }
        assert_eq!(behind.transactions().len(), 1);
        assert_eq!(world.state(&name(1)).await, "sealed");
    }
}

/// An outcome does not become final while it is uncertain whether its block is still there.
#[tokio::test(start_paused = true)]
async fn a_contradicted_outcome_is_not_final() {
    let world = World::new();
    let fork = world.chain.fork();
    let second = InProcess::new(&world.chain);
    let nodes = vec![world.node.node(), second.node()];
    let sender = world.sender_over(world.store.clone(), nodes, key()).await;
    submit(&sender, 1).await;
    world.blocks(2).await;
    assert_eq!(world.state(&name(1)).await, "sealed");
    for _ in 0..80 {
        fork.mine();
        world.chain.mine();
    }
    second.turn_to(&fork);
    pass(Duration::from_secs(5)).await;
    assert_eq!(world.hold(&sender), Some("nodes_contradict"));
    assert!(!world.record(&name(1)).await.is_final);
    second.turn_to(&world.chain);
    world.chain.mine();
    world.until_final(&name(1)).await;
}

/// A node that, once it is confused, shows its newest block instead of the requested one.
struct Confused(InProcess, Arc<AtomicBool>);

impl Transport for Confused {
    fn exchange(
        &self,
        method: &'static str,
        body: Vec<u8>,
    ) -> Pin<Box<dyn Future<Output = Result<Vec<u8>, NodeFault>> + Send + '_>> {
        let mut request: Value = serde_json::from_slice(&body).unwrap();
        if method == "eth_getBlockByNumber" && self.1.load(Ordering::Relaxed) {
            request["params"][0] = json!("latest");
        }
        self.0.exchange(method, request.to_string().into_bytes())
    }
}

/// A block with another number is no answer, so it undoes nothing.
#[tokio::test(start_paused = true)]
async fn a_node_that_shows_another_block_than_the_one_asked_for_is_not_believed() {
    let world = World::new();
    let confused = Arc::new(AtomicBool::new(false));
    let node = Confused(world.node.clone(), confused.clone());
    let nodes: Vec<Arc<dyn Node>> = vec![Arc::new(RpcNode::new(Arc::new(node)))];
    let sender = world.sender_over(world.store.clone(), nodes, key()).await;
    submit(&sender, 1).await;
    world.blocks(2).await;
    assert_eq!(world.state(&name(1)).await, "sealed");
    confused.store(true, Ordering::Relaxed);
    for _ in 0..5 {
        world.blocks(1).await;
        assert_eq!(world.state(&name(1)).await, "sealed");
    }
    assert_eq!(world.hold(&sender), Some("nodes_unavailable"));
}

/// Questions about the account name a block. So a node that is behind refuses them, and does not
/// mislead the sender.
#[tokio::test(start_paused = true)]
async fn the_account_is_read_as_of_the_head() {
    let world = World::new();
    let strict = scripted(&world.node, |method, params| {
        let of_account = matches!(method, "eth_getTransactionCount" | "eth_getBalance");
        let pinned = params[1]["requireCanonical"] == true && params[1]["blockHash"].is_string();
        (of_account && !pinned).then(|| Ok(json!({ "result": "0x0" })))
    });
    for nonce in 0..2 {
        world.send_behind_its_back(nonce);
    }
    world.chain.mine();
    let sender = world
        .sender_over(world.store.clone(), vec![strict], key())
        .await;
    submit(&sender, 1).await;
    world.blocks(2).await;
    assert_eq!(world.record(&name(1)).await.nonce, Some(2));
    assert_eq!(world.state(&name(1)).await, "sealed");
}
