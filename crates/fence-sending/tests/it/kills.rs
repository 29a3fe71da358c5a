//! A process that ends before or after any of its writes and sends, and the next one that continues
//! from its records.

use std::sync::Arc;
use std::time::Duration;

use delegation_fence::State;
use test_support::{Fuse, pass};
use tx_sender::Takeover;

use crate::stage::World;

/// The events during a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Meanwhile {
    Nothing,
    /// The grant is revoked after the process has ended.
    Revoked,
    /// The next process starts after the end of the plan.
    Over,
}

/// Runs one process that ends at its n-th effect, and then the next one. Returns whether the first
/// one finished its work.
async fn killed(effects: i64, after: bool, meanwhile: Meanwhile) -> bool {
    let what = format!("{effects} {after} {meanwhile:?}");
    let mut world = World::new();
    world.takeover = Takeover::AtOnce;
    let plan = world.accept();
    let fuse = Fuse::new(effects, after);
    let first = world.process(Arc::clone(&fuse)).await;
    let ended = tokio::select! {
        _ = world.ended(plan) => true,
        () = fuse.died.notified() => false,
    };
    drop(first);
    if !ended {
        // A block may contain the bytes that it has shown to a node.
        world.block().await;
        if meanwhile == Meanwhile::Revoked {
            world.revoke();
        }
        let pause = if meanwhile == Meanwhile::Over { 70 } else { 11 };
        pass(Duration::from_secs(pause)).await;
        world.chain.mine();
    }
    let _next = world.process(Fuse::eternal()).await;
    let state = world.ended(plan).await;
    for _ in 0..4 {
        world.block().await;
    }
    world.judge(&[plan], &what);
    if meanwhile == Meanwhile::Nothing {
        assert_eq!(state, State::Done, "{what}");
    }
    ended
}

/// Holds one process up after its n-th effect for longer than its leases, while the next one brings
/// the plan to its end. Returns whether the first one finished its work.
async fn held_up(effects: i64, meanwhile: Meanwhile) -> bool {
    let what = format!("{effects} {meanwhile:?}");
    let world = World::new();
    let plan = world.accept();
    let fuse = Fuse::eternal();
    fuse.sleep_after(effects);
    let _first = world.process(Arc::clone(&fuse)).await;
    let ended = tokio::select! {
        _ = world.ended(plan) => true,
        () = fuse.fell_asleep.notified() => false,
    };
    if !ended {
        if meanwhile == Meanwhile::Revoked {
            world.revoke();
        }
        let pause = if meanwhile == Meanwhile::Over { 70 } else { 11 };
        pass(Duration::from_secs(pause)).await;
        world.chain.mine();
    }
    let _next = world.process(Fuse::eternal()).await;
    world.ended(plan).await;
    let before = world.chain.transactions().len();
    fuse.wake();
    for _ in 0..12 {
        world.block().await;
    }
    world.judge(&[plan], &what);
    // The process sends nothing when it wakes up: its transactions are over, and no node gets their
    // bytes.
    assert_eq!(world.chain.transactions().len(), before, "{what}");
    ended
}

#[tokio::test(start_paused = true)]
async fn a_process_that_was_held_up_sends_nothing_when_it_wakes_up() {
    for meanwhile in [Meanwhile::Nothing, Meanwhile::Revoked, Meanwhile::Over] {
        let mut effects = 1;
        while !held_up(effects, meanwhile).await {
            effects += 1;
        }
        assert!(effects > 30, "{effects}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_process_may_end_before_or_after_every_effect() {
    for meanwhile in [Meanwhile::Nothing, Meanwhile::Revoked, Meanwhile::Over] {
        let mut effects = 0;
        loop {
            let mut ended = true;
            for after in [false, true] {
                ended &= killed(effects, after, meanwhile).await;
            }
            if ended {
                break;
            }
            effects += 1;
        }
        // Fewer effects would mean that the fuse does not see the work.
        assert!(effects > 30, "{effects}");
        println!("{meanwhile:?}: {effects} effects");
    }
}
