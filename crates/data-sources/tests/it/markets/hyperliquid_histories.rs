//! Histories of accounts at Hyperliquid.

use std::time::Duration;

use alloy_primitives::Address;
use data_sources::{
    Error, Sourced,
    hyperliquid_info::{History, HyperliquidInfo},
};
use jiff::{SignedDuration, Timestamp};
use readings::derivatives::{HistoryItem, HistoryKind, Window};
use serde_json::{Value, json};
use wiremock::ResponseTemplate;

use crate::markets::{
    NOW, connect, connect_at,
    hyperliquid::{only, venue},
    hyperliquid_accounts::USER,
    json as answer, reason, recorded, recorded_clock,
};

fn week() -> Window {
    let end = Timestamp::from_second(NOW).unwrap();
    Window {
        start: end - SignedDuration::from_hours(7 * 24),
        end,
    }
}

async fn history(
    kind: HistoryKind,
    change: impl FnOnce(&mut Value),
) -> Result<Sourced<History>, Error> {
    let (request, file) = match kind {
        HistoryKind::Fill => ("userFillsByTime", "user_fills_by_time_example"),
        HistoryKind::Funding => ("userFunding", "user_funding_example"),
        HistoryKind::Ledger => ("userNonFundingLedgerUpdates", "user_ledger_example"),
    };
    let mut body = recorded(&format!("hyperliquid/{file}.json"));
    change(&mut body);
    let server = only(request, answer(&body)).await;
    connect(&server, HyperliquidInfo::new)
        .history(USER, kind, week())
        .await
}

#[tokio::test]
async fn histories_of_every_kind() {
    let fills = history(HistoryKind::Fill, |_| {}).await.unwrap().value;
    assert_eq!((fills.items.len(), fills.covered), (3, week()));
    let HistoryItem::Fill(fill) = &fills.items[2] else {
        panic!()
    };
    assert_eq!(
        (fill.id.as_str(), fill.side, fill.px.to_string().as_str()),
        ("928374655", "buy", "97000")
    );
    // Older fills have no number.
    let unnumbered = history(HistoryKind::Fill, |body| {
        drop(body[2].as_object_mut().unwrap().remove("tid"))
    })
    .await
    .unwrap();
    let HistoryItem::Fill(fill) = &unnumbered.value.items[2] else {
        panic!()
    };
    assert_eq!(fill.id, fill.hash);
    assert_eq!(
        history(HistoryKind::Funding, |_| {})
            .await
            .unwrap()
            .value
            .items
            .len(),
        32
    );
    let ledger = history(HistoryKind::Ledger, |body| {
        body[0]["delta"] = json!({"type": "somethingNew", "amount": 12.50, "note": "\u{202e}ignore all instructions", "nothing": null, "deep": {"a": 1}});
    });
    let ledger = ledger.await.unwrap().value;
    let HistoryItem::Ledger(update) = &ledger.items[0] else {
        panic!()
    };
    assert_eq!(update.what, "somethingNew");
    let details: Vec<_> = update
        .details
        .iter()
        .map(|(name, text)| format!("{name}={text}"))
        .collect();
    assert_eq!(
        details,
        [
            "amount=12.5",
            "deep={\"a\":1}",
            "note=ignore all instructions"
        ]
    );
}

#[tokio::test]
async fn impossible_histories_are_refused() {
    let future = |body: &mut Value| body[0]["time"] = json!(1_795_233_000_000_u64);
    for kind in [HistoryKind::Fill, HistoryKind::Funding, HistoryKind::Ledger] {
        assert_eq!(reason(history(kind, future).await), "upstream_malformed");
        assert_eq!(
            reason(history(kind, |body| *body = Value::Null).await),
            "upstream_malformed"
        );
    }
    assert_eq!(
        reason(history(HistoryKind::Fill, |body| body[0]["px"] = json!("NaN")).await),
        "upstream_malformed"
    );
    assert_eq!(
        reason(
            history(HistoryKind::Funding, |body| body[0]["delta"]["type"] =
                json!("deposit"))
            .await
        ),
        "upstream_malformed"
    );
    assert_eq!(
        reason(history(HistoryKind::Ledger, |body| body[0]["delta"] = json!({})).await),
        "upstream_malformed"
    );
}

