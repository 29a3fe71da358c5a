//! Tests of pages and cursors of a history.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;

fn at(millis: i64) -> Timestamp {
    Timestamp::from_millisecond(millis).unwrap()
}

fn update(millis: i64, id: &str) -> HistoryItem {
    HistoryItem::Ledger(LedgerUpdate {
        id: id.to_owned(),
        time: at(millis),
        what: "deposit".to_owned(),
        details: BTreeMap::new(),
    })
}

fn funding(millis: i64, coin: &str) -> HistoryItem {
    HistoryItem::Funding(FundingPayment {
        id: "0x0".to_owned(),
        time: at(millis),
        coin: coin.to_owned(),
        amount_usd: "1".parse().unwrap(),
        position: "1".parse().unwrap(),
        rate: "0".parse().unwrap(),
    })
}

fn first(window: Window) -> Cursor {
    Cursor {
        start: window.start,
        end: window.end,
        skip: 0,
        kinds: HistoryKinds::All,
    }
}

/// Follows the cursors to the end, and returns all items.
fn all_pages(items: &[HistoryItem], window: Window, limit: usize) -> Vec<HistoryItem> {
    let mut cursor = first(window);
    let mut told = Vec::new();
    loop {
        let covered = Window {
            start: window.start,
            end: cursor.end,
        };
        let page = page(items.to_vec(), covered, window.start, &cursor, limit);
        assert!(page.items.len() <= limit);
        told.extend(page.items);
        match page.next {
            Some(next) => cursor = next.to_string().parse().unwrap(),
            None => return told,
        }
        assert!(told.len() <= items.len(), "pages go round in circles");
    }
}

#[test]
fn items_come_newest_first_and_once() {
    let items = vec![
        update(5, "a"),
        funding(9, "BTC"),
        update(5, "a"),
        update(7, "c"),
        funding(9, "ETH"),
    ];
    let window = Window {
        start: at(0),
        end: at(10),
    };
    let page = page(items, window, at(0), &first(window), 10);
    let times: Vec<_> = page
        .items
        .iter()
        .map(|item| item.time().as_millisecond())
        .collect();
    assert_eq!(times, [9, 9, 7, 5]);
    assert_eq!(page.next, None);
}

#[test]
fn values_outside_the_window_are_left_out_and_an_uncovered_past_is_stated() {
    let items = vec![update(1, "old"), update(6, "in"), update(11, "future")];
    let covered = Window {
        start: at(5),
        end: at(10),
    };
    let told = page(items, covered, at(0), &first(covered), 10);
    assert_eq!(told.items, [update(6, "in")]);
    let next = told.next.unwrap();
    assert_eq!((next.start, next.end, next.skip), (at(0), at(4), 0));
}

#[test]
fn only_the_exact_text_of_a_cursor_is_read() {
    let window = Window {
        start: at(1_795_000_000_000),
        end: at(1_795_222_920_123),
    };
    for kinds in ["all", "fills", "funding", "ledger"] {
        let kinds = HistoryKinds::from_word(kinds).unwrap();
        let cursor = Cursor {
            skip: 17,
            kinds,
            ..first(window)
        };
        assert_eq!(cursor.to_string().parse(), Ok(cursor));
    }
    assert_eq!(HistoryKinds::from_word("everything"), None);
    for wrong in [
        "",
        "a",
        "a1-2",
        "a2-1-0",
        "a1-2-0-0",
        "x1-2-0",
        "a01-2-0",
        "a1-2-+0",
        "A1-2-0",
        "a1-ffffffffffffffff-0",
        "a-1-2-0",
        "é1-2-0",
    ] {
        assert_eq!(wrong.parse::<Cursor>(), Err(CursorError), "{wrong}");
    }
}

proptest! {
    #[test]
    fn pages_of_any_size_contain_every_item_once(
        times in prop::collection::vec(0i64..12, 0..40),
        limit in 1usize..9,
    ) {
        let items: Vec<_> = times
            .iter()
            .enumerate()
            .map(|(n, millis)| if n % 2 == 0 { update(*millis, &n.to_string()) } else { funding(*millis, &n.to_string()) })
            .collect();
        let window = Window { start: at(0), end: at(12) };
        let whole = page(items.clone(), window, at(0), &first(window), items.len().max(1));
        prop_assert_eq!(all_pages(&items, window, limit), whole.items);
    }
}
