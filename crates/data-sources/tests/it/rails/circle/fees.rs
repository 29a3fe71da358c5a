//! The fees of a burn and the allowance of fast transfers.

use alloy_primitives::U256;
use plan_builder::ports::BridgeFees as _;
use serde_json::json;
use wiremock::ResponseTemplate;

use super::{allowance, circle, config, fees, place};
use crate::rails::*;

#[tokio::test]
async fn fees_are_asked_by_domain_and_read_exactly() {
    let server = answering(json(&recorded("circle/fees_fast.json"))).await;
    let circle = circle(config(format!("{}/prefix", server.uri())));
    let reading = circle.fees(0, 7, false).await.unwrap();
    assert_eq!(reading.fast_bps.unwrap().to_string(), "1.3");
    assert!(reading.standard_bps.is_zero());
    assert_eq!(reading.forward_fee, None);
    circle.fees(6, 3, true).await.unwrap_err();
    let requests = server.received_requests().await.unwrap();
    assert_eq!(requests[0].url.path(), "/prefix/v2/burn/USDC/fees/0/7");
    assert_eq!(requests[0].url.query(), None);
    assert_eq!(requests[1].url.path(), "/prefix/v2/burn/USDC/fees/6/3");
    assert_eq!(requests[1].url.query(), Some("forward=true"));
}

#[tokio::test]
async fn fees_keep_every_digit_in_every_form() {
    // 0.1 + 0.2 and digits that no double holds.
    for (written, exact) in [
        ("1.3", "1.3"),
        ("\"1.3\"", "1.3"),
        ("1.30", "1.3"),
        ("0", "0"),
        ("14", "14"),
        ("\"0.05\"", "0.05"),
        ("0.30000000000000004", "0.30000000000000004"),
        ("1.2345678901234567890123", "1.2345678901234567890123"),
        ("1e-7", "0.0000001"),
        ("1.3e0", "1.3"),
        ("10000", "10000"),
    ] {
        let body = format!(
            r#"[{{"finalityThreshold":2000,"minimumFee":0}},{{"finalityThreshold":1000,"minimumFee":{written}}}]"#
        );
        let reading = fees(raw(&body), false).await.unwrap();
        assert_eq!(reading.fast_bps.unwrap().to_string(), exact, "{written}");
    }
}

#[tokio::test]
async fn a_route_without_fast_transfer_has_no_fast_fee() {
    let reading = fees(json(&recorded("circle/fees_standard.json")), false)
        .await
        .unwrap();
    assert_eq!(reading.fast_bps, None);
    let with_more = json!([{"finalityThreshold": 500, "minimumFee": "odd"}, {"finalityThreshold": 2000, "minimumFee": 1}]);
    let reading = fees(json(&with_more), false).await.unwrap();
    assert_eq!(
        (reading.fast_bps, reading.standard_bps.to_string().as_str()),
        (None, "1")
    );
}

#[tokio::test]
async fn fees_that_are_no_fees_are_malformed() {
    for fee in [
        "-1", "\"-1\"", "\"free\"", "true", "null", "[1.3]", "10000.1", "1e5", "\"1,3\"", "\"\"",
    ] {
        let rows = |fast, standard| {
            raw(&format!(
                r#"[{{"finalityThreshold":1000,"minimumFee":{fast}}},{{"finalityThreshold":2000,"minimumFee":{standard}}}]"#
            ))
        };
        assert_eq!(
            place(fees(rows("1", fee), false).await),
            "$[1].minimumFee",
            "{fee}"
        );
        // Routes without a fast transfer have a meaningless fast row.
        let reading = fees(rows(fee, "0"), false).await.unwrap();
        assert_eq!(reading.fast_bps, None, "{fee}");
    }
    for threshold in ["\"1000\"", "1000.5", "-1000", "null"] {
        let body = format!(
            r#"[{{"finalityThreshold":{threshold},"minimumFee":1}},{{"finalityThreshold":2000,"minimumFee":0}}]"#
        );
        assert_eq!(
            place(fees(raw(&body), false).await),
            "$[0].finalityThreshold",
            "{threshold}"
        );
    }
}

#[tokio::test]
async fn rows_must_be_complete_and_single() {
    assert_eq!(
        reason(
            fees(
                json(&json!([{"finalityThreshold": 1000, "minimumFee": 1}])),
                false
            )
            .await,
            "circle"
        ),
        malformed(
            "$",
            r#"fees: expected a row with finality threshold 2000, got [{"finalityThreshold":1000,"minimumFee":1}]"#
        )
    );
    assert_eq!(place(fees(raw("[]"), false).await), "$");
    assert_eq!(place(fees(raw("{}"), false).await), "$");
    let twice = json!([{"finalityThreshold": 2000, "minimumFee": 0}, {"finalityThreshold": 2000, "minimumFee": 1}]);
    assert_eq!(place(fees(json(&twice), false).await), "$[1]");
}

