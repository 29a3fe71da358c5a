//! Tests of the guards about nonces, fees, leases, and the bytes that nodes get.

use super::*;

/// Two processes have both started to take the lane over at once. They do not take it from each
/// other for ever.
#[tokio::test(start_paused = true)]
async fn a_lane_is_taken_over_at_once_only_once() {
    let world = World::new();
    let start = async || {
        let chain = Chain {
            id: LANE.chain_id,
            nodes: vec![world.node.node()],
            policy: world.policy,
        };
        let options = Options {
            takeover: Takeover::AtOnce,
            ..world.options()
        };
        Sender::start(world.store.clone(), vec![chain], vec![key()], options)
            .await
            .unwrap()
    };
    let first = start().await;
    submit(&first, 1).await;
    world.blocks(1).await;
    let second = start().await;
    submit(&second, 2).await;
    for _ in 0..20 {
        world.blocks(1).await;
        assert_eq!(world.hold(&second), None);
    }
    assert!(first.status(LANE).elsewhere);
    assert_eq!(
        (world.effect(1), world.effect(2)),
        (U256::from(1), U256::from(1))
    );
}

/// A transaction counts as sent only if a node may have received it.
#[tokio::test(start_paused = true)]
async fn a_transaction_that_reached_no_node_counts_only_as_signed() {
    let world = World::new();
    let lost = scripted(&world.node, |method, _| {
        let method = (method == "eth_sendRawTransaction").then_some("eth_sendRawTransaction")?;
        Some(Err(NodeFault::Lost { method }))
    });
    let sender = world
        .sender_over(world.store.clone(), vec![lost], key())
        .await;
    submit(&sender, 1).await;
    world.comes_to(&name(1), "broadcast").await;

    let world = World::new();
    let unreached = scripted(&world.node, |method, _| {
        (method == "eth_sendRawTransaction").then_some(Err(NodeFault::Unreachable))
    });
    let sender = world
        .sender_over(world.store.clone(), vec![unreached], key())
        .await;
    submit(&sender, 1).await;
    for _ in 0..5 {
        pass(Duration::from_secs(1)).await;
        assert_eq!(world.state(&name(1)).await, "signed");
    }
    assert_eq!(world.hold(&sender), Some("nodes_unavailable"));
}

#[tokio::test(start_paused = true)]
async fn no_more_transactions_than_allowed_wait_for_a_block() {
    let mut world = World::new();
    world.policy.max_in_flight = 2;
    let sender = world.sender().await;
    for number in 1..=5 {
        submit(&sender, number).await;
    }
    pass(Duration::from_secs(3)).await;
    assert_eq!(world.chain.waiting().len(), 2);
    world.blocks(4).await;
    for number in 1..=5 {
        assert_eq!(world.state(&name(number)).await, "sealed");
    }
}

async fn attempts(world: &World, number: u64) -> Vec<u128> {
    let record = world.record(&name(number)).await;
    record.fees().iter().map(|fees| fees.most()).collect()
}

/// Only the first in line can be slow because of its fees. For the others that is so only when the
/// market has risen above their fees.
#[tokio::test(start_paused = true)]
async fn a_request_behind_another_is_raised_only_when_its_fees_are_too_low() {
    for spike in [false, true] {
        let mut world = World::new();
        // The sender does not ask a node again during the test, so no node refuses.
        world.policy.resend_after = Duration::from_secs(60);
        let sender = world.sender().await;
        for number in 1..=2 {
            submit(&sender, number).await;
        }
        world.until_waiting(2).await;
        if spike {
            world.chain.set_base_fee(BASE_FEE * 10);
            // The sender reads the market for each new head.
            world.chain.mine();
        }
        pass(Duration::from_secs(8)).await;
        assert_eq!(attempts(&world, 1).await.len(), 2);
        assert_eq!(attempts(&world, 2).await.len(), if spike { 2 } else { 1 });
    }
}

/// When a node requires higher fees, the sender raises at once. When a node requires more than the
/// usual raise, it raises by more each time.
#[tokio::test(start_paused = true)]
async fn a_request_refused_for_its_fees_is_raised_at_once_and_in_growing_steps() {
    let world = World::new();
    let sender = world.sender().await;
    let refusal = BadAnswer::Error {
        code: -32000,
        message: "replacement transaction underpriced".to_owned(),
    };
    world
        .chain
        .inject(InjectedFault::new("eth_sendRawTransaction", refusal).times(3));
    submit(&sender, 1).await;
    let sent = timeout(Duration::from_secs(3), world.until_waiting(1));
    sent.await.unwrap();
    let fees = attempts(&world, 1).await;
    assert_eq!(fees.len(), 4);
    for (at, pair) in fees.windows(2).enumerate() {
        // The fees rise by 12.5 percent, and once more for each refusal.
        let steps = u32::try_from(at).unwrap() + 2;
        let least = (0..steps).fold(pair[0], |fee, _| fee * 1125 / 1000);
        assert!(pair[1] >= least, "{fees:?}");
    }
}

