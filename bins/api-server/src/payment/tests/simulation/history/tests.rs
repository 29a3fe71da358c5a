//! For each breach, a history that has it and one that does not.

use super::*;

const NONCE: B256 = B256::repeat_byte(1);
const OTHER: B256 = B256::repeat_byte(2);
const REQUEST: B256 = B256::repeat_byte(3);
const PAID: &str = "0x01";

fn answer(of: B256, number: u8, again: bool) -> Saw {
    Saw::Answer {
        body: format!("{of}/{number}").into_bytes(),
        again,
        transaction: Some(PAID.to_owned()),
    }
}

fn call(began: u64, saw: Saw) -> Call {
    Call {
        nonce: NONCE,
        request: REQUEST,
        began,
        ended: Some(began + 10),
        saw,
    }
}

fn moved(nonce: B256, transaction: &str) -> Moved {
    Moved {
        nonce,
        transaction: transaction.to_owned(),
        amount: U256::from(5),
    }
}

fn signed(nonce: B256, ledger: Option<(State, Option<&str>)>) -> Signed {
    Signed {
        nonce,
        amount: U256::from(5),
        is_misused: false,
        chain_decides: true,
        ledger: ledger.map(|(state, transaction)| (state, transaction.map(str::to_owned))),
    }
}

/// One purchase: refused at first, answered, and fetched at rest.
fn good() -> History {
    History {
        calls: vec![
            call(0, Saw::Refused { status: 503 }),
            call(5, Saw::Nothing),
            call(20, answer(REQUEST, 1, false)),
            call(100, answer(REQUEST, 1, true)),
        ],
        transfers: vec![moved(NONCE, PAID)],
        purchases: vec![Purchase {
            signed: vec![signed(NONCE, Some((State::Settled, Some(PAID))))],
            is_answered: true,
            must_be_answered: true,
        }],
        rest: 90,
    }
}

#[track_caller]
fn check(change: impl FnOnce(&mut History), breaches: &[Breach]) {
    let mut history = good();
    change(&mut history);
    assert_eq!(judge(&history), breaches, "{history:#?}");
}

#[test]
fn nothing_is_wrong_with_a_good_history() {
    check(|_| {}, &[]);
    // A second signature is no second charge.
    let released = signed(OTHER, Some((State::Released, None)));
    check(|h| h.purchases[0].signed.push(released), &[]);
    check(|h| h.purchases[0].signed.push(signed(OTHER, None)), &[]);
    // A caller that hangs up has seen nothing, whatever the server sent.
    check(|h| h.calls[1].ended = None, &[]);
    // A copy that was under way at the same time may be refused.
    check(
        |h| h.calls.push(call(25, Saw::Refused { status: 402 })),
        &[],
    );
    check(
        |h| h.calls.push(call(25, Saw::Refused { status: 409 })),
        &[],
    );
}

#[test]
fn a_purchase_is_charged_once() {
    let nonces = vec![NONCE];
    let twice = Breach::ChargedTwice { nonces };
    check(|h| h.transfers.push(moved(NONCE, "0x02")), &[twice]);
    let anew = |h: &mut History| {
        let paid = signed(OTHER, Some((State::Settled, Some("0x02"))));
        h.purchases[0].signed.push(paid);
        h.transfers.push(moved(OTHER, "0x02"));
    };
    let nonces = vec![NONCE, OTHER];
    let unanswered = Breach::ChargedUnanswered { nonce: OTHER };
    check(anew, &[Breach::ChargedTwice { nonces }, unanswered.clone()]);
    let misused = |h: &mut History| {
        anew(h);
        h.purchases[0].signed[1].is_misused = true;
    };
    check(misused, &[unanswered]);
}

#[test]
fn a_charged_payment_is_answered() {
    let nonce = NONCE;
    let lost = |h: &mut History| h.calls.retain(|call| call.began < h.rest);
    check(lost, &[Breach::ChargedUnanswered { nonce }]);
    let refused = |h: &mut History| h.calls[3].saw = Saw::Refused { status: 503 };
    check(refused, &[Breach::ChargedUnanswered { nonce }]);
}

