//! The tool `@agentcash/discovery` finds the operations of the service and their prices.

use std::collections::BTreeSet;

use judges::run;
use serde_json::Value;

use crate::world::World;

/// Every operation with its price (`docs/ROUTES.md`). The list is written out here, so that the
/// judge does not take it from the code that it judges.
const OPERATIONS: [(&str, &str, &str); 45] = [
    ("POST", "/swap", "0.01"),
    ("GET", "/market-alpha", "0.005"),
    ("GET", "/price", "0.002"),
    ("GET", "/all-tokens", "0.002"),
    ("GET", "/approve", "0.005"),
    ("GET", "/crypto-news", "0.001"),
    ("GET", "/token-alpha", "0.001"),
    ("GET", "/kol-sentiment", "0.003"),
    ("GET", "/trending-altcoins", "0.001"),
    ("GET", "/mega-report", "0.05"),
    ("GET", "/token-security", "0.001"),
    ("GET", "/funding-rates", "0.001"),
    ("GET", "/defi-analytics", "0.001"),
    ("GET", "/filtered-news", "0.001"),
    ("GET", "/twitter-summary", "0.001"),
    ("GET", "/token-details", "0.001"),
    ("GET", "/yield-alpha", "0.001"),
    ("GET", "/tradfi-data", "0.001"),
    ("GET", "/vet-token", "0.01"),
    ("GET", "/token-deep-dive", "0.05"),
    ("GET", "/rwa-pulse", "0.05"),
    ("GET", "/generate-meme", "0.15"),
    ("GET", "/llm-research", "0.10"),
    ("GET", "/tx-explainer", "0.01"),
    ("GET", "/portfolio", "0.001"),
    ("GET", "/supported-tokens", "0.001"),
    ("GET", "/hl-transaction-history", "0.001"),
    ("GET", "/hyperliquid-account", "0.001"),
    ("GET", "/hyperliquid-market", "0.001"),
    ("GET", "/idle-capital", "0.001"),
    ("GET", "/yield-farming-active", "0.001"),
    ("GET", "/yield-farming-historical", "0.001"),
    ("GET", "/yield-markets", "0.001"),
    ("GET", "/yield-recommendations", "0.001"),
    ("GET", "/sub-wallet", "0.01"),
    ("POST", "/auto-swap", "0.05"),
    ("POST", "/auto-bridge", "0.05"),
    ("POST", "/auto-withdraw", "0.05"),
    ("POST", "/auto-defi-invest", "0.05"),
    ("POST", "/auto-defi-withdraw", "0.05"),
    ("POST", "/yield-copilot", "0.05"),
    ("POST", "/yield-watch", "0.001"),
    ("DELETE", "/yield-watch", "0.001"),
    ("GET", "/yield-watch", "0.001"),
    ("GET", "/yield-watch/audit", "0.001"),
];

/// The operations that are free.
const FREE: [&str; 24] = [
    "/",
    "/.well-known/x402",
    "/artifacts/{sha256}",
    "/intents/{id}",
    "/delegation/grants",
    "/delegation/grants/{account}/{grant_id}",
    "/delegation/grants/{account}/{grant_id}/log",
    "/delegation/limits",
    "/delegation/policy",
    "/delegation/revocations",
    "/delegation/status",
    "/delegation/submissions",
    "/delegation/submissions/{payload_digest}",
    "/favicon.ico",
    "/freshness",
    "/healthz",
    "/icon.svg",
    "/llms.txt",
    "/metrics",
    "/openapi.json",
    "/payments/{asset}/{payer}/{nonce}",
    "/readyz",
    "/status",
    "/status/detail",
];

async fn ask(world: &World, verb: &str, url: &str) -> Value {
    let mut command = world.toolchain.discovery();
    command.args([verb, url, "--json"]);
    serde_json::from_str(&run(command, b"").await.unwrap()).unwrap()
}

/// What the tool rates as an error: whether it is only that the header of a 402 has no schemas, and
/// the rest. The schemas stand in the body, which the tool does not read.
fn errors(report: &Value) -> (bool, Vec<&Value>) {
    let warnings = report["warnings"].as_array().unwrap().iter();
    let errors = warnings.filter(|warning| warning["severity"] == "error");
    let (of_header, others): (Vec<_>, Vec<_>) = errors.partition(|error| {
        let path = error["path"].as_str().unwrap_or_default();
        path.starts_with("extensions.bazaar.schema") && error["stage"] == "payment_required"
    });
    (!of_header.is_empty(), others)
}

/// For registries that judge the header.
const IN_HEADER: &str = "bazaar_in_header = true\n";

#[tokio::test]
async fn every_operation_is_found_with_its_price() {
    let world = World::start().await;
    let report = ask(&world, "discover", &world.service.url("")).await;
    assert_eq!(report["ok"], true, "{report:#}");
    assert_eq!(errors(&report), (true, vec![]));
    // The tool reads the structured form. It only notes that the old form is there as well.
    let warnings = report["warnings"].as_array().unwrap();
    for complaint in [
        "OPENAPI_CONTACT_MISSING",
        "FAVICON_MISSING",
        "L2_X402_MALFORMED",
        "L4_GUIDANCE_MISSING",
    ] {
        assert!(
            !warnings.iter().any(|warning| warning["code"] == complaint),
            "{report:#}"
        );
    }

    let resources = report["resources"].as_array().unwrap();
    let (paid, free): (Vec<&Value>, _) = resources
        .iter()
        .partition(|resource| resource["authHint"] == "paid");
    assert_eq!(paid.len(), OPERATIONS.len(), "{report:#}");
    let found: BTreeSet<(String, String, String)> = paid
        .iter()
        .map(|resource| {
            assert_eq!(
                resource["protocols"],
                serde_json::json!(["x402"]),
                "{resource}"
            );
            let text = |name: &str| resource[name].as_str().unwrap_or_default().to_owned();
            (text("method"), text("path"), dollars(&text("priceHint")))
        })
        .collect();
    let expected = OPERATIONS.iter().map(|&(method, path, price)| {
        (
            method.to_owned(),
            path.to_owned(),
            dollars(&format!("{price} USD")),
        )
    });
    assert_eq!(found, expected.collect());
    for resource in free {
        assert_eq!(resource["authHint"], "unprotected", "{resource}");
        assert!(resource.get("priceHint").is_none(), "{resource}");
        assert!(
            FREE.contains(&resource["path"].as_str().unwrap()),
            "{resource}"
        );
    }
    world.stop().await;
}

#[tokio::test]
async fn live_challenges_with_schemas_in_the_header_cause_no_complaints() {
    let world = World::configured(IN_HEADER).await;
    // The paths: a GET with parameters, a GET without, a POST, and the only path with three
    // methods.
    for path in ["/price", "/all-tokens", "/swap", "/yield-watch"] {
        let report = ask(&world, "check", &world.service.url(path)).await;
        assert_eq!(report["found"], true, "{report:#}");
        assert_eq!(errors(&report), (false, vec![]), "{path}");
        for advisory in report["advisories"].as_array().unwrap() {
            assert_eq!(advisory["authMode"], "paid", "{path}: {advisory}");
            assert!(
                advisory["inputSchema"].is_object() || path == "/all-tokens",
                "{advisory}"
            );
        }
    }
    world.stop().await;
}

/// The price without trailing zeros: `0.10 USD` and `0.1 USD` are the same price.
fn dollars(hint: &str) -> String {
    let number = hint.strip_suffix(" USD").expect("a price in USD");
    number.trim_end_matches('0').to_owned()
}
