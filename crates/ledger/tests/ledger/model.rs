//! Random histories, compared move by move with a journal in plain memory.

use alloy_primitives::Address;
use ledger::{
    Claim, EntryId, Journal, LedgerError, Pruned, Recovery, Reservation, Standing, State,
    StoredAnswer, Transition,
};
use proptest::prelude::*;
use x402_wire::AuthorizationKey;

use crate::support::{self, Bench, NOW, RETENTION};

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
    },
    Abandon {
        idle: u64,
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
    prop_oneof![
        6 => (0..KEYS, 0u64..2, prop::option::of(0u8..3))
            .prop_map(|(key, request, payment_id)| Op::Reserve { key, request, payment_id }),
        2 => (0..KEYS, 0u64..2).prop_map(|(key, request)| Op::Find { key, request }),
        // Mostly the newest entries; the rest are long gone.
        12 => (transition, 0usize..6, transaction)
            .prop_map(|(transition, which, transaction)| Op::Move { transition, which, transaction }),
        1 => (0u64..400).prop_map(|idle| Op::Abandon { idle }),
        1 => Just(Op::Prune),
        1 => Just(Op::Restart),
        2 => (0u64..500).prop_map(|seconds| Op::Wait { seconds }),
    ]
}

/// Two payers share the keys, so that payment identifiers meet across authorizations.
fn key(n: u64) -> AuthorizationKey {
    let payer = if n.is_multiple_of(2) {
        Address::repeat_byte(1)
    } else {
        Address::repeat_byte(2)
    };
    AuthorizationKey {
        payer,
        ..support::key(n)
    }
}

struct Entry {
    id: EntryId,
    key: u64,
    request: u64,
    payment_id: Option<u8>,
    state: State,
    valid_before: u64,
    changed_at: u64,
    has_answer: bool,
    transaction: Option<String>,
}

#[derive(Default)]
struct Model {
    entries: Vec<Entry>,
    /// Every number that was ever given out.
    issued: Vec<EntryId>,
    now: u64,
}

impl Model {
    fn standing(&self, key: u64, request: u64) -> Option<Standing> {
        let entry = self
            .entries
            .iter()
            .find(|e| e.key == key && e.state != State::Released)?;
        Some(if entry.request != request {
            Standing::BoundElsewhere
        } else {
            match entry.state {
                State::Unknown => Standing::Unknown {
                    entry: entry.id,
                    transaction: entry.transaction.clone(),
                },
                State::Settled if entry.has_answer && entry.changed_at + RETENTION > self.now => {
                    Standing::Answered(StoredAnswer {
                        settled_at: entry.changed_at,
                        ..support::stored(key, 0)
                    })
                }
                State::Settled => Standing::AnswerExpired,
                state => Standing::InFlight {
                    entry: entry.id,
                    state,
                },
            }
        })
    }

    /// What a claim must be answered; `None` for a reservation.
    fn claim(&self, key: u64, request: u64, payment_id: Option<u8>) -> Option<Standing> {
        self.standing(key, request).or_else(|| {
            let taken = self.entries.iter().any(|e| {
                payment_id.is_some()
                    && e.payment_id == payment_id
                    && e.key % 2 == key % 2
                    && e.state != State::Released
            });
            taken.then_some(Standing::BoundElsewhere)
        })
    }

    fn advance(
        &mut self,
        id: EntryId,
        transition: Transition,
        transaction: Option<String>,
    ) -> Result<(), LedgerError> {
        let now = self.now;
        let Some(entry) = self.entries.iter_mut().find(|e| e.id == id) else {
            return Err(LedgerError::NoSuchEntry { entry: id });
        };
        if !transition.from().contains(&entry.state) {
            return Err(LedgerError::WrongState {
                entry: id,
                transition,
                expected: transition.from(),
                observed: entry.state,
            });
        }
        match transition {
            Transition::StartWork => {
                entry.state = State::Working;
                return Ok(());
            }
            Transition::BeginSettlement => entry.has_answer = true,
            Transition::Settle => {}
            Transition::Release => entry.has_answer = false,
            Transition::MarkUnknown => {
                entry.transaction = transaction.or(entry.transaction.take());
                if entry.state == State::Unknown {
                    return Ok(());
                }
            }
        }
        entry.state = transition.to();
        entry.changed_at = now;
        Ok(())
    }

