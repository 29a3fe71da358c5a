//! A journal in plain memory.

use ledger::{
    EntryId, LedgerError, Occupant, OpenCounts, PaymentRecord, PaymentStatus, PendingSettlement,
    Pruned, Recovery, State, StoredAnswer, Transition,
};

use crate::support::{self, CREDIT_CAP, ENTRY_RETENTION, PRIVATE_RETENTION, RETENTION};

/// The key whose answers are only about their payer.
const PRIVATE: u64 = 3;

pub(super) struct Entry {
    pub(super) id: EntryId,
    pub(super) key: u64,
    pub(super) request: u64,
    pub(super) payment_id: Option<u8>,
    pub(super) state: State,
    pub(super) valid_before: u64,
    pub(super) changed_at: u64,
    pub(super) has_answer: bool,
    pub(super) transaction: Option<String>,
    pub(super) cause: Option<String>,
    pub(super) attempted: bool,
    pub(super) is_retired: bool,
}

/// The data with which the settlement of a key begins.
pub(super) fn settlement(key: u64) -> PendingSettlement {
    PendingSettlement {
        private: key == PRIVATE,
        ..support::settlement(key)
    }
}

impl Entry {
    fn answer_retention(&self) -> u64 {
        match self.key {
            PRIVATE => PRIVATE_RETENTION,
            _ => RETENTION,
        }
    }

    pub(super) fn end_uncharged(&mut self, reason: &str) {
        self.attempted |= self.state >= State::Settling;
        self.has_answer = false;
        self.cause = Some(reason.to_owned());
    }
}

/// A move and its data.
pub(super) struct Move<'a> {
    pub(super) transition: Transition,
    pub(super) transaction: Option<String>,
    pub(super) cause: &'a str,
    pub(super) spent: u64,
    pub(super) now: u64,
}

#[derive(Default)]
pub(super) struct Model {
    pub(super) entries: Vec<Entry>,
    /// The credit of each payer.
    pub(super) credit: [u64; 2],
    /// The sum of each payer.
    pub(super) paid: [u64; 2],
    /// The numbers of all entries so far.
    pub(super) issued: Vec<EntryId>,
    pub(super) now: u64,
}

impl Model {
    pub(super) fn status(&self, key: u64, request: u64) -> Option<PaymentStatus> {
        let entry = self.entries.iter().find(|e| e.key == key)?;
        let is_free = entry.state == State::Released && !entry.attempted;
        if !is_free && entry.request != request {
            return Some(PaymentStatus::BoundElsewhere);
        }
        if entry.state == State::Released {
            let reason = entry.cause.clone().unwrap_or_default();
            return entry
                .is_retired
                .then_some(PaymentStatus::Retired { reason });
        }
        let transaction = || entry.transaction.clone();
        Some(match entry.state {
            State::Unknown => PaymentStatus::Unknown {
                entry: entry.id,
                transaction: transaction(),
            },
            State::Undecidable => PaymentStatus::Undecidable {
                entry: entry.id,
                transaction: transaction(),
            },
            State::Settled
                if entry.has_answer && entry.changed_at + entry.answer_retention() > self.now =>
            {
                PaymentStatus::Answered(StoredAnswer {
                    settled_at: entry.changed_at,
                    entry: entry.id,
                    ..support::stored(key, 0)
                })
            }
            State::Settled => PaymentStatus::AnswerExpired {
                transaction: support::receipt(key).transaction,
            },
            state => PaymentStatus::InFlight {
                entry: entry.id,
                state,
            },
        })
    }

    /// Returns the expected answer to a claim. `None` when the claim must get a reservation.
    pub(super) fn claim(
        &self,
        key_number: u64,
        request: u64,
        payment_id: Option<u8>,
    ) -> Option<PaymentStatus> {
        self.status(key_number, request).or_else(|| {
            let taken = self.entries.iter().find(|e| {
                payment_id.is_some()
                    && e.payment_id == payment_id
                    && e.key % 2 == key_number % 2
                    && e.state != State::Released
            })?;
            let settled = taken.state == State::Settled;
            let transaction = settled.then(|| support::receipt(taken.key).transaction);
            let key = Some(super::key(taken.key));
            Some(match taken.request == request {
                true => PaymentStatus::Occupied(Occupant {
                    entry: taken.id,
                    key,
                    state: taken.state,
                    transaction,
                    by_identifier: true,
                    is_action: false,
                    is_delivered: false,
                }),
                false => PaymentStatus::IdentifierTaken { transaction, key },
            })
        })
    }

