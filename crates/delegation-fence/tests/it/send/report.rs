//! The report about a send, and the order of its events.

use alloy_primitives::{B256, U256, hex};
use calldata_checks::{StepKind, UtcSeconds};
use delegation_fence::{
    Action, Block, ClearObstacle, Event, HaltReason, MOST_CLEARS, Now, OutOfOrder, Rule, Sending,
    State, Transaction, View,
};

use crate::send::world::{AMOUNT, admitted};

const RESET: Transaction = Transaction::Step(StepKind::ApproveReset);
const APPROVE: Transaction = Transaction::Step(StepKind::Approve);
const CALL: Transaction = Transaction::Step(StepKind::Call);

fn sealed(transaction: Transaction, number: u64, allowance: u64) -> Event {
    Event::Sealed {
        transaction,
        hash: B256::repeat_byte(9),
        block: Block {
            number,
            hash: B256::repeat_byte(1),
        },
        effective: true,
        allowance: U256::from(allowance),
    }
}

/// Any event, by two numbers.
pub(crate) fn event(kind: u8, which: u8) -> Event {
    let transaction = match which {
        0 => RESET,
        1 => APPROVE,
        2 => CALL,
        6 => Transaction::Swap,
        other => Transaction::Clear(other - 3),
    };
    match kind {
        0 => Event::Ordered(transaction),
        1 => Event::Unsent(transaction),
        2 => sealed(transaction, 1, which.into()),
        3 => Event::Void(transaction),
        4 => Event::Gone(transaction),
        5 => Event::Landed(U256::from(which)),
        6 => Event::Halting {
            at: StepKind::Call,
            reason: HaltReason::Over,
        },
        7 => Event::ClearImpossible(ClearObstacle::Paused),
        _ => Event::Finished,
    }
}

fn view(confirmation: Result<(), Rule>, now: u64, clear: Result<(), ClearObstacle>) -> View {
    View {
        now: Now::offline(UtcSeconds::from_unix(now)),
        confirmation,
        clear,
    }
}

fn read(allowance: u64) -> Event {
    let block = Block {
        number: 9,
        hash: B256::ZERO,
    };
    Event::ReadBack {
        allowance: U256::from(allowance),
        block,
    }
}

/// A send up to its approval.
fn approved() -> Vec<Event> {
    vec![
        Event::Ordered(RESET),
        sealed(RESET, 1, 0),
        Event::Ordered(APPROVE),
        sealed(APPROVE, 2, AMOUNT),
    ]
}

#[test]
fn a_revocation_between_two_steps_stops_the_next_one() {
    let admitted = admitted();
    for done in [0, 2, 4] {
        let send = Sending::replay(&admitted, &approved()[..done]).unwrap();
        let at = StepKind::ALL[done / 2];
        let revoked = view(Err(Rule::GrantRevoked), 900, Ok(()));
        let reason = HaltReason::Refused(Rule::GrantRevoked);
        assert_eq!(
            send.next(&revoked),
            Action::Append(Event::Halting { at, reason })
        );
        assert_eq!(
            send.next(&view(Ok(()), 900, Ok(()))),
            Action::Order(Transaction::Step(at))
        );
        // The end of the plan between two steps has the same effect.
        let over = Action::Append(Event::Halting {
            at,
            reason: HaltReason::Over,
        });
        assert_eq!(send.next(&view(Ok(()), 1_000, Ok(()))), over);
    }
}

#[test]
fn a_first_step_needs_thirty_seconds_and_its_deadline() {
    let mut admitted = admitted();
    let next = |admitted: &_, now| Sending::new(admitted).next(&view(Ok(()), now, Ok(())));
    let over = Action::Append(Event::Halting {
        at: StepKind::ApproveReset,
        reason: HaltReason::Over,
    });
    assert_eq!(next(&admitted, 970), Action::Order(RESET));
    assert_eq!(next(&admitted, 971), over);
    admitted.deadline = UtcSeconds::from_unix(900);
    assert_eq!(next(&admitted, 900), Action::Order(RESET));
    assert_eq!(next(&admitted, 901), over);
}

