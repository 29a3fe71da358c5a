//! Tests of tokens and prices.

use serde_json::{Value, json};

use crate::routes::shop::{Shop, codes, section, source};

const WOKB: &str = "/price?token=0xe538905cf8410324e03A5A23C1c177a474D59b2b";
const NOBODY: &str = "/price?token=0x1000000000000000000000000000000000000001";

fn column<'a>(rows: &'a Value, name: &str) -> Vec<&'a str> {
    rows.as_array()
        .unwrap()
        .iter()
        .map(|row| row[name].as_str().unwrap())
        .collect()
}

#[tokio::test]
async fn a_price_is_confirmed_by_a_second_source() {
    let shop = Shop::open().await;
    let body = shop.buy(&format!("{WOKB}&provenance=1")).await;
    let data = &body["data"];
    assert_eq!(
        (&data["price_usd"], &data["source"], &data["confidence"]),
        (
            &json!("118.42"),
            &json!("okx.market-price"),
            &json!("confirmed")
        )
    );
    assert_eq!(data["token"], "0xe538905cf8410324e03A5A23C1c177a474D59b2b");
    assert_eq!(data["liquidity_usd"], "3456789.12");
    assert_eq!(
        column(&data["quotes"], "source"),
        ["okx.market-price", "defillama.coins"]
    );
    // The price has its own time. The time of the answer also covers the confirming quotes.
    assert_eq!(data["as_of"], "2026-11-21T01:01:50Z");
    assert_eq!(
        (&body["meta"]["as_of"], &body["meta"]["verdict"]),
        (&json!("2026-11-21T01:01:15Z"), &json!("fresh"))
    );
    assert!(codes(&body).is_empty());
    assert_eq!(source(&body, "dexscreener.pairs"), &Value::Null);
    let origin = &body["meta"]["provenance"]["/data/price_usd"];
    assert_eq!(
        (&origin["source"], &origin["method"]),
        (&json!("okx.market-price"), &json!("direct"))
    );
    // The token in the documents has a price as well.
    let body = shop
        .buy("/price?token=0x779Ded0c9e1022225f8E0630b35a9b54bE713736")
        .await;
    assert_eq!(
        (&body["data"]["price_usd"], &body["data"]["confidence"]),
        (&json!("1.0001"), &json!("confirmed"))
    );
}

#[tokio::test]
async fn differing_prices_give_the_majoritys_price_and_a_warning() {
    let shop = Shop::in_scenario("price_disputed").await;
    let body = shop.buy(&format!("{WOKB}&provenance=1")).await;
    let data = &body["data"];
    assert_eq!(
        (&data["price_usd"], &data["source"], &data["confidence"]),
        (&json!("121"), &json!("defillama.coins"), &json!("disputed"))
    );
    assert_eq!(
        column(&data["quotes"], "source"),
        ["okx.market-price", "defillama.coins", "dexscreener.pairs"]
    );
    assert_eq!(codes(&body), ["prices_differ"]);
    assert_eq!(
        body["meta"]["provenance"]["/data/price_usd"]["method"],
        "direct"
    );
}

#[tokio::test]
async fn a_price_without_the_aggregator_is_that_of_the_others() {
    let shop = Shop::without(&["okx"]).await;
    let body = shop.buy(WOKB).await;
    let data = &body["data"];
    assert_eq!(
        (&data["price_usd"], &data["source"], &data["confidence"]),
        (
            &json!("118.41"),
            &json!("defillama.coins"),
            &json!("confirmed")
        )
    );
    assert_eq!(source(&body, "okx.market-price")["status"], "unavailable");
    assert!(data["liquidity_usd"].is_null());
    let shop = Shop::without(&["okx", "defillama"]).await;
    let body = shop.buy(WOKB).await;
    assert_eq!(body["data"]["confidence"], "single_source");
    let shop = Shop::without(&["okx", "defillama", "dexscreener"]).await;
    shop.refused(WOKB, 503, "upstream_unavailable").await;
}