#[test]
fn an_answered_payment_is_charged() {
    let free = |h: &mut History| {
        h.transfers.clear();
        h.purchases[0].signed[0].ledger = None;
    };
    let nonce = NONCE;
    let breach = Breach::AnsweredUncharged { nonce };
    check(free, &[breach.clone(), breach]);
}

#[test]
fn a_payment_buys_one_answer_to_one_request() {
    let nonce = NONCE;
    let two = |h: &mut History| h.calls[3].saw = answer(REQUEST, 2, true);
    check(two, &[Breach::TwoAnswers { nonce }]);
    let worked_twice = |h: &mut History| h.calls[3].saw = answer(REQUEST, 1, false);
    check(worked_twice, &[Breach::TwoAnswers { nonce }]);
    let another = |h: &mut History| {
        h.calls[3].request = OTHER;
        h.calls[3].saw = answer(OTHER, 2, true);
    };
    check(another, &[Breach::TwoAnswers { nonce }]);
}

#[test]
fn an_answer_is_that_to_its_own_request() {
    let nonce = NONCE;
    let mixed_up = |h: &mut History| {
        for number in [2, 3] {
            h.calls[number].request = OTHER;
        }
    };
    let breach = Breach::AnswerOfAnother { nonce };
    check(mixed_up, &[breach.clone(), breach]);
}

#[test]
fn a_caller_with_its_answer_is_not_asked_to_pay_anew() {
    let nonce = NONCE;
    let refused = |h: &mut History| h.calls.push(call(60, Saw::Refused { status: 402 }));
    check(refused, &[Breach::RefusedAfterAnswer { nonce }]);
}

#[test]
fn receipt_and_ledger_name_the_transfer() {
    let nonce = NONCE;
    let breach = Breach::OtherTransaction { nonce };
    let ledger = |h: &mut History| {
        h.purchases[0].signed[0].ledger = Some((State::Settled, Some("0x02".to_owned())));
    };
    check(ledger, std::slice::from_ref(&breach));
    let receipt = |h: &mut History| {
        if let Saw::Answer { transaction, .. } = &mut h.calls[2].saw {
            *transaction = None;
        }
    };
    check(receipt, &[breach]);
    let amount = |h: &mut History| h.transfers[0].amount = U256::from(6);
    check(amount, &[Breach::OtherAmount { nonce }]);
}

#[test]
fn the_ledger_says_what_the_chain_says() {
    let nonce = NONCE;
    for state in [
        State::Unknown,
        State::Released,
        State::Settling,
        State::Undecidable,
    ] {
        let says = |h: &mut History| h.purchases[0].signed[0].ledger = Some((state, None));
        let state = Some(state);
        check(says, &[Breach::LedgerDiffers { nonce, state }]);
    }
    check(
        |h| h.purchases[0].signed[0].ledger = None,
        &[Breach::LedgerDiffers { nonce, state: None }],
    );
    let unpaid = signed(OTHER, Some((State::Settled, Some("0x02"))));
    let (nonce, state) = (OTHER, Some(State::Settled));
    check(
        |h| h.purchases[0].signed.push(unpaid),
        &[Breach::LedgerDiffers { nonce, state }],
    );
    // A facilitator's statement allows these states.
    for state in [State::Released, State::Undecidable] {
        let says = |h: &mut History| {
            h.purchases[0].signed[0].chain_decides = false;
            h.purchases[0].signed[0].ledger = Some((state, None));
        };
        check(says, &[]);
    }
}

#[test]
fn a_caller_that_can_pay_gets_an_answer() {
    let unanswered = |h: &mut History| {
        h.purchases[0].is_answered = false;
    };
    let nonces = vec![NONCE];
    check(unanswered, &[Breach::NeverAnswered { nonces }]);
    let excused = |h: &mut History| {
        h.purchases[0].is_answered = false;
        h.purchases[0].must_be_answered = false;
    };
    check(excused, &[]);
}
