//! GoPlus.

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
    time::Duration,
};

use data_sources::{Clock, Mode, SourceConfig, goplus::Goplus, transport::Transport};
use jiff::Timestamp;
use readings::security::{Check, Judgement, Verdict};
use serde_json::json;
use test_support::ManualClock;
use wiremock::{
    Mock, MockServer,
    matchers::{any, body_partial_json, header, header_exists, method, path, query_param},
};

use crate::security::{
    EXT, USDG, WOKB, answering, bad_days, json as answer, reason, recorded, recorded_clock,
};

fn goplus(server: &MockServer, keys: Option<(&str, &str)>) -> (Goplus, ManualClock) {
    let clock = recorded_clock();
    let config = SourceConfig {
        urls: BTreeMap::from([("base_url".to_owned(), server.uri())]),
        api_key: keys.map(|(key, _)| key.into()),
        secret_key: keys.map(|(_, secret)| secret.into()),
        ..SourceConfig::default()
    };
    let goplus = Goplus::new(&Transport::new().unwrap(), config, Arc::new(clock.clone())).unwrap();
    (goplus, clock)
}

/// A clock whose readings always differ.
struct Ticking(AtomicI64);

impl Clock for Ticking {
    fn now(&self) -> Timestamp {
        Timestamp::from_second(self.0.fetch_add(1, Ordering::Relaxed)).unwrap()
    }
}

async fn requests(server: &MockServer) -> usize {
    server.received_requests().await.unwrap().len()
}

#[tokio::test]
async fn a_scan_is_asked_for_once_in_ten_minutes() {
    let server = MockServer::start().await;
    Mock::given(method("GET"))
        .and(path("/api/v1/token_security/8453"))
        .and(query_param(
            "contract_addresses",
            "0x4200000000000000000000000000000000000006",
        ))
        .respond_with(answer(&recorded("goplus/token_security_8453_full")))
        .mount(&server)
        .await;
    let (goplus, clock) = goplus(&server, None);
    let found = goplus.token_security(8453, EXT, None).await.unwrap();
    assert_eq!(found.value.token.symbol.as_deref(), Some("EXT"));
    assert_eq!(found.value.finding(Check::Honeypot), Some(false));
    assert_eq!(found.sources[0].source, "goplus.token-security");
    assert_eq!(
        (found.sources[0].mode, found.sources[0].as_of),
        (Mode::Live, None)
    );
    clock.advance(Duration::from_secs(599));
    assert!(
        goplus
            .token_security(8453, EXT, None)
            .await
            .unwrap()
            .sources[0]
            .cached
    );
    assert_eq!(requests(&server).await, 1);
    goplus
        .token_security(8453, EXT, Some(Duration::from_secs(60)))
        .await
        .unwrap();
    assert_eq!(requests(&server).await, 2);
    let keyless = &server.received_requests().await.unwrap()[0];
    assert!(!keyless.headers.contains_key("authorization"));
}

#[tokio::test]
async fn a_scan_that_had_not_finished_is_asked_for_again() {
    let server = MockServer::start().await;
    Mock::given(any())
        .respond_with(answer(&recorded("goplus/partial")))
        .up_to_n_times(1)
        .mount(&server)
        .await;
    Mock::given(any())
        .respond_with(answer(&recorded("goplus/token_security_8453_full")))
        .mount(&server)
        .await;
    let (goplus, clock) = goplus(&server, None);
    let partial = goplus.token_security(8453, EXT, None).await.unwrap().value;
    assert!(!partial.complete);
    assert_eq!(Judgement::of(&[partial]).verdict, Verdict::Unknown);
    clock.advance(Duration::from_secs(14));
    assert!(
        !goplus
            .token_security(8453, EXT, None)
            .await
            .unwrap()
            .value
            .complete
    );
    assert_eq!(requests(&server).await, 1);
    clock.advance(Duration::from_secs(2));
    assert!(
        goplus
            .token_security(8453, EXT, None)
            .await
            .unwrap()
            .value
            .complete
    );
    assert_eq!(requests(&server).await, 2);
}

#[tokio::test]
async fn a_rate_limit_inside_a_success_is_a_rate_limit() {
    let server = answering(answer(&recorded("goplus/rate_limited"))).await;
    let (goplus, clock) = goplus(&server, None);
    for _ in 0..3 {
        assert_eq!(
            reason(goplus.token_security(8453, EXT, None).await),
            "upstream_rate_limited"
        );
        clock.advance(Duration::from_secs(3));
    }
    // It is not asked in the meantime.
    assert_eq!(requests(&server).await, 1);
    assert_eq!(goplus.source().health()[0].state.as_str(), "unavailable");
}

#[tokio::test]
async fn an_unknown_token_has_no_scan() {
    let bare = json!({"code": 1, "message": "OK", "result": {"0xe538905cf8410324e03a5a23c1c177a474d59b2b": {}}});
    let null = json!({"code": 1, "message": "OK", "result": null});
    for body in [recorded("goplus/token_security_196_empty"), bare, null] {
        let server = answering(answer(&body)).await;
        let (goplus, _clock) = goplus(&server, None);
        assert_eq!(
            reason(goplus.token_security(196, WOKB, None).await),
            "no_scan"
        );
        // The source stays healthy: the absence is an answer and no failure.
        assert_eq!(goplus.source().health()[0].state.as_str(), "ok");
    }
}

#[tokio::test]
async fn an_answer_about_another_token_is_refused() {
    let server = answering(answer(&recorded("goplus/token_security_8453_full"))).await;
    let (goplus, _clock) = goplus(&server, None);
    assert_eq!(
        reason(goplus.token_security(8453, USDG, None).await),
        "upstream_malformed"
    );
}

