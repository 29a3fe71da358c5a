use std::time::Duration;

use alloy_primitives::{Address, address};
use serde_json::{Value, json};

use crate::tokens::{
    USDT0, WOKB, answering, attacks, changed, code, okx, okx_at, recorded, recorded_clock, serving,
};

const OTHER: Address = address!("1000000000000000000000000000000000000001");

fn info(change: impl FnOnce(&mut Value)) -> Value {
    changed("okx/price_info_okb", |answer| {
        change(&mut answer["data"][0])
    })
}

#[tokio::test]
async fn a_market_keeps_its_figures_and_its_time() {
    let server = serving(&recorded("okx/price_info_okb")).await;
    let found = okx(&server).market(WOKB, None).await.unwrap();
    let market = found.value;
    assert_eq!(market.price_usd.to_string(), "118.42");
    assert_eq!(market.change_24h_pct.unwrap().to_string(), "2.17");
    assert_eq!(market.volume_24h_usd.unwrap().to_string(), "5123456.7");
    assert_eq!((market.holders, market.txs_24h), (Some(35211), Some(18234)));
    assert_eq!(market.as_of.to_string(), "2026-11-21T01:01:50Z");
    let source = &found.sources[0];
    assert_eq!(
        (source.source, source.as_of),
        ("okx.price-info", Some(market.as_of))
    );
    let request = &server.received_requests().await.unwrap()[0];
    let body: Value = serde_json::from_slice(&request.body).unwrap();
    let asked = json!([{"chainIndex": "196", "tokenContractAddress": "0xe538905cf8410324e03a5a23c1c177a474d59b2b"}]);
    assert_eq!(body, asked);
}

#[tokio::test]
async fn an_empty_member_is_unknown_and_not_zero() {
    let server = serving(&info(|row| {
        for member in [
            "marketCap",
            "liquidity",
            "holders",
            "priceChange5M",
            "volume24H",
            "txs24H",
        ] {
            row[member] = json!("");
        }
    }))
    .await;
    let market = okx(&server).market(WOKB, None).await.unwrap().value;
    assert!(market.market_cap_usd.is_none() && market.liquidity_usd.is_none());
    assert!(market.holders.is_none() && market.txs_24h.is_none());
    assert!(market.change_5m_pct.is_none() && market.volume_24h_usd.is_none());
}

#[tokio::test]
async fn impossible_optional_figures_are_left_out() {
    let server = serving(&info(|row| {
        row["holders"] = json!("12.5");
        row["volume24H"] = json!("-1");
        row["liquidity"] = json!("much");
        row["marketCap"] = json!("0");
        row["txs24H"] = json!({"n": 1});
    }))
    .await;
    let market = okx(&server).market(WOKB, None).await.unwrap().value;
    assert!(market.holders.is_none() && market.volume_24h_usd.is_none());
    assert!(market.liquidity_usd.is_none() && market.market_cap_usd.is_none());
    assert!(market.txs_24h.is_none());
}

#[tokio::test]
async fn a_price_that_is_no_price_is_refused() {
    for price in ["NaN", "0", "-1", "0.0", "1e99", "118,42", "Infinity", "0x1"] {
        let server = serving(&info(|row| row["price"] = json!(price))).await;
        assert_eq!(
            code(okx(&server).market(WOKB, None).await),
            "upstream_malformed",
            "{price}"
        );
    }
    // The time is missing, invalid, in the future or out of range.
    for time in [
        json!(""),
        json!("yesterday"),
        json!("1795223300000"),
        json!("-5"),
        json!("1e30"),
    ] {
        let server = serving(&info(|row| row["time"] = time.clone())).await;
        assert_eq!(
            code(okx(&server).market(WOKB, None).await),
            "upstream_malformed",
            "{time}"
        );
    }
}

#[tokio::test]
async fn a_token_without_a_price_is_not_priced() {
    for none in [
        json!({"code": "0", "data": [], "msg": ""}),
        info(|row| row["price"] = json!("")),
        info(|row| row["price"] = json!(null)),
    ] {
        let server = serving(&none).await;
        assert_eq!(
            code(okx(&server).market(WOKB, None).await),
            "token_not_priced"
        );
    }
}

