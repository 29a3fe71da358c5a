//! Failures before an answer is read.

use std::time::Duration;

use alloy_primitives::{Address, address};
use data_sources::{Error, Mode, SourceErrorKind, okx::OkxConfig, transport::Limits};
use serde_json::json;
use wiremock::{
    Mock, MockServer, ResponseTemplate,
    matchers::{any, path},
};

use crate::okx::{answering, code, config, json as answer, okx, recorded};

const WOKB: Address = address!("e538905cf8410324e03A5A23C1c177a474D59b2b");

fn kind<T: std::fmt::Debug>(result: Result<T, Error>) -> SourceErrorKind {
    match result.unwrap_err() {
        Error::Source(error) => error.kind,
        other => panic!("{other}"),
    }
}

#[tokio::test]
async fn a_page_with_status_200_is_not_parsed() {
    for body in [
        "<html>checking your browser</html>",
        r#"{"code":"0","data":[],"msg":""}"#,
    ] {
        let (okx, _server) =
            answering(ResponseTemplate::new(200).set_body_raw(body, "text/html; charset=utf-8"))
                .await;
        assert_eq!(code(okx.price(WOKB).await), "upstream_wrong_content_type");
    }
}

#[tokio::test]
async fn truncated_deep_and_broken_json_is_malformed() {
    let deep = "[".repeat(100_000);
    for body in [
        r#"{"code":"0","data":[{"chain"#,
        "",
        "null",
        "\u{feff}{}",
        &deep,
    ] {
        let (okx, _server) =
            answering(ResponseTemplate::new(200).set_body_raw(body, "application/json")).await;
        assert_eq!(code(okx.price(WOKB).await), "upstream_malformed");
    }
}

#[tokio::test]
async fn a_huge_body_is_dropped() {
    let huge = vec![b' '; 40 * 1024 * 1024];
    let (okx, _server) =
        answering(ResponseTemplate::new(200).set_body_raw(huge, "application/json")).await;
    assert_eq!(
        kind(okx.price(WOKB).await),
        SourceErrorKind::TooLarge {
            limit: 2 * 1024 * 1024
        }
    );
}

#[tokio::test]
async fn a_slow_answer_ends_in_time() {
    let server = MockServer::start().await;
    let slow = answer(&recorded("market_price_okb")).set_delay(Duration::from_secs(60));
    Mock::given(any()).respond_with(slow).mount(&server).await;
    let limits = Limits {
        timeout: Duration::from_millis(50),
        ..config(&server).limits
    };
    let okx = okx(OkxConfig {
        limits,
        ..config(&server)
    });
    assert_eq!(
        kind(okx.price(WOKB).await),
        SourceErrorKind::Timeout { limit_ms: 50 }
    );
    assert_eq!(okx.source().health()[0].state.as_str(), "unavailable");
    assert_eq!(
        okx.source().health()[0].reason.as_deref(),
        Some("upstream_timeout")
    );
}

#[tokio::test]
async fn an_unreachable_upstream_says_so_without_its_address() {
    // Accepts connections and drops them.
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let base_url = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || listener.incoming().for_each(drop));
    let server = MockServer::start().await;
    let okx = okx(OkxConfig {
        base_url,
        ..config(&server)
    });
    let error = okx.price(WOKB).await.unwrap_err();
    assert_eq!(error.code(), "upstream_unreachable");
    let printed = format!("{error} {error:?} {okx:?}");
    assert!(
        !printed.contains("test-secret") && !error.to_string().contains("127.0.0.1"),
        "{printed}"
    );
}

#[tokio::test]
async fn server_errors_are_tried_again() {
    let server = MockServer::start().await;
    Mock::given(any())
        .respond_with(ResponseTemplate::new(502))
        .up_to_n_times(2)
        .mount(&server)
        .await;
    Mock::given(any())
        .respond_with(answer(&recorded("market_price_okb")))
        .mount(&server)
        .await;
    let okx = okx(config(&server));
    assert_eq!(code(okx.price(WOKB).await), "accepted");
    assert_eq!(server.received_requests().await.unwrap().len(), 3);
}

#[tokio::test]
async fn client_errors_are_not_tried_again_and_keep_their_code() {
    let server = MockServer::start().await;
    let refused = ResponseTemplate::new(401).set_body_json(recorded("error_bad_sign"));
    Mock::given(any())
        .respond_with(refused)
        .mount(&server)
        .await;
    let okx = okx(config(&server));
    let expected = SourceErrorKind::HttpStatus {
        status: 401,
        code: Some("50113".to_owned()),
    };
    assert_eq!(kind(okx.price(WOKB).await), expected);
    assert_eq!(server.received_requests().await.unwrap().len(), 1);
}

