//! Tests of derivatives, accounts of the perpetuals venue, macro data and real-world assets.

mod ages;
mod macros;

use serde_json::{Value, json};

use crate::routes::shop::Shop;

const ACCOUNT: &str = "0x1f9840a85d5aF5bf1D1762F925BDADdC4201F984";
const UNUSED: &str = "0x000000000000000000000000000000000000dEaD";

/// The reasons for the missing field `field`.
fn reasons<'a>(body: &'a Value, field: &str) -> Vec<&'a str> {
    let entries = body["meta"]["unavailable"].as_array().unwrap();
    let of = entries.iter().filter(|entry| entry["field"] == field);
    of.map(|entry| entry["reason"].as_str().unwrap()).collect()
}

fn source<'a>(body: &'a Value, id: &str) -> Option<&'a Value> {
    let sources = body["meta"]["sources"].as_array().unwrap();
    sources.iter().find(|source| source["id"] == id)
}

fn venue<'a>(market: &'a Value, name: &str) -> &'a Value {
    let venues = market["venues"].as_array().unwrap();
    venues
        .iter()
        .find(|venue| venue["venue"] == name)
        .unwrap_or(&Value::Null)
}

fn texts<'a>(list: &'a Value, member: &str) -> Vec<&'a str> {
    let items = list.as_array().unwrap();
    items
        .iter()
        .map(|item| item[member].as_str().unwrap())
        .collect()
}

#[tokio::test]
async fn funding_of_one_coin_is_in_one_unit() {
    let body = Shop::open().await.buy("/funding-rates?symbol=%24btc").await;
    assert_eq!(body["data"]["symbol"], "BTC");
    let market = &body["data"]["markets"][0];
    assert_eq!(
        texts(&market["venues"], "venue"),
        ["hyperliquid", "binance", "okx", "bybit"]
    );
    // The two rates have the same cost: one is for an hour, the other for eight hours.
    for (name, rate, hours) in [("hyperliquid", "0.0000125", 1), ("binance", "0.0001", 8)] {
        let funding = &venue(market, name)["funding"];
        assert_eq!(
            (&funding["rate"], &funding["interval_hours"]),
            (&json!(rate), &json!(hours))
        );
        assert_eq!(
            (&funding["rate_8h"], &funding["apr_pct"]),
            (&json!("0.0001"), &json!("10.95"))
        );
    }
    assert_eq!(
        venue(market, "hyperliquid")["funding"]["next_at"],
        "2026-11-21T02:00:00Z"
    );
    // The open interest is in coins, not in contracts.
    assert_eq!(
        venue(market, "okx")["open_interest"],
        json!({"base": "21254.19", "usd": "2066123456.1"})
    );
    assert_eq!(
        venue(market, "hyperliquid")["open_interest"]["usd"],
        "2676797459.52"
    );
    assert_eq!(venue(market, "binance")["long_short"]["long_pct"], "45.58");
    assert_eq!(venue(market, "hyperliquid")["long_short"], Value::Null);
    assert_eq!(
        reasons(&body, "data.markets[].venues[].long_short"),
        ["not_published_by_venue"]
    );
    let aggregate = &market["aggregate"];
    assert_eq!(
        aggregate["oi_venues"],
        json!(["hyperliquid", "binance", "okx", "bybit"])
    );
    assert_eq!(aggregate["oi_usd"], "17314091666.48");
    assert_eq!(market["spread_bps"], "0.19");
    assert_eq!(
        (&body["meta"]["verdict"], &market["conflicting"]),
        (&json!("fresh"), &json!([]))
    );
}

#[tokio::test]
async fn without_a_symbol_the_answer_has_the_coins_with_most_open_interest() {
    let body = Shop::open().await.buy("/funding-rates").await;
    let markets = &body["data"]["markets"];
    assert_eq!(
        texts(markets, "symbol"),
        ["BTC", "ETH", "SOL", "HYPE", "PEPE"]
    );
    // Some venues quote a thousand coins, another one coin. The prices are per coin at every venue.
    let pepe = &markets[4];
    assert_eq!(venue(pepe, "hyperliquid")["mark_px"], "0.000005208");
    assert_eq!(venue(pepe, "okx")["mark_px"], "0.00000521");
    assert_eq!(venue(pepe, "binance")["contract"], "1000PEPEUSDT");
    assert_eq!(
        venue(pepe, "binance")["open_interest"]["base"],
        "31234567890000"
    );
    assert_eq!(pepe["conflicting"], json!([]));
    assert_eq!(
        reasons(&body, "data.markets[].venues[].long_short")[0],
        "only_with_symbol"
    );
    assert_eq!(body["data"]["symbol"], Value::Null);
    assert!(reasons(&body, "data.symbol").is_empty());
}

