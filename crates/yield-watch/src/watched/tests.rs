//! Tests of mandates with their audits: checks, moves and ends give a valid audit.

use alloy_primitives::B256;
use serde_json::Value;

use super::*;
use crate::{Event, Mode, Rules, verify};

fn at(text: &str) -> Timestamp {
    format!("2026-11-21T{text}Z").parse().unwrap()
}

fn pool(id: &str, apy: &str) -> Pool {
    Pool {
        pool: id.to_owned(),
        project: "aave-v3".to_owned(),
        chain: "Base".to_owned(),
        symbol: "USDC".to_owned(),
        apy_pct: apy.parse().unwrap(),
    }
}

fn mandate(mode: Mode) -> Mandate {
    Mandate {
        id: "ab".repeat(16),
        owner: "eip155:196:0x01".to_owned(),
        rules: Rules {
            min_apy_delta_bps: 50,
            max_slippage_bps: 50,
            max_move_usd: "1000".parse().unwrap(),
            allowed_protocols: vec!["aave-v3".to_owned()],
            check_interval: 3_600,
            max_moves_per_day: 24,
            min_gain_usd: "0".parse().unwrap(),
        },
        mode,
        created_at: at("00:00:00"),
        expires_at: at("12:00:00"),
        last_check_at: None,
        ended: None,
    }
}

fn reading(time: &str, apy: &str, position: Option<Position>) -> Reading {
    Reading {
        at: at(time),
        snapshot: Some(Snapshot {
            id: "s".to_owned(),
            taken_at: at("00:30:00"),
            max_age_seconds: 7_200,
        }),
        best: Some(pool("best", apy)),
        cost_usd: position.as_ref().map(|_| Figure::default()),
        position,
    }
}

fn held(apy: &str) -> Option<Position> {
    Some(Position::Held {
        pool: pool("held", apy),
        amount_usd: "5000".parse().unwrap(),
    })
}

fn moved(usd: &str) -> MoveOutcome {
    MoveOutcome::Moved {
        intent_id: "cd".repeat(16),
        tx_hash: B256::repeat_byte(7),
        moved_usd: usd.parse().unwrap(),
    }
}

fn events(records: &[AuditRecord]) -> Vec<Event> {
    records.iter().map(|record| record.decision).collect()
}

fn values(records: &[AuditRecord]) -> Vec<Value> {
    let value = |record| serde_json::to_value(record).unwrap();
    records.iter().map(value).collect()
}

/// Makes an audit with a move that ended in `outcome`.
fn with_move(outcome: MoveOutcome) -> (Watched, Vec<AuditRecord>) {
    let (mut watched, created) = Watched::create(mandate(Mode::Auto)).unwrap();
    let mut records = vec![created];
    let checked = watched.check(reading("01:00:00", "6", held("5")));
    records.extend(checked.unwrap());
    records.extend(watched.conclude(outcome, at("01:00:09")).unwrap());
    (watched, records)
}

#[test]
fn a_move_is_recorded_before_it_begins_and_when_it_ends() {
    let (mut watched, mut records) = with_move(moved("1000"));
    let idle = Some(Position::Idle {
        idle_usd: "7".parse().unwrap(),
    });
    records.extend(watched.check(reading("02:10:00", "6", idle)).unwrap());
    let proposal = watched.open_move().cloned().unwrap();
    assert_eq!(proposal.key, MoveKey::new(&"ab".repeat(16), 4));
    assert_eq!((proposal.from, proposal.to), (None, pool("best", "6")));
    assert_eq!(proposal.valid_until, at("02:30:00"));
    assert!(!watched.may_check(at("04:00:00")), "one move at a time");
    assert_eq!(
        watched.check(reading("04:00:00", "6", held("5"))).unwrap(),
        []
    );
    // The mandate is cancelled while the move is open. The end of the move follows the end of the
    // mandate.
    records.extend(watched.end(at("02:20:00")).unwrap());
    assert_eq!(watched.end(at("02:21:00")).unwrap(), None);
    let stopped = MoveOutcome::Stopped {
        reason: "cancelled".to_owned(),
    };
    records.extend(watched.conclude(stopped.clone(), at("02:20:01")).unwrap());
    assert_eq!(watched.conclude(stopped, at("02:20:02")).unwrap(), None);
    assert_eq!(
        events(&records),
        [
            Event::Created,
            Event::Opportunity,
            Event::MoveAsked,
            Event::Moved,
            Event::Opportunity,
            Event::MoveAsked,
            Event::Cancelled,
            Event::MoveStopped,
        ]
    );
    assert_eq!(records[3].tx_hash, Some(B256::repeat_byte(7)));
    assert_eq!(verify(&values(&records)), Ok(watched.head()));
    assert_eq!(watched.due_at(), None);
    let text = serde_json::to_string(&watched).unwrap();
    assert_eq!(serde_json::from_str::<Watched>(&text).unwrap(), watched);
}

