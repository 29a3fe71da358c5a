//! Answers that contradict each other, and invalid answers.

use super::*;

#[tokio::test]
async fn sources_must_agree_on_the_negative_risk() {
    assert_eq!(
        reason(
            with("neg-risk", raw(r#"{"neg_risk":true}"#)).await,
            "polymarket"
        ),
        malformed(
            "$.nr",
            "clob-markets: expected the flag of neg-risk, got false"
        )
    );
    assert_eq!(place(book("/nr", json!(true)).await), "$.nr");
    assert_eq!(
        reason(listed("/negRisk", json!(true)).await, "polymarket"),
        malformed(
            "$[0].negRisk",
            "gamma: expected the flag of neg-risk, got true"
        )
    );
    for none in ["null", "0", "\"false\""] {
        let body = format!(r#"{{"neg_risk":{none}}}"#);
        assert_eq!(
            place(with("neg-risk", raw(&body)).await),
            "$.neg_risk",
            "{none}"
        );
    }
}

#[tokio::test]
async fn a_tick_that_changes_meanwhile_is_refused() {
    let detail = "clob-markets: expected the tick size of tick-size, got 0.01";
    assert_eq!(
        reason(
            with("tick-size", raw(r#"{"minimum_tick_size":0.001}"#)).await,
            "polymarket"
        ),
        malformed("$.mts", detail)
    );
    assert_eq!(place(book("/mts", json!(0.001)).await), "$.mts");
    // The list may lag behind a change, or state no tick size.
    for lagging in [json!(0.001), Value::Null] {
        assert!(listed("/orderPriceMinTickSize", lagging).await.is_ok());
    }
}

#[tokio::test]
async fn sources_must_agree_on_the_condition() {
    let other = json!(format!("0x{}", "ab".repeat(32)));
    assert_eq!(place(book("/c", other.clone()).await), "$.c");
    assert_eq!(
        place(listed("/conditionId", other).await),
        "$[0].conditionId"
    );
    assert_eq!(
        place(listed("/conditionId", json!("0x12")).await),
        "$[0].conditionId"
    );
}

#[tokio::test]
async fn sources_must_agree_on_the_tokens_and_their_outcomes() {
    let tokens = |a: &str, b: &str| json!([{"t": a, "o": "Yes"}, {"t": b, "o": "No"}]);
    assert_eq!(place(book("/t", tokens(YES, "1")).await), "$.t");
    assert_eq!(place(book("/t", tokens(YES, YES)).await), "$.t");
    assert_eq!(
        place(book("/t", json!([{"t": YES, "o": "Yes"}])).await),
        "$.t"
    );
    assert_eq!(
        place(book("/t", json!([{"t": 7, "o": "Yes"}, {"t": NO, "o": "No"}])).await),
        "$.t[0].t"
    );
    // Another order of the same pairs is the same market, in the book's order.
    let swapped = json!([{"t": NO, "o": "No"}, {"t": YES, "o": "Yes"}]);
    assert_eq!(
        book("/t", swapped).await.unwrap().tokens[0].token_id,
        id(NO)
    );
    // Outcomes that look alike identify neither token.
    let alike = json!([{"t": YES, "o": "Yes"}, {"t": NO, "o": "Yes\u{200b}"}]);
    assert_eq!(place(book("/t", alike).await), "$.t");
    // Swapped outcomes would sell the opposite.
    let crossed = json!([{"t": YES, "o": "No"}, {"t": NO, "o": "Yes"}]);
    assert_eq!(place(book("/t", crossed).await), "$[0].clobTokenIds");
    assert_eq!(
        place(listed("/outcomes", json!(r#"["No","Yes"]"#)).await),
        "$[0].clobTokenIds"
    );
    let elsewhere = json!({"condition_id": format!("0x{}", "ab".repeat(32)), "primary_token_id": "1", "secondary_token_id": "2"});
    assert_eq!(
        reason(
            with("markets-by-token", json(&elsewhere)).await,
            "polymarket"
        ),
        malformed(
            "$.primary_token_id",
            "markets-by-token: expected the token that was asked for, got 1"
        )
    );
}

#[tokio::test]
async fn lists_inside_strings_are_read_as_lists() {
    let ids = |text: &str| json!(text);
    for (value, path) in [
        (json!([YES, NO]), "$[0].clobTokenIds"),
        (ids("[]"), "$[0].clobTokenIds"),
        (ids("not json"), "$[0].clobTokenIds"),
        (ids(&format!(r#"["{YES}"]"#)), "$[0].clobTokenIds"),
        (ids(&format!("[{YES},{NO}]")), "$[0].clobTokenIds[0]"),
        (ids(r#"["1","2"]"#), "$[0].clobTokenIds"),
    ] {
        assert_eq!(
            place(listed("/clobTokenIds", value.clone()).await),
            path,
            "{value}"
        );
    }
    assert_eq!(
        place(listed("/outcomes", json!(["Yes", "No"])).await),
        "$[0].outcomes"
    );
    let noisy = json!(r#"["Y\u202ees","No"]"#);
    assert_eq!(
        listed("/outcomes", noisy).await.unwrap().tokens[0].outcome,
        "Yes"
    );
    let market = recorded("polymarket/rate_cut_listed.json")[0].clone();
    assert_eq!(
        place(with("markets", json(&json!([market, market]))).await),
        "$"
    );
}

#[tokio::test]
async fn a_token_that_any_source_does_not_know_is_unknown() {
    let expected = unknown(&format!("token {YES}"));
    let gone = || failure(404, &recorded("polymarket/error_no_market.json"));
    for part in [
        "markets-by-token",
        "clob-markets",
        "tick-size",
        "neg-risk",
        "markets",
    ] {
        assert_eq!(
            reason(with(part, gone()).await, "polymarket"),
            expected,
            "{part}"
        );
    }
    assert_eq!(
        reason(with("markets", raw("[]")).await, "polymarket"),
        unknown(&format!("token {YES} in the list of open markets"))
    );
    let server = serving({
        let mut answers = answers("rate_cut");
        answers.insert("markets-by-token", gone());
        answers
    })
    .await;
    let venue = venue(config(&server));
    venue.market(id(YES)).await.unwrap_err();
    // The source stays healthy: the refusal is an answer and no failure.
    assert_eq!(
        state(&venue.source().health(), "polymarket.markets-by-token"),
        ("ok", None)
    );
}

#[tokio::test]
async fn a_refused_token_is_a_refusal() {
    let invalid = failure(400, &json!({"error": "Invalid\u{202e} token id"}));
    assert_eq!(
        reason(with("tick-size", invalid).await, "polymarket"),
        refused("Invalid token id")
    );
}

#[tokio::test]
async fn a_closed_venue_says_why() {
    let closed = failure(503, &recorded("polymarket/error_trading_disabled.json"));
    assert_eq!(
        reason(with("version", closed).await, "polymarket"),
        unavailable(
            "version: business code 503: Trading is currently disabled. Check polymarket.com for updates"
        )
    );
}

#[tokio::test]
async fn failures_of_the_upstream_name_the_call() {
    for (part, call) in [
        ("version", "version"),
        ("markets-by-token", "markets-by-token"),
        ("clob-markets", "clob-markets"),
        ("tick-size", "tick-size"),
        ("neg-risk", "neg-risk"),
        ("markets", "gamma"),
    ] {
        assert_eq!(
            reason(with(part, ResponseTemplate::new(500)).await, "polymarket"),
            unavailable(&format!("{call}: http status 500"))
        );
        assert_eq!(
            reason(
                with(
                    part,
                    ResponseTemplate::new(200).set_body_raw("<html>", "text/html")
                )
                .await,
                "polymarket"
            ),
            malformed(
                "$",
                &format!("{call}: content type \"text/html\" instead of json")
            )
        );
        assert_eq!(
            reason(with(part, raw("{\"a\":")).await, "polymarket"),
            malformed(
                "$",
                &format!(
                    "{call}: expected a json document, got EOF while parsing a value at line 1 column 5"
                )
            )
        );
        let limit = ResponseTemplate::new(429).insert_header("retry-after", "9");
        assert_eq!(
            reason(with(part, limit).await, "polymarket"),
            limited(Some(9))
        );
    }
}

#[tokio::test]
async fn a_hanging_call_ends_in_time() {
    let mut hanging_gamma = answers("rate_cut");
    hanging_gamma.insert("markets", hanging(raw("[]")));
    let server = serving(hanging_gamma).await;
    let slow = venue(PolymarketConfig {
        common: VenueConfig {
            limits: patient_enough(),
            ..VenueConfig::default()
        },
        ..config(&server)
    });
    assert_eq!(
        reason(slow.market(id(YES)).await, "polymarket"),
        unavailable("gamma: no answer within 1000 ms")
    );
    assert_eq!(
        state(&slow.source().health(), "polymarket.gamma"),
        ("unavailable", Some("upstream_timeout"))
    );
    let off = venue(PolymarketConfig {
        common: VenueConfig {
            enabled: false,
            ..VenueConfig::default()
        },
        ..config(&server)
    });
    assert_eq!(
        reason(off.market(id(YES)).await, "polymarket"),
        unavailable("markets-by-token: disabled: switched off in the configuration")
    );
}

/// `null` is not the venue's statement about a token: it is never reported as the caller's mistake.
#[tokio::test]
async fn an_answer_without_content_is_malformed() {
    for part in [
        "version",
        "markets-by-token",
        "clob-markets",
        "tick-size",
        "neg-risk",
        "markets",
    ] {
        for nothing in ["null", "{}", "[null]", "0"] {
            let place = place(with(part, raw(nothing)).await);
            assert!(place.starts_with('$'), "{part} {nothing}");
            let gone = ResponseTemplate::new(404).set_body_raw(nothing, "application/json");
            let reason = reason(with(part, gone).await, "polymarket");
            assert!(
                matches!(reason, PortErrorReason::Unavailable { .. }),
                "{part} {nothing}: {reason}"
            );
        }
    }
}
