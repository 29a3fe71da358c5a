//! The example that the README shows, run against a real server.

#![allow(
    clippy::unwrap_used,
    dead_code,
    reason = "test code; the example has a main function"
)]

mod support;

#[path = "../examples/pay.rs"]
mod pay;

use dev_chain::BUYER;
use support::World;
use x402_wire::buyer::Outcome;

#[tokio::test]
async fn the_example_pays() {
    let world = World::onchain().await;
    let url = format!("http://{}{}", world.address, world.price());
    let signer = BUYER.key.to_string().parse().unwrap();
    let (response, outcome) = pay::pay(&url, &signer).await.unwrap();
    assert_eq!(response.status(), 200);
    assert!(
        matches!(outcome, Some(Outcome::Settled { .. })),
        "{outcome:?}"
    );
    assert_eq!(world.paid(), 2000);
}
