//! Tests of payments that are forged, altered, misused or used again.

use alloy_primitives::U256;
use reqwest::Method;
use serde_json::{Value, json};
use x402_wire::{Scheme, header};

use crate::support::World;
use crate::support::buyer::header_of;

#[tokio::test]
async fn a_deferred_payment_is_declined_by_a_server_that_settles_by_itself() {
    let world = World::onchain().await;
    let mut draft = world.buyer.draft(Method::GET, &world.price()).await;
    draft.option = 3;
    assert_eq!(
        draft.challenge.options().nth(3).unwrap().scheme,
        Scheme::AggrDeferred
    );
    let answer = world
        .buyer
        .get_paid(&world.price(), &header_of(&world.buyer.signed(&draft)))
        .await;
    answer.is_refused(402, "unsupported_scheme");
    assert_eq!(world.paid(), 0);
}

#[tokio::test]
async fn a_stored_answer_is_not_given_for_a_payer_and_a_nonce() {
    let world = World::onchain().await;
    let draft = world.buyer.draft(Method::GET, &world.price()).await;
    let good = world.buyer.signed(&draft);
    assert_eq!(
        world
            .buyer
            .get_paid(&world.price(), &header_of(&good))
            .await
            .status,
        200
    );
    let mut forged = good.clone();
    forged["payload"]["signature"] = json!(format!("0x{}", "ab".repeat(66)));
    let answer = world
        .buyer
        .get_paid(&world.price(), &header_of(&forged))
        .await;
    answer.is_refused(409, "payment_bound_elsewhere");
    assert!(!answer.text.contains("118.42"));
}

#[tokio::test]
async fn a_tampered_payment_is_declined_by_name() {
    let world = World::onchain().await;
    let target = world.price();
    let draft = world.buyer.draft(Method::GET, &target).await;
    let good = world.buyer.signed(&draft);
    let other = "0x00000000000000000000000000000000000000AA";
    let cases = [
        (
            "/accepted/amount",
            json!("1"),
            "invalid_payment_requirements",
        ),
        (
            "/accepted/payTo",
            json!(other),
            "invalid_payment_requirements",
        ),
        (
            "/accepted/asset",
            json!(other),
            "invalid_payment_requirements",
        ),
        (
            "/accepted/maxTimeoutSeconds",
            json!(1),
            "invalid_payment_requirements",
        ),
        ("/accepted/network", json!("eip155:1"), "network_mismatch"),
        ("/accepted/scheme", json!("upto"), "unsupported_scheme"),
        (
            "/accepted/extra/name",
            json!("USD Coin"),
            "invalid_exact_evm_token_name_mismatch",
        ),
        (
            "/accepted/extra/version",
            json!("9"),
            "invalid_exact_evm_token_version_mismatch",
        ),
        (
            "/payload/authorization/value",
            json!("1"),
            "invalid_exact_evm_payload_authorization_value_mismatch",
        ),
        (
            "/payload/authorization/to",
            json!(other),
            "invalid_exact_evm_payload_recipient_mismatch",
        ),
        (
            "/payload/authorization/from",
            json!(other),
            "invalid_exact_evm_payload_signature",
        ),
        (
            "/payload/authorization/validBefore",
            json!("9999999999"),
            "invalid_exact_evm_payload_authorization_valid_before",
        ),
        ("/x402Version", json!(1), "invalid_x402_version"),
    ];
    for (pointer, value, reason) in cases {
        let mut payment = good.clone();
        *payment.pointer_mut(pointer).unwrap() = value;
        let answer = world.buyer.get_paid(&target, &header_of(&payment)).await;
        answer.is_refused(402, reason);
        assert_eq!(
            answer.challenge().accepts.len(),
            6,
            "a fresh challenge comes with the reason"
        );
    }
    assert_eq!(world.chain.transactions().len(), 0);
}

#[tokio::test]
async fn signatures_that_the_token_would_refuse_are_declined() {
    let world = World::onchain().await;
    let target = world.price();
    let draft = world.buyer.draft(Method::GET, &target).await;
    let good = world.buyer.signed(&draft);
    let text = good["payload"]["signature"].as_str().unwrap().to_owned();
    let bytes = alloy_primitives::hex::decode(&text).unwrap();
    let order: U256 = "0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141"
        .parse()
        .unwrap();
    let s = order - U256::from_be_slice(&bytes[32..64]);
    let flipped = if bytes[64] == 27 { 28 } else { 27 };
    let high_s = [&bytes[..32], &s.to_be_bytes::<32>()[..], &[flipped]].concat();
    let wrong_v = [&bytes[..64], &[29]].concat();
    for forged in [
        high_s,
        wrong_v,
        bytes[..64].to_vec(),
        [&bytes[..], &[0]].concat(),
    ] {
        let mut payment = good.clone();
        payment["payload"]["signature"] = json!(alloy_primitives::hex::encode_prefixed(&forged));
        let answer = world.buyer.get_paid(&target, &header_of(&payment)).await;
        assert_eq!(answer.status, 402, "{}", answer.text);
        assert!(
            answer.code().starts_with("invalid_exact_evm_payload"),
            "{}",
            answer.text
        );
    }
    assert_eq!(
        world
            .buyer
            .get_paid(&target, &header_of(&good))
            .await
            .status,
        200
    );
}

