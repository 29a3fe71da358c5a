//! Tests of macro data and real-world assets.

use serde_json::{Value, json};

use super::{reasons, source, texts};
use crate::routes::shop::{Shop, clock_at, section, unavailable};

#[tokio::test]
async fn macro_readings_over_a_weekend_are_fresh() {
    let body = Shop::open().await.buy("/tradfi-data").await;
    let data = &body["data"];
    assert_eq!(
        texts(&data["indices"], "symbol"),
        ["SP500", "NASDAQ", "DJIA"]
    );
    let vix = &data["volatility"]["vix"];
    assert_eq!(
        (&vix["value"], &vix["source"], &vix["delayed_minutes"]),
        (&json!("17.42"), &json!("cboe.vix"), &json!(15))
    );
    // The change is from the close before the last one. The source calls the last close the
    // previous one.
    assert_eq!(vix["change_pct"], "-3.1146");
    assert_eq!(
        (&vix["market_state"], &vix["stale"]),
        (&json!("closed"), &json!(false))
    );
    let yields = &data["yields"];
    assert_eq!(
        (&yields["10y"]["value"], &yields["10y"]["change_bp"]),
        (&json!("4.08"), &json!("-3"))
    );
    assert_eq!(
        (&yields["spread_2s10s_bp"], &yields["curve_date"]),
        (&json!("57"), &json!("2026-11-20"))
    );
    let dollar = &data["dollar"]["derived_index"];
    assert_eq!(
        (&dollar["value"], &dollar["method"]),
        (&json!("99.654"), &json!("derived"))
    );
    assert_eq!(body["meta"]["warnings"][0]["code"], "derived_index");
    assert_eq!(
        texts(&data["commodities"], "symbol"),
        [
            "WTI",
            "BRENT",
            "GOLD",
            "SILVER",
            "COPPER",
            "NATGAS",
            "WTI_FUTURE"
        ]
    );
    let gold = &data["commodities"][2];
    assert_eq!(
        (
            &gold["basis"],
            &gold["contract"],
            &gold["unit"],
            &gold["value"]
        ),
        (
            &json!("futures_front_month"),
            &json!("GC=F"),
            &json!("usd_per_troy_ounce"),
            &json!("4118.6")
        )
    );
    assert_eq!(data["fx"].as_array().unwrap().len(), 6);
    assert_eq!(data["cross_checks"].as_array().unwrap().len(), 8);
    let of_gold = data["cross_checks"].as_array().unwrap().iter();
    let of_gold = of_gold
        .clone()
        .find(|check| check["symbol"] == "GOLD")
        .unwrap();
    assert_eq!(
        (&of_gold["contract"], &of_gold["value"]),
        (&json!("xyz:GOLD"), &json!("4120"))
    );
    assert_eq!(
        (&body["meta"]["verdict"], &body["meta"]["as_of"]),
        (&json!("fresh"), &json!("2026-11-13T13:15:00Z"))
    );
    assert_eq!(body["meta"]["unavailable"], json!([]));
}

/// FRED has the close of Thursday. The chart has the same close, and Friday's after it.
#[tokio::test]
async fn the_newest_observation_is_the_value_and_the_older_one_the_cross_check() {
    let shop = Shop::open().await;
    let body = shop.buy("/tradfi-data?symbol=SP500").await;
    let index = &body["data"]["indices"][0];
    assert_eq!(
        (&index["value"], &index["source"], &index["as_of"]),
        (
            &json!("6891.4"),
            &json!("yahoo.chart"),
            &json!("2026-11-20T21:00:01Z")
        )
    );
    let check = &body["data"]["cross_checks"][0];
    assert_eq!(
        (&check["value"], &check["source"]),
        (&json!("6880.12"), &json!("fred.chart-csv"))
    );
    // Without FRED nothing confirms the chart.
    Shop::without(&["fred"])
        .await
        .refused("/tradfi-data?symbol=SP500", 503, "core_data_missing")
        .await;
}

