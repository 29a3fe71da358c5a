//! Two processes that share an account: one has a plan and the other an action, while the first one
//! continues, dies or is held up.

use std::sync::Arc;
use std::time::Duration;

use delegation_fence::State;
use test_support::{Fuse, pass};

use crate::stage::World;
use crate::together::{actions, ended, of_plan, withdrawal};

/// The fate of the first process.
#[derive(Debug, Clone, Copy)]
enum Fate {
    GoesOn,
    DiesAfter(i64),
    /// The process is held up for longer than its leases.
    SleepsAfter(i64),
}

fn world() -> World {
    let mut world = World::new();
    world.servers = true;
    world
}

/// The first process begins a plan, and the second one begins an action meanwhile and drives both.
/// Returns whether the first one finished its plan.
async fn beside(fate: Fate) -> bool {
    let world = world();
    let fuse = match fate {
        Fate::DiesAfter(effects) => Fuse::new(effects, true),
        _ => Fuse::eternal(),
    };
    if let Fate::SleepsAfter(effects) = fate {
        fuse.sleep_after(effects);
    }
    let plan = world.accept();
    let _first = world.process(Arc::clone(&fuse)).await;
    let came_to_its_end = tokio::select! {
        _ = world.ended(plan) => true,
        () = fuse.died.notified() => false,
        () = fuse.fell_asleep.notified() => false,
        () = begun(&world), if matches!(fate, Fate::GoesOn) => false,
    };
    let second = world.process(Fuse::eternal()).await;
    let actions = actions(&world, &second, second.turns.clone());
    let intent = Box::pin(actions.begin(&withdrawal(1))).await.unwrap();
    let intent = ended(&world, &actions, &intent).await;
    assert_eq!(intent.state, wallet_actions::State::Completed, "{fate:?}");
    let state = world.ended(plan).await;
    let before = world.chain.transactions().len();
    fuse.wake();
    for _ in 0..12 {
        world.block().await;
    }
    world.judge(&[plan], &format!("{fate:?}"));
    // The process sends nothing when it wakes up.
    assert_eq!(world.chain.transactions().len(), before, "{fate:?}");
    let mut sent = of_plan(&world);
    let action = sent.iter().position(|of_plan| !of_plan).unwrap();
    sent.remove(action);
    assert!(sent.iter().all(|of_plan| *of_plan), "{fate:?}");
    // The action comes before the plan or after it, never in between.
    assert!(
        action == 0 || action == sent.len(),
        "{fate:?}: {state:?} {action} {sent:?}"
    );
    came_to_its_end
}

/// Returns when the plan's first transaction is in a block.
async fn begun(world: &World) {
    let first = |world: &World| !of_plan(world).is_empty();
    world.until("the first step", first).await;
}

#[tokio::test(start_paused = true)]
async fn an_action_never_comes_between_the_steps_of_another_servers_plan() {
    beside(Fate::GoesOn).await;
}

#[tokio::test(start_paused = true)]
async fn a_dead_servers_turn_passes_on_and_its_plan_comes_first() {
    for effects in 0.. {
        if beside(Fate::DiesAfter(effects)).await {
            assert!(effects > 30, "{effects}");
            break;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_that_was_held_up_sends_nothing_into_another_ones_turn() {
    for effects in 1.. {
        if beside(Fate::SleepsAfter(effects)).await {
            assert!(effects > 30, "{effects}");
            break;
        }
    }
}

/// A turn that is lost between two sends is taken again.
#[tokio::test(start_paused = true)]
async fn a_plan_whose_turn_was_lost_continues_under_a_later_one() {
    let world = world();
    let fuse = Fuse::eternal();
    let process = world.process(Arc::clone(&fuse)).await;
    let plan = world.accept();
    begun(&world).await;
    fuse.sleep();
    pass(Duration::from_secs(12)).await;
    fuse.wake();
    assert_eq!(world.ended(plan).await, State::Done);
    drop(process);
    world.judge(&[plan], "");
}
