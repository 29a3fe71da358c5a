//! Tests of `/token-deep-dive`.

use serde_json::{Value, json};

use crate::routes::shop::{Shop, unavailable};

#[tokio::test]
async fn a_coin_of_its_own_chain_is_shown_without_a_contract() {
    let shop = Shop::open().await;
    let body = shop.buy("/token-deep-dive?symbol=$btc").await;
    let data = &body["data"];
    assert_eq!(data["symbol"], "BTC");
    assert_eq!(
        (
            &data["token_details"]["status"],
            &data["token_details"]["reason"]
        ),
        (&json!("ok"), &Value::Null)
    );
    assert_eq!(data["token_details"]["data"]["id"], "bitcoin");
    for part in ["security", "dex_price"] {
        let expected = json!({"status": "not_applicable", "reason": "no_contract", "as_of": null, "data": null});
        assert_eq!(data[part], expected, "{part}");
        assert_eq!(
            unavailable(&body, &format!("data.{part}"))["reason"],
            "no_contract"
        );
    }
    assert_eq!(data["derivatives"]["status"], "ok");
    assert_eq!(data["derivatives"]["data"]["symbol"], "BTC");
    assert_eq!(data["kol_context"]["status"], "ok");
    assert_eq!(data["kol_context"]["data"]["mentioned"], true);
    assert!(data["token_details"]["as_of"].is_string());
}

#[tokio::test]
async fn a_token_of_the_home_chain_is_shown_with_all_parts() {
    let shop = Shop::open().await;
    let body = shop.buy("/token-deep-dive?symbol=OKB").await;
    let data = &body["data"];
    assert_eq!(data["security"]["status"], "ok", "{}", data["security"]);
    assert_eq!(data["security"]["data"]["chain_id"], 196);
    assert_eq!(data["dex_price"]["status"], "ok", "{}", data["dex_price"]);
    assert!(data["dex_price"]["data"]["price_usd"].is_string());
    // No other route sells these parts.
    for part in ["pools", "flows", "news"] {
        assert_eq!(data[part]["status"], "ok", "{}", data[part]);
    }
    assert!(
        !data["pools"]["data"]["pools"]
            .as_array()
            .unwrap()
            .is_empty()
    );
    assert!(data["flows"]["data"]["holders"].is_u64());
    assert_eq!(
        unavailable(&body, "data.change")["reason"],
        "first_reading_of_this_coin_here"
    );
    let checks = data["cross_checks"]["prices"].as_array().unwrap();
    assert!(
        checks
            .iter()
            .any(|row| row["check"] == "catalogue_against_dex" && row["verdict"] == "agree"),
        "{checks:?}"
    );
    let ahead = data["catalysts"].as_array().unwrap();
    assert_eq!(ahead[0]["kind"], "us_market_closed", "{ahead:?}");
}

#[tokio::test]
async fn a_coin_of_a_venue_has_candles_levels_and_the_depth_of_its_book() {
    let shop = Shop::at_the_recording().await;
    let body = shop.buy("/token-deep-dive?symbol=BTC").await;
    let candles = &body["data"]["candles"];
    assert_eq!(candles["status"], "ok", "{candles}");
    let data = &candles["data"];
    assert_eq!(data["candles"].as_array().unwrap().len(), 24);
    let levels = &data["levels"];
    let px = |name: &str| levels[name].as_str().unwrap().parse::<f64>().unwrap();
    assert!(
        px("low") < px("last") && px("last") < px("high"),
        "{levels}"
    );
    assert!(data["book"]["spread_bps"].is_string(), "{data}");
    assert_eq!(data["book"]["within"].as_array().unwrap().len(), 4);
    let ratios = body["data"]["cross_checks"]["ratios"].as_array().unwrap();
    assert!(
        ratios
            .iter()
            .any(|row| row["ratio"] == "open_interest_of_market_cap_pct")
    );
}

#[tokio::test]
async fn holders_and_flows_are_compared_with_the_day_before() {
    let clock = crate::routes::shop::clock_at(0);
    let shop = Shop::by_the_clock(clock.clone()).await;
    for symbol in ["OKB", "BTC"] {
        let body = shop.buy(&format!("/token-deep-dive?symbol={symbol}")).await;
        assert_eq!(body["data"]["change"], Value::Null);
        assert_eq!(
            unavailable(&body, "data.change")["reason"],
            "first_reading_of_this_coin_here"
        );
    }
    clock.set(24 * 3600);
    let body = shop.buy("/token-deep-dive?symbol=OKB").await;
    let change = &body["data"]["change"];
    assert_eq!(change["since"], "2026-11-21T01:02:00Z");
    assert_eq!(change["holders"], 0, "{change}");
    for member in [
        "price_pct",
        "volume_pct",
        "liquidity_pct",
        "top10_points",
        "txs_pct",
    ] {
        assert_eq!(change[member], "0", "{member}: {change}");
    }
    // A coin that is no token has neither holders nor pools, but its markets still have changes.
    let body = shop.buy("/token-deep-dive?symbol=BTC").await;
    let change = &body["data"]["change"];
    for member in ["price_pct", "volume_pct", "oi_pct", "funding_8h_bps"] {
        assert_eq!(change[member], "0", "{member}: {change}");
    }
    assert_eq!(change.get("holders"), None, "{change}");
}

/// The answer lists every candle behind the levels.
#[tokio::test]
async fn a_deep_dive_lists_every_candle() {
    let shop = Shop::at_the_recording().await;
    let body = shop.buy("/token-deep-dive?symbol=BTC").await;
    let data = &body["data"]["candles"]["data"];
    let listed = data["candles"].as_array().unwrap();
    // The last candle is running, and is no whole one.
    assert_eq!(listed.last().unwrap()["running"], true);
    assert_eq!(listed[0]["running"], false);
    assert_eq!(data["levels"]["candles"], listed.len() - 1);
    let cut = body["meta"]["cut"].as_array().into_iter().flatten();
    let candles = cut.filter(|cut| cut["field"] == "data.candles.data.candles");
    assert_eq!(candles.count(), 0);
}

#[tokio::test]
async fn without_its_core_a_deep_dive_is_not_sold_and_without_a_part_it_is() {
    let shop = Shop::open().await;
    let unknown = shop
        .refused("/token-deep-dive?symbol=NOSUCHCOIN", 404, "not_found")
        .await;
    assert_eq!(unknown["reason"], "symbol_not_found");
    let no_core = Shop::without(&["coingecko", "coinpaprika", "dexscreener"]).await;
    let error = no_core
        .refused("/token-deep-dive?symbol=BTC", 503, "core_data_missing")
        .await;
    assert_eq!(error["missing"], json!(["token_details"]));
    let no_venue =
        Shop::without(&["hyperliquid", "binance", "okx_futures", "bybit", "x_api"]).await;
    let body = no_venue.buy("/token-deep-dive?symbol=BTC").await;
    for part in ["derivatives", "kol_context", "candles"] {
        let told = &body["data"][part];
        assert_eq!(
            (&told["status"], &told["data"]),
            (&json!("unavailable"), &Value::Null),
            "{part}"
        );
        assert_eq!(
            unavailable(&body, &format!("data.{part}"))["reason"],
            told["reason"],
            "{part}"
        );
    }
}
