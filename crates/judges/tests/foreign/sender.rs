//! Tests of the sender of transactions on a foreign chain. The tests control the chain's pool,
//! blocks and fees.

mod stage;

use alloy_primitives::{B256, U256};
use serde_json::{Value, json};
use tx_sender::{Kind, State};

use crate::sender::stage::{EFFECT, GWEI, Stage, transfer};

#[tokio::test]
async fn a_transfer_is_sealed() {
    let stage = Stage::open().await;
    stage.submit(1).await;
    stage.in_pool(1).await;
    stage.mine().await;
    let record = stage.sealed(1).await;
    assert_eq!(record.nonce, Some(0));
    assert_eq!(stage.effect(1).await, U256::from(EFFECT));
}

/// Many transfers are sent at once. All of them come into one block, in the order of their nonces.
#[tokio::test]
async fn many_transfers_are_on_their_way_at_once() {
    let stage = Stage::open().await;
    for number in 1..=40 {
        stage.submit(number).await;
    }
    for number in 1..=40 {
        stage.in_pool(number).await;
    }
    stage.mine().await;
    let mut nonces = Vec::new();
    for number in 1..=40 {
        let record = stage.sealed(number).await;
        nonces.push(record.nonce.unwrap());
        assert_eq!(stage.effect(number).await, U256::from(EFFECT));
    }
    nonces.sort_unstable();
    assert_eq!(nonces, (0..40).collect::<Vec<_>>());
}

#[tokio::test]
async fn a_fee_spike_is_outbid_in_both_fields() {
    let stage = Stage::open().await;
    stage.submit(1).await;
    stage.in_pool(1).await;
    let first = stage.record(1).await.newest().unwrap().clone();
    stage.base_fee(20 * GWEI).await;
    stage.mine().await;
    assert!(!stage.record(1).await.state.is_outcome());
    let raised = stage.until(1, |record| record.attempts.len() > 1).await;
    let newest = raised.newest().unwrap();
    assert_eq!(newest.kind, Kind::Request);
    assert!(newest.fees.most() * 1000 >= first.fees.most() * 1125);
    assert!(newest.fees.tip() * 1000 >= first.fees.tip() * 1125);
    stage.in_pool_as(newest.hash).await;
    stage.base_fee(20 * GWEI).await;
    stage.mine().await;
    stage.sealed(1).await;
    assert_eq!(stage.effect(1).await, U256::from(EFFECT));
}

#[tokio::test]
async fn a_spike_above_the_cap_holds_the_lane_by_name_until_it_ends() {
    let stage = Stage::open().await;
    stage.base_fee(900 * GWEI).await;
    stage.mine().await;
    stage.submit(1).await;
    stage.held(Some("fees_above_cap")).await;
    stage.base_fee(GWEI).await;
    stage.mine().await;
    stage.in_pool(1).await;
    stage.mine().await;
    stage.sealed(1).await;
    stage.held(None).await;
}

#[tokio::test]
async fn a_dropped_transaction_is_sent_again_as_it_was() {
    let stage = Stage::open().await;
    stage.submit(1).await;
    stage.in_pool(1).await;
    let hash = stage.record(1).await.hash().unwrap();
    let dropped: Option<B256> = stage.call("anvil_dropTransaction", json!([hash])).await;
    assert_eq!(dropped, Some(hash));
    let known: Value = stage.call("eth_getTransactionByHash", json!([hash])).await;
    assert_eq!(known, Value::Null);
    stage.in_pool_as(hash).await;
    stage.mine().await;
    let record = stage.sealed(1).await;
    assert_eq!((record.hash(), record.nonce), (Some(hash), Some(0)));
    assert_eq!(stage.effect(1).await, U256::from(EFFECT));
}

