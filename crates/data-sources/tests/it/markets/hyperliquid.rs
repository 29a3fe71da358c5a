//! Markets, books, candles and predictions of Hyperliquid.

use std::sync::Arc;
use std::time::Duration;

use data_sources::{Error, Sourced, hyperliquid_info::HyperliquidInfo};
use readings::derivatives::{PerpContext, Venue};
use serde_json::{Value, json};
use wiremock::{MockServer, Request, ResponseTemplate};

use crate::markets::{
    NOW, connect, connect_at, deciding, json as answer, raw, reason, recorded, recorded_clock,
};

type Changed = Option<ResponseTemplate>;

pub(crate) fn body(request: &Request) -> Value {
    serde_json::from_slice(&request.body).unwrap()
}

/// The recorded venue, except where `change` returns an answer for a type.
pub(crate) async fn venue(
    change: impl Fn(&str, &Value) -> Changed + Send + Sync + 'static,
) -> MockServer {
    deciding(move |request| {
        let asked = body(request);
        let kind = asked["type"].as_str().unwrap().to_owned();
        change(&kind, &asked).or_else(|| {
            let file = match (kind.as_str(), asked["dex"].as_str()) {
                ("perpDexs", _) => "perp_dexs",
                ("perpCategories", _) => "perp_categories",
                ("predictedFundings", _) => "predicted_fundings",
                ("metaAndAssetCtxs", None) => "meta_and_asset_ctxs",
                ("metaAndAssetCtxs", Some("xyz")) => "meta_and_asset_ctxs_xyz",
                ("metaAndAssetCtxs", Some(_)) => "unknown_dex",
                ("l2Book", _) => "l2_book_btc",
                ("candleSnapshot", _) => "candles_btc",
                ("clearinghouseState", None) => "clearinghouse_state_example",
                ("clearinghouseState", Some("xyz")) => "clearinghouse_state_example_xyz",
                ("spotClearinghouseState", _) => "spot_clearinghouse_state",
                ("frontendOpenOrders", _) => "frontend_open_orders_example",
                ("userRole", _) => "user_role",
                ("userFillsByTime", _) => "user_fills_by_time_example",
                ("userFunding", _) => "user_funding_example",
                ("userNonFundingLedgerUpdates", _) => "user_ledger_example",
                _ => return None,
            };
            Some(answer(&recorded(&format!("hyperliquid/{file}.json"))))
        })
    })
    .await
}

/// The answer to requests of one type.
pub(crate) async fn only(kind: &'static str, response: ResponseTemplate) -> MockServer {
    venue(move |asked, _| (asked == kind).then(|| response.clone())).await
}

type Markets = Result<Sourced<Arc<Vec<PerpContext>>>, Error>;

async fn markets(change: impl FnOnce(&mut Value)) -> Markets {
    let mut body = recorded("hyperliquid/meta_and_asset_ctxs.json");
    change(&mut body);
    let server = only("metaAndAssetCtxs", answer(&body)).await;
    connect(&server, HyperliquidInfo::new)
        .markets("", None)
        .await
}

#[tokio::test]
async fn contexts_belong_to_the_universe_by_position() {
    let told = markets(|_| {}).await.unwrap().value;
    let shown: Vec<_> = told
        .iter()
        .map(|market| (market.coin.as_str(), market.mark.unwrap().to_string()))
        .collect();
    let expected = [
        ("BTC", "97221.0"),
        ("ETH", "3188.1"),
        ("MATIC", "0.37"),
        ("SOL", "142.35"),
        ("HYPE", "41.205"),
        ("kPEPE", "0.005208"),
    ];
    assert_eq!(shown, expected.map(|(coin, mark)| (coin, mark.to_owned())));
    assert!(told[2].delisted && !told[3].delisted);
    // A null context gives no market, and keeps its index.
    let told = markets(|body| body[1][1] = Value::Null)
        .await
        .unwrap()
        .value;
    assert_eq!(
        (told[1].mark, told[3].mark.unwrap().to_string().as_str()),
        (None, "142.35")
    );
    // A name that cannot be asked for is left out; later indices stay right.
    let told = markets(|body| body[0]["universe"][1]["name"] = json!("E\u{202e}TH"))
        .await
        .unwrap()
        .value;
    assert_eq!(
        (
            told.len(),
            told[2].coin.as_str(),
            told[2].mark.unwrap().to_string().as_str()
        ),
        (5, "SOL", "142.35")
    );
}

