//! Runs the example `pay` against a real server.

#[path = "../../examples/pay.rs"]
#[allow(dead_code, reason = "the example has a main function")]
mod pay;

use crate::support::World;
use dev_chain::BUYER;
use x402_wire::buyer::PaymentOutcome;

#[tokio::test]
async fn the_example_pays() {
    let world = World::onchain().await;
    let url = format!("http://{}{}", world.address, world.price());
    let signer = BUYER.key.to_string().parse().unwrap();
    let (response, outcome) = pay::pay(&url, &signer).await.unwrap();
    assert_eq!(response.status(), 200);
    assert!(
        matches!(outcome, Some(PaymentOutcome::Settled { .. })),
        "{outcome:?}"
    );
    assert_eq!(world.paid(), 2000);
}
