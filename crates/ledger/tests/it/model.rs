//! Random histories: every move must have the same result in the ledger and in a journal in plain
//! memory.

use alloy_primitives::Address;
use ledger::{Claim, EntryId, Journal, Reservation, Resolution, Spent, State, Transition};
use proptest::prelude::*;
use x402_wire::AuthorizationKey;

use crate::support::{self, Bench, ENTRY_RETENTION, NOW};

mod plain;

use plain::{Entry, Model, Move};

const KEYS: u64 = 5;
const WINDOW: u64 = 600;

#[derive(Clone, Debug)]
enum Op {
    Reserve {
        key: u64,
        request: u64,
        payment_id: Option<u8>,
    },
    Find {
        key: u64,
        request: u64,
    },
    Move {
        transition: Transition,
        which: usize,
        transaction: Option<u8>,
        spent: u64,
        /// By how many seconds the clock is behind for this move.
        back: u64,
    },
    LookUp {
        key: u64,
    },
    Abandon {
        idle: u64,
        /// Whether each entry so far has a live task, beginning with the newest one.
        owned: Vec<bool>,
    },
    Prune,
    Restart,
    Wait {
        seconds: u64,
    },
}

fn op() -> impl Strategy<Value = Op> {
    let transition = prop::sample::select(Transition::ALL.to_vec());
    let transaction = prop::option::of(0u8..4);
    let spent = prop_oneof![3 => Just(0), 1 => 1u64..4_000];
    let back = prop_oneof![5 => Just(0), 1 => 1u64..900];
    let owned = prop::collection::vec(any::<bool>(), 0..8);
    prop_oneof![
        6 => (0..KEYS, 0u64..2, prop::option::of(0u8..3))
            .prop_map(|(key, request, payment_id)| Op::Reserve { key, request, payment_id }),
        2 => (0..KEYS, 0u64..2).prop_map(|(key, request)| Op::Find { key, request }),
        // Most moves are of the newest entries. The others are of entries that are long gone.
        16 => (transition, 0usize..6, transaction, spent, back)
            .prop_map(|(transition, which, transaction, spent, back)| {
                Op::Move { transition, which, transaction, spent, back }
            }),
        2 => (0..KEYS).prop_map(|key| Op::LookUp { key }),
        1 => (0u64..400, owned).prop_map(|(idle, owned)| Op::Abandon { idle, owned }),
        1 => Just(Op::Prune),
        1 => Just(Op::Restart),
        2 => prop_oneof![4 => 0u64..500, 1 => 500..ENTRY_RETENTION]
            .prop_map(|seconds| Op::Wait { seconds }),
    ]
}

/// Two payers share the keys, so that different authorizations have the same payment identifier.
const PAYERS: [Address; 2] = [Address::repeat_byte(1), Address::repeat_byte(2)];

fn key(n: u64) -> AuthorizationKey {
    AuthorizationKey {
        payer: PAYERS[usize::from(n % 2 == 1)],
        ..support::key(n)
    }
}

async fn run(ops: Vec<Op>) {
    let mut ledger = Bench::new();
    let mut model = Model {
        now: NOW,
        ..Model::default()
    };
    for op in ops {
        step(&mut ledger, &mut model, &op).await;
    }
    for key_number in 0..KEYS {
        for request in 0..2 {
            let found = ledger
                .find(&key(key_number), &support::request(request), model.now)
                .await
                .unwrap();
            assert_eq!(found, model.status(key_number, request));
        }
    }
    check_undecided(&ledger, &model, State::Unknown).await;
    check_undecided(&ledger, &model, State::Undecidable).await;
    assert_eq!(ledger.open_counts().await, Ok(model.open_counts()));
    for (payer, credit) in PAYERS.into_iter().zip(model.credit) {
        assert_eq!(ledger.credit(payer).await, Ok(credit));
    }
    for (payer, paid) in PAYERS.into_iter().zip(model.paid) {
        assert_eq!(ledger.paid(payer).await, Ok(paid));
        assert_eq!(ledger.paid_sums().paid(payer).await, Ok(paid));
    }
}

async fn check_undecided(ledger: &Bench, model: &Model, state: State) {
    let undecided = match state {
        State::Unknown => ledger.undecided(None, 100).await.unwrap(),
        _ => ledger.undecidable(None, 100).await.unwrap(),
    };
    let mut expected: Vec<_> = model.entries.iter().filter(|e| e.state == state).collect();
    expected.sort_by_key(|e| e.id);
    assert_eq!(undecided.len(), expected.len());
    for (observed, expected) in undecided.iter().zip(expected) {
        assert_eq!(observed.entry, expected.id);
        assert_eq!(observed.transaction, expected.transaction);
        assert_eq!(observed.since, expected.changed_at);
        assert_eq!(observed.cause, expected.cause);
        assert_eq!(observed.payer, key(expected.key).payer);
        assert_eq!(
            observed.payload_json,
            support::settlement(expected.key).payment.payload().raw()
        );
    }
}

