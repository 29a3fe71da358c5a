//! Tests of `/token-security` and `/vet-token`.

use serde_json::{Value, json};

use crate::routes::shop::{Shop, source, unavailable, unreachable};

const USDG: &str = "0x4ae46a509F6b1D9056937BA4500cb143933D2dc8";
const USDT0: &str = "0x779Ded0c9e1022225f8E0630b35a9b54bE713736";
const WOKB: &str = "0xe538905cf8410324e03A5A23C1c177a474D59b2b";
const TRAP: &str = "0x7777777777777777777777777777777777777777";
const STRANGER: &str = "0x00000000000000000000000000000000DeaDBeef";

fn audit(token: &str, chain: &str) -> String {
    format!("/token-security?address={token}&chain={chain}")
}

#[tokio::test]
async fn on_the_home_chain_okx_scans_and_its_missing_checks_are_null() {
    let shop = Shop::open().await;
    let body = shop
        .buy(&format!("/token-security?address={USDG}&provenance=1"))
        .await;
    let data = &body["data"];
    assert_eq!(
        (&data["address"], &data["chain_id"]),
        (&json!(USDG), &json!(196))
    );
    assert_eq!(data["verdict"], "caution");
    assert_eq!(
        data["flags"],
        json!([
            "freezable",
            "mintable",
            "not_renounced",
            "rated_medium",
            "severe_checks_unknown"
        ])
    );
    assert_eq!(data["risk_level"], "medium");
    assert_eq!(
        data["checks"]["honeypot"],
        json!({"value": false, "source": "okx.token-scan"})
    );
    assert_eq!(data["taxes"], json!({"buy_pct": "0", "sell_pct": "0"}));
    assert_eq!(data["token"]["symbol"], "USDG");
    assert_eq!(data["sources"], json!(["okx.token-scan"]));
    // Only the other scanner makes this check, and it does not cover the chain.
    assert_eq!(data["checks"]["hidden_owner"]["value"], Value::Null);
    assert_eq!(
        unavailable(&body, "data.checks.hidden_owner.value")["reason"],
        "chain_not_covered"
    );
    assert_eq!(
        source(&body, "goplus.token-security")["reason"],
        "chain_not_covered"
    );
    assert_eq!(source(&body, "okx.token-scan")["mode"], "replay");
    let honeypot = &body["meta"]["provenance"]["/data/checks/honeypot/value"];
    assert_eq!(
        (&honeypot["source"], &honeypot["method"]),
        (&json!("okx.token-scan"), &json!("direct"))
    );
}

#[tokio::test]
async fn elsewhere_both_scan_and_their_answers_are_merged() {
    let shop = Shop::open().await;
    let body = shop
        .buy(&audit("0x4200000000000000000000000000000000000006", "BASE"))
        .await;
    let data = &body["data"];
    assert_eq!(
        (&data["verdict"], &data["score"], &data["chain_id"]),
        (&json!("safe"), &json!(100), &json!(8453))
    );
    assert_eq!(
        data["sources"],
        json!(["goplus.token-security", "okx.token-scan"])
    );
    assert_eq!(data["ownership"]["renounced"], true);
    assert_eq!(data["holders"]["count"], 4_123_456);
    // One of the two is a burn address and the other a precompile, so neither counts as a holder.
    assert_eq!(data["holders"]["excluded"].as_array().unwrap().len(), 2);
    assert_eq!(data["liquidity"]["lp_locked_pct"], "60");
    assert_eq!(
        data["liquidity"]["pools"][0]["liquidity_usd"],
        "40123456.78"
    );
}