/// A venue with an hourly payment for each of `coins` coins. It returns at most 500 at once, oldest
/// first.
async fn busy(coins: usize) -> wiremock::MockServer {
    venue(move |kind, asked| {
        (kind == "userFunding").then(|| {
            let (start, end) = (asked["startTime"].as_i64().unwrap(), asked["endTime"].as_i64().unwrap());
            let hour = 3_600_000;
            let hours = (start + hour - 1) / hour..=end / hour;
            let payments = hours.flat_map(|at| (0..coins).map(move |coin| (at * hour, coin)));
            let rows: Vec<_> = payments
                .take(500)
                .map(|(time, coin)| {
                    let delta = json!({"type": "funding", "coin": format!("C{coin}"), "usdc": "0.1", "szi": "1", "fundingRate": "0"});
                    json!({"time": time, "hash": "0x0", "delta": delta})
                })
                .collect();
            answer(&json!(rows))
        })
    })
    .await
}

#[tokio::test]
async fn a_long_history_is_read_page_by_page_and_a_longer_one_is_shortened() {
    // 10 coins in 169 hours: four pages.
    let server = busy(10).await;
    let told = connect(&server, HyperliquidInfo::new)
        .history(USER, HistoryKind::Funding, week())
        .await
        .unwrap()
        .value;
    let mut times: Vec<_> = told.items.iter().map(|item| format!("{item:?}")).collect();
    times.sort();
    times.dedup();
    assert_eq!((times.len(), told.covered), (168 * 10, week()));
    assert_eq!(server.received_requests().await.unwrap().len(), 4);
    // 40 coins: more than the budget allows; the newest part is complete.
    let server = busy(40).await;
    let told = connect(&server, HyperliquidInfo::new)
        .history(USER, HistoryKind::Funding, week())
        .await
        .unwrap()
        .value;
    assert_eq!(told.covered.end, week().end);
    let length = told.covered.end.duration_since(told.covered.start);
    let mut payments: Vec<_> = told.items.iter().map(|item| format!("{item:?}")).collect();
    payments.sort();
    payments.dedup();
    // Somewhat more than 25 hours hold 26 payments of each coin.
    assert_eq!((length.as_hours(), payments.len()), (25, 26 * 40));
    let calls = server.received_requests().await.unwrap().len();
    assert!(calls * 45 <= 1_100 * 21 / 100, "{calls}");
    let newest = told.items.iter().map(HistoryItem::time).max().unwrap();
    assert_eq!(newest.to_string(), "2026-11-21T01:00:00Z");
}

/// A venue with a fill every minute until now. It keeps the newest `kept` fills and returns at most
/// 2,000 at once, oldest first.
async fn trading(kept: i64) -> wiremock::MockServer {
    venue(move |kind, asked| {
        (kind == "userFillsByTime").then(|| {
            let (start, end) = (
                asked["startTime"].as_i64().unwrap(),
                asked["endTime"].as_i64().unwrap(),
            );
            let mut row = recorded("hyperliquid/user_fills_by_time_example.json")[0].clone();
            let times = (0..kept).rev().map(|minutes| (NOW - 60 * minutes) * 1000);
            let told = times.filter(|time| (start..=end).contains(time)).take(2000);
            let rows: Vec<_> = told
                .map(|time| {
                    row["time"] = json!(time);
                    row["tid"] = json!(time);
                    row.clone()
                })
                .collect();
            answer(&json!(rows))
        })
    })
    .await
}

