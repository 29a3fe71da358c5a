//! A node that fails in the middle of our own settlement.

use alloy_primitives::U256;
use dev_chain::{BadAnswer, DevChain, Fault, Mining, Reply};
use settlement::{Reconciliation, Settlement, Settler};
use x402_wire::Reason;

use crate::chain::{builder, serve};
use crate::facilitator::{not_sent, unknown};
use crate::onchain::{paid, settler, settler_with};
use crate::payments::{Draft, NOW, PRICE, USDC, USDT0, impatient, payment, timeouts};

const SEND: &str = "eth_sendRawTransaction";
const RECEIPT: &str = "eth_getTransactionReceipt";

fn error(message: &str) -> BadAnswer {
    BadAnswer::Error {
        code: -32000,
        message: message.to_owned(),
    }
}

/// The node broadcasts and the answer is lost: the hash is known here all the same.
#[tokio::test]
async fn a_lost_answer_is_unknown_with_the_hash_and_reconciled_by_it() {
    let chain = builder().build().unwrap();
    let server = serve(&chain).await;
    let settler = settler(&server);
    chain.inject(Fault::new(SEND, BadAnswer::Close).after());
    let payment = payment(USDT0);
    let outcome = settler.settle(&payment).await;
    let sent = chain.transactions()[0].hash.to_string();
    let (hash, cause) = unknown(&outcome);
    assert_eq!((hash, cause.code()), (Some(sent.as_str()), "interrupted"));

    let outcome = settler.reconcile(&payment, hash, NOW).await;
    let Reconciliation::Settled(receipt) = outcome else {
        panic!("{outcome:?}")
    };
    assert_eq!(receipt.transaction, sent);
    assert_eq!(chain.transactions().len(), 1);
    // The next number is read from the node again.
    let next = Draft::new(USDT0).nonce(2).sign();
    assert!(matches!(
        settler.settle(&next).await,
        Settlement::Settled(_)
    ));
}

#[tokio::test]
async fn a_send_that_never_arrived_is_sent_again_by_reconciling() {
    let chain = builder().build().unwrap();
    let server = serve(&chain).await;
    let settler = settler(&server);
    chain.inject(Fault::new(SEND, BadAnswer::Close));
    let payment = payment(USDC);
    let outcome = settler.settle(&payment).await;
    let (hash, _) = unknown(&outcome);
    assert!(hash.is_some() && chain.transactions().is_empty());

    let outcome = settler.reconcile(&payment, hash, NOW).await;
    assert!(matches!(outcome, Reconciliation::Settled(_)), "{outcome:?}");
    assert_eq!(paid(&chain, &payment), U256::from(PRICE));
}

#[tokio::test]
async fn a_node_that_refuses_to_be_asked_leaves_it_unsent() {
    for method in [
        "eth_call",
        "eth_estimateGas",
        "eth_getBlockByNumber",
        "eth_getTransactionCount",
    ] {
        let chain = builder().build().unwrap();
        let server = serve(&chain).await;
        let settler = settler(&server);
        settler.chain().confirm().await.unwrap();
        chain.inject(Fault::new(method, error("rate limited")));
        let outcome = settler.settle(&payment(USDC)).await;
        assert_eq!(not_sent(&outcome).code(), "rpc_refused", "{method}");
        assert!(chain.transactions().is_empty());

        // An earlier attempt may have been sent, so that reconciling decides nothing by this.
        if method == "eth_estimateGas" {
            chain.inject(Fault::new(method, error("rate limited")));
            let outcome = settler.reconcile(&payment(USDC), None, NOW).await;
            assert_eq!(outcome.outcome(), "undecided");
        }
    }
}

