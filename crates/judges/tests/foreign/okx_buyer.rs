//! The buyers of X Layer: a person with OKX's command line, a marketplace task, and the newer tool.
//! Each quotes, pays and tries again as its sources do.

mod client;

#[path = "../../../../bins/api-server/tests/it/support/facilitator.rs"]
#[allow(
    dead_code,
    unreachable_pub,
    reason = "the tests of `api-server` use the rest"
)]
mod broker;

use alloy_primitives::U256;
use judges::{Account, ApiServer, ApiServerConfig, Token};
use replay::{Recordings, ReplayServer};
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use self::broker::{Facilitator, Say, success, valid};
use self::client::{Card, OkxBuyer, Paid, Quote};
use crate::world::{PRICE, SWAP, World};

const WOKB: &str = "0xe538905cf8410324e03A5A23C1c177a474D59b2b";
const TOKEN: [(&str, &str); 1] = [("token", WOKB)];

fn buyer(world: &World) -> OkxBuyer {
    OkxBuyer::new(world.http.clone(), Account::BUYER)
}

#[tokio::test]
async fn a_person_quotes_the_bare_url_learns_the_parameter_and_pays() {
    let (world, [usdt0, ..]) = (World::start().await, Token::ALL);
    let (buyer, url) = (buyer(&world), world.service.url("/price"));
    let card = buyer.quote("GET", &url, &[]).await.card();
    assert!(card.missing.iter().eq(["token"]), "{:?}", card.missing);

    let before = world.balances(usdt0).await;
    let option = card.signers_choice();
    assert_eq!(
        (&option["scheme"], &option["amount"]),
        (&json!("exact"), &json!("2000"))
    );
    // Without its parameters the call is refused, and the payment is not used.
    let forgotten = buyer.pay(&card, &option, &[]).await;
    let Paid::Failed { status } = forgotten else {
        panic!("{forgotten:?}")
    };
    assert_eq!(status, Some(StatusCode::BAD_REQUEST));
    assert_eq!(world.balances(usdt0).await, before);

    // The payment names the resource of the quote, which had no query.
    let receipt = buyer.pay(&card, &option, &TOKEN).await.receipt();
    assert_eq!(receipt["success"], true, "{receipt}");
    let paid = (before.0 - PRICE.amount, before.1 + PRICE.amount);
    assert_eq!(world.balances(usdt0).await, paid);
    world.stop().await;
}

#[tokio::test]
async fn a_quote_with_every_parameter_asks_for_nothing() {
    let world = World::start().await;
    let (buyer, url) = (buyer(&world), world.service.url("/price"));
    let card = buyer.quote("GET", &url, &TOKEN).await.card();
    assert!(card.missing.is_empty(), "{:?}", card.missing);
    buyer
        .pay(&card, &card.signers_choice(), &TOKEN)
        .await
        .receipt();

    // The other way round, the endpoint's method is in the way.
    let swap = world.service.url("/swap");
    assert!(matches!(
        buyer.quote("GET", &swap, &[]).await,
        Quote::OtherMethod
    ));
    let params = [
        ("fromToken", "0x779Ded0c9e1022225f8E0630b35a9b54bE713736"),
        ("toToken", WOKB),
        ("amount", "25.5"),
        (
            "userWalletAddress",
            "0x1f9840a85d5aF5bf1D1762F925BDADdC4201F984",
        ),
    ];
    let card = buyer.quote("POST", &swap, &[]).await.card();
    let asked: Vec<&str> = card.missing.iter().map(String::as_str).collect();
    assert_eq!(
        asked,
        ["amount", "fromToken", "toToken", "userWalletAddress"]
    );
    let [usdt0, ..] = Token::ALL;
    let before = world.balances(usdt0).await;
    buyer
        .pay(&card, &card.signers_choice(), &params)
        .await
        .receipt();
    assert_eq!(world.balances(usdt0).await.1, before.1 + SWAP.amount);
    world.stop().await;
}

/// The card recommends a scheme that only a broker can settle. The model is told to fetch the
/// challenge anew and to sign anew. One buyer stores the body of the refusal as if it were the
/// answer, so the body says that it is none.
#[tokio::test]
async fn a_refused_scheme_says_that_nothing_was_charged_and_the_next_one_pays() {
    let (world, [usdt0, ..]) = (World::start().await, Token::ALL);
    let (buyer, url) = (buyer(&world), world.service.url("/price"));
    let before = world.balances(usdt0).await;
    let card = buyer.quote("GET", &url, &TOKEN).await.card();
    let recommended = card.recommended();
    assert_eq!(recommended["scheme"], "aggr_deferred");
    let pending = buyer.pay(&card, &recommended, &TOKEN).await;
    let Paid::Pending { body } = pending else {
        panic!("{pending:?}")
    };
    let body: Value = serde_json::from_str(&body).unwrap();
    let error = body["error"].as_str().unwrap();
    assert!(error.starts_with("Nothing was charged"), "{error}");
    assert_eq!(body["refusal"]["charged"], false);
    assert_eq!(world.balances(usdt0).await, before);

    let card = buyer.quote("GET", &url, &TOKEN).await.card();
    buyer
        .pay(&card, &card.signers_choice(), &TOKEN)
        .await
        .receipt();
    assert_eq!(world.balances(usdt0).await.1, before.1 + PRICE.amount);
    world.stop().await;
}

