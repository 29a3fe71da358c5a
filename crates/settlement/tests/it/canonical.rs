//! Tests that only canonical blocks count, and no party's statement about them.

use alloy_primitives::{B256, U256};
use dev_chain::{BadAnswer, DEV_ACCOUNTS, DevChain, InjectedFault, PAYEE, RpcServer};
use serde_json::{Value, json};
use settlement::{
    Cause, ChainOptions, ChainReader, Clock, Facilitator, Finding, Readiness, Settlement, Settler,
    Timeouts, WithChain,
};
use x402_wire::Network;

use crate::calls::{cancel, transfer};
use crate::chain::{builder, options, reader, serve};
use crate::facilitator::{HASH, settled, unknown};
use crate::onchain::{settler, settler_with};
use crate::payments::{Draft, NOW, USDC, USDG, impatient, payment, terms, timeouts};
use crate::stage::{self, Stage};

const RECEIPT: &str = "eth_getTransactionReceipt";

fn composed(stage: &Stage, server: &RpcServer, timeouts: Timeouts) -> WithChain<Facilitator> {
    let backend = Facilitator::new(&stage.url(), Network::evm(196), timeouts).unwrap();
    WithChain::new(backend, Some(reader(server)), timeouts)
}

/// Waits only a short time for a receipt.
fn hasty() -> Timeouts {
    Timeouts {
        receipt: impatient().receipt,
        ..timeouts()
    }
}

fn reader_of(server: &RpcServer, options: ChainOptions) -> ChainReader {
    ChainReader::new(&server.url().into(), &terms(), timeouts(), options).unwrap()
}

fn result(result: &Value) -> BadAnswer {
    let body = json!({"jsonrpc": "2.0", "id": 0, "result": result}).to_string();
    BadAnswer::Raw {
        status: 200,
        body: body.into_bytes(),
    }
}

fn receipt(chain: &DevChain, hash: B256) -> Value {
    chain.request(RECEIPT, json!([hash])).unwrap()
}

/// A facilitator may invent the hash of a transaction. No caller is served for it.
#[tokio::test]
async fn a_transaction_that_never_shows_is_unknown() {
    let chain = builder().build().unwrap();
    let server = serve(&chain).await;
    let stage = Stage::open().await;
    stage.plays("/settle", vec![stage::json(settled()); 2]);
    let composed = composed(&stage, &server, hasty());
    let payment = payment(USDC);
    let outcome = composed.settle(&payment).await;
    let (hash, cause) = unknown(&outcome);
    assert_eq!((hash, cause.code()), (Some(HASH), "timeout"));
    // The hash counts for nothing in the reconciliation either, and the payment ends with its
    // window.
    let outcome = composed.reconcile(&payment, hash, NOW).await;
    assert_eq!(outcome.outcome(), "undecided");
    chain.advance_time(330);
    chain.mine();
    let outcome = composed.reconcile(&payment, hash, NOW).await;
    assert_eq!(outcome.outcome(), "not_settled");
}

#[tokio::test]
async fn a_transaction_is_waited_for_until_it_is_in_a_block() {
    let chain = builder().build().unwrap();
    let server = serve(&chain).await;
    let stage = Stage::open().await;
    let composed = composed(&stage, &server, timeouts());
    let draft = Draft::new(USDG);
    let sent = transfer(&chain, &draft, PAYEE.address);
    stage.plays(
        "/settle",
        [stage::json(settled().replace(HASH, &sent.to_string()))],
    );
    // At first the node does not show the transaction, and then it fails.
    chain.inject(InjectedFault::new(RECEIPT, result(&Value::Null)).times(2));
    chain.inject(InjectedFault::new(
        "eth_call",
        result(&json!(format!("{:#066x}", 0))),
    ));
    chain.inject(InjectedFault::new(RECEIPT, BadAnswer::Close));
    let outcome = composed.settle(&draft.sign()).await;
    let Settlement::Settled(receipt) = outcome else {
        panic!("{outcome:?}")
    };
    assert_eq!(receipt.transaction, sent.to_string());
}

/// Another transaction than the named one has made the payment.
#[tokio::test]
async fn a_payment_that_another_transaction_made_has_that_one_in_its_receipt() {
    let chain = builder().build().unwrap();
    let server = serve(&chain).await;
    let stage = Stage::open().await;
    let composed = composed(&stage, &server, timeouts());
    let draft = Draft::new(USDC);
    let sent = transfer(&chain, &draft, PAYEE.address);
    stage.plays("/settle", [stage::json(settled())]);
    let outcome = composed.settle(&draft.sign()).await;
    let Settlement::Settled(receipt) = outcome else {
        panic!("{outcome:?}")
    };
    assert_eq!(receipt.transaction, sent.to_string());

    let cancelled = Draft::new(USDC).nonce(2);
    cancel(&chain, &cancelled);
    stage.plays("/settle", [stage::json(settled())]);
    let outcome = composed.settle(&cancelled.sign()).await;
    assert_eq!(unknown(&outcome).1.code(), "malformed");
}

