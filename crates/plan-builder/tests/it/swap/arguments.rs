//! Tests of the constructor's arguments, and of the name of each refusal.

use calldata_checks::Rail;
use plan_builder::{ExportSet, Refusal, Request};
use serde_json::{Value, json};

use crate::swap::sample::{ACCOUNT, BASE, USDC, WETH, arguments, build, parse};

fn with(edit: impl FnOnce(&mut Value)) -> Value {
    let mut arguments = arguments();
    edit(&mut arguments);
    arguments
}

fn refused(arguments: &Value) -> (String, Option<String>) {
    let refusal = parse(arguments).expect_err("the arguments are accepted");
    (refusal.check.into_owned(), refusal.request_path)
}

fn refused_at(check: &str, path: &str, edit: impl FnOnce(&mut Value)) {
    let arguments = with(edit);
    assert_eq!(
        refused(&arguments),
        (check.to_owned(), Some(path.to_owned())),
        "{arguments}"
    );
}

#[test]
fn arguments_are_read_in_every_spelling() {
    let request = parse(&with(|a| {
        a["chainId"] = json!("8453");
        a["slippage"]["maxBps"] = json!("50");
        a["minAmountOut"] = json!("7");
        a["accountProfile"]["kind"] = json!("safe");
        a["exports"] = json!(["safe_tx_builder", "eip5792"]);
    }))
    .unwrap();
    let asked = request.asked();
    assert_eq!(request.account().address, ACCOUNT);
    assert_eq!(
        (asked.chain_id, asked.from_token, asked.to_token),
        (BASE, USDC, WETH)
    );
    assert_eq!(asked.max_slippage.get(), 50);
    assert_eq!(
        request.exports(),
        ExportSet {
            eip5792: true,
            safe_tx_builder: true
        }
    );
    insta::assert_snapshot!(
        serde_json::to_string(&request).unwrap(),
        @r#"{"accountProfile":{"address":"0x00000000000000000000000000000000000acc01","chainId":8453,"kind":"safe"},"chainId":8453,"exports":["eip5792","safe_tx_builder"],"fromAmount":"1000000007","fromToken":"0x833589fcd6edb6e08f4c7c32d4f71b54bda02913","minAmountOut":"7","slippage":{"maxBps":50},"toToken":"0x4200000000000000000000000000000000000006"}"#
    );
}

/// If another account's Safe imported the batch, the Safe would spend its own tokens, and the
/// account would get the output.
#[test]
fn a_safe_batch_is_for_a_safe() {
    refused_at("input_invalid", "$.exports", |a| {
        a["exports"] = json!(["safe_tx_builder"]);
    });
}

#[test]
fn one_request_in_different_spellings_has_one_digest() {
    let digest = |arguments: &Value| {
        Request::parse(Rail::Swap, &arguments.to_string())
            .unwrap()
            .intent_digest()
            .unwrap()
    };
    let plain = digest(&arguments());
    let spelled = with(|a| {
        a["chainId"] = json!("8453");
        a["fromToken"] = json!(USDC.to_string());
        a["slippage"]["maxBps"] = json!("50");
        a["minAmountOut"] = Value::Null;
        a["exports"] = json!([]);
    });
    assert_eq!(digest(&spelled), plain);
    assert_ne!(digest(&with(|a| a["minAmountOut"] = json!(0))), plain);
    assert_ne!(digest(&with(|a| a["exports"] = json!(["eip5792"]))), plain);
    assert_ne!(
        digest(&with(|a| a["accountProfile"]["kind"] = json!("safe"))),
        plain
    );
}

#[test]
fn the_least_output_may_be_text_or_a_number() {
    for (given, expected) in [
        (json!("0"), "0"),
        (json!(0), "0"),
        (json!(17), "17"),
        (json!(u64::MAX), "18446744073709551615"),
        (
            json!("115792089237316195423570985008687907853269984665640564039457584007913129639935"),
            "115792089237316195423570985008687907853269984665640564039457584007913129639935",
        ),
    ] {
        let request = parse(&with(|a| a["minAmountOut"] = given)).unwrap();
        assert_eq!(
            request.asked().min_amount_out.unwrap().to_string(),
            expected
        );
    }
    for given in [
        json!(-1),
        json!(1.5),
        json!(1e3),
        json!(1e30),
        json!("-1"),
        json!("1.5"),
        json!("1e3"),
        json!("0x10"),
        json!("010"),
        json!(" 1"),
        json!(""),
        json!(true),
        json!([1]),
        json!({}),
        json!("115792089237316195423570985008687907853269984665640564039457584007913129639936"),
    ] {
        refused_at("input_invalid", "$.minAmountOut", |a| {
            a["minAmountOut"] = given
        });
    }
}

