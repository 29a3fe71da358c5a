//! Every reachable state of the world.

use std::{
    collections::{HashMap, VecDeque},
    hash::{DefaultHasher, Hash as _, Hasher as _},
    panic::catch_unwind,
};

use calldata_checks::StepKind;
use delegation_fence::{Action, State};

use crate::send::world::{AMOUNT, Accidents, Move, World, admitted_as};

/// The invariants of every state.
fn judge(world: &World) {
    assert!(world.executed(StepKind::Call) <= 1);
    let report = world.send.report(&admitted_as(world.as_one));
    let Action::Rest(state) = world.send.next(&world.view()) else {
        return;
    };
    assert_eq!(state, report.state);
    if !world.is_noticed() {
        return;
    }
    let (read, _) = report.allowance_read_back.unwrap();
    assert_eq!(
        read.to::<u64>(),
        world.allowance(),
        "what is reported is what is there"
    );
    match state {
        State::Done => {
            assert_eq!(world.allowance(), 0);
            assert_eq!(world.executed(StepKind::Call), 1);
            assert!(report.landed.is_some());
            let [reset, approve, call] = report.steps.map(Option::unwrap);
            assert_eq!(world.as_one, reset == call && approve == call);
        }
        State::HaltedClean => {
            assert!(world.allowance() == 0 || world.executed(StepKind::Approve) == 0);
            assert_eq!(report.allowance_cleared(), world.allowance() == 0);
            assert!(report.halted_at.is_some() && report.reason.is_some());
        }
        State::HaltedDirty => {
            assert_ne!(world.allowance(), 0);
            assert!(!report.allowance_cleared());
            assert!(report.clear_transaction.is_some());
        }
        other => panic!("a send rests in {other:?}"),
    }
}

/// Distinguishes worlds without keeping them: among a million, two collide once in ten million
/// runs.
fn fingerprint(world: &World) -> u64 {
    let mut hasher = DefaultHasher::new();
    world.hash(&mut hasher);
    hasher.finish()
}

/// The moves that led to a state.
fn path(came_by: &[Option<(usize, Move)>], mut number: usize) -> Vec<Move> {
    let mut moves = Vec::new();
    while let Some((before, chosen)) = came_by[number] {
        moves.push(chosen);
        number = before;
    }
    moves.reverse();
    moves
}

/// Explores from a world, and returns how many states there are.
fn explore(start: World) -> usize {
    let mut numbers = HashMap::from([(fingerprint(&start), 0_usize)]);
    let mut came_by: Vec<Option<(usize, Move)>> = vec![None];
    let mut leads_to: Vec<Vec<usize>> = vec![Vec::new()];
    let mut ends = Vec::new();
    let mut queue = VecDeque::from([(0_usize, start)]);
    while let Some((number, world)) = queue.pop_front() {
        let judged = catch_unwind(|| judge(&world));
        assert!(
            judged.is_ok(),
            "{world:#?}\nafter {:?}",
            path(&came_by, number)
        );
        if matches!(world.send.next(&world.view()), Action::Rest(_)) {
            ends.push(number);
        }
        for chosen in world.moves() {
            let mut next = world.clone();
            next.make(chosen);
            let known = numbers.len();
            let to = *numbers.entry(fingerprint(&next)).or_insert_with(|| {
                queue.push_back((known, next));
                known
            });
            if to == leads_to.len() {
                leads_to.push(Vec::new());
                came_by.push(Some((number, chosen)));
            }
            leads_to[to].push(number);
        }
    }
    // From every state some path leads to an end: nothing is ever stuck.
    let mut reaches = vec![false; leads_to.len()];
    let mut queue: VecDeque<_> = ends.into();
    while let Some(number) = queue.pop_front() {
        if !std::mem::replace(&mut reaches[number], true) {
            queue.extend(&leads_to[number]);
        }
    }
    let stuck = reaches.iter().filter(|reaches| !**reaches).count();
    assert_eq!(stuck, 0, "states without a way to an end");
    numbers.len()
}

/// With and without an earlier allowance; in three transactions, and in one.
fn explore_both(accidents: Accidents, least: usize) {
    for allowance in [0, AMOUNT + 2] {
        for (as_one, least) in [(false, least), (true, least / 10)] {
            let states = explore(World::sent_as(as_one, allowance, accidents));
            assert!(states > least, "{states} {as_one}");
        }
    }
}

#[test]
fn every_state_without_accidents() {
    explore_both(Accidents::NONE, 100);
}

#[test]
fn every_state_with_a_reorganisation() {
    let accidents = Accidents {
        reorganisations: 1,
        failures: 1,
        ..Accidents::NONE
    };
    explore_both(accidents, 1_000);
}

#[test]
fn every_state_with_a_displaced_transaction() {
    let accidents = Accidents {
        displacements: 2,
        ..Accidents::NONE
    };
    explore_both(accidents, 1_000);
}

#[test]
fn every_state_with_a_policy_or_a_way_to_clear_that_changes_and_changes_back() {
    let accidents = Accidents {
        toggles: 2,
        ..Accidents::NONE
    };
    explore_both(accidents, 1_000);
}

/// Without trouble a plan is sent in nine steps of the process, or in fewer where the chain
/// executes all of it at once.
#[test]
fn a_plan_is_sent() {
    for as_one in [false, true] {
        let mut world = World::sent_as(as_one, 0, Accidents::NONE);
        for _ in 0..40 {
            world.make(Move::Act(crate::send::world::OutputReading::Something));
            if world
                .moves()
                .contains(&Move::Mine(crate::send::world::Effect::Full))
            {
                world.make(Move::Mine(crate::send::world::Effect::Full));
            }
        }
        assert_eq!(world.send.state(), State::Done);
    }
}
