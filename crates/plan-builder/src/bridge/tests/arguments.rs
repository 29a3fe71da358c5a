//! Tests of the arguments: the normal form, every problem, and the JSON Schema.

use serde_json::{Value, json};

use super::{ACCOUNT, arguments, refused, request};
use crate::{
    Refusal,
    arguments::schema_of,
    bridge::{BridgeRequest, PROPERTIES},
};

fn normal(changes: Value) -> Value {
    serde_json::to_value(request(changes)).unwrap()
}

#[test]
fn the_normal_form_writes_the_defaults_out() {
    let expected = json!({
        "accountProfile": {
            "address": ACCOUNT,
            "chainId": 8453,
            "kind": "eoa",
        },
        "amount": "1234567890",
        "forward": false,
        "fromChainId": 8453,
        "toChainId": 42161,
        "token": "0x833589fcd6edb6e08f4c7c32d4f71b54bda02913",
        "transferSpeed": "standard",
    });
    assert_eq!(normal(json!({})), expected);
    for same in [
        json!({"fromChainId": "8453", "toChainId": "42161"}),
        json!({"transferSpeed": "standard", "forward": false, "exports": []}),
        json!({"maxFee": null, "minAmountOut": null, "transferSpeed": null, "forward": null}),
        json!({"token": "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913"}),
        json!({"token": "0x833589fcd6edb6e08f4c7c32d4f71b54bda02913"}),
    ] {
        assert_eq!(normal(same), expected);
    }
    let full = normal(json!({
        "transferSpeed": "fast", "forward": true, "maxFee": "0", "minAmountOut": "1",
        "exports": ["eip5792"],
    }));
    assert_eq!(full["transferSpeed"], "fast");
    assert_eq!(full["forward"], true);
    assert_eq!(
        (&full["maxFee"], &full["minAmountOut"]),
        (&json!("0"), &json!("1"))
    );
    assert_eq!(full["exports"], json!(["eip5792"]));
}

#[test]
fn the_normal_form_is_declared_canonically() {
    for changes in [
        json!({}),
        json!({"transferSpeed": "fast", "forward": true, "maxFee": "9", "minAmountOut": "1", "exports": ["eip5792"]}),
    ] {
        let request = request(changes);
        let canonical = crate::digest::canonical(&request).unwrap();
        assert_eq!(serde_json::to_vec(&request).unwrap(), canonical);
    }
}

#[test]
fn every_problem_is_named_at_once() {
    let refusal = BridgeRequest::parse(&json!({
        "accountProfile": {"kind": "EOA", "address": "0x12", "chainId": 0},
        "fromChainId": 1.5,
        "toChainId": true,
        "token": 7,
        "amount": 5,
        "transferSpeed": "FAST",
        "maxFee": "01",
        "minAmountOut": "-1",
        "forward": "yes",
        "exports": ["csv"],
        "recipient": "0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC",
    }))
    .unwrap_err();
    assert_eq!(refusal.check, Refusal::INPUT_INVALID);
    let mut paths: Vec<_> = refusal.problems.iter().map(|p| p.path.as_str()).collect();
    paths.sort_unstable();
    assert_eq!(
        paths,
        [
            "$.accountProfile.address",
            "$.accountProfile.chainId",
            "$.accountProfile.kind",
            "$.amount",
            "$.exports",
            "$.forward",
            "$.fromChainId",
            "$.maxFee",
            "$.minAmountOut",
            "$.recipient",
            "$.toChainId",
            "$.token",
            "$.transferSpeed",
        ]
    );
    let nothing = BridgeRequest::parse(&json!({})).unwrap_err();
    assert_eq!(nothing.problems.len(), 5);
}

#[test]
fn there_is_no_free_recipient() {
    for name in [
        "recipient",
        "mintRecipient",
        "toAddress",
        "destinationCaller",
        "hookData",
    ] {
        let (check, path) = refused(json!({name: ACCOUNT.to_string()}));
        assert_eq!(
            (check.as_str(), path),
            (Refusal::INPUT_INVALID, format!("$.{name}"))
        );
    }
}

#[test]
fn amounts_are_digit_strings() {
    for amount in [
        json!(1),
        json!("0"),
        json!(""),
        json!("1.5"),
        json!("1e6"),
        json!("0x10"),
        json!("+1"),
        json!("-1"),
        json!(" 1"),
        json!("1_000"),
        json!("007"),
        json!("1".repeat(79)),
        json!(null),
    ] {
        let (check, path) = refused(json!({"amount": amount}));
        assert_eq!(
            (check.as_str(), path.as_str()),
            (Refusal::INPUT_INVALID, "$.amount")
        );
    }
}