#[test]
fn impossible_amounts_and_slippages_are_refused() {
    for given in [
        json!(1_000_000),
        json!("0"),
        json!("-1"),
        json!("5e9"),
        json!("0x10"),
        json!("007"),
        json!("1.0"),
        json!("1_000"),
        json!("٣"),
        json!(null),
        json!("9".repeat(78)),
        json!("1".repeat(79)),
    ] {
        refused_at("input_invalid", "$.fromAmount", |a| a["fromAmount"] = given);
    }
    for given in [
        json!(5001),
        json!(-1),
        json!(0.5),
        json!("50.0"),
        json!("0x32"),
        json!(null),
        json!("half"),
    ] {
        refused_at("input_invalid", "$.slippage.maxBps", |a| {
            a["slippage"]["maxBps"] = given
        });
    }
    for bps in [0, 5000] {
        parse(&with(|a| a["slippage"]["maxBps"] = json!(bps))).unwrap();
    }
    refused_at("input_invalid", "$.slippage", |a| a["slippage"] = json!(50));
}

#[test]
fn native_coins_are_refused() {
    for token in ["fromToken", "toToken"] {
        for native in [
            "0x0000000000000000000000000000000000000000",
            "0xeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee",
            "0xEeeeeEeeeEeEeeEeEeEeeEEEeeeeEeeeeeeeEEeE",
        ] {
            refused_at("token_unsupported", &format!("$.{token}"), |a| {
                a[token] = json!(native)
            });
        }
    }
}

#[test]
fn an_account_on_another_chain_is_refused() {
    refused_at(
        "agg_receiver_account_bound",
        "$.accountProfile.chainId",
        |a| {
            a["accountProfile"]["chainId"] = json!(1);
        },
    );
}

#[test]
fn a_chain_that_is_not_reviewed_is_refused() {
    let arguments = with(|a| {
        a["accountProfile"]["chainId"] = json!(324);
        a["chainId"] = json!(324);
    });
    let refusal = build(&arguments, |_| panic!("a quote is asked for")).unwrap_err();
    assert_eq!(refusal.check, Refusal::CHAIN_UNSUPPORTED);
    assert_eq!(refusal.request_path.as_deref(), Some("$.chainId"));
    assert_eq!(refusal.expected.as_deref(), Some("one of 8453"));
}

#[test]
fn a_swap_of_a_token_for_itself_is_refused() {
    refused_at("input_invalid", "$.toToken", |a| {
        a["toToken"] = json!(USDC.to_string().to_lowercase())
    });
}

#[test]
fn every_problem_is_named_at_once() {
    let refusal = parse(&json!({
        "accountProfile": {"kind": "contract", "address": "0x12", "chainId": "8453", "label": "mine"},
        "chainId": 0,
        "fromToken": "USDC",
        "toToken": "0x4200000000000000000000000000000000000006",
        "slippage": {"maxBps": 50, "minBps": 1},
        "slipage": {},
        "exports": ["eip5792", "eip5792"],
    }))
    .unwrap_err();
    assert_eq!(refusal.check, "input_invalid");
    let mut paths: Vec<_> = refusal.problems.iter().map(|p| p.path.as_str()).collect();
    paths.sort_unstable();
    assert_eq!(
        paths,
        [
            "$.accountProfile.address",
            "$.accountProfile.kind",
            "$.accountProfile.label",
            "$.chainId",
            "$.exports",
            "$.fromAmount",
            "$.fromToken",
            "$.slipage",
            "$.slippage.minBps",
        ]
    );
}

#[test]
fn texts_that_are_not_arguments_are_refused() {
    for text in [
        "",
        "null",
        "[]",
        "{}{}",
        "{\"chainId\":1,\"chainId\":1}",
        "{\"slippage\":{\"maxBps\":1,\"maxBps\":2}}",
    ] {
        assert_eq!(
            Request::parse(Rail::Swap, text).unwrap_err().check,
            Refusal::INPUT_INVALID,
            "{text}"
        );
    }
}

#[test]
fn the_schema_of_the_arguments() {
    let schema = Request::schema(Rail::Swap);
    assert_eq!(
        schema["required"],
        json!([
            "accountProfile",
            "chainId",
            "fromToken",
            "toToken",
            "fromAmount",
            "slippage"
        ])
    );
    assert_eq!(schema["additionalProperties"], json!(false));
    assert_eq!(
        schema["properties"]["slippage"]["required"],
        json!(["maxBps"])
    );
    assert_eq!(
        schema["properties"]["slippage"]["properties"]["maxBps"]["anyOf"][0]["maximum"],
        json!(5000)
    );
    let either = &schema["properties"]["minAmountOut"]["anyOf"];
    assert_eq!(
        (&either[0]["type"], &either[1]["type"]),
        (&json!("string"), &json!("integer"))
    );
}
