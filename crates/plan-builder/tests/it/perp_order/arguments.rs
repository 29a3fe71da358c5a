//! Tests of the constructor's arguments: their normal form, and their refusals.

use calldata_checks::Rail;
use plan_builder::Request;
use serde_json::{Value, json};

use crate::perp_order::venue::{ACCOUNT, arguments, parse, protected};

#[test]
fn every_problem_is_named_with_its_path() {
    let refusal = parse(&json!({
        "accountProfile": {"kind": "eoa", "address": "0x00", "chainId": "x"},
        "coin": "B TC", "side": "BUY", "price": 100_000, "size": "0", "tif": "gtc", "reduceOnly": "no",
        "cloid": "0x01", "vaultAddress": "0x0000000000000000000000000000000000000000",
        "takeProfit": {"limitPrice": "1e5"}, "stopLoss": "95000", "leverage": 5,
    }))
    .unwrap_err();
    assert_eq!(refusal.check, "input_invalid");
    let mut paths: Vec<_> = refusal
        .problems
        .iter()
        .map(|problem| problem.path.as_str())
        .collect();
    paths.sort_unstable();
    assert_eq!(
        paths,
        [
            "$.accountProfile.address",
            "$.accountProfile.chainId",
            "$.cloid",
            "$.coin",
            "$.leverage",
            "$.price",
            "$.reduceOnly",
            "$.side",
            "$.size",
            "$.stopLoss",
            "$.takeProfit.limitPrice",
            "$.takeProfit.triggerPrice",
            "$.tif",
            "$.vaultAddress",
        ]
    );
}

#[test]
fn missing_and_duplicate_members_are_refused() {
    for name in ["accountProfile", "coin", "side", "price", "size"] {
        let mut arguments = arguments(json!({}));
        arguments.as_object_mut().unwrap().remove(name);
        let refusal = parse(&arguments).unwrap_err();
        assert_eq!(refusal.problems.len(), 1);
        assert_eq!(refusal.request_path, Some(format!("$.{name}")));
    }
    let twice = arguments(json!({}))
        .to_string()
        .replacen('{', r#"{"price":"1","#, 1);
    let refusal = Request::parse(Rail::PerpOrder, &twice).unwrap_err();
    assert_eq!(
        (refusal.check.as_ref(), refusal.request_path.as_deref()),
        ("input_invalid", Some("$.price"))
    );
}

#[test]
fn accounts_that_the_venue_does_not_have_are_refused() {
    let profile = |kind: &str, chain: Value| {
        arguments(json!({"accountProfile": {"kind": kind, "address": ACCOUNT, "chainId": chain}}))
    };
    let safe = parse(&profile("safe", json!(1337))).unwrap_err();
    assert_eq!(safe.check, "account_kind_unsupported");
    assert_eq!(safe.request_path.as_deref(), Some("$.accountProfile.kind"));
    for chain in [json!(1), json!(42_161), json!("998")] {
        let refusal = parse(&profile("eoa", chain)).unwrap_err();
        assert_eq!(refusal.check, "chain_unsupported");
        assert_eq!(
            refusal.request_path.as_deref(),
            Some("$.accountProfile.chainId")
        );
    }
    for chain in [json!(1337), json!("1337"), Value::Null] {
        parse(&profile("eoa", chain)).unwrap();
    }
}

#[test]
fn names_of_spot_pairs_and_outcomes_are_refused() {
    for coin in ["@107", "PURR/USDC", "#1230"] {
        let refusal = parse(&arguments(json!({"coin": coin}))).unwrap_err();
        assert_eq!(refusal.check, "token_unsupported");
        assert_eq!(refusal.request_path.as_deref(), Some("$.coin"));
    }
}

#[test]
fn spellings_of_one_request_have_one_intent() {
    let digest = |changes| parse(&arguments(changes)).unwrap().intent_digest().unwrap();
    let plain = digest(json!({}));
    for changes in [
        json!({"price": "100000.0", "size": "0.00100"}),
        json!({"tif": "Gtc", "reduceOnly": false}),
        json!({"tif": null, "cloid": null, "takeProfit": null, "vaultAddress": null}),
        json!({"accountProfile": {"kind": "eoa", "address": ACCOUNT.to_lowercase(), "chainId": "1337"}}),
    ] {
        assert_eq!(digest(changes.clone()), plain, "{changes}");
    }
    let named = |cloid: String| digest(json!({"cloid": cloid}));
    assert_eq!(
        named(format!("0x{}", "AB".repeat(16))),
        named(format!("0x{}", "ab".repeat(16)))
    );
    for changes in [
        json!({"price": "100001"}),
        json!({"size": "0.002"}),
        json!({"side": "sell"}),
        json!({"tif": "Alo"}),
        json!({"reduceOnly": true}),
        json!({"coin": "ETH"}),
        json!({"cloid": format!("0x{}", "ab".repeat(16))}),
        json!({"vaultAddress": "0x1719884eb866cb12b2287399b15f7db5e7d775ea"}),
        json!({"takeProfit": {"triggerPrice": "110000"}}),
        json!({"stopLoss": {"triggerPrice": "110000"}}),
    ] {
        assert_ne!(digest(changes.clone()), plain, "{changes}");
    }
}

#[test]
fn the_normalised_request() {
    let Request::PerpOrder(request) = parse(&protected()).unwrap() else {
        panic!("another rail")
    };
    let text = serde_json::to_string(&request).unwrap();
    let canonical = serde_json_canonicalizer::to_string(&request).unwrap();
    assert_eq!(
        text, canonical,
        "members are declared in the order of RFC 8785"
    );
    insta::assert_snapshot!(text, @r#"{"accountProfile":{"address":"0x14791697260e4c9a71f18484c9f997b308e59325","chainId":1337,"kind":"eoa"},"coin":"BTC","price":"100000","reduceOnly":false,"side":"buy","size":"0.001","stopLoss":{"triggerPrice":"95000"},"takeProfit":{"limitPrice":"109500","triggerPrice":"110000"},"tif":"Gtc"}"#);
}

#[test]
fn the_schema_names_every_argument() {
    let schema = Request::schema(Rail::PerpOrder);
    let mut names: Vec<_> = schema["properties"]
        .as_object()
        .unwrap()
        .keys()
        .cloned()
        .collect();
    names.sort_unstable();
    assert_eq!(
        names,
        [
            "accountProfile",
            "cloid",
            "coin",
            "price",
            "reduceOnly",
            "side",
            "size",
            "stopLoss",
            "takeProfit",
            "tif",
            "vaultAddress",
        ]
    );
    assert_eq!(
        schema["required"],
        json!(["accountProfile", "coin", "side", "price", "size"])
    );
    assert_eq!(schema["additionalProperties"], json!(false));
}
