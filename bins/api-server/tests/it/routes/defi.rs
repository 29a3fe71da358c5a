//! Tests of value locked, yields and idle money.

mod accounts;

use serde_json::{Value, json};

use crate::routes::shop::{Shop, why_missing};

const ACCOUNT: &str = "address=0x1f9840a85d5aF5bf1D1762F925BDADdC4201F984";
const USDT0_POOL: &str = "aa70268e-4b52-42bf-a116-608b370f9501";

/// A shop in which the nodes of chain 196, and these upstreams, cannot be reached.
async fn without_xlayer(upstreams: &[&str]) -> Shop {
    Shop::changed(|config, _replay| {
        let table = config.chains.0.get_mut("196").expect("a chain");
        table.rpc_urls = vec!["http://127.0.0.1:9".to_owned()];
        for name in upstreams {
            let table = config.upstreams.0.get_mut(*name).expect("an upstream");
            assert!(table.set_url("base_url", "http://127.0.0.1:9".to_owned()));
        }
    })
    .await
}

fn rows<'a>(body: &'a Value, list: &str) -> &'a Vec<Value> {
    body["data"][list].as_array().unwrap()
}

fn row<'a>(body: &'a Value, list: &str, pool: &str) -> &'a Value {
    let found = rows(body, list).iter().find(|row| row["pool"] == pool);
    found.unwrap_or_else(|| panic!("{pool} is not in {}", body["data"][list]))
}

#[tokio::test]
async fn protocols_are_ranked_without_exchanges() {
    let shop = Shop::open().await;
    let body = shop.buy("/defi-analytics").await;
    let data = &body["data"];
    assert_eq!(data["protocols"][0]["slug"], "aave-v3");
    let slugs: Vec<_> = rows(&body, "protocols")
        .iter()
        .map(|row| &row["slug"])
        .collect();
    assert!(!slugs.contains(&&json!("binance-cex")) && !slugs.contains(&&json!("base-chain")));
    assert_eq!(
        (&data["gainers"][0]["slug"], &data["losers"][0]["slug"]),
        (&json!("pendle"), &json!("gmx-v2-perps"))
    );
    assert_eq!(data["chains"][0]["name"], "Ethereum");
    let xlayer = rows(&body, "chains")
        .iter()
        .find(|row| row["name"] == "X Layer")
        .unwrap();
    assert_eq!(xlayer["chain_id"], 196);
    assert_eq!(
        (&body["meta"]["verdict"], &body["meta"]["max_age_seconds"]),
        (&json!("fresh"), &json!(900))
    );
    assert_eq!(
        why_missing(&body, "data.chains[].chain_id"),
        None,
        "a chain without an id has none"
    );

    let body = shop.buy("/defi-analytics?protocol=Aave%20V3").await;
    assert_eq!(body["data"]["total_tvl_usd"], "38200123456");
    assert_eq!(
        (rows(&body, "protocols").len(), rows(&body, "chains").len()),
        (1, 3)
    );
    let error = shop
        .refused("/defi-analytics?protocol=binance-cex", 404, "not_found")
        .await;
    assert_eq!(error["reason"], "protocol_not_found");
}

#[tokio::test]
async fn the_best_pools_are_graded_by_published_rules() {
    let body = Shop::open().await.buy("/yield-alpha").await;
    let pools = rows(&body, "pools");
    assert_eq!(
        (&body["data"]["shown"], &body["data"]["considered"]),
        (&json!(16), &json!(18))
    );
    let points = body["data"]["rules"]["points"].as_array().unwrap();
    for pool in pools {
        for reason in pool["why"].as_array().unwrap() {
            assert!(
                points.iter().any(|rule| rule["says"] == *reason),
                "{reason}"
            );
        }
    }
    let calm = row(&body, "pools", USDT0_POOL);
    assert_eq!(
        (&calm["risk_grade"], &calm["apy_pct"]),
        (&json!("A"), &json!("4.12"))
    );
    let bait = row(&body, "pools", "2c1b6d7e-18f1-4a55-9c54-0f3ee0b2a003");
    assert_eq!(bait["risk_grade"], "D");
    assert!(
        !pools
            .iter()
            .any(|pool| pool["project"] == "some-farm" || pool["project"] == "young-vault")
    );
    let unsold = row(&body, "pools", "0c8567f8-ba5b-41ad-80de-00a71895eb19");
    assert_eq!(
        (&unsold["apy_pct"], &unsold["apy_reward_pct"]),
        (&json!("3.9"), &json!("0.8"))
    );
    assert_eq!(body["meta"]["sources"][0]["id"], "defillama.pools");
}

