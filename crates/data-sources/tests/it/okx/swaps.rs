use alloy_primitives::{Address, address, hex};
use data_sources::{NATIVE_COIN, RequestError, ReviewedContracts, SwapRequest};
use serde_json::{Value, json};
use wiremock::ResponseTemplate;

use crate::okx::{NOW, answering, code, json as answer, recorded};

const USDG: Address = address!("4ae46a509F6b1D9056937BA4500cb143933D2dc8");
const WOKB: Address = address!("e538905cf8410324e03A5A23C1c177a474D59b2b");
const USER: Address = address!("1111111111111111111111111111111111111111");
const THIEF: &str = "0xdeaddeaddeaddeaddeaddeaddeaddeaddeaddead";

fn request() -> SwapRequest {
    parsed("100", None).unwrap()
}

fn parsed(amount: &str, slippage: Option<&str>) -> Result<SwapRequest, RequestError> {
    SwapRequest::parse(
        USDG,
        WOKB,
        amount,
        USER,
        slippage,
        &ReviewedContracts::default(),
    )
}

async fn outcome(body: &Value) -> &'static str {
    let (okx, _server) = answering(answer(body)).await;
    code(okx.swap(&request()).await)
}

fn with(change: impl FnOnce(&mut Value)) -> Value {
    let mut answer = recorded("swap_usdg_wokb");
    change(&mut answer["data"][0]);
    answer
}

/// The recorded calldata with the word at `index` (after the selector) replaced.
fn with_word(index: usize, word: &str) -> Value {
    with(|row| {
        let data = row["tx"]["data"].as_str().unwrap();
        let at = 2 + 8 + 64 * index;
        row["tx"]["data"] = json!(format!("{}{word:0>64}{}", &data[..at], &data[at + 64..]));
    })
}

#[tokio::test]
async fn a_quote_that_matches_the_request_is_passed_on() {
    let (okx, server) = answering(answer(&recorded("swap_usdg_wokb"))).await;
    let quote = okx.swap(&request()).await.unwrap();
    assert_eq!(quote.value.amount_out.to_string(), "843608100000000000");
    assert_eq!(quote.value.min_amount_out.to_string(), "835172019000000000");
    assert_eq!(quote.value.to, ReviewedContracts::default().routers[0]);
    assert_eq!(
        quote.value.deadline,
        Some(u64::try_from(NOW).unwrap() + 600)
    );
    assert_eq!(
        (quote.value.function, quote.value.trailing_bytes),
        ("dagSwapByOrderId", 64)
    );
    assert_eq!(quote.value.trim.as_ref().unwrap().rate_per_mille, 10);
    assert_eq!(quote.value.price_impact_pct.as_deref(), Some("-0.05"));
    assert_eq!(quote.value.route[0].venue, "Uniswap V3");
    assert_eq!(quote.value.to_token.is_honeypot, Some(false));
    assert_eq!(quote.value.gas_limit, Some(427_500));

    let query = server.received_requests().await.unwrap()[0]
        .url
        .query()
        .unwrap()
        .to_owned();
    assert_eq!(
        query,
        "chainIndex=196&amount=100000000&fromTokenAddress=0x4ae46a509f6b1d9056937ba4500cb143933d2dc8&toTokenAddress=0xe538905cf8410324e03a5a23c1c177a474d59b2b&slippagePercent=1&userWalletAddress=0x1111111111111111111111111111111111111111"
    );
}