/// Attack 33: after a restart the plan is over, and its allowance is cleared.
#[test]
fn a_restart_after_the_end_clears() {
    let admitted = admitted();
    let mut send = Sending::replay(&admitted, &approved()).unwrap();
    let late = view(Err(Rule::PlanExpired), 5_000, Ok(()));
    let Action::Append(halting) = send.next(&late) else {
        panic!("no halt");
    };
    send.apply(&halting).unwrap();
    assert_eq!(send.next(&late), Action::ReadAllowance);
    send.apply(&read(AMOUNT)).unwrap();
    assert_eq!(send.next(&late), Action::Order(Transaction::Clear(0)));
    send.apply(&Event::Ordered(Transaction::Clear(0))).unwrap();
    assert_eq!(send.next(&late), Action::Resolve(Transaction::Clear(0)));
    send.apply(&sealed(Transaction::Clear(0), 3, 0)).unwrap();
    assert_eq!(send.next(&late), Action::ReadAllowance);
    send.apply(&read(0)).unwrap();
    assert_eq!(send.next(&late), Action::Append(Event::Finished));
    send.apply(&Event::Finished).unwrap();
    let report = send.report(&admitted);
    assert_eq!(report.state, State::HaltedClean);
    assert!(report.allowance_cleared() && report.clear_transaction.is_none());
    assert_eq!(
        (report.halted_at, report.reason),
        (Some(StepKind::Call), Some("plan_expired"))
    );
}

#[test]
fn an_uncleared_allowance_is_reported_with_the_transaction_that_clears_it() {
    let admitted = admitted();
    let mut send = Sending::replay(&admitted, &approved()).unwrap();
    let revoked = |clear| view(Err(Rule::GrantRevoked), 900, clear);
    let Action::Append(halting) = send.next(&revoked(Ok(()))) else {
        panic!("no halt");
    };
    send.apply(&halting).unwrap();
    send.apply(&read(AMOUNT)).unwrap();
    let paused = revoked(Err(ClearObstacle::Paused));
    assert_eq!(
        send.next(&paused),
        Action::Append(Event::ClearImpossible(ClearObstacle::Paused))
    );
    send.apply(&Event::ClearImpossible(ClearObstacle::Paused))
        .unwrap();
    assert_eq!(send.next(&paused), Action::Rest(State::HaltedDirty));
    // It is stated once: a list with the same obstacle twice is impossible for a send.
    assert!(
        send.apply(&Event::ClearImpossible(ClearObstacle::Paused))
            .is_err()
    );
    assert_eq!(send.obstacle(), Some(ClearObstacle::Paused));
    let report = send.report(&admitted);
    assert!(!report.allowance_cleared());
    assert_eq!(report.allowance_read_back.unwrap().0, U256::from(AMOUNT));
    let clear = report.clear_transaction.unwrap();
    assert_eq!(
        (clear.chain_id, clear.to, clear.value),
        (8453, admitted.token, U256::ZERO)
    );
    assert_eq!(
        hex::encode(&clear.data),
        format!(
            "095ea7b3{}{}",
            hex::encode(admitted.spender.into_word()),
            "0".repeat(64)
        )
    );
    assert!(
        !report.state.is_final(),
        "no second plan while an allowance is left"
    );
    // It is tried again when it becomes possible.
    assert_eq!(
        send.next(&revoked(Ok(()))),
        Action::Order(Transaction::Clear(0))
    );
    // It is over when another party has cleared it.
    send.apply(&read(0)).unwrap();
    assert_eq!(send.next(&paused), Action::Append(Event::Finished));
}

