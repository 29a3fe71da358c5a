use alloy_primitives::{Address, address};
use data_sources::SourceStatus;
use serde_json::{Value, json};

use crate::okx::{answering, code, json as answer, recorded};

const WOKB: Address = address!("e538905cf8410324e03A5A23C1c177a474D59b2b");

#[tokio::test]
async fn a_price_keeps_its_digits_and_its_time() {
    let (okx, server) = answering(answer(&recorded("market_price_okb"))).await;
    let price = okx.price(WOKB).await.unwrap();
    assert_eq!(price.value.price_usd.as_str(), "118.42");
    assert_eq!(price.value.as_of.to_string(), "2026-11-21T01:01:50Z");
    let source = &price.sources[0];
    assert_eq!(
        (source.source, &source.status),
        ("okx.market-price", &SourceStatus::Ok)
    );
    assert_eq!(source.as_of, Some(price.value.as_of));

    let request = &server.received_requests().await.unwrap()[0];
    assert_eq!(request.method.as_str(), "POST");
    assert_eq!(request.url.path(), "/api/v6/dex/market/price");
    let body: Value = serde_json::from_slice(&request.body).unwrap();
    assert_eq!(
        body[0]["tokenContractAddress"],
        "0xe538905cf8410324e03a5a23c1c177a474d59b2b"
    );
    assert_eq!(
        request.headers["ok-access-timestamp"],
        "2026-11-21T01:00:00.000Z"
    );
    assert_eq!(request.headers["ok-access-key"], "test-key");
    assert!(request.headers.contains_key("ok-access-sign"));
}

#[tokio::test]
async fn an_unknown_token_is_not_priced() {
    for unknown in [
        recorded("market_price_unknown"),
        with(|row| row["price"] = json!("")),
    ] {
        let (okx, _server) = answering(answer(&unknown)).await;
        assert_eq!(code(okx.price(WOKB).await), "token_not_priced");
    }
}

#[tokio::test]
async fn an_answer_about_something_else_is_refused() {
    for other in [
        with(|row| {
            row["tokenContractAddress"] = json!("0x779ded0c9e1022225f8e0630b35a9b54be713736")
        }),
        with(|row| row["chainIndex"] = json!("1")),
        with(|row| row["chainIndex"] = json!(8453)),
    ] {
        let (okx, _server) = answering(answer(&other)).await;
        assert_eq!(code(okx.price(WOKB).await), "price_subject");
    }
}

#[tokio::test]
async fn a_price_that_is_no_price_is_malformed() {
    for price in [
        json!("NaN"),
        json!("1e5"),
        json!("-1"),
        json!("0"),
        json!("0.000"),
        json!(118.42),
        json!("Infinity"),
        json!("1,000"),
        json!("0x10"),
        json!(" 1"),
        json!({"value": "1"}),
        json!(true),
    ] {
        let (okx, _server) = answering(answer(&with(|row| row["price"] = price.clone()))).await;
        let error = okx.price(WOKB).await.unwrap_err();
        assert_eq!(error.code(), "upstream_malformed", "{price}");
        assert!(error.to_string().contains("$.data[0].price"), "{error}");
    }
}

#[tokio::test]
async fn missing_and_wrong_members_are_malformed() {
    let two = {
        let mut answer = recorded("market_price_okb");
        let row = answer["data"][0].clone();
        answer["data"].as_array_mut().unwrap().push(row);
        answer
    };
    for broken in [
        with(|row| row["time"] = json!("yesterday")),
        with(|row| row["time"] = json!("99999999999999999999")),
        with(|row| drop(row.as_object_mut().unwrap().remove("time"))),
        with(|row| drop(row.as_object_mut().unwrap().remove("chainIndex"))),
        with(|row| row["tokenContractAddress"] = json!("0xe538905")),
        two,
        json!({"code": "0", "data": {}, "msg": ""}),
        json!({"code": "0", "data": "", "msg": ""}),
        json!({"code": "0", "msg": ""}),
        json!([]),
    ] {
        let (okx, _server) = answering(answer(&broken)).await;
        assert_eq!(
            code(okx.price(WOKB).await),
            "upstream_malformed",
            "{broken}"
        );
    }
}

fn with(change: impl FnOnce(&mut Value)) -> Value {
    let mut answer = recorded("market_price_okb");
    change(&mut answer["data"][0]);
    answer
}
