//! Tests of `GET /payments/{asset}/{payer}/{nonce}`: it shows the state of a payment, and never the
//! bought answer.

use ledger::Journal;
use reqwest::Method;
use serde_json::{Value, json};
use test_support::eventually;
use x402_wire::PaymentPayload;

use crate::support::World;
use crate::support::buyer::header_of;
use crate::support::facilitator::{Facilitator, Say, success, valid};

const TX: &str = "0xabababababababababababababababababababababababababababababababab";

async fn signed(world: &World) -> Value {
    let draft = world.buyer.draft(Method::GET, &world.price()).await;
    world.buyer.signed(&draft)
}

#[tokio::test]
async fn a_settled_payment_shows_its_transaction_and_not_its_answer() {
    let world = World::onchain().await;
    let payment = signed(&world).await;
    assert_eq!(world.look_up(&payment).await, json!({"state": "not_seen"}));
    let paid = world
        .buyer
        .get_paid(&world.price(), &header_of(&payment))
        .await;
    assert_eq!(paid.status, 200, "{}", paid.text);
    let shown = world.look_up(&payment).await;
    assert_eq!(shown["state"], "settled");
    assert_eq!(
        shown["transaction"],
        paid.receipt().unwrap().transaction.as_str()
    );
    let since: jiff::Timestamp = shown["since"].as_str().unwrap().parse().unwrap();
    assert!(since <= jiff::Timestamp::now());
    let members: Vec<_> = shown.as_object().unwrap().keys().collect();
    assert_eq!(members, ["since", "state", "transaction"]);
}

#[tokio::test]
async fn a_released_payment_shows_why() {
    let world = World::onchain().await;
    let target = "/price?token=0x000000000000000000000000000000000000dEaD";
    let draft = world.buyer.draft(Method::GET, target).await;
    let payment = world.buyer.signed(&draft);
    let refused = world.buyer.get_paid(target, &header_of(&payment)).await;
    refused.is_refused(404, "not_found");
    let shown = world.look_up(&payment).await;
    assert_eq!(
        (&shown["state"], &shown["reason"]),
        (&json!("released"), &json!("not_found"))
    );
    assert_eq!(world.paid(), 0);
}

#[tokio::test]
async fn a_payment_in_flight_and_an_unknown_one_are_shown_as_such() {
    let settle = vec![Say::Hang, Say::Hang, success(TX)];
    let facilitator = Facilitator::start(vec![valid()], settle).await;
    let world = World::behind(&facilitator.url).await;
    let payment = signed(&world).await;
    let request = world.buyer.request(Method::GET, &world.price());
    let call = request.header("payment-signature", header_of(&payment));
    let call = tokio::spawn(call.send());
    let settling = async || (!facilitator.settled().is_empty()).then_some(());
    eventually("the settling", settling).await;
    assert_eq!(world.look_up(&payment).await["state"], "in_flight");
    let pending = call.await.unwrap().unwrap();
    assert_eq!(pending.status(), 503);
    let shown = world.look_up(&payment).await;
    assert_eq!(shown["state"], "unknown");
    assert!(
        shown["since"].is_string() && shown["reason"].is_string(),
        "{shown}"
    );
}

/// The facilitator's answer was lost, no chain can be asked, and the window has ended. The test
/// records the same events as a server does some minutes later.
#[tokio::test]
async fn an_undecidable_payment_is_left_to_the_operator() {
    let facilitator = Facilitator::start(vec![valid()], vec![Say::Drop]).await;
    let mut world = World::behind(&facilitator.url).await;
    let payment = signed(&world).await;
    let header = header_of(&payment);
    let pending = world.buyer.get_paid(&world.price(), &header).await;
    pending.is_refused(503, "settlement_pending");
    assert_eq!(pending.body()["error"].get("reason"), None);
    assert_eq!(pending.action(), "send_same_again");

    let key = PaymentPayload::from_header(header.as_bytes()).unwrap();
    let key = key.authorization_key().unwrap();
    let now = u64::try_from(jiff::Timestamp::now().as_second()).unwrap();
    world
        .restart_over(async |ledger| {
            let entry = ledger.look_up(&key).await.unwrap().unwrap().entry;
            let cause = "its window is over";
            ledger.mark_undecidable(entry, cause, now).await.unwrap();
        })
        .await;
    let asked = facilitator.settled().len();
    let shown = world.look_up(&payment).await;
    assert_eq!(
        (&shown["state"], &shown["reason"]),
        (&json!("undecidable"), &json!("its window is over"))
    );
    assert!(shown["since"].is_string(), "{shown}");
    let answer = world.buyer.get_paid(&world.price(), &header).await;
    answer.is_refused(503, "settlement_pending");
    let error = &answer.body()["error"];
    assert_eq!(error["reason"], "undecidable");
    assert_eq!(error["retryable"], false);
    assert_eq!(answer.action(), "look_up");
    let url = answer.next()["url"].as_str().unwrap().to_owned();
    let path = url.strip_prefix(world.buyer.base()).unwrap();
    assert_eq!(world.buyer.get(path).await.body(), shown);
    assert!(answer.receipt().is_some_and(|receipt| !receipt.success));
    // The payment buys no other request, and the server does not ask the facilitator again.
    let elsewhere = world.buyer.get_paid("/all-tokens", &header).await;
    elsewhere.is_refused(409, "payment_bound_elsewhere");
    assert_eq!(facilitator.settled().len(), asked);
    let metrics = world.buyer.get("/metrics").await.text;
    for counted in ["undecidable\"} 1", "unknown\"} 0", "in_flight\"} 0"] {
        let line = format!("svc_payments_open{{state=\"{counted}\n");
        assert!(metrics.contains(&line), "{line}: {metrics}");
    }
}

#[tokio::test]
async fn malformed_look_ups_are_refused_by_name() {
    let world = World::onchain().await;
    let bad = world.buyer.get("/payments/0x12/nobody/0x34").await;
    bad.is_refused(400, "invalid_params");
    let problems = bad.body()["error"]["problems"].clone();
    let paths: Vec<_> = problems
        .as_array()
        .unwrap()
        .iter()
        .map(|p| p["path"].clone())
        .collect();
    assert_eq!(paths, ["path.asset", "path.payer", "path.nonce"]);
    for unknown in ["/payments/", "/payments/a/b", "/payments/a/b/c/d"] {
        world.buyer.get(unknown).await.is_refused(404, "not_found");
    }
    let payment = signed(&world).await;
    let asset = payment["accepted"]["asset"].as_str().unwrap();
    let authorization = &payment["payload"]["authorization"];
    let (payer, nonce) = (&authorization["from"], &authorization["nonce"]);
    let target = format!(
        "/payments/{asset}/{}/{}",
        payer.as_str().unwrap(),
        nonce.as_str().unwrap()
    );
    let posted = world
        .buyer
        .send(world.buyer.request(Method::POST, &target))
        .await;
    posted.is_refused(405, "method_not_allowed");
    assert_eq!(posted.headers["allow"], "GET, HEAD, OPTIONS");
    let upper = target
        .to_uppercase()
        .replace("/PAYMENTS/", "/payments/")
        .replace("0X", "0x");
    assert_eq!(
        world.buyer.get(&upper).await.body(),
        json!({"state": "not_seen"})
    );
}
