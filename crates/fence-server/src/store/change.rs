//! The writes about an account: their conditions, their changes, and the record of each change in
//! the log. The stores execute them.

use alloy_primitives::{Address, B256};
use calldata_checks::UtcSeconds;
use delegation_fence::onchain::SignedDelegation;
use delegation_fence::{
    Admitted, Budget, Event, HaltReason, LogEntry, LogEvent, LogHead, LogRecord, MOST_GRANT_DAYS,
    Order, ReceivedGrant, ReceivedLimit, Refusal, Revocation, Rule, Signed, TOMBSTONE_SECONDS,
    Transaction, require_room_for_stranger,
};

use super::{Lease, StoreError};

pub(super) const DAY_SECONDS: u64 = 86_400;

/// Changes to one account, all or none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Write {
    /// The account.
    pub account: Address,
    /// The version of the [`View`](super::View) that the changes were judged on.
    pub version: u64,
    /// The lease that must still be held. Events of a plan need it.
    pub lease: Option<Lease>,
    /// The time, by the server's clock.
    pub at: UtcSeconds,
    /// The changes.
    pub changes: Vec<Change>,
}

impl Write {
    /// Requires the version and the token of the lease that the account has now.
    ///
    /// # Errors
    /// [`StoreError::Conflict`], [`StoreError::Fenced`]
    pub(super) fn require(&self, version: u64, token: u64) -> Result<(), StoreError> {
        let account = self.account;
        if version != self.version {
            return Err(StoreError::Conflict { account });
        }
        match self.lease {
            Some(lease) if lease.account != account || lease.token != token => {
                Err(StoreError::Fenced { account })
            }
            _ => Ok(()),
        }
    }
}

/// The account of a revocation, as far as the service knows it. An account with a received grant is
/// known, whatever a write says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Holder {
    /// It has a grant or a wallet here. Its revocations have a bound of their own.
    Known,
    /// Only the chain knows it: it runs the code under which an account can delegate. All such
    /// accounts share room for so many revocations.
    Delegating {
        /// The room.
        most: u64,
    },
    /// Anybody with a key. All of them share room for so many revocations.
    Stranger {
        /// The room.
        most: u64,
    },
}

impl Holder {
    /// Sets the room aside, for a revocation that was acknowledged before.
    #[must_use]
    pub(crate) const fn without_bound(self) -> Self {
        match self {
            Self::Known => Self::Known,
            Self::Delegating { .. } => Self::Delegating { most: u64::MAX },
            Self::Stranger { .. } => Self::Stranger { most: u64::MAX },
        }
    }

    /// The number of its shared room in the store.
    pub(super) fn pool(self) -> Option<i32> {
        self.shared().map(|(pool, _, _)| pool)
    }

    /// The room that it shares with others: its number in the store, its name and its size.
    const fn shared(self) -> Option<(i32, &'static str, u64)> {
        match self {
            Self::Known => None,
            Self::Stranger { most } => Some((1, "unknown accounts", most)),
            Self::Delegating { most } => Some((2, "accounts that have delegation code only", most)),
        }
    }
}

/// How an end of a grant is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    /// The number of the shared room that it takes; 0 for none.
    pub(super) pool: i32,
    /// The time, in Unix seconds, at which it is deleted. `None` for the end of a received grant
    /// and the end of all grants of a known account, which are never deleted.
    pub(super) kept_until: Option<u64>,
}

impl Place {
    /// The place of the end of a received grant.
    pub(super) const FOR_EVER: Self = Self {
        pool: 0,
        kept_until: None,
    };

    /// The place of an end whose grant was never received, or of all grants. `kept` is how many
    /// records the holder's shared room has.
    ///
    /// # Errors
    /// `revocations_full`
    pub(super) fn of(
        grant_id: B256,
        holder: Holder,
        at: UtcSeconds,
        kept: u64,
    ) -> Result<Self, Refusal> {
        let until = at.unix().saturating_add(TOMBSTONE_SECONDS);
        match holder.shared() {
            Some((pool, whose, most)) => {
                require_room_for_stranger(whose, kept, most)?;
                Ok(Self {
                    pool,
                    kept_until: Some(until),
                })
            }
            None => Ok(Self {
                pool: 0,
                kept_until: (!grant_id.is_zero()).then_some(until),
            }),
        }
    }
}

/// One change, with its record in the grant's log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// A received grant, with its delegations.
    Grant(Box<ReceivedGrant>, Vec<SignedDelegation>),
    /// A received limit.
    Limit(Box<ReceivedLimit>),
    /// The end of a grant. With the id of 32 zero bytes, the end of every grant of the account that
    /// was issued until then. The first end of a grant is kept; the time of the end of all grants
    /// only rises.
    End {
        /// The grant.
        grant_id: B256,
        /// The time, in Unix seconds.
        ended_at: u64,
        /// The signed revocation of the holder. `None` when the service ends the grant.
        signed: Option<Box<Signed<Revocation>>>,
        /// Whose room the end takes if its grant was never received.
        holder: Holder,
    },
    /// An admitted plan.
    Accept(Box<Acceptance>),
    /// An event of a plan.
    Event {
        /// The plan.
        payload_digest: B256,
        /// Its grant.
        grant_id: B256,
        /// The number of events before this one.
        number: u64,
        /// The event.
        event: Event,
        /// Whether the plan counts as a use of the grant from now on.
        counts: bool,
        /// Whether the plan is still open afterwards.
        is_open: bool,
    },
    /// The new gas cost of a plan.
    Gas {
        /// The plan.
        payload_digest: B256,
        /// The cost, in micro US dollars.
        micro_usd: u64,
    },
}

