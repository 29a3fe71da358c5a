//! Tests of two processes over the same records. Both drive every intent. One of them is killed or
//! suspended at any of its effects.

use std::sync::Arc;
use std::time::Duration;

use dev_chain::DevChain;
use test_support::{Fuse, pass};
use wallet_actions::{Action, State};

use crate::funds::invest;
use crate::kills::{stage, worth};
use crate::stage::{World, order, wallet};
use crate::swaps::swap;

/// The fate of the first process.
#[derive(Debug, Clone, Copy)]
enum Fate {
    DiesBefore(i64),
    DiesAfter(i64),
    /// The process is suspended for longer than its leases.
    SleepsAfter(i64),
}

/// Counts the transactions of the wallet on all chains.
fn sent(world: &World) -> usize {
    let of = |chain: &DevChain| {
        let all = chain.transactions();
        all.iter().filter(|sent| sent.from == wallet()).count()
    };
    [&world.xlayer, &world.base, &world.arbitrum]
        .map(of)
        .iter()
        .sum()
}

/// Orders an action at the first of two processes, which is killed or suspended, and then at the
/// second one. Returns whether the first one had finished before.
async fn beside(action: &Action, fate: Fate) -> (World, bool) {
    let mut world = stage();
    world.servers = true;
    let fuse = match fate {
        Fate::DiesBefore(effects) => Fuse::new(effects, false),
        Fate::DiesAfter(effects) => Fuse::new(effects, true),
        Fate::SleepsAfter(effects) => {
            let fuse = Fuse::eternal();
            fuse.sleep_after(effects);
            fuse
        }
    };
    let first = world.process_until(Arc::clone(&fuse));
    let second = world.process();
    let came_to_its_end = tokio::select! {
        ended = first.run(order(1, action.clone())) => ended.is_ok(),
        () = fuse.died.notified() => false,
        () = fuse.fell_asleep.notified() => false,
    };
    let ended = second.run_when_free(order(1, action.clone())).await;
    assert_eq!(ended.state, State::Completed, "{fate:?}: {ended:#?}");
    let before = sent(&world);
    fuse.wake();
    pass(Duration::from_secs(30)).await;
    // When the process wakes up, it sends and changes nothing.
    assert_eq!(sent(&world), before, "{fate:?}");
    let found = second.actions.find(&ended.id).await.unwrap().unwrap();
    assert_eq!(found.steps, ended.steps, "{fate:?}");
    (world, came_to_its_end)
}

/// Checks that the action happens once and as a whole, whatever happens to the first process.
async fn at_every_effect(action: Action) {
    let (world, ended) = beside(&action, Fate::SleepsAfter(i64::MAX)).await;
    assert!(ended);
    let (mut expected, transactions) = (worth(&world), sent(&world));
    for effects in 0.. {
        let mut all_ended = true;
        for fate in [
            Fate::DiesBefore(effects),
            Fate::DiesAfter(effects),
            Fate::SleepsAfter(effects + 1),
        ] {
            let (world, ended) = beside(&action, fate).await;
            let observed = worth(&world);
            // Interest accrues while no process runs.
            expected[1] = observed[1].clamp(expected[1], expected[1] + 1_000);
            assert_eq!(observed, expected, "{fate:?}");
            assert_eq!(sent(&world), transactions, "{fate:?}");
            all_ended &= ended;
        }
        if all_ended {
            assert!(effects > 8, "{effects}");
            return;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_deposit_beside_another_server_happens_once() {
    at_every_effect(invest("10")).await;
}

#[tokio::test(start_paused = true)]
async fn a_swap_beside_another_server_happens_once() {
    at_every_effect(swap("10", "1")).await;
}

/// Both processes find at the same time that an action is not charged, while their drivers write
/// the same intent.
#[tokio::test(start_paused = true)]
async fn one_of_two_processes_notes_that_an_action_is_not_charged() {
    let mut world = stage();
    world.servers = true;
    let (first, second) = (world.process(), world.process());
    let intent = Box::pin(first.actions.begin(&order(1, invest("5")))).await;
    let id = intent.unwrap().id;
    let (one, other) = tokio::join!(
        first.actions.note_uncharged(&id),
        second.actions.note_uncharged(&id),
    );
    assert_ne!(one.unwrap(), other.unwrap());
    let ended = second.run_when_free(order(1, invest("5"))).await;
    assert_eq!((&ended.id, ended.state), (&id, State::Completed));
    assert!(ended.uncharged_at.is_some());
    assert_eq!(first.actions.note_uncharged(&id).await, Ok(false));
}