#[tokio::test]
async fn every_bad_answer_has_its_error() {
    for (response, expected) in bad_days() {
        let server = answering(response).await;
        let (goplus, _clock) = goplus(&server, None);
        assert_eq!(
            reason(goplus.token_security(8453, EXT, None).await),
            expected
        );
    }
    for (body, expected) in [
        (
            json!({"code": 5000, "message": "error", "result": {}}),
            "upstream_business_5000",
        ),
        (
            json!({"code": 2018, "message": "not supported", "result": null}),
            "upstream_business_2018",
        ),
        (json!({"code": "1", "result": {}}), "upstream_malformed"),
        (json!({"code": 1, "result": []}), "upstream_malformed"),
        (
            json!({"code": 1, "result": {"0x4200000000000000000000000000000000000006": "safe"}}),
            "upstream_malformed",
        ),
    ] {
        let server = answering(answer(&body)).await;
        let (goplus, _clock) = goplus(&server, None);
        assert_eq!(
            reason(goplus.token_security(8453, EXT, None).await),
            expected,
            "{body}"
        );
    }
}

#[tokio::test]
async fn the_chains_are_polled_daily() {
    let server = MockServer::start().await;
    Mock::given(path("/api/v1/supported_chains"))
        .and(query_param("name", "token_security"))
        .respond_with(answer(&recorded("goplus/supported_chains")))
        .mount(&server)
        .await;
    let (goplus, clock) = goplus(&server, None);
    let chains = goplus.supported_chains().await.unwrap().value;
    assert!(chains.contains(&8453) && !chains.contains(&196));
    clock.advance(Duration::from_secs(23 * 3600));
    goplus.supported_chains().await.unwrap();
    assert_eq!(requests(&server).await, 1);
    clock.advance(Duration::from_secs(2 * 3600));
    goplus.supported_chains().await.unwrap();
    assert_eq!(requests(&server).await, 2);
    for nothing in [json!([]), json!([{"id": "solana", "name": "Solana"}])] {
        let server = answering(answer(&json!({"code": 1, "result": nothing}))).await;
        let (goplus, _clock) = self::goplus(&server, None);
        assert_eq!(
            reason(goplus.supported_chains().await),
            "upstream_malformed"
        );
    }
}

#[tokio::test]
async fn configured_keys_give_calls_an_access_token() {
    let server = MockServer::start().await;
    Mock::given(method("POST"))
        .and(path("/api/v1/token"))
        .and(body_partial_json(
            json!({"app_key": "app-key", "time": crate::security::NOW}),
        ))
        .respond_with(answer(
            &json!({"code": 1, "result": {"access_token": "granted", "expires_in": 7200}}),
        ))
        .mount(&server)
        .await;
    Mock::given(method("GET"))
        .and(header("authorization", "granted"))
        .respond_with(answer(&recorded("goplus/token_security_8453_full")))
        .mount(&server)
        .await;
    let (goplus, clock) = goplus(&server, Some(("app-key", "app-secret")));
    goplus.token_security(8453, EXT, None).await.unwrap();
    clock.advance(Duration::from_secs(60));
    goplus
        .token_security(8453, EXT, Some(Duration::from_secs(30)))
        .await
        .unwrap();
    let requests = server.received_requests().await.unwrap();
    // One token for both calls, and the secret itself is never sent.
    assert_eq!(requests.len(), 3);
    assert!(
        requests
            .iter()
            .all(|request| !String::from_utf8_lossy(&request.body).contains("app-secret"))
    );
    assert!(!format!("{goplus:?}").contains("app-secret"));
}

#[tokio::test]
async fn an_access_token_that_is_not_known_is_replaced_once() {
    let server = MockServer::start().await;
    Mock::given(method("POST"))
        .respond_with(answer(
            &json!({"code": 1, "result": {"access_token": "granted"}}),
        ))
        .mount(&server)
        .await;
    Mock::given(method("GET"))
        .and(header_exists("authorization"))
        .respond_with(answer(
            &json!({"code": 4023, "message": "access token not found", "result": null}),
        ))
        .mount(&server)
        .await;
    let config = SourceConfig {
        urls: BTreeMap::from([("base_url".to_owned(), server.uri())]),
        api_key: Some("app-key".into()),
        secret_key: Some("app-secret".into()),
        ..SourceConfig::default()
    };
    let clock = Arc::new(Ticking(AtomicI64::new(crate::security::NOW)));
    let goplus = Goplus::new(&Transport::new().unwrap(), config, clock).unwrap();
    assert_eq!(
        reason(goplus.token_security(8453, EXT, None).await),
        "upstream_business_4023"
    );
    assert_eq!(requests(&server).await, 4);
}

#[tokio::test]
async fn calls_without_an_access_token_carry_no_key() {
    let server = MockServer::start().await;
    Mock::given(method("POST"))
        .respond_with(answer(
            &json!({"code": 4012, "message": "wrong signature", "result": null}),
        ))
        .mount(&server)
        .await;
    Mock::given(method("GET"))
        .respond_with(answer(&recorded("goplus/token_security_8453_full")))
        .mount(&server)
        .await;
    let (goplus, _clock) = goplus(&server, Some(("app-key", "app-secret")));
    goplus.token_security(8453, EXT, None).await.unwrap();
    let last = server.received_requests().await.unwrap().pop().unwrap();
    assert!(!last.headers.contains_key("authorization"));
}
