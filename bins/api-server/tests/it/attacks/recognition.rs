//! Tests of recognition. The server looks for a payment in the ledger before it gives any advice
//! that could make the payer sign another one.

use alloy_primitives::{Address, U256};
use api_server::config::SettlementMode;
use reqwest::Method;
use serde_json::{Value, json};
use test_support::eventually;
use x402_wire::Scheme;

use crate::support::World;
use crate::support::buyer::{Answer, header_of};
use crate::support::facilitator::{Facilitator, Say, success, valid};

const TX: &str = "0xabababababababababababababababababababababababababababababababab";
const NEW_PAYEE: Address = Address::repeat_byte(0x11);

/// Changes that an operator may make between two runs.
const CHANGES: [&str; 3] = ["payee", "window", "assets"];

async fn change(world: &mut World, what: &str) {
    world
        .restart_with(|config| match what {
            "payee" => config.payment.pay_to = Some(NEW_PAYEE.into()),
            "window" => config.payment.max_timeout_seconds += 60,
            _ => config.payment.assets.rotate_left(1),
        })
        .await;
}

#[track_caller]
fn is_served_again(answer: &Answer) {
    assert_eq!(answer.status, 200, "{}", answer.text);
    assert_eq!(answer.headers["x-served-again"], "true");
}

#[tokio::test]
async fn a_settled_payment_gets_its_answer_whatever_the_operator_has_changed() {
    for what in CHANGES {
        let mut world = World::onchain().await;
        let target = world.price();
        let payment = world.buyer.payment(&target).await;
        let first = world.buyer.get_paid(&target, &payment).await;
        assert_eq!(first.status, 200, "{}", first.text);
        change(&mut world, what).await;
        let again = world.buyer.get_paid(&target, &payment).await;
        is_served_again(&again);
        assert_eq!(again.text, first.text, "{what}");
        // The payment stays bound to the first request.
        let elsewhere = world.buyer.get_paid("/all-tokens", &payment).await;
        elsewhere.is_refused(409, "payment_bound_elsewhere");
        assert_eq!(elsewhere.action(), "look_up");
        assert_eq!(world.chain.transactions().len(), 1, "{what}");
    }
}

#[tokio::test]
async fn an_unknown_payment_is_decided_and_never_challenged_whatever_the_operator_has_changed() {
    for what in CHANGES {
        let settled = vec![Say::Hang, Say::Hang, success(TX)];
        let facilitator = Facilitator::start(vec![valid()], settled).await;
        let mut world = World::behind(&facilitator.url).await;
        let target = world.price();
        let payment = world.buyer.payment(&target).await;
        let first = world.buyer.get_paid(&target, &payment).await;
        first.is_refused(503, "settlement_pending");
        assert_eq!(first.action(), "send_same_again");
        change(&mut world, what).await;
        let answered = async || {
            let again = world.buyer.get_paid(&target, &payment).await;
            if again.status != 200 {
                again.is_refused(503, "settlement_pending");
                assert_eq!(again.action(), "send_same_again", "{what}");
                return None;
            }
            Some(again)
        };
        is_served_again(&eventually("the answer", answered).await);
    }
}

/// Makes a deferred payment in the form in which the broker's wallet writes it: without an end.
async fn deferred(world: &World) -> String {
    let mut draft = world.buyer.draft(Method::GET, &world.price()).await;
    draft.option = 3;
    draft.authorization.valid_before = U256::MAX;
    assert_eq!(
        draft.challenge.options().nth(3).unwrap().scheme,
        Scheme::AggrDeferred
    );
    let mut payment = world.buyer.signed(&draft);
    payment["accepted"]["extra"]["sessionCert"] = json!("Y2VydA==");
    payment["payload"]["signature"] = json!("c2lnbmF0dXJl");
    header_of(&payment)
}