/// The receipt names a block that was replaced, that is only proposed, or that has no hash yet.
#[tokio::test]
async fn a_receipt_counts_when_its_block_is_canonical() {
    let chain = builder().build().unwrap();
    let server = serve(&chain).await;
    let draft = Draft::new(USDC);
    let hash = transfer(&chain, &draft, PAYEE.address);
    let good = receipt(&chain, hash);
    let mut forked = good.clone();
    forked["blockHash"] = json!(B256::repeat_byte(9));
    let mut proposed = good.clone();
    proposed["blockNumber"] = json!("0x63");
    let mut pending = good.clone();
    pending["blockHash"] = Value::Null;
    let payment = Draft::new(USDC).nonce(2).sign();
    let ours = draft.sign();
    for bad in [forked, proposed, pending] {
        let stage = Stage::open().await;
        stage.plays(
            "/settle",
            [stage::json(settled().replace(HASH, &hash.to_string()))],
        );
        chain.inject(InjectedFault::new(RECEIPT, result(&bad)).times(100_000));
        let composed = composed(&stage, &server, hasty());
        let outcome = composed.settle(&ours).await;
        assert_eq!(
            unknown(&outcome).0,
            Some(hash.to_string().as_str()),
            "{bad}"
        );
        // A failure in such a block does not count either.
        let mut failed = bad.clone();
        failed["status"] = json!("0x0");
        failed["from"] = json!(settler(&server).address());
        chain.clear_faults();
        chain.inject(InjectedFault::new(RECEIPT, result(&failed)).times(100_000));
        let outcome = settler_with(&server, hasty())
            .reconcile(&payment, Some(&hash.to_string()), NOW)
            .await;
        assert_ne!(outcome.outcome(), "failed", "{bad}");
        chain.clear_faults();
    }
    let found = reader(&server).find(&ours, Some(&hash.to_string())).await;
    assert!(matches!(found, Ok(Finding::Settled(_))), "{found:?}");
}

#[tokio::test]
async fn a_transaction_needs_its_confirmations() {
    let chain = builder().build().unwrap();
    let server = serve(&chain).await;
    let draft = Draft::new(USDC);
    let hash = transfer(&chain, &draft, PAYEE.address).to_string();
    let reader = reader_of(
        &server,
        ChainOptions {
            confirmations: 3,
            ..options()
        },
    );
    for _ in 0..3 {
        let found = reader.find(&draft.sign(), Some(&hash)).await;
        assert_eq!(found.unwrap_err(), Cause::NotLocated);
        chain.mine();
    }
    let found = reader.find(&draft.sign(), Some(&hash)).await;
    assert!(matches!(found, Ok(Finding::Settled(_))), "{found:?}");
}

/// Only an authorization that has ended unused can never move money any more.
#[tokio::test]
async fn an_authorization_is_void_when_a_canonical_block_is_past_its_end() {
    let chain = builder().build().unwrap();
    let server = serve(&chain).await;
    let stage = Stage::open().await;
    let composed = composed(&stage, &server, timeouts());
    let onchain = settler(&server);
    let (unused, used) = (Draft::new(USDC).nonce(1), Draft::new(USDC).nonce(2));
    transfer(&chain, &used, PAYEE.address);
    let (unused, used) = (unused.sign().key(), used.sign().key());
    let end = U256::from(NOW + 300);
    for (advance, void) in [(0, false), (300, false), (29, false), (1, true)] {
        chain.advance_time(advance);
        chain.mine();
        assert_eq!(composed.is_void(&unused, end).await, Ok(void));
        assert_eq!(onchain.is_void(&unused, end).await, Ok(void));
        assert_eq!(composed.is_void(&used, end).await, Ok(false));
    }
    let mut elsewhere = unused;
    elsewhere.network = Network::evm(1);
    assert_eq!(composed.is_void(&elsewhere, end).await, Ok(false));
    // A node that cannot read the state as of that block decides nothing.
    chain.inject(InjectedFault::new("eth_call", BadAnswer::Close));
    assert!(composed.is_void(&unused, end).await.is_err());
    let alone = Facilitator::new(&stage.url(), Network::evm(196), timeouts()).unwrap();
    let alone = WithChain::new(alone, None, timeouts());
    assert_eq!(alone.is_void(&unused, end).await, Ok(false));
}