#[test]
fn chains_outside_of_the_route_set_are_refused_by_name() {
    for chain_id in [196, 10, 56, 6, 3, 11_155_111] {
        for name in ["fromChainId", "toChainId"] {
            let (check, path) = refused(json!({name: chain_id}));
            assert_eq!(
                (check.as_str(), path),
                (Refusal::CHAIN_UNSUPPORTED, format!("$.{name}"))
            );
        }
    }
}

#[test]
fn a_route_from_a_chain_to_itself_is_refused_by_name() {
    let (check, path) = refused(json!({"toChainId": 8453}));
    assert_eq!(
        (check.as_str(), path.as_str()),
        (Refusal::ROUTE_UNSUPPORTED, "$.toChainId")
    );
}

#[test]
fn other_tokens_are_refused_by_name() {
    for token in [
        "USDT",
        "usdc",
        "USDC.e",
        "USDbC",
        "ETH",
        "0xdac17f958d2ee523a2206206994597c13d831ec7",
        // These are USDC of Ethereum and of Arbitrum, and the source is Base.
        "0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48",
        "0xaf88d065e77c8cC2239327C5EDb3A432268e5831",
        "0xEeeeeEeeeEeEeeEeEeEeeEEEeeeeEeeeeeeeEEeE",
    ] {
        let (check, path) = refused(json!({"token": token}));
        assert_eq!(
            (check.as_str(), path.as_str()),
            (Refusal::TOKEN_UNSUPPORTED, "$.token"),
            "{token}"
        );
    }
    for (chain_id, token, symbol) in [
        (8453, "0xd9aAEc86B65D86f6A7B5B1b0c42FFA531710b6CA", "USDbC"),
        (137, "0x2791Bca1f2de4661ED88A30C99A7a9449Aa84174", "USDC.e"),
        (
            42161,
            "0xFF970A61A04b1cA14834A43f5dE4533eBDDB5CC8",
            "USDC.e",
        ),
        (
            43114,
            "0xA7D7079b0FEaD91F3e65f86E8915Cb59c1a4C664",
            "USDC.e",
        ),
    ] {
        let changed = arguments(json!({"fromChainId": chain_id, "toChainId": 1, "token": token}));
        let refusal = BridgeRequest::parse(&changed).unwrap_err();
        assert_eq!(refusal.check, Refusal::TOKEN_UNSUPPORTED);
        assert!(refusal.message.contains(symbol), "{}", refusal.message);
    }
}

#[test]
fn a_token_address_with_a_wrong_checksum_is_no_address() {
    for token in [
        "0x833589fcD6eDb6E08f4c7C32D4f71b54bdA02913",
        "0x",
        "0xUSDC",
        "US\u{0}DC",
    ] {
        let (check, path) = refused(json!({"token": token}));
        assert_eq!(
            (check.as_str(), path.as_str()),
            (Refusal::INPUT_INVALID, "$.token"),
            "{token}"
        );
    }
}

#[test]
fn faults_of_the_request_alone_are_refused_before_any_read() {
    let profile = json!({"kind": "eoa", "address": ACCOUNT.to_string(), "chainId": 42161});
    for (changes, check, path) in [
        (
            json!({"accountProfile": profile}),
            "bridge_route_enumerated",
            "$.accountProfile.chainId",
        ),
        (
            json!({"amount": "10000000000001"}),
            "bridge_amount_bound",
            "$.amount",
        ),
        (
            json!({
                "accountProfile": {"kind": "eoa", "address": ACCOUNT.to_string(), "chainId": 137},
                "fromChainId": 137, "transferSpeed": "fast",
            }),
            "bridge_finality_exact",
            "$.transferSpeed",
        ),
        (
            json!({
                "accountProfile": {"kind": "eoa", "address": ACCOUNT.to_string(), "chainId": 43114},
                "fromChainId": 43114, "transferSpeed": "fast",
            }),
            "bridge_finality_exact",
            "$.transferSpeed",
        ),
    ] {
        assert_eq!(refused(changes), (check.to_owned(), path.to_owned()));
    }
}

#[test]
fn the_schema_names_every_argument() {
    let schema = schema_of(PROPERTIES);
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
            "amount",
            "exports",
            "forward",
            "fromChainId",
            "maxFee",
            "minAmountOut",
            "toChainId",
            "token",
            "transferSpeed",
        ]
    );
    assert_eq!(
        schema["required"],
        json!([
            "accountProfile",
            "fromChainId",
            "toChainId",
            "token",
            "amount"
        ])
    );
    assert_eq!(
        schema["properties"]["transferSpeed"]["enum"],
        json!(["standard", "fast"])
    );
    assert_eq!(schema["additionalProperties"], false);
}
