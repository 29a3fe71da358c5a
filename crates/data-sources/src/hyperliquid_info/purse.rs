//! The weight that one history may use.

use jiff::{SignedDuration, Timestamp};
use readings::derivatives::{HistoryKind, Window};

/// The share of the budget that one history may take, in percent: 63 for all three kinds.
const FILLS_PERCENT: u32 = 33;
const FUNDING_PERCENT: u32 = 21;
const LEDGER_PERCENT: u32 = 9;

/// The most items that the venue returns at once.
pub(super) fn most(kind: HistoryKind) -> usize {
    match kind {
        HistoryKind::Fill => 2000,
        HistoryKind::Funding | HistoryKind::Ledger => 500,
    }
}

/// The weight of a call for a list of this many items.
pub(super) fn weight(items: usize) -> u32 {
    u32::try_from(items.div_ceil(20))
        .unwrap_or(u32::MAX)
        .saturating_add(20)
}

/// The remaining weight for one history.
#[derive(Debug)]
pub(super) struct Purse {
    left: u32,
    page: u32,
}

impl Purse {
    /// The share of a budget of `limit`, enough for at least one page.
    pub(super) fn of(kind: HistoryKind, limit: u32) -> Self {
        let percent = match kind {
            HistoryKind::Fill => FILLS_PERCENT,
            HistoryKind::Funding => FUNDING_PERCENT,
            HistoryKind::Ledger => LEDGER_PERCENT,
        };
        let page = weight(most(kind));
        let left = limit.saturating_mul(percent) / 100;
        Self {
            left: left.max(page),
            page,
        }
    }

    /// Spends the weight of a page of this many items.
    pub(super) fn spend(&mut self, items: usize) {
        self.left = self.left.saturating_sub(weight(items));
    }

    /// Full pages that can still be read.
    pub(super) fn pages(&self) -> u32 {
        self.left.checked_div(self.page).unwrap_or(0)
    }

    /// Whether the rest of `window` can be read with one page to spare. `read` pages went from its
    /// start to `last`, and the rest is assumed to be as dense.
    pub(super) fn suffices(&self, window: Window, last: Timestamp, read: u32) -> bool {
        let rest = window.end.duration_since(last).as_millis();
        let told = last.duration_since(window.start).as_millis();
        let spare = self.pages().saturating_sub(1);
        self.pages() > 0
            && rest.saturating_mul(i128::from(read)) <= told.saturating_mul(i128::from(spare))
    }

    /// The start of the newest part of `window` that takes about half of the remaining pages, if it
    /// is as dense as the part that was read.
    pub(super) fn newest(&self, window: Window, last: Timestamp, read: u32) -> Timestamp {
        let told = last.duration_since(window.start).as_millis();
        let length = window.end.duration_since(window.start).as_millis();
        let wanted = told.saturating_mul(i128::from(self.pages())) / i128::from(read.max(1)) / 2;
        let wanted = SignedDuration::from_millis_i128(wanted.min(length / 2));
        window.end.saturating_sub(wanted).unwrap_or(window.end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_kinds_together_take_a_stated_share() {
        let kinds = [HistoryKind::Fill, HistoryKind::Funding, HistoryKind::Ledger];
        let total: u32 = kinds.map(|kind| Purse::of(kind, 1_100).left).iter().sum();
        assert!(total <= 1_100 * 63 / 100, "{total}");
        let pages = kinds.map(|kind| Purse::of(kind, 1_100).pages());
        assert_eq!(pages, [3, 5, 2]);
        // A small share still allows one page.
        assert_eq!(kinds.map(|kind| Purse::of(kind, 100).pages()), [1, 1, 1]);
    }

    #[test]
    fn a_dense_window_is_shortened_before_the_purse_is_empty() {
        let at = |second| Timestamp::from_second(second).unwrap();
        let window = Window {
            start: at(0),
            end: at(1_000),
        };
        let mut purse = Purse::of(HistoryKind::Fill, 1_100);
        purse.spend(2_000);
        assert!(purse.suffices(window, at(500), 1) && !purse.suffices(window, at(499), 1));
        assert_eq!(purse.newest(window, at(100), 1), at(900));
        purse.spend(2_000);
        assert!(!purse.suffices(window, at(999), 2) && purse.suffices(window, at(1_000), 2));
        assert_eq!(
            (purse.pages(), purse.newest(window, at(800), 2)),
            (1, at(800))
        );
        purse.spend(2_000);
        assert_eq!(
            (purse.pages(), purse.suffices(window, at(1_000), 3)),
            (0, false)
        );
    }
}