#[tokio::test]
async fn without_pools_there_is_nothing_to_sell() {
    let shop = Shop::without(&["defillama"]).await;
    for target in [
        "/yield-alpha",
        "/yield-markets",
        "/yield-recommendations?amount=1000",
    ] {
        let error = shop.refused(target, 503, "core_data_missing").await;
        assert_eq!(error["missing"], json!(["yield_snapshot"]), "{target}");
    }
    shop.refused("/defi-analytics", 503, "upstream_unavailable")
        .await;
    // Balances and positions have their price without the source; the answer names the missing
    // fields.
    let body = shop.buy(&format!("/idle-capital?{ACCOUNT}")).await;
    assert_eq!(body["data"]["idle"][0]["best"], Value::Null);
    assert_eq!(
        why_missing(&body, "data.idle[].best"),
        Some("yield_snapshot_missing")
    );
}

#[tokio::test]
async fn markets_of_three_sources_are_one_list() {
    let shop = Shop::open().await;
    let body = shop.buy("/yield-markets?chain=xlayer&asset=USDT0").await;
    let market = row(&body, "markets", USDT0_POOL);
    let others = market["also_reported"].as_array().unwrap();
    let said: Vec<_> = others
        .iter()
        .map(|other| {
            (
                other["source"].as_str().unwrap(),
                other["apy_pct"].as_str().unwrap(),
            )
        })
        .collect();
    assert_eq!(said, [("okx.defi", "4.12"), ("rpc.xlayer", "4.12")]);
    let ids: Vec<_> = body["meta"]["sources"]
        .as_array()
        .unwrap()
        .iter()
        .map(|source| source["id"].as_str().unwrap())
        .collect();
    assert_eq!(ids, ["defillama.pools", "okx.defi", "rpc.xlayer"]);

    let body = shop
        .buy("/yield-markets?chain=196&asset=USDG&sort=tvl")
        .await;
    let dolomite = row(&body, "markets", "okx-125102");
    assert_eq!(
        (&dolomite["apy_pct"], &dolomite["source"]),
        (&json!("5.11"), &json!("okx.defi"))
    );
    // The source states the yield of this market as a sum.
    assert_eq!(
        (&dolomite["apy_base_pct"], &dolomite["apy_reward_pct"]),
        (&Value::Null, &Value::Null)
    );
    for part in ["apy_base_pct", "apy_reward_pct"] {
        let field = format!("data.markets[].{part}");
        assert_eq!(why_missing(&body, &field), Some("split_not_stated"));
    }
    let usdg = row(&body, "markets", "0a1f6a52-2b1f-4c0e-9d2e-1c1e1f0b0196");
    assert_eq!(
        (&usdg["apy_pct"], &usdg["apy_base_pct"]),
        (&json!("5.2"), &json!("3.1"))
    );
    assert_eq!(
        usdg["also_reported"][0]["apy_pct"], "3.12",
        "the base alone, which agrees"
    );

    let body = shop
        .buy("/yield-markets?chain=base&protocol=aave-v3&stable=true&min_tvl=200000000")
        .await;
    assert_eq!(
        (
            &body["data"]["count"],
            &body["data"]["markets"][0]["symbol"]
        ),
        (&json!(1), &json!("USDC"))
    );
    let body = shop.buy("/yield-markets?chain=linea").await;
    assert_eq!(
        (&body["data"]["count"], &body["data"]["next_cursor"]),
        (&json!(0), &Value::Null)
    );
}

#[tokio::test]
async fn pages_of_markets_follow_each_other() {
    let shop = Shop::open().await;
    let whole = shop.buy("/yield-markets").await;
    let expected: Vec<_> = rows(&whole, "markets")
        .iter()
        .map(|row| row["pool"].clone())
        .collect();
    let mut seen = Vec::new();
    let mut target = "/yield-markets?limit=7".to_owned();
    while seen.len() < expected.len() {
        let body = shop.buy(&target).await;
        assert_eq!(body["data"]["count"], expected.len());
        seen.extend(rows(&body, "markets").iter().map(|row| row["pool"].clone()));
        let Some(next) = body["data"]["next_cursor"].as_str() else {
            break;
        };
        target = format!("/yield-markets?limit=7&cursor={next}");
    }
    assert_eq!(seen, expected);
    for cursor in ["999", "tvl:4:p"] {
        shop.refused(
            &format!("/yield-markets?cursor={cursor}"),
            400,
            "invalid_params",
        )
        .await;
    }
}

#[tokio::test]
async fn an_unavailable_source_beside_the_pools_is_named() {
    let body = without_xlayer(&["okx"])
        .await
        .buy("/yield-markets?chain=xlayer")
        .await;
    assert_eq!(
        why_missing(&body, "data.markets[].also_reported"),
        Some("upstream_unreachable")
    );
    let sources = body["meta"]["sources"].as_array().unwrap();
    let away = sources
        .iter()
        .filter(|source| source["status"] == "unavailable")
        .count();
    assert_eq!((sources.len(), away), (3, 2));
    assert!(
        rows(&body, "markets")
            .iter()
            .all(|row| row["source"] == "defillama.pools")
    );
}
