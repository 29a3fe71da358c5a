//! Outages, wrong answers, and incomplete answers.

use data_sources::bybit::Bybit;
use readings::derivatives::Part;
use serde_json::json;
use wiremock::ResponseTemplate;

use super::{bybit, of_binance, of_bybit, of_okx, why_missing, with};
use crate::markets::{connect, json as answer, raw, reason, recorded};

#[tokio::test]
async fn outages_keep_their_reason() {
    for (status, expected) in [
        (451, "upstream_http_451"),
        (403, "upstream_http_403"),
        (429, "upstream_rate_limited"),
    ] {
        let with = move |_: &str| {
            Some(ResponseTemplate::new(status).set_body_raw("<html>no</html>", "text/html"))
        };
        assert_eq!(reason(of_binance(with).await), expected);
        assert_eq!(reason(of_okx(with).await), expected);
        assert_eq!(reason(of_bybit(with).await), expected);
    }
    let html = |_: &str| {
        Some(
            ResponseTemplate::new(200)
                .set_body_raw("<html>Checking your browser</html>", "text/html"),
        )
    };
    assert_eq!(
        reason(of_binance(html).await),
        "upstream_wrong_content_type"
    );
    for body in ["<html>", "", "null", "[]", "{}", "[[[[", r#"{"code":0}"#] {
        let with = move |_: &str| Some(raw(body));
        assert_eq!(
            reason(of_binance(with).await),
            "upstream_malformed",
            "{body:?}"
        );
        assert_eq!(reason(of_okx(with).await), "upstream_malformed", "{body:?}");
        assert_eq!(
            reason(of_bybit(with).await),
            "upstream_malformed",
            "{body:?}"
        );
    }
    // The usual form of "too many requests" inside a success.
    assert_eq!(
        reason(
            of_okx(|_| Some(raw(
                r#"{"code":"50011","data":[],"msg":"Too Many Requests"}"#
            )))
            .await
        ),
        "upstream_rate_limited"
    );
    assert_eq!(
        reason(
            of_bybit(|_| Some(raw(
                r#"{"retCode":10006,"retMsg":"Too many visits!","result":{},"time":1795222917000}"#
            )))
            .await
        ),
        "upstream_rate_limited"
    );
    let large = || Some(raw(&format!("[{}]", "0,".repeat(2 * 1024 * 1024))));
    assert_eq!(
        reason(of_binance(move |_| large()).await),
        "upstream_too_large"
    );
}

#[tokio::test]
async fn an_answer_about_something_else_is_refused() {
    for (pointer, value) in [
        ("/symbol", json!("ETHUSDT")),
        ("/symbol", json!("ВТСUSDT")),
        ("/markPrice", json!("NaN")),
        ("/markPrice", json!("0")),
        ("/markPrice", json!("-97221.1")),
        ("/markPrice", json!(1e40)),
        ("/time", json!(1_795_223_221_000_u64)),
        ("/time", json!(0)),
        ("/time", json!("soon")),
    ] {
        let change = move |path: &str| {
            (path == "/fapi/v1/premiumIndex").then(|| {
                with(
                    "binance_futures/premium_index_btc.json",
                    pointer,
                    value.clone(),
                )
            })
        };
        assert_eq!(
            reason(of_binance(change).await),
            "upstream_malformed",
            "{pointer}"
        );
    }
    let okx = |path: &str| {
        (path.ends_with("funding-rate")).then(|| {
            with(
                "okx_futures/funding_rate_btc.json",
                "/data/0/instId",
                json!("ETH-USDT-SWAP"),
            )
        })
    };
    assert_eq!(reason(of_okx(okx).await), "upstream_malformed");
    let bybit = |path: &str| {
        (path.ends_with("tickers")).then(|| {
            with(
                "bybit_futures/tickers_btc.json",
                "/result/list/0/symbol",
                json!("ETHUSDT"),
            )
        })
    };
    assert_eq!(reason(of_bybit(bybit).await), "upstream_malformed");
}

