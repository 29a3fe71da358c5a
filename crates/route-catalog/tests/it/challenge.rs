//! Tests of the 402 answer: its size, its options, its URL, and its two parts.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use proptest::prelude::*;
use route_catalog::{Next, Operation, Refusal};
use serde_json::Value;

use crate::support::catalog;

const ERROR: &str = "PAYMENT-SIGNATURE header is required";

fn decoded(header: &str) -> String {
    String::from_utf8(STANDARD.decode(header).unwrap()).unwrap()
}

#[test]
fn every_header_is_small() {
    let catalog = catalog();
    for operation in Operation::ALL {
        let header = catalog.challenge(operation, None, ERROR, None).header;
        assert!(header.len() <= 6_000, "{operation}: {}", header.len());
        let longest = "q".repeat(1024);
        let header = catalog
            .challenge(operation, Some(&longest), ERROR, None)
            .header;
        assert!(header.len() <= 8_000, "{operation}: {}", header.len());
    }
}

#[test]
fn all_six_options_state_the_price_as_their_amount() {
    let catalog = catalog();
    for operation in Operation::ALL {
        let challenge = catalog.challenge(operation, None, ERROR, None);
        let json: Value = serde_json::from_slice(&challenge.body).unwrap();
        let accepts = json["accepts"].as_array().unwrap();
        assert_eq!(accepts.len(), 6);
        let amount = operation.route().price.atomic().to_string();
        assert!(
            accepts
                .iter()
                .all(|option| option["amount"] == amount.as_str())
        );
        let schemes: Vec<_> = accepts
            .iter()
            .map(|option| option["scheme"].as_str().unwrap())
            .collect();
        assert_eq!(
            schemes,
            [
                "exact",
                "exact",
                "exact",
                "aggr_deferred",
                "aggr_deferred",
                "aggr_deferred"
            ]
        );
        assert_eq!(catalog.offer(operation).options().len(), 6);
    }
}

#[test]
fn the_challenge_of_a_price() {
    let refusal = Refusal {
        code: "payment_required",
        reason: "payment_missing",
        retryable: true,
        request_id: "01JDB3X8M5",
        next: &Next::SignNew,
    };
    let catalog = catalog();
    let challenge = catalog.challenge(Operation::Price, Some("token=0x12"), ERROR, Some(&refusal));
    let body = String::from_utf8(challenge.body).unwrap();
    assert!(
        body.starts_with(
            r#"{"x402Version":2,"accepts":[{"scheme":"exact","network":"eip155:196","#
        )
    );
    let json: Value = serde_json::from_str(&body).unwrap();
    insta::with_settings!({sort_maps => true}, {
        insta::assert_json_snapshot!(json);
    });
}

#[test]
fn long_queries_are_left_out_of_the_url() {
    let catalog = catalog();
    let longest = "q".repeat(1024);
    let url = |query: Option<&str>| catalog.resource_url(Operation::LlmResearch, query);
    assert_eq!(
        url(Some(&longest)),
        format!("https://api.example.com/llm-research?{longest}")
    );
    assert_eq!(
        url(Some(&format!("{longest}q"))),
        "https://api.example.com/llm-research"
    );
    assert_eq!(url(Some("")), "https://api.example.com/llm-research");
    assert_eq!(url(None), "https://api.example.com/llm-research");
}

proptest! {
    #[test]
    fn the_header_equals_the_body_without_the_refusal(
        operation in prop::sample::select(Operation::ALL.to_vec()),
        query in prop::option::of(any::<String>()),
        error in any::<String>(),
        reason in any::<String>(),
        retryable in any::<bool>(),
    ) {
        let catalog = catalog();
        let refusal = Refusal { code: "payment_required", reason: &reason, retryable, request_id: "r", next: &Next::SignNew };
        let challenge = catalog.challenge(operation, query.as_deref(), &error, Some(&refusal));
        prop_assert!(challenge.body.is_ascii());
        let header = decoded(&challenge.header);
        prop_assert!(header.is_ascii());

        let plain = catalog.challenge(operation, query.as_deref(), &error, None);
        prop_assert_eq!(&plain.header, &challenge.header);
        prop_assert_eq!(header.as_bytes(), &plain.body[..]);

        let mut body: Value = serde_json::from_slice(&challenge.body).unwrap();
        let member = body.as_object_mut().unwrap().remove("refusal").unwrap();
        prop_assert_eq!(member["reason"].as_str(), Some(reason.as_str()));
        prop_assert_eq!(&member["charged"], &Value::Bool(false));
        prop_assert_eq!(&member["retryable"], &Value::Bool(retryable));
        let header: Value = serde_json::from_str(&header).unwrap();
        prop_assert_eq!(header["error"].as_str(), Some(error.as_str()));
        let url = catalog.resource_url(operation, query.as_deref());
        prop_assert_eq!(header["resource"]["url"].as_str(), Some(url.as_str()));
        prop_assert_eq!(header, body);
    }
}