#[tokio::test]
async fn every_changed_transaction_is_refused_by_name() {
    for (expected, changed) in [
        (
            "router_unreviewed",
            with(|row| row["tx"]["to"] = json!(THIEF)),
        ),
        (
            "router_unreviewed",
            with(|row| row["tx"]["to"] = json!("0x8b773d83bc66be128c60e07e17c8901f7a64f000")),
        ),
        (
            "value_not_zero",
            with(|row| row["tx"]["value"] = json!("1")),
        ),
        (
            "sender_mismatch",
            with(|row| row["tx"]["from"] = json!(THIEF)),
        ),
        (
            "min_output_mismatch",
            with(|row| row["tx"]["minReceiveAmount"] = json!("835172019000000001")),
        ),
        (
            "slippage_mismatch",
            with(|row| row["tx"]["slippagePercent"] = json!("0.01")),
        ),
        (
            "slippage_mismatch",
            with(|row| row["tx"]["slippagePercent"] = json!("NaN")),
        ),
        (
            "max_spend_above_amount",
            with(|row| row["tx"]["maxSpendAmount"] = json!("100000001")),
        ),
        (
            "quote_chain",
            with(|row| row["routerResult"]["chainIndex"] = json!("1")),
        ),
        (
            "quote_token",
            with(|row| row["routerResult"]["fromToken"]["tokenContractAddress"] = json!(THIEF)),
        ),
        (
            "quote_token",
            with(|row| row["routerResult"]["toToken"]["tokenContractAddress"] = json!(THIEF)),
        ),
        (
            "quote_decimals",
            with(|row| row["routerResult"]["fromToken"]["decimal"] = json!("18")),
        ),
        (
            "quote_amount",
            with(|row| row["routerResult"]["fromTokenAmount"] = json!("100000001")),
        ),
        (
            "quote_output",
            with(|row| row["routerResult"]["toTokenAmount"] = json!("0")),
        ),
        (
            "min_output_below_floor",
            with(|row| row["routerResult"]["toTokenAmount"] = json!("1843608100000000000")),
        ),
        (
            "selector_unreviewed",
            with(|row| row["tx"]["data"] = json!("0xa9059cbb")),
        ),
        (
            "calldata_malformed",
            with(|row| row["tx"]["data"] = json!("0x")),
        ),
    ] {
        assert_eq!(outcome(&changed).await, expected);
    }
}

#[tokio::test]
async fn every_changed_argument_is_refused_by_name() {
    for (expected, changed) in [
        (
            "input_token_mismatch",
            with_word(1, "779ded0c9e1022225f8e0630b35a9b54be713736"),
        ),
        (
            "calldata_malformed",
            with_word(1, "14ae46a509f6b1d9056937ba4500cb143933d2dc8"),
        ),
        ("output_token_mismatch", with_word(2, &THIEF[2..])),
        ("amount_mismatch", with_word(3, "5f5e101")),
        ("min_output_below_floor", with_word(4, "1")),
        ("deadline_past", with_word(5, "1")),
        ("deadline_absurd", with_word(5, &"f".repeat(64))),
        ("calldata_malformed", with_word(6, &"f".repeat(64))),
    ] {
        assert_eq!(outcome(&changed).await, expected);
    }
}

#[tokio::test]
async fn bytes_after_the_arguments_are_understood_or_refused() {
    let appended = |tail: &str| {
        with(|row| {
            row["tx"]["data"] = json!(format!("{}{tail}", row["tx"]["data"].as_str().unwrap()))
        })
    };
    let commission = format!(
        "800000000000000000000000{}3ca20afc2aaa000001c9c380{}",
        &THIEF[2..],
        &THIEF[2..]
    );
    assert_eq!(outcome(&appended(&commission)).await, "commission_present");
    assert_eq!(outcome(&appended("00")).await, "trailing_unrecognised");
    assert_eq!(
        outcome(&appended(&"0".repeat(64))).await,
        "trailing_unrecognised"
    );
    let trimmed = with(|row| {
        let data = row["tx"]["data"].as_str().unwrap();
        let bytes = hex::decode(data).unwrap();
        row["tx"]["data"] = json!(hex::encode_prefixed(&bytes[..bytes.len() - 64]));
    });
    assert_eq!(outcome(&trimmed).await, "accepted");
}

#[tokio::test]
async fn incomplete_quotes_are_malformed() {
    let removed = |place: &str, member: &str| {
        with(|row| {
            drop(
                row.pointer_mut(place)
                    .unwrap()
                    .as_object_mut()
                    .unwrap()
                    .remove(member)
                    .unwrap(),
            )
        })
    };
    for broken in [
        removed("", "tx"),
        removed("", "routerResult"),
        removed("/tx", "to"),
        removed("/tx", "from"),
        removed("/tx", "value"),
        removed("/tx", "data"),
        removed("/tx", "minReceiveAmount"),
        removed("/routerResult", "chainIndex"),
        removed("/routerResult", "toTokenAmount"),
        removed("/routerResult/fromToken", "decimal"),
        with(|row| row["tx"]["value"] = json!("0x0")),
        with(|row| row["tx"]["value"] = json!(0)),
        with(|row| row["tx"]["data"] = json!("f2c42696")),
        with(|row| row["tx"]["data"] = json!("0xf2c4269")),
        with(|row| row["routerResult"]["toTokenAmount"] = json!("1e18")),
        with(|row| row["tx"]["maxSpendAmount"] = json!("-1")),
        // A danger that cannot be read must not pass as unknown.
        with(|row| row["routerResult"]["priceImpactPercent"] = json!("1e2")),
        with(|row| row["routerResult"]["toToken"]["isHoneyPot"] = json!("yes")),
        with(|row| row["routerResult"]["fromToken"]["isHoneyPot"] = json!(1)),
        with(|row| row["routerResult"]["toToken"]["taxRate"] = json!("99%")),
        json!({"code": "0", "data": [], "msg": ""}),
    ] {
        assert_eq!(outcome(&broken).await, "upstream_malformed");
    }
}

