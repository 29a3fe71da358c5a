//! Tests with several endpoints of one chain, of which one is dead, silent, behind, or wrong.

use std::time::Duration;

use alloy_primitives::{U256, hex};
use dev_chain::{BadAnswer, DevChain, GAS_PAYER, InjectedFault, PAYEE, RpcServer};
use settlement::{
    AnySettler, Cause, ChainReader, Finding, GasPolicy, Mode, OnchainSettler, Settlement,
    SettlementConfig, SettlementError, Settler,
};
use test_support::eventually;
use tokio::time::Instant;

use crate::calls::transfer;
use crate::chain::{builder, options, serve};
use crate::onchain::{alone, paid};
use crate::payments::{Draft, NOW, PRICE, USDC, payment, terms, timeouts};

/// No server listens at this address.
const DEAD: &str = "http://127.0.0.1:9";

fn reader(urls: &[String]) -> ChainReader {
    let urls: Vec<_> = urls.iter().cloned().map(Into::into).collect();
    ChainReader::over(&urls, &terms(), timeouts(), options()).unwrap()
}

fn settler(urls: &[String]) -> OnchainSettler {
    alone(
        reader(urls),
        GAS_PAYER.key,
        timeouts(),
        GasPolicy::default(),
    )
}

async fn settles(chain: &DevChain, settler: &OnchainSettler, nonce: u8) {
    let payment = Draft::new(USDC).nonce(nonce).sign();
    let before = paid(chain, &payment);
    let outcome = settler.settle(&payment).await;
    assert!(matches!(outcome, Settlement::Settled(_)), "{outcome:?}");
    assert_eq!(paid(chain, &payment), before + U256::from(PRICE));
}

async fn pair() -> (DevChain, RpcServer, DevChain, RpcServer) {
    let first = builder().build().unwrap();
    let second = first.fork();
    let servers = (serve(&first).await, serve(&second).await);
    (first, servers.0, second, servers.1)
}

#[tokio::test]
async fn a_dead_endpoint_is_passed_over_wherever_it_stands() {
    let chain = builder().build().unwrap();
    let server = serve(&chain).await;
    for (nonce, urls) in [
        [DEAD.to_owned(), server.url()],
        [server.url(), DEAD.to_owned()],
    ]
    .iter()
    .enumerate()
    {
        let settler = settler(urls);
        settles(&chain, &settler, u8::try_from(nonce).unwrap() + 1).await;
    }
    let alone = settler(&[DEAD.to_owned()]).settle(&payment(USDC)).await;
    let Settlement::NotSent { cause } = alone else {
        panic!("{alone:?}")
    };
    assert_eq!(cause.code(), "unreachable");
}

/// In these tests the time limit of an answer is twenty seconds.
#[tokio::test]
async fn a_question_without_an_answer_is_asked_once_more() {
    let chain = builder().build().unwrap();
    let server = serve(&chain).await;
    let settler = settler(&[server.url()]);
    for (nonce, method) in [
        "eth_getTransactionReceipt",
        "eth_call",
        "eth_estimateGas",
        "eth_getBlockByNumber",
    ]
    .into_iter()
    .enumerate()
    {
        chain.inject(InjectedFault::new(method, BadAnswer::Never));
        let began = Instant::now();
        settles(&chain, &settler, u8::try_from(nonce).unwrap() + 1).await;
        assert!(began.elapsed() < Duration::from_secs(15), "{method}");
    }
}

/// When the repeated question has failed at once, the silent first one is not waited for until its
/// limit.
#[tokio::test]
async fn a_silent_question_and_a_failed_one_end_soon() {
    let chain = builder().build().unwrap();
    let server = serve(&chain).await;
    let settler = settler(&[server.url()]);
    settles(&chain, &settler, 1).await;
    chain.inject(InjectedFault::new("eth_getCode", BadAnswer::Never));
    let overloaded = BadAnswer::Raw {
        status: 503,
        body: b"overloaded".to_vec(),
    };
    chain.inject(InjectedFault::new("eth_getCode", overloaded));
    let began = Instant::now();
    let payer = payment(USDC).payer();
    let accepts = settler.accepts_wallet(payer).await;
    assert_eq!(accepts.map_err(|cause| cause.code()), Err("http_status"));
    assert!(began.elapsed() < Duration::from_secs(15));
}

#[tokio::test]
async fn an_endpoint_that_is_behind_is_asked_last() {
    let (behind, first, chain, second) = pair().await;
    for _ in 0..20 {
        chain.mine();
    }
    let settler = settler(&[first.url(), second.url()]);
    // The lagging endpoint would show the payment as unused afterwards.
    let payment = payment(USDC);
    let outcome = settler.settle(&payment).await;
    let Settlement::Settled(receipt) = outcome else {
        panic!("{outcome:?}")
    };
    assert_eq!(paid(&chain, &payment), U256::from(PRICE));
    assert_eq!(paid(&behind, &payment), U256::ZERO);
    let found = settler.chain().find(&payment, None).await;
    let Ok(Finding::Settled(found)) = found else {
        panic!("{found:?}")
    };
    assert_eq!(found.transaction, receipt.transaction);
}

fn contradicted(found: Result<Finding, Cause>) {
    match found {
        Err(cause) => assert_eq!(cause.code(), "nodes_contradict"),
        other => panic!("{other:?}"),
    }
}

