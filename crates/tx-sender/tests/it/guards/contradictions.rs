//! Tests of the guards against a node, or one server behind a node's address, that is on another
//! chain than the others.

use std::sync::atomic::AtomicU64;

use super::*;

/// The block was canonical when its transaction was found. Another node denies it before it is deep
/// enough.
#[tokio::test(start_paused = true)]
async fn depth_seals_nothing_whose_block_is_contradicted() {
    let mut world = World::new();
    world.policy.confirmations = 3;
    let denied = Arc::new(AtomicU64::new(u64::MAX));
    let number = Arc::clone(&denied);
    let second = scripted(&world.node, move |method, params| {
        let number = format!("{:#x}", number.load(Ordering::Relaxed));
        let asked = method == "eth_getBlockByNumber" && params[0] == json!(number);
        let block = json!({ "number": number, "hash": B256::repeat_byte(9), "timestamp": "0x1" });
        asked.then(|| Ok(json!({ "result": block })))
    });
    let nodes = vec![world.node.node(), second];
    let sender = world.sender_over(world.store.clone(), nodes, key()).await;
    submit(&sender, 1).await;
    world.blocks(1).await;
    let mined = world.record(&name(1)).await.state;
    assert_eq!(mined.as_str(), "mined");
    denied.store(mined.inclusion().unwrap().number, Ordering::Relaxed);
    for _ in 0..5 {
        world.blocks(1).await;
        assert_eq!(world.state(&name(1)).await, "mined");
    }
    assert_eq!(world.hold(&sender), Some("nodes_contradict"));
    denied.store(u64::MAX, Ordering::Relaxed);
    world.blocks(2).await;
    assert_eq!(world.state(&name(1)).await, "sealed");
    assert_eq!(world.hold(&sender), None);
}

#[tokio::test(start_paused = true)]
async fn depth_seals_nothing_while_another_node_is_on_a_fork() {
    let mut world = World::new();
    world.policy.confirmations = 3;
    let fork = world.chain.fork();
    let second = InProcess::new(&world.chain);
    let nodes = vec![world.node.node(), second.node()];
    let sender = world.sender_over(world.store.clone(), nodes, key()).await;
    submit(&sender, 1).await;
    world.blocks(1).await;
    assert_eq!(world.state(&name(1)).await, "mined");
    fork.mine();
    second.turn_to(&fork);
    for _ in 0..5 {
        fork.mine();
        world.chain.mine();
    }
    pass(Duration::from_secs(3)).await;
    assert_eq!(world.state(&name(1)).await, "mined");
    assert_eq!(world.hold(&sender), Some("nodes_contradict"));
    second.turn_to(&world.chain);
    world.blocks(6).await;
    assert_eq!(world.state(&name(1)).await, "sealed");
}

/// The other node is too far behind this one to be used first, and has no block of that number.
#[tokio::test(start_paused = true)]
async fn one_node_far_ahead_on_a_fork_seals_nothing() {
    let world = World::new();
    let fork = world.chain.fork();
    let ahead = InProcess::new(&fork);
    let nodes = vec![world.node.node(), ahead.node()];
    let sender = world.sender_over(world.store.clone(), nodes, key()).await;
    submit(&sender, 1).await;
    let record = world.comes_to(&name(1), "broadcast").await;
    fork.mine();
    hand_over(&fork, &record.attempts[0].raw);
    for _ in 0..10 {
        fork.mine();
    }
    assert!(world.chain.evict(record.attempts[0].hash));
    world.chain.mine();
    for _ in 0..10 {
        pass(Duration::from_millis(300)).await;
        assert_eq!(world.state(&name(1)).await, "broadcast");
    }
    assert_eq!(world.hold(&sender), Some("nodes_contradict"));
    ahead.turn_to(&world.chain);
    world.blocks(6).await;
    assert_eq!(world.state(&name(1)).await, "sealed");
    assert_eq!(world.hold(&sender), None);
}

#[tokio::test(start_paused = true)]
async fn one_node_far_ahead_on_a_fork_replaces_nothing() {
    let world = World::new();
    let fork = World::on(world.chain.fork());
    let ahead = InProcess::new(&fork.chain);
    let nodes = vec![world.node.node(), ahead.node()];
    let sender = world.sender_over(world.store.clone(), nodes, key()).await;
    submit(&sender, 1).await;
    let record = world.comes_to(&name(1), "broadcast").await;
    fork.send_behind_its_back(0);
    for _ in 0..11 {
        fork.chain.mine();
    }
    assert!(world.chain.evict(record.attempts[0].hash));
    world.chain.mine();
    for _ in 0..20 {
        pass(Duration::from_millis(500)).await;
        assert_eq!(world.state(&name(1)).await, "broadcast");
    }
}

/// A node that is only behind, however far, contradicts no other node.
#[tokio::test(start_paused = true)]
async fn a_node_far_behind_on_the_same_chain_holds_nothing() {
    let world = World::new();
    let behind = InProcess::new(&world.chain.fork());
    let nodes = vec![behind.node(), world.node.node()];
    let sender = world.sender_over(world.store.clone(), nodes, key()).await;
    for _ in 0..30 {
        world.chain.mine();
    }
    submit(&sender, 1).await;
    world.blocks(3).await;
    assert_eq!(world.state(&name(1)).await, "sealed");
    assert_eq!(world.hold(&sender), None);
}

/// Two servers are behind one address. The head comes from one chain, and receipts and blocks by
/// number come from another one.
#[tokio::test(start_paused = true)]
async fn an_inclusion_on_another_chain_than_the_heads_is_checked_again() {
    let world = World::new();
    let fork = world.chain.fork();
    // On the fork, the same transaction is in another block.
    fork.set_base_fee(BASE_FEE + 7);
    let mixed = Arc::new(AtomicBool::new(false));
    let (other, is_mixed) = (fork.clone(), Arc::clone(&mixed));
    let node = scripted(&world.node, move |method, params| {
        let of_other = method == "eth_getTransactionReceipt"
            || (method == "eth_getBlockByNumber" && params[0] != "latest");
        if !of_other || !is_mixed.load(Ordering::Relaxed) {
            return None;
        }
        let request = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
        let Reply::Http { body, .. } = other.answer(request.to_string().as_bytes()) else {
            return None;
        };
        Some(Ok(serde_json::from_slice(&body).unwrap()))
    });
    let nodes = vec![node];
    let sender = world.sender_over(world.store.clone(), nodes, key()).await;
    submit(&sender, 1).await;
    let record = world.comes_to(&name(1), "broadcast").await;
    hand_over(&fork, &record.attempts[0].raw);
    mixed.store(true, Ordering::Relaxed);
    fork.mine();
    world.chain.mine();
    let inclusion = async || world.record(&name(1)).await.state.inclusion();
    let on_fork = eventually("a block of the fork", inclusion).await;
    mixed.store(false, Ordering::Relaxed);
    world.blocks(3).await;
    let record = world.record(&name(1)).await;
    assert_eq!(record.state.as_str(), "sealed");
    let inclusion = record.state.inclusion().unwrap();
    assert_eq!(inclusion.number, on_fork.number);
    assert_ne!(inclusion.block, on_fork.block);
    drop(sender);
}
