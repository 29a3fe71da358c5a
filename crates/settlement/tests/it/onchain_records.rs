//! What the records of our account's transactions say, and how a later configuration changes them.

use std::sync::Arc;
use std::time::Duration;

use alloy_primitives::{U256, hex};
use dev_chain::{GAS_PAYER, Mining};
use settlement::{
    ChainOptions, ChainReader, GasPolicy, OnchainSettler, Settlement, Settler, Timeouts,
};
use tx_sender::MemoryStore;

use crate::chain::{builder, options, reader_with, serve};
use crate::facilitator::unknown;
use crate::onchain::paid;
use crate::payments::{PRICE, USDC, payment, terms, timeouts};

async fn pause() {
    tokio::time::sleep(Duration::from_millis(1)).await;
}

/// Raising a cap also applies to requests that wait already.
#[tokio::test]
async fn a_raised_cap_frees_what_waits() {
    let chain = builder().mining(Mining::Manual).build().unwrap();
    let server = serve(&chain).await;
    let records = Arc::new(MemoryStore::default());
    let settler = async |max_fee_per_gas: u128, timeouts: Timeouts| {
        let policy = GasPolicy {
            max_fee_per_gas,
            ..GasPolicy::default()
        };
        let key = hex::encode_prefixed(GAS_PAYER.key).into();
        let reader = reader_with(&server, timeouts, &terms());
        OnchainSettler::recorded(reader, &key, timeouts, policy, records.clone())
            .await
            .unwrap()
    };
    let payment = payment(USDC);
    let brief = Timeouts {
        receipt: Duration::from_millis(300),
        ..timeouts()
    };
    let outcome = settler(50_000_000, brief).await.settle(&payment).await;
    assert_eq!(unknown(&outcome).1.code(), "timeout");
    // The market rises above the cap, and the node drops the transactions that are too cheap.
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
        while chain.waiting().is_empty() {
            pause().await;
        }
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
    let key = hex::encode_prefixed(GAS_PAYER.key).into();
    let settler = OnchainSettler::new(reader, &key, timeouts(), GasPolicy::default()).unwrap();
    let payment = payment(USDC);
    let state = async || {
        let key = format!("settlement/{}/0", payment.key());
        let record = settler.sender().find(&key).await.unwrap();
        record.map(|record| record.state.as_str())
    };
    let blocks = async {
        while chain.waiting().is_empty() {
            pause().await;
        }
        chain.mine();
        while state().await != Some("mined") {
            pause().await;
        }
        for _ in 1..3 {
            chain.mine();
            // Several looks.
            for _ in 0..50 {
                pause().await;
                assert_eq!(state().await, Some("mined"));
            }
        }
        chain.mine();
    };
    let (outcome, ()) = tokio::join!(settler.settle(&payment), blocks);
    assert!(matches!(outcome, Settlement::Settled(_)), "{outcome:?}");
    assert_eq!(state().await, Some("sealed"));
    let found = settler.chain().find(&payment, None).await;
    assert!(matches!(found, Ok(settlement::Finding::Settled(_))));
}
