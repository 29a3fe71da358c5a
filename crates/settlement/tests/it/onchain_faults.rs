//! Tests with a node that fails in the middle of our own settlement.

use std::time::Duration;

use alloy_primitives::{U256, hex};
use dev_chain::{
    BUYER, BadAnswer, DEV_ACCOUNTS, DevChain, InjectedFault, Mining, USDC as USDC_ADDRESS,
};
use serde_json::json;
use settlement::{Reconciliation, Settlement, Settler};
use x402_wire::Reason;

use crate::chain::{builder, mine_until, serve, waiting};
use crate::facilitator::{not_sent, unknown};
use crate::onchain::{paid, settler, settler_with};
use crate::payments::{Draft, NOW, PRICE, USDC, USDT0, payment, timeouts};

const SEND: &str = "eth_sendRawTransaction";
const RECEIPT: &str = "eth_getTransactionReceipt";

fn error(message: &str) -> BadAnswer {
    BadAnswer::Error {
        code: -32000,
        message: message.to_owned(),
    }
}

/// The node broadcasts and its answer is lost, or the request is lost on the way. In both cases the
/// same bytes are sent again, and the block counts.
#[tokio::test]
async fn a_lost_answer_changes_nothing() {
    for fault in [
        InjectedFault::new(SEND, BadAnswer::Close),
        InjectedFault::new(SEND, BadAnswer::Close).after(),
    ] {
        let chain = builder().build().unwrap();
        let server = serve(&chain).await;
        let settler = settler(&server);
        chain.inject(fault);
        let payment = payment(USDT0);
        let outcome = settler.settle(&payment).await;
        let Settlement::Settled(receipt) = outcome else {
            panic!("{outcome:?}")
        };
        assert_eq!(
            receipt.transaction,
            chain.transactions()[0].hash.to_string()
        );
        assert_eq!(paid(&chain, &payment), U256::from(PRICE));
        let next = Draft::new(USDT0).nonce(2).sign();
        assert!(matches!(
            settler.settle(&next).await,
            Settlement::Settled(_)
        ));
        assert_eq!(chain.transactions().len(), 2);
    }
}

#[tokio::test]
async fn a_payment_stays_unsent_when_the_node_refuses_a_question() {
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
        chain.inject(InjectedFault::new(method, error("rate limited")));
        let outcome = settler.settle(&payment(USDC)).await;
        assert_eq!(not_sent(&outcome).code(), "rpc_refused", "{method}");
        assert!(chain.transactions().is_empty());

        // An earlier attempt may have been sent, so this decides nothing in a reconciliation.
        if method == "eth_estimateGas" {
            chain.inject(InjectedFault::new(method, error("rate limited")));
            let outcome = settler.reconcile(&payment(USDC), None, NOW).await;
            assert_eq!(outcome.outcome(), "undecided");
        }
    }
}

/// A node's error about a transaction decides nothing about the payment, whether it comes before or
/// after the node accepted the transaction. The payer is charged once, by one transaction.
#[tokio::test]
async fn a_nodes_error_about_a_sent_transaction_decides_nothing() {
    for message in [
        "insufficient funds for gas * price + value",
        "rate limited",
        "request timed out",
        "internal error",
        "nonce too low",
        "replacement transaction underpriced",
    ] {
        for after in [false, true] {
            let chain = builder().build().unwrap();
            let server = serve(&chain).await;
            let fault = InjectedFault::new(SEND, error(message));
            chain.inject(if after { fault.after() } else { fault });
            let payment = payment(USDC);
            let outcome = settler(&server).settle(&payment).await;
            assert!(
                matches!(outcome, Settlement::Settled(_)),
                "{message} {after}: {outcome:?}"
            );
            assert_eq!(chain.transactions().len(), 1, "{message} {after}");
            assert_eq!(paid(&chain, &payment), U256::from(PRICE));
        }
    }
}

/// Our transaction is in a block and failed, and the authorization is unused: the payer's money
/// went elsewhere in the same block.
#[tokio::test]
async fn our_own_failed_transaction_is_reported_as_failed() {
    let chain = builder().mining(Mining::Manual).build().unwrap();
    let server = serve(&chain).await;
    let moving = async {
        waiting(&chain, 1).await;
        let ours = chain.waiting()[0];
        // The node drops our transaction, so the other one comes first.
        move_money_away(&chain);
        assert!(chain.evict(ours));
        mine_until(&chain, 2).await;
        ours.to_string()
    };
    let (settler, payment) = (settler(&server), payment(USDC));
    let (outcome, hash) = tokio::join!(settler.settle(&payment), moving);
    let Settlement::Failed {
        transaction,
        reason,
    } = outcome
    else {
        panic!("{outcome:?}")
    };
    assert_eq!((transaction, reason), (hash, Reason::InsufficientFunds));
}

