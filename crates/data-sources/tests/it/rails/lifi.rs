mod failures;

use std::sync::Arc;

use alloy_primitives::{Address, U256, address};
use calldata_checks::BasisPoints;
use data_sources::{
    VenueConfig,
    lifi::{Lifi, LifiConfig},
    transport::{Limits, TransportError},
};
use plan_builder::ports::{SwapAsk, SwapQuote, SwapQuotes};
use serde_json::{Value, json};
use wiremock::{MockServer, ResponseTemplate};

use crate::rails::*;

const USER: Address = Address::repeat_byte(0x11);
const USDC: Address = address!("833589fCD6eDb6E08f4c7C32D4f71b54bdA02913");
const WETH: Address = address!("4200000000000000000000000000000000000006");
const ROUTER: Address = address!("1231DEB6f5749EF6cE6943a275A1D3E7486F4EaE");

fn ask() -> SwapAsk {
    SwapAsk {
        chain_id: 8453,
        from_token: USDC,
        to_token: WETH,
        from_amount: U256::from(1_000_000_000),
        account: USER,
        max_slippage: BasisPoints::new(50).unwrap(),
        integrator: "svc".to_owned(),
        fee: BasisPoints::new(30).unwrap(),
        allow_tools: Vec::new(),
        deny_tools: Vec::new(),
        max_price_impact: None,
    }
}

fn config(base_url: String) -> LifiConfig {
    LifiConfig {
        base_url,
        common: VenueConfig {
            limits: limits(),
            ..VenueConfig::default()
        },
        ..LifiConfig::default()
    }
}

fn lifi(config: LifiConfig) -> Lifi {
    Lifi::new(&transport(), config, Arc::new(recorded_clock())).unwrap()
}

/// The adapter's result for one answer.
async fn reading(response: ResponseTemplate) -> Result<SwapQuote, PortError> {
    let server = answering(response).await;
    lifi(config(server.uri())).quote(&ask()).await
}

fn with(change: impl FnOnce(&mut Value)) -> ResponseTemplate {
    let mut quote = recorded("lifi/quote_usdc_weth.json");
    change(&mut quote);
    json(&quote)
}

/// Places `value` at a JSON pointer; `Value::Null` removes what is there.
fn set(quote: &mut Value, pointer: &str, value: Value) {
    let (parent, key) = pointer.rsplit_once('/').unwrap();
    let parent = quote.pointer_mut(parent).unwrap().as_object_mut().unwrap();
    if value == Value::Null {
        parent.remove(key).unwrap();
    } else {
        parent.insert(key.to_owned(), value);
    }
}

#[tokio::test]
async fn a_quote_is_read_whole_and_asked_for_exactly() {
    let server = answering(json(&recorded("lifi/quote_usdc_weth.json"))).await;
    let lifi = lifi(LifiConfig {
        api_key: Some("test-key".into()),
        ..config(format!("{}/v1", server.uri()))
    });
    let quote = lifi.quote(&ask()).await.unwrap();
    assert_eq!(
        (
            quote.source.as_str(),
            quote.tool.as_str(),
            quote.integrator.as_str()
        ),
        ("lifi", "sushiswap", "svc")
    );
    assert_eq!(
        (quote.from_chain_id, quote.to_chain_id, quote.call_chain_id),
        (8453, 8453, 8453)
    );
    assert_eq!((quote.from_token, quote.to_token), (USDC, WETH));
    assert_eq!(quote.from_amount, U256::from(1_000_000_000));
    assert_eq!(
        (quote.sender, quote.receiver, quote.call_from),
        (USER, USER, Some(USER))
    );
    assert_eq!(quote.to_amount, U256::from(397_800_000_000_000_000u64));
    assert_eq!(quote.to_amount_min, U256::from(395_811_000_000_000_000u64));
    assert_eq!((quote.approval_address, quote.call_to), (ROUTER, ROUTER));
    assert_eq!(quote.call_value, U256::ZERO);
    assert_eq!(quote.call_data[..4], [0x5f, 0xd9, 0xae, 0x2e]);

    let request = &server.received_requests().await.unwrap()[0];
    assert_eq!(
        (request.method.as_str(), request.url.path()),
        ("GET", "/v1/quote")
    );
    assert_eq!(
        request.url.query().unwrap(),
        "fromChain=8453&toChain=8453&fromToken=0x833589fcd6edb6e08f4c7c32d4f71b54bda02913\
         &toToken=0x4200000000000000000000000000000000000006\
         &fromAddress=0x1111111111111111111111111111111111111111\
         &toAddress=0x1111111111111111111111111111111111111111&fromAmount=1000000000&slippage=0.005\
         &integrator=svc&allowBridges=none&allowDestinationCall=false&fee=0.003"
    );
    assert_eq!(request.headers["x-lifi-api-key"], "test-key");
    assert_eq!(state(&lifi.source().health(), "lifi.quote"), ("ok", None));
    assert!(!format!("{lifi:?}").contains("test-key"));
}

