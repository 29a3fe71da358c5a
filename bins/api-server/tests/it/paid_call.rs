//! Tests of a paid call in this process, settled on the embedded chain.

use crate::support::buyer::header_of;
use crate::support::{TOKEN, World};
use alloy_primitives::U256;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use reqwest::Method;
use route_catalog::{ExampleCall, Operation};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

#[tokio::test]
async fn a_payment_buys_one_answer_once_and_gives_it_again() {
    let mut world = World::onchain().await;
    let target = world.price();
    let payment = world.buyer.payment(&target).await;

    let paid = world.buyer.get_paid(&target, &payment).await;
    assert_eq!(paid.status, 200, "{}", paid.text);
    assert_eq!(world.paid(), 2000);
    let receipt = paid.receipt().unwrap();
    assert!(receipt.success);
    assert_eq!(
        world.chain.transactions().last().unwrap().hash.to_string(),
        receipt.transaction
    );
    assert_eq!(
        receipt.payer.as_deref(),
        Some(world.buyer.address().to_string().as_str())
    );
    let digest = STANDARD.encode(Sha256::digest(&paid.text));
    assert_eq!(
        paid.headers["content-digest"],
        format!("sha-256=:{digest}:")
    );
    assert!(
        paid.headers["cache-control"]
            .to_str()
            .unwrap()
            .starts_with("private")
    );
    let body = paid.body();
    assert_eq!(body["data"]["price_usd"], "118.42");
    assert_eq!(body["meta"]["sources"][0]["mode"], "replay");

    for _ in 0..2 {
        let again = world.buyer.get_paid(&target, &payment).await;
        assert_eq!(
            (again.status, again.text.as_str()),
            (200, paid.text.as_str())
        );
        assert_eq!(again.receipt().unwrap().transaction, receipt.transaction);
        assert_eq!(again.headers["x-served-again"], "true");
        world.restart().await;
    }
    assert_eq!(world.paid(), 2000);
    assert_eq!(world.replay.served("okx/market_price_okb.json"), 1);
}

#[tokio::test]
async fn every_unpaid_call_gets_the_challenge_of_its_own_url() {
    let world = World::onchain().await;
    // More challenges than the server caches, so that some are encoded again. Each is requested
    // twice.
    for round in 0..2 {
        for number in 0..300 {
            let target = format!("/price?token={number}");
            let challenge = world.buyer.get(&target).await.challenge();
            assert!(
                challenge.resource.url.ends_with(&target),
                "{round} {}",
                challenge.resource.url
            );
        }
    }
    assert!(
        world
            .buyer
            .get("/all-tokens")
            .await
            .challenge()
            .resource
            .url
            .ends_with("/all-tokens")
    );
}

#[tokio::test]
async fn each_asset_pays() {
    let world = World::onchain().await;
    for option in 0..3 {
        let mut draft = world.buyer.draft(Method::GET, &world.price()).await;
        draft.option = option;
        let paid = world
            .buyer
            .get_paid(&world.price(), &header_of(&world.buyer.signed(&draft)))
            .await;
        assert_eq!(paid.status, 200, "{}", paid.text);
    }
}

#[tokio::test]
async fn a_payment_belongs_to_its_request() {
    let world = World::onchain().await;
    let target = world.price();
    // The payment names one request and is sent with another.
    let payment = world.buyer.payment(&target).await;
    let elsewhere = "/price?token=0x779Ded0c9e1022225f8E0630b35a9b54bE713736";
    let refused = world.buyer.get_paid(elsewhere, &payment).await;
    refused.is_refused(402, "resource_mismatch");
    // The payment is still good for its own request.
    assert_eq!(refused.action(), "wait", "{}", refused.text);
    world
        .buyer
        .get_paid("/all-tokens", &payment)
        .await
        .is_refused(402, "resource_mismatch");

    // A payment without a resource is bound by its first use.
    let draft = world.buyer.draft(Method::GET, &target).await;
    let mut payment = world.buyer.signed(&draft);
    payment.as_object_mut().unwrap().remove("resource");
    let payment = header_of(&payment);
    assert_eq!(world.buyer.get_paid(&target, &payment).await.status, 200);
    for other in [
        elsewhere,
        "/all-tokens",
        &format!("{target}&max_age=9999999"),
    ] {
        world
            .buyer
            .get_paid(other, &payment)
            .await
            .is_refused(409, "payment_bound_elsewhere");
    }
    assert_eq!(world.paid(), 2000);
}

#[tokio::test]
async fn a_payment_belongs_to_its_body() {
    let world = World::onchain().await;
    let body = |amount: &str| {
        json!({
            "fromToken": "0x779Ded0c9e1022225f8E0630b35a9b54bE713736",
            "toToken": TOKEN,
            "amount": amount,
            "userWalletAddress": world.buyer.address().to_string(),
        })
    };
    let draft = world.buyer.draft(Method::POST, "/swap").await;
    let payment = header_of(&world.buyer.signed(&draft));
    let paid = world
        .buyer
        .post_paid("/swap", &body("25.5"), &payment)
        .await;
    assert_eq!(paid.status, 200, "{}", paid.text);
    let data = &paid.body()["data"];
    assert_eq!(data["amount_atoms"], "25500000");
    assert_eq!(data["amount"], "25.5");
    assert_eq!(
        (&data["from_token_symbol"], &data["from_token_decimals"]),
        (&json!("USD₮0"), &json!(6))
    );
    assert_eq!(
        (&data["to_token_symbol"], &data["to_token_decimals"]),
        (&json!("WOKB"), &json!(18))
    );
    let whole = data["quote"]["amount_out"].as_str().unwrap();
    let atoms = data["quote"]["amount_out_atoms"].as_str().unwrap();
    let atoms = exact::parse_digits(atoms).unwrap();
    assert_eq!(whole, exact::format_units(atoms, 18));
    assert_eq!(
        data["approval"],
        json!({
            "token": data["from_token"],
            "spender": "0x8b773D83bc66Be128c60e07E17C8901f7a64F000",
            "amount_atoms": "25500000",
        })
    );
    assert_eq!(data["broadcast"], false);
    assert_eq!(data["tx"]["value"], "0");
    world
        .buyer
        .post_paid("/swap", &body("26"), &payment)
        .await
        .is_refused(409, "payment_bound_elsewhere");
    assert_eq!(
        world
            .buyer
            .post_paid("/swap", &body("25.5"), &payment)
            .await
            .text,
        paid.text
    );
    assert_eq!(world.paid(), 10_000);
}

