//! Tests of the constructor's arguments.

use alloy_primitives::B256;
use calldata_checks::Rail;
use plan_builder::Request;
use serde_json::{Value, json};

use crate::pm_order::stage::{Stage, buy, sell};

#[test]
fn the_schema() {
    let schema = Request::schema(Rail::PmOrder);
    insta::assert_snapshot!(serde_json::to_string_pretty(&schema).unwrap());
}

fn with(mut stage: Stage, member: &str, value: Value) -> Stage {
    stage.arguments[member] = value;
    stage
}

/// Arguments with the same meaning give the same request.
#[test]
fn equal_arguments_have_one_normal_form() {
    let digest = |stage: &Stage| stage.request().unwrap().intent_digest().unwrap();
    let plain = digest(&buy());
    for (member, value) in [
        ("price", json!("0.50")),
        ("size", json!("100.00")),
        ("postOnly", json!(false)),
        ("conditionId", Value::Null),
        (
            "accountProfile",
            json!({
                "address": "0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266", "kind": "eoa", "chainId": "137",
            }),
        ),
    ] {
        assert_eq!(digest(&with(buy(), member, value)), plain, "{member}");
    }
    for (member, value) in [
        ("price", json!("0.51")),
        ("size", json!("100.01")),
        ("postOnly", json!(true)),
        ("side", json!("SELL")),
        ("tokenId", json!("5")),
        ("maxCost", json!("50")),
        ("outcome", json!("Yes")),
        ("conditionId", json!(B256::ZERO.to_string())),
    ] {
        assert_ne!(digest(&with(buy(), member, value)), plain, "{member}");
    }
}

#[test]
fn the_normal_form_is_declared_in_the_order_of_rfc_8785() {
    for (mut stage, limit) in [(buy(), "maxCost"), (sell(), "minProceeds")] {
        stage.arguments[limit] = json!("1000");
        stage.arguments["outcome"] = json!("Yes \u{e9}\"\\");
        stage.arguments["conditionId"] = json!(B256::ZERO.to_string());
        let Request::PmOrder(request) = stage.request().unwrap() else {
            panic!("another rail")
        };
        assert_eq!(
            serde_json::to_vec(&request).unwrap(),
            serde_json_canonicalizer::to_vec(&request).unwrap()
        );
    }
}

#[test]
fn other_accounts_are_refused_by_name() {
    let mut stage = buy();
    stage.arguments["accountProfile"]["kind"] = json!("safe");
    let refusal = stage.build().unwrap_err();
    assert_eq!(refusal.check, "account_kind_unsupported");
    assert_eq!(
        refusal.request_path.as_deref(),
        Some("$.accountProfile.kind")
    );
    for chain_id in [1, 80_002] {
        let mut stage = buy();
        stage.arguments["accountProfile"]["chainId"] = json!(chain_id);
        let refusal = stage.build().unwrap_err();
        assert_eq!(refusal.check, "chain_unsupported");
        assert_eq!(
            refusal.request_path.as_deref(),
            Some("$.accountProfile.chainId")
        );
    }
}

#[test]
fn malformed_arguments_name_their_path() {
    for (member, value) in [
        // Money may not be a JSON number, and an id may not be one that a double rounds.
        ("price", json!(0.5)),
        ("size", json!(100)),
        ("tokenId", json!(5)),
        ("maxCost", json!(50.0)),
        ("price", json!("5e-1")),
        ("price", json!("0")),
        ("price", json!("-0.5")),
        ("price", json!(".5")),
        ("size", json!("1,000")),
        ("tokenId", json!("0x5")),
        ("tokenId", json!("")),
        ("side", json!("buy")),
        ("side", json!(0)),
        ("conditionId", json!("0x07")),
        ("outcome", json!("")),
        ("outcome", json!("a\u{7}")),
        ("outcome", json!("x".repeat(201))),
        ("postOnly", json!("true")),
        ("maxCost", json!("0")),
        // This limit is for orders of the other side.
        ("minProceeds", json!("1")),
        // These members are not arguments. The caller does not choose the builder code or an
        // expiration.
        ("builder", json!(B256::ZERO.to_string())),
        ("expiration", json!("0")),
    ] {
        let refusal = with(buy(), member, value.clone()).build().unwrap_err();
        assert_eq!(refusal.check, "input_invalid", "{member} {value}");
        assert_eq!(
            refusal.request_path,
            Some(format!("$.{member}")),
            "{member} {value}"
        );
    }
    let refusal = with(sell(), "maxCost", json!("1")).build().unwrap_err();
    assert_eq!(refusal.request_path.as_deref(), Some("$.maxCost"));
}

#[test]
fn every_missing_argument_is_named() {
    let mut stage = buy();
    stage.arguments = json!({"sise": "1"});
    let paths: Vec<_> = stage
        .build()
        .unwrap_err()
        .problems
        .into_iter()
        .map(|problem| problem.path)
        .collect();
    assert_eq!(
        paths,
        [
            "$.sise",
            "$.accountProfile",
            "$.tokenId",
            "$.side",
            "$.price",
            "$.size"
        ]
    );
}
