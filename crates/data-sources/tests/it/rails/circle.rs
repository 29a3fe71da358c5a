//! Circle's service of attestations: its fees, its limits and its failures.

mod attestations;
mod fees;

use std::sync::Arc;
use std::time::Duration;

use alloy_primitives::U256;
use data_sources::VenueConfig;
use data_sources::circle::{Circle, CircleConfig};
use plan_builder::ports::{BridgeFeeReading, BridgeFees as _};
use wiremock::{MockServer, ResponseTemplate};

use crate::rails::*;

fn config(base_url: String) -> CircleConfig {
    CircleConfig {
        base_url,
        common: VenueConfig {
            limits: limits(),
            ..VenueConfig::default()
        },
    }
}

fn circle(config: CircleConfig) -> Circle {
    Circle::new(&transport(), config, Arc::new(recorded_clock())).unwrap()
}

async fn fees(response: ResponseTemplate, forward: bool) -> Result<BridgeFeeReading, PortError> {
    let server = answering(response).await;
    circle(config(server.uri())).fees(6, 3, forward).await
}

async fn allowance(response: ResponseTemplate) -> Result<U256, PortError> {
    let server = answering(response).await;
    circle(config(server.uri())).fast_allowance().await
}

fn place<T: std::fmt::Debug>(result: Result<T, PortError>) -> String {
    match reason(result, "circle") {
        PortErrorReason::Malformed { path, .. } => path,
        other => panic!("{other}"),
    }
}

#[tokio::test]
async fn a_rate_limit_locks_out_for_five_minutes() {
    let server = MockServer::start().await;
    Mock::given(any())
        .respond_with(failure(429, &recorded("circle/error_rate_limited.json")))
        .up_to_n_times(1)
        .mount(&server)
        .await;
    Mock::given(any())
        .respond_with(json(&recorded("circle/fees_fast.json")))
        .mount(&server)
        .await;
    let clock = recorded_clock();
    let circle = Circle::new(&transport(), config(server.uri()), Arc::new(clock.clone())).unwrap();
    assert_eq!(
        reason(circle.fees(6, 3, false).await, "circle"),
        limited(Some(300))
    );
    // Both calls are locked out, and neither is sent.
    clock.advance(Duration::from_secs(100));
    assert_eq!(
        reason(circle.fees(6, 3, false).await, "circle"),
        limited(Some(200))
    );
    assert_eq!(
        reason(circle.fast_allowance().await, "circle"),
        limited(Some(200))
    );
    clock.advance(Duration::from_secs(199));
    assert_eq!(
        reason(circle.fees(0, 3, false).await, "circle"),
        limited(Some(1))
    );
    assert_eq!(request_count(&server).await, 1);
    clock.advance(Duration::from_secs(1));
    circle.fees(6, 3, false).await.unwrap();
    assert_eq!(request_count(&server).await, 2);
}

#[tokio::test]
async fn a_longer_pause_than_the_lockout_is_kept_to() {
    for (asked, kept) in [("900", 900), ("1", 300)] {
        let limit = ResponseTemplate::new(429).insert_header("retry-after", asked);
        assert_eq!(
            reason(fees(limit, false).await, "circle"),
            limited(Some(kept))
        );
    }
}

#[tokio::test]
async fn failures_of_the_upstream_have_their_reasons() {
    assert_eq!(
        reason(fees(ResponseTemplate::new(503), false).await, "circle"),
        unavailable("fees: http status 503")
    );
    assert_eq!(
        reason(fees(ResponseTemplate::new(403), false).await, "circle"),
        unavailable("fees: http status 403")
    );
    assert_eq!(
        reason(
            fees(
                ResponseTemplate::new(200).set_body_raw("<html>", "text/html"),
                false
            )
            .await,
            "circle"
        ),
        malformed("$", "fees: content type \"text/html\" instead of json")
    );
    assert_eq!(
        reason(
            fees(raw(r#"[{"finalityThreshold":2000"#), false).await,
            "circle"
        ),
        malformed(
            "$",
            "fees: expected a json document, got EOF while parsing an object at line 1 column 26"
        )
    );
    assert_eq!(
        reason(circle(config(dropping())).fast_allowance().await, "circle"),
        unavailable("allowance: not reachable")
    );
    let server = answering(hanging(json(&recorded("circle/fees_fast.json")))).await;
    let slow = circle(CircleConfig {
        common: VenueConfig {
            limits: impatient(),
            ..VenueConfig::default()
        },
        ..config(server.uri())
    });
    assert_eq!(
        reason(slow.fees(6, 3, false).await, "circle"),
        unavailable("fees: no answer within 50 ms")
    );
    let off = circle(CircleConfig {
        common: VenueConfig {
            enabled: false,
            ..VenueConfig::default()
        },
        ..config(server.uri())
    });
    assert_eq!(
        reason(off.fees(6, 3, false).await, "circle"),
        unavailable("fees: disabled: switched off in the configuration")
    );
}

#[tokio::test]
async fn health_is_reported_by_source() {
    let server = answering(raw("{}")).await;
    let circle = circle(config(server.uri()));
    circle.fast_allowance().await.unwrap_err();
    assert_eq!(
        state(&circle.source().health(), "circle.allowance"),
        ("unavailable", Some("upstream_malformed"))
    );
    assert_eq!(
        state(&circle.source().health(), "circle.fees"),
        ("ok", None)
    );
}
