//! Tests of which payments clients refuse until their user allows them. The documentation for users
//! states these facts.

use alloy_primitives::U256;
use judges::{Client, Order, OrderOutcome, SpendControls, Token};

use crate::world::{PRICE, World};

/// The clients that have spend controls.
const CONTROLLED: [Client; 3] = [Client::Fetch, Client::Requests, Client::Httpx];

#[tokio::test]
async fn clients_as_they_come_refuse_every_asset() {
    let world = World::start().await;
    for client in CONTROLLED {
        let order =
            Order::get(world.service.url(PRICE.path)).with_spend_controls(SpendControls::Default);
        world
            .check_refusal(client, &order, "only default assets")
            .await;
    }
    world.stop().await;
}

#[tokio::test]
async fn an_allowed_asset_is_paid_up_to_its_cap() {
    let world = World::start().await;
    let [usdt0, ..] = Token::ALL;
    let order = Order::get(world.service.url(PRICE.path)).with_asset(usdt0.address);
    for client in CONTROLLED {
        let capped = |amount| {
            order
                .clone()
                .with_spend_controls(SpendControls::AtMost(amount))
        };
        let below = PRICE.amount - U256::from(1);
        world
            .check_refusal(client, &capped(below), "Raise the per-asset cap")
            .await;
        world
            .check_payment(client, &capped(PRICE.amount), usdt0, PRICE.amount)
            .await;
    }
    world.stop().await;
}

impl World {
    /// Asserts that the client refuses with these words after one request, and that no money moves.
    async fn check_refusal(&self, client: Client, order: &Order, words: &str) {
        let before = self.chain.rpc().block_number().await.unwrap();
        match client.pay(&self.toolchain, order).await.unwrap() {
            OrderOutcome::Refused { error, requests: 1 } => {
                assert!(error.contains(words), "{client:?}: {error}");
            }
            outcome => panic!("{client:?}: {outcome:?}"),
        }
        assert_eq!(self.chain.rpc().block_number().await.unwrap(), before);
    }
}
