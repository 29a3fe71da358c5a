//! Tests of bridges of USDC from Base to Arbitrum, up to the mint.

use std::time::Duration;

use alloy_primitives::{Address, U256};
use dev_chain::{arbitrum, base};
use test_support::pass;
use wallet_actions::{Action, BridgeOrder, State, WithdrawOrder};

use crate::stage::{World, balance, move_tokens, order, owner, reason, steps, wallet};

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
