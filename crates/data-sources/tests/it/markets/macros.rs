//! FRED, the Treasury, Cboe, Frankfurter and Yahoo.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use data_sources::{
    SourceConfig, cboe::Cboe, frankfurter::Frankfurter, fred::Fred, transport::Transport,
    treasury::Treasury, yahoo::Yahoo,
};
use readings::macro_data::Instrument;
use serde_json::json;
use wiremock::{MockServer, ResponseTemplate};

use crate::markets::{
    connect, connect_at, csv, deciding, json as answer, raw, reason, recorded, recorded_clock, text,
};

const KEY: &str = "0123456789abcdef0123456789abcdef";

fn keyed(server: &MockServer) -> Fred {
    let config = SourceConfig {
        urls: BTreeMap::from(["base_url", "csv_url"].map(|key| (key.to_owned(), server.uri()))),
        api_key: Some(KEY.into()),
        ..SourceConfig::default()
    };
    Fred::new(
        &Transport::new().unwrap(),
        config,
        Arc::new(recorded_clock()),
    )
    .unwrap()
}

#[tokio::test]
async fn the_curve_of_the_newest_day() {
    let server = deciding(|request| {
        let year =
            "/resource-center/data-chart-center/interest-rates/daily-treasury-rates.csv/2026/all";
        (request.url.path() == year).then(|| csv(&text("treasury/daily_yield_curve_2026.csv")))
    })
    .await;
    let curve = connect(&server, Treasury::new).curve(None).await.unwrap();
    let shown: Vec<_> = curve
        .value
        .points
        .iter()
        .map(|(of, point)| format!("{} {}", of.symbol, point.value))
        .collect();
    assert_eq!(
        shown,
        ["US3M 3.68", "US2Y 3.51", "US10Y 4.08", "US30Y 4.69"]
    );
    assert_eq!(
        curve.value.points[2].1.previous.unwrap().to_string(),
        "4.11"
    );
    assert_eq!(
        curve.sources[0].as_of.unwrap().to_string(),
        "2026-11-20T20:30:00Z"
    );
}

/// A value that is kept for minutes is read again for a caller that requires a newer one.
#[tokio::test]
async fn a_caller_decides_how_old_a_macro_reading_may_be() {
    let server = deciding(|request| match request.url.path() {
        "/api/global/delayed_quotes/quotes/_VIX.json" => {
            Some(answer(&recorded("cboe/delayed_quote_vix.json")))
        }
        "/v1/2026-11-11.." => Some(answer(&recorded("frankfurter/series_usd.json"))),
        "/graph/fredgraph.csv" => Some(csv(&text("fred/fredgraph_vixcls.csv"))),
        "/v8/finance/chart/%5EVIX" => Some(answer(&recorded("yahoo/chart_vix.json"))),
        path => path
            .ends_with("/2026/all")
            .then(|| csv(&text("treasury/daily_yield_curve_2026.csv"))),
    })
    .await;
    let clock = recorded_clock();
    let (cboe, treasury) = (
        connect_at(&server, &clock, Cboe::new),
        connect_at(&server, &clock, Treasury::new),
    );
    let (frankfurter, fred, yahoo) = (
        connect_at(&server, &clock, Frankfurter::new),
        connect_at(&server, &clock, Fred::new),
        connect_at(&server, &clock, Yahoo::new),
    );
    let asked = async |max_age: Option<u64>| {
        let max_age = max_age.map(Duration::from_secs);
        let vix = &Instrument::VIX;
        cboe.vix(max_age).await.unwrap();
        treasury.curve(max_age).await.unwrap();
        frankfurter.rates(max_age).await.unwrap();
        fred.latest(vix, max_age).await.unwrap();
        yahoo.price(vix, max_age).await.unwrap();
        server.received_requests().await.unwrap().len()
    };
    assert_eq!(asked(None).await, 5);
    clock.advance(Duration::from_secs(60));
    assert_eq!(asked(None).await, 5);
    assert_eq!(asked(Some(61)).await, 5);
    assert_eq!(asked(Some(10)).await, 10);
}