#[tokio::test]
async fn a_trap_is_danger_for_any_scanner() {
    let shop = Shop::open().await;
    let home = shop.buy(&audit(TRAP, "196")).await;
    assert_eq!(
        (&home["data"]["verdict"], &home["data"]["score"]),
        (&json!("danger"), &json!(0))
    );
    assert_eq!(home["data"]["checks"]["honeypot"]["value"], true);
    let base = shop
        .buy(&audit("0x8888888888888888888888888888888888888888", "base"))
        .await;
    assert_eq!(base["data"]["verdict"], "danger");
    assert_eq!(base["data"]["taxes"]["sell_pct"], "100");
    // The source of this contract is closed, so nobody knows whether it is a honeypot. That is no
    // good sign.
    let closed = shop.buy(&audit(TRAP, "bsc")).await;
    assert_eq!(closed["data"]["checks"]["honeypot"]["value"], Value::Null);
    assert_eq!(closed["data"]["verdict"], "danger");
    assert_ne!(
        unavailable(&closed, "data.checks.honeypot.value"),
        &Value::Null
    );
}

#[tokio::test]
async fn without_any_scan_nothing_is_sold() {
    let shop = Shop::open().await;
    for target in [
        audit(STRANGER, "196"),
        audit(STRANGER, "ethereum"),
        format!("/vet-token?address={STRANGER}"),
    ] {
        let error = shop.refused(&target, 503, "core_data_missing").await;
        assert_eq!(error["missing"], json!(["security_scan"]), "{target}");
        assert_eq!(
            (&error["reason"], &error["retryable"]),
            (&json!("no_scan"), &json!(false)),
            "{target}"
        );
    }
    for nobody in [
        "0xEeeeeEeeeEeEeeEeEeEeeEEEeeeeEeeeeeeeEEeE",
        "0x0000000000000000000000000000000000000000",
    ] {
        let error = shop
            .refused(&audit(nobody, "196"), 422, "unsupported")
            .await;
        assert_eq!(error["reason"], "no_contract");
    }
    shop.refused(&audit(USDG, "solana"), 400, "invalid_params")
        .await;
    shop.refused("/vet-token?address=0x12", 400, "invalid_params")
        .await;
}

#[tokio::test]
async fn one_scanner_stands_in_for_the_other() {
    let okx_down = Shop::without(&["okx"]).await;
    // The home chain has no other scanner.
    let error = okx_down
        .refused(&audit(USDG, "196"), 503, "core_data_missing")
        .await;
    assert_eq!(
        (&error["reason"], &error["retryable"]),
        (&json!("upstream_unreachable"), &json!(true))
    );
    okx_down
        .refused(
            &format!("/vet-token?address={USDG}"),
            503,
            "core_data_missing",
        )
        .await;
    let base = okx_down
        .buy(&audit("0x4200000000000000000000000000000000000006", "8453"))
        .await;
    assert_eq!(base["data"]["sources"], json!(["goplus.token-security"]));
    assert_eq!(source(&base, "okx.token-scan")["status"], "unavailable");
    assert_eq!(base["data"]["checks"]["dumping"]["value"], Value::Null);
    let reason = unavailable(&base, "data.checks.dumping.value")["reason"]
        .as_str()
        .unwrap();
    assert!(unreachable(reason), "{reason}");

    let goplus_down = Shop::without(&["goplus"]).await;
    let base = goplus_down
        .buy(&audit("0x4200000000000000000000000000000000000006", "8453"))
        .await;
    // No other source makes the severe checks.
    assert_eq!(
        (&base["data"]["verdict"], &base["data"]["sources"]),
        (&json!("caution"), &json!(["okx.token-scan"]))
    );
    goplus_down.buy(&audit(USDG, "196")).await;
}

#[tokio::test]
async fn a_limit_and_an_unfinished_scan_inside_a_success_are_no_scans() {
    let limited = Shop::in_scenario("goplus_rate_limited").await;
    let body = limited
        .buy(&audit("0x4200000000000000000000000000000000000006", "8453"))
        .await;
    assert_eq!(
        source(&body, "goplus.token-security")["reason"],
        "upstream_rate_limited"
    );
    assert_eq!(body["data"]["sources"], json!(["okx.token-scan"]));
    let partial = Shop::in_scenario("goplus_partial").await;
    let body = partial
        .buy(&audit("0x4200000000000000000000000000000000000006", "8453"))
        .await;
    // The finished scan of the other scanner clears the token; the unfinished one contributes its
    // results.
    assert_eq!(body["data"]["checks"]["not_open_source"]["value"], false);
    assert_eq!(
        body["data"]["checks"]["honeypot"]["source"],
        "okx.token-scan"
    );
}

