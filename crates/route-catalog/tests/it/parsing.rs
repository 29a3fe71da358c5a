//! Tests of the parameters of requests: the accepted values, and the paths and codes of the
//! refusals.

use alloy_primitives::{U256, address};
use proptest::prelude::*;
use route_catalog::{Operation, Parameters, read_max_age};
use serde_json::{Value, json};

const USDT: &str = "0x779Ded0c9e1022225f8E0630b35a9b54bE713736";
const WOKB: &str = "0xe538905cf8410324e03A5A23C1c177a474D59b2b";

/// Lists every problem of a request, one on each line.
fn problems(operation: Operation, query: &str, body: &str) -> String {
    let problems = operation
        .route()
        .parse(Some(query), body.as_bytes())
        .unwrap_err();
    problems
        .iter()
        .map(|problem| format!("{} [{}]\n", problem, problem.fault.code()))
        .collect()
}

fn parse(operation: Operation, query: &str, body: &str) -> Parameters {
    let parsed = operation.route().parse(Some(query), body.as_bytes());
    parsed.unwrap_or_else(|problems| panic!("{problems:?}"))
}

fn swap() -> serde_json::Value {
    json!({"fromToken": USDT, "toToken": WOKB, "amount": "25.50", "userWalletAddress": WOKB})
}

fn swap_with(name: &str, value: serde_json::Value) -> String {
    let mut body = swap();
    body[name] = value;
    body.to_string()
}

#[test]
fn a_swap_is_read_with_its_default() {
    let parameters = parse(Operation::Swap, "", &swap().to_string());
    assert_eq!(
        parameters.address("fromToken"),
        Some(address!("0x779Ded0c9e1022225f8E0630b35a9b54bE713736"))
    );
    assert_eq!(parameters.text("amount"), Some("25.5"));
    assert_eq!(parameters.text("slippage"), Some("1"));
    assert_eq!(parameters.address("slippage"), None);
    assert_eq!(parameters.value("nothing"), None);
}

#[test]
fn all_problems_of_a_swap_are_named_at_once() {
    let body = json!({
        "fromToken": "0x12", "toToken": 5, "amount": 25.5, "slippage": "50.1",
        "from_token": USDT, "constructor": null,
    });
    insta::assert_snapshot!(problems(
        Operation::Swap,
        "max_age=-1&amount=5",
        &body.to_string()
    ));
}

#[test]
fn the_two_tokens_of_a_swap_differ_whatever_their_case() {
    let body = swap_with("toToken", json!(format!("0x{}", USDT[2..].to_lowercase())));
    insta::assert_snapshot!(problems(Operation::Swap, "", &body), @"body.toToken: must differ from fromToken [same]");
}

#[test]
fn slippage_is_text_within_its_bounds() {
    for text in ["0.1", "0.10", "1", "50", "50.0"] {
        parse(Operation::Swap, "", &swap_with("slippage", json!(text)));
    }
    for value in [
        json!("0.09"),
        json!("50.01"),
        json!("1%"),
        json!(""),
        json!(1),
        json!(null),
    ] {
        let body = swap_with("slippage", value);
        assert!(problems(Operation::Swap, "", &body).starts_with("body.slippage: expected"));
    }
}

#[test]
fn bodies_that_are_not_one_flat_object_are_refused() {
    let bodies = [
        "",
        "{",
        "[]",
        "null",
        "\"x\"",
        "{} {}",
        "{\"a\":[[[[[1]]]]]}",
        "\u{feff}{}",
    ];
    let shown: String = bodies
        .iter()
        .map(|body| format!("{body:?} → {}", problems(Operation::Swap, "", body)))
        .collect();
    insta::assert_snapshot!(shown);
}

#[test]
fn repeated_body_keys_are_refused_even_when_equal() {
    let body = swap()
        .to_string()
        .replacen('{', "{\"amount\":\"25.50\",", 1);
    insta::assert_snapshot!(problems(Operation::Swap, "", &body), @"body.amount: is given 2 times, expected once [duplicate]");
}