    pub(super) fn record(&self, key: u64) -> Option<PaymentRecord> {
        let entry = self.entries.iter().find(|e| e.key == key)?;
        let state = entry.state;
        Some(PaymentRecord {
            entry: entry.id,
            state,
            since: entry.changed_at,
            is_repetition: false,
            is_retired: entry.is_retired,
            transaction: match state {
                State::Settled => Some(support::receipt(key).transaction),
                State::Unknown | State::Undecidable => entry.transaction.clone(),
                _ => None,
            },
            reason: entry.cause.clone().filter(|_| state != State::Settled),
            attempted: entry.attempted || state >= State::Settling && state != State::Released,
        })
    }

    pub(super) fn open_counts(&self) -> OpenCounts {
        let count = |is: fn(State) -> bool| {
            let entries = self.entries.iter().filter(|entry| is(entry.state));
            u64::try_from(entries.count()).unwrap()
        };
        let unknown = self.entries.iter().filter(|e| e.state == State::Unknown);
        OpenCounts {
            in_flight: count(State::is_in_flight),
            unknown: count(|state| state == State::Unknown),
            undecidable: count(|state| state == State::Undecidable),
            oldest_unknown: unknown.map(|entry| entry.changed_at).min(),
        }
    }

    pub(super) fn advance(&mut self, id: EntryId, made: Move<'_>) -> Result<(), LedgerError> {
        let Some(entry) = self.entries.iter_mut().find(|e| e.id == id) else {
            return Err(LedgerError::NoSuchEntry { entry: id });
        };
        let transition = made.transition;
        if !transition.from().contains(&entry.state) {
            return Err(LedgerError::WrongState {
                entry: id,
                transition,
                expected: transition.from(),
                observed: entry.state,
            });
        }
        let payer = usize::from(entry.key % 2 == 1);
        let credit = &mut self.credit[payer];
        match transition {
            Transition::StartWork => {
                entry.state = State::Working;
                return Ok(());
            }
            Transition::BeginSettlement => entry.has_answer = true,
            Transition::Settle | Transition::ResolveSettled => {
                *credit = (*credit + 2_000).min(CREDIT_CAP);
                self.paid[payer] += 2_000;
            }
            Transition::Release => {
                entry.end_uncharged(made.cause);
                *credit = credit.saturating_sub(made.spent);
            }
            Transition::ResolveReleased => {
                entry.end_uncharged(made.cause);
                entry.is_retired = entry.attempted;
            }
            Transition::MarkUnknown => {
                entry.transaction = made.transaction.or(entry.transaction.take());
                entry.cause = Some(made.cause.to_owned());
                if entry.state == State::Unknown {
                    return Ok(());
                }
            }
            Transition::MarkUndecidable => entry.cause = Some(made.cause.to_owned()),
        }
        entry.state = transition.to();
        entry.changed_at = entry.changed_at.max(made.now);
        Ok(())
    }

    pub(super) fn close_open(&mut self, until: u64, owned: &[EntryId], cause: &str) -> Recovery {
        let mut recovery = Recovery::default();
        for entry in &mut self.entries {
            let is_old = entry.changed_at <= until && !owned.contains(&entry.id);
            if is_old && entry.state.is_in_flight() {
                if entry.state == State::Settling {
                    entry.state = State::Unknown;
                    entry.cause = Some(cause.to_owned());
                    recovery.unknown += 1;
                } else {
                    entry.end_uncharged(cause);
                    entry.state = State::Released;
                    recovery.released += 1;
                }
                entry.changed_at = entry.changed_at.max(self.now);
            }
        }
        recovery
    }

    pub(super) fn prune(&mut self) -> Pruned {
        // No authorization of the model is endless.
        let mut pruned = Pruned {
            endless: Some(0),
            ..Pruned::default()
        };
        let now = self.now;
        self.entries.retain_mut(|entry| {
            let retention = match entry.state {
                State::Settled => ENTRY_RETENTION,
                State::Released if entry.attempted => ENTRY_RETENTION,
                State::Released => RETENTION,
                _ => return true,
            };
            if entry.valid_before <= now && entry.changed_at + retention <= now {
                pruned.entries += 1;
                return false;
            }
            if entry.has_answer && entry.changed_at + entry.answer_retention() <= now {
                entry.has_answer = false;
                pruned.answers += 1;
            }
            true
        });
        pruned
    }
}