#[tokio::test]
async fn vetting_buys_and_sells() {
    let shop = Shop::open().await;
    let body = shop.buy(&format!("/vet-token?address={USDG}")).await;
    let data = &body["data"];
    assert_eq!(data["verdict"], "caution");
    assert_eq!(data["security"]["verdict"], "caution");
    let trade = &data["tradeability"];
    assert_eq!(
        (&trade["can_buy"], &trade["can_sell"]),
        (&json!(true), &json!(true))
    );
    assert_eq!(trade["counter_token"]["symbol"], "USD₮0");
    assert_eq!(trade["buy_quote"][0]["amount_in_atoms"], "10000000");
    // The sale uses the bought amount.
    assert_eq!(
        trade["sell_quote"][1]["amount_in_atoms"],
        trade["buy_quote"][1]["amount_out_atoms"]
    );
    assert_eq!(
        trade["round_trip"][0],
        json!({"usd": "10", "loss_pct": "0.04"})
    );
    assert_eq!(trade["price_impact_pct"], "-0.01");
    // A burn address does not count as a holder.
    let holders = &data["holders"];
    assert_eq!(holders["top10_counted"], 10);
    let excluded = holders["excluded"].as_array().unwrap();
    assert!(
        excluded.iter().any(|holder| holder["kind"] == "burn"),
        "{excluded:?}"
    );
    assert!(data["price"]["price_usd"].is_string());
}

#[tokio::test]
async fn a_dollar_token_is_tried_against_another() {
    let shop = Shop::open().await;
    let body = shop.buy(&format!("/vet-token?address={USDT0}")).await;
    assert_eq!(
        body["data"]["tradeability"]["counter_token"]["symbol"],
        "USDG"
    );
    assert_eq!(body["data"]["tradeability"]["can_sell"], true);
    let okb = shop.buy(&format!("/vet-token?address={WOKB}")).await;
    assert_eq!(okb["data"]["tradeability"]["route_count"], 2);
    // The chain's only scanner makes none of the severe checks. That does not make the token safe.
    let data = &okb["data"];
    assert_eq!(
        (&data["verdict"], &data["score"]),
        (&json!("caution"), &json!(44))
    );
    assert_eq!(data["security"]["verdict"], "caution");
    let flags = data["flags"].as_array().unwrap();
    assert!(flags.contains(&json!("severe_checks_unknown")), "{flags:?}");
    let rests_on = &data["rests_on"];
    assert_eq!(rests_on["scanners"], json!(["okx.token-scan"]));
    assert_eq!(rests_on["severe_unknown"].as_array().unwrap().len(), 7);
    assert_eq!(
        (&rests_on["checks_made"], &rests_on["checks_total"]),
        (&json!(19), &json!(36))
    );
    assert_eq!(rests_on["round_trips_quoted_usd"], json!(["10", "1000"]));
}

#[tokio::test]
async fn a_token_that_can_be_bought_and_not_sold_is_a_trap() {
    let shop = Shop::open().await;
    let body = shop.buy(&format!("/vet-token?address={TRAP}")).await;
    let trade = &body["data"]["tradeability"];
    assert_eq!(
        (&trade["can_buy"], &trade["can_sell"]),
        (&json!(true), &json!(false))
    );
    assert_eq!(
        trade["sell_quote"][0],
        json!({"usd": "10", "status": "no_route"})
    );
    let flags = body["data"]["flags"].as_array().unwrap();
    assert!(
        flags.contains(&json!("cannot_sell")) && flags.contains(&json!("honeypot")),
        "{flags:?}"
    );
    assert_eq!(
        (&body["data"]["verdict"], &body["data"]["score"]),
        (&json!("danger"), &json!(0))
    );
    assert_eq!(
        unavailable(&body, "data.tradeability.round_trip[].loss_pct")["reason"],
        "no_route"
    );
}