#[test]
fn queries_are_read_strictly() {
    let shown: String = [
        "",
        "token=",
        "token",
        "Token=0x779Ded0c9e1022225f8E0630b35a9b54bE713736",
        "token=0x12&token=0x13",
        "token=%zz",
        "token=%",
        "token=%ff%fe",
        "to%ken=1",
        "token=0x779Ded0c9e1022225f8E0630b35a9b54bE713736&provenance=yes&max_age=1.5",
    ]
    .iter()
    .map(|query| format!("{query:?}\n{}\n", problems(Operation::Price, query, "")))
    .collect();
    insta::assert_snapshot!(shown);
}

#[test]
fn unknown_query_parameters_are_refused_with_the_nearest_name() {
    insta::assert_snapshot!(
        problems(Operation::TokenSecurity, &format!("address={USDT}&chian=base"), ""),
        @"query.chian: is not a name this route takes (did you mean chain?), expected address, chain, max_age, provenance [unknown]"
    );
    insta::assert_snapshot!(
        problems(Operation::Price, &format!("utm=1&token={USDT}&"), ""),
        @"query.utm: is not a name this route takes, expected token, max_age, provenance [unknown]"
    );
    insta::assert_snapshot!(
        problems(Operation::Swap, "slippage=5", &swap().to_string()),
        @"query.slippage: is not a name this route takes, expected max_age, provenance [unknown]"
    );
    insta::assert_snapshot!(
        problems(Operation::CancelYieldWatch, "id=a&all=1", ""),
        @"query.all: is not a name this route takes, expected id, max_age, provenance [unknown]"
    );
}

#[test]
fn common_parameters_are_taken_by_every_route() {
    let parameters = parse(Operation::CryptoNews, "max_age=90&provenance=1", "");
    assert_eq!(parameters.max_age_seconds(), Some(90));
    assert!(parameters.provenance());
    let parameters = parse(Operation::Swap, "max_age=0", &swap().to_string());
    assert_eq!(parameters.max_age_seconds(), Some(0));
    assert!(!parameters.provenance());
    assert_eq!(read_max_age(" 60 "), Ok(60));
    insta::assert_snapshot!(
        read_max_age("1h").unwrap_err(),
        @r#"header.x-max-age: expected a whole number from 0 to 31536000, observed "1h""#
    );
}

#[test]
fn groups_and_ranges_are_checked_over_sound_values_only() {
    let shown: String = [
        (
            Operation::YieldFarmingHistorical,
            "pool=a&address=0x779Ded0c9e1022225f8E0630b35a9b54bE713736",
        ),
        (Operation::YieldFarmingHistorical, "address=0x12"),
        (
            Operation::YieldRecommendations,
            "amount=5&address=0x779Ded0c9e1022225f8E0630b35a9b54bE713736",
        ),
        (Operation::HyperliquidMarket, "interval=1h"),
        (Operation::HyperliquidMarket, "interval=1H&coin=BTC"),
        (
            Operation::HlTransactionHistory,
            "start=2026-11-21T00:00:00Z&end=2026-11-20T00:00:00Z&type=fill&limit=501",
        ),
    ]
    .iter()
    .map(|(operation, query)| format!("{operation} {query}\n{}\n", problems(*operation, query, "")))
    .collect();
    insta::assert_snapshot!(shown);
    parse(
        Operation::YieldRecommendations,
        "chains=base,196&risk=high",
        "",
    );
    parse(Operation::YieldFarmingHistorical, "", "");
    parse(
        Operation::YieldFarmingHistorical,
        "pool=7da72d09-56ca-4ec5-a45f-59114353e487",
        "",
    );
}

