//! `GET /payments/{asset}/{payer}/{nonce}`: where a payment stands, never what it bought.

use reqwest::Method;
use serde_json::{Value, json};

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
    while facilitator.settled().is_empty() {
        tokio::task::yield_now().await;
    }
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

#[tokio::test]
async fn what_is_no_payment_is_refused_by_name() {
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