#[tokio::test]
async fn flags_of_the_aggregator_are_passed_on_and_absence_stays_absence() {
    let flagged = with(|row| {
        row["routerResult"]["toToken"]["isHoneyPot"] = json!(true);
        row["routerResult"]["toToken"]["taxRate"] = json!("0.05");
        row["routerResult"]["fromToken"]
            .as_object_mut()
            .unwrap()
            .remove("isHoneyPot");
        row["routerResult"]["fromToken"]["taxRate"] = json!("");
        row["routerResult"]["priceImpactPercent"] = json!(null);
        row["tx"].as_object_mut().unwrap().remove("gas");
    });
    let (okx, _server) = answering(answer(&flagged)).await;
    let quote = okx.swap(&request()).await.unwrap().value;
    assert_eq!(quote.to_token.is_honeypot, Some(true));
    assert_eq!(quote.to_token.tax_rate.unwrap().as_str(), "0.05");
    assert_eq!(
        (quote.from_token.is_honeypot, quote.from_token.tax_rate),
        (None, None)
    );
    assert_eq!((quote.price_impact_pct, quote.gas_limit), (None, None));
}

#[tokio::test]
async fn no_route_and_other_business_failures_keep_their_codes() {
    let (okx, _server) = answering(answer(&recorded("swap_no_liquidity"))).await;
    assert_eq!(code(okx.swap(&request()).await), "no_route");
    assert!(
        okx.source()
            .health()
            .iter()
            .all(|health| health.state.as_str() == "ok")
    );

    let (okx, _server) = answering(answer(
        &json!({"code": 82003, "data": [], "msg": "value\u{202e} difference"}),
    ))
    .await;
    let error = okx.swap(&request()).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "okx.swap: business code 82003: value difference"
    );
    let (okx, _server) = answering(ResponseTemplate::new(404)).await;
    assert_eq!(code(okx.swap(&request()).await), "upstream_http_status");
}

/// The aggregator has a guard of its own, which is 90 percent unless it is asked for less.
#[tokio::test]
async fn the_aggregator_s_own_guard_is_asked_for_and_its_refusal_has_a_name() {
    let refusal = json!({"code": "82112", "data": [], "msg": "value difference"});
    let (okx, server) = answering(answer(&refusal)).await;
    for (bps, percent) in [(300, "3"), (5, "0.05"), (1_000, "10")] {
        let error = okx.swap(&request().guarded(bps)).await.unwrap_err();
        assert_eq!(error.code(), "price_impact_too_high");
        let requests = server.received_requests().await.unwrap();
        let query = requests.last().unwrap().url.query().unwrap();
        let guard = format!("&priceImpactProtectionPercent={percent}");
        assert!(query.ends_with(&guard), "{query}");
    }
}

#[test]
fn bad_requests_are_refused_before_the_upstream_is_asked() {
    let reviewed = ReviewedContracts::default();
    let parse = |from, to, user| {
        SwapRequest::parse(from, to, "1", user, None, &reviewed).map_err(|e| e.code())
    };
    assert_eq!(parse(NATIVE_COIN, WOKB, USER), Err("native_source_token"));
    assert_eq!(parse(WOKB, USDG, USER), Err("source_token_not_accepted"));
    assert_eq!(parse(USDG, USDG, USER), Err("same_token"));
    assert_eq!(parse(USDG, Address::ZERO, USER), Err("zero_address"));
    assert_eq!(parse(USDG, WOKB, Address::ZERO), Err("zero_address"));
    assert!(parse(USDG, NATIVE_COIN, USER).is_ok());
    let amount = |text: &str| parsed(text, None).map_err(|e| e.code());
    assert_eq!(amount("0.0000001"), Err("amount_excess_digits"));
    assert_eq!(amount("0.000000"), Err("amount_zero"));
    assert_eq!(amount(&"9".repeat(80)), Err("amount_overflow"));
    assert_eq!(amount("1e3"), Err("amount_format"));
    for slippage in ["0", "0.05", "51", "-1", "1%", ""] {
        assert_eq!(
            parsed("1", Some(slippage)).map_err(|e| e.code()),
            Err("slippage_invalid"),
            "{slippage}"
        );
    }
}