#[test]
fn nested_rules_are_named_by_their_whole_path() {
    let body = json!({
        "rules": {
            "min_apy_delta_bps": "50", "max_slippage_bps": 0, "max_move_usd": 1000,
            "allowed_protocols": [], "check_interval": 3599, "extra.key": 1,
        },
        "mode": "Auto",
        "expires_at": 1_800_000_000,
    });
    insta::assert_snapshot!(problems(Operation::CreateYieldWatch, "", &body.to_string()));
}

#[test]
fn a_mandate_is_read_with_numbers_or_digits() {
    let body = json!({
        "rules": {
            "min_apy_delta_bps": "50", "max_slippage_bps": 50, "max_move_usd": "1000.0",
            "allowed_protocols": ["aave-v3", " morpho "], "check_interval": 3600,
        },
        "mode": "auto",
        "expires_at": "2027-01-31T00:00:00Z",
    });
    let parameters = parse(Operation::CreateYieldWatch, "", &body.to_string());
    let rules = parameters.object("rules").unwrap();
    assert_eq!(rules.integer("min_apy_delta_bps"), Some(50));
    assert_eq!(rules.text("max_move_usd"), Some("1000"));
    assert_eq!(
        rules.lines("allowed_protocols").unwrap(),
        ["aave-v3", "morpho"]
    );
    assert_eq!(
        parameters.timestamp_ms("expires_at"),
        Some(1_801_353_600_000)
    );
}

#[test]
fn actions_take_chains_lists_and_an_authorization() {
    let body = json!({
        "chain_id": 196, "from_token": USDT, "to_token": WOKB, "amount": "1",
        "principal_auth": {
            "signature": format!("0x{}", "11".repeat(65)),
            "authorization": {
                "from": USDT, "to": WOKB, "value": "1000000", "validAfter": "0",
                "validBefore": "1795223995", "nonce": format!("0x{}", "22".repeat(32)),
            },
        },
    });
    let parameters = parse(Operation::AutoSwap, "", &body.to_string());
    assert_eq!(parameters.chain("chain_id").unwrap().id, 196);
    let principal = parameters.object("principal_auth").unwrap();
    assert_eq!(principal.bytes("signature").unwrap().len(), 65);
    let authorization = principal.object("authorization").unwrap();
    assert_eq!(authorization.uint("value"), Some(U256::from(1_000_000)));
    assert!(authorization.hash("nonce").is_some());

    let body = json!({"asset": "USDC", "amount": "5", "chains": ["base", 196], "execute": true});
    let parameters = parse(Operation::YieldCopilot, "", &body.to_string());
    let ids: Vec<_> = parameters
        .chains("chains")
        .unwrap()
        .iter()
        .map(|chain| chain.id)
        .collect();
    assert_eq!(ids, [8453, 196]);
    assert_eq!(parameters.boolean("execute"), Some(true));
    assert_eq!(
        parse(
            Operation::AutoWithdraw,
            "",
            &json!({"chain_id": "base", "token": USDT, "amount": "max"}).to_string()
        )
        .text("amount"),
        Some("max")
    );
}

