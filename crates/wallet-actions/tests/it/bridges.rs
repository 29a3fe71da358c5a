//! Tests of bridges of USDC from Base to Arbitrum, up to the mint.

use std::time::Duration;

use alloy_primitives::{Address, B256, U256};
use alloy_sol_types::sol;
use dev_chain::cctp::MESSAGE_TRANSMITTER;
use dev_chain::{arbitrum, base};
use serde_json::Value;
use test_support::pass;
use wallet_actions::{Action, BridgeOrder, Intent, State, StepKind, WithdrawOrder};

use crate::stage::{Process, World, balance, move_tokens, order, owner, reason, steps, wallet};

sol! {
    function receiveMessage(bytes message, bytes attestation) external returns (bool);
}

pub(crate) fn bridge(amount: &str, recipient: Option<Address>) -> Action {
    Action::Bridge(BridgeOrder {
        from_chain: 8453,
        to_chain: 42_161,
        token: base::USDC,
        amount: amount.to_owned(),
        recipient,
    })
}

fn give(world: &World) {
    move_tokens(
        &world.base,
        base::USDC,
        owner().address(),
        wallet(),
        100_000_000,
    );
}

#[tokio::test(start_paused = true)]
async fn a_burn_is_minted_after_its_attestation() {
    let world = World::new();
    give(&world);
    world.iris.miss_first(2);
    world.iris.pend_first(3);
    let process = world.process();
    let done = process.run(order(1, bridge("25", None))).await.unwrap();
    assert_eq!(done.state, State::Completed, "{done:#?}");
    assert_eq!(steps(&done)[2..], ["call success", "mint success"]);
    assert_eq!(balance(&world.base, base::USDC, wallet()), 75_000_000);
    assert_eq!(
        balance(&world.arbitrum, arbitrum::USDC, wallet()),
        25_000_000
    );
}

#[tokio::test(start_paused = true)]
async fn a_minted_amount_goes_on_to_the_owner_and_to_no_other_account() {
    let world = World::new();
    give(&world);
    let process = world.process();
    let other = Address::repeat_byte(0xaa);
    let refused = process
        .run(order(1, bridge("25", Some(other))))
        .await
        .unwrap_err();
    assert_eq!(reason(&refused), "recipient");
    let done = process
        .run(order(1, bridge("25", Some(owner().address()))))
        .await
        .unwrap();
    assert_eq!(done.state, State::Completed, "{done:#?}");
    assert_eq!(steps(&done).last().unwrap(), "transfer success");
    assert_eq!(
        balance(&world.arbitrum, arbitrum::USDC, owner().address()),
        25_000_000
    );
    assert_eq!(balance(&world.arbitrum, arbitrum::USDC, wallet()), 0);
}

#[tokio::test(start_paused = true)]
async fn the_wallet_acts_while_a_mint_is_missing() {
    let world = World::new();
    give(&world);
    world.iris.pend_first(20);
    let process = world.process();
    let begun = Box::pin(process.actions.begin(&order(1, bridge("25", None))))
        .await
        .unwrap();
    let until = tokio::time::Instant::now() + Duration::from_secs(60);
    let waited = process
        .actions
        .wait(&begun.id, until)
        .await
        .unwrap()
        .unwrap();
    assert_eq!(waited.state, State::Following);
    let withdraw = Action::Withdraw(WithdrawOrder {
        chain_id: 8453,
        token: base::USDC,
        amount: None,
    });
    let other = process.run(order(2, withdraw)).await.unwrap();
    assert_eq!(other.state, State::Completed);
    assert_eq!(process.end(&begun).await.state, State::Completed);
}

