//! Budgets: weight, waiting, refusals, retries.

use std::num::NonZeroU32;
use std::time::Duration;

use alloy_primitives::Address;
use data_sources::{
    Caller, Meter, Mode, SourceConfig, SourceErrorKind, coinpaprika::Coinpaprika,
    frankfurter::Frankfurter, hyperliquid_info::HyperliquidInfo,
};
use jiff::{SignedDuration, Timestamp};
use readings::{
    derivatives::{HistoryKind, Window},
    symbol::SymbolKey,
};
use serde_json::json;
use test_support::ManualClock;
use wiremock::{Mock, MockServer, Request, ResponseTemplate, matchers::any};

use crate::budgets::{NOW, answering, config, kind, recorded_clock, request_count, transport};

fn address(number: u64) -> Address {
    Address::left_padding_from(&number.to_be_bytes())
}

fn hyperliquid(config: SourceConfig, clock: &ManualClock) -> HyperliquidInfo {
    HyperliquidInfo::new(&transport(), config, clock.shared()).unwrap()
}

/// A role weighs 60, so that 18 of them are the budget of a minute.
async fn roles(hyperliquid: &HyperliquidInfo, from: u64) -> (u64, SourceErrorKind) {
    let mut number = from;
    loop {
        let told = hyperliquid.role(address(number), None).await;
        if told.is_err() {
            return (number - from, kind(told));
        }
        number += 1;
    }
}

#[tokio::test]
async fn the_first_minute_has_no_burst_and_a_refusal_says_when() {
    let server = answering(ResponseTemplate::new(200).set_body_json(json!({"role": "user"}))).await;
    let clock = recorded_clock();
    let hyperliquid = hyperliquid(config(&server, HyperliquidInfo::SPEC.urls), &clock);
    let (served, refused) = roles(&hyperliquid, 0).await;
    // The venue's limit is 1,200. A bucket that refills would let 1,800 pass.
    assert_eq!((served, request_count(&server).await), (18, 18));
    assert_eq!(refused, SourceErrorKind::OverBudget { retry_after: 61 });
    assert_eq!(refused.reason(), "upstream_over_budget");
    clock.advance(Duration::from_secs(59));
    let (served, refused) = roles(&hyperliquid, 100).await;
    assert_eq!((served, refused.retry_after()), (0, Some(2)));
    // A caller that returns at the named time is served.
    clock.advance(Duration::from_secs(2));
    assert_eq!(roles(&hyperliquid, 200).await.0, 18);
    assert_eq!(request_count(&server).await, 36);
    // Our own refusal is not a failure of the venue.
    let health = hyperliquid.source().health();
    let role = health
        .iter()
        .find(|seen| seen.source == "hyperliquid.role")
        .unwrap();
    assert_eq!((role.state.as_str(), role.failures), ("ok", 0));
    assert_eq!(
        (role.budget_left, role.budget_limit, role.window_seconds),
        (Some(20), Some(1_100), Some(60))
    );
    assert_eq!((role.quota_left, role.quota_resets_at), (None, None));
}

#[tokio::test]
async fn newcomers_leave_a_part_of_a_budget_to_others() {
    let server = answering(ResponseTemplate::new(200).set_body_json(json!({"role": "user"}))).await;
    let clock = recorded_clock();
    let reserving = SourceConfig {
        reserved_percent: 50,
        ..config(&server, HyperliquidInfo::SPEC.urls)
    };
    let hyperliquid = hyperliquid(reserving, &clock);
    let budget = &hyperliquid.source().budget()[0];
    assert_eq!((budget.common, budget.limit), (550, 1_100));
    let newcomer = Meter::new(Caller::Newcomer);
    let (served, refused) = newcomer.scope(roles(&hyperliquid, 0)).await;
    assert_eq!(
        (served, refused.reason()),
        (9, "upstream_over_budget".to_owned())
    );
    // A caller that returns at the named time is served.
    let payer = Meter::new(Caller::Credited);
    assert_eq!(payer.scope(roles(&hyperliquid, 100)).await.0, 9);
    clock.advance(Duration::from_secs(refused.retry_after().unwrap()));
    assert_eq!(newcomer.scope(roles(&hyperliquid, 200)).await.0, 9);
}

#[tokio::test]
async fn servers_behind_one_address_share_and_a_recording_has_no_limit() {
    let server = answering(ResponseTemplate::new(200).set_body_json(json!({"role": "user"}))).await;
    let usual = config(&server, HyperliquidInfo::SPEC.urls);
    let shared = SourceConfig {
        servers: NonZeroU32::new(3).unwrap(),
        ..usual.clone()
    };
    let hyperliquid = hyperliquid(shared, &recorded_clock());
    assert_eq!(roles(&hyperliquid, 0).await.0, 6);
    assert_eq!(hyperliquid.source().budget()[0].limit, 366);
    let replayed = SourceConfig {
        mode: Mode::Replay,
        ..usual
    };
    let recorded = super::limits::hyperliquid(replayed, &recorded_clock());
    for number in 0..40 {
        recorded.role(address(number), None).await.unwrap();
    }
    assert!(recorded.source().budget().is_empty());
}

#[tokio::test]
async fn every_try_takes_its_weight() {
    let server = answering(ResponseTemplate::new(503)).await;
    let usual = config(&server, Coinpaprika::SPEC.urls);
    let coinpaprika = Coinpaprika::new(&transport(), usual, recorded_clock().shared()).unwrap();
    let coin = async |symbol: &str| {
        coinpaprika
            .coin(&SymbolKey::new(symbol).unwrap(), None)
            .await
    };
    coin("btc").await.unwrap_err();
    assert_eq!(request_count(&server).await, 3);
    let health = &coinpaprika.source().health()[0];
    assert_eq!(health.budget_left, Some(30 - 3));
    assert_eq!(health.quota_left, Some(20_000 - 3));
}

