//! Seeded schedules of everything at once: processes that end, sleep and wake up, reorganisations,
//! lost transactions, revocations, other policies, nodes that are down, and obstacles to the
//! clearing.
//!
//! `FENCE_SCHEDULES` sets the number of schedules, and `FENCE_FIRST_SEED` the first seed.

use std::sync::atomic::Ordering;
use std::time::Duration;

use delegation_fence::ClearObstacle;
use dev_chain::Fate;
use rand::{Rng as _, SeedableRng as _, rngs::StdRng};
use test_support::{Fuse, pass};
use tx_sender::Takeover;

use crate::stage::{Process, World, edited_policy, fence_policy};

/// Seeds that revealed a defect: a plan that halted while the clearing of the plan before it was in
/// no block; one whose call came back after the next plan had approved; one whose step a
/// reorganisation moved after a restart, when no process watched its block.
const FOUND: [u64; 3] = [699, 707, 964];

/// The number of accidents of each kind, over all schedules.
#[derive(Debug, Default)]
struct Seen {
    done: usize,
    halted: usize,
    dirty: usize,
    reorganised: usize,
    woken: usize,
    killed: usize,
}

async fn schedule(seed: u64, seen: &mut Seen) {
    let mut random = StdRng::seed_from_u64(seed);
    let mut world = World::new();
    if random.random_bool(0.3) {
        world.takeover = Takeover::AtOnce;
    }
    let mut plans = vec![world.accept()];
    let mut processes: Vec<Process> = vec![world.process(Fuse::eternal()).await];
    // In some worlds the only accidents are processes that end and start.
    let (calm, revoked_at) = (random.random_bool(0.2), random.random_range(0..120));
    for turn in 0..random.random_range(20..90) {
        pass(Duration::from_millis(random.random_range(20..900))).await;
        if random.random_bool(0.6) {
            world.chain.mine();
        }
        match random.random_range(0..30) {
            0 | 1 if processes.len() < 3 => {
                let fuse = match random.random_bool(0.5) {
                    true => Fuse::new(random.random_range(0..40), random.random_bool(0.5)),
                    false => Fuse::eternal(),
                };
                processes.push(world.process(fuse).await);
            }
            2 if !processes.is_empty() => {
                let gone = processes.swap_remove(random.random_range(0..processes.len()));
                gone.fuse.blow();
                seen.killed += 1;
            }
            3 | 4 => {
                let at = random.random_range(0..processes.len().max(1));
                if let Some(process) = processes.get(at) {
                    process.fuse.sleep_after(random.random_range(1..20));
                }
            }
            5 => {
                for process in &processes {
                    seen.woken += usize::from(process.fuse.is_asleep());
                    process.fuse.wake();
                }
            }
            6 if !calm => {
                let fate = match random.random_bool(0.7) {
                    true => Fate::Waiting,
                    false => Fate::Dropped,
                };
                let depth = random.random_range(1..=3);
                world.chain.reorganise(depth, fate);
                seen.reorganised += 1;
            }
            7 => {
                for hash in world.chain.waiting() {
                    let _ = world.chain.evict(hash);
                }
            }
            8 if !calm && random.random_bool(0.3) => {
                let up = world.node.up.load(Ordering::SeqCst);
                world.node.up.store(!up, Ordering::SeqCst);
            }
            9 if !calm && random.random_bool(0.2) => {
                let other = edited_policy(|document| document["environment"] = "testnet".into());
                world.store.set_policy(Some(other));
            }
            10 => world.store.set_policy(Some(fence_policy())),
            11 if !calm && random.random_bool(0.7) => {
                *world.route.clears.lock().unwrap() = Err(ClearObstacle::Paused);
            }
            12 => *world.route.clears.lock().unwrap() = Ok(()),
            13 if random.random_bool(0.3) => {
                world.chain.forget_sends(1);
            }
            _ => {}
        }
        if turn == revoked_at {
            world.revoke();
        }
        let last = world.state(plans[plans.len() - 1]);
        if last.is_final()
            && plans.len() < 2
            && world.now() < crate::sample::NOW + 25
            && turn < revoked_at
        {
            plans.push(world.accept());
        }
    }
    // Obstacles end, except for some; a process continues; sleepers wake up.
    world.node.up.store(true, Ordering::SeqCst);
    for process in &processes {
        process.fuse.wake();
    }
    if !random.random_bool(0.5) {
        *world.route.clears.lock().unwrap() = Ok(());
    }
    processes.push(world.process(Fuse::eternal()).await);
    for second in 0..400 {
        world.block().await;
        let rests = |state: delegation_fence::State| {
            state.is_final() || state == delegation_fence::State::HaltedDirty
        };
        if second > 80 && plans.iter().all(|plan| rests(world.state(*plan))) {
            break;
        }
    }
    world.judge(&plans, &format!("seed {seed}"));
    for plan in plans {
        match world.state(plan) {
            delegation_fence::State::Done => seen.done += 1,
            delegation_fence::State::HaltedDirty => seen.dirty += 1,
            _ => seen.halted += 1,
        }
    }
}

#[tokio::test(start_paused = true)]
async fn one_order_is_one_call_and_no_allowance_is_left_unreported_in_any_schedule() {
    let number =
        |name: &str, usual| std::env::var(name).map_or(usual, |text| text.parse().unwrap());
    let (count, first) = (number("FENCE_SCHEDULES", 48), number("FENCE_FIRST_SEED", 1));
    let mut seen = Seen::default();
    for seed in FOUND.into_iter().chain(first..first + count) {
        println!("seed {seed}");
        schedule(seed, &mut seen).await;
    }
    println!("{count} schedules: {seen:?}");
    // Schedules without accidents would prove nothing.
    if count >= 48 {
        assert!(
            seen.done > 0 && seen.halted > 0 && seen.dirty > 0,
            "{seen:?}"
        );
        assert!(
            seen.reorganised > 0 && seen.woken > 0 && seen.killed > 0,
            "{seen:?}"
        );
    }
}