#[tokio::test]
async fn rows_of_other_tokens_and_chains_are_refused() {
    for other in [
        info(|row| row["chainIndex"] = json!("1")),
        info(|row| row["chainIndex"] = json!(8453)),
        info(|row| row["tokenContractAddress"] = json!(OTHER.to_string())),
    ] {
        let server = serving(&other).await;
        assert_eq!(
            code(okx(&server).market(WOKB, None).await),
            "upstream_malformed",
            "{other}"
        );
    }
}

#[tokio::test]
async fn one_bad_row_does_not_spoil_a_batch() {
    let answer = changed("okx/price_info_board", |answer| {
        answer["data"][1]["price"] = json!("NaN");
        // The third row is repeated and contradicts itself.
        let mut again = answer["data"][2].clone();
        again["price"] = json!("7");
        answer["data"].as_array_mut().unwrap().push(again);
    });
    let server = serving(&answer).await;
    let curated: Vec<Address> = readings::token::curated::XLAYER
        .iter()
        .map(|token| token.address)
        .collect();
    let found = okx(&server).markets(&curated, None).await.unwrap().value;
    let prices: Vec<_> = found
        .iter()
        .map(|market| market.price_usd.to_string())
        .collect();
    // In the order of the request, without rows that were not requested.
    assert_eq!(
        prices,
        [
            "118.42", "1.0002", "97251.4", "3121.77", "139.88", "3260.12", "0.9991"
        ]
    );
    assert!(!found.iter().any(|market| market.address == USDT0));
}

#[tokio::test]
async fn attacks_are_refused_by_name() {
    for (expected, attack) in attacks() {
        let server = answering(attack).await;
        let okx = okx(&server);
        assert_eq!(code(okx.market(WOKB, None).await), expected);
    }
    let server = serving(&json!({"code": "50011", "data": [], "msg": "Too Many Requests"})).await;
    assert_eq!(
        code(okx(&server).market(WOKB, None).await),
        "upstream_rate_limited"
    );
    let server = serving(&json!({"code": "51000", "data": [], "msg": "<b>no</b>"})).await;
    assert_eq!(
        code(okx(&server).market(WOKB, None).await),
        "upstream_business"
    );
}

#[tokio::test]
async fn markets_are_kept_for_seconds() {
    let clock = recorded_clock();
    let server = serving(&recorded("okx/price_info_okb")).await;
    let okx = okx_at(&server, clock.clone());
    for _ in 0..3 {
        okx.market(WOKB, None).await.unwrap();
    }
    assert_eq!(server.received_requests().await.unwrap().len(), 1);
    clock.advance(Duration::from_secs(9));
    okx.market(WOKB, None).await.unwrap();
    assert_eq!(server.received_requests().await.unwrap().len(), 2);
}

#[tokio::test]
async fn origins_and_pools_leave_out_unknown_figures() {
    let server = serving(&recorded("okx/advanced_info_196")).await;
    let origin = okx(&server).token_origin(WOKB, None).await.unwrap().value;
    assert_eq!(
        origin.creator.unwrap().to_string(),
        "0x5555555555555555555555555555555555555555"
    );
    assert_eq!(origin.top10_hold_pct.unwrap().to_string(), "31.2");
    assert_eq!((origin.risk_level, origin.lp_burned_pct), (Some(1), None));
    assert_eq!(
        (origin.creator_tokens, origin.creator_rug_pulls),
        (Some(1), Some(0))
    );
    assert_eq!(origin.tags, ["communityRecognized"]);

    let odd = json!({"code": "0", "data": {"riskControlLevel": "0", "top10HoldPercent": "131", "creatorAddress": "", "tokenTags": null, "createTime": "9999999999999"}, "msg": ""});
    let server = serving(&odd).await;
    let origin = okx(&server).token_origin(WOKB, None).await.unwrap().value;
    assert_eq!(*origin, readings::token::market::TokenOrigin::default());

    let server = serving(&recorded("okx/top_liquidity_196")).await;
    let pools = okx(&server).token_pools(WOKB, None).await.unwrap().value;
    assert_eq!(
        (pools[0].name.as_str(), pools[0].protocol.as_str()),
        ("WOKB/USD₮0", "Uniswap V3")
    );
    assert_eq!(pools[0].liquidity_usd.unwrap().to_string(), "2345678.9");
    for (expected, attack) in attacks() {
        let server = answering(attack).await;
        let okx = okx(&server);
        assert_eq!(code(okx.token_origin(WOKB, None).await), expected);
    }
}
