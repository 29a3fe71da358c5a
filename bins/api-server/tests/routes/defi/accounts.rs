//! What an account has, could earn, and where an amount would go.

use serde_json::{Value, json};

use super::{ACCOUNT, USDT0_POOL, gap, rows, without_xlayer};
use crate::shop::Shop;

#[tokio::test]
async fn positions_have_debts_health_and_a_total() {
    let shop = Shop::open().await;
    let body = shop.buy(&format!("/yield-farming-active?{ACCOUNT}")).await;
    let ids: Vec<_> = rows(&body, "positions")
        .iter()
        .map(|row| row["position_id"].as_str().unwrap())
        .collect();
    // Aave is read from the chain; what the index says of it is not counted twice.
    assert_eq!(
        ids,
        [
            "196-aave-v3-usdt0",
            "196-aave-v3-usdg",
            "okx-8453-123-9801",
            "196-aave-v3-gho-borrow"
        ]
    );
    assert_eq!(body["data"]["positions"][0]["health"], "12.56");
    assert_eq!(body["data"]["positions"][3]["side"], "borrow");
    // 1512.39 of Aave and 250.5 of the pool on Base.
    assert_eq!(
        (
            &body["data"]["total_usd"],
            &body["data"]["total_usd_complete"]
        ),
        (&json!("1762.89"), &json!(true))
    );
    assert_eq!(body["meta"]["max_age_seconds"], 60);
    let error = shop
        .refused("/yield-farming-active", 404, "not_found")
        .await;
    assert_eq!(error["reason"], "no_sub_wallet");
}

#[tokio::test]
async fn one_source_of_positions_is_enough_and_none_is_not() {
    let body = without_xlayer(&[])
        .await
        .buy(&format!("/yield-farming-active?{ACCOUNT}"))
        .await;
    let ids: Vec<_> = rows(&body, "positions")
        .iter()
        .map(|row| row["position_id"].as_str().unwrap())
        .collect();
    assert_eq!(
        ids,
        [
            "okx-196-10-124561",
            "okx-8453-123-9801",
            "okx-196-10-124901-borrow"
        ]
    );
    assert_eq!(
        body["data"]["positions"][0]["apy_pct"], "4.12",
        "of the one market that fits"
    );
    assert_eq!(body["data"]["total_usd_complete"], false);
    assert_eq!(gap(&body, "data.positions"), Some("upstream_unreachable"));

    let shop = without_xlayer(&["okx"]).await;
    let error = shop
        .refused(
            &format!("/yield-farming-active?{ACCOUNT}"),
            503,
            "core_data_missing",
        )
        .await;
    assert_eq!(error["missing"], json!(["positions"]));
}

#[tokio::test]
async fn a_pool_has_a_history_and_an_account_has_none() {
    let shop = Shop::open().await;
    let body = shop
        .buy(&format!(
            "/yield-farming-historical?pool={USDT0_POOL}&days=7"
        ))
        .await;
    let points = rows(&body, "points");
    assert_eq!(points.len(), 7);
    assert_eq!(
        points[6],
        json!({"time": "2026-11-20T23:01:20Z", "apy_pct": "4.12", "tvl_usd": "31234567"})
    );
    assert_eq!(body["meta"]["as_of"], "2026-11-20T23:01:20Z");
    assert_eq!(body["meta"]["verdict"], "fresh");
    for pool in [
        "aa70268e-4b52-42bf-a116-000000000000",
        "../pools",
        "okx-124561",
    ] {
        let target = format!("/yield-farming-historical?pool={pool}");
        let error = shop.refused(&target, 404, "not_found").await;
        assert_eq!(error["reason"], "pool_not_found", "{pool}");
    }
    let error = shop
        .refused(
            &format!("/yield-farming-historical?{ACCOUNT}"),
            404,
            "not_found",
        )
        .await;
    assert_eq!(error["reason"], "no_sub_wallet");
    shop.refused("/yield-farming-historical", 400, "invalid_params")
        .await;
}