#[tokio::test]
async fn lists_that_do_not_fit_are_refused() {
    assert_eq!(
        reason(markets(|body| drop(body[1].as_array_mut().unwrap().pop())).await),
        "upstream_malformed"
    );
    assert_eq!(
        reason(markets(|body| body[0]["universe"][1]["name"] = json!("BTC")).await),
        "upstream_malformed"
    );
    assert_eq!(
        reason(markets(|body| body[0]["universe"][1]["name"] = json!("xyz:ETH")).await),
        "upstream_malformed"
    );
    for wrong in [
        json!("NaN"),
        json!(1e300),
        json!([]),
        json!(true),
        json!("1,000"),
    ] {
        assert_eq!(
            reason(markets(|body| body[1][0]["markPx"] = wrong.clone()).await),
            "upstream_malformed",
            "{wrong}"
        );
    }
    // An invalid price counts as none; an absent one is not zero.
    for nothing in [json!("0"), json!("-5"), json!(null), json!("")] {
        let told = markets(|body| body[1][0]["markPx"] = nothing)
            .await
            .unwrap()
            .value;
        assert_eq!(told[0].mark, None);
    }
}

#[tokio::test]
async fn an_unknown_dex_is_refused_without_a_request() {
    let server = venue(|_, _| None).await;
    let hyperliquid = connect(&server, HyperliquidInfo::new);
    for dex in ["nope", "x\u{200b}yz", "\"xyz\"", &"x".repeat(200)] {
        assert_eq!(
            reason(hyperliquid.markets(dex, None).await),
            "dex_not_found",
            "{dex}"
        );
    }
    assert_eq!(
        hyperliquid.markets("xyz", None).await.unwrap().value.len(),
        10
    );
    let asked: Vec<_> = server
        .received_requests()
        .await
        .unwrap()
        .iter()
        .map(|request| body(request)["type"].clone())
        .collect();
    assert_eq!(asked, [json!("perpDexs"), json!("metaAndAssetCtxs")]);
    // When the list is not available, the venue decides: `null` inside a success.
    let blind = only("perpDexs", ResponseTemplate::new(403)).await;
    assert_eq!(
        reason(
            connect(&blind, HyperliquidInfo::new)
                .markets("nope", None)
                .await
        ),
        "dex_not_found"
    );
}

#[tokio::test]
async fn markets_are_kept_for_a_moment_and_fetched_once() {
    let server = venue(|_, _| None).await;
    let clock = recorded_clock();
    let hyperliquid = connect_at(&server, &clock, HyperliquidInfo::new);
    for _ in 0..3 {
        hyperliquid.markets("", None).await.unwrap();
        hyperliquid.reading("BTC", None).await.unwrap();
        hyperliquid.all(None).await.unwrap();
    }
    assert_eq!(server.received_requests().await.unwrap().len(), 1);
    clock.advance(Duration::from_secs(6));
    let second = Some(std::time::Duration::from_secs(1));
    hyperliquid.markets("", second).await.unwrap();
    assert_eq!(server.received_requests().await.unwrap().len(), 2);
}

#[tokio::test]
async fn a_coin_has_the_form_of_the_other_venues() {
    let server = venue(|_, _| None).await;
    let hyperliquid = connect(&server, HyperliquidInfo::new);
    let pepe = hyperliquid.reading("PEPE", None).await.unwrap().value;
    assert_eq!(
        (
            pepe.contract.as_str(),
            pepe.mark_px.unwrap().to_string().as_str()
        ),
        ("kPEPE", "0.000005208")
    );
    assert_eq!(pepe.funding.unwrap().interval_hours, 1);
    // A delisted coin, a deployed market of that name, and an unknown one.
    for other in ["MATIC", "NVDA", "NOPE"] {
        assert_eq!(
            reason(hyperliquid.reading(other, None).await),
            "symbol_not_found",
            "{other}"
        );
    }
    let coins: Vec<_> = hyperliquid
        .all(None)
        .await
        .unwrap()
        .value
        .into_iter()
        .map(|(coin, _)| coin)
        .collect();
    assert_eq!(coins, ["BTC", "ETH", "SOL", "HYPE", "PEPE"]);
}

#[tokio::test]
async fn predictions_of_an_unknown_interval_are_left_out() {
    let list = json!([
        ["BTC", [["BinPerp", {"fundingRate": "0.0001", "nextFundingTime": 1_795_248_000_000_u64}],
                 ["HlPerp", {"fundingRate": "0.0000125", "nextFundingTime": 1_795_226_400_000_u64}],
                 ["BybitPerp", {"fundingRate": "0.00005", "nextFundingTime": 1_795_248_000_000_u64, "fundingIntervalHours": 4}],
                 ["OtherPerp", {"fundingRate": "1", "nextFundingTime": 0}]]],
        ["ETH", [["BinPerp", null], ["BybitPerp", {"fundingRate": "7", "nextFundingTime": 0, "fundingIntervalHours": 8}]]],
    ]);
    // The variable keeps the server: a dropped one may be lent to another test.
    let server = only("predictedFundings", answer(&list)).await;
    let hyperliquid = connect(&server, HyperliquidInfo::new);
    let predicted = hyperliquid.predicted(None).await.unwrap().value;
    let shown: Vec<_> = predicted
        .iter()
        .map(|of| (of.coin.as_str(), of.venue, of.funding.rate_8h.to_string()))
        .collect();
    let expected = [
        ("BTC", Venue::Hyperliquid, "0.0001"),
        ("BTC", Venue::Bybit, "0.0001"),
    ];
    assert_eq!(
        shown,
        expected.map(|(coin, venue, rate)| (coin, venue, rate.to_owned()))
    );
}