#[tokio::test]
async fn a_reorganisation_takes_the_outcome_back_and_the_same_bytes_go_out() {
    let stage = Stage::open().await;
    for depth in 1..=5 {
        stage.submit(depth).await;
        stage.in_pool(depth).await;
        stage.mine().await;
        let sealed = stage.sealed(depth).await;
        for _ in 1..depth {
            stage.mine().await;
        }
        // The node does not put the transactions of the removed blocks back into its pool.
        let _: Value = stage.call("anvil_reorg", json!([depth, []])).await;
        assert_eq!(stage.effect(depth).await, U256::ZERO);
        stage
            .until(depth, |record| !record.state.is_outcome())
            .await;
        stage.in_pool(depth).await;
        stage.mine().await;
        let again = stage.sealed(depth).await;
        assert_eq!(
            (again.nonce, &again.attempts[0]),
            (sealed.nonce, &sealed.attempts[0])
        );
        assert_ne!(again.state.inclusion(), sealed.state.inclusion());
        assert_eq!(stage.effect(depth).await, U256::from(EFFECT));
    }
}

#[tokio::test]
async fn a_nonce_that_was_used_elsewhere_is_not_claimed() {
    let stage = Stage::open().await;
    for nonce in 0..3 {
        stage.send_behind_its_back(nonce, 5 * GWEI).await;
    }
    stage.mine().await;
    stage.submit(1).await;
    stage.in_pool(1).await;
    stage.mine().await;
    assert_eq!(stage.sealed(1).await.nonce, Some(3));
}

#[tokio::test]
async fn a_transaction_that_was_replaced_from_elsewhere_is_named_so() {
    let stage = Stage::open().await;
    stage.submit(1).await;
    stage.in_pool(1).await;
    let other = stage.send_behind_its_back(0, 100 * GWEI).await;
    stage.mine().await;
    let record = stage.until(1, |record| record.state.is_outcome()).await;
    let State::Replaced(inclusion) = record.state else {
        panic!("{record:?}")
    };
    assert_eq!(inclusion.hash, other);
    assert_eq!(stage.effect(1).await, U256::ZERO);
    // The next request does not wait for the replaced one.
    stage.submit(2).await;
    stage.in_pool(2).await;
    stage.mine().await;
    assert_eq!(stage.sealed(2).await.nonce, Some(1));
    assert_eq!(stage.effect(2).await, U256::from(EFFECT));
}

#[tokio::test]
async fn a_cancelled_request_leaves_no_gap() {
    let stage = Stage::open().await;
    for number in 1..=2 {
        stage.submit(number).await;
        stage.in_pool(number).await;
    }
    stage.sender.cancel(&stage::name(1)).await.unwrap();
    let closing = |record: &tx_sender::Record| {
        record
            .newest()
            .is_some_and(|newest| newest.kind == Kind::Noop)
    };
    let noop = stage.until(1, closing).await.newest().unwrap().hash;
    stage.in_pool_as(noop).await;
    stage.mine().await;
    stage.sealed(2).await;
    let cancelled = stage.until(1, |record| record.state.is_outcome()).await;
    assert_eq!(cancelled.state.as_str(), "abandoned");
    assert_eq!(stage.effect(1).await, U256::ZERO);
    assert_eq!(stage.effect(2).await, U256::from(EFFECT));
}

#[tokio::test]
async fn an_empty_account_holds_the_lane_by_name_until_it_is_funded() {
    let stage = Stage::open().await;
    stage.fund(U256::from(1)).await;
    stage.mine().await;
    stage.submit(1).await;
    stage.held(Some("no_gas")).await;
    stage.fund(U256::from(10_u128.pow(18))).await;
    stage.mine().await;
    stage.in_pool(1).await;
    stage.mine().await;
    stage.sealed(1).await;
    stage.held(None).await;
}

/// A second process finds the records and continues with the same bytes.
#[tokio::test]
async fn a_restart_sends_the_identical_bytes() {
    let mut stage = Stage::open().await;
    stage.submit(1).await;
    stage.in_pool(1).await;
    let before = stage.record(1).await;
    let _: Value = stage
        .call("anvil_dropTransaction", json!([before.hash()]))
        .await;
    stage.restart().await;
    stage.in_pool_as(before.hash().unwrap()).await;
    stage.mine().await;
    let after = stage.sealed(1).await;
    assert_eq!(after.attempts, before.attempts);
    // A second submission returns the existing request.
    let (key, request) = (stage::name(1), transfer(1));
    let watch = stage.sender.submit(&key, stage.lane, request).await;
    assert_eq!(watch.unwrap().record().state, after.state);
}