#[tokio::test]
async fn a_marketplace_task_checks_and_pays_without_a_resource() {
    let (world, [usdt0, ..]) = (World::start().await, Token::ALL);
    let (buyer, token) = (buyer(&world), usdt0.address.to_string());
    let bare = world.service.url("/price");
    let option = buyer.check(&bare, &token, PRICE.amount).await;
    let option = option.expect("the listed price in the challenge");
    assert_eq!(option["scheme"], "exact");
    let other = U256::from(2_002);
    assert_eq!(buyer.check(&bare, &token, other).await, None);

    let before = world.balances(usdt0).await;
    let receipt = buyer
        .pay_task(&world.service.url(PRICE.path), &option)
        .await;
    assert!(
        receipt.receipt()["transaction"]
            .as_str()
            .unwrap()
            .starts_with("0x")
    );
    assert_eq!(world.balances(usdt0).await.1, before.1 + PRICE.amount);
    world.stop().await;
}

#[tokio::test]
async fn the_newer_tool_asks_for_what_is_missing_and_for_nothing_else() {
    let world = World::start().await;
    let buyer = buyer(&world);
    let url = |path: &str| world.service.url(path);
    let asked = buyer.asked_for(&url("/price"), &[]).await;
    assert!(asked.iter().eq(["token"]), "{asked:?}");
    for (path, given) in [("/price", &TOKEN[..]), ("/all-tokens", &[])] {
        let asked = buyer.asked_for(&url(path), given).await;
        assert!(asked.is_empty(), "{path}: {asked:?}");
    }
    assert_eq!(
        buyer.verified_method(&url("/price")).await,
        Some(Method::GET)
    );
    assert_eq!(
        buyer.verified_method(&url("/swap")).await,
        Some(Method::POST)
    );
    world.stop().await;
}

/// A service behind a broker that settles `aggr_deferred`.
async fn behind(broker: &Facilitator, world: &World, upstream: &ReplayServer) -> ApiServer {
    ApiServer::start(&ApiServerConfig {
        rpc_url: world.chain.rpc().url().to_owned(),
        facilitator_url: Some(broker.url.clone()),
        okx_url: upstream.base_url("web3.okx.com"),
        defillama_url: None,
        more: String::new(),
        payment: String::new(),
    })
    .await
    .unwrap()
}

/// The wallet of that scheme signs no end. A refusal makes its model try again, with a new nonce.
#[tokio::test]
async fn the_recommended_scheme_pays_where_a_broker_settles_it() {
    let world = World::start().await;
    let upstream = ReplayServer::start(Recordings::embedded().unwrap());
    let upstream = upstream.await.unwrap();
    let down = Say::Json(503, "{}".to_owned());
    let broker = Facilitator::start(vec![down, valid()], vec![success("")]).await;
    broker.list_deferred();
    let service = behind(&broker, &world, &upstream).await;
    let buyer = buyer(&world);
    let card: Card = buyer.quote("GET", &service.url("/price"), &[]).await.card();
    let option = card.recommended();
    assert_eq!(option["scheme"], "aggr_deferred");
    let refused = buyer.pay(&card, &option, &TOKEN).await;
    let Paid::Failed { status } = refused else {
        panic!("{refused:?}")
    };
    assert_eq!(status, Some(StatusCode::SERVICE_UNAVAILABLE));
    let receipt = buyer.pay(&card, &option, &TOKEN).await.receipt();
    assert_eq!(receipt["success"], true, "{receipt}");

    let settled = broker.settled();
    assert_eq!(settled.len(), 1, "{settled:#?}");
    let body: Value = serde_json::from_str(&settled[0]).unwrap();
    let payment = &body["paymentPayload"];
    let authorization = &payment["payload"]["authorization"];
    assert_eq!(authorization["validBefore"], U256::MAX.to_string());
    assert!(payment["accepted"]["extra"]["sessionCert"].is_string());
    let verified = broker.verified();
    let nonce = |body: &String| {
        let body: Value = serde_json::from_str(body).unwrap();
        body["paymentPayload"]["payload"]["authorization"]["nonce"].clone()
    };
    assert_ne!(nonce(&verified[0]), nonce(&verified[1]));
    service.terminate().await.ok();
    world.stop().await;
}