/// The allowance in the sealed block differs from the step's: another party writes it, or the token
/// lies.
#[test]
fn an_allowance_that_is_not_the_expected_one_halts() {
    let admitted = admitted();
    let halts = |events: &[Event]| {
        let send = Sending::replay(&admitted, events).unwrap();
        matches!(
            send.next(&view(Ok(()), 900, Ok(()))),
            Action::Append(Event::Halting {
                reason: HaltReason::Allowance,
                ..
            })
        )
    };
    let ordered = Event::Ordered;
    assert!(halts(&[ordered(RESET), sealed(RESET, 1, 1)]));
    let reset = [ordered(RESET), sealed(RESET, 1, 0), ordered(APPROVE)];
    for wrong in [AMOUNT - 1, AMOUNT + 1, 0] {
        assert!(
            halts(&[&reset[..], &[sealed(APPROVE, 2, wrong)]].concat()),
            "{wrong}"
        );
    }
    assert!(!halts(
        &[&reset[..], &[sealed(APPROVE, 2, AMOUNT)]].concat()
    ));
}

/// A swap that used less than its allowance leaves a rest: it is cleared, although the plan is
/// done.
#[test]
fn the_allowance_that_a_done_plan_leaves_is_cleared() {
    let admitted = admitted();
    let mut events = approved();
    events.extend([Event::Ordered(CALL), sealed(CALL, 3, 2)]);
    let mut send = Sending::replay(&admitted, &events).unwrap();
    let now = view(Ok(()), 900, Ok(()));
    assert_eq!(send.next(&now), Action::ReadLanding);
    send.apply(&Event::Landed(U256::ZERO)).unwrap();
    assert_eq!(send.next(&now), Action::ReadAllowance);
    send.apply(&read(2)).unwrap();
    assert_eq!(send.next(&now), Action::Order(Transaction::Clear(0)));
    send.apply(&Event::Ordered(Transaction::Clear(0))).unwrap();
    send.apply(&sealed(Transaction::Clear(0), 4, 0)).unwrap();
    send.apply(&read(0)).unwrap();
    send.apply(&Event::Finished).unwrap();
    let report = send.report(&admitted);
    assert_eq!(
        (report.state, report.landed),
        (State::Done, Some((U256::ZERO, false)))
    );
}

#[test]
fn clears_are_bounded() {
    let admitted = admitted();
    let mut events = approved();
    events.push(Event::Halting {
        at: StepKind::Call,
        reason: HaltReason::Over,
    });
    for number in 0..MOST_CLEARS {
        let clear = Transaction::Clear(number);
        events.push(read(1));
        events.extend([
            Event::Ordered(clear),
            sealed(clear, 3 + u64::from(number), 1),
        ]);
    }
    events.push(read(1));
    let send = Sending::replay(&admitted, &events).unwrap();
    let action = send.next(&view(Ok(()), 900, Ok(())));
    assert_eq!(
        action,
        Action::Append(Event::ClearImpossible(ClearObstacle::Exhausted))
    );
}

#[test]
fn events_that_no_send_has_are_refused() {
    let admitted = admitted();
    for events in [
        vec![Event::Ordered(APPROVE)],
        vec![Event::Ordered(RESET), Event::Ordered(RESET)],
        vec![sealed(RESET, 1, 0)],
        vec![Event::Unsent(RESET)],
        vec![Event::Finished],
        vec![Event::Ordered(Transaction::Clear(0))],
        vec![
            Event::Ordered(RESET),
            sealed(RESET, 1, 0),
            Event::Gone(RESET),
            Event::Unsent(RESET),
        ],
        vec![event(6, 0), event(6, 0)],
        vec![event(6, 0), Event::Ordered(RESET)],
    ] {
        let last = *events.last().unwrap();
        assert_eq!(
            Sending::replay(&admitted, &events),
            Err(OutOfOrder { event: last })
        );
    }
}

