mod failures;
mod kept;

use std::sync::Arc;

use alloy_primitives::{Address, address};
use data_sources::VenueConfig;
use data_sources::hyperliquid::{Hyperliquid, HyperliquidConfig};
use plan_builder::ports::{PerpAsset, PerpVenue};
use serde_json::{Value, json};
use wiremock::ResponseTemplate;

use crate::rails::*;

const USER: Address = address!("AAaaAAAaaAaAaAaaAaaaAaaaAAaAAAAaaAaAAaAa");
const BUILDER: Address = address!("BBbBbBBbbbbBBbBbbbBBbBBBbBbBbbbbBBBBbbbb");

/// The recorded venue; `change` may answer instead, by type and dex.
fn answer(body: &Value) -> ResponseTemplate {
    let dex = body.get("dex").and_then(Value::as_str).unwrap_or("");
    let file = match (body["type"].as_str().unwrap(), dex) {
        ("perpDexs", _) => "perp_dexs",
        ("meta", "") => "meta",
        ("meta", "xyz") => "meta_xyz",
        ("metaAndAssetCtxs", "") => "meta_and_asset_ctxs",
        ("metaAndAssetCtxs", "xyz") => "meta_and_asset_ctxs_xyz",
        ("meta", "flx") => "meta_flx",
        ("metaAndAssetCtxs", "flx") => "meta_and_asset_ctxs_flx",
        ("maxBuilderFee", _) => "max_builder_fee",
        ("spotMeta", _) => "spot_meta",
        _ => "unknown_dex",
    };
    raw(&recorded_text(&format!("hyperliquid/{file}.json")))
}

async fn serving(
    change: impl Fn(&str) -> Option<ResponseTemplate> + Send + Sync + 'static,
) -> MockServer {
    deciding(move |request| {
        assert_eq!(
            (request.method.as_str(), request.url.path()),
            ("POST", "/info")
        );
        let body: Value = serde_json::from_slice(&request.body).unwrap();
        change(body["type"].as_str().unwrap()).unwrap_or_else(|| answer(&body))
    })
    .await
}

fn config(server: &MockServer) -> HyperliquidConfig {
    HyperliquidConfig {
        base_url: server.uri(),
        common: VenueConfig {
            limits: limits(),
            ..VenueConfig::default()
        },
        ..HyperliquidConfig::default()
    }
}

fn venue(config: HyperliquidConfig, clock: &ManualClock) -> Hyperliquid {
    Hyperliquid::new(&transport(), config, Arc::new(clock.clone())).unwrap()
}

async fn asset(coin: &str) -> Result<PerpAsset, PortError> {
    let server = serving(|_| None).await;
    venue(config(&server), &recorded_clock()).asset(coin).await
}

/// The adapter's result for `response` to requests of one type.
async fn with(
    kind: &'static str,
    response: ResponseTemplate,
    coin: &str,
) -> Result<PerpAsset, PortError> {
    let server = serving(move |asked| (asked == kind).then(|| response.clone())).await;
    venue(config(&server), &recorded_clock()).asset(coin).await
}

async fn contexts(change: impl FnOnce(&mut Value)) -> Result<PerpAsset, PortError> {
    let mut body = recorded("hyperliquid/meta_and_asset_ctxs.json");
    change(&mut body);
    with("metaAndAssetCtxs", json(&body), "ETH").await
}

#[track_caller]
fn place<T: std::fmt::Debug>(result: Result<T, PortError>) -> String {
    match reason(result, "hyperliquid") {
        PortErrorReason::Malformed { path, .. } => path,
        other => panic!("{other}"),
    }
}

/// The requests by type and dex.
async fn asked_for(server: &MockServer) -> Vec<String> {
    let requests = server.received_requests().await.unwrap();
    let name = |request: &Request| {
        let body: Value = serde_json::from_slice(&request.body).unwrap();
        match body.get("dex") {
            Some(dex) => format!(
                "{} {}",
                body["type"].as_str().unwrap(),
                dex.as_str().unwrap()
            ),
            None => body["type"].as_str().unwrap().to_owned(),
        }
    };
    requests.iter().map(name).collect()
}

#[tokio::test]
async fn a_coin_of_the_first_dex_is_read() {
    let expected = PerpAsset {
        coin: "ETH".to_owned(),
        dex: String::new(),
        dex_index: 0,
        universe_index: 1,
        asset_id: 1,
        size_decimals: 4,
        max_leverage: 25,
        delisted: false,
        collateral_token: 0,
        collateral: "USDC".to_owned(),
        mark_price: Some("3188.1".parse().unwrap()),
        read_at: "2026-11-21T01:00:00Z".parse().unwrap(),
    };
    assert_eq!(asset("ETH").await, Ok(expected));
    let btc = asset("BTC").await.unwrap();
    assert_eq!(
        (
            btc.asset_id,
            btc.size_decimals,
            btc.mark_price.unwrap().to_string().as_str()
        ),
        (0, 5, "97221")
    );
}

#[tokio::test]
async fn a_coin_of_a_deployed_dex_counts_the_nameless_one() {
    let gold = asset("xyz:GOLD").await.unwrap();
    assert_eq!(
        (
            gold.dex.as_str(),
            gold.dex_index,
            gold.universe_index,
            gold.asset_id
        ),
        ("xyz", 1, 2, 110_002)
    );
    assert_eq!(gold.mark_price.unwrap().to_string(), "4120.3");
}

#[tokio::test]
async fn a_delisted_coin_keeps_its_place() {
    let matic = asset("MATIC").await.unwrap();
    assert!(matic.delisted);
    assert_eq!(
        (
            matic.asset_id,
            matic.mark_price.unwrap().to_string().as_str()
        ),
        (2, "0.37")
    );
}

