//! Tests of the end of a call's time. A pending transaction is charged and followed to its end. An
//! unsigned action is given up and costs nothing.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use dev_chain::{BadAnswer, InjectedFault, base};
use serde_json::{Value, json};
use test_support::eventually;

use crate::support::buyer::Answer;
use crate::wallets::stage::Stage;

/// Most of a call's 55 seconds. The tests skip this time, and the rest passes in real time.
const MOST_OF_A_CALL: Duration = Duration::from_secs(53);

const ROUTE: &str = "/auto-withdraw";

fn withdraw() -> Value {
    json!({ "chain_id": "8453", "token": base::USDC.to_string(), "amount": "5" })
}

/// Lets most of a call's time pass at once, for everything in this process.
async fn pass_time() {
    tokio::time::pause();
    tokio::time::advance(MOST_OF_A_CALL).await;
    tokio::time::resume();
}

/// A stage whose sub-wallet has 20 USDC and coins on Base.
async fn stage() -> Stage {
    let stage = Box::pin(Stage::fast()).await;
    stage.give_usdc(20_000_000);
    stage.give_coins(&stage.base);
    stage
}

/// Pays for a withdrawal, and lets its time pass as soon as `so` returns true.
async fn late(stage: &Stage, payment: &str, so: impl Fn() -> bool) -> Answer {
    let buyer = &stage.world.buyer;
    let body = withdraw();
    let (answer, ()) = tokio::join!(buyer.post_paid(ROUTE, &body, payment), async {
        eventually("the moment to be late", async || so().then_some(())).await;
        pass_time().await;
    });
    answer
}

#[tokio::test]
async fn a_transaction_on_its_way_is_charged_and_followed_to_its_end() {
    let stage = stage().await;
    let paid = stage.world.paid();
    let payment = stage.identified(ROUTE).await;
    stage.base.delay_receipts(u32::MAX);
    let answer = late(&stage, &payment, || !stage.sent().is_empty()).await;
    assert_eq!(answer.status, 202, "{}", answer.text);
    assert!(answer.receipt().is_some_and(|receipt| receipt.success));
    assert_eq!(stage.world.paid() - paid, 50_000);
    let data = answer.body()["data"].clone();
    assert_eq!(data["status"], "in_progress");
    assert_eq!(data["steps"][0]["status"], "in_flight");
    // The wallet is busy, and begins no other action.
    let busy = stage
        .refuses(
            ROUTE,
            &withdraw(),
            (429, "rate_limited", "action_in_flight"),
        )
        .await;
    assert_eq!(busy["intent_id"], data["intent_id"]);

    stage.base.delay_receipts(0);
    let ended = stage.ended(&data).await;
    assert_eq!(ended["status"], "completed", "{ended}");
    assert_eq!(ended["steps"][0]["status"], "success");
    assert_eq!(ended["result"]["delivered_atoms"], "5000000");
    // The same payment has its one answer, and withdraws nothing again.
    let buyer = &stage.world.buyer;
    let again = buyer.post_paid(ROUTE, &withdraw(), &payment).await;
    assert_eq!((again.status, again.text), (202, answer.text));
    assert_eq!(stage.world.paid() - paid, 50_000);
    assert_eq!(stage.sent().len(), 1);
    assert_eq!(
        Stage::holds(&stage.base, base::USDC, stage.wallet),
        15_000_000
    );
}

/// A node that fails at `method`, a step before the signature.
async fn nothing_is_signed_without(method: &str) {
    let stage = stage().await;
    let paid = stage.world.paid();
    let payment = stage.identified(ROUTE).await;
    let fault = BadAnswer::Error {
        code: -32_000,
        message: "the node is busy".to_owned(),
    };
    let asked = Arc::new(AtomicBool::new(false));
    let (seen, of) = (asked.clone(), method.to_owned());
    stage.nodes[1].meddle(move |method, _| {
        seen.fetch_or(method == of, Ordering::SeqCst);
        None
    });
    stage
        .base
        .inject(InjectedFault::new(method, fault).times(u32::MAX));
    let is_asked = || asked.load(Ordering::SeqCst);
    let answer = late(&stage, &payment, is_asked).await;
    answer.is_refused(503, "upstream_unavailable");
    let error = answer.body()["error"].clone();
    assert_eq!(error["reason"], "not_begun_in_time", "{error}");
    assert_eq!(answer.action(), "send_same_again", "{error}");
    assert_eq!(stage.world.paid(), paid);
    let cancelled = stage.ended(&error).await;
    assert!(
        ["cancelled", "failed"].contains(&cancelled["status"].as_str().unwrap()),
        "{cancelled}"
    );

    // The same payment can be used for another try.
    stage.base.clear_faults();
    let buyer = &stage.world.buyer;
    let done = buyer.post_paid(ROUTE, &withdraw(), &payment).await;
    assert_eq!(done.status, 200, "{}", done.text);
    let data = done.body()["data"].clone();
    assert_eq!(data["status"], "completed", "{data}");
    assert_ne!(data["intent_id"], error["intent_id"]);
    assert_eq!(stage.world.paid() - paid, 50_000);
    assert_eq!(stage.sent().len(), 1);
    let before = stage.ended(&error).await;
    assert_eq!(before, cancelled);
}

#[tokio::test]
async fn an_action_that_is_not_ordered_in_time_is_cancelled() {
    nothing_is_signed_without("eth_estimateGas").await;
}

#[tokio::test]
async fn an_action_that_is_ordered_and_not_signed_in_time_is_taken_back() {
    nothing_is_signed_without("eth_getTransactionCount").await;
}
