//! Tests of transactions that must be sent and have no gas: a mint, and the clearing of an
//! allowance.

use std::time::Duration;

use alloy_primitives::U256;
use dev_chain::{DevChain, GAS_PAYER, arbitrum, base, xlayer};
use gas_funding::Funder;
use test_support::{eventually_every, pass};
use wallet_actions::{Action, Intent, State, WithdrawOrder};

use crate::bridges::bridge;
use crate::stage::{Process, World, balance, move_tokens, order, owner, steps, wallet};
use crate::swaps::swap;

/// A base fee at which the wallet's coins pay for no transaction.
const DEAR: u64 = 100_000_000_000_000;
/// The usual base fee of the chains.
const USUAL: u64 = 20_000_000;

fn give(world: &World) {
    let from = owner().address();
    move_tokens(&world.base, base::USDC, from, wallet(), 100_000_000);
    move_tokens(&world.xlayer, xlayer::USDG, from, wallet(), 10_000_000);
}

async fn begin(process: &Process, action: Action) -> Intent {
    Box::pin(process.actions.begin(&order(1, action)))
        .await
        .unwrap()
}

/// Checks that another action of the wallet begins and ends while the intent waits for gas.
async fn others_go_on(process: &Process, waits: &Intent, reason: &str) {
    assert_eq!((waits.state, waits.ended_at), (State::Following, None));
    let withdraw = Action::Withdraw(WithdrawOrder {
        chain_id: 196,
        token: xlayer::USDG,
        amount: None,
    });
    let other = process.run(order(2, withdraw)).await.unwrap();
    assert_eq!(other.state, State::Completed, "{other:#?}");
    // The intent still waits, and its record says why.
    pass(Duration::from_secs(1_000)).await;
    let waits = process.actions.find(&waits.id).await.unwrap().unwrap();
    assert_eq!(waits.state, State::Following);
    assert_eq!(waits.held.map(|held| held.reason).as_deref(), Some(reason));
}

async fn waits_for_gas(process: &Process, begun: &Intent) -> Intent {
    process.until(begun, |intent| intent.held.is_some()).await
}

#[tokio::test(start_paused = true)]
async fn a_mint_without_gas_does_not_keep_the_wallet() {
    let world = World::new();
    give(&world);
    let process = world.process();
    let begun = begin(&process, bridge("25", Some(owner().address()))).await;
    world.arbitrum.set_base_fee(DEAR);
    let waits = waits_for_gas(&process, &begun).await;
    assert_eq!(
        steps(&waits)[2..],
        ["call success", "mint planned", "transfer planned"]
    );
    others_go_on(&process, &waits, "no_gas_account").await;
    world.arbitrum.set_base_fee(USUAL);
    let done = process.end(&begun).await;
    assert_eq!(
        (done.state, done.held.clone()),
        (State::Completed, None),
        "{:#?}",
        done.steps
    );
    let to = owner().address();
    assert_eq!(balance(&world.arbitrum, arbitrum::USDC, to), 25_000_000);
}

/// The gas account sends nothing, because no block includes its transactions at this base fee.
#[tokio::test(start_paused = true)]
async fn a_mint_whose_coins_never_come_does_not_keep_the_wallet() {
    let world = World::new();
    give(&world);
    *world.funder.lock().unwrap() = Some(Funder {
        account: GAS_PAYER.address,
        most_wei: U256::MAX,
        of_owner: u64::MAX,
        of_all: u64::MAX,
        of_chain_wei: U256::MAX,
    });
    *world.paid.lock().unwrap() = u64::MAX;
    *world.prices.lock().unwrap() = Some(1);
    world.arbitrum.set_base_fee(DEAR);
    let process = world.process();
    let begun = begin(&process, bridge("25", None)).await;
    let waits = waits_for_gas(&process, &begun).await;
    others_go_on(&process, &waits, "gas_topup_pending").await;
    assert_eq!(world.book.all().len(), 1);
    world.arbitrum.set_base_fee(USUAL);
    assert_eq!(process.end(&begun).await.state, State::Completed);
}

fn allowance(chain: &DevChain) -> U256 {
    chain
        .allowance(base::USDC, wallet(), base::EXCHANGE)
        .unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_clearing_without_gas_does_not_keep_the_wallet_and_comes_with_the_coins() {
    let world = World::new();
    give(&world);
    let process = world.process();
    let begun = begin(&process, swap("25", "1")).await;
    let open = async || (!allowance(&world.base).is_zero()).then_some(());
    eventually_every(Duration::from_millis(50), "the approval", open).await;
    world.base.set_base_fee(DEAR);
    let waits = waits_for_gas(&process, &begun).await;
    assert_eq!(
        steps(&waits)[1..],
        ["approve success", "call skipped", "clear planned"]
    );
    others_go_on(&process, &waits, "no_gas_account").await;
    assert_eq!(allowance(&world.base), U256::from(25_000_000));
    // Another action with the same token and spender replaces the allowance. Neither action
    // disturbs the other.
    world.base.set_base_fee(USUAL);
    let next = process.run(order(3, swap("10", "1"))).await.unwrap();
    assert_eq!(next.state, State::Completed, "{next:#?}");
    let done = process.end(&begun).await;
    assert_eq!(
        (done.state, done.halted.as_deref(), done.held.clone()),
        (State::Failed, Some("no_gas_account"), None)
    );
    assert_eq!(steps(&done)[3], "clear success");
    assert_eq!(allowance(&world.base), U256::ZERO);
}