/// The other endpoint has no block of this number, and is so far behind that it could come last.
#[tokio::test]
async fn one_endpoint_far_ahead_on_a_fork_proves_nothing() {
    let (chain, first, fork, second) = pair().await;
    let draft = Draft::new(USDC);
    let sent = transfer(&fork, &draft, PAYEE.address).to_string();
    for _ in 0..10 {
        fork.mine();
    }
    chain.mine();
    for urls in [[first.url(), second.url()], [second.url(), first.url()]] {
        let reader = reader(&urls);
        reader.confirm().await.unwrap();
        // The lagging endpoint does not come last because of that.
        for _ in 0..3 {
            contradicted(reader.find(&draft.sign(), Some(&sent)).await);
        }
    }
    let reader = reader(&[first.url(), second.url()]);
    reader.confirm().await.unwrap();
    drop(second);
    let found = reader.find(&draft.sign(), Some(&sent)).await;
    assert!(matches!(found, Ok(Finding::Open)), "{found:?}");
}

/// Each endpoint has another block of this number.
#[tokio::test]
async fn a_block_that_another_endpoint_contradicts_proves_nothing() {
    let (chain, first, fork, second) = pair().await;
    let reader = reader(&[first.url(), second.url()]);
    reader.confirm().await.unwrap();
    let draft = Draft::new(USDC);
    let sent = transfer(&chain, &draft, PAYEE.address).to_string();
    fork.mine();
    contradicted(reader.find(&draft.sign(), Some(&sent)).await);
    drop(second);
    let found = reader.find(&draft.sign(), Some(&sent)).await;
    assert!(matches!(found, Ok(Finding::Settled(_))), "{found:?}");
}

/// One endpoint reports a used authorization as unused. The payer must not sign another one.
#[tokio::test]
async fn an_authorization_is_void_only_when_all_endpoints_agree() {
    let chain = builder().build().unwrap();
    let draft = Draft::new(USDC);
    transfer(&chain, &draft, PAYEE.address);
    chain.advance_time(10_000);
    chain.mine();
    let liar = chain.fork();
    let (first, second) = (serve(&chain).await, serve(&liar).await);
    let settlers = [
        settler(&[first.url(), second.url()]),
        settler(&[second.url(), first.url()]),
    ];
    let payment = draft.sign();
    let end = payment.authorization().valid_before;
    for settler in &settlers {
        settler.chain().confirm().await.unwrap();
        assert!(!settler.is_void(&payment.key(), end).await.unwrap());
    }
    let unused = format!(r#"{{"jsonrpc":"2.0","id":0,"result":"{:#066x}"}}"#, 0);
    let unused = BadAnswer::Raw {
        status: 200,
        body: unused.into_bytes(),
    };
    liar.inject(InjectedFault::new("eth_call", unused).times(100));
    for settler in &settlers {
        let void = settler.is_void(&payment.key(), end).await;
        assert_eq!(void.unwrap_err().code(), "nodes_contradict");
        let outcome = settler.reconcile(&payment, None, NOW + 10_000).await;
        assert_eq!(outcome.outcome(), "undecided");
    }
}

#[tokio::test]
async fn an_endpoint_of_another_chain_is_refused_at_the_start() {
    let chain = builder().build().unwrap();
    let other = builder().chain_id(1).build().unwrap();
    let (server, other) = (serve(&chain).await, serve(&other).await);
    let config = |first: String, second: String| SettlementConfig {
        mode: Mode::Onchain,
        rpc_url: Some(first.into()),
        more_rpc_urls: vec![second.into()],
        private_key: Some(hex::encode_prefixed(GAS_PAYER.key).into()),
        timeouts: timeouts(),
        ..SettlementConfig::default()
    };
    for (first, second) in [
        (server.url(), other.url()),
        (other.url(), server.url()),
        (DEAD.to_owned(), other.url()),
    ] {
        let refused = AnySettler::connect(config(first, second), &terms()).await;
        let (expected, observed) = (196, 1);
        assert_eq!(
            refused.unwrap_err(),
            SettlementError::Chain { expected, observed }
        );
    }
    let connected = AnySettler::connect(config(server.url(), DEAD.to_owned()), &terms()).await;
    assert!(connected.is_ok());
}

/// Records that are finally over, and old enough, are dropped. Others are kept.
#[tokio::test]
async fn old_transactions_are_forgotten() {
    let chain = builder().build().unwrap();
    let server = serve(&chain).await;
    let settler = settler(&[server.url()]);
    settles(&chain, &settler, 1).await;
    let payment = Draft::new(USDC).nonce(1).sign();
    let key = format!("settlement/{}/0", payment.key());
    // The block of this transaction may still be removed.
    settler.forget(u64::MAX).await;
    assert!(settler.sender().find(&key).await.unwrap().is_some());
    for _ in 0..70 {
        chain.mine();
    }
    settles(&chain, &settler, 2).await;
    let is_final = async || {
        let record = settler.sender().find(&key).await.unwrap();
        record.filter(|record| record.is_final).map(drop)
    };
    eventually("the final record", is_final).await;
    settler.forget(1).await;
    assert!(settler.sender().find(&key).await.unwrap().is_some());
    settler.forget(u64::MAX).await;
    assert!(settler.sender().find(&key).await.unwrap().is_none());
    let second = format!("settlement/{}/0", Draft::new(USDC).nonce(2).sign().key());
    assert!(settler.sender().find(&second).await.unwrap().is_some());
}