#[tokio::test]
async fn the_window_must_hold_the_work_and_the_settlement() {
    let world = World::onchain().await;
    let target = world.price();
    let now = jiff::Timestamp::now().as_second() as u64;
    for (after, before, reason, next) in [
        (
            0,
            now - 1,
            "invalid_exact_evm_payload_authorization_valid_before",
            "sign_new",
        ),
        (
            0,
            now + 20,
            "invalid_exact_evm_payload_authorization_valid_before",
            "sign_new",
        ),
        (
            0,
            now + 90_000,
            "invalid_exact_evm_payload_authorization_valid_before",
            // An hour later, this window is within the limit.
            "send_same_again",
        ),
        (
            now + 100,
            now + 300,
            "invalid_exact_evm_payload_authorization_valid_after",
            "send_same_again",
        ),
    ] {
        let mut draft = world.buyer.draft(Method::GET, &target).await;
        draft.authorization.valid_after = U256::from(after);
        draft.authorization.valid_before = U256::from(before);
        let payment = header_of(&world.buyer.signed(&draft));
        let refused = world.buyer.get_paid(&target, &payment).await;
        refused.is_refused(402, reason);
        assert_eq!(
            refused.body()["refusal"]["next"]["action"],
            next,
            "{reason}"
        );
    }
    assert_eq!(
        world.replay.served("okx/market_price_okb.json"),
        0,
        "no work was done"
    );
}

#[tokio::test]
async fn one_authorization_sent_fifty_times_is_one_settlement_and_one_run() {
    let world = World::onchain().await;
    let target = world.price();
    let payment = world.buyer.payment(&target).await;
    let calls: Vec<_> = (0..50)
        .map(|_| {
            let request = world.buyer.request(Method::GET, &target);
            tokio::spawn(request.header(header::PAYMENT_SIGNATURE, &payment).send())
        })
        .collect();
    let mut bodies = Vec::new();
    for call in calls {
        let response = call.await.unwrap().unwrap();
        match response.status().as_u16() {
            200 => bodies.push(response.text().await.unwrap()),
            409 => assert!(response.text().await.unwrap().contains("payment_in_flight")),
            other => panic!("{other}"),
        }
    }
    assert!(!bodies.is_empty());
    assert!(bodies.iter().all(|body| body == &bodies[0]));
    assert_eq!(world.paid(), 2000);
    assert_eq!(world.chain.transactions().len(), 1);
    assert_eq!(world.replay.served("okx/market_price_okb.json"), 1);
}

#[tokio::test]
async fn an_authorization_used_on_chain_buys_nothing_for_every_asset() {
    for option in 0..3 {
        let mut world = World::onchain().await;
        let mut draft = world.buyer.draft(Method::GET, &world.price()).await;
        draft.option = option;
        let payment = header_of(&world.buyer.signed(&draft));
        assert_eq!(
            world.buyer.get_paid(&world.price(), &payment).await.status,
            200
        );
        // This server has the same chain and another ledger, so it has never seen the payment.
        let folder = tempfile::tempdir().unwrap();
        let url = format!("sqlite://{}", folder.path().join("other.db").display());
        world.config.storage.url = Some(url.into());
        world.restart().await;
        let answer = world.buyer.get_paid(&world.price(), &payment).await;
        answer.is_refused(409, "payment_bound_elsewhere");
        assert_eq!(
            world.chain.transactions().len(),
            1,
            "no second transaction, reverting or not"
        );
    }
}

#[tokio::test]
async fn an_identifier_names_one_purchase() {
    let world = World::onchain().await;
    let target = world.price();
    let with_id = |mut payment: Value| {
        payment["extensions"] =
            json!({"payment-identifier": {"info": {"required": false, "id": "order-0000000001"}}});
        header_of(&payment)
    };
    let first = with_id(
        world
            .buyer
            .signed(&world.buyer.draft(Method::GET, &target).await),
    );
    assert_eq!(world.buyer.get_paid(&target, &first).await.status, 200);
    let second = with_id(
        world
            .buyer
            .signed(&world.buyer.draft(Method::GET, &target).await),
    );
    // It is the same purchase, which is answered and not charged.
    let again = world.buyer.get_paid(&target, &second).await;
    assert_eq!(again.status, 200, "{}", again.text);
    assert_eq!(again.headers["purchase-repeated"], "1");
    assert_eq!(world.paid(), 2000);
}