#[tokio::test]
async fn a_forwarding_fee_comes_in_two_shapes_and_is_the_highest() {
    let read = |fee: &str| {
        let body = format!(
            r#"[{{"finalityThreshold":1000,"minimumFee":1.3,"forwardFee":{{"low":1,"med":2,"high":3}}}},
            {{"finalityThreshold":2000,"minimumFee":0,"forwardFee":{fee}}}]"#
        );
        async move { fees(raw(&body), true).await }
    };
    for (fee, expected) in [
        (r#"{"low":203729,"med":210411,"high":231005}"#, 231_005u64),
        (
            r#"{"low":"203729","med":"210411","high":"231005"}"#,
            231_005,
        ),
        (r#"{"high":3503729}"#, 3_503_729),
        (r#"{"low":1,"med":99,"high":50}"#, 99),
        (
            r#"{"relayFee":200000,"destinationGasOverhead":31005}"#,
            231_005,
        ),
        (
            r#"{"relayFee":"200000","destinationGasOverhead":"31005"}"#,
            231_005,
        ),
        // The fee of the other row is higher.
        (r#"{"low":1,"med":1,"high":1}"#, 3),
    ] {
        assert_eq!(
            read(fee).await.unwrap().forward_fee,
            Some(U256::from(expected)),
            "{fee}"
        );
    }
    for (fee, path) in [
        (r#"{"low":1,"med":2}"#, "$[1].forwardFee.high"),
        (r#"{"low":1.5,"med":2,"high":3}"#, "$[1].forwardFee.low"),
        (r#"{"high":-3}"#, "$[1].forwardFee.high"),
        (
            r#"{"relayFee":200000}"#,
            "$[1].forwardFee.destinationGasOverhead",
        ),
        (r#"3503729"#, "$[1].forwardFee"),
    ] {
        assert_eq!(place(read(fee).await), path, "{fee}");
    }
}

#[tokio::test]
async fn a_forwarding_fee_that_was_asked_for_must_come() {
    assert_eq!(
        place(fees(json(&recorded("circle/fees_fast.json")), true).await),
        "$"
    );
    // A fee that was not requested is not read.
    let reading = fees(json(&recorded("circle/fees_fast_forward.json")), false)
        .await
        .unwrap();
    assert_eq!(reading.forward_fee, None);
}

#[tokio::test]
async fn the_allowance_is_exact() {
    let server = answering(raw(&recorded_text("circle/fast_allowance.json"))).await;
    let circle = circle(config(server.uri()));
    assert_eq!(
        circle.fast_allowance().await.unwrap(),
        U256::from(52_455_615_650_179u64)
    );
    assert_eq!(
        server.received_requests().await.unwrap()[0].url.path(),
        "/v2/fastBurn/USDC/allowance"
    );
    for (written, atoms) in [
        ("\"52455615.650179\"", 52_455_615_650_179u64),
        ("0", 0),
        ("0.000001", 1),
        ("1e-6", 1),
        ("10", 10_000_000),
        // A double would give …991.
        ("9007199254.740993", 9_007_199_254_740_993),
    ] {
        let body = format!(r#"{{"allowance":{written}}}"#);
        assert_eq!(
            allowance(raw(&body)).await.unwrap(),
            U256::from(atoms),
            "{written}"
        );
    }
    for written in ["-1", "1.0000001", "null", "\"much\"", "{}"] {
        let body = format!(r#"{{"allowance":{written}}}"#);
        assert_eq!(
            place(allowance(raw(&body)).await),
            "$.allowance",
            "{written}"
        );
    }
    assert_eq!(place(allowance(raw("{}")).await), "$.allowance");
}

#[tokio::test]
async fn missing_fees_of_an_existing_route_are_a_refusal_of_the_service() {
    let body = json!({"code": 404, "message": "not found"});
    assert_eq!(
        reason(fees(failure(404, &body), false).await, "circle"),
        refused("no fees for the route from domain 6 to domain 3")
    );
    // A gateway's page, and a question that has no route.
    let page = ResponseTemplate::new(404).set_body_raw("<html>", "text/html");
    for reason in [
        reason(fees(page, false).await, "circle"),
        reason(allowance(failure(404, &body)).await, "circle"),
    ] {
        assert!(
            matches!(reason, PortErrorReason::Unavailable { .. }),
            "{reason}"
        );
    }
}

/// Only existing routes are asked about: an answer without fees is the service's fault, and not the
/// caller's.
#[tokio::test]
async fn an_answer_without_content_is_malformed() {
    for nothing in ["null", "[]", "{}", "[null]", "0"] {
        for forward in [false, true] {
            let place = place(fees(raw(nothing), forward).await);
            assert!(place.starts_with('$'), "{nothing}");
        }
        assert!(
            place(allowance(raw(nothing)).await).starts_with('$'),
            "{nothing}"
        );
    }
    // Without a body of the service itself, a status says nothing about the route.
    for nothing in ["null", "[]", "0", ""] {
        let gone = ResponseTemplate::new(404).set_body_raw(nothing, "application/json");
        let reason = reason(fees(gone, false).await, "circle");
        assert!(
            matches!(reason, PortErrorReason::Unavailable { .. }),
            "{nothing}: {reason}"
        );
    }
}

#[tokio::test]
async fn a_bad_request_is_a_refusal() {
    assert_eq!(
        reason(
            fees(failure(400, &json!({"code": 400})), false).await,
            "circle"
        ),
        refused("route from domain 6 to domain 3: http status 400 (code 400)")
    );
}
