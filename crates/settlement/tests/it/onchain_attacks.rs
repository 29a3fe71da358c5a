//! Tests with a chain that shows blocks that are never made, removes blocks, and raises its fees.

use std::time::Duration;

use alloy_primitives::U256;
use dev_chain::{Fate, Mining, PAYEE, USDC as USDC_ADDRESS};
use settlement::{Settlement, Settler, Timeouts};
use test_support::eventually;

use crate::chain::{builder, mine_until, serve, waiting};
use crate::facilitator::unknown;
use crate::onchain::{paid, settler, settler_with};
use crate::payments::{Draft, NOW, PRICE, USDC, payment, timeouts};

fn brief() -> Timeouts {
    Timeouts {
        receipt: Duration::from_secs(2),
        ..timeouts()
    }
}

/// The receipt of the payment shows before its block exists, and then vanishes.
#[tokio::test]
async fn no_payment_is_settled_on_a_preconfirmed_receipt() {
    for fate in [Fate::Dropped, Fate::Waiting] {
        let chain = builder().mining(Mining::Manual).build().unwrap();
        let server = serve(&chain).await;
        let settler = settler_with(&server, brief());
        let payment = payment(USDC);
        let preconfirm = async {
            waiting(&chain, 1).await;
            chain.preconfirm();
        };
        let (outcome, ()) = tokio::join!(settler.settle(&payment), preconfirm);
        let (hash, cause) = unknown(&outcome);
        assert_eq!(cause.code(), "timeout", "{fate:?}");
        let hash = hash.unwrap().to_owned();
        let reconciled = settler.reconcile(&payment, Some(&hash), NOW).await;
        assert_eq!(reconciled.outcome(), "undecided", "{fate:?}");

        // The account is not stuck: the same transaction reaches a block, and then the next one
        // does.
        chain.drop_preconfirmed(fate);
        let next = Draft::new(USDC).nonce(2).sign();
        let (outcome, ()) = tokio::join!(settler.settle(&next), mine_until(&chain, 2));
        assert!(matches!(outcome, Settlement::Settled(_)), "{outcome:?}");
        let reconciled = settler.reconcile(&payment, Some(&hash), NOW).await;
        assert_eq!(reconciled.outcome(), "settled", "{fate:?}");
        assert_eq!(chain.transactions()[0].hash.to_string(), hash);
        assert_eq!(paid(&chain, &payment), U256::from(2 * PRICE));
    }
}

/// The transaction of a settled payment gets into a block again with the same bytes, even if no
/// caller asks.
#[tokio::test]
async fn a_settlement_whose_block_is_removed_is_sent_again_unchanged() {
    for depth in 1..=5 {
        for fate in [Fate::Dropped, Fate::Waiting] {
            let chain = builder().build().unwrap();
            let server = serve(&chain).await;
            let quick = Timeouts {
                poll_interval: Duration::from_millis(1),
                ..timeouts()
            };
            let settler = settler_with(&server, quick);
            let payment = payment(USDC);
            let outcome = settler.settle(&payment).await;
            assert!(matches!(outcome, Settlement::Settled(_)), "{outcome:?}");
            let before = chain.transactions();
            for _ in 1..depth {
                chain.mine();
            }
            chain.reorganise(depth, fate);
            assert_eq!(paid(&chain, &payment), U256::ZERO);
            // A payment comes in. The sender checks the lane, as it does every few seconds.
            let next = Draft::new(USDC).nonce(2).sign();
            let (outcome, ()) = tokio::join!(settler.settle(&next), mine_until(&chain, 2));
            assert!(matches!(outcome, Settlement::Settled(_)), "{outcome:?}");
            assert_eq!(
                chain.transactions()[0].hash,
                before[0].hash,
                "{depth} {fate:?}"
            );
            assert_eq!(paid(&chain, &payment), U256::from(2 * PRICE));
        }
    }
}

/// Above the cap no new settlement begins, and the outcome states the cause. A pending one waits,
/// and nothing is sent under another nonce.
#[tokio::test]
async fn a_spike_above_the_cap_is_reported_and_ends() {
    let chain = builder().mining(Mining::Manual).build().unwrap();
    let server = serve(&chain).await;
    let settler = settler_with(&server, brief());
    let payment = payment(USDC);
    let outcome = settler.settle(&payment).await;
    let hash = unknown(&outcome).0.unwrap().to_owned();
    chain.set_base_fee(200_000_000_000);
    chain.mine();
    let next = Draft::new(USDC).nonce(2).sign();
    // For up to a second the settler uses the last fee that it read. The node refuses that fee.
    let refused = async || {
        let Settlement::NotSent { cause } = settler.settle(&next).await else {
            panic!("sent above the cap")
        };
        (cause.code() == "fees_above_cap").then_some(())
    };
    eventually("the new fee counts", refused).await;
    assert!(chain.transactions().is_empty());

    chain.set_base_fee(20_000_000);
    mine_until(&chain, 1).await;
    assert_eq!(chain.transactions()[0].hash.to_string(), hash);
    let outcome = settler.reconcile(&payment, Some(&hash), NOW).await;
    assert_eq!(outcome.outcome(), "settled");
    assert_eq!(paid(&chain, &payment), U256::from(PRICE));
}

/// Forty settlements at the same time share the checks of the chain. None waits for the receipt of
/// another one.
#[tokio::test]
async fn many_settlements_are_on_their_way_at_once() {
    let chain = builder().mining(Mining::Manual).build().unwrap();
    let server = serve(&chain).await;
    let settler = std::sync::Arc::new(settler(&server));
    let mut settling = tokio::task::JoinSet::new();
    for nonce in 1..=40 {
        let (settler, payment) = (settler.clone(), Draft::new(USDC).nonce(nonce).sign());
        settling.spawn(async move { settler.settle(&payment).await });
    }
    waiting(&chain, 40).await;
    chain.mine();
    for outcome in settling.join_all().await {
        assert!(matches!(outcome, Settlement::Settled(_)), "{outcome:?}");
    }
    let paid = chain.balance_of(USDC_ADDRESS, PAYEE.address).unwrap();
    assert_eq!(paid, U256::from(40 * PRICE));
}
