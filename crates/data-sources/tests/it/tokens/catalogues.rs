use data_sources::Error;
use readings::token::coin::{Coin, choose};
use serde_json::{Value, json};
use wiremock::{
    Mock, MockServer, ResponseTemplate,
    matchers::{path, query_param},
};

use crate::tokens::{
    answering, attacks, changed, code, coingecko, coingecko_with, coinpaprika, recorded, serving,
    symbol,
};

async fn okb(answer: &Value) -> Result<Coin, Error> {
    let server = serving(answer).await;
    let found = coingecko(&server).coins(&symbol("OKB"), None).await?;
    Ok(choose(&symbol("OKB"), found.value.to_vec()).unwrap())
}

#[tokio::test]
async fn a_coin_has_its_market_and_the_others_are_alternatives() {
    let server = serving(&recorded("coingecko/coins_markets_okb")).await;
    let found = coingecko(&server)
        .coins(&symbol("$okb"), None)
        .await
        .unwrap();
    let coin = choose(&symbol("OKB"), found.value.to_vec()).unwrap();
    assert_eq!(
        (coin.id.as_str(), coin.symbol.as_str(), coin.rank),
        ("okb", "OKB", Some(38))
    );
    assert_eq!(coin.price_usd.unwrap().to_string(), "118.47");
    assert_eq!(coin.change_24h_pct.unwrap().to_string(), "2.16421");
    assert_eq!(
        coin.ath.as_ref().unwrap().date.unwrap().to_string(),
        "2025-08-21"
    );
    assert_eq!(coin.as_of.unwrap().to_string(), "2026-11-21T01:01:20Z");
    let other = &coin.alternatives[0];
    assert_eq!(
        (other.id.as_str(), other.rank, other.market_cap_usd),
        ("okb-inu", None, None)
    );
    assert_eq!(other.price_usd.unwrap().to_string(), "0.00000031");
    let request = &server.received_requests().await.unwrap()[0];
    assert!(
        request
            .url
            .query()
            .unwrap()
            .contains("symbols=okb&include_tokens=all")
    );
    assert!(!request.headers.contains_key("x-cg-demo-api-key"));
}

#[tokio::test]
async fn a_key_goes_into_the_header_of_its_plan() {
    for (plan, header) in [
        (None, "x-cg-demo-api-key"),
        (Some("pro"), "x-cg-pro-api-key"),
    ] {
        let server = serving(&recorded("coingecko/coins_markets_okb")).await;
        let coingecko = coingecko_with(&server, |config| {
            config.api_key = Some("secret".into());
            config
                .options
                .extend(plan.map(|plan| ("plan".to_owned(), plan.to_owned())));
        });
        coingecko.coins(&symbol("OKB"), None).await.unwrap();
        let request = &server.received_requests().await.unwrap()[0];
        assert_eq!(request.headers[header], "secret");
    }
}

#[tokio::test]
async fn an_unknown_symbol_is_an_empty_list() {
    let server = serving(&json!([])).await;
    assert!(
        coingecko(&server)
            .coins(&symbol("NOPE"), None)
            .await
            .unwrap()
            .value
            .is_empty()
    );
    // Rows of other symbols were not requested.
    let server = serving(&recorded("coingecko/coins_markets")).await;
    assert_eq!(
        code(coingecko(&server).coins(&symbol("OKB"), None).await),
        "upstream_malformed"
    );
}

#[tokio::test]
async fn impossible_figures_are_refused_or_left_out() {
    let with = |change: fn(&mut Value)| {
        changed("coingecko/coins_markets_okb", |answer| {
            change(&mut answer[1])
        })
    };
    let coin = okb(&with(|row| {
        for member in [
            "market_cap",
            "fully_diluted_valuation",
            "circulating_supply",
            "max_supply",
            "ath",
        ] {
            row[member] = json!(0);
        }
        row["total_volume"] = json!(-5);
        row["price_change_percentage_24h"] = json!("wild");
    }))
    .await
    .unwrap();
    assert!(coin.market_cap_usd.is_none() && coin.fdv_usd.is_none() && coin.ath.is_none());
    assert!(coin.circulating_supply.is_none() && coin.max_supply.is_none());
    assert!(coin.volume_24h_usd.is_none() && coin.change_24h_pct.is_none());
    // The row with the rank cannot be read: only the other one is left.
    for broken in [
        with(|row| row["current_price"] = json!("NaN")),
        with(|row| row["id"] = json!("../okb")),
        with(|row| row["last_updated"] = json!("2026-11-21T02:00:00Z")),
        with(|row| row["market_cap_rank"] = json!(-1)),
    ] {
        assert_eq!(okb(&broken).await.unwrap().id, "okb-inu", "{broken}");
    }
    for (expected, attack) in attacks() {
        let server = answering(attack).await;
        assert_eq!(
            code(coingecko(&server).coins(&symbol("OKB"), None).await),
            expected
        );
    }
}

