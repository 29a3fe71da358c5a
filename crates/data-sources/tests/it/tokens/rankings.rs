use serde_json::{Value, json};

use crate::tokens::{answering, attacks, changed, code, coingecko, okx, recorded, serving};

#[tokio::test]
async fn hot_tokens_are_read_for_all_chains_and_for_one() {
    let server = serving(&recorded("okx/hot_token_trending")).await;
    let found = okx(&server).hot_tokens(None, None).await.unwrap();
    let tokens = found.value;
    assert_eq!(
        (tokens[0].symbol.as_str(), tokens[0].chain_id),
        ("ALPHA", 8453)
    );
    assert_eq!(tokens[0].traders_24h, Some(3123));
    assert_eq!(
        tokens[1].contract,
        "DezXAZ8z7PnrnRJjz3wXBoRgixCa6xjnB7YaB1pPB263"
    );
    assert_eq!(tokens[1].address(), None);
    assert_eq!(found.sources[0].source, "okx.hot-tokens");
    // None of them belongs to the home chain.
    assert_eq!(
        code(okx(&server).hot_tokens(Some(196), None).await),
        "upstream_malformed"
    );

    let server = serving(&recorded("okx/hot_tokens_196_liquidity")).await;
    let tokens = okx(&server).liquid_tokens(196, None).await.unwrap().value;
    assert_eq!(tokens.len(), 3);
    let query = server.received_requests().await.unwrap()[0]
        .url
        .query()
        .unwrap()
        .to_owned();
    for part in [
        "rankBy=7",
        "chainIndex=196",
        "riskFilter=true",
        "rankingTimeFrame=4",
    ] {
        assert!(query.contains(part), "{query}");
    }
}

#[tokio::test]
async fn impossible_hot_tokens_are_left_out() {
    let with = |change: fn(&mut Value)| {
        changed("okx/hot_token_trending", |answer| {
            change(&mut answer["data"][0])
        })
    };
    for broken in [
        with(|row| row["tokenContractAddress"] = json!("../../x")),
        with(|row| row["tokenContractAddress"] = json!("")),
        with(|row| row["tokenSymbol"] = json!("\u{200b}")),
        with(|row| row["chainIndex"] = json!("base")),
    ] {
        let server = serving(&broken).await;
        let tokens = okx(&server).hot_tokens(None, None).await.unwrap().value;
        assert_eq!(
            (tokens.len(), tokens[0].symbol.as_str()),
            (1, "Bonk"),
            "{broken}"
        );
    }
    let server = serving(&with(|row| {
        row["price"] = json!("0");
        row["riskLevelControl"] = json!("0");
        row["top10HoldPercent"] = json!("");
    }))
    .await;
    let tokens = okx(&server).hot_tokens(None, None).await.unwrap().value;
    assert!(tokens[0].price_usd.is_none() && tokens[0].risk_level.is_none());
    assert!(tokens[0].top10_hold_pct.is_none());
    for (expected, attack) in attacks() {
        let server = answering(attack).await;
        assert_eq!(code(okx(&server).hot_tokens(None, None).await), expected);
    }
}

#[tokio::test]
async fn trending_searches_keep_their_order_and_their_dollars() {
    let server = serving(&recorded("coingecko/search_trending")).await;
    let coins = coingecko(&server).trending(None).await.unwrap().value;
    let ids: Vec<_> = coins.iter().map(|coin| coin.id.as_str()).collect();
    assert_eq!(
        ids,
        ["bonk", "bitcoin", "solana", "hyperliquid", "wrapped-solana"]
    );
    assert_eq!(
        coins[0].price_usd.unwrap().to_string(),
        "0.000005938674704566297"
    );
    assert_eq!(coins[0].market_cap_usd.unwrap().to_string(), "521967819");
    assert_eq!((coins[0].rank, coins[4].rank), (Some(103), None));
    // The source writes an unknown supply as "$0".
    assert_eq!(coins[4].market_cap_usd, None);
}

#[tokio::test]
async fn impossible_trending_searches_are_left_out() {
    let with = |change: fn(&mut Value)| {
        changed("coingecko/search_trending", |answer| {
            change(&mut answer["coins"][0]["item"])
        })
    };
    for broken in [
        with(|item| item["id"] = json!("../bonk")),
        with(|item| item["symbol"] = json!(7)),
        with(|item| item["name"] = json!("")),
    ] {
        let server = serving(&broken).await;
        assert_eq!(
            coingecko(&server).trending(None).await.unwrap().value.len(),
            4,
            "{broken}"
        );
    }
    let server = serving(&with(|item| item["data"] = json!(null))).await;
    let coins = coingecko(&server).trending(None).await.unwrap().value;
    assert!(coins[0].price_usd.is_none() && coins[0].market_cap_usd.is_none());
    let server = serving(&json!({"coins": []})).await;
    assert_eq!(
        code(coingecko(&server).trending(None).await),
        "upstream_malformed"
    );
    for (expected, attack) in attacks() {
        let server = answering(attack).await;
        assert_eq!(code(coingecko(&server).trending(None).await), expected);
    }
}
