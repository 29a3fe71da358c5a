//! Runs the samples of `docs/PAYING.md`, as the page prints them, against a running service.

use judges::{Account, Token, run};
use tokio::process::Command;

use crate::world::World;

const PAYING: &str = include_str!("../../../../docs/PAYING.md");
/// The address at which the samples expect the demo.
const DEMO: &str = "http://127.0.0.1:8402";

/// The code blocks of a language that make a payment.
fn samples(language: &str) -> Vec<&'static str> {
    let fence = format!("```{language}\n");
    let blocks = PAYING.split(fence.as_str()).skip(1);
    let blocks = blocks.map(|rest| rest.split("\n```").next().unwrap());
    blocks.filter(|block| block.contains("BUYER_KEY")).collect()
}

/// Runs a sample and asserts that it has paid once in the first asset.
async fn check(world: &World, mut interpreter: Command, sample: &str, printed: &[&str]) {
    let [first, ..] = Token::ALL;
    let before = world.balances(first).await;
    interpreter.env("BUYER_KEY", Account::BUYER.private_key);
    assert!(sample.contains(DEMO), "{sample}");
    let sample = sample.replace(DEMO, &world.service.url(""));
    let output = run(interpreter, sample.as_bytes()).await.unwrap();
    for part in printed {
        assert!(output.contains(part), "{part}: {output}");
    }
    let (buyer, payee) = world.balances(first).await;
    assert!(buyer < before.0 && payee > before.1, "{output}");
}

#[tokio::test]
async fn the_javascript_sample_pays() {
    let world = World::start().await;
    let [sample] = samples("js")[..] else {
        panic!("the page has another number of samples")
    };
    let printed = ["200 118.42", "success: true"];
    check(&world, world.toolchain.node_input(), sample, &printed).await;
    world.stop().await;
}

#[tokio::test]
async fn the_python_samples_pay() {
    let world = World::start().await;
    let [requests, httpx] = samples("python")[..] else {
        panic!("the page has another number of samples")
    };
    let python = || world.toolchain.python_x402_input();
    check(&world, python(), requests, &["200 118.42", "0x"]).await;
    check(&world, python(), httpx, &["200 6"]).await;
    world.stop().await;
}
