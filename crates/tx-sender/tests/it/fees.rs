//! Tests of fees: spikes, caps, and empty accounts.

use std::time::Duration;

use alloy_primitives::{U256, hex};
use alloy_signer_local::PrivateKeySigner;
use dev_chain::rollup::GAS_PRICE_ORACLE;
use dev_chain::{BadAnswer, Contract, InjectedFault};
use test_support::pass;
use tx_sender::{AddedFees, Closing, Fees, Hold, Lane, LocalKey, NodeFault, Request, Sender};

use crate::support::{
    BASE_FEE, BURNS, CAP, InProcess, LANE, REVERTS, World, builder, name, submit, transfer,
};

#[tokio::test(start_paused = true)]
async fn a_transfer_is_sealed_with_the_next_block() {
    let world = World::new();
    let sender = world.sender().await;
    submit(&sender, 1).await;
    world.comes_to(&name(1), "broadcast").await;
    world.blocks(1).await;
    let record = world.record(&name(1)).await;
    assert_eq!(
        (record.state.as_str(), record.attempts.len()),
        ("sealed", 1)
    );
    assert_eq!(world.effect(1), U256::from(1));
    let fees = Fees::Dynamic {
        max: u128::from(BASE_FEE) * 2 + 1_000_000,
        tip: 1_000_000,
    };
    assert_eq!(record.attempts[0].fees, fees);
    world.blocks(70).await;
    assert!(world.record(&name(1)).await.is_final);
    // No request is open, so the sender does not ask the node.
    let asked = world.node.asked.lock().unwrap().clone();
    pass(Duration::from_secs(600)).await;
    assert_eq!(*world.node.asked.lock().unwrap(), asked);
}

#[tokio::test(start_paused = true)]
async fn a_chain_without_a_base_fee_gets_legacy_transactions() {
    let world = World::on(builder().legacy().build().unwrap());
    let sender = world.sender().await;
    submit(&sender, 1).await;
    world.blocks(1).await;
    let record = world.record(&name(1)).await;
    assert_eq!(record.state.as_str(), "sealed");
    assert_eq!(record.attempts[0].fees, Fees::Legacy { price: 1_000_000 });
}

/// The base fee rises above the offer, and stays below the cap.
#[tokio::test(start_paused = true)]
async fn a_spike_below_the_cap_is_outbid_in_both_fields() {
    let world = World::new();
    let sender = world.sender().await;
    for number in 1..=3 {
        submit(&sender, number).await;
    }
    world.until_waiting(3).await;
    world.chain.set_base_fee(BASE_FEE * 10);
    world.blocks(9).await;
    for number in 1..=3 {
        let record = world.record(&name(number)).await;
        assert_eq!(
            (record.state.as_str(), record.attempts.len()),
            ("sealed", 2)
        );
        let [before, after] = [record.attempts[0].fees, record.attempts[1].fees];
        assert!(after.most() * 1000 >= before.most() * 1125, "{after:?}");
        assert!(after.tip() * 1000 >= before.tip() * 1125, "{after:?}");
        assert_eq!(world.effect(number), U256::from(1));
    }
}

#[tokio::test(start_paused = true)]
async fn a_spike_above_the_cap_holds_the_lane_until_it_ends() {
    let world = World::new();
    let sender = world.sender().await;
    submit(&sender, 1).await;
    world.comes_to(&name(1), "broadcast").await;
    let high = u64::try_from(CAP).unwrap() * 5;
    world.chain.set_base_fee(high);
    world.blocks(30).await;
    submit(&sender, 2).await;
    world.blocks(30).await;
    assert_eq!(world.hold(&sender), Some("fees_above_cap"));
    assert_eq!(world.state(&name(1)).await, "broadcast");
    // A request that cannot be mined gets no nonce.
    assert_eq!(world.record(&name(2)).await.nonce, None);
    let attempts = world.record(&name(1)).await.attempts;
    assert!(attempts.iter().all(|attempt| attempt.fees.most() <= CAP));

    world.chain.set_base_fee(BASE_FEE);
    world.blocks(8).await;
    for number in [1, 2] {
        assert_eq!(world.state(&name(number)).await, "sealed");
        assert_eq!(world.effect(number), U256::from(1));
    }
    assert_eq!(world.hold(&sender), None);
}