#[tokio::test]
async fn a_settled_deferred_payment_needs_no_facilitator() {
    let stored = Say::Json(
        200,
        r#"{"success":true,"transaction":"","network":"eip155:196","status":"success"}"#.to_owned(),
    );
    let facilitator = Facilitator::start(vec![valid()], vec![stored]).await;
    facilitator.list_deferred();
    let mut world = World::behind(&facilitator.url).await;
    let payment = deferred(&world).await;
    let first = world.buyer.get_paid(&world.price(), &payment).await;
    assert_eq!(first.status, 200, "{}", first.text);

    // The facilitator no longer lists the scheme.
    let other = Facilitator::start(vec![valid()], vec![success(TX)]).await;
    let url = other.url.clone();
    world
        .restart_with(|config| config.settlement.facilitator_url = Some(url))
        .await;
    is_served_again(&world.buyer.get_paid(&world.price(), &payment).await);
    let fresh = deferred(&world).await;
    let refused = world.buyer.get_paid(&world.price(), &fresh).await;
    refused.is_refused(402, "unsupported_scheme");
    assert_eq!(refused.body()["refusal"]["retryable"], false);
    // A facilitator that lists the scheme may still take it, and nobody can wait for its end.
    assert_eq!(refused.action(), "look_up");

    // The facilitator is down.
    drop((facilitator, other));
    world
        .restart_with(|config| {
            config.settlement.facilitator_url = Some("http://127.0.0.1:9".to_owned());
        })
        .await;
    is_served_again(&world.buyer.get_paid(&world.price(), &payment).await);
    let fresh = deferred(&world).await;
    let refused = world.buyer.get_paid(&world.price(), &fresh).await;
    refused.is_refused(503, "upstream_unavailable");
    assert_eq!(refused.action(), "send_same_again");
}

#[tokio::test]
async fn a_wallets_payment_is_recognised_while_all_its_places_are_taken() {
    // The facilitator answers the first verification; the others hang.
    let verify = vec![valid(), Say::Hang];
    let facilitator = Facilitator::start(verify, vec![success(TX)]).await;
    let world = World::start({
        let url = facilitator.url.clone();
        move |config, _rpc| {
            config.settlement.mode = SettlementMode::Facilitator;
            config.settlement.facilitator_url = Some(url);
            config.settlement.rpc_url = None;
            config.settlement.private_key = None;
            config.settlement.timeout_ms = 2_000;
        }
    })
    .await;
    let target = world.price();
    let draft = world.buyer.draft(Method::GET, &target).await;
    let wallet = |number: u16, payer: u16| {
        let mut payment = world.buyer.signed(&draft);
        let authorization = &mut payment["payload"]["authorization"];
        authorization["nonce"] = json!(format!("0x{}", format!("{number:04x}").repeat(16)));
        authorization["from"] = json!(format!("0x{}", format!("{payer:04x}").repeat(10)));
        payment["payload"]["signature"] = json!(format!("0x{}", "ab".repeat(66)));
        header_of(&payment)
    };
    let known = wallet(1, 1);
    assert_eq!(world.buyer.get_paid(&target, &known).await.status, 200);
    let calls: Vec<_> = (2..100)
        .map(|number| {
            let request = world.buyer.request(Method::GET, &target);
            tokio::spawn(
                request
                    .header("payment-signature", wallet(number, number))
                    .send(),
            )
        })
        .collect();
    // A further call is refused once all places are taken.
    let mut number = 100;
    loop {
        let request = world.buyer.request(Method::GET, &target);
        let call = request.header("payment-signature", wallet(number, number));
        let quick = tokio::time::timeout(
            std::time::Duration::from_millis(100),
            world.buyer.send(call),
        );
        match quick.await {
            Ok(answer) if answer.status == 429 => {
                assert_eq!(answer.body()["error"]["reason"], "too_many_calls");
                assert_eq!(answer.action(), "send_same_again");
                break;
            }
            _ => number += 1,
        }
    }
    is_served_again(&world.buyer.get_paid(&target, &known).await);
    for call in calls {
        call.abort();
    }
}

fn with_id(mut payment: Value) -> String {
    payment["extensions"] =
        json!({"payment-identifier": {"info": {"required": false, "id": "order-0000000001"}}});
    header_of(&payment)
}

#[tokio::test]
async fn an_identifier_of_another_request_names_the_settled_transaction_and_says_to_look_it_up() {
    let world = World::onchain().await;
    let target = world.price();
    let signed = world
        .buyer
        .signed(&world.buyer.draft(Method::GET, &target).await);
    let first = with_id(signed.clone());
    let paid = world.buyer.get_paid(&target, &first).await;
    assert_eq!(paid.status, 200, "{}", paid.text);
    let transaction = paid.receipt().unwrap().transaction;

    let other = world.buyer.draft(Method::GET, "/all-tokens").await;
    let other = with_id(world.buyer.signed(&other));
    let other = world.buyer.get_paid("/all-tokens", &other).await;
    other.is_refused(409, "identifier_taken");
    let error = other.body()["error"].clone();
    assert_eq!(error["transaction"], transaction.as_str());
    assert_eq!(error["next"]["action"], "look_up");
    assert_eq!(error["retryable"], false);
    let nonce = signed["payload"]["authorization"]["nonce"]
        .as_str()
        .unwrap();
    assert!(
        error["next"]["url"].as_str().unwrap().ends_with(nonce),
        "{error}"
    );
    let message = error["message"].as_str().unwrap();
    assert!(!message.contains("sign a new"), "{message}");
    is_served_again(&world.buyer.get_paid(&target, &first).await);
    assert_eq!(world.paid(), 2000);
}

