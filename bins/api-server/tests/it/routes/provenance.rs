//! Tests of `provenance=1`: every path exists in the answer, and every source contributed.

use serde_json::Value;

use crate::routes::shop::Shop;

const ACCOUNT: &str = "address=0x1f9840a85d5aF5bf1D1762F925BDADdC4201F984";

/// The provenance of an answer. Asserts that every path exists in the answer.
async fn provenance(shop: &Shop, target: &str) -> Vec<(String, String)> {
    let with = match target.contains('?') {
        true => format!("{target}&provenance=1"),
        false => format!("{target}?provenance=1"),
    };
    let body = shop.buy(&with).await;
    let told: Vec<&str> = body["meta"]["sources"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|source| source["status"] != "unavailable")
        .map(|source| source["id"].as_str().unwrap())
        .collect();
    let entries = body["meta"]["provenance"].as_object().unwrap();
    assert!(!entries.is_empty(), "{target} tells no provenance");
    let entry = |(path, of): (&String, &Value)| {
        let source = of["source"].as_str().unwrap();
        assert!(
            body.pointer(path).is_some(),
            "{target}: {path} is not in {}",
            body["data"]
        );
        assert!(
            told.contains(&source),
            "{target}: {path} is of {source:?}, which is none of {told:?}"
        );
        (path.clone(), source.to_owned())
    };
    entries.iter().map(entry).collect()
}

fn of<'a>(entries: &'a [(String, String)], path: &str) -> Option<&'a str> {
    let found = entries.iter().find(|(known, _)| known == path)?;
    Some(found.1.as_str())
}

/// Calls of routes about yields, derivatives and macro data.
fn targets() -> Vec<String> {
    let mut targets: Vec<String> = [
        "/defi-analytics",
        "/defi-analytics?protocol=aave-v3",
        "/yield-alpha",
        "/yield-markets",
        "/yield-recommendations?amount=1000",
        "/funding-rates",
        "/funding-rates?symbol=BTC",
        "/hyperliquid-market",
        "/hyperliquid-market?coin=BTC&interval=1h",
        "/tradfi-data",
        "/tradfi-data?symbol=SP500",
        "/tradfi-data?symbol=VIX",
        "/tradfi-data?symbol=US2Y",
        "/rwa-pulse",
    ]
    .map(str::to_owned)
    .to_vec();
    for route in [
        "yield-farming-active",
        "idle-capital",
        "hyperliquid-account",
        "hl-transaction-history",
    ] {
        targets.push(format!("/{route}?{ACCOUNT}"));
    }
    targets
}

#[tokio::test]
async fn every_path_is_in_the_answer_and_every_source_contributed() {
    let shop = Shop::open().await;
    for target in targets() {
        provenance(&shop, &target).await;
    }
    let macros = provenance(&shop, "/tradfi-data").await;
    assert_eq!(
        of(&macros, "/data/yields/10y"),
        Some("treasury.yield-curve")
    );
    assert_eq!(of(&macros, "/data/indices/0"), Some("yahoo.chart"));
    assert_eq!(of(&macros, "/data/indices/2"), Some("fred.chart-csv"));
    let funding = provenance(&shop, "/funding-rates?symbol=BTC").await;
    let venues = "/data/markets/0/venues";
    assert_eq!(
        of(&funding, &format!("{venues}/1/funding")),
        Some("binance.funding")
    );
}

#[tokio::test]
async fn sources_that_are_away_contribute_nothing() {
    let shop = Shop::without(&["hyperliquid", "treasury", "cboe", "yahoo"]).await;
    let macros = provenance(&shop, "/tradfi-data").await;
    for path in ["/data/yields/10y", "/data/volatility/vix"] {
        assert_eq!(of(&macros, path), Some("fred.chart-csv"));
    }
    let pulse = provenance(&shop, "/rwa-pulse").await;
    assert_eq!(of(&pulse, "/data/macro/us10y"), Some("fred.chart-csv"));
    assert_eq!(of(&pulse, "/data/tokenized"), None);
    provenance(&shop, "/funding-rates?symbol=BTC").await;
    let shop = Shop::without(&["okx", "binance", "bybit", "okx_futures"]).await;
    for target in ["/funding-rates", "/funding-rates?symbol=BTC"] {
        provenance(&shop, target).await;
    }
    let positions = provenance(&shop, &format!("/yield-farming-active?{ACCOUNT}")).await;
    assert_eq!(of(&positions, "/data/positions/0"), Some("rpc.xlayer"));
    assert_eq!(of(&positions, "/data/total_usd"), Some("rpc.xlayer"));
    provenance(&shop, &format!("/idle-capital?{ACCOUNT}")).await;
}
