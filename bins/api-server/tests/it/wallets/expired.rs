//! Tests of actions whose payment can no longer be settled for them: its window closed while the
//! server was down, it has paid for another request, or it got the answer of another payment.

use alloy_primitives::U256;
use dev_chain::base;
use reqwest::Method;
use serde_json::{Value, json};
use test_support::eventually;
use wallet_actions::{State, Status};

use crate::support::buyer::header_of;
use crate::wallets::stage::Stage;

const COUNTED: &str = "svc_wallet_actions_uncharged_total{operation=\"withdraw\"}";

/// Makes a payment whose window has ended.
async fn expired(stage: &Stage) -> Value {
    let buyer = &stage.world.buyer;
    let mut draft = buyer.draft(Method::POST, "/auto-withdraw").await;
    let now = u64::try_from(jiff::Timestamp::now().as_second()).unwrap();
    draft.authorization.valid_before = U256::from(now - 5);
    buyer.signed(&draft)
}

/// The number of such actions in the metrics.
async fn counted(stage: &Stage) -> u64 {
    let metrics = stage.world.buyer.get("/metrics").await.text;
    let line = metrics.lines().find_map(|line| line.strip_prefix(COUNTED));
    line.map_or(0, |count| count.trim().parse().unwrap())
}

/// Waits until the metrics count this many such actions.
async fn counts(stage: &Stage, times: u64) {
    let noted = async || (counted(stage).await == times).then_some(());
    eventually("the note in the ledger", noted).await;
}

/// Restarts the server over a copy of `action` with this payment. The copy looks as if a process
/// had ended after the first of two transactions. Returns how the action ends.
async fn cut_off(stage: &mut Stage, action: (&Value, &Value), id: &str, payment: &Value) -> Value {
    let copy = stage.restart_with_copy(action, id, payment, |copy| {
        let next = wallet_actions::Step {
            status: Status::Planned,
            ..copy.steps[0].clone()
        };
        copy.steps.push(next);
        copy.state = State::Running;
        copy.ended_at = None;
        copy.is_final = false;
    });
    Box::pin(copy).await;
    stage.ended(&json!({ "intent_id": id })).await
}

#[tokio::test(flavor = "multi_thread")]
async fn an_action_that_no_payment_can_pay_for_is_uncharged_and_counted_once() {
    let mut stage = Box::pin(Stage::open()).await;
    stage.give_usdc(5_000_000);
    let token = base::USDC.to_string();
    let body = json!({ "chain_id": "8453", "token": token, "amount": "1" });
    let done = stage.done("/auto-withdraw", &body).await;
    assert_eq!(done["status"], "completed");
    let payment = expired(&stage).await;
    let paid = stage.world.paid();
    assert_eq!(counted(&stage).await, 0);

    // The action continues, and its record says what was done.
    let id = "00000000000000000000000000000abc";
    let ended = Box::pin(cut_off(&mut stage, (&done, &body), id, &payment)).await;
    assert_eq!(ended["status"], "completed", "{ended}");
    let statuses: Vec<_> = ended["steps"].as_array().unwrap().iter().collect();
    assert_eq!(statuses.len(), 2);
    assert_eq!(statuses[1]["status"], "success");
    assert_eq!(
        Stage::holds(&stage.base, base::USDC, stage.wallet),
        3_000_000
    );
    // Nothing was charged, and the ledger says why.
    counts(&stage, 1).await;
    let standing = stage.world.look_up(&payment).await;
    assert_eq!(standing["state"], "released");
    assert_eq!(standing["reason"], "expired_uncharged");
    assert_eq!(stage.world.paid(), paid);
    // A caller that returns is not advised to order the action again.
    let buyer = &stage.world.buyer;
    let header = header_of(&payment);
    let again = buyer.post_paid("/auto-withdraw", &body, &header).await;
    again.is_refused(402, "invalid_exact_evm_payload_authorization_valid_before");
    assert_eq!(again.action(), "look_up", "{}", again.text);

    // The count stays correct: the restarted server looks at both actions, and the second one sends
    // a transaction before it is counted.
    let second = expired(&stage).await;
    let id = "00000000000000000000000000000abd";
    Box::pin(cut_off(&mut stage, (&done, &body), id, &second)).await;
    let released = async || {
        let standing = stage.world.look_up(&second).await;
        (standing["state"] == "released").then_some(())
    };
    eventually("the second note", released).await;
    counts(&stage, 2).await;
    assert_eq!(stage.world.look_up(&payment).await, standing);

    // The call of this action has ended without a stored answer, and its payment has then paid for
    // another request of the same price.
    let buyer = &stage.world.buyer;
    let third = buyer.signed(&buyer.draft(Method::GET, "/rwa-pulse").await);
    let bought = buyer.get_paid("/rwa-pulse", &header_of(&third)).await;
    assert_eq!(bought.status, 200, "{}", bought.text);
    let paid = stage.world.paid();
    let id = "00000000000000000000000000000abe";
    let ended = Box::pin(cut_off(&mut stage, (&done, &body), id, &third)).await;
    assert_eq!(ended["status"], "completed", "{ended}");
    counts(&stage, 3).await;
    assert_eq!(stage.world.look_up(&third).await["state"], "settled");
    assert_eq!(stage.world.paid(), paid);

    // The payment has got the answer of another one, which has the same identifier.
    stage.give_usdc(2_000_000);
    let buyer = &stage.world.buyer;
    let draft = async || buyer.draft(Method::POST, "/auto-withdraw").await;
    let bought = buyer.signed(&draft().await);
    let mut fourth = buyer.signed(&draft().await);
    fourth["extensions"] = bought["extensions"].clone();
    for payment in [&bought, &fourth] {
        let header = header_of(payment);
        let answer = buyer.post_paid("/auto-withdraw", &body, &header).await;
        assert_eq!(answer.status, 200, "{}", answer.text);
    }
    let repetition = stage.world.look_up(&fourth).await;
    assert_eq!(repetition["reason"], "repetition");
    let paid = stage.world.paid();
    let id = "00000000000000000000000000000abf";
    let ended = Box::pin(cut_off(&mut stage, (&done, &body), id, &fourth)).await;
    assert_eq!(ended["status"], "completed", "{ended}");
    counts(&stage, 4).await;
    assert_eq!(stage.world.look_up(&fourth).await, repetition);
    assert_eq!(stage.world.paid(), paid);
}