/// The sender does not sign a raise for which the account cannot pay.
#[tokio::test(start_paused = true)]
async fn a_raise_beyond_the_balance_holds_the_lane() {
    let world = World::new();
    let account = PrivateKeySigner::from_bytes(&[0x42; 32].into())
        .unwrap()
        .address();
    let key = LocalKey::from_hex(&hex::encode([0x42; 32]).into()).unwrap();
    let nodes = vec![world.node.node()];
    let sender = world
        .sender_over(world.store.clone(), nodes, Arc::new(key))
        .await;
    // This is enough for the first offer, but not for ten times as much.
    world.fund(account, U256::from(1_000_000_000_000_u64));
    world.chain.mine();
    let lane = Lane { account, ..LANE };
    sender.submit(&name(1), lane, transfer(1)).await.unwrap();
    world.comes_to(&name(1), "broadcast").await;
    world.chain.set_base_fee(BASE_FEE * 10);
    world.chain.mine();
    pass(Duration::from_secs(8)).await;
    assert_eq!(attempts(&world, 1).await.len(), 1);
    let hold = sender.status(lane).hold;
    assert_eq!(hold.map(|hold| hold.code()), Some("no_gas"));
    world.fund(account, U256::from(10_u64.pow(16)));
    world.blocks(4).await;
    assert_eq!(world.state(&name(1)).await, "sealed");
}

/// The sender has claimed a nonce and signed nothing for it when somebody else uses it. The request
/// can take another nonce.
#[tokio::test(start_paused = true)]
async fn a_claimed_nonce_that_somebody_else_has_used_is_given_back() {
    let world = World::new();
    let signer = Arc::new(Late {
        key: key(),
        signs: AtomicBool::new(false),
    });
    let nodes = vec![world.node.node()];
    let sender = world
        .sender_over(world.store.clone(), nodes, signer.clone())
        .await;
    submit(&sender, 1).await;
    let claimed = world.comes_to(&name(1), "claimed").await;
    assert_eq!(claimed.nonce, Some(0));
    world.send_behind_its_back(0);
    world.blocks(3).await;
    assert_eq!(world.record(&name(1)).await.nonce, Some(1));
    signer.signs.store(true, Ordering::Relaxed);
    world.blocks(8).await;
    assert_eq!(world.state(&name(1)).await, "sealed");
}

/// A signer that refuses until a test lets it sign.
struct Late {
    key: Arc<dyn TransactionSigner>,
    signs: AtomicBool,
}

impl TransactionSigner for Late {
    fn account(&self) -> Address {
        self.key.account()
    }

    fn sign<'a>(&'a self, unsigned: &'a Unsigned) -> SignFuture<'a, Bytes> {
        if self.signs.load(Ordering::Relaxed) {
            return self.key.sign(unsigned);
        }
        Box::pin(std::future::ready(Err(SignError::Unavailable)))
    }
}

/// A process that works on a lane keeps it as long as the work takes.
#[tokio::test(start_paused = true)]
async fn a_lane_at_work_is_kept_after_its_first_lease() {
    let world = World::new();
    let (one, two) = (world.sender().await, world.sender().await);
    submit(&one, 1).await;
    world.comes_to(&name(1), "broadcast").await;
    submit(&two, 2).await;
    for _ in 0..70 {
        pass(Duration::from_secs(1)).await;
        assert!(!one.status(LANE).elsewhere);
        assert!(two.status(LANE).elsewhere);
    }
}

/// From its start, a sender works on the open requests of its records. It needs no submission for
/// that.
#[tokio::test(start_paused = true)]
async fn a_sender_that_is_started_continues_by_itself() {
    let world = World::new();
    let first = world.sender().await;
    submit(&first, 1).await;
    world.comes_to(&name(1), "broadcast").await;
    drop(first);
    let second = world.sender().await;
    world.blocks(45).await;
    assert_eq!(world.state(&name(1)).await, "sealed");
    assert_eq!(world.hold(&second), None);
}

/// The request is at its cap and the market is below it, so a block will take it. Nothing holds the
/// lane, and the request is not closed for those behind it.
#[tokio::test(start_paused = true)]
async fn a_request_at_its_cap_that_the_market_would_take_is_not_in_the_way() {
    let world = World::new();
    let sender = world.sender().await;
    let tight = Request {
        max_fee_per_gas: Some(u128::from(BASE_FEE) * 21 / 10),
        ..transfer(1)
    };
    sender.submit(&name(1), LANE, tight).await.unwrap();
    submit(&sender, 2).await;
    for _ in 0..100 {
        pass(Duration::from_secs(1)).await;
        assert_eq!(world.hold(&sender), None);
    }
    assert_eq!(attempts(&world, 1).await.len(), 1);
    assert_eq!(world.record(&name(1)).await.closing, None);
    world.blocks(2).await;
    assert_eq!(world.state(&name(1)).await, "sealed");
}

/// The first node has taken the transaction and forgotten it. When the sender sends it again, the
/// second node gets it too.
#[tokio::test(start_paused = true)]
async fn a_waiting_transaction_goes_to_every_node_the_second_time() {
    let world = World::new();
    let fork = world.chain.fork();
    let nodes = vec![world.node.node(), InProcess::new(&fork).node()];
    let sender = world.sender_over(world.store.clone(), nodes, key()).await;
    submit(&sender, 1).await;
    pass(Duration::from_secs(2)).await;
    assert_eq!((world.chain.waiting().len(), fork.waiting().len()), (1, 0));
    let second = async || (!fork.waiting().is_empty()).then_some(());
    eventually("the second node gets it", second).await;
    assert_eq!(fork.waiting(), world.chain.waiting());
    assert_eq!(world.record(&name(1)).await.attempts.len(), 1);
}