#[tokio::test]
async fn a_refusal_costs_nothing_and_the_payment_can_be_used_again() {
    let world = World::onchain().await;
    let draft = world.buyer.draft(Method::GET, &world.price()).await;
    let mut payment = world.buyer.signed(&draft);
    payment.as_object_mut().unwrap().remove("resource");
    let payment = header_of(&payment);
    let unknown = "/price?token=0x000000000000000000000000000000000000dEaD";
    let refused = world.buyer.get_paid(unknown, &payment).await;
    refused.is_refused(404, "not_found");
    assert_eq!(refused.body()["error"]["reason"], "token_not_priced");
    assert_eq!(world.paid(), 0);
    assert_eq!(
        world.buyer.get_paid(&world.price(), &payment).await.status,
        200
    );
    assert_eq!(world.paid(), 2000);
}

#[tokio::test]
async fn routes_without_a_custody_provider_refuse_uncharged() {
    let world = World::onchain().await;
    for operation in [
        Operation::SubWallet,
        Operation::AutoSwap,
        Operation::AutoBridge,
        Operation::AutoWithdraw,
        Operation::AutoDefiInvest,
        Operation::AutoDefiWithdraw,
    ] {
        let route = operation.route();
        let ExampleCall { target, body, .. } = route.example_call();
        let method = Method::from_bytes(route.method.as_str().as_bytes()).unwrap();
        let mut draft = world.buyer.draft(method.clone(), &target).await;
        // Calls that wait for a transaction take longer.
        draft.authorization.valid_before =
            U256::from(u64::try_from(jiff::Timestamp::now().as_second()).unwrap() + 900);
        let mut request = world.buyer.request(method, &target).header(
            x402_wire::header::PAYMENT_SIGNATURE,
            header_of(&world.buyer.signed(&draft)),
        );
        if route.takes_body() {
            request = request.body(body.to_string());
        }
        let answer = world.buyer.send(request).await;
        assert_eq!(answer.status, 503, "{}: {}", operation.name(), answer.text);
        answer.is_refused(503, "upstream_unavailable");
    }
    assert_eq!(world.paid(), 0);
}

#[tokio::test]
async fn data_older_than_the_caller_takes_is_not_sold() {
    let world = World::onchain().await;
    let target = format!("{}&max_age=1", world.price());
    let payment = world.buyer.payment(&target).await;
    let answer = world.buyer.get_paid(&target, &payment).await;
    answer.is_refused(503, "upstream_unavailable");
    assert_eq!(answer.body()["error"]["reason"], "older_than_max_age");
    assert_eq!(world.paid(), 0);
}

#[tokio::test]
async fn the_four_routes_answer_what_the_catalog_shows() {
    let world = World::onchain().await;
    for target in [
        world.price(),
        "/all-tokens?limit=2".to_owned(),
        format!("/approve?token={TOKEN}&amount=25500000"),
    ] {
        let payment = world.buyer.payment(&target).await;
        let answer = world.buyer.get_paid(&target, &payment).await;
        assert_eq!(answer.status, 200, "{target}: {}", answer.text);
        let path = target.split('?').next().unwrap();
        assert_same_members(path, &answer.body()["data"]);
    }
    let draft = world.buyer.draft(Method::POST, "/swap").await;
    let body = json!({
        "fromToken": "0x779Ded0c9e1022225f8E0630b35a9b54bE713736",
        "toToken": TOKEN,
        "amount": "1",
        "userWalletAddress": world.buyer.address().to_string(),
        "slippage": "0.5",
    });
    let payment = header_of(&world.buyer.signed(&draft));
    let answer = world.buyer.post_paid("/swap", &body, &payment).await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    assert_same_members("/swap", &answer.body()["data"]);
}

/// Asserts that the catalogued example and the real answer have the same members at every depth.
fn assert_same_members(path: &str, data: &Value) {
    let route = route_catalog::Operation::ALL
        .iter()
        .map(|operation| operation.route())
        .find(|route| route.path == path)
        .unwrap();
    let example: Value = serde_json::from_str(route.example).unwrap();
    assert_eq!(members("", &example), members("", data), "{path}: {data}");
}

fn members(path: &str, value: &Value) -> Vec<String> {
    match value {
        Value::Object(map) => map
            .iter()
            .flat_map(|(key, value)| members(&format!("{path}/{key}"), value))
            .collect(),
        Value::Array(items) => items
            .first()
            .map_or_else(Vec::new, |item| members(&format!("{path}/0"), item)),
        _ => vec![path.to_owned()],
    }
}