#[tokio::test]
async fn a_known_nonce_under_another_signature_gets_only_the_advice_to_look_up() {
    let world = World::onchain().await;
    let target = world.price();
    let good = world
        .buyer
        .signed(&world.buyer.draft(Method::GET, &target).await);
    assert_eq!(
        world
            .buyer
            .get_paid(&target, &header_of(&good))
            .await
            .status,
        200
    );
    for signature in ["ab".repeat(65), "ab".repeat(66)] {
        let mut forged = good.clone();
        forged["payload"]["signature"] = json!(format!("0x{signature}"));
        let answer = world.buyer.get_paid(&target, &header_of(&forged)).await;
        answer.is_refused(409, "payment_bound_elsewhere");
        let error = answer.body()["error"].clone();
        let mut members: Vec<_> = error.as_object().unwrap().keys().cloned().collect();
        members.sort();
        let expected = [
            "charged",
            "code",
            "message",
            "next",
            "reason",
            "request_id",
            "retryable",
        ];
        assert_eq!(members, expected);
        assert_eq!(error["next"]["action"], "look_up");
        assert!(!answer.headers.contains_key("payment-response"));
    }
    assert_eq!(world.chain.transactions().len(), 1);
}

#[tokio::test]
async fn a_settlement_that_was_refused_is_not_answered_with_sign_anew() {
    let refusal = r#"{"success":false,"errorReason":"insufficient_funds","transaction":"","network":"eip155:196"}"#;
    let settle = vec![Say::Json(200, refusal.to_owned()), success(TX)];
    let facilitator = Facilitator::start(vec![valid()], settle).await;
    let world = World::behind(&facilitator.url).await;
    let target = world.price();
    let draft = world.buyer.draft(Method::GET, &target).await;
    let signed = world.buyer.signed(&draft);
    let payment = header_of(&signed);
    let refused = world.buyer.get_paid(&target, &payment).await;
    refused.is_refused(402, "insufficient_funds");
    let next = refused.next();
    assert_eq!(next["action"], "wait");
    let after = next["after_seconds"].as_u64().unwrap();
    assert!((60..=360).contains(&after), "{after}");
    let nonce = signed["payload"]["authorization"]["nonce"]
        .as_str()
        .unwrap();
    assert!(next["url"].as_str().unwrap().ends_with(nonce));
    assert_eq!(world.look_up(&signed).await["state"], "released");
    // The identical payment may be tried again while it is valid.
    let again = world.buyer.get_paid(&target, &payment).await;
    assert_eq!(again.status, 200, "{}", again.text);
}

#[tokio::test]
async fn every_refusal_of_a_payment_says_what_to_do() {
    let world = World::onchain().await;
    let target = world.price();
    let unpaid = world.buyer.get(&target).await;
    assert_eq!((unpaid.status, unpaid.action().as_str()), (402, "sign_new"));
    let malformed = world.buyer.get_paid(&target, "nonsense").await;
    assert_eq!(
        (malformed.status, malformed.action().as_str()),
        (402, "sign_new")
    );
    let payment = world.buyer.payment(&target).await;
    assert_eq!(world.buyer.get_paid(&target, &payment).await.status, 200);
    let elsewhere = world.buyer.get_paid("/all-tokens", &payment).await;
    assert_eq!(
        (elsewhere.status, elsewhere.action().as_str()),
        (409, "look_up")
    );
    // After refused work the payment is still valid for the same call.
    let poor = crate::support::buyer::Buyer::stranger(world.buyer.base());
    let unfunded = poor.payment(&target).await;
    let unfunded = poor.get_paid(&target, &unfunded).await;
    unfunded.is_refused(402, "insufficient_funds");
    assert_eq!(unfunded.action(), "send_same_again");
}
