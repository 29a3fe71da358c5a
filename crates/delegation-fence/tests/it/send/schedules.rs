//! Random schedules, longer than the explored ones, each replayed from its events after every step.

use delegation_fence::{Action, Event, Sending, State};
use proptest::prelude::*;

use crate::send::world::{AMOUNT, Accidents, Move, OutputReading, World, admitted_as};

const ALL_KINDS: Accidents = Accidents {
    reorganisations: 4,
    displacements: 4,
    toggles: 4,
    failures: 8,
};

fn check(choices: &[u16], allowance: u64, as_one: bool) -> Result<(), TestCaseError> {
    let admitted = admitted_as(as_one);
    let mut world = World::sent_as(as_one, allowance, ALL_KINDS);
    let mut events: Vec<Event> = Vec::new();
    for choice in choices {
        let moves = world.moves();
        // The process acts half of the time.
        let chosen = match usize::from(*choice) {
            even if even.is_multiple_of(2) => moves[0],
            odd => moves[odd / 2 % moves.len()],
        };
        if let Some(event) = world.make(chosen) {
            events.push(event);
            let replayed = Sending::replay(&admitted, &events).unwrap();
            prop_assert_eq!(&replayed, &world.send);
        }
    }
    // From here on, only the process works and the chain makes blocks.
    for _ in 0..200 {
        let moves = world.moves();
        let notice = moves
            .iter()
            .find(|chosen| matches!(chosen, Move::Notice(_)));
        let mine = moves.iter().find(|chosen| matches!(chosen, Move::Mine(_)));
        for chosen in [notice, mine].into_iter().flatten().take(1) {
            world.make(*chosen);
        }
        world.make(Move::Act(OutputReading::Something));
    }
    let Action::Rest(state) = world.send.next(&world.view()) else {
        return Err(TestCaseError::fail(format!("no end: {world:?}")));
    };
    let dirty = state == State::HaltedDirty && world.allowance() > 0;
    prop_assert!(state.is_final() || dirty, "{:?}", world);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, ..ProptestConfig::default() })]

    #[test]
    fn every_schedule_comes_to_an_end(
        choices in proptest::collection::vec(any::<u16>(), 0..160),
        allowance in prop_oneof![Just(0), Just(AMOUNT + 2)],
        as_one in any::<bool>(),
    ) {
        check(&choices, allowance, as_one)?;
    }
}

proptest! {
    /// Impossible events of a send are refused, and change nothing.
    #[test]
    fn an_event_out_of_order_changes_nothing(
        choices in proptest::collection::vec(any::<u16>(), 0..60),
        strange in proptest::collection::vec((0..9_u8, 0..7_u8), 1..20),
        as_one in any::<bool>(),
    ) {
        let mut world = World::sent_as(as_one, 0, ALL_KINDS);
        for choice in choices {
            let moves = world.moves();
            world.make(moves[usize::from(choice) % moves.len()]);
        }
        for (kind, which) in strange {
            let event = crate::send::report::event(kind, which);
            let before = world.send.clone();
            let mut after = before.clone();
            if after.apply(&event).is_err() {
                prop_assert_eq!(&after, &before);
            }
        }
    }
}