#[tokio::test(start_paused = true)]
async fn a_message_for_somebody_else_is_not_brought_there() {
    let world = World::new();
    give(&world);
    world.iris.set_recipient(Some(Address::repeat_byte(0xaa)));
    let process = world.process();
    let begun = Box::pin(process.actions.begin(&order(1, bridge("25", None))))
        .await
        .unwrap();
    pass(Duration::from_secs(60)).await;
    let waits = process.actions.find(&begun.id).await.unwrap().unwrap();
    assert_eq!((waits.state, waits.steps.len()), (State::Following, 3));
    world.iris.set_recipient(None);
    world.iris.set_fee_executed(Some(U256::from(1)));
    pass(Duration::from_secs(60)).await;
    let waits = process.actions.find(&begun.id).await.unwrap().unwrap();
    assert_eq!(waits.state, State::Following);
    world.iris.set_fee_executed(None);
    assert_eq!(process.end(&begun).await.state, State::Completed);
    assert_eq!(
        balance(&world.arbitrum, arbitrum::USDC, wallet()),
        25_000_000
    );
}

/// Submits the attested message of a burn from another account. The protocol allows that.
fn mint_as_stranger(world: &World, burn: B256) {
    let path = format!("/v2/messages/{}?transactionHash={burn}", base::DOMAIN);
    let reply = world.iris.answer("GET", &path).unwrap();
    let body: Value = serde_json::from_str(&reply.body).unwrap();
    let bytes = |name: &str| body["messages"][0][name].as_str().unwrap().parse().unwrap();
    let call = receiveMessageCall {
        message: bytes("message"),
        attestation: bytes("attestation"),
    };
    let stranger = Address::repeat_byte(0xaa);
    world
        .arbitrum
        .call_as(stranger, MESSAGE_TRANSMITTER, &call)
        .unwrap();
}

fn burn_of(intent: &Intent) -> B256 {
    let burn = intent.steps.iter().find(|step| step.kind == StepKind::Call);
    burn.unwrap().status.at().unwrap().transaction
}

/// A base fee at which the wallet's coins do not pay for the mint. The wallet then waits after it
/// has checked that no other account has minted.
const DEAR: u64 = 10_000_000_000_000;
const USUAL: u64 = 20_000_000;

async fn until_the_mint_waits(world: &World, process: &Process) -> Intent {
    let asked = order(1, bridge("25", Some(owner().address())));
    let begun = Box::pin(process.actions.begin(&asked)).await.unwrap();
    world.arbitrum.set_base_fee(DEAR);
    let waits = process.until(&begun, |intent| intent.held.is_some());
    let waits = waits.await;
    assert_eq!(
        steps(&waits)[2..],
        ["call success", "mint planned", "transfer planned"]
    );
    waits
}

fn is_forwarded(world: &World, done: &Intent, mint: &str) {
    assert_eq!(done.state, State::Completed, "{done:#?}");
    assert_eq!(steps(done)[2..], ["call success", mint, "transfer success"]);
    assert!(done.bridge.unwrap().minted_by_others);
    let to = owner().address();
    assert_eq!(balance(&world.arbitrum, arbitrum::USDC, to), 25_000_000);
    assert_eq!(balance(&world.arbitrum, arbitrum::USDC, wallet()), 0);
}

#[tokio::test(start_paused = true)]
async fn a_mint_that_another_account_was_first_with_is_forwarded() {
    let world = World::new();
    give(&world);
    let process = world.process();
    let waits = until_the_mint_waits(&world, &process).await;
    mint_as_stranger(&world, burn_of(&waits));
    world.arbitrum.set_base_fee(USUAL);
    let done = process.end(&waits).await;
    is_forwarded(&world, &done, "mint skipped");
}

#[tokio::test(start_paused = true)]
async fn a_signed_mint_that_reverts_behind_the_one_of_another_account_is_forwarded() {
    let world = World::new();
    give(&world);
    let process = world.process();
    let waits = until_the_mint_waits(&world, &process).await;
    world.signs.send_replace(false);
    world.arbitrum.set_base_fee(USUAL);
    let in_flight = |intent: &Intent| steps(intent)[3] == "mint in_flight";
    let waits = process.until(&waits, in_flight).await;
    mint_as_stranger(&world, burn_of(&waits));
    world.signs.send_replace(true);
    let done = process.end(&waits).await;
    is_forwarded(&world, &done, "mint reverted");
}