#[tokio::test]
async fn the_first_days_of_a_year_are_in_the_file_before() {
    let server = deciding(|request| {
        let path = request.url.path();
        let header = "Date,\"2 Yr\",\"10 Yr\"\n";
        if path.ends_with("/2027/all") {
            return Some(csv(header));
        }
        path.ends_with("/2026/all")
            .then(|| csv(&format!("{header}12/31/2026,3.5,4.0\n")))
    })
    .await;
    let clock = recorded_clock();
    // Moves the clock to 2027-01-02.
    clock.advance(Duration::from_secs(42 * 86_400));
    let curve = connect_at(&server, &clock, Treasury::new)
        .curve(None)
        .await
        .unwrap();
    assert_eq!(curve.value.date.to_string(), "2026-12-31");
}

#[tokio::test]
async fn fred_without_a_key_is_read_from_its_charts() {
    let server = deciding(|request| {
        let asked = request
            .url
            .query()
            .unwrap_or_default()
            .starts_with("id=VIXCLS&cosd=2026-10-21");
        (request.url.path() == "/graph/fredgraph.csv" && asked)
            .then(|| csv(&text("fred/fredgraph_vixcls.csv")))
    })
    .await;
    let vix = connect(&server, Fred::new)
        .latest(&Instrument::VIX, None)
        .await
        .unwrap();
    // The empty cell of the last day is not zero.
    assert_eq!(
        (
            vix.value.value.to_string().as_str(),
            vix.value.as_of.to_string().as_str()
        ),
        ("17.55", "2026-11-19T21:15:00Z")
    );
    assert_eq!(vix.value.source, "fred.chart-csv");
    assert_eq!(
        reason(
            connect(&server, Fred::new)
                .latest(&Instrument::USDJPY, None)
                .await
        ),
        "symbol_not_found"
    );
}

#[tokio::test]
async fn fred_uses_its_key_and_reads_the_charts_when_the_key_is_refused() {
    let server = deciding(|request| {
        let query = request.url.query().unwrap_or_default();
        assert!(query.contains(KEY) || request.url.path().starts_with("/graph"));
        (request.url.path() == "/fred/series/observations")
            .then(|| answer(&recorded("fred/observations_dgs10.json")))
    })
    .await;
    let ten = keyed(&server)
        .latest(&Instrument::US10Y, None)
        .await
        .unwrap();
    assert_eq!(
        (ten.value.value.to_string().as_str(), ten.value.source),
        ("4.08", "fred.series")
    );
    assert_eq!(ten.value.previous.unwrap().to_string(), "4.11");

    let refusing = deciding(|request| match request.url.path() {
        "/graph/fredgraph.csv" => Some(csv("observation_date,DGS10\n2026-11-19,4.11\n")),
        _ => Some(
            ResponseTemplate::new(400)
                .set_body_raw(text("fred/error_bad_key.json"), "application/json"),
        ),
    })
    .await;
    let ten = keyed(&refusing)
        .latest(&Instrument::US10Y, None)
        .await
        .unwrap();
    assert_eq!(ten.value.source, "fred.chart-csv");
    let silent = deciding(|_| Some(ResponseTemplate::new(403))).await;
    let error = keyed(&silent)
        .latest(&Instrument::US10Y, None)
        .await
        .unwrap_err();
    assert!(!format!("{error} {error:?}").contains(KEY));
}