#[tokio::test]
async fn a_token_without_a_price_is_not_found_and_free() {
    let shop = Shop::open().await;
    let error = shop.refused(NOBODY, 404, "not_found").await;
    assert_eq!(error["reason"], "token_not_priced");
    // When a source cannot be reached, it is unknown whether the token has a price.
    let shop = Shop::without(&["defillama"]).await;
    let error = shop.refused(NOBODY, 503, "upstream_unavailable").await;
    assert_eq!(error["retryable"], true);
}

#[tokio::test]
async fn a_price_older_than_the_caller_takes_is_refused() {
    let shop = Shop::open().await;
    shop.buy(&format!("{WOKB}&max_age=60")).await;
    let error = shop
        .refused(&format!("{WOKB}&max_age=5"), 503, "upstream_unavailable")
        .await;
    assert_eq!(error["reason"], "older_than_max_age");
}

#[tokio::test]
async fn the_token_list_has_a_fallback_that_says_so() {
    let shop = Shop::open().await;
    let body = shop.buy("/all-tokens").await;
    assert_eq!(
        (&body["data"]["count"], &body["data"]["chain_id"]),
        (&json!(6), &json!(196))
    );
    let page = shop.buy("/all-tokens?limit=4").await;
    let next = page["data"]["next_cursor"].as_str().unwrap();
    let rest = shop
        .buy(&format!("/all-tokens?limit=4&cursor={next}"))
        .await;
    assert_eq!(rest["data"]["tokens"].as_array().unwrap().len(), 2);
    assert!(rest["data"]["next_cursor"].is_null());
    shop.refused("/all-tokens?cursor=999", 400, "invalid_params")
        .await;

    let shop = Shop::without(&["okx"]).await;
    let body = shop.buy("/all-tokens").await;
    assert_eq!(body["data"]["count"], 3);
    // The catalogue's list has a row of another chain.
    assert_eq!(codes(&body), ["fallback_list", "rows_left_out"]);
    assert_eq!(body["meta"]["sources"][0]["id"], "coingecko.token-list");
    let shop = Shop::without(&["okx", "coingecko"]).await;
    shop.refused("/all-tokens", 503, "upstream_unavailable")
        .await;
}

#[tokio::test]
async fn a_search_ranks_exact_symbols_first_and_imitations_last() {
    let shop = Shop::open().await;
    let body = shop.buy("/supported-tokens?symbol=$OKB").await;
    let data = &body["data"];
    assert_eq!(
        (&data["query"], &data["chain_id"]),
        (&json!("OKB"), &json!(196))
    );
    assert_eq!(
        column(&data["tokens"], "match"),
        ["exact", "exact", "partial", "imitation"]
    );
    assert_eq!(data["tokens"][0]["verified"], true);
    assert!(data["tokens"][1]["decimals"].is_null());
    assert_eq!(codes(&body), ["imitations_found"]);
    let entries = body["meta"]["unavailable"].as_array().unwrap();
    assert!(
        entries
            .iter()
            .any(|entry| entry["field"] == "data.tokens[].decimals")
    );
    let body = shop.buy("/supported-tokens?symbol=USDT").await;
    assert_eq!(column(&body["data"]["tokens"], "symbol"), ["USDT", "USD₮0"]);
    // An empty result is an answer when the source has answered.
    let body = shop
        .buy("/supported-tokens?symbol=NOSUCHTOKEN&chain=base")
        .await;
    assert_eq!(
        (&body["data"]["tokens"], &body["data"]["chain_id"]),
        (&json!([]), &json!(8453))
    );
    shop.refused(
        "/supported-tokens?symbol=OKB&chain=solana",
        400,
        "invalid_params",
    )
    .await;
    let shop = Shop::without(&["okx"]).await;
    shop.refused("/supported-tokens?symbol=OKB", 503, "upstream_unavailable")
        .await;
}

