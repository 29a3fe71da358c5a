//! Tests of answers that have many parts. The part that ages first limits the whole answer, no part
//! belongs to another coin, and no part delays the others.

use replay::{Recordings, ReplayServer};
use serde_json::{Value, json};

use crate::routes::attacks_liar::{Liar, Lie};
use crate::routes::attacks_upstreams::deceived;
use crate::routes::shop::{Shop, clock_at, left, section, source, unavailable};

/// A shop whose first catalogue never answers requests whose address contains `part`. The second
/// value is the server of the recordings, which must outlive the shop.
async fn hesitant(part: &'static str) -> (Shop, ReplayServer) {
    let origin = ReplayServer::start(Recordings::embedded().unwrap())
        .await
        .unwrap();
    let liar = Liar::before(origin.url(), Lie::SilenceOn(part)).await;
    let url = format!("{}/api.coingecko.com", liar.url());
    let shop = Shop::changed(move |config, _replay| {
        let catalogue = config.upstreams.0.get_mut("coingecko").unwrap();
        assert!(catalogue.set_url("base_url", url));
    })
    .await;
    (shop, origin)
}

#[tokio::test]
async fn the_part_that_ages_first_ages_the_whole() {
    let shop = Shop::at_the_recording().await;
    for target in [
        "/token-deep-dive?symbol=BTC",
        "/token-alpha?symbol=BTC",
        "/mega-report",
    ] {
        let body = shop.buy(target).await;
        assert_eq!(body["meta"]["verdict"], "fresh", "{target}");
        // Funding is fresh for half a minute, however fresh the rest is.
        assert!((0..=30).contains(&left(&body)), "{target}: {}", left(&body));
    }
}

/// The longest age of a section does not depend on the age of its data, so that callers can rely on
/// it.
#[tokio::test]
async fn each_section_has_a_bound_that_stays() {
    let clock = clock_at(0);
    let shop = Shop::by_the_clock(clock.clone()).await;
    let target = "/token-alpha?symbol=BTC";
    let bounds = |body: &Value| {
        let sections = body["meta"]["sections"].as_array().unwrap().iter();
        let bound = |of: &Value| (of["name"].clone(), of["max_age_seconds"].clone());
        (
            body["meta"]["max_age_seconds"].clone(),
            sections.map(bound).collect::<Vec<_>>(),
        )
    };
    let first = shop.buy(target).await;
    assert_eq!(section(&first, "derivatives")["max_age_seconds"], 30);
    clock.set(10);
    let later = shop.buy(target).await;
    assert_eq!(bounds(&first), bounds(&later));
    assert!(left(&later) <= left(&first));
}

#[tokio::test]
async fn a_report_has_whole_lists_and_says_so() {
    let shop = Shop::open().await;
    let body = shop.buy("/mega-report").await;
    let of_yield = |cut: &Value| cut["field"] == "data.sections.yield";
    let cut = body["meta"]["cut"].as_array().into_iter().flatten();
    assert_eq!(cut.filter(|cut| of_yield(cut)).count(), 0);
    let shown = body["data"]["sections"]["yield"].as_array().unwrap();
    let whole = shop.buy("/yield-alpha").await;
    let whole = whole["data"]["pools"].as_array().unwrap();
    assert!(whole.len() > 1);
    assert_eq!(shown.len(), whole.len());
}

