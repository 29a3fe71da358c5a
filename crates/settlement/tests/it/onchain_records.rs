//! Tests of the records of our account's transactions, and of the effect of a later configuration
//! on them.

use std::sync::Arc;
use std::time::Duration;

use alloy_primitives::{U256, hex};
use dev_chain::{GAS_PAYER, Mining};
use settlement::{
    ChainOptions, ChainReader, GasPolicy, OnchainSettler, Settlement, Settler, Timeouts,
};
use test_support::eventually;
use tokio::time::timeout;
use tx_sender::{LocalKey, MemoryStore, Options, Sender, Store};

use crate::chain::{builder, options, reader_with, serve, waiting};
use crate::facilitator::unknown;
use crate::onchain::{alone, paid, recorded};
use crate::payments::{Draft, NOW, PRICE, USDC, payment, terms, timeouts};

/// Waits until the record under this key is in this state.
async fn comes_to(sender: &Sender, key: &str, state: &str) {
    let come = async || {
        let record = sender.find(key).await.unwrap();
        record.filter(|record| record.state.as_str() == state)
    };
    eventually(format_args!("{key} is {state}"), come).await;
}

/// A raised cap also applies to requests that are already waiting.
#[tokio::test]
async fn a_raised_cap_frees_waiting_requests() {
    let chain = builder().mining(Mining::Manual).build().unwrap();
    let server = serve(&chain).await;
    let records = Arc::new(MemoryStore::default());
    let settler = async |max_fee_per_gas: u128, timeouts: Timeouts| {
        let policy = GasPolicy {
            max_fee_per_gas,
            ..GasPolicy::default()
        };
        let reader = reader_with(&server, timeouts, &terms());
        recorded(reader, GAS_PAYER.key, timeouts, policy, records.clone()).await
    };
    let payment = payment(USDC);
    let brief = Timeouts {
        receipt: Duration::from_secs(2),
        ..timeouts()
    };
    let outcome = settler(50_000_000, brief).await.settle(&payment).await;
    assert_eq!(unknown(&outcome).1.code(), "timeout");
    // The market rises above the cap, and the node drops the transactions whose fee is too low.
    chain.set_base_fee(60_000_000);
    for hash in chain.waiting() {
        assert!(chain.evict(hash));
    }
    chain.mine();
    let outcome = settler(50_000_000, brief).await.settle(&payment).await;
    assert_eq!(unknown(&outcome).1.code(), "timeout");
    assert!(chain.waiting().is_empty());

    let raised = settler(200_000_000, timeouts()).await;
    let mine = async {
        waiting(&chain, 1).await;
        chain.mine();
    };
    let (outcome, ()) = tokio::join!(raised.settle(&payment), mine);
    assert!(matches!(outcome, Settlement::Settled(_)), "{outcome:?}");
    assert_eq!(paid(&chain, &payment), U256::from(PRICE));
    assert_eq!(chain.transactions().len(), 1);
}

#[tokio::test]
async fn a_settlement_has_its_confirmations_before_it_counts() {
    let chain = builder().mining(Mining::Manual).build().unwrap();
    let server = serve(&chain).await;
    let options = ChainOptions {
        confirmations: 3,
        ..options()
    };
    let reader = ChainReader::new(&server.url().into(), &terms(), timeouts(), options).unwrap();
    let settler = alone(reader, GAS_PAYER.key, timeouts(), GasPolicy::default());
    let payment = payment(USDC);
    let key = format!("settlement/{}/0", payment.key());
    let blocks = async {
        waiting(&chain, 1).await;
        chain.mine();
        comes_to(settler.sender(), &key, "mined").await;
        let mut watch = settler.sender().watch(&key).await.unwrap();
        for _ in 1..3 {
            chain.mine();
            // This waits in real time, because the node is a server. The settler looks several
            // times meanwhile.
            let changes = timeout(Duration::from_millis(100), watch.changed());
            assert!(changes.await.is_err(), "{:?}", watch.record());
        }
        chain.mine();
    };
    let (outcome, ()) = tokio::join!(settler.settle(&payment), blocks);
    assert!(matches!(outcome, Settlement::Settled(_)), "{outcome:?}");
    let record = settler.sender().find(&key).await.unwrap().unwrap();
    assert_eq!(record.state.as_str(), "sealed");
    let found = settler.chain().find(&payment, None).await;
    assert!(matches!(found, Ok(settlement::Finding::Settled(_))));
}

/// One of the two servers sends for both. When it ends, the other one continues with its
/// transaction.
#[tokio::test]
async fn two_servers_settle_from_one_account_at_the_same_time() {
    let chain = builder().mining(Mining::Manual).build().unwrap();
    let server = serve(&chain).await;
    let records: Arc<dyn Store> = Arc::new(MemoryStore::default());
    let settler = async || {
        let options = Options {
            lease_seconds: 1,
            ..Options::default()
        };
        let key = LocalKey::from_hex(&hex::encode_prefixed(GAS_PAYER.key).into()).unwrap();
        let reader = reader_with(&server, timeouts(), &terms());
        let (policy, records) = (GasPolicy::default(), (records.clone(), options));
        OnchainSettler::shared(reader, Arc::new(key), timeouts(), policy, records)
            .await
            .unwrap()
    };
    let (one, two) = (settler().await, settler().await);
    let payment = |nonce| Draft::new(USDC).nonce(nonce).sign();
    let (first, second, third) = (payment(1), payment(2), payment(3));
    let second_settled = async {
        waiting(&chain, 1).await;
        two.settle(&second).await
    };
    let mine = async {
        waiting(&chain, 2).await;
        chain.mine();
    };
    let (at_one, at_two, ()) = tokio::join!(one.settle(&first), second_settled, mine);
    for outcome in [at_one, at_two] {
        assert!(matches!(outcome, Settlement::Settled(_)), "{outcome:?}");
    }

    tokio::select! {
        outcome = one.settle(&third) => panic!("{outcome:?}"),
        () = waiting(&chain, 1) => {}
    }
    drop(one);
    let decided = two.reconcile(&third, None, NOW).await;
    assert_eq!(decided.outcome(), "undecided");
    chain.mine();
    // No caller asks again. The other server continues the work by itself.
    let key = format!("settlement/{}/0", third.key());
    comes_to(two.sender(), &key, "sealed").await;
    assert_eq!(chain.transactions().len(), 3);
    assert_eq!(paid(&chain, &third), U256::from(3 * PRICE));
}
