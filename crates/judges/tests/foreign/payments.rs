//! Clients of other projects pay for calls, and the chain confirms the payments.

use judges::{Client, Order, Token, run};
use serde_json::{Value, json};

use crate::world::{APPROVE, PRICE, SWAP, World};

/// Pays for one `GET /price` with each asset.
async fn check_every_asset(client: Client) {
    let world = World::start().await;
    for token in Token::ALL {
        let order = Order::get(world.service.url(PRICE.path)).with_asset(token.address);
        let answer = world
            .check_payment(client, &order, token, PRICE.amount)
            .await;
        assert!(answer["data"]["price_usd"].is_string(), "{answer:#}");
    }
    world.stop().await;
}

#[tokio::test]
async fn x402_fetch_pays_with_every_asset() {
    check_every_asset(Client::Fetch).await;
}

#[tokio::test]
async fn x402_requests_pays_with_every_asset() {
    check_every_asset(Client::Requests).await;
}

#[tokio::test]
async fn x402_httpx_pays_with_every_asset() {
    check_every_asset(Client::Httpx).await;
}

#[tokio::test]
async fn okx_requests_pays_with_every_asset() {
    check_every_asset(Client::OkxRequests).await;
}

#[tokio::test]
async fn okx_httpx_pays_with_every_asset() {
    check_every_asset(Client::OkxHttpx).await;
}

#[tokio::test]
async fn a_client_left_to_itself_pays_with_the_first_asset() {
    let world = World::start().await;
    let [first, ..] = Token::ALL;
    for client in Client::ALL {
        let order = Order::get(world.service.url(PRICE.path));
        world
            .check_payment(client, &order, first, PRICE.amount)
            .await;
    }
    world.stop().await;
}

#[tokio::test]
async fn a_bought_approval_decodes_as_it_says() {
    let world = World::start().await;
    let [usdt0, ..] = Token::ALL;
    let order = Order::get(world.service.url(APPROVE.path)).with_asset(usdt0.address);
    let answer = world
        .check_payment(Client::Fetch, &order, usdt0, APPROVE.amount)
        .await;

    let mut cast = world.toolchain.cast().unwrap();
    cast.args(["decode-calldata", "--json", "approve(address,uint256)"]);
    cast.arg(answer["data"]["data"].as_str().expect("calldata"));
    let decoded: Value = serde_json::from_str(&run(cast, b"").await.unwrap()).unwrap();
    assert_eq!(decoded[0], answer["data"]["spender"], "{decoded}");
    assert_eq!(decoded[1], 25_500_000, "{decoded}");
    assert_eq!(answer["data"]["to"], json!(usdt0.address.to_string()));
    world.stop().await;
}

#[tokio::test]
async fn a_swap_is_paid_for_with_a_post() {
    let world = World::start().await;
    let [.., usdg] = Token::ALL;
    let body = json!({
        "fromToken": "0x779Ded0c9e1022225f8E0630b35a9b54bE713736",
        "toToken": "0xe538905cf8410324e03A5A23C1c177a474D59b2b",
        "amount": "25.5",
        "userWalletAddress": "0x1f9840a85d5aF5bf1D1762F925BDADdC4201F984",
    });
    let order = Order::post(world.service.url(SWAP.path), &body).with_asset(usdg.address);
    let answer = world
        .check_payment(Client::Fetch, &order, usdg, SWAP.amount)
        .await;
    assert_eq!(answer["data"]["broadcast"], false, "{answer:#}");
    assert_eq!(answer["data"]["tx"]["value"], "0", "{answer:#}");
    world.stop().await;
}