/// When upstreams have long lists, the routes of the sections cut them, and the report does not.
#[tokio::test]
async fn a_report_has_more_than_its_parts() {
    let (shop, _origin) = deceived(Lie::Long).await;
    let body = shop.buy("/mega-report").await;
    let cut = body["meta"]["cut"].as_array().cloned().unwrap_or_default();
    let of_sections = |cut: &&Value| cut["field"].as_str().unwrap().starts_with("data.sections");
    assert_eq!(cut.iter().find(of_sections), None);
    let sections = &body["data"]["sections"];
    for (route, of_route, of_section) in [
        ("/crypto-news", "/headlines", "/headlines"),
        ("/trending-altcoins", "/altcoins", "/trending"),
        ("/yield-alpha", "/pools", "/yield"),
        ("/defi-analytics", "/protocols", "/defi/protocols"),
        ("/defi-analytics", "/chains", "/defi/chains"),
        ("/defi-analytics", "/gainers", "/defi/gainers"),
        ("/defi-analytics", "/losers", "/defi/losers"),
    ] {
        let single = shop.buy(route).await;
        let rows = |of: &Value, place: &str| of.pointer(place).unwrap().as_array().unwrap().len();
        let (single, whole) = (rows(&single["data"], of_route), rows(sections, of_section));
        assert!(whole > single, "{of_section}: {whole} of {single}");
    }
    // The report has levels and the depth of the book, which no section's route has.
    for coin in ["BTC", "ETH", "SOL"] {
        let levels = &sections["levels"][coin];
        let there = levels["levels"]["last"].is_string() || levels.is_null();
        assert!(there, "{coin}: {levels}");
    }
    assert!(sections["levels"]["BTC"]["book"]["impact"].is_array());
    assert!(sections["levels"]["BTC"]["levels"]["supports"].is_array());
}

#[tokio::test]
async fn markets_value_locked_and_yields_are_compared_with_the_day_before() {
    let clock = clock_at(0);
    let shop = Shop::by_the_clock(clock.clone()).await;
    let body = shop.buy("/mega-report").await;
    for part in ["derivatives", "tvl", "macro"] {
        assert_eq!(body["data"]["change"][part], Value::Null);
        let entry = unavailable(&body, &format!("data.change.{part}"));
        assert_eq!(entry["reason"], "not_read_the_day_before", "{part}");
    }
    clock.set(24 * 3600);
    let body = shop.buy("/mega-report").await;
    let change = &body["data"]["change"];
    for part in ["derivatives", "tvl", "macro"] {
        assert_eq!(
            change[part]["since"], "2026-11-21T01:02:00Z",
            "{part}: {change}"
        );
    }
    let market = &change["derivatives"]["markets"][0];
    assert_eq!(
        (
            &market["symbol"],
            &market["oi_pct"],
            &market["funding_8h_bps"]
        ),
        (&json!("BTC"), &json!("0"), &json!("0"))
    );
    assert_eq!(change["tvl"]["total_pct"], "0");
    assert!(!change["tvl"]["protocols"].as_array().unwrap().is_empty());
    let readings = change["macro"]["readings"].as_array().unwrap();
    let of = |name: &str| readings.iter().find(|row| row["of"] == name);
    assert_eq!(of("vix").map(|row| &row["change_pct"]), Some(&json!("0")));
    assert_eq!(of("10y").map(|row| &row["change_bp"]), Some(&json!("0")));
}

/// After the last announced decision, the answer says that the calendar ends there. Otherwise an
/// empty list would look like two weeks without a decision.
#[tokio::test]
async fn scheduled_events_name_the_end_of_the_calendar() {
    let target = "/token-deep-dive?symbol=OKB";
    let body = Shop::at_the_recording().await.buy(target).await;
    let calendar = &body["data"]["catalyst_calendar"];
    assert_eq!(
        (&calendar["fomc_known_until"], &calendar["complete"]),
        (&json!("2027-12-08"), &json!(true))
    );
    let shop = Shop::by_the_clock(clock_at(400 * 86_400)).await;
    let body = shop.buy(target).await;
    assert_eq!(body["data"]["catalyst_calendar"]["complete"], false);
    assert_eq!(
        unavailable(&body, "data.catalysts")["reason"],
        "fomc_decisions_unknown_beyond_calendar"
    );
}