#[tokio::test]
async fn a_rate_limit_is_waited_for_only_when_it_is_short() {
    for (retry_after, waits, tries) in [
        ("0", Some(1), 3),
        ("3600", Some(3600), 1),
        ("soon", Some(15), 1),
    ] {
        let limited = ResponseTemplate::new(429)
            .set_body_json(recorded("error_rate_limited"))
            .insert_header("retry-after", retry_after);
        let (okx, server) = answering(limited).await;
        assert_eq!(
            kind(okx.price(WOKB).await),
            SourceErrorKind::RateLimited { retry_after: waits }
        );
        assert_eq!(
            server.received_requests().await.unwrap().len(),
            tries,
            "{retry_after}"
        );
        // Until then the upstream is not asked; a pause of zero is no pause.
        let refused = kind(okx.price(WOKB).await);
        assert!(matches!(refused, SourceErrorKind::RateLimited { .. }));
        let asked_again = if retry_after == "0" { 3 } else { 0 };
        let asked = server.received_requests().await.unwrap().len();
        assert_eq!(asked, tries + asked_again, "{retry_after}");
    }
}

#[tokio::test]
async fn failures_inside_success_are_failures() {
    for (body, expected) in [
        (
            json!({"code": "50026", "data": [], "msg": "System error"}),
            "upstream_business",
        ),
        (
            json!({"code": 50026, "data": [], "msg": "System error"}),
            "upstream_business",
        ),
        (
            json!({"code": "50011", "data": [], "msg": "Too Many Requests"}),
            "upstream_rate_limited",
        ),
        (json!({"code": null, "data": []}), "upstream_malformed"),
    ] {
        let (okx, _server) = answering(answer(&body)).await;
        assert_eq!(code(okx.price(WOKB).await), expected);
        assert_eq!(okx.source().health()[0].state.as_str(), "unavailable");
    }
}

#[tokio::test]
async fn redirects_are_not_followed() {
    let elsewhere = MockServer::start().await;
    let target = format!("{}/stolen", elsewhere.uri());
    let (okx, _server) =
        answering(ResponseTemplate::new(307).insert_header("location", target)).await;
    assert_eq!(
        kind(okx.price(WOKB).await),
        SourceErrorKind::HttpStatus {
            status: 307,
            code: None
        }
    );
    assert_eq!(elsewhere.received_requests().await.unwrap().len(), 0);
}

#[tokio::test]
async fn a_path_in_the_base_url_is_sent_but_not_signed() {
    let server = MockServer::start().await;
    Mock::given(path("/web3.okx.com/api/v6/dex/market/price"))
        .respond_with(answer(&recorded("market_price_okb")))
        .mount(&server)
        .await;
    Mock::given(path("/api/v6/dex/market/price"))
        .respond_with(answer(&recorded("market_price_okb")))
        .mount(&server)
        .await;
    for base_url in [format!("{}/web3.okx.com/", server.uri()), server.uri()] {
        okx(OkxConfig {
            base_url,
            ..config(&server)
        })
        .price(WOKB)
        .await
        .unwrap();
    }
    let requests = server.received_requests().await.unwrap();
    assert_eq!(
        requests[0].headers["ok-access-sign"],
        requests[1].headers["ok-access-sign"]
    );
}

#[tokio::test]
async fn without_a_key_only_a_replay_is_asked() {
    let server = MockServer::start().await;
    Mock::given(any())
        .respond_with(answer(&recorded("market_price_okb")))
        .mount(&server)
        .await;
    let keyless = OkxConfig {
        credentials: None,
        ..config(&server)
    };
    let live = okx(keyless.clone());
    assert_eq!(code(live.price(WOKB).await), "upstream_disabled");
    assert_eq!(
        (
            live.source().health()[0].state.as_str(),
            live.source().health()[0].reason.as_deref()
        ),
        ("disabled", Some("no api key"))
    );
    let off = okx(OkxConfig {
        enabled: false,
        ..config(&server)
    });
    assert_eq!(code(off.price(WOKB).await), "upstream_disabled");
    assert_eq!(server.received_requests().await.unwrap().len(), 0);

    let replay = okx(OkxConfig {
        mode: Mode::Replay,
        ..keyless
    });
    let price = replay.price(WOKB).await.unwrap();
    assert_eq!(price.sources[0].mode.as_str(), "replay");
    assert!(
        !server.received_requests().await.unwrap()[0]
            .headers
            .contains_key("ok-access-key")
    );
}