#[tokio::test]
async fn executable_quotes_are_not_cached() {
    let server = answering(json(&recorded("lifi/quote_usdc_weth.json"))).await;
    let lifi = lifi(config(server.uri()));
    for _ in 0..3 {
        lifi.quote(&ask()).await.unwrap();
    }
    assert_eq!(request_count(&server).await, 3);
    assert!(
        !server.received_requests().await.unwrap()[0]
            .headers
            .contains_key("x-lifi-api-key")
    );
}

#[tokio::test]
async fn numbers_of_the_transaction_come_in_every_form() {
    for (value, expected) in [
        (json!("0x0"), 0),
        (json!("0"), 0),
        (Value::Null, 0),
        (json!("0x00"), 0),
        (json!("0xff"), 255),
        (json!("255"), 255),
    ] {
        let quote = reading(with(|quote| {
            set(quote, "/transactionRequest/value", value.clone())
        }))
        .await
        .unwrap();
        assert_eq!(quote.call_value, U256::from(expected), "{value}");
    }
    let explicit_null = with(|quote| quote["transactionRequest"]["value"] = Value::Null);
    assert_eq!(reading(explicit_null).await.unwrap().call_value, U256::ZERO);
    for id in [json!(8453), json!("0x2105"), json!("8453")] {
        let quote = reading(with(|quote| {
            set(quote, "/transactionRequest/chainId", id.clone())
        }))
        .await
        .unwrap();
        assert_eq!(quote.call_chain_id, 8453, "{id}");
    }
    let without_sender = with(|quote| set(quote, "/transactionRequest/from", Value::Null));
    assert_eq!(reading(without_sender).await.unwrap().call_from, None);
}

#[tokio::test]
async fn a_quote_without_a_transaction_is_none() {
    let body = recorded("lifi/quote_without_transaction.json");
    assert_eq!(
        reason(reading(json(&body)).await, "lifi"),
        malformed(
            "$.transactionRequest",
            "quote: expected a member, got nothing"
        )
    );
}

#[tokio::test]
async fn every_missing_member_is_named() {
    for pointer in [
        "/tool",
        "/integrator",
        "/action",
        "/action/fromChainId",
        "/action/toChainId",
        "/action/fromToken",
        "/action/fromToken/address",
        "/action/toToken/address",
        "/action/fromAmount",
        "/action/fromAddress",
        "/action/toAddress",
        "/estimate",
        "/estimate/toAmount",
        "/estimate/toAmountMin",
        "/estimate/approvalAddress",
        "/transactionRequest/to",
        "/transactionRequest/chainId",
        "/transactionRequest/data",
    ] {
        let path = format!("${}", pointer.replace('/', "."));
        let missing = malformed(&path, "quote: expected a member, got nothing");
        let gone = with(|quote| set(quote, pointer, Value::Null));
        assert_eq!(reason(reading(gone).await, "lifi"), missing, "{pointer}");
        let null = with(|quote| *quote.pointer_mut(pointer).unwrap() = Value::Null);
        assert_eq!(reason(reading(null).await, "lifi"), missing, "{pointer}");
    }
}

