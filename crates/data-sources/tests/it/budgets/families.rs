//! Pauses that an upstream asks for cover the family of their limit.

use std::time::Duration;

use data_sources::{
    SourceErrorKind,
    defillama::Defillama,
    frankfurter::Frankfurter,
    okx::{Credentials, Okx, OkxConfig},
};
use serde_json::json;
use test_support::ManualClock;
use wiremock::{
    Mock, MockServer, ResponseTemplate,
    matchers::{any, path_regex},
};

use crate::budgets::{answering, config, kind, recorded_clock, request_count, transport};

fn okx(server: &MockServer, clock: &ManualClock) -> Okx {
    let secret = || "test".to_owned().into();
    let config = OkxConfig {
        base_url: server.uri(),
        credentials: Some(Credentials {
            api_key: secret(),
            secret_key: secret(),
            passphrase: secret(),
        }),
        ..OkxConfig::default()
    };
    Okx::new(&transport(), config, clock.shared()).unwrap()
}

#[tokio::test]
async fn a_rate_limit_without_a_time_pauses_the_upstream() {
    let server = answering(ResponseTemplate::new(429)).await;
    let clock = recorded_clock();
    let usual = config(&server, Frankfurter::SPEC.urls);
    let frankfurter = Frankfurter::new(&transport(), usual, clock.shared()).unwrap();
    let limited = |seconds| SourceErrorKind::RateLimited {
        retry_after: Some(seconds),
    };
    assert_eq!(kind(frankfurter.rates(None).await), limited(15));
    assert_eq!(request_count(&server).await, 1);
    clock.advance(Duration::from_secs(3));
    assert_eq!(kind(frankfurter.rates(None).await), limited(12));
    assert_eq!(request_count(&server).await, 1);
    clock.advance(Duration::from_secs(12));
    assert_eq!(kind(frankfurter.rates(None).await), limited(15));
    assert_eq!(request_count(&server).await, 2);
}

#[tokio::test]
async fn okx_keeps_away_from_the_family_that_was_limited() {
    let server = MockServer::start().await;
    Mock::given(path_regex("/market/"))
        .respond_with(ResponseTemplate::new(429).insert_header("retry-after", "60"))
        .mount(&server)
        .await;
    let nothing = json!({"code": "0", "data": [], "msg": ""});
    Mock::given(any())
        .respond_with(ResponseTemplate::new(200).set_body_json(nothing))
        .mount(&server)
        .await;
    let okx = okx(&server, &recorded_clock());
    let token = "0xe538905cf8410324e03A5A23C1c177a474D59b2b"
        .parse()
        .unwrap();
    let limited = kind(okx.price(token).await);
    assert_eq!(limited.reason(), "upstream_rate_limited");
    // The list of tokens belongs to another family: it is asked for, and answers.
    let told = kind(okx.tokens(None).await);
    assert_eq!(told.reason(), "upstream_malformed");
    assert_eq!(request_count(&server).await, 2);
    let held: Vec<_> = okx
        .source()
        .budget()
        .into_iter()
        .filter(|family| family.held_seconds.is_some())
        .map(|family| family.family)
        .collect();
    assert_eq!(held, ["okx.market"]);
}

#[tokio::test]
async fn hosts_of_one_upstream_are_held_one_by_one() {
    let server = MockServer::start().await;
    Mock::given(path_regex("^/protocols"))
        .respond_with(ResponseTemplate::new(429))
        .mount(&server)
        .await;
    Mock::given(any())
        .respond_with(ResponseTemplate::new(404))
        .mount(&server)
        .await;
    let usual = config(&server, Defillama::SPEC.urls);
    let defillama = Defillama::new(&transport(), usual, recorded_clock().shared()).unwrap();
    let protocols = kind(defillama.protocols(None).await);
    assert_eq!(protocols.reason(), "upstream_rate_limited");
    // The same host is not asked, another host is.
    let chains = kind(defillama.chains(None).await);
    assert_eq!(chains.reason(), "upstream_rate_limited");
    let chart = defillama
        .history("747c1d2a-c668-4682-b9f9-296708a3dd90", None)
        .await;
    assert_ne!(chart.unwrap_err().code(), "upstream_rate_limited");
    assert_eq!(request_count(&server).await, 2);
}

#[tokio::test]
async fn an_upstream_that_wants_to_be_paid_is_left_alone_for_long() {
    let server = answering(ResponseTemplate::new(402)).await;
    let clock = recorded_clock();
    let usual = config(&server, Frankfurter::SPEC.urls);
    let frankfurter = Frankfurter::new(&transport(), usual, clock.shared()).unwrap();
    let unpaid = |seconds| SourceErrorKind::PaymentRequired {
        retry_after: seconds,
    };
    assert_eq!(kind(frankfurter.rates(None).await), unpaid(3_600));
    assert_eq!(unpaid(1).reason(), "upstream_payment_required");
    clock.advance(Duration::from_secs(3000));
    assert_eq!(kind(frankfurter.rates(None).await), unpaid(600));
    let health = &frankfurter.source().health()[0];
    assert_eq!(health.state.as_str(), "payment_required");
    assert_eq!(health.reason.as_deref(), Some("upstream_payment_required"));
    assert_eq!(request_count(&server).await, 1);
    clock.advance(Duration::from_secs(600));
    frankfurter.rates(None).await.unwrap_err();
    assert_eq!(request_count(&server).await, 2);
}

/// While a call waits out a pause that the upstream asked for, no other call of its family is made.
#[tokio::test]
async fn every_call_of_a_family_waits_out_its_pause() {
    let server = MockServer::start().await;
    Mock::given(any())
        .respond_with(ResponseTemplate::new(429).insert_header("retry-after", "1"))
        .up_to_n_times(1)
        .mount(&server)
        .await;
    let nothing = json!({"code": "0", "data": [], "msg": ""});
    Mock::given(any())
        .respond_with(ResponseTemplate::new(200).set_body_json(nothing))
        .mount(&server)
        .await;
    let okx = okx(&server, &recorded_clock());
    let token = |byte| alloy_primitives::Address::repeat_byte(byte);
    let waiting = tokio::spawn({
        let okx = okx.clone();
        async move { okx.price(token(1)).await.unwrap_err().code() }
    });
    let held = async {
        while okx.source().budget()[0].held_seconds.is_none() {
            tokio::task::yield_now().await;
        }
    };
    let limit = std::time::Duration::from_secs(30);
    tokio::time::timeout(limit, held).await.unwrap();
    let limited = kind(okx.price(token(2)).await);
    assert!(
        matches!(limited, SourceErrorKind::RateLimited { .. }),
        "{limited:?}"
    );
    assert_eq!(request_count(&server).await, 1);
    // Another family is asked, and the waiting call continues.
    assert_eq!(kind(okx.tokens(None).await).reason(), "upstream_malformed");
    assert_eq!(waiting.await.unwrap(), "token_not_priced");
    assert_eq!(request_count(&server).await, 3);
    assert_eq!(okx.source().budget()[0].held_seconds, None);
}
