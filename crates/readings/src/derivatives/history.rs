//! The history of an account at Hyperliquid. Fills, funding payments and ledger updates are in one
//! list, newest first, in pages without gaps or overlaps.

mod cursor;
mod item;

use jiff::Timestamp;
use serde::Serialize;

pub use self::{
    cursor::{Cursor, CursorError},
    item::{Fill, FundingPayment, HistoryItem, HistoryKind, LedgerUpdate},
};

/// The kinds that a caller wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HistoryKinds {
    /// Every kind.
    All,
    /// Only this kind.
    Only(HistoryKind),
}

impl HistoryKinds {
    /// Converts the word of the parameter: `all`, `fills`, `funding`, `ledger`.
    #[must_use]
    pub fn from_word(word: &str) -> Option<Self> {
        Some(match word {
            "all" => Self::All,
            "fills" => Self::Only(HistoryKind::Fill),
            "funding" => Self::Only(HistoryKind::Funding),
            "ledger" => Self::Only(HistoryKind::Ledger),
            _ => return None,
        })
    }

    /// Whether the caller wants `kind`.
    #[must_use]
    pub fn include(self, kind: HistoryKind) -> bool {
        match self {
            Self::All => true,
            Self::Only(only) => only == kind,
        }
    }
}

/// A span of time that includes both ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Window {
    /// Earliest time.
    pub start: Timestamp,
    /// Latest time.
    pub end: Timestamp,
}

impl Window {
    /// Whether `time` lies in it.
    #[must_use]
    pub fn holds(&self, time: Timestamp) -> bool {
        self.start <= time && time <= self.end
    }
}

/// One page of a history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page {
    /// At most as many items as asked for, newest first.
    pub items: Vec<HistoryItem>,
    /// The cursor of the next page. `None` when the window has no more items.
    pub next: Option<Cursor>,
}

/// Returns the page of `items` that follows `from`, with at most `limit` items. `items` are all
/// known items within `covered`, in any order, and duplicates count once. `wanted` is the earliest
/// time that the caller wants. When it is before `covered`, the last page has a cursor that
/// continues there.
#[must_use]
pub fn page(
    mut items: Vec<HistoryItem>,
    covered: Window,
    wanted: Timestamp,
    from: &Cursor,
    limit: usize,
) -> Page {
    items.retain(|item| covered.holds(item.time()));
    items.sort_by(|one, other| other.order().cmp(&one.order()));
    items.dedup();
    let already = items
        .iter()
        .take_while(|item| item.time() == from.end)
        .count()
        .min(from.skip);
    let mut rest = items.split_off(already);
    let more = rest.len() > limit;
    rest.truncate(limit);
    let next = if more {
        rest.last().map(|last| {
            let same = rest
                .iter()
                .rev()
                .take_while(|item| item.time() == last.time())
                .count();
            // When a page begins and ends in the same moment, the next one must also skip the items
            // of earlier pages.
            let before = if last.time() == from.end { already } else { 0 };
            Cursor {
                start: wanted,
                end: last.time(),
                skip: same.saturating_add(before),
                kinds: from.kinds,
            }
        })
    } else {
        earlier(covered.start)
            .filter(|_| wanted < covered.start)
            .map(|end| Cursor {
                start: wanted,
                end,
                skip: 0,
                kinds: from.kinds,
            })
    };
    Page { items: rest, next }
}

/// Returns the previous millisecond. The venue's times are whole milliseconds.
fn earlier(time: Timestamp) -> Option<Timestamp> {
    Timestamp::from_millisecond(time.as_millisecond().checked_sub(1)?).ok()
}

#[cfg(test)]
mod tests;