#[tokio::test]
async fn a_geo_block_is_the_outage_of_one_venue() {
    let shop = Shop::in_scenario("binance_futures_error_451").await;
    for target in ["/funding-rates?symbol=BTC", "/funding-rates"] {
        let body = shop.buy(target).await;
        let market = &body["data"]["markets"][0];
        assert_eq!(
            reasons(&body, "data.markets[].venues.binance"),
            ["upstream_http_451"],
            "{target}"
        );
        let binance = venue(market, "binance");
        // The answer gives the rate that another venue expects for it, and marks it as such.
        assert_eq!(
            binance["funding"]["source"],
            "hyperliquid.predicted-fundings"
        );
        assert_eq!(
            (&binance["funding"]["rate_8h"], &binance["open_interest"]),
            (&json!("0.0001"), &Value::Null)
        );
        assert_eq!(
            market["aggregate"]["oi_venues"],
            json!(["hyperliquid", "okx", "bybit"])
        );
    }
    let body = Shop::in_scenario("bybit_futures_error_403")
        .await
        .buy("/funding-rates?symbol=BTC")
        .await;
    assert_eq!(
        reasons(&body, "data.markets[].venues.bybit"),
        ["upstream_http_403"]
    );
    assert_eq!(
        source(&body, "bybit.tickers").unwrap()["reason"],
        "upstream_http_403"
    );
}

#[tokio::test]
async fn unknown_coins_and_silent_venues_cost_nothing() {
    let shop = Shop::open().await;
    // The symbols are unlisted, a Cyrillic imitation, and an attempt to inject a query.
    for symbol in ["NOPE", "%D0%92%D0%A2%D0%A1", "BTC%26limit%3D1"] {
        let error = shop
            .refused(&format!("/funding-rates?symbol={symbol}"), 404, "not_found")
            .await;
        assert_eq!(error["reason"], "symbol_not_found", "{symbol}");
    }
    let venues = ["hyperliquid", "binance", "okx_futures", "bybit"];
    let silent = Shop::without(&venues).await;
    for target in ["/funding-rates", "/funding-rates?symbol=BTC"] {
        let error = silent.refused(target, 503, "upstream_unavailable").await;
        assert_eq!(error["reason"], "no_venue_answered", "{target}");
        assert_eq!(error["venues"].as_array().unwrap().len(), 4);
    }
    // Binance states open interest contract by contract, so it alone cannot rank coins.
    let binance_only = Shop::without(&["hyperliquid", "okx_futures", "bybit"]).await;
    let error = binance_only
        .refused("/funding-rates", 503, "upstream_unavailable")
        .await;
    assert_eq!(error["reason"], "no_open_interest");
    binance_only.buy("/funding-rates?symbol=BTC").await;
    // Three venues do not answer, so it is unknown whether the coin is listed.
    let three = Shop::without(&venues[1..]).await;
    three
        .refused("/funding-rates?symbol=NOPE", 503, "upstream_unavailable")
        .await;
    assert_eq!(
        three.buy("/funding-rates?symbol=BTC").await["data"]["markets"][0]["spread_bps"],
        "0.19"
    );
}

#[tokio::test]
async fn one_market_with_its_book_and_candles() {
    let shop = Shop::open().await;
    let body = shop
        .buy("/hyperliquid-market?coin=xyz%3ATSLA&dex=xyz&interval=1h")
        .await;
    let data = &body["data"];
    let market = &data["markets"][0];
    assert_eq!(
        (&market["coin"], &market["dex"]),
        (&json!("xyz:TSLA"), &json!("xyz"))
    );
    assert_eq!(
        (&market["mark"], &market["oracle"]),
        (&json!("402.1"), &json!("401.8"))
    );
    assert_eq!(
        (&market["funding_apr_pct"], &market["max_leverage"]),
        (&json!("6.2196"), &json!(10))
    );
    assert_eq!(data["book"]["bids"].as_array().unwrap().len(), 5);
    assert_eq!(
        data["book"]["asks"][0],
        json!({"px": "402.15", "size": "1.5", "orders": 1})
    );
    assert_eq!(data["candles"].as_array().unwrap().len(), 24);
    assert_eq!(data["candles"][23]["open_time"], "2026-11-21T01:00:00Z");
    for same in [
        "/hyperliquid-market?coin=TSLA&dex=xyz",
        "/hyperliquid-market?coin=xyz%3Atsla",
    ] {
        let found = shop.buy(same).await;
        assert_eq!(found["data"]["markets"][0]["coin"], "xyz:TSLA", "{same}");
        assert!(found["data"].get("candles").is_none());
    }
}

#[tokio::test]
async fn all_markets_of_a_dex() {
    let shop = Shop::open().await;
    let body = shop.buy("/hyperliquid-market").await;
    let markets = &body["data"]["markets"];
    assert_eq!(
        texts(markets, "coin"),
        ["BTC", "ETH", "MATIC", "SOL", "HYPE", "kPEPE"]
    );
    // A coin in the middle is delisted. The contexts after it must still be those of their own
    // coins.
    assert_eq!(
        (&markets[2]["delisted"], &markets[3]["mark"]),
        (&json!(true), &json!("142.35"))
    );
    assert_eq!(reasons(&body, "data.markets[].mid"), ["one_sided_book"]);
    assert!(body["data"].get("book").is_none());
    for (target, reason) in [
        ("/hyperliquid-market?coin=NOPE", "coin_not_found"),
        ("/hyperliquid-market?dex=nope", "dex_not_found"),
        ("/hyperliquid-market?coin=nope%3ABTC", "dex_not_found"),
    ] {
        assert_eq!(
            shop.refused(target, 404, "not_found").await["reason"],
            reason,
            "{target}"
        );
    }
    shop.refused(
        "/hyperliquid-market?coin=xyz%3ATSLA&dex=flx",
        400,
        "invalid_params",
    )
    .await;
}

