//! Binance, OKX and Bybit.

mod failures;

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use data_sources::{Error, Sourced, binance::Binance, bybit::Bybit, okx_futures::OkxFutures};
use readings::derivatives::{Part, VenueReading};
use serde_json::Value;
use wiremock::{MockServer, Request, ResponseTemplate};

use crate::markets::{
    connect, connect_at, deciding, json as answer, raw, reason, recorded, recorded_clock,
};

type Changed = Option<ResponseTemplate>;

/// Binance as recorded for BTC, except where `change` returns an answer for a path.
async fn binance(change: impl Fn(&str) -> Changed + Send + Sync + 'static) -> MockServer {
    deciding(move |request: &Request| {
        change(request.url.path()).or_else(|| {
            let file = match request.url.path() {
                "/fapi/v1/premiumIndex" if request.url.query().is_none() => "premium_index_all",
                "/fapi/v1/premiumIndex" => "premium_index_btc",
                "/fapi/v1/openInterest" => "open_interest_btc",
                "/fapi/v1/fundingInfo" => "funding_info",
                "/futures/data/globalLongShortAccountRatio" => "global_long_short_btc",
                _ => return None,
            };
            Some(answer(&recorded(&format!("binance_futures/{file}.json"))))
        })
    })
    .await
}

async fn okx(change: impl Fn(&str) -> Changed + Send + Sync + 'static) -> MockServer {
    deciding(move |request: &Request| {
        change(request.url.path()).or_else(|| {
            let all = !request.url.query().unwrap_or_default().contains("BTC");
            let file = match (request.url.path(), all) {
                ("/api/v5/public/funding-rate", false) => "funding_rate_btc",
                ("/api/v5/public/funding-rate", true) => "funding_rate_any",
                ("/api/v5/public/open-interest", false) => "open_interest_btc",
                ("/api/v5/public/open-interest", true) => "open_interest_all",
                ("/api/v5/public/mark-price", false) => "mark_price_btc",
                ("/api/v5/public/mark-price", true) => "mark_price_all",
                ("/api/v5/rubik/stat/contracts/long-short-account-ratio", _) => {
                    "long_short_ratio_btc"
                }
                _ => return None,
            };
            Some(answer(&recorded(&format!("okx_futures/{file}.json"))))
        })
    })
    .await
}

async fn bybit(change: impl Fn(&str) -> Changed + Send + Sync + 'static) -> MockServer {
    deciding(move |request: &Request| {
        change(request.url.path()).or_else(|| {
            let all = !request.url.query().unwrap_or_default().contains("symbol=");
            let file = match (request.url.path(), all) {
                ("/v5/market/tickers", false) => "tickers_btc",
                ("/v5/market/tickers", true) => "tickers_all",
                ("/v5/market/account-ratio", _) => "account_ratio_btc",
                _ => return None,
            };
            Some(answer(&recorded(&format!("bybit_futures/{file}.json"))))
        })
    })
    .await
}

async fn of_binance(
    change: impl Fn(&str) -> Changed + Send + Sync + 'static,
) -> Result<Sourced<VenueReading>, Error> {
    connect(&binance(change).await, Binance::new)
        .reading("BTC", None)
        .await
}

async fn of_okx(
    change: impl Fn(&str) -> Changed + Send + Sync + 'static,
) -> Result<Sourced<VenueReading>, Error> {
    connect(&okx(change).await, OkxFutures::new)
        .reading("BTC", None)
        .await
}

async fn of_bybit(
    change: impl Fn(&str) -> Changed + Send + Sync + 'static,
) -> Result<Sourced<VenueReading>, Error> {
    connect(&bybit(change).await, Bybit::new)
        .reading("BTC", None)
        .await
}

/// A recorded answer in which `pointer` is `value`.
fn with(file: &str, pointer: &str, value: Value) -> ResponseTemplate {
    let mut body = recorded(file);
    *body.pointer_mut(pointer).unwrap() = value;
    answer(&body)
}

fn why_missing(reading: &VenueReading, part: Part) -> Option<&str> {
    let missing = reading
        .missing
        .iter()
        .find(|missing| missing.part == part)?;
    Some(missing.reason.as_str())
}

#[tokio::test]
async fn each_venue_is_read_in_its_own_units() {
    let binance = of_binance(|_| None).await.unwrap();
    let funding = binance.value.funding.unwrap();
    assert_eq!(
        (funding.interval_hours, funding.apr_pct.to_string().as_str()),
        (8, "10.95")
    );
    // Open interest in coins, at the mark price.
    let interest = binance.value.open_interest.unwrap();
    assert_eq!(interest.usd.unwrap().to_string(), "7897713961.76");
    assert_eq!(
        binance.sources[0].as_of.unwrap().to_string(),
        "2026-11-21T01:01:57Z"
    );

    let okx = of_okx(|_| None).await.unwrap().value;
    assert_eq!(okx.funding.unwrap().interval_hours, 8);
    // `oi` is 2125419 contracts, which are not read.
    assert_eq!(
        okx.open_interest.unwrap().base.unwrap().to_string(),
        "21254.19"
    );
    let ratio = okx.long_short.unwrap();
    assert_eq!(
        (ratio.accounts_ratio.to_string().as_str(), ratio.period),
        ("0.93986", "5m")
    );

    let bybit = of_bybit(|_| None).await.unwrap().value;
    assert_eq!(
        bybit.open_interest.unwrap().usd.unwrap().to_string(),
        "4673456789.1"
    );
    assert_eq!(bybit.long_short.unwrap().long_pct.to_string(), "57.07");
}

