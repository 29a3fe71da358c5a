//! Tests of an answer's age: which data ages it, which does not, and for how long it counts as
//! fresh.

use replay::{Recordings, ReplayServer};
use serde_json::json;

use super::{ACCOUNT, reasons, source};
use crate::routes::shop::{Shop, clock_at, left, section};

const HOUR: i64 = 3600;

/// The server keeps lists of names and units for long, and reads figures again. Only the figures
/// give an answer its age.
#[tokio::test]
async fn facts_that_name_things_do_not_age_figures() {
    // The times of the recordings are slightly ahead of this clock, as a venue's may be.
    let clock = clock_at(-240);
    let shop = Shop::by_the_clock(clock.clone()).await;
    let account = format!("/hyperliquid-account?address={ACCOUNT}");
    let targets = ["/funding-rates", "/funding-rates?symbol=BTC", &account];
    for target in targets {
        shop.buy(target).await;
    }
    clock.set(0);
    for target in targets {
        let meta = &shop.buy(target).await["meta"];
        assert_eq!(meta["verdict"], "fresh", "{target}: {meta}");
        assert!(
            meta["age_seconds"].as_u64().unwrap() < 10,
            "{target}: {meta}"
        );
    }
    // The list was not requested again.
    assert_eq!(
        shop.world
            .replay
            .served("binance_futures/funding_info.json"),
        1
    );
}

#[tokio::test]
async fn balances_are_fresh_beside_an_edition_that_is_minutes_old() {
    let clock = clock_at(-240);
    let shop = Shop::by_the_clock(clock.clone()).await;
    let target = format!("/idle-capital?address={ACCOUNT}");
    shop.buy(&target).await;
    clock.set(0);
    let body = shop.buy(&target).await;
    let meta = &body["meta"];
    let age = &meta["age_seconds"];
    assert_eq!((&meta["verdict"], age), (&json!("fresh"), &json!(240)));
    // The balances go stale within a moment, and the answer with them.
    assert!((0..=15).contains(&left(&body)), "{meta}");
    let bound = |name| section(&body, name)["max_age_seconds"].as_u64();
    assert_eq!((bound("balances"), bound("best")), (Some(15), Some(2700)));
    // An edition that is older than its bound is stale, however new the balances are.
    clock.set(HOUR);
    assert_eq!(shop.buy(&target).await["meta"]["verdict"], "stale");
}

#[tokio::test]
async fn a_pulse_is_fresh_while_its_news_are() {
    let clock = clock_at(0);
    let shop = Shop::by_the_clock(clock.clone()).await;
    let body = shop.buy("/rwa-pulse").await;
    let meta = &body["meta"];
    assert_eq!(meta["verdict"], "fresh", "{meta}");
    // The prices go stale within a minute.
    assert!(left(&body) <= 60, "{meta}");
    // The macro readings do not age, because no market is open before Monday. The news is gathered
    // every hour, so it is stale.
    clock.set(2 * HOUR);
    assert_eq!(shop.buy("/rwa-pulse").await["meta"]["verdict"], "stale");
}

#[tokio::test]
async fn a_value_that_cannot_be_refreshed_is_compared_with_the_second_source() {
    let clock = clock_at(0);
    let exchange = ReplayServer::start(Recordings::embedded().unwrap())
        .await
        .unwrap();
    let url = exchange.base_url("cdn.cboe.com");
    let shop = Shop::changed_by_the_clock(clock.clone(), |config, _replay| {
        let table = config.upstreams.0.get_mut("cboe").expect("an upstream");
        assert!(table.set_url("base_url", url));
    })
    .await;
    let body = shop.buy("/tradfi-data?symbol=VIX").await;
    assert_eq!(source(&body, "fred.chart-csv"), None);
    drop(exchange);
    clock.set(HOUR);
    let body = shop.buy("/tradfi-data?symbol=VIX").await;
    // The exchange's cached value is Friday's, and FRED's is Thursday's.
    let vix = &body["data"]["volatility"]["vix"];
    assert_eq!(
        (&vix["value"], &vix["source"]),
        (&json!("17.42"), &json!("cboe.vix"))
    );
    assert_eq!(source(&body, "cboe.vix").unwrap()["status"], "stale");
    let second = source(&body, "fred.chart-csv").unwrap();
    assert_eq!(
        (&second["status"], &second["reason"]),
        (&json!("unavailable"), &json!("older_than_another"))
    );
    assert!(reasons(&body, "data.volatility.vix").is_empty());
}

#[tokio::test]
async fn a_caller_who_takes_nothing_old_has_macro_readings_read_again() {
    let clock = clock_at(0);
    let shop = Shop::by_the_clock(clock.clone()).await;
    for target in ["/tradfi-data", "/rwa-pulse"] {
        shop.buy(target).await;
    }
    let asked = || ["cboe", "treasury"].map(|name| shop.world.replay.served_of(name));
    assert_eq!(asked(), [1, 1]);
    clock.set(60);
    for (count, target) in [(2, "/tradfi-data?max_age=30"), (3, "/rwa-pulse?max_age=30")] {
        // The readings are from Friday's close nevertheless.
        let error = shop.refused(target, 503, "upstream_unavailable").await;
        assert_eq!(error["reason"], "older_than_max_age", "{target}");
        assert_eq!(asked(), [count, count], "{target}");
        clock.set(120);
    }
}