#[tokio::test]
async fn an_account_over_all_dexes() {
    let shop = Shop::open().await;
    let body = shop
        .buy(&format!("/hyperliquid-account?address={ACCOUNT}"))
        .await;
    let data = &body["data"];
    assert_eq!(
        (&data["address"], &data["role"]),
        (&json!(ACCOUNT), &json!("user"))
    );
    assert_eq!(data["margin_summary"]["account_value_usd"], "1204.51");
    assert_eq!(
        texts(&data["positions"], "coin"),
        ["BTC", "ETH", "xyz:TSLA"]
    );
    assert_eq!(
        (
            &data["positions"][1]["side"],
            &data["positions"][1]["liquidation_px"]
        ),
        (&json!("short"), &Value::Null)
    );
    // The dex without positions is not listed.
    assert_eq!(texts(&data["other_dexes"], "dex"), ["xyz"]);
    assert_eq!(
        texts(&data["open_orders"], "coin"),
        ["ETH", "BTC", "xyz:TSLA"]
    );
    assert_eq!(data["open_orders"][0]["trigger_px"], "3300");
    assert_eq!(
        data["spot_balances"][0],
        json!({"coin": "USDC", "token": 0, "total": "14.625485", "hold": "0", "entry_value_usd": "0"})
    );
    assert_eq!(body["meta"]["unavailable"], json!([]));
    let one = shop
        .buy(&format!("/hyperliquid-account?address={ACCOUNT}&dex=xyz"))
        .await;
    assert_eq!(texts(&one["data"]["positions"], "coin"), ["xyz:TSLA"]);
    let unused = shop
        .buy(&format!("/hyperliquid-account?address={UNUSED}"))
        .await;
    assert_eq!(unused["data"]["margin_summary"]["account_value_usd"], "0");
    assert_eq!(
        (&unused["data"]["positions"], &unused["data"]["role"]),
        (&json!([]), &json!("missing"))
    );
}

#[tokio::test]
async fn a_history_in_pages() {
    let shop = Shop::open().await;
    let whole = shop
        .buy(&format!("/hl-transaction-history?address={ACCOUNT}"))
        .await;
    let items = whole["data"]["items"].as_array().unwrap();
    assert_eq!(items.len(), 37);
    assert!(items.is_sorted_by(|newer, older| newer["time"].as_str() >= older["time"].as_str()));
    assert_eq!(
        (&whole["data"]["truncated"], &whole["data"]["next_cursor"]),
        (&json!(false), &Value::Null)
    );
    assert_eq!(whole["meta"]["unavailable"], json!([]));
    let mut target = format!("/hl-transaction-history?address={ACCOUNT}&limit=10");
    let mut told = Vec::new();
    loop {
        let page = shop.buy(&target).await;
        told.extend(page["data"]["items"].as_array().unwrap().clone());
        let Some(cursor) = page["data"]["next_cursor"].as_str() else {
            break;
        };
        target = format!("/hl-transaction-history?address={ACCOUNT}&limit=10&cursor={cursor}");
    }
    assert_eq!(&told, items);
    let fills = shop
        .buy(&format!(
            "/hl-transaction-history?address={ACCOUNT}&type=fills"
        ))
        .await;
    assert_eq!(
        texts(&fills["data"]["items"], "id"),
        ["928374655", "928370002", "928370001"]
    );
    let ledger = shop
        .buy(&format!(
            "/hl-transaction-history?address={ACCOUNT}&type=ledger"
        ))
        .await;
    assert_eq!(texts(&ledger["data"]["items"], "type"), ["send", "deposit"]);
    // An empty span is a real answer.
    let quiet = format!(
        "/hl-transaction-history?address={ACCOUNT}&start=2026-11-01T00:00:00Z&end=2026-11-02T00:00:00Z"
    );
    let quiet = shop.buy(&quiet).await;
    assert_eq!(
        (&quiet["data"]["items"], &quiet["data"]["truncated"]),
        (&json!([]), &json!(false))
    );
    let cursor = format!("/hl-transaction-history?address={ACCOUNT}&cursor=nonsense");
    shop.refused(&cursor, 400, "invalid_params").await;
}

#[tokio::test]
async fn accounts_need_an_address_and_a_venue() {
    let shop = Shop::open().await;
    for target in ["/hyperliquid-account", "/hl-transaction-history"] {
        shop.refused(target, 404, "no_sub_wallet").await;
    }
    let silent = Shop::without(&["hyperliquid"]).await;
    for target in ["/hyperliquid-account", "/hl-transaction-history"] {
        silent
            .refused(
                &format!("{target}?address={ACCOUNT}"),
                503,
                "upstream_unavailable",
            )
            .await;
    }
    silent
        .refused("/hyperliquid-market", 503, "upstream_unavailable")
        .await;
}