#[tokio::test]
async fn each_series_has_its_own_age_and_verdict() {
    let clock = clock_at(0);
    let shop = Shop::by_the_clock(clock.clone()).await;
    let body = shop.buy("/tradfi-data").await;
    let sections = body["meta"]["sections"].as_array().unwrap();
    assert_eq!(sections.len(), 23, "{sections:?}");
    let spot = section(&body, "commodities[symbol=WTI]");
    let index = section(&body, "indices[symbol=SP500]");
    assert_eq!(
        (&spot["verdict"], &index["verdict"]),
        (&json!("fresh"), &json!("fresh"))
    );
    let age = |of: &Value| of["age_seconds"].as_u64().unwrap();
    assert!(age(spot) > 4 * 86_400 && age(index) < 86_400, "{body}");
    // A caller who takes nothing older than a day gets the other series, and the names of these.
    let body = shop.buy("/tradfi-data?max_age=86400").await;
    let data = &body["data"];
    assert_eq!(texts(&data["indices"], "symbol"), ["SP500", "NASDAQ"]);
    for (place, source) in [
        ("commodities[symbol=WTI]", "fred.chart-csv"),
        ("dollar.broad_index", "fred.chart-csv"),
        ("indices[symbol=DJIA]", "fred.chart-csv"),
    ] {
        let entry = unavailable(&body, &format!("data.{place}"));
        assert_eq!(
            (&entry["reason"], &entry["source"]),
            (&json!("older_than_max_age"), &json!(source)),
            "{place}"
        );
    }
    assert!(body["meta"]["age_seconds"].as_u64().unwrap() <= 86_400);
    // On the evening of Monday the stock indices are behind, and the answer with them, however
    // slowly others are published.
    clock.set(3 * 86_400);
    let body = shop.buy("/tradfi-data").await;
    let verdict = |name: &str| section(&body, name)["verdict"].clone();
    assert_eq!(verdict("indices[symbol=SP500]"), "stale");
    assert_eq!(verdict("dollar.broad_index"), "fresh");
    assert_eq!(body["meta"]["verdict"], "stale");
}

#[tokio::test]
async fn futures_are_shown_when_another_market_confirms_them() {
    // Without the chart, the perpetual's oracle takes its place, and the answer marks it as such.
    let body = Shop::without(&["yahoo"])
        .await
        .buy("/tradfi-data?symbol=gold")
        .await;
    let gold = &body["data"]["commodities"][0];
    assert_eq!(
        (&gold["basis"], &gold["contract"], &gold["source"]),
        (
            &json!("perpetual_oracle"),
            &json!("xyz:GOLD"),
            &json!("hyperliquid.markets")
        )
    );
    // The server does not sell a price that only the chart states.
    let shop = Shop::without(&["hyperliquid"]).await;
    let error = shop
        .refused("/tradfi-data?symbol=gold", 503, "core_data_missing")
        .await;
    assert_eq!(error["reason"], "not_confirmed_by_a_second_source");
    let body = shop.buy("/tradfi-data").await;
    assert_eq!(
        texts(&body["data"]["commodities"], "symbol"),
        ["WTI", "BRENT"]
    );
}

#[tokio::test]
async fn one_macro_symbol() {
    let shop = Shop::open().await;
    for (symbol, path, value) in [
        ("vix", "/volatility/vix/value", "17.42"),
        ("DXY", "/dollar/derived_index/value", "99.654"),
        ("US10Y", "/yields/10y/value", "4.08"),
        ("EURUSD", "/fx/0/value", "1.159904"),
        ("SPX", "/indices/0/value", "6891.4"),
        ("WTI", "/commodities/0/value", "59.84"),
    ] {
        let body = shop.buy(&format!("/tradfi-data?symbol={symbol}")).await;
        assert_eq!(
            body["data"].pointer(path),
            Some(&json!(value)),
            "{symbol}: {}",
            body["data"]
        );
        assert_eq!(body["meta"]["unavailable"], json!([]), "{symbol}");
    }
    let error = shop
        .refused("/tradfi-data?symbol=BTC", 404, "not_found")
        .await;
    assert_eq!(error["reason"], "symbol_not_found");
}