#[test]
fn words_are_stable() {
    let words: Vec<_> = State::ALL.iter().map(|state| state.as_str()).collect();
    assert_eq!(
        words,
        [
            "accepted",
            "sending",
            "done",
            "halting",
            "halted_clean",
            "halted_dirty"
        ]
    );
    let keys: Vec<_> = [RESET, APPROVE, CALL, Transaction::Clear(2)]
        .map(Transaction::key)
        .into();
    assert_eq!(keys, ["approve_reset", "approve", "call", "clear-2"]);
    let reasons = [
        HaltReason::Over,
        HaltReason::Reverted,
        HaltReason::Displaced,
        HaltReason::Allowance,
    ];
    assert_eq!(
        reasons.map(HaltReason::as_str),
        [
            "plan_expired",
            "step_reverted",
            "step_displaced",
            "allowance_unexpected"
        ]
    );
}

/// Where the chain executes all steps at once, one block is the block of all of them, and a revert
/// is of all of them.
#[test]
fn one_transaction_fills_all_three_steps() {
    let admitted = crate::send::world::admitted_as(true);
    let swap = Transaction::Swap;
    let now = view(Ok(()), 900, Ok(()));
    let mut send = Sending::new(&admitted);
    assert_eq!(send.next(&now), Action::Order(swap));
    assert!(send.apply(&Event::Ordered(RESET)).is_err());
    send.apply(&Event::Ordered(swap)).unwrap();
    assert_eq!(send.state(), State::Sending);
    assert_eq!(send.next(&now), Action::Resolve(swap));

    let mut reverted = send.clone();
    reverted
        .apply(&Event::Sealed {
            transaction: swap,
            hash: B256::repeat_byte(9),
            block: Block {
                number: 3,
                hash: B256::ZERO,
            },
            effective: false,
            allowance: U256::ZERO,
        })
        .unwrap();
    let halting = Event::Halting {
        at: StepKind::ApproveReset,
        reason: HaltReason::Reverted,
    };
    assert_eq!(reverted.next(&now), Action::Append(halting));
    let steps = reverted.report(&admitted).steps.map(Option::unwrap);
    assert!(steps.iter().all(|(_, _, effective)| !effective));

    send.apply(&sealed(swap, 3, 0)).unwrap();
    let steps = send.report(&admitted).steps.map(Option::unwrap);
    assert!(steps.iter().all(|step| *step == steps[0]));
    assert!(send.is_sealed(swap) && !send.is_sealed(RESET));
    assert_eq!(send.next(&now), Action::ReadLanding);
    send.apply(&Event::Landed(U256::from(1))).unwrap();
    assert_eq!(send.next(&now), Action::ReadAllowance);
    send.apply(&read(0)).unwrap();
    assert_eq!(send.next(&now), Action::Append(Event::Finished));
    send.apply(&Event::Finished).unwrap();
    assert_eq!(send.state(), State::Done);
    // The block of the one transaction is not canonical any more, so none of its facts count.
    send.apply(&Event::Gone(swap)).unwrap();
    assert_eq!(send.report(&admitted).steps, [None; 3]);
    assert_eq!(send.next(&now), Action::Resolve(swap));
}

/// The enforcer holds the one transaction to the order's deadline: past it, an open transaction is
/// cancelled.
#[test]
fn the_orders_deadline_ends_one_transaction_that_is_open() {
    let mut admitted = crate::send::world::admitted_as(true);
    admitted.deadline = UtcSeconds::from_unix(900);
    let ordered = [Event::Ordered(Transaction::Swap)];
    let mut send = Sending::replay(&admitted, &ordered).unwrap();
    let late = view(Ok(()), 901, Ok(()));
    let halting = Event::Halting {
        at: StepKind::ApproveReset,
        reason: HaltReason::Over,
    };
    assert_eq!(send.next(&late), Action::Append(halting));
    send.apply(&halting).unwrap();
    assert_eq!(send.next(&late), Action::Cancel(Transaction::Swap));
}
