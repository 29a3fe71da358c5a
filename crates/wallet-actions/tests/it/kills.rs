//! Tests of a process that ends before or after each of its effects, and of the next process, which
//! continues. An effect is a write or the sending of a transaction.

use dev_chain::{arbitrum, base, xlayer};
use test_support::Fuse;
use wallet_actions::{Action, Intent, State};

use crate::bridges::bridge;
use crate::deposits::vault;
use crate::funds::invest;
use crate::stage::{World, balance, move_tokens, order, owner, wallet};
use crate::swaps::swap;

/// The wallet's balances that a test compares.
pub(crate) fn worth(world: &World) -> [u64; 6] {
    [
        balance(&world.xlayer, xlayer::USDG, wallet()),
        balance(&world.xlayer, xlayer::A_USDG, wallet()),
        balance(&world.xlayer, xlayer::STATA_USDG, wallet()),
        balance(&world.base, base::USDC, wallet()),
        balance(&world.base, base::WETH, wallet()),
        balance(&world.arbitrum, arbitrum::USDC, wallet()),
    ]
}

pub(crate) fn stage() -> World {
    let world = World::new();
    let from = owner().address();
    move_tokens(&world.xlayer, xlayer::USDG, from, wallet(), 100_000_000);
    move_tokens(&world.base, base::USDC, from, wallet(), 100_000_000);
    world
}

/// Runs an action in a process that ends at its effect number `effects`, and then again with the
/// same payment in the next process. Returns the intent of the first process, if that process has
/// finished by itself.
async fn killed(action: &Action, effects: i64, after: bool) -> (World, Option<Intent>) {
    let world = stage();
    let fuse = Fuse::new(effects, after);
    let process = world.process_until(fuse.clone());
    let first = tokio::select! {
        ended = process.run(order(1, action.clone())) => Some(ended.unwrap()),
        () = fuse.died.notified() => None,
    };
    fuse.blow();
    drop(process);
    if let Some(ended) = first {
        return (world, Some(ended));
    }
    let next = world.process();
    let ended = next.run_when_free(order(1, action.clone())).await;
    assert_eq!(
        ended.state,
        State::Completed,
        "{effects} {after}: {ended:#?}"
    );
    (world, None)
}

/// Checks that the action happens once and as a whole, at whichever effect the process ends.
async fn at_every_effect(action: Action) {
    let (world, ended) = killed(&action, i64::MAX, false).await;
    assert_eq!(ended.unwrap().state, State::Completed);
    let mut expected = worth(&world);
    let mut effects = 0;
    loop {
        let mut came_to_its_end = false;
        for after in [false, true] {
            let (world, ended) = killed(&action, effects, after).await;
            let observed = worth(&world);
            // Interest accrues while no process runs.
            expected[1] = observed[1].clamp(expected[1], expected[1] + 1_000);
            assert_eq!(observed, expected, "{effects} {after}");
            came_to_its_end |= ended.is_some();
        }
        if came_to_its_end {
            break;
        }
        effects += 1;
    }
    assert!(effects > 8, "{effects}");
}

#[tokio::test(start_paused = true)]
async fn a_deposit_into_a_market_happens_once() {
    at_every_effect(invest("10")).await;
}

#[tokio::test(start_paused = true)]
async fn a_deposit_into_a_vault_happens_once() {
    at_every_effect(vault("10")).await;
}

#[tokio::test(start_paused = true)]
async fn a_swap_happens_once() {
    at_every_effect(swap("10", "1")).await;
}

#[tokio::test(start_paused = true)]
async fn a_bridge_happens_once() {
    at_every_effect(bridge("10", None)).await;
}
