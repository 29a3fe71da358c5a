//! Tests of the sources and ages in the answers of `/price` and `/all-tokens`.

use serde_json::{Value, json};

use crate::routes::shop::{Shop, codes, section, source, unavailable};

const WOKB: &str = "/price?token=0xe538905cf8410324e03A5A23C1c177a474D59b2b";
const SMALL: &str = "/price?token=0x1000000000000000000000000000000000000002";

#[tokio::test]
async fn liquidity_that_is_sold_ages_the_answer() {
    let shop = Shop::in_scenario("liquidity_old").await;
    let body = shop.buy(&format!("{WOKB}&provenance=1")).await;
    let (data, meta) = (&body["data"], &body["meta"]);
    assert_eq!(data["as_of"], "2026-11-21T01:01:50Z");
    assert_eq!(data["liquidity_usd"], "3456789.12");
    assert_eq!(
        (&meta["as_of"], &meta["verdict"]),
        (&json!("2026-11-21T00:57:00Z"), &json!("stale"))
    );
    assert_eq!(
        meta["provenance"]["/data/liquidity_usd"]["as_of"],
        meta["as_of"]
    );
}

#[tokio::test]
async fn a_price_that_was_left_out_ages_nothing_and_keeps_its_time() {
    let shop = Shop::in_scenario("disputed_and_old").await;
    let body = shop.buy(WOKB).await;
    assert_eq!(body["data"]["confidence"], "disputed");
    // The price is the middle of two prices that differ slightly.
    assert_eq!(
        (&body["data"]["price_usd"], &body["data"]["source"]),
        (&json!("120.46"), &json!("median"))
    );
    let quotes = body["data"]["quotes"].as_array().unwrap();
    assert!(
        quotes
            .iter()
            .all(|quote| quote["source"] != "defillama.coins")
    );
    // A pool's price is as old as its last trade can be, and counts as fresh for longer.
    assert_eq!(
        section(&body, "price")["as_of"],
        json!("2026-11-21T01:01:50Z")
    );
    assert_eq!(section(&body, "pool_price")["max_age_seconds"], 600);
    assert!(section(&body, "pool_price")["age_seconds"].as_u64() >= Some(300));
    assert_eq!(body["meta"]["verdict"], "fresh");
    assert_eq!(
        source(&body, "defillama.coins")["as_of"],
        "2026-11-21T00:42:00Z"
    );
}

#[tokio::test]
async fn a_check_that_is_older_than_the_caller_takes_confirms_nothing() {
    let shop = Shop::at_the_recording().await;
    let body = shop.buy(&format!("{WOKB}&max_age=30")).await;
    let quotes = body["data"]["quotes"].as_array().unwrap();
    let sources: Vec<_> = quotes.iter().map(|quote| &quote["source"]).collect();
    // The pool does not confirm the price either, because its last trade may be five minutes old.
    assert_eq!(sources, ["okx.market-price"]);
    assert_eq!(body["data"]["confidence"], "single_source");
    assert_eq!(body["meta"]["as_of"], "2026-11-21T01:01:50Z");
}

#[tokio::test]
async fn prices_that_contradict_each_other_are_not_sold() {
    let shop = Shop::in_scenario("price_contradicted").await;
    let error = shop.refused(WOKB, 503, "core_data_missing").await;
    assert_eq!(
        (&error["missing"], &error["reason"]),
        (&json!(["price"]), &json!("prices_contradict"))
    );
    // The error shows both quotes, and the allowed difference.
    let quotes = error["quotes"].as_array().unwrap();
    let prices: Vec<_> = quotes.iter().map(|quote| &quote["price_usd"]).collect();
    assert_eq!(prices, ["118.42", "1.1842"]);
    assert_eq!(error["contradiction_pct"], "5");
    // An answer with several parts lacks the price, and its rest is sold.
    let vetted = shop
        .buy("/vet-token?address=0xe538905cf8410324e03A5A23C1c177a474D59b2b")
        .await;
    let price = &vetted["data"]["price"];
    assert_eq!(
        (&price["price_usd"], &price["confidence"]),
        (&Value::Null, &json!("contradicted"))
    );
    assert_eq!(price["quotes"].as_array().unwrap().len(), 2);
    assert_eq!(
        unavailable(&vetted, "data.price.price_usd")["reason"],
        "prices_contradict"
    );
}

#[tokio::test]
async fn a_pool_without_trades_confirms_nothing() {
    let shop = Shop::in_scenario("pool_dormant").await;
    let body = shop.buy(WOKB).await;
    let data = &body["data"];
    assert_eq!(
        (&data["confidence"], &data["source"]),
        (&json!("single_source"), &json!("okx.market-price"))
    );
    assert_eq!(data["quotes"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn an_unlisted_token_has_the_price_of_a_small_trade() {
    let shop = Shop::open().await;
    let body = shop.buy(SMALL).await;
    let data = &body["data"];
    // Five tokens cost ten dollars, and sell for 9.97 dollars.
    assert_eq!(
        (&data["price_usd"], &data["source"], &data["confidence"]),
        (
            &json!("1.994"),
            &json!("okx.quote"),
            &json!("single_source")
        )
    );
    assert!(data["as_of"].is_string() && data["liquidity_usd"].is_null());
    assert_eq!(codes(&body), ["weak_price"]);
    assert_eq!(source(&body, "okx.quote")["status"], "ok");
}

#[tokio::test]
async fn unstated_facts_are_null_and_left_out_rows_are_counted() {
    let shop = Shop::in_scenario("list_gaps").await;
    let body = shop.buy("/all-tokens").await;
    let tokens = body["data"]["tokens"].as_array().unwrap();
    assert_eq!(tokens.len(), 5);
    assert_eq!(tokens[3]["name"], Value::Null);
    assert_eq!(tokens[4]["logo_url"], Value::Null);
    for member in ["name", "logo_url"] {
        let entry = unavailable(&body, &format!("data.tokens[].{member}"));
        assert_eq!(entry["reason"], "not_named_by_source", "{member}");
    }
    assert_eq!(codes(&body), ["rows_left_out"]);
}