/// The market rises above the cap of the first request in line, and stays below the cap of the one
/// behind it.
#[tokio::test(start_paused = true)]
async fn a_stuck_first_request_is_closed_when_others_could_be_mined() {
    let world = World::new();
    let sender = world.sender().await;
    let low = Request {
        max_fee_per_gas: Some(u128::from(BASE_FEE) * 3),
        ..transfer(1)
    };
    let watch = sender.submit(&name(1), LANE, low).await.unwrap();
    world.until_waiting(1).await;
    submit(&sender, 2).await;
    world.until_waiting(2).await;
    world.chain.set_base_fee(BASE_FEE * 10);
    world.blocks(40).await;
    assert_eq!(world.hold(&sender), Some("fees_above_cap"));
    assert_eq!(world.state(&name(2)).await, "broadcast");
    world.blocks(60).await;
    let closed = watch.record();
    assert_eq!(closed.closing, Some(Closing::InTheWay));
    assert_eq!(closed.state.as_str(), "abandoned");
    assert_eq!(world.state(&name(2)).await, "sealed");
    assert_eq!(
        (world.effect(1), world.effect(2)),
        (U256::ZERO, U256::from(1))
    );
}

#[tokio::test(start_paused = true)]
async fn an_empty_account_holds_the_lane_until_it_is_funded() {
    let world = World::on(builder().build().unwrap());
    let poor = PrivateKeySigner::from_bytes(&[0x42; 32].into()).unwrap();
    let key = LocalKey::from_hex(&hex::encode([0x42; 32]).into()).unwrap();
    let sender = world
        .sender_over(
            world.store.clone(),
            vec![world.node.node()],
            std::sync::Arc::new(key),
        )
        .await;
    let lane = Lane {
        account: poor.address(),
        ..LANE
    };
    sender.submit("poor", lane, transfer(1)).await.unwrap();
    world.blocks(20).await;
    let status = sender.status(lane);
    assert_eq!(status.hold.map(|hold| hold.code()), Some("no_gas"));
    assert_eq!(status.transactions_left, Some(0));
    assert_eq!(world.record("poor").await.nonce, None);
    world.fund(poor.address(), U256::from(10_u64.pow(16)));
    world.blocks(8).await;
    assert_eq!(world.state("poor").await, "sealed");
    assert_eq!(sender.status(lane).hold, None);
}

/// The account pays for something else after the sender has checked the balance, and before the
/// node checks it.
#[tokio::test(start_paused = true)]
async fn a_balance_that_runs_out_while_sending_ends_nothing() {
    let world = World::new();
    let sender = world.sender().await;
    let words = "insufficient funds for gas * price + value: balance 0";
    let refusal = BadAnswer::Error {
        code: -32000,
        message: words.to_owned(),
    };
    world
        .chain
        .inject(InjectedFault::new("eth_sendRawTransaction", refusal).times(5));
    submit(&sender, 1).await;
    world.until_held(&sender, Some("no_gas")).await;
    world.blocks(40).await;
    let record = world.record(&name(1)).await;
    assert_eq!(
        (record.state.as_str(), record.attempts.len()),
        ("sealed", 1)
    );
}

/// A world on a rollup, whose nodes demand its fees beside the gas, and an account with this many
/// wei.
async fn rollup(wei: U256) -> (World, Sender, Lane) {
    let chain = builder().contract(GAS_PRICE_ORACLE, Contract::GasPriceOracle);
    let world = World::on(chain.build().unwrap());
    let account = PrivateKeySigner::from_bytes(&[0x42; 32].into()).unwrap();
    let key = LocalKey::from_hex(&hex::encode([0x42; 32]).into()).unwrap();
    let nodes = vec![world.node.node()];
    let sender = world.sender_over(world.store.clone(), nodes, std::sync::Arc::new(key));
    let sender = sender.await;
    world.fund(account.address(), wei);
    world.blocks(2).await;
    let lane = Lane {
        account: account.address(),
        ..LANE
    };
    (world, sender, lane)
}