#[tokio::test]
async fn a_failed_part_is_named_as_missing() {
    let down = |path: &str| {
        (path != "/fapi/v1/premiumIndex" && path != "/fapi/v1/fundingInfo")
            .then(|| ResponseTemplate::new(403))
    };
    let reading = of_binance(down).await.unwrap();
    assert!(reading.value.funding.is_some());
    assert_eq!(
        (&reading.value.open_interest, &reading.value.long_short),
        (&None, &None)
    );
    assert_eq!(
        why_missing(&reading.value, Part::OpenInterest),
        Some("upstream_http_403")
    );
    assert_eq!(
        why_missing(&reading.value, Part::LongShort),
        Some("upstream_http_403")
    );
    let statuses: Vec<_> = reading
        .sources
        .iter()
        .map(|source| source.status.as_str())
        .collect();
    assert_eq!(statuses, ["ok", "ok", "unavailable", "unavailable"]);

    // A rate of an unknown interval does not count.
    let no_list = |path: &str| (path == "/fapi/v1/fundingInfo").then(|| ResponseTemplate::new(403));
    let reading = of_binance(no_list).await.unwrap().value;
    assert_eq!(
        (&reading.funding, why_missing(&reading, Part::Funding)),
        (&None, Some("upstream_http_403"))
    );
    let odd_list = |path: &str| {
        (path == "/fapi/v1/fundingInfo")
            .then(|| raw(r#"[{"symbol":"BTCUSDT","fundingIntervalHours":0}]"#))
    };
    assert_eq!(of_binance(odd_list).await.unwrap().value.funding, None);
    let four = |path: &str| match path {
        "/fapi/v1/fundingInfo" => Some(raw(r#"[{"symbol":"BTCUSDT","fundingIntervalHours":4}]"#)),
        "/fapi/v1/premiumIndex" => Some(with(
            "binance_futures/premium_index_btc.json",
            "/nextFundingTime",
            json!(1_795_233_600_000_u64),
        )),
        _ => None,
    };
    assert_eq!(
        of_binance(four)
            .await
            .unwrap()
            .value
            .funding
            .unwrap()
            .apr_pct
            .to_string(),
        "21.9"
    );

    // The next payment is at eight o'clock, which is no payment of seven hours.
    let seven = |path: &str| {
        (path == "/fapi/v1/fundingInfo")
            .then(|| raw(r#"[{"symbol":"BTCUSDT","fundingIntervalHours":7}]"#))
    };
    let reading = of_binance(seven).await.unwrap().value;
    assert_eq!(
        (&reading.funding, why_missing(&reading, Part::Funding)),
        (&None, Some("funding_interval_contradicts_next_payment"))
    );

    let okx = |path: &str| {
        path.ends_with("funding-rate").then(|| {
            with(
                "okx_futures/funding_rate_btc.json",
                "/data/0/nextFundingTime",
                json!("1795248000001"),
            )
        })
    };
    let reading = of_okx(okx).await.unwrap().value;
    assert_eq!(
        why_missing(&reading, Part::Funding),
        Some("funding_interval_unknown")
    );
    // Hours that are not a whole number are unknown.
    for value in ["", "0", "8.5", "48"] {
        let change = move |path: &str| {
            path.ends_with("tickers").then(|| {
                with(
                    "bybit_futures/tickers_btc.json",
                    "/result/list/0/fundingIntervalHour",
                    json!(value),
                )
            })
        };
        let reading = of_bybit(change).await.unwrap().value;
        assert_eq!(
            why_missing(&reading, Part::Funding),
            Some("funding_interval_unknown"),
            "{value:?}"
        );
    }
}

#[tokio::test]
async fn figures_in_another_unit_are_not_believed() {
    // A rate in percent of a wild day, shares in percent.
    let rate = |path: &str| {
        (path == "/fapi/v1/premiumIndex").then(|| {
            with(
                "binance_futures/premium_index_btc.json",
                "/lastFundingRate",
                json!("0.5"),
            )
        })
    };
    let reading = of_binance(rate).await.unwrap().value;
    assert_eq!(
        (&reading.funding, why_missing(&reading, Part::Funding)),
        (&None, Some("upstream_implausible"))
    );
    let shares = |path: &str| {
        path.ends_with("globalLongShortAccountRatio").then(|| {
            let mut body = recorded("binance_futures/global_long_short_btc.json");
            body[0]["longAccount"] = json!("45.58");
            body[0]["shortAccount"] = json!("54.42");
            answer(&body)
        })
    };
    let reading = of_binance(shares).await.unwrap().value;
    assert_eq!(
        why_missing(&reading, Part::LongShort),
        Some("upstream_malformed")
    );
    let negative = |path: &str| {
        path.ends_with("tickers").then(|| {
            with(
                "bybit_futures/tickers_btc.json",
                "/result/list/0/openInterest",
                json!("-1"),
            )
        })
    };
    assert_eq!(of_bybit(negative).await.unwrap().value.open_interest, None);
    let empty = |path: &str| {
        path.ends_with("open-interest").then(|| {
            let mut body = recorded("okx_futures/open_interest_btc.json");
            body["data"][0]["oiCcy"] = json!("");
            body["data"][0]["oiUsd"] = json!("");
            answer(&body)
        })
    };
    // Contracts are present, and are no substitute.
    let reading = of_okx(empty).await.unwrap().value;
    assert_eq!(
        (
            &reading.open_interest,
            why_missing(&reading, Part::OpenInterest)
        ),
        (&None, Some("not_named_by_source"))
    );
}

#[tokio::test]
async fn one_bad_row_does_not_spoil_a_list() {
    let list = |path: &str| {
        (path == "/v5/market/tickers").then(|| {
            let mut body = recorded("bybit_futures/tickers_all.json");
            body["result"]["list"][0]["markPrice"] = json!("NaN");
            let twice = body["result"]["list"][1].clone();
            body["result"]["list"].as_array_mut().unwrap().push(twice);
            body["result"]["list"]
                .as_array_mut()
                .unwrap()
                .push(json!({"symbol": "<b>\u{202e}USDT", "markPrice": "1"}));
            answer(&body)
        })
    };
    let all = connect(&bybit(list).await, Bybit::new)
        .all(None)
        .await
        .unwrap();
    let coins: Vec<_> = all.value.iter().map(|(coin, _)| coin.as_str()).collect();
    assert_eq!(coins, ["ETH", "HYPE", "PEPE", "SOL"]);
}