#[tokio::test]
async fn macro_sources_stand_in_for_each_other_and_never_for_yahoo() {
    let shop = Shop::without(&["treasury", "cboe"]).await;
    let body = shop.buy("/tradfi-data").await;
    assert_eq!(body["data"]["yields"]["10y"]["source"], "fred.chart-csv");
    assert_eq!(body["data"]["volatility"]["vix"]["value"], "17.55");
    assert_eq!(
        source(&body, "treasury.yield-curve").unwrap()["status"],
        "unavailable"
    );
    let yahoo_only =
        Shop::without(&["treasury", "cboe", "fred", "frankfurter", "hyperliquid"]).await;
    yahoo_only
        .refused("/tradfi-data", 503, "core_data_missing")
        .await;
    let no_yahoo = Shop::in_scenario("yahoo_too_many_requests")
        .await
        .buy("/tradfi-data?symbol=VIX")
        .await;
    assert_eq!(
        reasons(&no_yahoo, "data.cross_checks[symbol=VIX]"),
        ["upstream_rate_limited"]
    );
    assert_eq!(no_yahoo["data"]["volatility"]["vix"]["value"], "17.42");
}

#[tokio::test]
async fn tokenized_assets_claim_no_premium_while_their_market_is_closed() {
    let body = Shop::open().await.buy("/rwa-pulse").await;
    let data = &body["data"];
    assert_eq!(
        (
            &data["macro"]["us10y"]["value"],
            &data["macro"]["vix"]["value"]
        ),
        (&json!("4.08"), &json!("17.42"))
    );
    assert_eq!(data["macro"]["spread_2s10s_bp"], "57");
    let tokenized = &data["tokenized"];
    assert_eq!(
        texts(&tokenized["equities"], "coin"),
        ["xyz:TSLA", "xyz:NVDA", "flx:TSLA"]
    );
    assert_eq!(texts(&tokenized["indices"], "coin"), ["xyz:XYZ100"]);
    assert_eq!(
        texts(&tokenized["commodities"], "coin"),
        [
            "xyz:GOLD",
            "xyz:SILVER",
            "xyz:CL",
            "flx:GOLD",
            "xyz:COPPER",
            "xyz:NATGAS"
        ]
    );
    assert_eq!(texts(&tokenized["fx"], "coin"), ["xyz:EUR"]);
    assert_eq!(tokenized["fx"][0]["labels"], json!(["one_sided_book"]));
    // Friday, 20:02 in New York.
    for class in ["equities", "indices", "commodities", "fx"] {
        for row in tokenized[class].as_array().unwrap() {
            assert_eq!(
                (&row["oracle_state"], &row["premium_bps"]),
                (&json!("market_closed"), &Value::Null),
                "{row}"
            );
        }
        assert_eq!(
            reasons(&body, &format!("data.tokenized.{class}[].premium_bps")),
            ["market_closed_or_not_traded"]
        );
    }
    let omitted = data["omitted"].as_array().unwrap();
    assert!(
        omitted.contains(&json!({"field": "tokenized.xyz", "reason": "1_not_classified"})),
        "{omitted:?}"
    );
    assert_eq!(body["meta"]["verdict"], "fresh");
}

#[tokio::test]
async fn the_pulse_needs_two_of_three_macro_readings() {
    let without =
        |upstreams: &'static [&'static str]| async move { Shop::without(upstreams).await };
    // The first answer has yields and no volatility, the second has volatility and no yields.
    let no_vix = without(&["cboe", "fred"]).await.buy("/rwa-pulse").await;
    assert_eq!(no_vix["data"]["macro"]["vix"], Value::Null);
    assert!(!reasons(&no_vix, "data.macro.vix").is_empty());
    for missing in [&["treasury", "fred"][..], &["treasury", "cboe", "fred"]] {
        let error = Shop::without(missing)
            .await
            .refused("/rwa-pulse", 503, "core_data_missing")
            .await;
        assert_eq!(error["missing"], json!(["macro"]));
    }
    // The venue is not part of the core, so the answer names the missing fields and is sold.
    let no_venue = without(&["hyperliquid"]).await.buy("/rwa-pulse").await;
    assert_eq!(no_venue["data"]["tokenized"]["equities"], json!([]));
    let omitted = no_venue["data"]["omitted"].as_array().unwrap();
    assert!(
        omitted.iter().any(|of| of["field"] == "tokenized"),
        "{omitted:?}"
    );
    assert_eq!(reasons(&no_venue, "data.tokenized").len(), 1);
}
