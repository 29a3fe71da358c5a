//! The states of an entry and the moves between them.

use std::{fmt, ops::RangeInclusive};

/// One entry of the journal: one reservation of one authorization.
///
/// An authorization that is reserved again after a release gets a new entry. So whoever still has
/// the old id can no longer change anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EntryId(i64);

impl EntryId {
    /// The id of the entry with this number.
    #[must_use]
    pub const fn new(number: i64) -> Self {
        Self(number)
    }

    /// The number. Later reservations have higher numbers.
    #[must_use]
    pub const fn number(self) -> i64 {
        self.0
    }
}

impl fmt::Display for EntryId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The state of an entry.
///
/// The states before [`State::Unknown`] are in flight: a call works on the entry. A reconciler
/// decides unknown entries by asking the chain or the facilitator. The operator decides undecidable
/// ones. [`State::Settled`] and [`State::Released`] are final.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum State {
    /// The authorization is claimed, and the work has not begun.
    Reserved,
    /// The paid work is in progress.
    Working,
    /// The answer is stored, and the payment may be in progress.
    Settling,
    /// The settlement ended without a verdict. Only the chain or the facilitator knows whether the
    /// payment was charged.
    Unknown,
    /// The payment was charged, and the answer belongs to the payer.
    Settled,
    /// The payment was not charged, and the authorization may be reserved again: after a settlement
    /// attempt by the same request only.
    Released,
    /// No source that a server can ask knows whether the payment was charged. The operator must
    /// decide.
    Undecidable,
}

impl State {
    /// Every state, in order.
    pub const ALL: [Self; 7] = [
        Self::Reserved,
        Self::Working,
        Self::Settling,
        Self::Unknown,
        Self::Settled,
        Self::Released,
        Self::Undecidable,
    ];

    /// The stable snake_case name, for logs and metrics.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Reserved => "reserved",
            Self::Working => "working",
            Self::Settling => "settling",
            Self::Unknown => "unknown",
            Self::Settled => "settled",
            Self::Released => "released",
            Self::Undecidable => "undecidable",
        }
    }

    /// Whether a call works on the entry. Its settlement is then neither decided nor ended without
    /// a verdict.
    #[must_use]
    pub const fn is_in_flight(self) -> bool {
        matches!(self, Self::Reserved | Self::Working | Self::Settling)
    }

    /// The number of the state in storage.
    ///
    /// SQLite stores 0 and 1 in no byte, and every other small integer in one byte. All states take
    /// one byte. So a change of state does not change the size of a row, and SQLite overwrites the
    /// row in place.
    pub(crate) const fn code(self) -> i64 {
        match self {
            Self::Reserved => 2,
            Self::Working => 3,
            Self::Settling => 4,
            Self::Unknown => 5,
            Self::Settled => 6,
            Self::Released => 7,
            Self::Undecidable => 8,
        }
    }

    pub(crate) fn from_code(code: i64) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.code() == code)
    }
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A move of an entry from one state to another. Every move is one conditional write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Transition {
    /// The work begins.
    StartWork,
    /// The answer is complete, and the settlement request follows.
    BeginSettlement,
    /// It is certain that the payment was charged.
    Settle,
    /// It is certain that nothing was charged.
    Release,
    /// The settlement ended without a verdict, or its transaction or cause became known later.
    MarkUnknown,
    /// No server can find out the result of the settlement any more.
    MarkUndecidable,
    /// The operator decides that the payment was charged.
    ResolveSettled,
    /// The operator decides that nothing was charged.
    ResolveReleased,
}

impl Transition {
    /// Every transition.
    pub const ALL: [Self; 8] = [
        Self::StartWork,
        Self::BeginSettlement,
        Self::Settle,
        Self::Release,
        Self::MarkUnknown,
        Self::MarkUndecidable,
        Self::ResolveSettled,
        Self::ResolveReleased,
    ];

    /// The states from which the move is allowed.
    #[must_use]
    pub const fn from(self) -> RangeInclusive<State> {
        match self {
            Self::StartWork => State::Reserved..=State::Reserved,
            // Nobody waits for the mark of `StartWork`, so it may be missing.
            Self::BeginSettlement => State::Reserved..=State::Working,
            Self::Settle | Self::MarkUnknown => State::Settling..=State::Unknown,
            Self::Release => State::Reserved..=State::Unknown,
            Self::MarkUndecidable => State::Unknown..=State::Unknown,
            Self::ResolveSettled | Self::ResolveReleased => State::Undecidable..=State::Undecidable,
        }
    }

    /// The state after the move.
    #[must_use]
    pub const fn to(self) -> State {
        match self {
            Self::StartWork => State::Working,
            Self::BeginSettlement => State::Settling,
            Self::Settle | Self::ResolveSettled => State::Settled,
            Self::Release | Self::ResolveReleased => State::Released,
            Self::MarkUnknown => State::Unknown,
            Self::MarkUndecidable => State::Undecidable,
        }
    }

    /// The stable snake_case name, for logs and errors.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::StartWork => "start_work",
            Self::BeginSettlement => "begin_settlement",
            Self::Settle => "settle",
            Self::Release => "release",
            Self::MarkUnknown => "mark_unknown",
            Self::MarkUndecidable => "mark_undecidable",
            Self::ResolveSettled => "resolve_settled",
            Self::ResolveReleased => "resolve_released",
        }
    }
}

impl fmt::Display for Transition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_keep_the_order_and_read_back() {
        for pair in State::ALL.windows(2) {
            assert!(pair[0] < pair[1] && pair[0].code() < pair[1].code());
        }
        for state in State::ALL {
            assert_eq!(State::from_code(state.code()), Some(state));
            assert!((2..=127).contains(&state.code()), "{state} takes one byte");
        }
        assert_eq!(State::from_code(0), None);
    }

    #[test]
    fn nothing_leaves_an_end_state() {
        for transition in Transition::ALL {
            for end in [State::Settled, State::Released] {
                assert!(!transition.from().contains(&end), "{transition}");
            }
        }
    }

    #[test]
    fn states_in_flight_come_before_unknown() {
        for state in State::ALL {
            assert_eq!(state.is_in_flight(), state < State::Unknown);
        }
    }

    /// Only the operator decides an undecidable entry.
    #[test]
    fn only_the_operator_moves_undecidable_entries() {
        for transition in Transition::ALL {
            let by_operator = matches!(
                transition,
                Transition::ResolveSettled | Transition::ResolveReleased
            );
            assert_eq!(transition.from().contains(&State::Undecidable), by_operator);
        }
    }
}