#[test]
fn moves_outside_the_rules_are_found() {
    let code = |records: &[AuditRecord]| verify(&values(records)).unwrap_err().code();
    assert_eq!(code(&with_move(moved("1000.01")).1), "audit_move");
    // A move that no check requested, and a move that ends twice.
    let proposal = {
        let (mut watched, _) = Watched::create(mandate(Mode::Auto)).unwrap();
        watched
            .check(reading("01:00:00", "6", held("5")))
            .unwrap()
            .pop();
        watched.open_move().cloned().unwrap()
    };
    let mut widened = proposal.clone();
    widened.max_move_usd = "1001".parse().unwrap();
    for asked in [
        AuditEntry::asked(&widened, at("01:00:00")),
        AuditEntry::concluded(&proposal.key, &moved("1"), at("01:00:00")),
    ] {
        let (mut watched, created) = Watched::create(mandate(Mode::Auto)).unwrap();
        let mut records = vec![created];
        let checked = watched.check(reading("01:00:00", "6", held("5"))).unwrap();
        let first = checked.into_iter().next().unwrap();
        let mut head = AuditHead {
            next_seq: 2,
            hash: first.hash,
        };
        records.push(first);
        records.push(head.append(asked).unwrap());
        assert_eq!(code(&records), "audit_move");
    }
}

#[test]
fn a_mandate_that_notifies_has_no_position_and_moves_nothing() {
    let (mut watched, created) = Watched::create(mandate(Mode::Notify)).unwrap();
    let mut records = vec![created];
    records.extend(watched.check(reading("01:00:00", "5", None)).unwrap());
    records.extend(watched.check(reading("02:10:00", "6", None)).unwrap());
    assert_eq!(
        events(&records),
        [Event::Created, Event::NoChange, Event::Opportunity]
    );
    assert_eq!(watched.open_move(), None);
    assert_eq!(watched.opportunity().unwrap().delta_bps, Some(100));
    assert_eq!(verify(&values(&records)), Ok(watched.head()));
    let (mut other, created) = Watched::create(mandate(Mode::Notify)).unwrap();
    let checked = other.check(reading("01:00:00", "5", held("1"))).unwrap();
    let forged = [created, checked.into_iter().next().unwrap()];
    assert_eq!(
        verify(&values(&forged)).unwrap_err().code(),
        "audit_continuity"
    );
}

#[test]
fn after_a_clock_is_set_back_nothing_is_checked_and_cancelling_works() {
    let (mut watched, created) = Watched::create(mandate(Mode::Notify)).unwrap();
    let mut records = vec![created];
    records.extend(watched.check(reading("02:00:00", "5", None)).unwrap());
    assert!(!watched.may_check(at("01:59:59")));
    assert_eq!(watched.check(reading("01:59:59", "9", None)).unwrap(), []);
    records.extend(watched.end(at("01:00:00")).unwrap());
    assert_eq!(watched.mandate().ended.unwrap().at, at("02:00:00"));
    assert_eq!(verify(&values(&records)), Ok(watched.head()));
}

#[test]
fn the_expiry_is_recorded_when_it_is_due() {
    let (mut watched, _) = Watched::create(mandate(Mode::Notify)).unwrap();
    let checked = watched.check(reading("11:30:00", "5", None)).unwrap();
    assert_eq!(events(&checked), [Event::StaleData]);
    assert_eq!(watched.due_at(), Some(at("12:00:00")));
    let record = watched.end(at("12:00:03")).unwrap().unwrap();
    assert_eq!(record.decision, Event::Expired);
    let ended = watched.mandate().ended.unwrap();
    assert_eq!((ended.state, ended.at), (State::Expired, at("12:00:00")));
}

/// A mandate moves no more often than its rules allow, and a move that never began does not count.
#[test]
fn a_day_has_a_limit_of_moves() {
    let mut mandate = mandate(Mode::Auto);
    mandate.rules.max_moves_per_day = 1;
    mandate.expires_at = "2026-11-23T00:00:00Z".parse().unwrap();
    let (mut watched, created) = Watched::create(mandate).unwrap();
    let mut records = vec![created];
    let later = |time: &str, day: u32| {
        let mut reading = reading("01:00:00", "6", held("5"));
        reading.at = format!("2026-11-{day}T{time}Z").parse().unwrap();
        reading.snapshot.as_mut().unwrap().taken_at = reading.at;
        reading
    };
    let refused = MoveOutcome::Refused {
        reason: "product_paused".to_owned(),
    };
    let mut decided = Vec::new();
    for (time, day, outcome) in [
        ("01:00:00", 21, Some(refused)),
        ("02:00:00", 21, Some(moved("900"))),
        ("03:00:00", 21, None),
        ("01:59:59", 22, None),
        ("02:00:00", 22, Some(moved("900"))),
    ] {
        let reading = later(time, day);
        let now = reading.at;
        records.extend(watched.check(reading).unwrap());
        decided.push(watched.last_decision().unwrap());
        assert_eq!(
            watched.open_move().is_some(),
            outcome.is_some(),
            "{day} {time}"
        );
        if let Some(outcome) = outcome {
            records.extend(watched.conclude(outcome, now).unwrap());
        }
    }
    let (moves, stays) = (Decision::Opportunity, Decision::NoChange);
    assert_eq!(decided, [moves, moves, stays, stays, moves]);
    assert_eq!(verify(&values(&records)), Ok(watched.head()));
}
