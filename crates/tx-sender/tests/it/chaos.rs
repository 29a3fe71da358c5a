//! Tests with random schedules of all faults, one after the other and all together. A seed repeats
//! a schedule.

use std::time::Duration;

use alloy_primitives::U256;
use dev_chain::{BadAnswer, Fate, InjectedFault};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use test_support::{Fuse, pass};
use tx_sender::Sender;

use crate::kills::process;
use crate::support::{BASE_FEE, CAP, World, name, recipient, submit};

/// How many schedules an ordinary run has. `TX_SENDER_SCHEDULES` and `TX_SENDER_FIRST_SEED` set
/// others.
const SCHEDULES: u64 = 40;

/// How many of these schedules also run on records in a file.
const ON_FILE: u64 = 6;

const KEYS: u64 = 8;

fn number(variable: &str, usual: u64) -> u64 {
    let set = std::env::var(variable).ok();
    set.and_then(|text| text.parse().ok()).unwrap_or(usual)
}

#[tokio::test(start_paused = true)]
async fn no_schedule_makes_a_key_take_effect_twice() {
    let first = number("TX_SENDER_FIRST_SEED", 0);
    for seed in first..first + number("TX_SENDER_SCHEDULES", SCHEDULES) {
        schedule(seed, World::new()).await;
    }
}

#[tokio::test(start_paused = true)]
async fn no_schedule_makes_a_key_take_effect_twice_on_a_file() {
    let first = number("TX_SENDER_FIRST_SEED", 0);
    for seed in first..first + number("TX_SENDER_SCHEDULES", ON_FILE) {
        schedule(seed, World::with_file()).await;
    }
}

async fn schedule(seed: u64, world: World) {
    let mut rng = StdRng::seed_from_u64(seed);
    let mut processes: Vec<Sender> = Vec::new();
    let mut submitted = 0;
    for _ in 0..rng.random_range(20..60) {
        if processes.is_empty() || rng.random_ratio(1, 12) {
            let fuse = Fuse::new(rng.random_range(1..60), rng.random());
            processes.push(process(&world, &fuse).await);
            if processes.len() > 2 {
                processes.remove(0);
            }
        }
        if submitted < KEYS && rng.random_ratio(1, 3) {
            submitted += 1;
        }
        let sender = processes[rng.random_range(0..processes.len())].clone();
        // A caller can rely only on the answers that it got. It asks again for the rest.
        let numbers: Vec<u64> = (1..=submitted).filter(|_| rng.random_ratio(1, 3)).collect();
        let cancelled = rng.random_ratio(1, 15).then(|| rng.random_range(1..=KEYS));
        let asking = async {
            for number in numbers {
                submit(&sender, number).await;
            }
            if let Some(number) = cancelled {
                let _ = sender.cancel(&name(number)).await;
            }
        };
        let _ = tokio::time::timeout(Duration::from_millis(50), asking).await;
        trouble(&world, &mut rng);
        pass(Duration::from_millis(rng.random_range(50..2500))).await;
        if rng.random_ratio(2, 3) {
            world.chain.mine();
        }
        effects_are_single(&world, seed);
    }

    // All faults are over, and one process continues alone.
    processes.clear();
    world.chain.clear_faults();
    world.chain.forget_sends(0);
    world.chain.delay_receipts(0);
    world.chain.set_base_fee(BASE_FEE);
    pass(Duration::from_secs(40)).await;
    let sender = process(&world, &Fuse::new(i64::MAX, false)).await;
    for number in 1..=KEYS {
        submit(&sender, number).await;
    }
    world.blocks(90).await;
    effects_are_single(&world, seed);
    assert_eq!(world.hold(&sender), None, "seed {seed}");
    for number in 1..=KEYS {
        let record = world.record(&name(number)).await;
        assert!(record.state.is_outcome(), "seed {seed}: {record:?}");
        let sealed = record.state.as_str() == "sealed";
        let expected = U256::from(u64::from(sealed));
        assert_eq!(world.effect(number), expected, "seed {seed}: {record:?}");
        if record.closing.is_none() {
            let ends = ["sealed", "replaced"];
            assert!(
                ends.contains(&record.state.as_str()),
                "seed {seed}: {record:?}"
            );
        }
    }
}

fn trouble(world: &World, rng: &mut StdRng) {
    let chain = &world.chain;
    let fate = if rng.random() {
        Fate::Dropped
    } else {
        Fate::Waiting
    };
    match rng.random_range(0..16) {
        0 => chain.reorganise(rng.random_range(1..=5), fate),
        1 => chain.preconfirm(),
        2 => chain.drop_preconfirmed(fate),
        3 => chain.forget_sends(rng.random_range(1..4)),
        4 => {
            for hash in chain.waiting() {
                if rng.random() {
                    let _ = chain.evict(hash);
                }
            }
        }
        5 => chain.set_base_fee(BASE_FEE * 5),
        6 => chain.set_base_fee(u64::try_from(CAP).unwrap() * 3),
        7 | 8 => chain.set_base_fee(BASE_FEE),
        9 => chain.delay_receipts(rng.random_range(0..30)),
        10 => {
            let methods = [
                "eth_sendRawTransaction",
                "eth_getTransactionReceipt",
                "eth_getBlockByNumber",
                "eth_getTransactionCount",
                "eth_getBalance",
            ];
            let method = methods[rng.random_range(0..methods.len())];
            let words = [
                "nonce too low",
                "already known",
                "replacement transaction underpriced",
                "insufficient funds for gas * price + value",
                "header not found",
                "internal error",
            ];
            let answer = match rng.random_range(0..3) {
                0 => BadAnswer::Close,
                1 => BadAnswer::Never,
                _ => BadAnswer::Error {
                    code: -32000,
                    message: words[rng.random_range(0..words.len())].to_owned(),
                },
            };
            let fault = InjectedFault::new(method, answer).times(rng.random_range(1..6));
            chain.inject(if rng.random() { fault.after() } else { fault });
        }
        _ => {}
    }
}

fn effects_are_single(world: &World, seed: u64) {
    for number in 1..=KEYS {
        assert!(
            world.effect(number) <= U256::from(1),
            "seed {seed}, key {number}"
        );
        let carried = world.chain.transactions();
        let carried = carried
            .iter()
            .filter(|sent| sent.to == Some(recipient(number)) && sent.success);
        assert!(carried.count() <= 1, "seed {seed}, key {number}");
    }
}
