//! Answers that are not quotes.

use std::time::Duration;

use super::*;

#[tokio::test]
async fn no_quote_is_no_route_with_the_exchanges_reasons() {
    let body = recorded("lifi/error_no_quote.json");
    assert_eq!(
        reason(reading(failure(404, &body)).await, "lifi"),
        no_route(
            "No available quotes for the requested transfer (code 1002, INSUFFICIENT_LIQUIDITY, NO_POSSIBLE_ROUTE)"
        )
    );
}

#[tokio::test]
async fn an_answered_request_leaves_the_source_healthy() {
    let server = answering(failure(404, &recorded("lifi/error_no_quote.json"))).await;
    let lifi = lifi(config(server.uri()));
    lifi.quote(&ask()).await.unwrap_err();
    assert_eq!(state(&lifi.source().health(), "lifi.quote"), ("ok", None));
    assert_eq!(request_count(&server).await, 1);
}

#[tokio::test]
async fn a_validation_error_is_a_refusal() {
    let body = json!({"message": "Invalid\u{7} fromAddress", "code": 1011});
    assert_eq!(
        reason(reading(failure(400, &body)).await, "lifi"),
        refused("Invalid fromAddress (code 1011)")
    );
}

#[tokio::test]
async fn an_unknown_token_is_unknown() {
    let body = json!({"message": "Token not found", "code": 1003});
    assert_eq!(
        reason(reading(failure(404, &body)).await, "lifi"),
        unknown("token or chain: Token not found (code 1003)")
    );
}

#[tokio::test]
async fn a_wrong_key_makes_the_source_unavailable() {
    let server = answering(failure(
        401,
        &json!({"message": "Unauthorized", "code": 1010}),
    ))
    .await;
    let lifi = lifi(config(server.uri()));
    assert_eq!(
        reason(lifi.quote(&ask()).await, "lifi"),
        unavailable("quote: http status 401 (code 1010)")
    );
    assert_eq!(
        state(&lifi.source().health(), "lifi.quote"),
        ("unavailable", Some("upstream_http_401"))
    );
}

#[tokio::test]
async fn a_rate_limit_is_reported_and_the_call_is_not_repeated() {
    for (headers, seconds) in [
        (vec![("ratelimit-reset", "3600")], Some(3600)),
        (
            vec![("retry-after", "7"), ("ratelimit-reset", "3600")],
            Some(7),
        ),
        (vec![("ratelimit-reset", "1795222860")], Some(60)),
        (
            vec![("retry-after", "Sat, 21 Nov 2026 01:00:30 GMT")],
            Some(30),
        ),
        // No upstream can pause us for longer than two hours.
        (vec![("retry-after", "99999999")], Some(7200)),
        (vec![("retry-after", "0")], Some(0)),
        (vec![], Some(15)),
    ] {
        let mut response = failure(429, &recorded("lifi/error_rate_limited.json"));
        for (name, value) in &headers {
            response = response.insert_header(*name, *value);
        }
        let server = answering(response).await;
        let lifi = lifi(config(server.uri()));
        assert_eq!(
            reason(lifi.quote(&ask()).await, "lifi"),
            limited(seconds),
            "{headers:?}"
        );
        assert_eq!(request_count(&server).await, 1, "{headers:?}");
        assert_eq!(
            state(&lifi.source().health(), "lifi.quote"),
            ("unavailable", Some("upstream_rate_limited"))
        );
    }
}

#[tokio::test]
async fn a_rate_limit_is_kept_to_until_its_end() {
    let server = MockServer::start().await;
    let limit = ResponseTemplate::new(429).insert_header("ratelimit-reset", "60");
    Mock::given(any())
        .respond_with(limit)
        .up_to_n_times(1)
        .mount(&server)
        .await;
    Mock::given(any())
        .respond_with(json(&recorded("lifi/quote_usdc_weth.json")))
        .mount(&server)
        .await;
    let clock = recorded_clock();
    let lifi = Lifi::new(&transport(), config(server.uri()), Arc::new(clock.clone())).unwrap();
    assert_eq!(reason(lifi.quote(&ask()).await, "lifi"), limited(Some(60)));
    clock.advance(Duration::from_secs(59));
    assert_eq!(reason(lifi.quote(&ask()).await, "lifi"), limited(Some(1)));
    assert_eq!(request_count(&server).await, 1);
    clock.advance(Duration::from_secs(1));
    lifi.quote(&ask()).await.unwrap();
}

#[tokio::test]
async fn a_rate_limit_inside_another_status_is_one() {
    let body = json!({"message": "Rate limit exceeded", "code": 1005});
    assert_eq!(
        reason(reading(failure(403, &body)).await, "lifi"),
        limited(Some(15))
    );
}

