//! Tests of seeded schedules: actions of every kind, processes that end and start, nodes that fail,
//! and blocks that are removed.
//!
//! `WALLET_SCHEDULES` sets the number of schedules, and `WALLET_FIRST_SEED` the first seed.

use std::sync::atomic::Ordering;
use std::time::Duration;

use dev_chain::{Fate, arbitrum, base, xlayer};
use rand::rngs::StdRng;
use rand::{Rng as _, SeedableRng as _};
use test_support::{Fuse, pass};
use wallet_actions::{Action, Refused, Size, State, WithdrawOrder};

use crate::bridges::bridge;
use crate::deposits::{divest, vault};
use crate::funds::invest;
use crate::stage::{World, balance, move_tokens, order, owner, wallet};
use crate::swaps::swap;

fn number(name: &str, default: u64) -> u64 {
    let set = std::env::var(name).ok();
    set.map_or(default, |text| text.parse().unwrap())
}

fn action(random: &mut StdRng) -> Action {
    let amount = format!(
        "{}.{}",
        random.random_range(1..6),
        random.random_range(0..10)
    );
    match random.random_range(0..7) {
        0 => swap(&amount, "1"),
        1 => bridge(&amount, random.random_bool(0.5).then(|| owner().address())),
        2 => invest(&amount),
        3 => vault(&amount),
        4 => divest("aave-usdg", Size::Ratio("0.5".to_owned())),
        5 => divest("stata-usdg", Size::Ratio("1".to_owned())),
        _ => Action::Withdraw(WithdrawOrder {
            chain_id: 196,
            token: xlayer::USDG,
            amount: Some(amount),
        }),
    }
}

/// Returns what the owner and its wallet hold, in millionths of a dollar: USDG with its deposits,
/// and USDC on both chains with its swaps.
fn wealth(world: &World) -> (u64, u64) {
    let mut usdg = 0;
    let mut usdc = 0;
    for account in [wallet(), owner().address()] {
        usdg += balance(&world.xlayer, xlayer::USDG, account);
        usdg += balance(&world.xlayer, xlayer::A_USDG, account);
        usdg += balance(&world.xlayer, xlayer::STATA_USDG, account) * 105 / 100;
        usdc += balance(&world.base, base::USDC, account);
        usdc += balance(&world.base, base::WETH, account) / 400_000_000;
        usdc += balance(&world.arbitrum, arbitrum::USDC, account);
    }
    (usdg, usdc)
}

async fn run(seed: u64) {
    let mut random = StdRng::seed_from_u64(seed);
    let world = World::new();
    let from = owner().address();
    move_tokens(&world.xlayer, xlayer::USDG, from, wallet(), 50_000_000);
    move_tokens(&world.base, base::USDC, from, wallet(), 50_000_000);
    let before = wealth(&world);
    let mut process = world.process();
    let mut bought = Vec::new();
    for payment in 1..=random.random_range(2..5_u8) {
        let asked = order(payment, action(&mut random));
        let mut refusal = None;
        // The caller repeats the request until it gets the outcome.
        for _ in 0..60 {
            if random.random_bool(0.3) {
                let fuse = Fuse::new(random.random_range(0..12), random.random_bool(0.5));
                process.fuse.blow();
                process = world.process_until(fuse);
            }
            let asking = process.actions.begin(&asked);
            let begun = tokio::time::timeout(Duration::from_secs(20), Box::pin(asking)).await;
            match begun {
                Ok(Ok(intent)) => {
                    refusal = None;
                    if intent.state.is_over() {
                        break;
                    }
                }
                Ok(Err(Refused::Busy(_) | Refused::Unavailable { .. })) => {}
                Ok(Err(refused)) => {
                    refusal = Some(refused);
                    break;
                }
                Err(_) => {}
            }
            match random.random_range(0..12) {
                0 => world.up.store(false, Ordering::SeqCst),
                1 | 2 => {
                    let depth = random.random_range(1..3);
                    let fate = [Fate::Waiting, Fate::Dropped][random.random_range(0..2)];
                    for chain in [&world.xlayer, &world.base] {
                        chain.reorganise(depth, fate);
                    }
                }
                3 => world.iris.pend_first(2),
                _ => world.up.store(true, Ordering::SeqCst),
            }
            pass(Duration::from_millis(random.random_range(100..4_000))).await;
            if process.fuse.is_dead() {
                process = world.process();
            }
        }
        bought.push((asked, refusal));
    }
    world.up.store(true, Ordering::SeqCst);
    process.fuse.blow();
    let process = world.process();
    for intent in world.store.all() {
        process.end(&intent).await;
    }
    // After the end, the sender sends again the transactions that a reorganisation removed.
    pass(Duration::from_secs(120)).await;
    for intent in world.store.all() {
        let said = format!("seed {seed}: {intent:#?}");
        assert!(intent.state.is_over(), "{said}");
        let is_whole = intent.halted.is_none();
        assert!(is_whole || intent.state != State::Completed, "{said}");
        assert!(
            intent.has_effect() || intent.state != State::Completed,
            "{said}"
        );
        // The chain has no allowance left.
        if let Some(allowance) = intent.allowance {
            let chain = if allowance.chain_id == 196 {
                &world.xlayer
            } else {
                &world.base
            };
            let left = chain
                .allowance(allowance.token, intent.wallet, allowance.spender)
                .unwrap();
            assert!(left.is_zero(), "{said}");
        }
    }
    // A payment has at most one intent with an effect. A refused payment has none.
    for (asked, refusal) in bought {
        let all = world.store.all();
        let of: Vec<_> = all
            .iter()
            .filter(|it| it.payment == asked.payment && it.has_effect())
            .collect();
        assert!(of.len() <= 1, "seed {seed}: {of:#?}");
        assert!(
            refusal.is_none() || of.is_empty(),
            "seed {seed}: {refusal:?} {of:#?}"
        );
    }
    // Nothing is lost. The total changes only by interest and by roundings of a few millionths.
    let after = wealth(&world);
    for (before, after) in [(before.0, after.0), (before.1, after.1)] {
        assert!(
            after + 40 >= before && after <= before + 20_000,
            "seed {seed}: {before} {after}"
        );
    }
}

#[test]
fn nothing_happens_twice_and_nothing_is_lost() {
    let first = number("WALLET_FIRST_SEED", 1);
    for seed in first..first + number("WALLET_SCHEDULES", 24) {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .start_paused(true)
            .build()
            .unwrap();
        runtime.block_on(Box::pin(run(seed)));
    }
}