/// An authorization that was cancelled, or used for another transfer, can never make its own
/// transfer. No caller must wait for its end.
#[tokio::test]
async fn an_authorization_is_spent_when_a_canonical_block_shows_another_use() {
    let chain = builder().build().unwrap();
    let server = serve(&chain).await;
    let stage = Stage::open().await;
    let composed = composed(&stage, &server, timeouts());
    let onchain = settler(&server);
    let [unused, paid, cancelled, elsewhere] = [1, 2, 3, 4].map(|n| Draft::new(USDC).nonce(n));
    transfer(&chain, &paid, PAYEE.address);
    cancel(&chain, &cancelled);
    transfer(&chain, &elsewhere, DEV_ACCOUNTS[7].address);
    chain.mine();
    let first = chain.transactions()[0].hash.to_string();
    for (draft, spent, paid_by) in [
        (unused, false, None),
        (paid, false, Some(first)),
        (cancelled, true, None),
        (elsewhere, true, None),
    ] {
        let payment = draft.sign();
        let (key, authorization) = (payment.key(), *payment.authorization());
        assert_eq!(composed.is_spent(&key, &authorization).await, Ok(spent));
        assert_eq!(onchain.is_spent(&key, &authorization).await, Ok(spent));
        let alone = Facilitator::new(&stage.url(), Network::evm(196), timeouts()).unwrap();
        let alone = WithChain::new(alone, None, timeouts());
        assert_eq!(alone.is_spent(&key, &authorization).await, Ok(false));
        // Only the use for the authorization's own transfer has paid.
        let by = composed.paid_by(&key, &authorization).await;
        assert_eq!(by, Ok(paid_by.clone()));
        assert_eq!(onchain.paid_by(&key, &authorization).await, Ok(paid_by));
        assert_eq!(alone.paid_by(&key, &authorization).await, Ok(None));
        if !spent {
            continue;
        }
        let mut foreign = key;
        foreign.network = Network::evm(1);
        assert_eq!(composed.is_spent(&foreign, &authorization).await, Ok(false));
        // A node that cannot show the use decides nothing.
        for method in ["eth_getBlockByNumber", "eth_call", "eth_getLogs", RECEIPT] {
            chain.inject(InjectedFault::new(method, BadAnswer::Close));
            let unreadable = composed.is_spent(&key, &authorization).await;
            assert!(unreadable.is_err(), "{method}");
        }
        chain.inject(InjectedFault::new("eth_getLogs", result(&json!([]))));
        assert_eq!(composed.is_spent(&key, &authorization).await, Ok(false));
    }
}

/// A cancellation counts only when the configured number of blocks follows its block.
#[tokio::test]
async fn a_cancellation_needs_its_confirmations() {
    let chain = builder().build().unwrap();
    let server = serve(&chain).await;
    let draft = Draft::new(USDC);
    cancel(&chain, &draft);
    let payment = draft.sign();
    let (key, authorization) = (payment.key(), *payment.authorization());
    let options = ChainOptions {
        confirmations: 2,
        ..options()
    };
    let backend = Facilitator::new(&server.url(), Network::evm(196), timeouts()).unwrap();
    let reader = reader_of(&server, options);
    let composed = WithChain::new(backend, Some(reader), timeouts());
    for spent in [false, false, true] {
        assert_eq!(composed.is_spent(&key, &authorization).await, Ok(spent));
        chain.mine();
    }
}

#[tokio::test]
async fn a_clock_that_contradicts_the_chain_is_not_ready() {
    let chain = builder().build().unwrap();
    let server = serve(&chain).await;
    let stage = Stage::open().await;
    let kinds = r#"{"kinds":[{"x402Version":2,"scheme":"exact","network":"eip155:196"}]}"#;
    stage.plays("/supported", vec![stage::json(kinds); 9]);
    let ready = async |offset: i64| {
        let now = NOW.saturating_add_signed(offset);
        let options = ChainOptions {
            clock: Clock::new(move || now),
            ..options()
        };
        let reader = reader_of(&server, options);
        let backend = Facilitator::new(&stage.url(), Network::evm(196), timeouts()).unwrap();
        WithChain::new(backend, Some(reader), timeouts())
            .readiness()
            .await
    };
    // The newest block of an idle chain may be old.
    for good in [-30, 0, 30, 9_000] {
        let ready = ready(good).await;
        assert!(
            matches!(ready, Readiness::Ready { .. }),
            "{good}: {ready:?}"
        );
    }
    let Readiness::NotReady { reason } = ready(-31).await else {
        panic!()
    };
    assert_eq!(reason.code(), "clock_disagrees");
}