#[tokio::test]
async fn a_broken_server_is_tried_again_and_then_unavailable() {
    let server = answering(failure(503, &json!({"message": "down", "code": 1006}))).await;
    let lifi = lifi(config(server.uri()));
    assert_eq!(
        reason(lifi.quote(&ask()).await, "lifi"),
        unavailable("quote: http status 503 (code 1006)")
    );
    assert_eq!(request_count(&server).await, 2);
    assert_eq!(
        reason(
            reading(ResponseTemplate::new(502).set_body_raw("<html>", "text/html")).await,
            "lifi"
        ),
        unavailable("quote: http status 502")
    );
}

#[tokio::test]
async fn a_page_with_status_200_is_malformed() {
    let page = recorded_text("lifi/gateway_page.html");
    assert_eq!(
        reason(
            reading(ResponseTemplate::new(200).set_body_raw(page, "text/html; charset=utf-8"))
                .await,
            "lifi"
        ),
        malformed(
            "$",
            "quote: content type \"text/html; charset=utf-8\" instead of json"
        )
    );
}

#[tokio::test]
async fn a_failure_inside_a_success_is_a_failure() {
    let body = recorded("lifi/error_no_quote.json");
    assert!(matches!(
        reason(reading(json(&body)).await, "lifi"),
        PortErrorReason::NoRoute { .. }
    ));
}

#[tokio::test]
async fn a_hanging_answer_ends_in_time() {
    let server = answering(hanging(json(&recorded("lifi/quote_usdc_weth.json")))).await;
    let lifi = lifi(LifiConfig {
        common: VenueConfig {
            limits: impatient(),
            ..VenueConfig::default()
        },
        ..config(server.uri())
    });
    assert_eq!(
        reason(lifi.quote(&ask()).await, "lifi"),
        unavailable("quote: no answer within 50 ms")
    );
    assert_eq!(
        state(&lifi.source().health(), "lifi.quote"),
        ("unavailable", Some("upstream_timeout"))
    );
}

#[tokio::test]
async fn a_dropped_connection_says_so_without_an_address() {
    assert_eq!(
        reason(lifi(config(dropping())).quote(&ask()).await, "lifi"),
        unavailable("quote: not reachable")
    );
}

#[tokio::test]
async fn truncated_json_is_malformed() {
    let text = recorded_text("lifi/quote_usdc_weth.json");
    let half = text.len() / 2;
    assert_eq!(
        reason(reading(raw(&text[..half])).await, "lifi"),
        malformed(
            "$",
            &format!(
                "quote: expected a json document, got EOF while parsing a string at line 1 column {half}"
            )
        )
    );
    for body in ["", "null", "[]", "\u{feff}{}", "{\"tool\":NaN}"] {
        match reason(reading(raw(body)).await, "lifi") {
            PortErrorReason::Malformed { path, .. } => assert_eq!(path, "$", "{body}"),
            other => panic!("{other}"),
        }
    }
}

#[tokio::test]
async fn a_huge_body_is_dropped() {
    let server = answering(json(&recorded("lifi/quote_usdc_weth.json"))).await;
    let small = Limits {
        max_body_bytes: 1000,
        ..limits()
    };
    let lifi = lifi(LifiConfig {
        common: VenueConfig {
            limits: small,
            ..VenueConfig::default()
        },
        ..config(server.uri())
    });
    assert_eq!(
        reason(lifi.quote(&ask()).await, "lifi"),
        malformed("$", "quote: body larger than 1000 bytes")
    );
}

#[tokio::test]
async fn redirects_are_not_followed() {
    let elsewhere = answering(json(&recorded("lifi/quote_usdc_weth.json"))).await;
    let away =
        ResponseTemplate::new(307).insert_header("location", format!("{}/quote", elsewhere.uri()));
    assert_eq!(
        reason(reading(away).await, "lifi"),
        unavailable("quote: http status 307")
    );
    assert_eq!(request_count(&elsewhere).await, 0);
}

#[tokio::test]
async fn a_disabled_source_is_not_asked() {
    let server = answering(json(&recorded("lifi/quote_usdc_weth.json"))).await;
    let lifi = lifi(LifiConfig {
        common: VenueConfig {
            enabled: false,
            ..VenueConfig::default()
        },
        ..config(server.uri())
    });
    assert_eq!(
        reason(lifi.quote(&ask()).await, "lifi"),
        unavailable("quote: disabled: switched off in the configuration")
    );
    assert_eq!(request_count(&server).await, 0);
    assert_eq!(
        state(&lifi.source().health(), "lifi.quote"),
        ("disabled", Some("switched off in the configuration"))
    );
}

#[test]
fn unusable_settings_are_refused_at_once() {
    let built = |config| Lifi::new(&transport(), config, Arc::new(recorded_clock())).err();
    assert_eq!(
        built(config("li.quest".to_owned())),
        Some(TransportError::BaseUrl)
    );
    let key = LifiConfig {
        api_key: Some("bad\nkey".into()),
        ..LifiConfig::default()
    };
    assert_eq!(built(key), Some(TransportError::Key));
}
