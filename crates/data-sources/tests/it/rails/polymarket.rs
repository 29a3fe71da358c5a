mod failures;

use std::{collections::BTreeMap, sync::Arc};

use alloy_primitives::{B256, U256};
use data_sources::VenueConfig;
use data_sources::polymarket::{Polymarket, PolymarketConfig};
use plan_builder::ports::{PmMarket, PmVenue};
use serde_json::{Value, json};
use wiremock::ResponseTemplate;

use crate::rails::*;

const YES: &str = "68037499376105572055155402848342376736342093236553438132563031797889957479533";
const NO: &str = "30104512871226431985477290816445830129967710844386175520411593066470211298817";

fn id(digits: &str) -> U256 {
    digits.parse().unwrap()
}

/// Every answer about a market, by the first segment of its path.
type Answers = BTreeMap<&'static str, ResponseTemplate>;

fn answers(name: &str) -> Answers {
    let file = |part: &str| raw(&recorded_text(&format!("polymarket/{name}_{part}.json")));
    BTreeMap::from([
        ("version", raw(&recorded_text("polymarket/version.json"))),
        ("markets-by-token", file("token")),
        ("clob-markets", file("book")),
        ("tick-size", file("tick_size")),
        ("neg-risk", file("neg_risk")),
        ("markets", file("listed")),
    ])
}

/// One server for both hosts: their paths differ.
async fn serving(answers: Answers) -> MockServer {
    deciding(move |request| {
        let segment = request
            .url
            .path_segments()
            .unwrap()
            .next()
            .unwrap()
            .to_owned();
        answers
            .get(segment.as_str())
            .cloned()
            .unwrap_or(ResponseTemplate::new(500))
    })
    .await
}

fn config(server: &MockServer) -> PolymarketConfig {
    PolymarketConfig {
        clob_url: server.uri(),
        gamma_url: server.uri(),
        common: VenueConfig {
            limits: limits(),
            ..VenueConfig::default()
        },
    }
}

fn venue(config: PolymarketConfig) -> Polymarket {
    Polymarket::new(&transport(), config, Arc::new(recorded_clock())).unwrap()
}

async fn read(answers: Answers) -> Result<PmMarket, PortError> {
    let server = serving(answers).await;
    venue(config(&server)).market(id(YES)).await
}

/// The recorded market with one answer replaced.
async fn with(part: &'static str, answer: ResponseTemplate) -> Result<PmMarket, PortError> {
    let mut answers = answers("rate_cut");
    answers.insert(part, answer);
    read(answers).await
}

/// The recorded market with one member of one answer changed; `null` removes it.
async fn changed(
    part: &'static str,
    file: &str,
    pointer: &str,
    value: Value,
) -> Result<PmMarket, PortError> {
    let mut body = recorded(&format!("polymarket/rate_cut_{file}.json"));
    let (parent, key) = pointer.rsplit_once('/').unwrap();
    let parent = body.pointer_mut(parent).unwrap().as_object_mut().unwrap();
    if value.is_null() {
        parent.remove(key).unwrap();
    } else {
        parent.insert(key.to_owned(), value);
    }
    with(part, json(&body)).await
}

async fn book(pointer: &str, value: Value) -> Result<PmMarket, PortError> {
    changed("clob-markets", "book", pointer, value).await
}

async fn listed(pointer: &str, value: Value) -> Result<PmMarket, PortError> {
    changed("markets", "listed", &format!("/0{pointer}"), value).await
}

#[track_caller]
fn place<T: std::fmt::Debug>(result: Result<T, PortError>) -> String {
    match reason(result, "polymarket") {
        PortErrorReason::Malformed { path, .. } => path,
        other => panic!("{other}"),
    }
}

#[tokio::test]
async fn a_market_is_read_whole_for_either_token() {
    let server = serving(answers("rate_cut")).await;
    let venue = venue(config(&server));
    let market = venue.market(id(YES)).await.unwrap();
    assert_eq!(market.version, 2);
    assert_eq!(
        market.condition_id.to_string(),
        "0x235269961de19815c52f7716d6a0afb3fd6cfab1ef5c628d3fda04c318d9c9ab"
    );
    let tokens = market
        .tokens
        .each_ref()
        .map(|token| (token.token_id, token.outcome.as_str()));
    assert_eq!(tokens, [(id(YES), "Yes"), (id(NO), "No")]);
    assert_eq!(
        (
            market.tick_size.to_string().as_str(),
            market.min_order_size.to_string().as_str()
        ),
        ("0.01", "5")
    );
    assert!(
        !market.neg_risk
            && market.accepting_orders
            && market.order_book
            && market.active
            && !market.closed
    );
    assert_eq!(market.fee_rate.unwrap().to_string(), "0.02");
    assert_eq!(market.read_at.to_string(), "2026-11-21T01:00:00Z");
    assert_eq!(venue.market(id(NO)).await.unwrap().tokens, market.tokens);

    let requests = server.received_requests().await.unwrap();
    let mut urls: Vec<String> = requests[..6]
        .iter()
        .map(|r| r.url[url::Position::BeforePath..].to_owned())
        .collect();
    urls.sort();
    assert_eq!(
        urls,
        [
            format!("/clob-markets/{}", market.condition_id),
            format!("/markets-by-token/{YES}"),
            format!("/markets?clob_token_ids={YES}"),
            format!("/neg-risk?token_id={YES}"),
            format!("/tick-size?token_id={YES}"),
            "/version".to_owned(),
        ]
    );
    // No builder code was asked about, so no fee was requested.
    let (asked, rest): (Vec<_>, Vec<_>) = venue
        .source()
        .health()
        .into_iter()
        .partition(|source| source.calls > 0);
    assert!(
        asked
            .iter()
            .all(|source| source.state.as_str() == "ok" && source.calls == 2)
    );
    assert_eq!((asked.len(), rest.len()), (6, 1));
}