/// An admitted plan, with everything that its admission depended on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Acceptance {
    /// The order.
    pub order: Signed<Order>,
    /// The tool's arguments, unchanged.
    pub request: String,
    /// The plan, unchanged.
    pub envelope: String,
    /// The admitted steps, which are sent.
    pub admitted: Admitted,
    /// The budget for its gas. The write judges it again.
    pub budget: Budget,
}

impl Change {
    /// The record of the change in a grant's log. The end of a grant is not included: its records
    /// are written where the ended grants are known.
    pub(super) fn entry(&self, at: UtcSeconds) -> Option<(B256, LogEntry)> {
        let plan = |event, payload_digest| LogEntry {
            payload_digest: Some(payload_digest),
            ..LogEntry::new(at, event)
        };
        match self {
            Self::Grant(received, _) => Some((
                received.grant().grant_id,
                LogEntry::new(at, LogEvent::Granted),
            )),
            Self::Limit(received) => Some((
                received.limit().grant_id,
                LogEntry::new(at, LogEvent::Limited),
            )),
            Self::Accept(acceptance) => Some((
                acceptance.admitted.grant_id,
                plan(LogEvent::Admitted, acceptance.admitted.payload_digest),
            )),
            Self::Event {
                payload_digest,
                grant_id,
                event,
                ..
            } => Some((
                *grant_id,
                send_entry(*event, plan(LogEvent::Finished, *payload_digest)),
            )),
            Self::End { .. } | Self::Gas { .. } => None,
        }
    }
}

/// The last record of a log.
#[derive(Debug, Clone, Copy)]
pub(super) struct LastRecord {
    pub(super) seq: u64,
    pub(super) hash: B256,
    /// Unix seconds.
    pub(super) at: u64,
}

/// The record that follows in a log, and its time. A clock that was set back does not take the
/// log's time back.
///
/// # Errors
/// None, as [`LogHead::append`].
pub(super) fn next_record(
    last: Option<LastRecord>,
    mut entry: LogEntry,
) -> Result<(LogRecord, UtcSeconds), Refusal> {
    let mut head = LogHead::EMPTY;
    if let Some(last) = last {
        head = LogHead {
            next_seq: last.seq.saturating_add(1),
            hash: last.hash,
        };
        entry.at = entry.at.max(UtcSeconds::from_unix(last.at));
    }
    let at = entry.at;
    Ok((head.append(entry)?, at))
}

/// The first second of the UTC day of a time.
pub(super) fn day_of(at: UtcSeconds) -> u64 {
    let at = at.unix();
    at.saturating_sub(at % DAY_SECONDS)
}

/// The earliest time of issue of a grant that may still live.
pub(super) fn oldest_live(now: UtcSeconds) -> u64 {
    let days = MOST_GRANT_DAYS.saturating_mul(DAY_SECONDS);
    now.unix().saturating_sub(days)
}

/// The log's record of an event of a send. `of_plan` holds the time and the plan.
fn send_entry(event: Event, of_plan: LogEntry) -> LogEntry {
    let about = |event, transaction: Transaction| LogEntry {
        event,
        step: Some(transaction),
        ..of_plan.clone()
    };
    match event {
        Event::Ordered(transaction) => about(LogEvent::Ordered, transaction),
        Event::Unsent(transaction) | Event::Void(transaction) | Event::Gone(transaction) => {
            about(LogEvent::Lost, transaction)
        }
        Event::Sealed {
            transaction,
            hash,
            block,
            allowance,
            ..
        } => LogEntry {
            tx_hash: Some(hash),
            block_hash: Some(block.hash),
            read_back: Some(allowance),
            ..about(LogEvent::Sealed, transaction)
        },
        Event::Landed(amount) => LogEntry {
            event: LogEvent::Landed,
            read_back: Some(amount),
            ..of_plan
        },
        Event::Halting { at, reason } => LogEntry {
            refused_by: match reason {
                HaltReason::Refused(rule) => Some(rule),
                HaltReason::Over => Some(Rule::PlanExpired),
                HaltReason::Reverted
                | HaltReason::WouldRevert
                | HaltReason::Displaced
                | HaltReason::Allowance => None,
            },
            ..about(LogEvent::Halted, Transaction::Step(at))
        },
        Event::ReadBack { allowance, block } => LogEntry {
            event: LogEvent::ReadBack,
            read_back: Some(allowance),
            block_hash: Some(block.hash),
            ..of_plan
        },
        Event::ClearImpossible(_) => LogEntry {
            event: LogEvent::ClearImpossible,
            ..of_plan
        },
        Event::Finished => of_plan,
    }
}