#[tokio::test]
async fn every_wrong_type_is_named() {
    for (pointer, value, detail) in [
        (
            "/action/fromChainId",
            json!("8453"),
            r#"expected a whole number, got "8453""#,
        ),
        (
            "/action/toChainId",
            json!(8453.5),
            "expected a whole number, got 8453.5",
        ),
        (
            "/action/fromAmount",
            json!(1_000_000_000),
            "expected a string of decimal digits, got 1000000000",
        ),
        (
            "/action/fromAmount",
            json!("1e9"),
            r#"expected a string of decimal digits, got "1e9""#,
        ),
        (
            "/action/fromAmount",
            json!("-1"),
            r#"expected a string of decimal digits, got "-1""#,
        ),
        (
            "/estimate/toAmount",
            json!("0x10"),
            r#"expected a string of decimal digits, got "0x10""#,
        ),
        (
            "/estimate/toAmountMin",
            json!("1.5"),
            r#"expected a string of decimal digits, got "1.5""#,
        ),
        (
            "/estimate/toAmountMin",
            json!(true),
            "expected a string of decimal digits, got true",
        ),
        (
            "/action/fromAddress",
            json!("0x11"),
            r#"expected an address, got "0x11""#,
        ),
        (
            "/action/toToken/address",
            json!("WETH"),
            r#"expected an address, got "WETH""#,
        ),
        (
            "/estimate/approvalAddress",
            json!(["0x"]),
            r#"expected an address, got ["0x"]"#,
        ),
        (
            "/transactionRequest/to",
            json!("0x1231DEB6f5749EF6cE6943a275A1D3E7486F4EaE00"),
            r#"expected an address, got "0x1231DEB6f5749EF6cE6943a275A1D3E7486F4EaE00""#,
        ),
        (
            "/transactionRequest/value",
            json!(0),
            "expected a quantity in hexadecimal or decimal digits, got 0",
        ),
        (
            "/transactionRequest/value",
            json!("0x"),
            r#"expected a quantity in hexadecimal or decimal digits, got "0x""#,
        ),
        (
            "/transactionRequest/value",
            json!(""),
            r#"expected a quantity in hexadecimal or decimal digits, got """#,
        ),
        (
            "/transactionRequest/chainId",
            json!("0x10000000000000000"),
            r#"expected a chain id, got "0x10000000000000000""#,
        ),
        (
            "/transactionRequest/from",
            json!(7),
            "expected an address, got 7",
        ),
        (
            "/transactionRequest/data",
            json!("5fd9ae2e"),
            r#"expected 0x and hexadecimal bytes, got "5fd9ae2e""#,
        ),
        (
            "/transactionRequest/data",
            json!("0x5fd9ae2"),
            r#"expected 0x and hexadecimal bytes, got "0x5fd9ae2""#,
        ),
        (
            "/transactionRequest",
            json!([]),
            "expected an object, got []",
        ),
        ("/tool", json!({}), "expected a string, got {}"),
    ] {
        let path = format!("${}", pointer.replace('/', "."));
        let wrong = with(|quote| *quote.pointer_mut(pointer).unwrap() = value);
        let expected = malformed(&path, &format!("quote: {detail}"));
        assert_eq!(reason(reading(wrong).await, "lifi"), expected, "{pointer}");
    }
}

#[tokio::test]
async fn texts_are_cleaned_but_the_integrator_is_not() {
    let noisy = with(|quote| quote["tool"] = json!("sushi\u{202e}\u{0}swap\n\n v3"));
    assert_eq!(reading(noisy).await.unwrap().tool, "sushiswap v3");
    // The text would equal ours after cleaning.
    let lookalike = with(|quote| quote["integrator"] = json!("svc\u{200b}"));
    let path = match reason(reading(lookalike).await, "lifi") {
        PortErrorReason::Malformed { path, .. } => path,
        other => panic!("{other}"),
    };
    assert_eq!(path, "$.integrator");
    // The checks judge another plain integrator.
    let other = with(|quote| quote["integrator"] = json!("SVC"));
    assert_eq!(reading(other).await.unwrap().integrator, "SVC");
}

#[tokio::test]
async fn a_member_twice_is_refused() {
    let text = recorded_text("lifi/quote_usdc_weth.json");
    let twice = text.replacen(
        r#""toAmountMin":"#,
        r#""toAmountMin":"1","toAmountMin":"#,
        1,
    );
    match reason(reading(raw(&twice)).await, "lifi") {
        PortErrorReason::Malformed { path, detail } => {
            assert_eq!(path, "$.estimate");
            assert!(
                detail.starts_with("quote: expected an object with each member once"),
                "{detail}"
            );
        }
        other => panic!("{other}"),
    }
}