/// Sends all of the buyer's USD Coin to another account.
fn move_money_away(chain: &DevChain) {
    let all = chain.balance_of(USDC_ADDRESS, BUYER.address).unwrap();
    let to = DEV_ACCOUNTS[7].address.into_word();
    let data = format!("0xa9059cbb{}{all:064x}", hex::encode(to));
    let call = json!({ "from": BUYER.address, "to": USDC_ADDRESS, "data": data, "gas": "0x30d40" });
    let sent = chain.request("eth_sendTransaction", json!([call]));
    assert!(sent.unwrap().is_string());
}

#[tokio::test]
async fn a_receipt_that_does_not_come_is_unknown_and_then_found() {
    let chain = builder().mining(Mining::Manual).build().unwrap();
    let server = serve(&chain).await;
    let hasty = settlement::Timeouts {
        receipt: Duration::from_secs(2),
        ..timeouts()
    };
    let settler = settler_with(&server, hasty);
    let payment = payment(USDC);
    let outcome = settler.settle(&payment).await;
    let waiting = chain.waiting()[0].to_string();
    let (hash, cause) = unknown(&outcome);
    assert_eq!((hash, cause.code()), (Some(waiting.as_str()), "timeout"));

    // The first transaction waits for its block, so a second one would only waste gas.
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
        receipt: Duration::from_secs(2),
        ..timeouts()
    };
    let settler = settler_with(&server, hasty);
    let lost = payment(USDC);
    let outcome = settler.settle(&lost).await;
    let hash = unknown(&outcome).0.unwrap().to_owned();
    assert!(chain.evict(hash.parse().unwrap()));

    let next = Draft::new(USDC).nonce(2).sign();
    // The lost transaction is sent again under its own nonce. The next one follows it.
    let (outcome, ()) = tokio::join!(settler.settle(&next), mine_until(&chain, 2));
    assert!(matches!(outcome, Settlement::Settled(_)), "{outcome:?}");
    assert_eq!(chain.transactions()[0].hash.to_string(), hash);
}

#[tokio::test]
async fn nonces_that_are_used_are_skipped() {
    let chain = builder().build().unwrap();
    let server = serve(&chain).await;
    // Two settlers use one key. Each assumes that it knows the next nonce.
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
    chain.inject(InjectedFault::new(SEND, error("already known")).after());
    let outcome = settler(&server).settle(&payment(USDC)).await;
    assert!(matches!(outcome, Settlement::Settled(_)), "{outcome:?}");
}

#[tokio::test]
async fn receipts_are_asked_for_through_failures() {
    let chain = builder().receipt_delay(3).build().unwrap();
    let server = serve(&chain).await;
    chain.inject(InjectedFault::new(RECEIPT, BadAnswer::Close));
    chain.inject(InjectedFault::new(
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
async fn a_node_without_a_priority_fee_method_is_asked_for_its_gas_price() {
    let chain = builder().build().unwrap();
    let server = serve(&chain).await;
    let missing = BadAnswer::Error {
        code: -32601,
        message: "method not found".to_owned(),
    };
    chain.inject(InjectedFault::new("eth_maxPriorityFeePerGas", missing));
    let outcome = settler(&server).settle(&payment(USDC)).await;
    assert!(matches!(outcome, Settlement::Settled(_)), "{outcome:?}");
}

/// A chain without a base fee gets a transaction of the legacy type.
#[tokio::test]
async fn a_chain_without_a_base_fee_gets_a_legacy_transaction() {
    for (builder, kind) in [(builder(), "0x2"), (builder().legacy(), "0x0")] {
        let chain = builder.build().unwrap();
        let server = serve(&chain).await;
        let outcome = settler(&server).settle(&payment(USDC)).await;
        let Settlement::Settled(receipt) = outcome else {
            panic!("{outcome:?}")
        };
        let sent = chain.request("eth_getTransactionByHash", json!([receipt.transaction]));
        assert_eq!(sent.unwrap()["type"], kind);
    }
}
