//! Tests of swaps on one chain.

use alloy_primitives::U256;
use dev_chain::base;
use wallet_actions::{Action, PlanCause, PlanRefused, State, SwapOrder};

use crate::stage::{World, balance, move_tokens, order, owner, reason, steps, wallet};

pub(crate) fn swap(amount: &str, slippage: &str) -> Action {
    Action::Swap(SwapOrder {
        chain_id: 8453,
        from_token: base::USDC,
        to_token: base::WETH,
        amount: amount.to_owned(),
        slippage_pct: slippage.to_owned(),
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
async fn a_swap_delivers_the_promised_amount_and_leaves_no_allowance() {
    let world = World::new();
    give(&world);
    let process = world.process();
    let done = process.run(order(1, swap("25", "1"))).await.unwrap();
    assert_eq!(done.state, State::Completed, "{done:#?}");
    assert_eq!(
        steps(&done),
        ["approve_reset success", "approve success", "call success"]
    );
    assert_eq!(
        balance(&world.base, base::WETH, wallet()),
        10_000_000_000_000_000
    );
    let left = world
        .base
        .allowance(base::USDC, wallet(), base::EXCHANGE)
        .unwrap();
    assert_eq!(left, U256::ZERO);
}

#[tokio::test(start_paused = true)]
async fn less_than_the_minimum_is_never_completed() {
    let world = World::new();
    give(&world);
    *world.plans.at_least.lock().unwrap() = Some(U256::from(10_000_000_000_000_001_u64));
    let done = world
        .process()
        .run(order(1, swap("25", "1")))
        .await
        .unwrap();
    assert_eq!(done.state, State::Partial);
    assert!(done.has_effect());
}

#[tokio::test(start_paused = true)]
async fn a_swap_that_would_revert_signs_nothing() {
    let world = World::new();
    give(&world);
    *world.plans.asks_for.lock().unwrap() = U256::MAX;
    let refused = world
        .process()
        .run(order(1, swap("25", "1")))
        .await
        .unwrap_err();
    assert_eq!(reason(&refused), "step_would_revert");
    assert!(world.store.all().is_empty());
}

#[tokio::test(start_paused = true)]
async fn the_fault_of_a_swap_is_named() {
    let world = World::new();
    give(&world);
    let process = world.process();
    for slippage in ["0.09", "50.01", "1.001", "abc", ""] {
        let refused = process
            .run(order(1, swap("1", slippage)))
            .await
            .unwrap_err();
        assert_eq!(reason(&refused), "slippage", "{slippage}");
    }
    let mut unsellable = swap("1", "1");
    if let Action::Swap(asked) = &mut unsellable {
        // The policy allows calls of this contract, and no transfer of it as a token.
        asked.to_token = base::EXCHANGE;
    }
    assert!(process.run(order(1, unsellable)).await.is_err());
    *world.plans.refuses.lock().unwrap() = Some(PlanRefused {
        cause: PlanCause::Refused,
        check: "agg_receiver_account_bound".to_owned(),
        message: "another receiver".to_owned(),
        retry_after: None,
    });
    let refused = process.run(order(1, swap("1", "1"))).await.unwrap_err();
    assert_eq!(reason(&refused), "agg_receiver_account_bound");
    let mut late = order(1, swap("1", "1"));
    late.deadline = Some(world.now());
    assert_eq!(reason(&process.run(late).await.unwrap_err()), "deadline");
    assert!(world.store.all().is_empty());
}