#[tokio::test]
async fn pages_instead_of_data_are_refused() {
    for response in [
        ResponseTemplate::new(200).set_body_raw("<html>proof of work</html>", "text/html"),
        csv("<html>proof of work</html>"),
        csv(""),
        raw("{}"),
    ] {
        let server = deciding(move |_| Some(response.clone())).await;
        let told = [
            reason(connect(&server, Treasury::new).curve(None).await),
            reason(
                connect(&server, Fred::new)
                    .latest(&Instrument::SP500, None)
                    .await,
            ),
            reason(connect(&server, Cboe::new).vix(None).await),
            reason(connect(&server, Frankfurter::new).rates(None).await),
            reason(
                connect(&server, Yahoo::new)
                    .price(&Instrument::VIX, None)
                    .await,
            ),
        ];
        for reason in told {
            assert!(
                matches!(
                    reason.as_str(),
                    "upstream_malformed" | "upstream_wrong_content_type"
                ),
                "{reason}"
            );
        }
    }
}

#[tokio::test]
async fn the_recorded_vix_and_rates_are_read() {
    let server = deciding(|request| match request.url.path() {
        "/api/global/delayed_quotes/quotes/_VIX.json" => {
            Some(answer(&recorded("cboe/delayed_quote_vix.json")))
        }
        "/v1/2026-11-11.." => Some(answer(&recorded("frankfurter/series_usd.json"))),
        _ => None,
    })
    .await;
    let vix = connect(&server, Cboe::new).vix(None).await.unwrap();
    // `prev_day_close` is 17.42 as well.
    assert_eq!(vix.value.previous.unwrap().to_string(), "17.98");
    assert_eq!(
        vix.sources[0].as_of.unwrap().to_string(),
        "2026-11-20T21:14:59Z"
    );
    let rates = connect(&server, Frankfurter::new)
        .rates(None)
        .await
        .unwrap();
    assert_eq!(rates.value.fx.len(), 6);
    assert_eq!(rates.value.dollar.unwrap().value.to_string(), "99.6540");
    assert_eq!(
        rates.sources[0].as_of.unwrap().to_string(),
        "2026-11-20T13:15:00Z"
    );
}

#[tokio::test]
async fn yahoo_answers_about_another_symbol_or_time_are_refused() {
    let chart = |change: fn(&mut serde_json::Value)| async move {
        let mut body = recorded("yahoo/chart_vix.json");
        change(&mut body["chart"]["result"][0]["meta"]);
        let server = deciding(move |request| {
            (request.url.path() == "/v8/finance/chart/%5EVIX").then(|| answer(&body))
        })
        .await;
        connect(&server, Yahoo::new)
            .price(&Instrument::VIX, None)
            .await
    };
    let quote = chart(|_| {}).await.unwrap().value;
    assert_eq!(
        (
            quote.price.to_string().as_str(),
            quote.as_of.to_string().as_str()
        ),
        ("17.42", "2026-11-20T21:15:01Z")
    );
    let changes: [fn(&mut serde_json::Value); 6] = [
        |meta| meta["symbol"] = json!("^GSPC"),
        |meta| meta["regularMarketPrice"] = json!(0),
        |meta| meta["regularMarketPrice"] = json!(1742),
        |meta| meta["regularMarketPrice"] = json!("NaN"),
        |meta| meta["regularMarketTime"] = json!(1_795_300_000),
        |meta| meta["regularMarketTime"] = json!(i64::MAX),
    ];
    for wrong in changes {
        assert_eq!(reason(chart(wrong).await), "upstream_malformed");
    }
    for (response, expected) in [
        (
            ResponseTemplate::new(429).set_body_raw("Too Many Requests", "text/html"),
            "upstream_rate_limited",
        ),
        // The words of a rate limit arrive inside a success.
        (
            ResponseTemplate::new(200).set_body_raw("Edge: Too Many Requests", "text/plain"),
            "upstream_wrong_content_type",
        ),
        (
            ResponseTemplate::new(404)
                .set_body_raw(text("yahoo/chart_not_found.json"), "application/json"),
            "symbol_not_found",
        ),
    ] {
        let server = deciding(move |_| Some(response.clone())).await;
        assert_eq!(
            reason(
                connect(&server, Yahoo::new)
                    .price(&Instrument::VIX, None)
                    .await
            ),
            expected
        );
    }
}