#[tokio::test]
async fn a_try_that_cannot_pay_leaves_the_failure_before_it() {
    let server = answering(ResponseTemplate::new(503)).await;
    let shared = SourceConfig {
        // A share of two calls in a minute.
        servers: NonZeroU32::new(30).unwrap(),
        ..config(&server, Frankfurter::SPEC.urls)
    };
    let frankfurter = Frankfurter::new(&transport(), shared, recorded_clock().shared()).unwrap();
    let failed = kind(frankfurter.rates(None).await);
    assert_eq!(failed.reason(), "upstream_http_503");
    assert_eq!(request_count(&server).await, 2);
}

#[tokio::test]
async fn a_call_is_charged_its_greatest_weight_first_and_its_real_weight_afterwards() {
    let clock = recorded_clock();
    let rows = |count: i64| {
        let row = |at: i64| json!({"time": (NOW - 3_600 + at) * 1_000, "hash": "0x0", "delta": {"type": "deposit"}});
        (0..count).map(row).collect::<Vec<_>>()
    };
    let server = answering(ResponseTemplate::new(200).set_body_json(rows(45))).await;
    let hyperliquid = hyperliquid(config(&server, HyperliquidInfo::SPEC.urls), &clock);
    let end = Timestamp::from_second(NOW).unwrap();
    let start = end - SignedDuration::from_hours(1);
    let history = async |number, kind| {
        let window = Window { start, end };
        hyperliquid.history(address(number), kind, window).await
    };
    let left = || hyperliquid.source().budget()[0].left;
    history(1, HistoryKind::Ledger).await.unwrap();
    // The weight of an answer of 45 items: 20, and 1 for each 20 of them.
    assert_eq!(left(), 1_100 - 23);
    // An unread answer is charged at its greatest possible weight.
    let refused = history(1, HistoryKind::Fill).await;
    assert_eq!(kind(refused).reason(), "upstream_malformed");
    assert_eq!(left(), 1_100 - 23 - 23);
    // The greatest weight must be free before the call: of 1,100 the rest of 1,054 is less than
    // 1,000.
    for number in 10.. {
        if left() < 45 {
            break;
        }
        let told = history(number, HistoryKind::Ledger).await;
        assert!(told.is_ok(), "{number}");
    }
    let refused = kind(history(2, HistoryKind::Ledger).await);
    assert!(matches!(
        refused,
        SourceErrorKind::OverBudget { retry_after: 61 }
    ));
    assert!(left() >= 20, "a usual call still fits");
}

/// A venue with constant activity: every page is full.
#[tokio::test]
async fn the_busiest_account_costs_no_more_than_the_stated_share() {
    let server = MockServer::start().await;
    let page = |request: &Request| {
        let asked: serde_json::Value = request.body_json().unwrap();
        let (start, end) = (
            asked["startTime"].as_i64().unwrap(),
            asked["endTime"].as_i64().unwrap(),
        );
        let kind = asked["type"].as_str().unwrap().to_owned();
        let count = if kind == "userFillsByTime" {
            2_000
        } else {
            500
        };
        // Each page covers a fiftieth of the requested time.
        let step = ((end - start) / 50 / count).max(1);
        let row = |place: i64| {
            let time = start + place * step;
            match kind.as_str() {
                "userFillsByTime" => {
                    json!({"coin": "BTC", "px": "1", "sz": "1", "side": "B", "time": time, "hash": "0x0", "oid": 1, "fee": "0"})
                }
                "userFunding" => {
                    json!({"time": time, "hash": "0x0", "delta": {"type": "funding", "coin": "BTC", "usdc": "1", "szi": "1", "fundingRate": "0"}})
                }
                _ => json!({"time": time, "hash": "0x0", "delta": {"type": "deposit"}}),
            }
        };
        ResponseTemplate::new(200).set_body_json((0..count).map(row).collect::<Vec<_>>())
    };
    Mock::given(any()).respond_with(page).mount(&server).await;
    let hyperliquid = hyperliquid(
        config(&server, HyperliquidInfo::SPEC.urls),
        &recorded_clock(),
    );
    let end = Timestamp::from_second(NOW - 90 * 86_400).unwrap();
    let window = Window {
        start: end - SignedDuration::from_hours(24 * 365),
        end,
    };
    let user = address(1);
    let _ = tokio::join!(
        hyperliquid.history(user, HistoryKind::Fill, window),
        hyperliquid.history(user, HistoryKind::Funding, window),
        hyperliquid.history(user, HistoryKind::Ledger, window),
    );
    let left = hyperliquid.source().budget()[0].left;
    assert!(left >= 1_100 - 1_100 * 63 / 100, "{left}");
    assert!(left < 700, "a busy account takes several pages");
}

/// New symbols with `max_age = 0` use the budget of the family and no more.
#[tokio::test]
async fn new_keys_do_not_exceed_the_budget() {
    let server =
        answering(ResponseTemplate::new(200).set_body_json(json!({"currencies": []}))).await;
    let usual = config(&server, Coinpaprika::SPEC.urls);
    let coinpaprika = Coinpaprika::new(&transport(), usual, recorded_clock().shared()).unwrap();
    let (mut absent, mut refused) = (0, 0);
    for number in 0..45 {
        let symbol = SymbolKey::new(&format!("new{number}")).unwrap();
        let none = Some(std::time::Duration::ZERO);
        match coinpaprika.coin(&symbol, none).await.unwrap_err().code() {
            "symbol_not_found" => absent += 1,
            "upstream_over_budget" => refused += 1,
            other => panic!("{other}"),
        }
    }
    assert_eq!(
        (absent, refused, request_count(&server).await),
        (30, 15, 30)
    );
}