async fn step(ledger: &mut Bench, model: &mut Model, op: &Op) {
    let now = model.now;
    match *op {
        Op::Reserve {
            key: key_number,
            request,
            payment_id,
        } => {
            let expected = model.claim(key_number, request, payment_id);
            let claim = Claim {
                key: key(key_number),
                request: support::request(request),
                payment_id: payment_id.map(|id| format!("payment-{id}")),
                valid_before: now + WINDOW,
                now,
                ..support::claim(0)
            };
            match (ledger.reserve(claim).await.unwrap(), expected) {
                (Reservation::Known(observed), Some(expected)) => assert_eq!(observed, expected),
                (Reservation::Reserved(id), None) => {
                    assert!(
                        !model.issued.contains(&id) || model.entries.iter().all(|e| e.id != id)
                    );
                    model.issued.push(id);
                    let released = model.entries.iter().find(|e| e.key == key_number);
                    let attempted = released.is_some_and(|released| released.attempted);
                    model.entries.retain(|e| e.key != key_number);
                    model.entries.push(Entry {
                        id,
                        key: key_number,
                        request,
                        payment_id,
                        state: State::Reserved,
                        valid_before: now + WINDOW,
                        changed_at: now,
                        has_answer: false,
                        transaction: None,
                        cause: None,
                        attempted,
                        is_retired: false,
                    });
                }
                (observed, expected) => panic!("{op:?}: {observed:?}, not {expected:?}"),
            }
        }
        Op::Find {
            key: key_number,
            request,
        } => {
            let found = ledger
                .find(&key(key_number), &support::request(request), now)
                .await;
            assert_eq!(found, Ok(model.status(key_number, request)));
        }
        Op::Move { .. } => make(ledger, model, op).await,
        Op::LookUp { key: key_number } => {
            let found = ledger.look_up(&key(key_number)).await;
            assert_eq!(found, Ok(model.record(key_number)));
        }
        Op::Abandon { idle, ref owned } => {
            let until = now - idle;
            let newest = model.issued.iter().rev().zip(owned);
            let owned: Vec<EntryId> = newest.filter(|(_, is)| **is).map(|(id, _)| *id).collect();
            let expected = model.close_open(until, &owned, "abandoned");
            assert_eq!(ledger.abandon(owned, until, now).await, Ok(expected));
        }
        Op::Prune => assert_eq!(ledger.prune(now).await, Ok(model.prune())),
        Op::Restart => {
            ledger.reopen();
            assert_eq!(
                ledger.recover(now).await,
                Ok(model.close_open(u64::MAX, &[], "restart"))
            );
            // A server lists the unknown entries before it moves them.
            ledger.undecided(None, 100).await.unwrap();
            // Numbers are unique only within a run.
            model.issued = model.entries.iter().map(|e| e.id).collect();
        }
        Op::Wait { seconds } => model.now += seconds,
    }
}

/// Moves one of the newest entries, in the ledger and in the model.
async fn make(ledger: &Bench, model: &mut Model, op: &Op) {
    let Op::Move {
        transition,
        which,
        transaction,
        spent,
        back,
    } = *op
    else {
        return;
    };
    let Some(&id) = model.issued.iter().rev().nth(which) else {
        return;
    };
    let entry = model.entries.iter().find(|e| e.id == id);
    let number = entry.map_or(0, |entry| entry.key);
    let (now, cause) = (model.now - back, "test");
    let transaction = transaction.map(|t| format!("0x{t:02x}"));
    let made = Move {
        transition,
        transaction: transaction.clone(),
        cause,
        spent,
        now,
    };
    let expected = model.advance(id, made);
    let observed = match transition {
        Transition::StartWork => {
            ledger.start_work(id);
            return;
        }
        Transition::BeginSettlement => {
            let settlement = plain::settlement(number);
            ledger.begin_settlement(id, settlement, now).await
        }
        Transition::Settle => {
            let receipt = support::receipt(number);
            ledger.settle(id, key(number), receipt, now).await
        }
        Transition::Release => ledger.release(id, cause, Spent::by_payer(spent), now).await,
        Transition::MarkUnknown => ledger.mark_unknown(id, transaction, cause, now).await,
        Transition::MarkUndecidable => ledger.mark_undecidable(id, cause, now).await,
        Transition::ResolveSettled => {
            let resolution = Resolution::Settled(support::receipt(number));
            ledger.resolve(id, resolution, now).await
        }
        Transition::ResolveReleased => {
            let reason = cause.to_owned();
            ledger
                .resolve(id, Resolution::Released { reason }, now)
                .await
        }
    };
    assert_eq!(observed, expected, "{op:?}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    #[test]
    fn the_ledger_does_what_the_model_does(ops in prop::collection::vec(op(), 1..80)) {
        tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(run(ops));
    }
}