    fn close_open(&mut self, until: u64) -> Recovery {
        let mut recovery = Recovery::default();
        for entry in &mut self.entries {
            if entry.changed_at <= until && entry.state < State::Unknown {
                if entry.state == State::Settling {
                    entry.state = State::Unknown;
                    recovery.unknown += 1;
                } else {
                    entry.state = State::Released;
                    recovery.released += 1;
                }
                entry.changed_at = self.now;
            }
        }
        recovery
    }

    fn prune(&mut self) -> Pruned {
        let mut pruned = Pruned::default();
        let now = self.now;
        self.entries.retain_mut(|entry| {
            if entry.state < State::Settled || entry.changed_at + RETENTION > now {
                return true;
            }
            if entry.valid_before <= now {
                pruned.entries += 1;
                return false;
            }
            if entry.has_answer {
                entry.has_answer = false;
                pruned.answers += 1;
            }
            true
        });
        pruned
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
            assert_eq!(found, model.standing(key_number, request));
        }
    }
    let undecided = ledger.undecided(None, 100).await.unwrap();
    let mut expected: Vec<_> = model
        .entries
        .iter()
        .filter(|e| e.state == State::Unknown)
        .collect();
    expected.sort_by_key(|e| e.id);
    assert_eq!(undecided.len(), expected.len());
    for (observed, expected) in undecided.iter().zip(expected) {
        assert_eq!(observed.entry, expected.id);
        assert_eq!(observed.transaction, expected.transaction);
        assert_eq!(observed.since, expected.changed_at);
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
                (Reservation::Standing(observed), Some(expected)) => assert_eq!(observed, expected),
                (Reservation::Reserved(id), None) => {
                    assert!(
                        !model.issued.contains(&id) || model.entries.iter().all(|e| e.id != id)
                    );
                    model.issued.push(id);
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
            assert_eq!(found, Ok(model.standing(key_number, request)));
        }
        Op::Move {
            transition,
            which,
            transaction,
        } => {
            let Some(&id) = model.issued.iter().rev().nth(which) else {
                return;
            };
            let key_number = model
                .entries
                .iter()
                .find(|e| e.id == id)
                .map_or(0, |e| e.key);
            let transaction = transaction.map(|t| format!("0x{t:02x}"));
            let expected = model.advance(id, transition, transaction.clone());
            let observed = match transition {
                Transition::StartWork => {
                    ledger.start_work(id);
                    return;
                }
                Transition::BeginSettlement => {
                    ledger
                        .begin_settlement(id, support::settlement(key_number), now)
                        .await
                }
                Transition::Settle => ledger.settle(id, support::receipt(key_number), now).await,
                Transition::Release => ledger.release(id, "refused", now).await,
                Transition::MarkUnknown => {
                    ledger.mark_unknown(id, transaction, "timeout", now).await
                }
            };
            assert_eq!(observed, expected, "{op:?}");
        }
        Op::Abandon { idle } => {
            let until = now - idle;
            assert_eq!(
                ledger.abandon(until, now).await,
                Ok(model.close_open(until))
            );
        }
        Op::Prune => assert_eq!(ledger.prune(now).await, Ok(model.prune())),
        Op::Restart => {
            ledger.reopen();
            assert_eq!(ledger.recover(now).await, Ok(model.close_open(u64::MAX)));
            // Numbers are only unique within a run.
            model.issued = model.entries.iter().map(|e| e.id).collect();
        }
        Op::Wait { seconds } => model.now += seconds,
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    #[test]
    fn the_ledger_does_what_the_model_does(ops in prop::collection::vec(op(), 1..80)) {
        tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(run(ops));
    }
}
