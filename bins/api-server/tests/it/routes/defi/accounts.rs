//! Tests of an account's positions, of the yields that its holdings could earn, and of
//! recommendations for an amount.

use serde_json::{Value, json};

use super::{ACCOUNT, USDT0_POOL, rows, without_xlayer};
use crate::routes::shop::{Shop, clock_at, left, why_missing};

#[tokio::test]
async fn positions_have_debts_health_and_a_total() {
    let shop = Shop::open().await;
    let body = shop.buy(&format!("/yield-farming-active?{ACCOUNT}")).await;
    let ids: Vec<_> = rows(&body, "positions")
        .iter()
        .map(|row| row["position_id"].as_str().unwrap())
        .collect();
    // The server reads Aave from the chain, and does not count the index's data about it a second
    // time.
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
    assert_eq!(body["data"]["positions"][0]["apy_source"], "rpc.xlayer");
    assert_eq!(body["data"]["positions"][3]["side"], "borrow");
    // The sum of 1512.39 in Aave and 250.5 in the pool on Base.
    assert_eq!(
        (
            &body["data"]["total_usd"],
            &body["data"]["total_usd_complete"]
        ),
        (&json!("1762.89"), &json!(true))
    );
    assert_eq!(body["meta"]["max_age_seconds"], 60);
    shop.refused("/yield-farming-active", 404, "no_sub_wallet")
        .await;
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
    let filled = &body["data"]["positions"][0];
    assert_eq!(
        (&filled["source"], &filled["apy_source"]),
        (&json!("okx.defi"), &json!("defillama.pools"))
    );
    let sources = body["meta"]["sources"].as_array().unwrap();
    assert!(sources.iter().any(|of| of["id"] == "defillama.pools"));
    assert_eq!(body["data"]["total_usd_complete"], false);
    assert_eq!(
        why_missing(&body, "data.positions"),
        Some("upstream_unreachable")
    );

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

/// The pool's own totals say that the account has more than the reserves that were read.
#[tokio::test]
async fn a_reading_that_does_not_cover_the_account_is_no_total() {
    let shop = Shop::in_scenario("aave_reserve_not_read").await;
    let body = shop.buy(&format!("/yield-farming-active?{ACCOUNT}")).await;
    assert_eq!(body["data"]["total_usd_complete"], false);
    assert_eq!(body["meta"]["warnings"][0]["code"], "positions_incomplete");
    assert_eq!(rows(&body, "positions").len(), 4);
}

/// When a yield comes from an edition, the positions are as old as the edition.
#[tokio::test]
async fn a_yield_that_is_filled_in_ages_the_positions() {
    let clock = clock_at(0);
    let shop = Shop::changed_by_the_clock(clock.clone(), |config, _replay| {
        let table = config.chains.0.get_mut("196").expect("a chain");
        table.rpc_urls = vec!["http://127.0.0.1:9".to_owned()];
    })
    .await;
    let target = format!("/yield-farming-active?{ACCOUNT}");
    assert_eq!(shop.buy(&target).await["meta"]["verdict"], "fresh");
    clock.set(3600);
    let body = shop.buy(&target).await;
    assert_eq!(body["data"]["positions"][0]["apy_pct"], "4.12");
    assert_eq!(
        (&body["meta"]["verdict"], &body["meta"]["age_seconds"]),
        (&json!("stale"), &json!(3600))
    );
}

#[tokio::test]
async fn a_history_without_points_is_not_sold() {
    let clock = clock_at(400 * 24 * 3600);
    let shop = Shop::by_the_clock(clock).await;
    let target = format!("/yield-farming-historical?pool={USDT0_POOL}&days=7");
    let error = shop.refused(&target, 404, "not_found").await;
    assert_eq!(error["reason"], "no_results");
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
    let named = format!("/yield-farming-historical?{ACCOUNT}");
    for target in [named.as_str(), "/yield-farming-historical"] {
        shop.refused(target, 404, "no_sub_wallet").await;
    }
    let both = format!("/yield-farming-historical?{ACCOUNT}&pool={USDT0_POOL}");
    shop.refused(&both, 400, "invalid_params").await;
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
    // 650,000 units of gas at 0.01 gwei, with the coin at 3,184.5 dollars, cost two cents for both
    // ways.
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
    // Yields count as fresh for 45 minutes, gas for ten.
    assert!((1..=600).contains(&left(&body)), "{}", body["meta"]);
    // The market takes this very asset, and no value is lost on the way.
    assert_eq!(best["not_counted"], json!([]));

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
    // The prices of a pair can diverge, so a pair is not of low risk, and its yield is not called
    // net.
    let pairs = |body: &Value| {
        let rows = rows(body, "recommendations").iter();
        let pair = |row: &&Value| row["asset"].as_str().unwrap().contains("-WETH");
        rows.filter(pair).cloned().collect::<Vec<_>>()
    };
    let with_ether = "/yield-recommendations?amount=20000&asset=WETH";
    let calm = shop.buy(with_ether).await;
    assert_eq!(pairs(&calm), Vec::<Value>::new());
    let medium = shop.buy(&format!("{with_ether}&risk=medium")).await;
    let pair = pairs(&medium).into_iter().next().unwrap();
    assert_eq!(
        (&pair["net_apy_pct"], &pair["not_counted"]),
        (
            &Value::Null,
            &json!(["swap_into_other_assets", "impermanent_loss"])
        )
    );
    assert!(pair["apy_after_gas_pct"].is_string());
    assert_eq!(
        why_missing(&medium, "data.recommendations[].net_apy_pct"),
        Some("costs_not_counted")
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
async fn unknown_gas_is_not_free() {
    let shop = without_xlayer(&[]).await;
    let body = shop
        .buy("/yield-recommendations?amount=1000&chains=196")
        .await;
    for member in ["est_gas_usd", "net_apy_pct", "breakeven_days"] {
        assert_eq!(body["data"]["recommendations"][0][member], Value::Null);
        assert_eq!(
            why_missing(&body, &format!("data.recommendations[].{member}")),
            Some("upstream_unreachable")
        );
    }
}

#[tokio::test]
async fn an_account_is_advised_on_its_holdings() {
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
    shop.refused("/idle-capital", 404, "no_sub_wallet").await;
}