#[tokio::test]
async fn unknown_names_are_unknown() {
    for (coin, subject) in [
        ("DOGE", "coin DOGE"),
        ("btc", "coin btc"),
        ("xyz:DOGE", "coin xyz:DOGE"),
        ("flx:DOGE", "coin flx:DOGE"),
        ("nope:TSLA", "dex nope"),
        ("XYZ:GOLD", "dex XYZ"),
        (":BTC", "coin :BTC"),
        ("", "coin "),
        ("BTC\n", "coin BTC"),
        ("B\u{202e}TC", "coin BTC"),
        (
            "A23456789012345678901234567890123",
            "coin A2345678901234567890123456789012",
        ),
    ] {
        assert_eq!(
            reason(asset(coin).await, "hyperliquid"),
            unknown(subject),
            "{coin:?}"
        );
    }
}

#[tokio::test]
async fn implausible_names_are_not_even_asked_for() {
    let server = serving(|_| None).await;
    let venue = venue(config(&server), &recorded_clock());
    for coin in ["", " ", "B TC", ":", "\u{1f600}"] {
        venue.asset(coin).await.unwrap_err();
    }
    assert_eq!(request_count(&server).await, 0);
}

#[tokio::test]
async fn the_universe_of_the_mark_decides() {
    // The asset was listed between the two answers, so the index of the newer one counts.
    let inserted = contexts(|body| {
        let first = body[0]["universe"][0].clone();
        let context = body[1][0].clone();
        body[0]["universe"].as_array_mut().unwrap().insert(1, first);
        body[0]["universe"][1]["name"] = json!("NEW");
        body[1].as_array_mut().unwrap().insert(1, context);
    })
    .await
    .unwrap();
    assert_eq!(
        (
            inserted.asset_id,
            inserted.mark_price.unwrap().to_string().as_str()
        ),
        (2, "3188.1")
    );
    let gone = contexts(|body| {
        body[0]["universe"].as_array_mut().unwrap().remove(1);
        body[1].as_array_mut().unwrap().remove(1);
    })
    .await;
    // The kept universe has the coin and the new one has not: the venue contradicts itself, and the
    // caller is not at fault.
    assert_eq!(place(gone), "$[0].universe");
}

#[tokio::test]
async fn a_venue_without_a_mark_has_none() {
    assert_eq!(
        contexts(|body| body[1][1]["markPx"] = Value::Null)
            .await
            .unwrap()
            .mark_price,
        None
    );
    for wrong in [
        json!(3188.1e300),
        json!("-1"),
        json!("NaN"),
        json!(""),
        json!([]),
    ] {
        assert_eq!(
            place(contexts(|body| body[1][1]["markPx"] = wrong).await),
            "$[1][1].markPx"
        );
    }
}

#[tokio::test]
async fn the_approved_builder_fee_is_asked_in_lower_case() {
    let server = serving(|_| None).await;
    let venue = venue(config(&server), &recorded_clock());
    assert_eq!(venue.max_builder_fee(USER, BUILDER).await, Ok(100));
    let body: Value =
        serde_json::from_slice(&server.received_requests().await.unwrap()[0].body).unwrap();
    let (user, builder) = (
        format!("0x{}", "aa".repeat(20)),
        format!("0x{}", "bb".repeat(20)),
    );
    assert_eq!(
        body,
        json!({"type": "maxBuilderFee", "user": user, "builder": builder})
    );
    for wrong in ["\"100\"", "-1", "1.5", "null", "{}"] {
        let server = serving(move |_| Some(raw(wrong))).await;
        let venue = self::venue(config(&server), &recorded_clock());
        assert_eq!(
            place(venue.max_builder_fee(USER, BUILDER).await),
            "$",
            "{wrong}"
        );
    }
}

#[tokio::test]
async fn the_collateral_of_a_deployed_dex_is_named() {
    let server = serving(|_| None).await;
    let venue = venue(config(&server), &recorded_clock());
    let universe = recorded("hyperliquid/meta_flx.json");
    let coin = universe["universe"][0]["name"].as_str().unwrap();
    for _ in 0..2 {
        let asset = venue.asset(coin).await.unwrap();
        assert_eq!(
            (asset.collateral_token, asset.collateral.as_str()),
            (360, "USDH")
        );
    }
    // The list of tokens is kept, and not asked for where the collateral is USDC.
    venue.asset("BTC").await.unwrap();
    let asked = asked_for(&server).await;
    assert_eq!(asked.iter().filter(|kind| *kind == "spotMeta").count(), 1);
}

#[tokio::test]
async fn a_collateral_without_a_unique_name_is_the_venues_fault() {
    let coin = "flx:GOLD";
    let universe = recorded("hyperliquid/meta_flx.json");
    let names = universe["universe"].as_array().unwrap();
    let coin = names
        .iter()
        .map(|asset| asset["name"].as_str().unwrap())
        .find(|name| *name == coin)
        .unwrap_or(names[0]["name"].as_str().unwrap())
        .to_owned();
    for (tokens, path) in [
        (json!([{"name": "USDC", "index": 0}]), "$.tokens"),
        (
            json!([{"name": "A", "index": 360}, {"name": "B", "index": 360}]),
            "$.tokens[1]",
        ),
        (json!([{"index": 360}]), "$.tokens[0].name"),
        (json!("none"), "$.tokens"),
    ] {
        let body = json(&json!({"tokens": tokens, "universe": []}));
        assert_eq!(place(with("spotMeta", body, &coin).await), path, "{tokens}");
    }
    let without = contexts(|body| {
        body[0].as_object_mut().unwrap().remove("collateralToken");
    });
    assert_eq!(place(without.await), "$[0].collateralToken");
}