#[tokio::test]
async fn the_board_has_the_curated_tokens_and_the_movers() {
    let shop = Shop::open().await;
    let body = shop.buy("/market-alpha").await;
    let data = &body["data"];
    let symbols = column(&data["tokens"], "symbol");
    let curated = [
        "WOKB", "USD₮0", "USDG", "USDC", "xBTC", "xETH", "xSOL", "xBETH", "GHO",
    ];
    assert_eq!(symbols[..9], curated);
    // The other tokens are ordered by liquidity. The ranking's imitation and its token of high risk
    // are left out.
    assert_eq!(symbols[9..], ["WETH", "XDOG"]);
    assert_eq!(
        column(&data["movers"]["gainers"], "symbol"),
        ["XDOG", "xSOL", "WOKB"]
    );
    assert_eq!(
        column(&data["movers"]["losers"], "symbol"),
        ["xETH", "WETH", "xBETH"]
    );
    assert_eq!(
        data["coverage"],
        json!({"curated": 10, "curated_priced": 9, "with_volume": 11})
    );
    assert_eq!(data["total_volume_24h_usd"], "22546524.41");
    assert_eq!(
        codes(&body),
        ["tokens_not_priced", "volume_counts_both_sides"]
    );
    assert_eq!(
        (&data["chain_id"], &body["meta"]["verdict"]),
        (&json!(196), &json!("fresh"))
    );
}

#[tokio::test]
async fn a_board_of_too_few_prices_is_refused() {
    let shop = Shop::in_scenario("board_thin").await;
    let error = shop
        .refused("/market-alpha", 503, "core_data_missing")
        .await;
    assert_eq!(error["missing"], json!(["tokens"]));
    let shop = Shop::without(&["okx"]).await;
    shop.refused("/market-alpha", 503, "upstream_unavailable")
        .await;
}

#[tokio::test]
async fn a_board_without_rankings_is_the_curated_one() {
    let shop = Shop::in_scenario("rankings_down").await;
    let body = shop.buy("/market-alpha").await;
    assert_eq!(body["data"]["tokens"].as_array().unwrap().len(), 9);
    assert_eq!(
        codes(&body),
        [
            "tokens_not_priced",
            "ranking_missing",
            "volume_counts_both_sides"
        ]
    );
    assert_eq!(
        source(&body, "okx.hot-tokens")["reason"],
        "upstream_http_503"
    );
}

#[tokio::test]
async fn sources_that_are_switched_off_say_nothing_about_tokens() {
    let shop = Shop::changed(|config, _replay| {
        for name in [
            "okx",
            "coingecko",
            "coinpaprika",
            "dexscreener",
            "defillama",
        ] {
            config.upstreams.0.get_mut(name).unwrap().enabled = Some(false);
        }
    })
    .await;
    for target in [
        WOKB,
        "/all-tokens",
        "/supported-tokens?symbol=OKB",
        "/market-alpha",
        "/token-details?symbol=OKB",
        "/trending-altcoins",
    ] {
        let error = shop.refused(target, 503, "upstream_unavailable").await;
        assert_eq!(
            (&error["reason"], &error["retryable"]),
            (&json!("upstream_disabled"), &json!(false)),
            "{target}"
        );
    }
}

#[tokio::test]
async fn details_are_of_the_highest_ranked_coin() {
    let shop = Shop::open().await;
    let body = shop.buy("/token-details?symbol=okb").await;
    let data = &body["data"];
    assert_eq!(
        (&data["id"], &data["rank"], &data["price_usd"]),
        (&json!("okb"), &json!(38), &json!("118.47"))
    );
    assert_eq!(data["ath"], json!({"price": "255.5", "date": "2025-08-21"}));
    assert_eq!(data["contracts"][0]["chain_id"], 196);
    assert_eq!(column(&data["alternatives"], "id"), ["okb-inu"]);
    assert_eq!(codes(&body), ["symbol_ambiguous"]);
    assert_eq!(body["meta"]["verdict"], "fresh");
    // A coin of its own chain has no contract. The answer distinguishes that from an unknown
    // contract.
    let body = shop.buy("/token-details?symbol=BTC").await;
    assert_eq!(
        (&body["data"]["id"], &body["data"]["contracts"]),
        (&json!("bitcoin"), &json!([]))
    );
    let error = shop
        .refused("/token-details?symbol=NOSUCHCOIN", 404, "not_found")
        .await;
    assert_eq!(error["reason"], "symbol_not_found");
}