/// Some buyers know no types and send every value as text.
#[test]
fn every_value_of_a_body_may_be_text() {
    let text_of = |value: &Value| match value {
        Value::String(text) => json!(text),
        other => json!(other.to_string()),
    };
    let mut others = 0;
    for operation in Operation::ALL {
        let body = operation.route().example_call().body;
        let texts: serde_json::Map<_, _> = body
            .as_object()
            .unwrap()
            .iter()
            .inspect(|(_, value)| others += u32::from(!value.is_string()))
            .map(|(name, value)| (name.clone(), text_of(value)))
            .collect();
        let query = operation.route().example_call().target;
        let query = query.split_once('?').map_or("", |(_, query)| query);
        let typed = parse(operation, query, &body.to_string());
        let read = parse(operation, query, &json!(texts).to_string());
        assert_eq!(read, typed, "{operation}");
    }
    assert!(others > 2, "{others}");

    let typed = json!({"asset": "USDC", "amount": "5", "chains": ["base", 196], "execute": true});
    let typed = parse(Operation::YieldCopilot, "", &typed.to_string());
    for chains in ["base,196", "8453, xlayer", r#"["base", 196]"#] {
        let body = json!({"asset": "USDC", "amount": "5", "chains": chains, "execute": "true"});
        let read = parse(Operation::YieldCopilot, "", &body.to_string());
        assert_eq!(read, typed, "{chains}");
    }
    for (rules, problem) in [
        ("{", "body.rules: expected"),
        ("[]", "body.rules: expected"),
        ("{\"check_interval\":1}", "body.rules.min_apy_delta_bps: "),
    ] {
        let body = json!({"rules": rules, "mode": "notify", "expires_at": "2027-01-31T00:00:00Z"});
        let found = problems(Operation::CreateYieldWatch, "", &body.to_string());
        assert!(found.starts_with(problem), "{rules}: {found}");
    }
}

#[test]
fn the_list_of_problems_is_bounded() {
    let body: serde_json::Map<String, serde_json::Value> =
        (0..200).map(|n| (format!("key{n}"), json!(1))).collect();
    let found = Operation::Swap
        .route()
        .parse(None, json!(body).to_string().as_bytes())
        .unwrap_err();
    assert_eq!(found.len(), 33);
    assert_eq!(found[32].fault.code(), "too_many");
}

fn operations() -> impl Strategy<Value = Operation> {
    prop::sample::select(Operation::ALL.to_vec())
}

/// Makes texts that are valid, or close to valid, more often than random ones.
fn texts() -> impl Strategy<Value = String> {
    prop_oneof![
        any::<String>(),
        "[0-9]{1,80}",
        "[0-9]{1,3}(\\.[0-9]{1,3})?",
        "0x[0-9a-fA-F]{40}",
        "0x[0-9a-fA-F]{64}",
        "[a-z]{1,8}",
        "2026-[01][0-9]-[0-3][0-9]T[0-2][0-9]:00:00Z",
        prop::sample::select(vec![
            "base", "196,8453", "1h", "low", "apy", "true", "1", "fills"
        ])
        .prop_map(str::to_owned),
    ]
}

proptest! {
    #[test]
    fn no_request_panics(operation in operations(), query in any::<String>(), body in any::<Vec<u8>>()) {
        let _ = operation.route().parse(Some(&query), &body);
    }

    #[test]
    fn no_plausible_body_panics(operation in operations(), values in prop::collection::vec(texts(), 12)) {
        let route = operation.route();
        let body: serde_json::Map<_, _> = route.body.iter().zip(values)
            .map(|(parameter, value)| (parameter.name.to_owned(), json!(value)))
            .collect();
        let _ = route.parse(None, json!(body).to_string().as_bytes());
    }

    #[test]
    fn accepted_queries_round_trip(
        operation in operations().prop_filter("reads", |operation| !operation.route().takes_body()),
        values in prop::collection::vec(prop::option::of(texts()), 12),
    ) {
        let route = operation.route();
        let encode = |text: &str| text.bytes().map(|byte| format!("%{byte:02x}")).collect::<String>();
        let query: Vec<_> = route.query.iter().zip(values)
            .map(|(parameter, value)| {
                // Required parameters get a valid value most of the time, so that the other ones
                // are read too.
                let text = value.unwrap_or_else(|| parameter.example.to_owned());
                format!("{}={}", parameter.name, encode(&text))
            })
            .collect();
        if let Ok(parameters) = route.parse(Some(&query.join("&")), b"") {
            let again: Vec<_> = parameters.iter()
                .map(|(name, value)| format!("{name}={}", encode(&value.to_string())))
                .collect();
            prop_assert_eq!(route.parse(Some(&again.join("&")), b""), Ok(parameters));
        }
    }
}
