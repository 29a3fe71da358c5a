//! The cursor of a history: where a page starts.

use std::{fmt, str::FromStr};

use jiff::Timestamp;

use super::{HistoryKind, HistoryKinds};

/// The rest of a history: the items from `end` back to `start`, without the first `skip` items of
/// the moment `end`. Callers must not rely on the form of its text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cursor {
    /// The earliest time, in whole milliseconds.
    pub start: Timestamp,
    /// The latest time, in whole milliseconds.
    pub end: Timestamp,
    /// How many items of exactly `end` earlier pages contain.
    pub skip: usize,
    /// The kinds that the first page had.
    pub kinds: HistoryKinds,
}

/// The text is not a cursor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected the next_cursor of an earlier answer")]
pub struct CursorError;

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kinds = match self.kinds {
            HistoryKinds::All => 'a',
            HistoryKinds::Only(HistoryKind::Fill) => 't',
            HistoryKinds::Only(HistoryKind::Funding) => 'f',
            HistoryKinds::Only(HistoryKind::Ledger) => 'l',
        };
        let (start, end) = (self.start.as_millisecond(), self.end.as_millisecond());
        write!(f, "{kinds}{start:x}-{end:x}-{:x}", self.skip)
    }
}

impl FromStr for Cursor {
    type Err = CursorError;

    fn from_str(text: &str) -> Result<Self, CursorError> {
        let mut rest = text.chars();
        let kinds = match rest.next() {
            Some('a') => HistoryKinds::All,
            Some('t') => HistoryKinds::Only(HistoryKind::Fill),
            Some('f') => HistoryKinds::Only(HistoryKind::Funding),
            Some('l') => HistoryKinds::Only(HistoryKind::Ledger),
            _ => return Err(CursorError),
        };
        let time = |text: &str| {
            let millis = i64::from_str_radix(text, 16)
                .ok()
                .filter(|millis| *millis >= 0)?;
            Timestamp::from_millisecond(millis).ok()
        };
        let mut parts = rest.as_str().split('-');
        let cursor = (|| {
            let (start, end) = (time(parts.next()?)?, time(parts.next()?)?);
            let skip = usize::from_str_radix(parts.next()?, 16).ok()?;
            (parts.next().is_none() && start <= end).then_some(Self {
                start,
                end,
                skip,
                kinds,
            })
        })();
        // Each cursor has one spelling. Any other one is refused.
        cursor
            .filter(|cursor| cursor.to_string() == text)
            .ok_or(CursorError)
    }
}