/// What a node declines it does not have; what a gateway says when it fails may come after the broadcast.
#[tokio::test]
async fn only_a_certain_refusal_leaves_it_unsent() {
    for message in ["insufficient funds for gas * price + value", "rate limited"] {
        let chain = builder().build().unwrap();
        let server = serve(&chain).await;
        chain.inject(Fault::new(SEND, error(message)));
        let outcome = settler(&server).settle(&payment(USDC)).await;
        assert_eq!(not_sent(&outcome).code(), "rpc_refused", "{message}");
        assert!(chain.transactions().is_empty());
    }
    for message in ["request timed out", "internal error"] {
        let chain = builder().build().unwrap();
        let server = serve(&chain).await;
        chain.inject(Fault::new(SEND, error(message)).after());
        let outcome = settler(&server).settle(&payment(USDC)).await;
        let sent = chain.transactions()[0].hash.to_string();
        assert_eq!(unknown(&outcome).0, Some(sent.as_str()), "{message}");
    }
}

/// A gateway delivers the transaction, repeats the call and passes the second answer on.
#[tokio::test]
async fn a_number_that_is_taken_by_the_transaction_itself_leaves_it_unknown() {
    let chain = builder().build().unwrap();
    let server = serve(&chain).await;
    let settler = settler(&server);
    chain.inject(Fault::new(SEND, error("nonce too low")).after());
    chain.inject(Fault::new(SEND, error("rate limited")));
    let outcome = settler.settle(&payment(USDC)).await;
    let sent = chain.transactions()[0].hash.to_string();
    assert_eq!(unknown(&outcome).0, Some(sent.as_str()));
}

