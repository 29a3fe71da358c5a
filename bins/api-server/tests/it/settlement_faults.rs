//! Tests of facilitators that fail in every way. The server serves nothing unpaid and charges
//! nothing twice, and an unknown outcome stays unknown until the facilitator or the chain decides
//! it.

use crate::support::facilitator::{Facilitator, Say, success, valid};
use crate::support::{self, World};
use api_server::config::SettlementMode;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit, Mac};
use serde_json::{Value, json};
use sha2::Sha256;
use test_support::eventually;
use x402_wire::Scheme;

const TX: &str = "0xabababababababababababababababababababababababababababababababab";

async fn world(verify: Vec<Say>, settle: Vec<Say>) -> (World, Facilitator) {
    let facilitator = Facilitator::start(verify, settle).await;
    (World::behind(&facilitator.url).await, facilitator)
}

#[tokio::test]
async fn a_good_facilitator_gets_the_payment_byte_for_byte_and_our_own_requirements() {
    let (world, facilitator) = world(vec![valid()], vec![success(TX)]).await;
    let target = world.price();
    let draft = world.buyer.draft(reqwest::Method::GET, &target).await;
    let mut payment = world.buyer.signed(&draft);
    payment["accepted"]["extra"]["future"] = serde_json::json!([1, "₮"]);
    let raw = payment.to_string();
    let paid = world
        .buyer
        .get_paid(&target, &x402_wire::encode_header(&raw))
        .await;
    assert_eq!(paid.status, 200, "{}", paid.text);
    assert_eq!(paid.receipt().unwrap().transaction, TX);
    for body in facilitator.verified().iter().chain(&facilitator.settled()) {
        assert!(
            body.contains(&raw),
            "the caller's bytes travel on unchanged"
        );
        let body: Value = serde_json::from_str(body).unwrap();
        assert!(body["paymentRequirements"]["extra"].get("future").is_none());
        assert_eq!(body["paymentRequirements"]["amount"], "2000");
    }
}