#[tokio::test]
async fn contracts_are_of_the_coin_that_was_asked_for() {
    let server = serving(&recorded("coingecko/coin_okb")).await;
    let contracts = coingecko(&server).contracts("okb").await.unwrap().value;
    assert_eq!(contracts.len(), 1);
    assert_eq!(contracts[0].chain_id, Some(196));
    assert_eq!(
        contracts[0].address,
        "0xe538905cf8410324e03A5A23C1c177a474D59b2b"
    );
    assert_eq!(
        code(coingecko(&server).contracts("okb-inu").await),
        "upstream_malformed"
    );
    assert_eq!(
        code(coingecko(&server).contracts("../../ping").await),
        "symbol_not_found"
    );
    assert_eq!(server.received_requests().await.unwrap().len(), 2);

    let server = serving(&recorded("coingecko/coin_bitcoin")).await;
    assert!(
        coingecko(&server)
            .contracts("bitcoin")
            .await
            .unwrap()
            .value
            .is_empty()
    );
    let hostile = json!({"id": "x", "platforms": {"ethereum": "not an address", "solana": "So11111111111111111111111111111111111111112", "": "0x1", "base": null}});
    let server = serving(&hostile).await;
    let contracts = coingecko(&server).contracts("x").await.unwrap().value;
    assert_eq!(
        (
            contracts.len(),
            contracts[0].platform.as_str(),
            contracts[0].chain_id
        ),
        (1, "solana", None)
    );
}

#[tokio::test]
async fn a_token_list_is_of_the_home_chain_alone() {
    let server = serving(&recorded("coingecko/token_list_xlayer")).await;
    let found = coingecko(&server).tokens(None).await.unwrap();
    let symbols: Vec<_> = found
        .value
        .tokens
        .iter()
        .map(|token| token.symbol.as_str())
        .collect();
    assert_eq!(symbols, ["USDT0", "WOKB", "XBTC"]);
    assert_eq!((found.value.chain_id, found.value.rejected), (196, 1));
    assert_eq!(
        found.sources[0].as_of.unwrap().to_string(),
        "2026-11-21T00:04:03.404Z"
    );
    // A list of another chain is refused.
    let server = serving(&recorded("coingecko/token_list")).await;
    assert_eq!(
        code(coingecko(&server).tokens(None).await),
        "upstream_malformed"
    );
    let disputed = changed("coingecko/token_list_xlayer", |answer| {
        let mut again = answer["tokens"][0].clone();
        again["decimals"] = json!(18);
        answer["tokens"].as_array_mut().unwrap().push(again);
    });
    let server = serving(&disputed).await;
    assert_eq!(
        coingecko(&server)
            .tokens(None)
            .await
            .unwrap()
            .value
            .tokens
            .len(),
        2
    );
}

async fn paprika(search: Value, ticker: ResponseTemplate) -> MockServer {
    let server = MockServer::start().await;
    let found = ResponseTemplate::new(200).set_body_json(search);
    Mock::given(path("/v1/search"))
        .and(query_param("q", "OKB"))
        .and(query_param("modifier", "symbol_search"))
        .respond_with(found)
        .mount(&server)
        .await;
    Mock::given(path("/v1/tickers/okb-okb"))
        .respond_with(ticker)
        .mount(&server)
        .await;
    server
}

fn ticker(change: impl FnOnce(&mut Value)) -> ResponseTemplate {
    ResponseTemplate::new(200).set_body_json(changed("coinpaprika/ticker_okb", change))
}

#[tokio::test]
async fn the_second_catalogue_finds_a_coin_and_then_its_price() {
    let search = recorded("coinpaprika/search_okb");
    let server = paprika(search, ticker(|_| {})).await;
    let found = coinpaprika(&server)
        .coin(&symbol("okb"), None)
        .await
        .unwrap();
    let coin = &found.value;
    assert_eq!((coin.id.as_str(), coin.rank), ("okb-okb", Some(38)));
    assert_eq!(coin.price_usd.unwrap().to_string(), "118.39");
    assert_eq!(coin.change_7d_pct.unwrap().to_string(), "3.38");
    assert!(coin.contracts.is_none() && coin.circulating_supply.is_none());
    let sources: Vec<_> = found.sources.iter().map(|source| source.source).collect();
    assert_eq!(sources, ["coinpaprika.ticker", "coinpaprika.search"]);
    assert_eq!(
        found.sources[0].as_of.unwrap().to_string(),
        "2026-11-21T01:00:41Z"
    );
}

#[tokio::test]
async fn the_second_catalogue_refuses_contradictory_answers() {
    let search = || recorded("coinpaprika/search_okb");
    for broken in [
        ticker(|body| body["id"] = json!("btc-bitcoin")),
        ticker(|body| body["symbol"] = json!("BTC")),
        ticker(|body| body["quotes"]["USD"]["price"] = json!(0)),
        ticker(|body| body["quotes"]["USD"]["price"] = json!(null)),
        ticker(|body| body["last_updated"] = json!("2026-11-22T01:00:41Z")),
        ticker(|body| body["quotes"] = json!({})),
    ] {
        let server = paprika(search(), broken).await;
        assert_eq!(
            code(coinpaprika(&server).coin(&symbol("OKB"), None).await),
            "upstream_malformed"
        );
    }
    for unknown in [
        recorded("coinpaprika/search_none"),
        json!({}),
        changed("coinpaprika/search_okb", |body| {
            body["currencies"][0]["symbol"] = json!("ОKB")
        }),
        changed("coinpaprika/search_okb", |body| {
            body["currencies"][0]["is_active"] = json!(false)
        }),
        changed("coinpaprika/search_okb", |body| {
            body["currencies"][0]["id"] = json!("../x")
        }),
    ] {
        let server = paprika(unknown, ticker(|_| {})).await;
        assert_eq!(
            code(coinpaprika(&server).coin(&symbol("OKB"), None).await),
            "symbol_not_found"
        );
    }
    for (expected, attack) in attacks() {
        let server = answering(attack).await;
        assert_eq!(
            code(coinpaprika(&server).coin(&symbol("OKB"), None).await),
            expected
        );
    }
}