/// The most that a transfer costs at the fees of a first offer.
fn gas_of_a_transfer() -> U256 {
    U256::from(21_000) * U256::from(BASE_FEE * 2 + 1_000_000) + U256::from(1)
}

fn needed(sender: &Sender, lane: Lane) -> Option<U256> {
    match sender.status(lane).hold {
        Some(Hold::NoGas { needed, .. }) => Some(needed),
        _ => None,
    }
}

#[tokio::test(start_paused = true)]
async fn the_fees_of_a_rollup_count_before_anything_is_signed() {
    let (world, sender, lane) = rollup(gas_of_a_transfer()).await;
    let (data, operator) = (U256::from(10_u64.pow(12)), U256::from(5));
    world.chain.set_rollup_fees(data, operator).unwrap();
    sender.submit("poor", lane, transfer(1)).await.unwrap();
    world.blocks(5).await;
    let all = gas_of_a_transfer() + data + operator;
    assert_eq!(needed(&sender, lane), Some(all));
    assert_eq!(world.record("poor").await.nonce, None);
    world.fund(lane.account, data + operator);
    world.blocks(3).await;
    let record = world.record("poor").await;
    assert_eq!(
        (record.state.as_str(), record.attempts.len()),
        ("sealed", 1)
    );
}

/// A node that still loads the chain, and one that lies, do not switch the fees off for good.
#[tokio::test(start_paused = true)]
async fn a_chain_is_asked_again_whether_it_adds_fees() {
    let (world, _, _) = rollup(U256::ZERO).await;
    let data = U256::from(10_u64.pow(12));
    world.chain.set_rollup_fees(data, U256::ZERO).unwrap();
    world.chain.mine();
    let head = world.node.node().head().await.unwrap();
    let fees = AddedFees::default();
    let asked = async |node: &InProcess| fees.of(node, (0, 21_000), head.hash).await;
    let codes = || world.node.asked.lock().unwrap()["eth_getCode"];

    let loading = InProcess::new(&builder().build().unwrap());
    assert!(matches!(
        asked(&loading).await,
        Err(NodeFault::Refused { .. })
    ));
    for body in [
        r#"{"jsonrpc":"2.0","id":1,"result":null}"#,
        r#"{"jsonrpc":"2.0","id":1,"result":"0x"}"#,
    ] {
        let body = body.as_bytes().to_vec();
        let fault = InjectedFault::new("eth_getCode", BadAnswer::Raw { status: 200, body });
        world.chain.inject(fault);
    }
    let method = "eth_getCode";
    assert_eq!(asked(&world.node).await, Err(NodeFault::Lost { method }));
    for _ in 0..3 {
        assert_eq!(asked(&world.node).await, Ok(U256::ZERO));
    }
    assert_eq!(codes(), 2);
    pass(Duration::from_secs(300)).await;
    // What the chain adds is found, and never asked for again.
    for _ in 0..3 {
        assert_eq!(asked(&world.node).await, Ok(data));
    }
    pass(Duration::from_secs(300)).await;
    assert_eq!(asked(&world.node).await, Ok(data));
    assert_eq!(codes(), 3);
}

/// The chain has fees that its contract does not state. Only the refusal of a node names them.
#[tokio::test(start_paused = true)]
async fn a_lane_is_held_by_the_amount_that_a_node_demands() {
    let (world, sender, lane) = rollup(gas_of_a_transfer()).await;
    let demanded = gas_of_a_transfer() + U256::from(10_u64.pow(12));
    let (balance, overshot) = (gas_of_a_transfer(), U256::from(10_u64.pow(12)));
    let refusal = BadAnswer::Error {
        code: -32000,
        message: format!(
            "insufficient funds for gas * price + value: balance {balance}, tx cost {demanded}, overshot {overshot}"
        ),
    };
    let fault = InjectedFault::new("eth_sendRawTransaction", refusal);
    world.chain.inject(fault.times(u32::MAX));
    sender.submit("poor", lane, transfer(1)).await.unwrap();
    let sends = || world.node.asked.lock().unwrap()["eth_sendRawTransaction"];
    world.blocks(60).await;
    assert_eq!(needed(&sender, lane), Some(demanded));
    // As long as no coins come, the same bytes are sent seldom.
    let before = sends();
    assert!(before <= 20, "{before}");
    world.chain.clear_faults();
    world.fund(lane.account, overshot);
    world.blocks(3).await;
    assert_eq!(world.state("poor").await, "sealed");
    assert_eq!(sender.status(lane).hold, None);
}