#[tokio::test]
async fn a_facilitator_that_cannot_verify_costs_nothing_and_frees_the_payment() {
    for fault in [
        Say::Json(500, "{}".to_owned()),
        Say::Json(503, "overloaded".to_owned()),
        Say::Json(500, r#"{"isValid":true}"#.to_owned()),
        Say::Html(200),
        Say::Json(200, "{\"isValid\":".to_owned()),
        Say::Hang,
        Say::Drop,
        Say::Truncate,
    ] {
        let (world, facilitator) = world(vec![fault.clone(), valid()], vec![success(TX)]).await;
        let payment = world.buyer.payment(&world.price()).await;
        let answer = world.buyer.get_paid(&world.price(), &payment).await;
        answer.is_refused(503, "upstream_unavailable");
        assert!(answer.headers.contains_key("retry-after"), "{fault:?}");
        assert_eq!(
            world.replay.served("okx/market_price_okb.json"),
            0,
            "no work before a verdict"
        );
        assert!(facilitator.settled().is_empty());
        assert_eq!(
            world.buyer.get_paid(&world.price(), &payment).await.status,
            200,
            "{fault:?}"
        );
    }
}

#[tokio::test]
async fn an_invalid_payment_is_declined_with_the_facilitators_reason() {
    let invalid = Say::Json(
        200,
        r#"{"isValid":false,"invalidReason":"insufficient_funds"}"#.to_owned(),
    );
    let refused = Say::Json(
        400,
        r#"{"isValid":false,"invalidReason":"insufficient_funds"}"#.to_owned(),
    );
    for say in [invalid, refused] {
        let (world, facilitator) = world(vec![say], vec![success(TX)]).await;
        let payment = world.buyer.payment(&world.price()).await;
        world
            .buyer
            .get_paid(&world.price(), &payment)
            .await
            .is_refused(402, "insufficient_funds");
        assert!(facilitator.settled().is_empty());
    }
}

#[tokio::test]
async fn a_settlement_that_failed_is_no_success_whatever_its_status() {
    let failed = r#"{"success":false,"errorReason":"insufficient_funds","transaction":"","network":"eip155:196"}"#;
    for status in [200, 400, 402] {
        let (world, _facilitator) = world(
            vec![valid()],
            vec![Say::Json(status, failed.to_owned()), success(TX)],
        )
        .await;
        let payment = world.buyer.payment(&world.price()).await;
        let answer = world.buyer.get_paid(&world.price(), &payment).await;
        answer.is_refused(402, "insufficient_funds");
        assert!(!answer.text.contains("118.42"), "the answer is withheld");
        let receipt = answer.receipt().unwrap();
        assert!(!receipt.success);
        assert_eq!(receipt.error_reason.as_deref(), Some("insufficient_funds"));
        assert_eq!(answer.challenge().accepts.len(), 6);
    }
}

#[tokio::test]
async fn an_unknown_outcome_is_decided_by_the_same_payment_and_never_by_a_new_one() {
    let pending = format!(
        r#"{{"success":false,"errorReason":"settlement_pending","transaction":"{TX}","network":"eip155:196"}}"#
    );
    let settled = format!(r#"{{"success":true,"transaction":"{TX}","network":"eip155:196"}}"#);
    for fault in [
        Say::Json(500, "{}".to_owned()),
        Say::Json(500, settled),
        Say::Json(502, "bad gateway".to_owned()),
        Say::Html(200),
        Say::Json(200, "garbage".to_owned()),
        Say::Json(200, pending.clone()),
        Say::Json(500, pending.clone()),
        Say::Hang,
        Say::Drop,
        Say::Truncate,
    ] {
        // The fault occurs twice, because a call asks a second time about a pending settlement.
        let script = vec![fault.clone(), fault.clone(), success(TX)];
        let (mut world, facilitator) = world(vec![valid()], script).await;
        let payment = world.buyer.payment(&world.price()).await;
        let answer = world.buyer.get_paid(&world.price(), &payment).await;
        answer.is_refused(503, "settlement_pending");
        assert!(!answer.text.contains("118.42"), "the answer is withheld");
        assert!(answer.headers.contains_key("retry-after"));
        assert!(
            !answer.headers.contains_key("payment-required"),
            "no fresh challenge"
        );
        let receipt = answer.receipt().unwrap();
        assert_eq!(receipt.error_reason.as_deref(), Some("settlement_pending"));

        // A restart loses nothing.
        world.restart().await;
        let decided = eventually("the outcome", async || {
            let again = world.buyer.get_paid(&world.price(), &payment).await;
            (again.status != 503).then_some(again)
        });
        let decided = decided.await;
        assert_eq!(decided.status, 200, "{fault:?}: {}", decided.text);
        assert_eq!(decided.receipt().unwrap().transaction, TX);
        assert_eq!(
            world.replay.served("okx/market_price_okb.json"),
            1,
            "the work ran once"
        );
        let settles = facilitator.settled();
        assert!(
            settles.iter().all(|body| body == &settles[0]),
            "only ever the identical settlement"
        );
    }
}

/// Only the facilitator can judge the signature of a session key. The server forwards the caller's
/// bytes to it. The facilitator names no transaction yet.
#[tokio::test]
async fn a_deferred_payment_is_accepted_only_by_a_facilitator_that_lists_the_scheme() {
    let (world, facilitator) = world(vec![valid()], vec![success("")]).await;
    let target = world.price();
    let mut draft = world.buyer.draft(reqwest::Method::GET, &target).await;
    draft.option = 3;
    assert_eq!(
        draft.challenge.options().nth(3).unwrap().scheme,
        Scheme::AggrDeferred
    );
    let mut payment = world.buyer.signed(&draft);
    payment["accepted"]["extra"]["sessionCert"] = json!("c2Vzc2lvbiBjZXJ0aWZpY2F0ZQ==");
    payment["payload"]["signature"] = json!("c2Vzc2lvbiBrZXkgc2lnbmF0dXJl");
    let raw = x402_wire::ascii_json(&payment).unwrap();
    let payment = x402_wire::encode_header(&raw);

    let refused = world.buyer.get_paid(&target, &payment).await;
    refused.is_refused(402, "unsupported_scheme");
    assert!(facilitator.verified().is_empty(), "not listed, not asked");

    let mut world = world;
    facilitator.list_deferred();
    world.restart().await;
    let paid = world.buyer.get_paid(&target, &payment).await;
    assert_eq!(paid.status, 200, "{}", paid.text);
    let receipt = paid.receipt().unwrap();
    assert!(receipt.success && receipt.transaction.is_empty());
    let bodies = [facilitator.verified(), facilitator.settled()].concat();
    assert_eq!(bodies.len(), 2);
    assert!(bodies.iter().all(|body| body.contains(&raw)));

    world.restart().await;
    let again = world.buyer.get_paid(&target, &payment).await;
    assert_eq!((again.status, &again.text), (200, &paid.text));
    assert_eq!(again.headers["x-served-again"], "true");
    assert_eq!(facilitator.settled().len(), 1, "charged once");
}

/// The broker gets each credential of the configuration in its own header.
#[tokio::test]
async fn the_broker_gets_signed_requests() {
    let facilitator = Facilitator::start(vec![valid()], vec![success(TX)]).await;
    let url = facilitator.url.clone();
    let world = World::start(move |config, _rpc| {
        let settlement = &mut config.settlement;
        settlement.mode = SettlementMode::Okx;
        settlement.okx_base_url = url;
        settlement.okx_api_key = Some("the key".to_owned().into());
        settlement.okx_secret_key = Some("the secret".to_owned().into());
        settlement.okx_passphrase = Some("the passphrase".to_owned().into());
        settlement.rpc_url = None;
        settlement.private_key = None;
    })
    .await;
    let payment = world.buyer.payment(&world.price()).await;
    let paid = world.buyer.get_paid(&world.price(), &payment).await;
    assert_eq!(paid.status, 200, "{}", paid.text);
    assert_eq!(paid.receipt().unwrap().transaction, TX);
    assert_eq!(
        (facilitator.verified().len(), facilitator.settled().len()),
        (1, 1)
    );
    for seen in facilitator.seen() {
        let mut mac = Hmac::<Sha256>::new_from_slice(b"the secret").unwrap();
        let timestamp = &seen.headers["ok-access-timestamp"];
        mac.update(
            [timestamp, &seen.method, &seen.path, &seen.body]
                .map(String::as_str)
                .concat()
                .as_bytes(),
        );
        let signature = STANDARD.encode(mac.finalize().into_bytes());
        assert_eq!(seen.headers["ok-access-sign"], signature, "{}", seen.path);
        assert_eq!(seen.headers["ok-access-key"], "the key");
        assert_eq!(seen.headers["ok-access-passphrase"], "the passphrase");
    }
}

/// The payment is verified, and then the settler cannot be reached. Nothing was sent, so the
/// payment is still valid.
#[tokio::test]
async fn a_settlement_that_was_not_sent_frees_the_payment() {
    let (mut world, facilitator) = world(vec![valid()], vec![success(TX)]).await;
    let payment = world.buyer.payment(&world.price()).await;
    facilitator.close_after_verifying();
    let refused = world.buyer.get_paid(&world.price(), &payment).await;
    refused.is_refused(503, "upstream_unavailable");
    assert_eq!(refused.body()["error"]["reason"], "settlement_unavailable");
    assert!(facilitator.settled().is_empty());
    drop(facilitator);
    let other = Facilitator::start(vec![valid()], vec![success(TX)]).await;
    world.config.settlement.facilitator_url = Some(other.url.clone());
    world.restart().await;
    let paid = world.buyer.get_paid(&world.price(), &payment).await;
    assert_eq!(paid.status, 200, "{}", paid.text);
    assert_eq!(other.settled().len(), 1);
}

#[tokio::test]
async fn a_settlement_for_another_payer_is_not_believed() {
    let other = format!(
        r#"{{"success":true,"transaction":"{TX}","network":"eip155:196","payer":"0x00000000000000000000000000000000000000AA"}}"#
    );
    let elsewhere = format!(r#"{{"success":true,"transaction":"{TX}","network":"eip155:1"}}"#);
    for lie in [other, elsewhere] {
        let (world, _facilitator) = world(vec![valid()], vec![Say::Json(200, lie)]).await;
        let payment = world.buyer.payment(&world.price()).await;
        world
            .buyer
            .get_paid(&world.price(), &payment)
            .await
            .is_refused(503, "settlement_pending");
    }
}

#[tokio::test]
async fn a_forged_signature_never_reaches_the_facilitator() {
    let (world, facilitator) = world(vec![valid()], vec![success(TX)]).await;
    let draft = world
        .buyer
        .draft(reqwest::Method::GET, &world.price())
        .await;
    let mut payment = world.buyer.signed(&draft);
    payment["payload"]["authorization"]["nonce"] =
        serde_json::json!(format!("0x{}", "11".repeat(32)));
    let payment = support::buyer::header_of(&payment);
    for _ in 0..20 {
        let answer = world.buyer.get_paid(&world.price(), &payment).await;
        answer.is_refused(402, "invalid_exact_evm_payload_signature");
    }
    assert!(facilitator.verified().is_empty() && facilitator.settled().is_empty());
}

#[tokio::test]
async fn an_answer_waits_for_a_caller_that_paid_and_hung_up() {
    let (world, facilitator) = world(vec![valid()], vec![success(TX)]).await;
    let payment = world.buyer.payment(&world.price()).await;
    let request = world.buyer.request(reqwest::Method::GET, &world.price());
    let call = tokio::spawn(request.header("payment-signature", &payment).send());
    while facilitator.verified().is_empty() {
        tokio::task::yield_now().await;
    }
    call.abort();
    let _ = call.await;
    let mut answer = world.buyer.get_paid(&world.price(), &payment).await;
    while answer.status == 409 {
        answer = world.buyer.get_paid(&world.price(), &payment).await;
    }
    assert_eq!(answer.status, 200, "{}", answer.text);
    assert_eq!(facilitator.settled().len(), 1);
}

#[tokio::test]
async fn payments_that_this_process_cannot_judge_are_few_at_a_time() {
    let (world, facilitator) = world(vec![Say::Hang], vec![success(TX)]).await;
    let draft = world
        .buyer
        .draft(reqwest::Method::GET, &world.price())
        .await;
    let calls: Vec<_> = (0..100u8)
        .map(|number| {
            let mut payment = world.buyer.signed(&draft);
            payment["payload"]["authorization"]["nonce"] =
                serde_json::json!(format!("0x{}", format!("{number:02x}").repeat(32)));
            payment["payload"]["signature"] = serde_json::json!(format!("0x{}", "ab".repeat(66)));
            let payment = support::buyer::header_of(&payment);
            let request = world.buyer.request(reqwest::Method::GET, &world.price());
            tokio::spawn(request.header("payment-signature", payment).send())
        })
        .collect();
    let mut limited = 0;
    for call in calls {
        let response = call.await.unwrap().unwrap();
        if response.status() == 429 {
            assert!(response.headers().contains_key("retry-after"));
            limited += 1;
        }
    }
    assert!(
        limited > 0 && facilitator.verified().len() <= 64,
        "{limited}"
    );
    // A caller that signs with its own key is still served.
    let payment = world.buyer.payment(&world.price()).await;
    world
        .buyer
        .get_paid(&world.price(), &payment)
        .await
        .is_refused(503, "upstream_unavailable");
}
