//! OKX: scans, holders, quotes.

use std::{sync::Arc, time::Duration};

use alloy_primitives::{Address, U256};
use data_sources::{
    okx::{Credentials, Okx, OkxConfig},
    transport::{Limits, Transport},
};
use readings::security::{Check, Judgement, Verdict};
use serde_json::json;
use test_support::ManualClock;
use wiremock::{
    Mock, MockServer, ResponseTemplate,
    matchers::{body_partial_json, method, path, query_param},
};

use crate::security::{
    USDG, USDT0, WOKB, answering, bad_days, json as answer, reason, recorded, recorded_clock,
};

const TRAP: Address = Address::repeat_byte(0x77);

fn okx(server: &MockServer) -> (Okx, ManualClock) {
    let clock = recorded_clock();
    let config = OkxConfig {
        base_url: server.uri(),
        credentials: Some(Credentials {
            api_key: "test-key".into(),
            secret_key: "test-secret".into(),
            passphrase: "test-passphrase".into(),
        }),
        limits: Limits {
            timeout: Duration::from_secs(10),
            backoff: Duration::ZERO,
            ..Limits::default()
        },
        ..OkxConfig::default()
    };
    let okx = Okx::new(&Transport::new().unwrap(), config, Arc::new(clock.clone())).unwrap();
    (okx, clock)
}

#[tokio::test]
async fn a_scan_is_asked_for_by_chain_and_address() {
    let server = MockServer::start().await;
    let asked = json!({"tokenList": [{"chainId": "196", "contractAddress": format!("{WOKB:#x}")}]});
    Mock::given(method("POST"))
        .and(path("/api/v6/security/token-scan"))
        .and(body_partial_json(asked))
        .respond_with(answer(&recorded("okx_security/token_scan_196_low")))
        .mount(&server)
        .await;
    let (okx, _clock) = okx(&server);
    let found = okx.token_scan(196, WOKB, None).await.unwrap();
    assert_eq!(found.sources[0].source, "okx.token-scan");
    assert_eq!(found.value.findings.len(), 19);
    assert_eq!(
        found.value.finding(Check::SelfDestruct),
        None,
        "it does not look for it"
    );
    let judged = Judgement::of(&[found.value]);
    // The scan has none of the severe checks, so the absence of findings does not mean that the
    // token is safe.
    assert_eq!(judged.verdict, Verdict::Caution);
    assert_eq!(judged.severe_unknown, Check::SEVERE);
}

#[tokio::test]
async fn a_trap_is_seen() {
    let server = answering(answer(&recorded("okx_security/token_scan_196_critical"))).await;
    let (okx, _clock) = okx(&server);
    let judged = Judgement::of(&[okx.token_scan(196, TRAP, None).await.unwrap().value]);
    assert_eq!((judged.verdict, judged.score), (Verdict::Danger, Some(0)));
    assert_eq!(
        judged.flags(),
        [
            "honeypot",
            "rated_critical",
            "sell_tax",
            "not_open_source",
            "buy_tax",
            "severe_checks_unknown"
        ]
    );
}

#[tokio::test]
async fn another_subject_and_an_empty_answer_have_different_errors() {
    let low = recorded("okx_security/token_scan_196_low");
    let server = answering(answer(&low)).await;
    let (okx, _clock) = okx(&server);
    assert_eq!(
        reason(okx.token_scan(196, USDG, None).await),
        "upstream_malformed"
    );
    assert_eq!(
        reason(okx.token_scan(1, WOKB, None).await),
        "upstream_malformed"
    );
    let mut unsupported = low.clone();
    unsupported["data"][0]["isChainSupported"] = json!(false);
    let bare =
        json!({"code": "0", "data": [{"chainId": "196", "tokenAddress": format!("{WOKB:#x}")}]});
    let none = json!({"code": "0", "data": []});
    for (body, expected) in [
        (unsupported, "chain_not_covered"),
        (bare, "no_scan"),
        (none, "no_scan"),
    ] {
        let server = answering(answer(&body)).await;
        let (okx, _clock) = self::okx(&server);
        assert_eq!(reason(okx.token_scan(196, WOKB, None).await), expected);
    }
}

#[tokio::test]
async fn every_bad_answer_has_its_error() {
    for (response, expected) in bad_days() {
        let server = answering(response).await;
        let (okx, _clock) = okx(&server);
        assert_eq!(reason(okx.token_scan(196, WOKB, None).await), expected);
    }
    for body in [
        json!({"code": "50026", "data": [], "msg": ""}),
        json!({"code": "0", "data": {}}),
    ] {
        let server = answering(answer(&body)).await;
        let (okx, _clock) = okx(&server);
        assert_ne!(
            reason(okx.token_scan(196, WOKB, None).await),
            "no_scan",
            "{body}"
        );
    }
}

#[tokio::test]
async fn holders_are_in_percent() {
    let server = MockServer::start().await;
    Mock::given(path("/api/v6/dex/market/token/holder"))
        .and(query_param("chainIndex", "196"))
        .and(query_param("tokenContractAddress", format!("{WOKB:#x}")))
        .respond_with(answer(&recorded("okx_security/token_holder_196")))
        .mount(&server)
        .await;
    let (okx, _clock) = okx(&server);
    let holders = okx.token_holders(WOKB, None).await.unwrap().value;
    let shares: Vec<_> = holders
        .iter()
        .map(|holder| holder.share_pct.to_string())
        .collect();
    assert_eq!(shares, ["10", "4"]);
    let empty = answering(answer(&json!({"code": "0", "data": []}))).await;
    let (okx, _clock) = self::okx(&empty);
    assert_eq!(
        reason(okx.token_holders(WOKB, None).await),
        "no_holder_list"
    );
}

#[tokio::test]
async fn a_quote_is_the_one_that_was_asked_for() {
    let server = MockServer::start().await;
    Mock::given(path("/api/v6/dex/aggregator/quote"))
        .and(query_param("amount", "10000000"))
        .and(query_param("fromTokenAddress", format!("{USDT0:#x}")))
        .respond_with(answer(&recorded("okx_security/quote_usdt0_usdg_10")))
        .mount(&server)
        .await;
    let (okx, _clock) = okx(&server);
    let ten = U256::from(10_000_000);
    let quote = okx.shown_quote(USDT0, USDG, ten, None).await.unwrap().value;
    assert_eq!(quote.amount_out_atoms, U256::from(9_998_100));
    assert_eq!((quote.hops, quote.received_decimals), (Some(1), Some(6)));
    assert_eq!(
        reason(okx.shown_quote(USDT0, WOKB, ten, None).await),
        "upstream_malformed"
    );
}

#[tokio::test]
async fn a_missing_route_is_an_answer_and_a_failure_is_not() {
    let server = answering(answer(&recorded("okx_security/quote_no_liquidity"))).await;
    let (okx, _clock) = okx(&server);
    let ten = U256::from(10_000_000);
    assert_eq!(
        reason(okx.shown_quote(USDT0, TRAP, ten, None).await),
        "no_route"
    );
    let down = answering(ResponseTemplate::new(503)).await;
    let (okx, _clock) = self::okx(&down);
    assert_eq!(
        reason(okx.shown_quote(USDT0, TRAP, ten, None).await),
        "upstream_http_503"
    );
}
