//! The states of an entry and the moves between them.

use std::{fmt, ops::RangeInclusive};

/// One entry of the journal: one reservation of one authorization.
///
/// An authorization that is reserved again after a release gets a new entry, so whoever still holds
/// the old id can no longer change anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EntryId(i64);

impl EntryId {
    /// The entry with this number, as the journal printed it.
    #[must_use]
    pub const fn new(number: i64) -> Self {
        Self(number)
    }

    /// The entry's number. Numbers grow in the order of reservation.
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

/// Where an entry stands.
///
/// Entries before [`State::Unknown`] are in flight: a call works on them. Unknown entries are
/// decided by asking the chain or the facilitator, undecidable ones by the operator. Nothing leaves
/// [`State::Settled`] and [`State::Released`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum State {
    /// The authorization is claimed; nothing has been done yet.
    Reserved,
    /// The work that the payment is for is being done.
    Working,
    /// The answer is stored; the payment may be on its way.
    Settling,
    /// The settlement ended without a verdict: charged or not, only the chain or the facilitator
    /// can tell.
    Unknown,
    /// Charged; the answer belongs to the payer.
    Settled,
    /// Not charged; the authorization may be reserved again.
    Released,
    /// Charged or not, and nothing that a server can ask will tell: left to the operator.
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

    /// Whether a call works on the entry: its settlement has neither been decided nor ended without
    /// a verdict.
    #[must_use]
    pub const fn is_in_flight(self) -> bool {
        matches!(self, Self::Reserved | Self::Working | Self::Settling)
    }

    /// The number that stands for the state in storage.
    ///
    /// SQLite stores 0 and 1 without a byte and every other small integer in one. All states take
    /// one byte, so that a change of state alone never changes the size of a row, which lets SQLite
    /// overwrite it in place.
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

/// A move of an entry from one state to another. Each is one conditional write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Transition {
    /// The work begins.
    StartWork,
    /// The answer is complete; settlement is about to be asked for.
    BeginSettlement,
    /// The charge is certain.
    Settle,
    /// It is certain that nothing was charged.
    Release,
    /// The settlement ended without a verdict, or more became known about one that did.
    MarkUnknown,
    /// No server can find out any more what became of the settlement.
    MarkUndecidable,
    /// The operator has found that it was charged.
    ResolveSettled,
    /// The operator has found that nothing was charged.
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
            // The mark of `StartWork` is not awaited, so it may still be on its way.
            Self::BeginSettlement => State::Reserved..=State::Working,
            Self::Settle | Self::MarkUnknown => State::Settling..=State::Unknown,
            Self::Release => State::Reserved..=State::Unknown,
            Self::MarkUndecidable => State::Unknown..=State::Unknown,
            Self::ResolveSettled | Self::ResolveReleased => State::Undecidable..=State::Undecidable,
        }
    }

    /// The state in which the move ends.
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
    fn what_is_in_flight_comes_before_unknown() {
        for state in State::ALL {
            assert_eq!(state.is_in_flight(), state < State::Unknown);
        }
    }

    /// Nobody but the operator decides an undecidable entry.
    #[test]
    fn only_the_operator_moves_what_is_undecidable() {
        for transition in Transition::ALL {
            let by_operator = matches!(
                transition,
                Transition::ResolveSettled | Transition::ResolveReleased
            );
            assert_eq!(transition.from().contains(&State::Undecidable), by_operator);
        }
    }
}