#[tokio::test]
async fn recommendations_are_net_of_gas_and_within_the_risk() {
    let shop = Shop::open().await;
    let body = shop
        .buy("/yield-recommendations?amount=1000&asset=USDC&chains=196,8453")
        .await;
    let best = &body["data"]["recommendations"][0];
    assert_eq!(
        (&best["chain_id"], &best["protocol"], &best["risk_grade"]),
        (&json!(8453), &json!("aave-v3"), &json!("A"))
    );
    // 650,000 units at 0.01 gwei and 3,184.5 dollars: two cents, for both ways.
    assert_eq!(
        (&best["est_gas_usd"], &best["net_apy_pct"]),
        (&json!("0.0207"), &json!("4.5979"))
    );
    assert_eq!(best["breakeven_days"], "0.17");
    assert_eq!(best["exit_liquidity_usd"], "212345678");
    let ids: Vec<_> = body["meta"]["sources"]
        .as_array()
        .unwrap()
        .iter()
        .map(|source| source["id"].as_str().unwrap())
        .collect();
    assert!(
        ids.contains(&"rpc.base") && ids.contains(&"defillama.coins"),
        "{ids:?}"
    );

    let dear = shop
        .buy("/yield-recommendations?amount=5&asset=USDC&chains=1")
        .await;
    assert_eq!(
        rows(&dear, "recommendations").len(),
        0,
        "gas on Ethereum eats it"
    );
    let low = shop.buy("/yield-recommendations?amount=1000").await;
    assert!(
        rows(&low, "recommendations")
            .iter()
            .all(|row| matches!(row["risk_grade"].as_str(), Some("A" | "B")))
    );
    let high = shop
        .buy("/yield-recommendations?amount=1000&risk=high&chains=196")
        .await;
    assert!(
        rows(&high, "recommendations")
            .iter()
            .any(|row| row["risk_grade"] == "D")
    );
    let assumed = shop.buy("/yield-recommendations").await;
    assert_eq!(
        (
            &assumed["data"]["amount_usd"],
            &assumed["data"]["amount_assumed"]
        ),
        (&json!("1000"), &json!(true))
    );
}

#[tokio::test]
async fn gas_that_is_not_known_is_not_free() {
    let shop = without_xlayer(&[]).await;
    let body = shop
        .buy("/yield-recommendations?amount=1000&chains=196")
        .await;
    for member in ["est_gas_usd", "net_apy_pct", "breakeven_days"] {
        assert_eq!(body["data"]["recommendations"][0][member], Value::Null);
        assert_eq!(
            gap(&body, &format!("data.recommendations[].{member}")),
            Some("upstream_unreachable")
        );
    }
}

#[tokio::test]
async fn an_account_is_advised_on_what_it_holds() {
    let shop = Shop::open().await;
    let body = shop.buy(&format!("/yield-recommendations?{ACCOUNT}")).await;
    let first = &body["data"]["recommendations"][0];
    assert_eq!(
        (&first["pool"], &first["amount_usd"]),
        (&json!(USDT0_POOL), &json!("42.5"))
    );
    let body = shop
        .buy(&format!("/yield-recommendations?{ACCOUNT}&asset=DAI"))
        .await;
    assert_eq!(body["data"]["recommendations"], json!([]));
}

#[tokio::test]
async fn idle_money_is_named_with_the_best_calm_alternative() {
    let shop = Shop::open().await;
    let body = shop.buy(&format!("/idle-capital?{ACCOUNT}")).await;
    let idle = rows(&body, "idle");
    assert_eq!(
        idle[0],
        json!({
            "chain_id": 196, "token": "USD₮0", "token_address": "0x779Ded0c9e1022225f8E0630b35a9b54bE713736",
            "amount": "42.5", "usd": "42.5",
            "best": {"pool": USDT0_POOL, "project": "aave-v3", "apy_pct": "4.12", "expected_usd_year": "1.75"},
        })
    );
    assert_eq!(
        (&idle[1]["token"], &idle[1]["best"]["apy_pct"]),
        (&json!("USDC"), &json!("4.6"))
    );
    assert_eq!(idle.len(), 2, "OKB is no stablecoin, ether or bitcoin");
    assert_eq!(
        (
            &body["data"]["total_idle_usd"],
            &body["data"]["total_idle_usd_complete"]
        ),
        (&json!("52.49"), &json!(true))
    );
    let error = shop.refused("/idle-capital", 404, "not_found").await;
    assert_eq!(error["reason"], "no_sub_wallet");
}