/// The node suggests a fifth of the tip that it demands.
#[tokio::test(start_paused = true)]
async fn a_least_tip_is_met_at_once_and_remembered() {
    let world = World::new();
    world.chain.set_least_tip(5_000_000);
    let sender = world.sender().await;
    submit(&sender, 1).await;
    world.blocks(3).await;
    let record = world.record(&name(1)).await;
    assert_eq!(
        (record.state.as_str(), record.attempts.len()),
        ("sealed", 2)
    );
    let [before, after] = [record.attempts[0].fees, record.attempts[1].fees];
    assert_eq!((before.tip(), after.tip()), (1_000_000, 5_000_000));
    assert!(after.most() * 1000 >= before.most() * 1125, "{after:?}");
    submit(&sender, 2).await;
    world.blocks(2).await;
    let next = world.record(&name(2)).await;
    assert_eq!((next.state.as_str(), next.attempts.len()), ("sealed", 1));
    assert_eq!(next.attempts[0].fees.tip(), 5_000_000);
    // Later the node's suggestion counts again.
    world.chain.set_least_tip(0);
    pass(Duration::from_secs(601)).await;
    submit(&sender, 3).await;
    world.blocks(2).await;
    let later = world.record(&name(3)).await;
    assert_eq!(later.attempts[0].fees.tip(), 1_000_000);
}

#[tokio::test(start_paused = true)]
async fn a_least_tip_above_the_cap_holds_the_lane() {
    let world = World::new();
    world.chain.set_least_tip(CAP + 1);
    let sender = world.sender().await;
    submit(&sender, 1).await;
    world.blocks(30).await;
    assert_eq!(world.hold(&sender), Some("fees_above_cap"));
    // No fees below the cap help, so none are raised.
    assert_eq!(world.record(&name(1)).await.attempts.len(), 1);
    world.chain.set_least_tip(0);
    world.blocks(10).await;
    let record = world.record(&name(1)).await;
    assert_eq!(
        (record.state.as_str(), record.attempts.len()),
        ("sealed", 1)
    );
}

#[tokio::test(start_paused = true)]
async fn reverting_and_burning_transactions_fail_and_delay_no_other() {
    let world = World::new();
    let sender = world.sender().await;
    for (key, to) in [("reverts", REVERTS), ("burns", BURNS)] {
        let request = Request {
            to,
            value: U256::ZERO,
            gas_limit: 50_000,
            ..transfer(0)
        };
        sender.submit(key, LANE, request).await.unwrap();
    }
    submit(&sender, 1).await;
    world.blocks(2).await;
    assert_eq!(world.state("reverts").await, "failed");
    assert_eq!(world.state("burns").await, "failed");
    assert_eq!(world.state(&name(1)).await, "sealed");
}

/// Every node refuses the transaction, so the reason is the transaction itself.
#[tokio::test(start_paused = true)]
async fn a_transaction_that_every_node_refuses_is_closed_and_its_nonce_used_up() {
    let world = World::new();
    let sender = world.sender().await;
    let request = Request {
        gas_limit: 20_000,
        ..transfer(1)
    };
    sender.submit(&name(1), LANE, request).await.unwrap();
    submit(&sender, 2).await;
    world.blocks(3).await;
    let refused = world.record(&name(1)).await;
    assert_eq!(refused.state.as_str(), "abandoned");
    assert!(
        matches!(refused.closing, Some(Closing::Refused(words)) if words.contains("intrinsic"))
    );
    assert_eq!(world.state(&name(2)).await, "sealed");
    assert_eq!(
        (world.effect(1), world.effect(2)),
        (U256::ZERO, U256::from(1))
    );
}