#[tokio::test]
async fn derivatives_of_another_coin_are_not_shown() {
    let shop = Shop::in_scenario("another_coin").await;
    let body = shop.buy("/token-deep-dive?symbol=BTC").await;
    let part = &body["data"]["derivatives"];
    assert_eq!(
        (&part["status"], &part["reason"], &part["data"]),
        (
            &json!("unavailable"),
            &json!("derivatives_of_another_coin"),
            &Value::Null
        )
    );
    let body = shop.buy("/token-alpha?symbol=BTC").await;
    assert_eq!(body["data"]["derivatives"], Value::Null);
    assert_eq!(body["data"]["price"]["price_usd"], "0.018");
    assert_eq!(
        unavailable(&body, "data.derivatives")["reason"],
        "derivatives_of_another_coin"
    );
    let plain = Shop::open().await;
    let body = plain.buy("/token-alpha?symbol=BTC").await;
    assert_eq!(body["data"]["derivatives"]["symbol"], "BTC");
}

#[tokio::test]
async fn a_token_of_another_chain_has_the_price_of_its_pools_there() {
    let shop = Shop::in_scenario("token_elsewhere").await;
    let body = shop.buy("/token-deep-dive?symbol=OKB").await;
    let part = &body["data"]["dex_price"];
    assert_eq!(part["status"], "ok", "{part}");
    assert_eq!(
        (&part["data"]["chain_id"], &part["data"]["price_usd"]),
        (&json!(1), &json!("118.4"))
    );
    assert_eq!(
        (&part["data"]["source"], &part["data"]["confidence"]),
        (&json!("dexscreener.pairs"), &json!("single_source"))
    );
    // The token was not scanned. The answer does not claim that there is nothing to scan.
    assert_eq!(body["data"]["security"]["status"], "unavailable");
}

#[tokio::test]
async fn a_coin_that_was_found_does_not_wait_for_its_contracts() {
    let (shop, _origin) = hesitant("/coins/okb").await;
    let body = shop.buy("/token-deep-dive?symbol=OKB").await;
    let data = &body["data"];
    assert_eq!(data["token_details"]["data"]["id"], "okb");
    assert_eq!(
        unavailable(&body, "data.token_details.data.contracts"),
        &json!({"field": "data.token_details.data.contracts", "reason": "upstream_timeout", "source": "coingecko.contracts"})
    );
    assert_eq!(data["security"]["reason"], "contract_unknown");
}

#[tokio::test]
async fn a_catalogue_that_hangs_leaves_time_for_the_other() {
    let (shop, _origin) = hesitant("/coins/").await;
    let body = shop.buy("/token-deep-dive?symbol=OKB").await;
    assert_eq!(body["data"]["token_details"]["data"]["id"], "okb-okb");
    assert_eq!(
        source(&body, "coingecko.markets")["reason"],
        "upstream_timeout"
    );
}

#[tokio::test]
async fn a_report_repeats_its_sections_and_leaves_out_old_ones() {
    let shop = Shop::without(&["coingecko"]).await;
    let body = shop.buy("/mega-report").await;
    assert_eq!(
        unavailable(&body, "data.sections.trending")["reason"],
        "fewer_than_three_altcoins"
    );

    let shop = Shop::at_the_recording().await;
    let body = shop.buy("/mega-report?max_age=7200").await;
    let missing = body["data"]["missing"].as_array().unwrap();
    assert!(missing.contains(&json!("macro")), "{missing:?}");
    assert_eq!(
        unavailable(&body, "data.sections.macro")["reason"],
        "older_than_max_age"
    );
    assert!(body["data"]["sections"]["headlines"].is_array());
    assert!(body["meta"]["age_seconds"].as_u64().unwrap() <= 7200);
}

#[tokio::test]
async fn members_name_the_source_that_they_are_from() {
    // The source for symbols does not answer, so the hourly news takes its place.
    let shop = Shop::without(&["okx"]).await;
    let body = shop.buy("/token-alpha?symbol=BTC&provenance=1").await;
    let origin = body["meta"]["provenance"]["/data/news"]["source"]
        .as_str()
        .unwrap();
    assert_eq!(source(&body, origin)["status"], "ok", "{origin}");
    let body = shop.buy("/mega-report?provenance=1").await;
    let origin = body["meta"]["provenance"]["/data/sections/headlines"]["source"]
        .as_str()
        .unwrap();
    assert_eq!(source(&body, origin)["status"], "ok", "{origin}");
}