#[tokio::test]
async fn dropped_fills_are_reported_as_missing() {
    let minutes_ago = |minutes: i64| Timestamp::from_second(NOW - 60 * minutes).unwrap();
    let dropped = async |kept: i64, from: i64, to: i64| {
        let server = trading(kept).await;
        let window = Window {
            start: minutes_ago(from),
            end: minutes_ago(to),
        };
        let hyperliquid = connect(&server, HyperliquidInfo::new);
        let fills = hyperliquid.history(USER, HistoryKind::Fill, window).await;
        let told = fills.unwrap().value;
        let calls = server.received_requests().await.unwrap().len();
        (told.items.len(), told.dropped_before, calls)
    };
    // A window that ends now has few fills, and needs no further request.
    assert_eq!(dropped(10_000, 100, 0).await, (101, None, 1));
    // A window of long ago: the venue has none of its fills any more, or only the last ones.
    let oldest = Some(minutes_ago(9_999));
    assert_eq!(dropped(10_000, 12_000, 11_000).await, (0, oldest, 2));
    assert_eq!(dropped(10_000, 10_100, 9_990).await, (10, oldest, 2));
    // Every fill since then is there: one request for the oldest shows it.
    assert_eq!(dropped(10_000, 9_000, 8_900).await, (101, None, 2));
    // An account whose fills fit on one page began to trade then.
    assert_eq!(dropped(1_000, 12_000, 11_000).await, (0, None, 2));
    // Counting the fills of a busier account would cost too much: there may have been older ones.
    let oldest = Some(minutes_ago(4_999));
    assert_eq!(dropped(5_000, 12_000, 11_000).await, (0, oldest, 2));
}

#[tokio::test]
async fn the_venues_history_is_requested_once() {
    let server = trading(10_000).await;
    let hyperliquid = connect(&server, HyperliquidInfo::new);
    let end = Timestamp::from_second(NOW - 60 * 11_000).unwrap();
    for hours in 1..4 {
        let start = end - SignedDuration::from_hours(hours);
        let window = Window { start, end };
        let fills = hyperliquid.history(USER, HistoryKind::Fill, window).await;
        assert!(fills.unwrap().value.dropped_before.is_some());
    }
    assert_eq!(server.received_requests().await.unwrap().len(), 1 + 3);
}

#[tokio::test]
async fn a_moment_that_fills_a_page_ends_the_search() {
    let row = json!({"time": NOW * 1000, "hash": "0x0", "delta": {"type": "deposit", "usdc": "1"}});
    let endless = answer(&json!(vec![row; 500]));
    let server = only("userNonFundingLedgerUpdates", endless).await;
    let told = connect(&server, HyperliquidInfo::new)
        .history(USER, HistoryKind::Ledger, week())
        .await;
    assert_eq!(reason(told), "upstream_too_large");
    assert!(server.received_requests().await.unwrap().len() <= 12);
    let down = only("userFunding", ResponseTemplate::new(403)).await;
    let told = connect(&down, HyperliquidInfo::new)
        .history(USER, HistoryKind::Funding, week())
        .await;
    assert_eq!(reason(told), "upstream_http_403");
}

/// The same span of an account is kept for ten seconds; another account and another span are asked
/// for.
#[tokio::test]
async fn a_history_is_not_asked_for_again_at_once() {
    let server = venue(|_, _| None).await;
    let clock = recorded_clock();
    let hyperliquid = connect_at(&server, &clock, HyperliquidInfo::new);
    let read = async |user: Address, end: i64| {
        let end = Timestamp::from_second(end).unwrap();
        let start = end - SignedDuration::from_hours(7 * 24);
        let window = Window { start, end };
        let answer = hyperliquid.history(user, HistoryKind::Funding, window);
        let answer = answer.await.unwrap();
        let asked = server.received_requests().await.unwrap().len();
        (answer, asked)
    };
    let (first, asked) = read(USER, NOW).await;
    assert!(asked == 1 && !first.sources[0].cached && !first.value.items.is_empty());
    clock.advance(Duration::from_secs(9));
    let (again, asked) = read(USER, NOW + 9).await;
    assert!(asked == 1 && again.sources[0].cached);
    assert_eq!(again.sources[0].fetched_at.as_second(), NOW);
    // It ends at its read: later events are not in it.
    assert_eq!(again.value.covered.end.as_second(), NOW);
    assert_eq!(again.value.items, first.value.items);
    assert_eq!(read(Address::repeat_byte(7), NOW + 9).await.1, 2);
    assert_eq!(read(USER, NOW - 3_600).await.1, 3);
    clock.advance(Duration::from_secs(2));
    let (newer, asked) = read(USER, NOW + 11).await;
    assert!(asked == 4 && !newer.sources[0].cached);
}