#[tokio::test]
async fn details_fall_back_and_never_to_an_imitation() {
    let shop = Shop::without(&["coingecko"]).await;
    let body = shop.buy("/token-details?symbol=OKB").await;
    assert_eq!(
        (&body["data"]["id"], &body["data"]["price_usd"]),
        (&json!("okb-okb"), &json!("118.39"))
    );
    assert!(body["data"]["contracts"].is_null());
    assert_eq!(source(&body, "coingecko.markets")["status"], "unavailable");

    // No catalogue lists this token, so its pools describe it. It has no rank, and the token that
    // imitates it is not chosen.
    let shop = Shop::open().await;
    let body = shop.buy("/token-details?symbol=XDOG").await;
    assert_eq!(
        body["data"]["id"],
        "xlayer:0x0cc24c51BF89c00c5afFBfCf5E856C25ecBdb48e"
    );
    assert_eq!(codes(&body), ["symbol_not_ranked"]);
    assert!(body["data"]["rank"].is_null());

    // While no catalogue answers, a pool cannot show which token is meant.
    let shop = Shop::without(&["coingecko", "coinpaprika"]).await;
    shop.refused("/token-details?symbol=XDOG", 503, "upstream_unavailable")
        .await;
}

/// The time at which a pool was read is not the time of its last trade.
#[tokio::test]
async fn a_pool_traded_hours_ago_is_a_stale_price() {
    let shop = Shop::open().await;
    let body = shop.buy("/token-details?symbol=XDOG").await;
    assert_eq!(body["meta"]["verdict"], "fresh");
    let shop = Shop::in_scenario("quiet_pool").await;
    let body = shop.buy("/token-details?symbol=XDOG").await;
    let age = body["meta"]["age_seconds"].as_u64().unwrap();
    assert!((6 * 3600..6 * 3600 + 60).contains(&age), "{age}");
    assert_eq!(body["meta"]["verdict"], "stale");
    assert_eq!(
        source(&body, "dexscreener.search")["as_of"],
        body["meta"]["as_of"]
    );
    // A deep dive takes its core from the same data. Each of its pools states the window in which
    // it was traded.
    let body = shop.buy("/token-deep-dive?symbol=XDOG").await;
    assert_eq!(section(&body, "token_details")["verdict"], "stale");
    let body = shop.buy("/token-deep-dive?symbol=OKB").await;
    let pools = &body["data"]["pools"]["data"]["pools"];
    assert!(pools[0]["traded_within_seconds"].is_u64(), "{pools}");
}

#[tokio::test]
async fn a_coin_that_several_rankings_name_is_trending() {
    let shop = Shop::open().await;
    let body = shop.buy("/trending-altcoins").await;
    let data = &body["data"];
    assert_eq!(
        column(&data["altcoins"], "symbol"),
        ["BONK", "SOL", "ALPHA"]
    );
    assert_eq!(
        (&data["count"], &data["rankings_answered"]),
        (&json!(3), &json!(3))
    );
    let named: Vec<_> = data["altcoins"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| &row["named_by"])
        .collect();
    assert_eq!(named, [&json!(2), &json!(2), &json!(1)]);
    assert_eq!(
        data["altcoins"][0]["links"]["coingecko"],
        "https://www.coingecko.com/en/coins/bonk"
    );

    let shop = Shop::without(&["okx"]).await;
    let body = shop.buy("/trending-altcoins").await;
    assert_eq!(
        column(&body["data"]["altcoins"], "symbol"),
        ["BONK", "SOL", "HYPE"]
    );
    assert_eq!(source(&body, "okx.hot-tokens")["status"], "unavailable");
    let shop = Shop::without(&["coingecko"]).await;
    let error = shop
        .refused("/trending-altcoins", 503, "core_data_missing")
        .await;
    assert_eq!(
        (&error["reason"], &error["missing"]),
        (&json!("fewer_than_three_altcoins"), &json!(["rankings"]))
    );
    let shop = Shop::without(&["okx", "coingecko"]).await;
    shop.refused("/trending-altcoins", 503, "upstream_unavailable")
        .await;
}
