//! Runs the example `pay` against a real server, and compares it with `docs/PAYING.md`.

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
    let client = test_support::http_client();
    let (response, outcome) = pay::pay(&client, &url, &signer).await.unwrap();
    assert_eq!(response.status(), 200);
    assert!(
        matches!(outcome, Some(PaymentOutcome::Settled { .. })),
        "{outcome:?}"
    );
    assert_eq!(world.paid(), 2000);
}

/// The page shows the middle of a function, without its indentation.
#[test]
fn the_page_of_clients_shows_a_part_of_the_example() {
    let page = include_str!("../../../../docs/PAYING.md");
    let example = include_str!("../../examples/pay.rs");
    let (_, block) = page.split_once("\n```rust\n").unwrap();
    let (block, rest) = block.split_once("\n```\n").unwrap();
    assert!(
        !rest.contains("```rust"),
        "another block that nothing checks"
    );
    let lines = block.lines().map(|line| match line {
        "" => "\n".to_owned(),
        line => format!("    {line}\n"),
    });
    let indented: String = lines.collect();
    assert!(example.contains(&indented), "{indented}");
    for step in [
        "from_header(",
        "choose(",
        "authorize(",
        "sign(",
        "send(",
        "outcome(",
    ] {
        assert!(block.contains(step), "{step}: {block}");
    }
}
