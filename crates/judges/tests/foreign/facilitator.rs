//! The facilitator of the x402 project verifies and settles payments for our service.

use judges::{Account, Client, Order, Token, Toolchain, start};
use serde_json::{Value, json};

use crate::world::{PRICE, World};

#[tokio::test]
async fn a_foreign_facilitator_settles_every_asset() {
    let toolchain = Toolchain::from_env().unwrap();
    let world = World::start_with(async |chain| {
        let order = json!({
            "rpc_url": chain.rpc().url(),
            "private_key": Account::SETTLER.private_key,
        });
        let command = toolchain.python_x402("facilitator.py");
        let (process, url) = start(command, format!("{order}\n").as_bytes(), |line| {
            let ready: Value = serde_json::from_str(line).ok()?;
            ready["url"].as_str().map(str::to_owned)
        })
        .await
        .unwrap();
        Some((process, url))
    })
    .await;
    for token in Token::ALL {
        let order = Order::get(world.service.url(PRICE.path)).with_asset(token.address);
        world
            .check_payment(Client::Fetch, &order, token, PRICE.amount)
            .await;
    }
    world.stop().await;
}