#[tokio::test]
async fn market_answers_are_not_cached() {
    let server = serving(answers("rate_cut")).await;
    let venue = venue(config(&server));
    for _ in 0..2 {
        venue.market(id(YES)).await.unwrap();
    }
    assert_eq!(request_count(&server).await, 12);
}

#[tokio::test]
async fn a_negative_risk_market_says_so_everywhere() {
    let token = id("2744572747047882001286270033378172494694580688285390975368199145007599293175");
    let server = serving(answers("nominee")).await;
    let market = venue(config(&server)).market(token).await.unwrap();
    assert!(market.neg_risk);
    assert_eq!(
        (market.tick_size.to_string().as_str(), market.fee_rate),
        ("0.0001", None)
    );
}

#[tokio::test]
async fn a_flag_that_is_left_out_is_false() {
    // `nr` is not in the recording at all; `null` means the same.
    assert!(
        !recorded("polymarket/rate_cut_book.json")
            .as_object()
            .unwrap()
            .contains_key("nr")
    );
    assert!(!book("/nr", json!(false)).await.unwrap().neg_risk);
    assert!(!book("/ao", Value::Null).await.unwrap().accepting_orders);
    assert!(
        !listed("/acceptingOrders", Value::Null)
            .await
            .unwrap()
            .accepting_orders
    );
    assert!(
        !listed("/enableOrderBook", Value::Null)
            .await
            .unwrap()
            .order_book
    );
    assert!(!listed("/negRisk", Value::Null).await.unwrap().neg_risk);
}

#[tokio::test]
async fn the_state_of_a_market_is_reported() {
    assert!(!book("/ao", json!(false)).await.unwrap().accepting_orders);
    assert!(
        !listed("/acceptingOrders", json!(false))
            .await
            .unwrap()
            .accepting_orders
    );
    assert!(
        !listed("/enableOrderBook", json!(false))
            .await
            .unwrap()
            .order_book
    );
    assert!(!listed("/active", json!(false)).await.unwrap().active);
    assert!(listed("/closed", json!(true)).await.unwrap().closed);
    assert!(listed("/archived", json!(true)).await.unwrap().closed);
    assert_eq!(place(listed("/active", Value::Null).await), "$[0].active");
    assert_eq!(place(listed("/closed", Value::Null).await), "$[0].closed");
    assert_eq!(
        place(listed("/closed", json!("false")).await),
        "$[0].closed"
    );
    // The checks judge another version.
    assert_eq!(
        with("version", raw(r#"{"version":3}"#))
            .await
            .unwrap()
            .version,
        3
    );
}

#[tokio::test]
async fn ticks_are_compared_as_numbers() {
    for same in ["0.010", "1e-2", "\"0.01\""] {
        let market = with(
            "tick-size",
            raw(&format!(r#"{{"minimum_tick_size":{same}}}"#)),
        )
        .await
        .unwrap();
        assert_eq!(market.tick_size.to_string(), "0.01", "{same}");
    }
    for none in ["0", "1", "1.01", "-0.01", "null", "\"small\"", "true"] {
        let body = format!(r#"{{"minimum_tick_size":{none}}}"#);
        assert_eq!(
            place(with("tick-size", raw(&body)).await),
            "$.minimum_tick_size",
            "{none}"
        );
    }
}

#[tokio::test]
async fn the_fee_of_a_builder_code_is_a_number() {
    let code = B256::repeat_byte(0xab);
    let fee = |response: ResponseTemplate| async move {
        let server = serving(Answers::from([("fees", response)])).await;
        let read = venue(config(&server)).builder_fee(code).await;
        let requests = server.received_requests().await.unwrap();
        assert_eq!(
            requests[0].url.path(),
            format!("/fees/builder-fees/{code:#x}")
        );
        read
    };
    let recorded = fee(raw(&recorded_text("polymarket/builder_fees.json")));
    let recorded = recorded.await.unwrap();
    assert_eq!(
        (
            recorded.maker_bps.to_string().as_str(),
            recorded.taker_bps.to_string().as_str()
        ),
        ("0", "10")
    );
    let rates = |maker: &str, taker: &str| {
        raw(&format!(
            r#"{{"builder_maker_fee_rate_bps":{maker},"builder_taker_fee_rate_bps":{taker},"more":1}}"#
        ))
    };
    let fraction = fee(rates("\"0.25\"", "12.5")).await.unwrap();
    assert_eq!(fraction.maker_bps.to_string(), "0.25");
    assert_eq!(fraction.taker_bps.to_string(), "12.5");
    for wrong in ["null", "-1", "10001", "\"free\"", "true"] {
        assert_eq!(
            place(fee(rates(wrong, "1")).await),
            "$.builder_maker_fee_rate_bps"
        );
        assert_eq!(
            place(fee(rates("1", wrong)).await),
            "$.builder_taker_fee_rate_bps"
        );
    }
    assert_eq!(place(fee(raw("null")).await), "$");
    // The code belongs to the operator: the caller did nothing wrong.
    let unknown = fee(failure(404, &json!({"error": "builder not found"}))).await;
    assert_eq!(
        reason(unknown, "polymarket"),
        refused("the venue does not know the configured builder code")
    );
}