#[tokio::test]
async fn a_suspended_contract_does_not_age_the_others_and_is_named() {
    let list = |hours: i64| {
        let mut rows = recorded("binance_futures/premium_index_all.json");
        let then = rows[0]["time"].as_i64().unwrap() - hours * 3_600_000;
        rows[2]["time"] = serde_json::json!(then);
        move |path: &str| (path == "/fapi/v1/premiumIndex").then(|| answer(&rows))
    };
    let all = async |hours| {
        let venue = connect(&binance(list(hours)).await, Binance::new);
        venue.all(None).await.unwrap()
    };
    let (live, suspended) = (all(0).await, all(30).await);
    let as_of = |told: &Sourced<_>| told.sources[0].as_of;
    assert_eq!(as_of(&live), as_of(&suspended));
    let sol = suspended.value.iter().find(|(coin, _)| coin == "SOL");
    let reading = &sol.unwrap().1;
    assert_eq!((&reading.funding, reading.mark_px), (&None, None));
    assert!(
        reading
            .missing
            .iter()
            .all(|missing| missing.reason == "contract_suspended")
    );
    assert_eq!(reading.missing.len(), 2);
}

#[tokio::test]
async fn lists_hold_coins_and_nothing_else() {
    let binance = connect(&binance(|_| None).await, Binance::new)
        .all(None)
        .await
        .unwrap();
    let coins: Vec<_> = binance
        .value
        .iter()
        .map(|(coin, _)| coin.as_str())
        .collect();
    assert_eq!(coins, ["BTC", "ETH", "HYPE", "PEPE", "SOL"]);
    let pepe = &binance.value[3].1;
    assert_eq!(pepe.mark_px.unwrap().to_string(), "0.00000521");
    let okx = connect(&okx(|_| None).await, OkxFutures::new)
        .all(None)
        .await
        .unwrap();
    assert_eq!(okx.value.len(), 5);
    assert!(
        okx.value
            .iter()
            .all(|(_, reading)| reading.contract.ends_with("-USDT-SWAP"))
    );
    let bybit = connect(&bybit(|_| None).await, Bybit::new)
        .all(None)
        .await
        .unwrap();
    let hype = &bybit
        .value
        .iter()
        .find(|(coin, _)| coin == "HYPE")
        .unwrap()
        .1;
    assert_eq!(hype.funding.as_ref().unwrap().interval_hours, 1);
}

#[tokio::test]
async fn a_contract_that_does_not_exist_is_no_outage() {
    let refused = || {
        Some(ResponseTemplate::new(400).set_body_raw(
            r#"{"code":-1121,"msg":"Invalid symbol."}"#,
            "application/json",
        ))
    };
    assert_eq!(
        reason(of_binance(move |_| refused()).await),
        "symbol_not_found"
    );
    let unknown = || {
        Some(raw(
            r#"{"code":"51001","data":[],"msg":"Instrument ID doesn't exist."}"#,
        ))
    };
    assert_eq!(reason(of_okx(move |_| unknown()).await), "symbol_not_found");
    assert_eq!(
        reason(of_okx(|_| Some(raw(r#"{"code":"0","data":[],"msg":""}"#))).await),
        "symbol_not_found"
    );
    let invalid = || {
        Some(raw(
            r#"{"retCode":10001,"retMsg":"params error: Symbol Is Invalid","result":{},"time":1795222917000}"#,
        ))
    };
    assert_eq!(
        reason(of_bybit(move |_| invalid()).await),
        "symbol_not_found"
    );
    // Any other refusal is an outage.
    let other = || {
        Some(ResponseTemplate::new(400).set_body_raw(
            r#"{"code":-1102,"msg":"Mandatory parameter"}"#,
            "application/json",
        ))
    };
    assert_eq!(
        reason(of_binance(move |_| other()).await),
        "upstream_business_-1102"
    );
    assert_eq!(
        reason(of_okx(|_| Some(raw(r#"{"code":"50026","data":[],"msg":"System error"}"#))).await),
        "upstream_business_50026"
    );
    let parameters = || {
        Some(raw(
            r#"{"retCode":10001,"retMsg":"category is required","result":{},"time":1795222917000}"#,
        ))
    };
    assert_eq!(
        reason(of_bybit(move |_| parameters()).await),
        "upstream_business_10001"
    );
}

/// The exchange changes the interval of a contract while the list is kept.
#[tokio::test]
async fn an_interval_that_does_not_fit_the_next_payment_is_read_again() {
    let lists = Arc::new(AtomicUsize::new(0));
    let asked = lists.clone();
    let server = binance(move |path: &str| match path {
        // At two o'clock: the usual eight hours cannot be meant.
        "/fapi/v1/premiumIndex" => {
            let mut body = recorded("binance_futures/premium_index_btc.json");
            body["nextFundingTime"] = 1_795_226_400_000_u64.into();
            Some(answer(&body))
        }
        "/fapi/v1/fundingInfo" => {
            let changed = asked.fetch_add(1, Ordering::SeqCst) > 0;
            let row = r#"[{"symbol":"BTCUSDT","fundingIntervalHours":1}]"#;
            Some(raw(if changed { row } else { "[]" }))
        }
        _ => None,
    })
    .await;
    let clock = recorded_clock();
    let venue = connect_at(&server, &clock, Binance::new);
    let reading = venue.reading("BTC", None).await.unwrap().value;
    // The list was read a moment ago, so it is not read again yet.
    assert_eq!(
        (&reading.funding, why_missing(&reading, Part::Funding)),
        (&None, Some("funding_interval_contradicts_next_payment"))
    );
    assert_eq!(lists.load(Ordering::SeqCst), 1);
    clock.advance(Duration::from_secs(35));
    let reading = venue.reading("BTC", None).await.unwrap().value;
    assert_eq!(reading.funding.unwrap().interval_hours, 1);
    assert_eq!(lists.load(Ordering::SeqCst), 2);
}