/// Its transaction is in a block, failed, and has used nothing.
#[tokio::test]
async fn an_own_transaction_that_failed_is_named_as_such() {
    let chain = builder().mining(Mining::Manual).build().unwrap();
    let server = serve(&chain).await;
    let failing = async {
        while chain.waiting().is_empty() {
            tokio::task::yield_now().await;
        }
        let hash = chain.waiting()[0];
        let block = block_hash(&chain);
        let receipt = format!(
            r#"{{"transactionHash":"{hash}","status":"0x0","blockNumber":"0x0","blockHash":{block},"logs":[]}}"#
        );
        let body = format!(r#"{{"jsonrpc":"2.0","id":0,"result":{receipt}}}"#).into_bytes();
        chain.inject(Fault::new(RECEIPT, BadAnswer::Raw { status: 200, body }));
        hash.to_string()
    };
    let (settler, payment) = (settler(&server), payment(USDC));
    let (outcome, hash) = tokio::join!(settler.settle(&payment), failing);
    let Settlement::Failed {
        transaction,
        reason,
    } = outcome
    else {
        panic!("{outcome:?}")
    };
    assert_eq!((transaction, reason), (hash, Reason::TransactionFailed));
}

/// The hash of the only block, as JSON.
fn block_hash(chain: &DevChain) -> serde_json::Value {
    let request =
        r#"{"jsonrpc":"2.0","id":1,"method":"eth_getBlockByNumber","params":["0x0",false]}"#;
    let Reply::Http { body, .. } = chain.answer(request.as_bytes()) else {
        panic!()
    };
    serde_json::from_slice::<serde_json::Value>(&body).unwrap()["result"]["hash"].take()
}

#[tokio::test]
async fn a_receipt_that_does_not_come_is_unknown_and_then_found() {
    let chain = builder().mining(Mining::Manual).build().unwrap();
    let server = serve(&chain).await;
    let hasty = settlement::Timeouts {
        receipt: impatient().receipt,
        ..timeouts()
    };
    let settler = settler_with(&server, hasty);
    let payment = payment(USDC);
    let outcome = settler.settle(&payment).await;
    let waiting = chain.waiting()[0].to_string();
    let (hash, cause) = unknown(&outcome);
    assert_eq!((hash, cause.code()), (Some(waiting.as_str()), "timeout"));

    // It waits for its block, so that a second transaction would only burn gas.
    let outcome = settler.reconcile(&payment, hash, NOW).await;
    assert_eq!(outcome.outcome(), "undecided");
    assert_eq!(chain.waiting().len(), 1);

    chain.mine();
    let outcome = settler.reconcile(&payment, hash, NOW).await;
    assert!(matches!(outcome, Reconciliation::Settled(_)), "{outcome:?}");
}

#[tokio::test]
async fn an_evicted_transaction_is_replaced_without_a_gap() {
    let chain = builder().mining(Mining::Manual).build().unwrap();
    let server = serve(&chain).await;
    let hasty = settlement::Timeouts {
        receipt: impatient().receipt,
        ..timeouts()
    };
    let settler = settler_with(&server, hasty);
    let lost = payment(USDC);
    let outcome = settler.settle(&lost).await;
    let hash = unknown(&outcome).0.unwrap().to_owned();
    assert!(chain.evict(hash.parse().unwrap()));

    let mine = async {
        while chain.waiting().is_empty() {
            tokio::task::yield_now().await;
        }
        chain.mine();
    };
    let next = Draft::new(USDC).nonce(2).sign();
    let (outcome, ()) = tokio::join!(settler.settle(&next), mine);
    assert!(matches!(outcome, Settlement::Settled(_)), "{outcome:?}");
}

#[tokio::test]
async fn numbers_that_are_taken_are_skipped() {
    let chain = builder().build().unwrap();
    let server = serve(&chain).await;
    // Two settlers of one key: each believes to know the next number.
    let (first, second) = (settler(&server), settler(&server));
    for nonce in 1..=6 {
        let settler = if nonce % 2 == 0 { &first } else { &second };
        let outcome = settler.settle(&Draft::new(USDC).nonce(nonce).sign()).await;
        assert!(
            matches!(outcome, Settlement::Settled(_)),
            "{nonce}: {outcome:?}"
        );
    }
    assert_eq!(chain.transactions().len(), 6);
}

#[tokio::test]
async fn a_transaction_that_the_node_already_has_is_waited_for() {
    let chain = builder().build().unwrap();
    let server = serve(&chain).await;
    chain.inject(Fault::new(SEND, error("already known")).after());
    let outcome = settler(&server).settle(&payment(USDC)).await;
    assert!(matches!(outcome, Settlement::Settled(_)), "{outcome:?}");
}

#[tokio::test]
async fn receipts_are_asked_for_through_failures() {
    let chain = builder().receipt_delay(3).build().unwrap();
    let server = serve(&chain).await;
    chain.inject(Fault::new(RECEIPT, BadAnswer::Close));
    chain.inject(Fault::new(
        RECEIPT,
        BadAnswer::Raw {
            status: 502,
            body: b"<html>".to_vec(),
        },
    ));
    let outcome = settler(&server).settle(&payment(USDC)).await;
    assert!(matches!(outcome, Settlement::Settled(_)), "{outcome:?}");
}

#[tokio::test]
async fn without_a_priority_fee_method_the_gas_price_tells() {
    let chain = builder().build().unwrap();
    let server = serve(&chain).await;
    let missing = BadAnswer::Error {
        code: -32601,
        message: "method not found".to_owned(),
    };
    chain.inject(Fault::new("eth_maxPriorityFeePerGas", missing));
    let outcome = settler(&server).settle(&payment(USDC)).await;
    assert!(matches!(outcome, Settlement::Settled(_)), "{outcome:?}");
}

/// A chain without a base fee gets a transaction of the older kind.
#[tokio::test]
async fn a_chain_without_a_base_fee_gets_a_legacy_transaction() {
    for (result, kind) in [
        (
            r#"{"number":"0x0","timestamp":"0x6b00e040","baseFeePerGas":"0x1312d00"}"#,
            "0x2",
        ),
        (r#"{"number":"0x0","timestamp":"0x6b00e040"}"#, "0x0"),
    ] {
        let chain = builder().build().unwrap();
        let server = serve(&chain).await;
        let body = format!(r#"{{"jsonrpc":"2.0","id":0,"result":{result}}}"#).into_bytes();
        chain.inject(Fault::new(
            "eth_getBlockByNumber",
            BadAnswer::Raw { status: 200, body },
        ));
        let outcome = settler(&server).settle(&payment(USDC)).await;
        let Settlement::Settled(receipt) = outcome else {
            panic!("{outcome:?}")
        };
        let request = format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"eth_getTransactionByHash","params":["{}"]}}"#,
            receipt.transaction
        );
        let Reply::Http { body, .. } = chain.answer(request.as_bytes()) else {
            panic!()
        };
        let sent: serde_json::Value = serde_json::from_slice(&body).unwrap();
        assert_eq!(sent["result"]["type"], kind);
    }
}