#[tokio::test]
async fn a_book_is_that_of_the_coin_and_in_order() {
    let book = |change: fn(&mut Value)| async move {
        let mut body = recorded("hyperliquid/l2_book_btc.json");
        change(&mut body);
        connect(&only("l2Book", answer(&body)).await, HyperliquidInfo::new)
            .book("BTC", None)
            .await
    };
    let told = book(|_| {}).await.unwrap();
    assert_eq!(
        (
            told.value.bids.len(),
            told.sources[0].as_of.unwrap().as_second()
        ),
        (12, NOW - 3)
    );
    let changes: [fn(&mut Value); 7] = [
        |body| body["coin"] = json!("ETH"),
        |body| body["levels"].as_array_mut().unwrap().swap(0, 1),
        |body| body["levels"][0][0]["px"] = json!("97999"),
        |body| body["levels"][0][0]["sz"] = json!("-1"),
        |body| body["levels"][0][0]["px"] = json!("NaN"),
        |body| body["time"] = json!(1_795_233_000_000_u64),
        |body| drop(body["levels"].as_array_mut().unwrap().pop()),
    ];
    for wrong in changes {
        assert_eq!(reason(book(wrong).await), "upstream_malformed");
    }
    let server = only("l2Book", raw("null")).await;
    let unknown = connect(&server, HyperliquidInfo::new);
    assert_eq!(reason(unknown.book("NOPE", None).await), "coin_not_found");
}

#[tokio::test]
async fn candles_are_those_that_were_asked_for() {
    let candles = |change: fn(&mut Value)| async move {
        let mut body = recorded("hyperliquid/candles_btc.json");
        change(&mut body);
        connect(
            &only("candleSnapshot", answer(&body)).await,
            HyperliquidInfo::new,
        )
        .candles("BTC", "1h", None)
        .await
    };
    let told = candles(|body| body.as_array_mut().unwrap().reverse())
        .await
        .unwrap();
    assert!(told.value.is_sorted_by_key(|candle| candle.open_time));
    // The running candle is as new as the call.
    assert_eq!(told.sources[0].as_of.unwrap().as_second(), NOW);
    let twice = candles(|body| {
        let first = body[0].clone();
        body.as_array_mut().unwrap().push(first);
    });
    assert_eq!(twice.await.unwrap().value.len(), 24);
    let changes: [fn(&mut Value); 5] = [
        |body| body[3]["s"] = json!("ETH"),
        |body| body[3]["i"] = json!("1m"),
        |body| body[3]["h"] = json!("1"),
        |body| body[3]["c"] = json!("Infinity"),
        |body| body[3]["t"] = json!(1_795_233_000_000_u64),
    ];
    for wrong in changes {
        assert_eq!(reason(candles(wrong).await), "upstream_malformed");
    }
    let server = venue(|_, _| None).await;
    connect(&server, HyperliquidInfo::new)
        .candles("BTC", "1M", None)
        .await
        .unwrap_err();
    let asked = body(&server.received_requests().await.unwrap()[0]);
    let span =
        asked["req"]["endTime"].as_i64().unwrap() - asked["req"]["startTime"].as_i64().unwrap();
    assert_eq!(span, 100 * 31 * 24 * 3_600_000);
}

#[tokio::test]
async fn failures_keep_their_reason() {
    for (response, expected) in [
        (ResponseTemplate::new(403), "upstream_http_403"),
        (ResponseTemplate::new(429), "upstream_rate_limited"),
        (
            ResponseTemplate::new(200).set_body_raw("<html></html>", "text/html"),
            "upstream_wrong_content_type",
        ),
        (raw("[null"), "upstream_malformed"),
        (raw("{}"), "upstream_malformed"),
    ] {
        let server = deciding(move |_| Some(response.clone())).await;
        let hyperliquid = connect(&server, HyperliquidInfo::new);
        assert_eq!(reason(hyperliquid.markets("", None).await), expected);
    }
    let large = raw(&format!("[{}0]", "0,".repeat(5 * 1024 * 1024)));
    let server = only("metaAndAssetCtxs", large).await;
    let hyperliquid = connect(&server, HyperliquidInfo::new);
    assert_eq!(
        reason(hyperliquid.markets("", None).await),
        "upstream_too_large"
    );
}
