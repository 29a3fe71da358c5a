//! Tests of the 402 answer: its size, its options, its URL, and its two parts.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use proptest::prelude::*;
use route_catalog::{Catalog, CatalogConfig, Next, Operation, Refusal};
use serde_json::{Value, json};

use crate::support::{catalog, config};

const ERROR: &str = "PAYMENT-SIGNATURE header is required";

fn decoded(header: &str) -> String {
    String::from_utf8(STANDARD.decode(header).unwrap()).unwrap()
}

/// The value of the header alone. `api-server` measures the whole head.
#[test]
fn every_header_is_small() {
    let longest = "\u{20ae}".repeat(200);
    for operation in Operation::ALL {
        for query in [
            None,
            Some("token=0xe538905cf8410324e03A5A23C1c177a474D59b2b"),
        ] {
            for error in [ERROR, &longest] {
                let header = catalog().challenge(operation, query, error, None).header;
                assert!(header.len() <= 3_120, "{operation}: {}", header.len());
            }
        }
    }
}

#[test]
fn a_query_is_named_while_the_header_stays_short() {
    let url = |query: &str, error: &str| {
        let header = catalog().challenge_header(Operation::Price, Some(query), error);
        let header: Value = serde_json::from_str(&decoded(&header)).unwrap();
        header["resource"]["url"].as_str().unwrap().to_owned()
    };
    let token = "token=0xe538905cf8410324e03A5A23C1c177a474D59b2b";
    assert!(url(token, ERROR).ends_with(&format!("/price?{token}")));
    // Every query that fits is named whole, and a longer one not at all.
    let named = |len: &usize| !url(&"q".repeat(*len), ERROR).ends_with("/price");
    let fits = (1..1_024).take_while(named).count();
    assert!((100..600).contains(&fits), "{fits}");
    assert!(url(&"q".repeat(fits), ERROR).ends_with(&format!("?{}", "q".repeat(fits))));
    assert!(!named(&(fits + 1)) && !named(&4_000));
    assert!(url("", ERROR).ends_with("/price"));
    // A character outside ASCII takes six bytes.
    let wide = "\u{20ac}".repeat(fits / 6 + 1);
    assert!(url(&wide, ERROR).ends_with("/price"));
}

#[test]
fn a_long_error_is_cut() {
    let error = |error: &str| {
        let body = catalog().challenge_body(Operation::Price, None, error, None);
        let body: Value = serde_json::from_slice(&body).unwrap();
        body["error"].as_str().unwrap().to_owned()
    };
    let longest = "e".repeat(220);
    assert_eq!(error(&longest), longest);
    assert_eq!(error(&format!("{longest}e")), format!("{longest}..."));
    let wide = "\u{20ae}".repeat(37);
    assert_eq!(error(&wide), format!("{}...", "\u{20ae}".repeat(36)));
}

/// A test of `api-server` buys with what stands here.
#[test]
fn the_body_describes_every_parameter_flatly() {
    for operation in Operation::ALL {
        let route = operation.route();
        let body = catalog().challenge_body(operation, None, ERROR, None);
        let body: Value = serde_json::from_slice(&body).unwrap();
        let schema = &body["outputSchema"];
        assert_eq!(schema["method"], route.method.as_str());
        assert_eq!(schema.as_object().unwrap().len(), 2, "{schema}");
        let input = schema["input"].as_object().unwrap();
        assert_eq!(input.len(), route.query.len() + 2 + route.body.len());
        for (carrier, parameters) in [("query", route.query), ("body", route.body)] {
            for parameter in parameters {
                let field = &input[parameter.name];
                assert_eq!(field["carrier"], carrier, "{operation} {field}");
                assert_eq!(field["required"], parameter.is_required());
                let kinds = ["string", "number", "integer", "boolean", "object", "array"];
                assert!(kinds.contains(&field["type"].as_str().unwrap()), "{field}");
                assert_eq!(field.as_object().unwrap().len(), 3, "{field}");
            }
        }
        for shared in ["max_age", "provenance"] {
            assert_eq!(input[shared]["required"], false, "{operation}");
        }
        // A static list would be asked for again even when its values were sent.
        assert!(body.get("required").is_none(), "{operation}");
    }
}

#[test]
fn only_a_get_names_what_it_lacks() {
    let missing = |operation: Operation, query: Option<&str>| {
        let body = catalog().challenge_body(operation, query, ERROR, None);
        let body: Value = serde_json::from_slice(&body).unwrap();
        body.get("missingParams").cloned().unwrap_or_default()
    };
    assert_eq!(missing(Operation::Price, None), json!(["token"]));
    assert_eq!(
        missing(Operation::Price, Some("tok=1&max_age=5")),
        json!(["token"])
    );
    for query in ["token=0x12", "token=", "max_age=5&%74oken=1"] {
        assert_eq!(
            missing(Operation::Price, Some(query)),
            Value::Null,
            "{query}"
        );
    }
    assert_eq!(
        missing(Operation::Approve, Some("amount=1")),
        json!(["token"])
    );
    assert_eq!(missing(Operation::AllTokens, None), Value::Null);
    assert_eq!(missing(Operation::Swap, None), Value::Null);
    assert_eq!(missing(Operation::CancelYieldWatch, None), Value::Null);
    for operation in Operation::ALL {
        let call = operation.route().example_call();
        let query = call.target.split_once('?').map(|(_, query)| query);
        assert_eq!(missing(operation, query), Value::Null, "{operation}");
    }
}

#[test]
fn the_operator_may_have_bazaar_in_the_header() {
    let config = CatalogConfig {
        bazaar_in_header: true,
        ..config()
    };
    let with = Catalog::new(&config).unwrap();
    for operation in Operation::ALL {
        let challenge = with.challenge(operation, None, ERROR, None);
        let header: Value = serde_json::from_str(&decoded(&challenge.header)).unwrap();
        let body: Value = serde_json::from_slice(&challenge.body).unwrap();
        assert_eq!(header["extensions"], body["extensions"], "{operation}");
        assert!(challenge.header.len() <= 6_000, "{operation}");
        let lean = catalog().challenge(operation, None, ERROR, None);
        assert_eq!(lean.body, challenge.body, "{operation}");
        let declared: Value = serde_json::from_str(&with.bazaar(operation)).unwrap();
        assert_eq!(declared, body["extensions"]["bazaar"], "{operation}");
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

proptest! {
    #[test]
    fn the_header_equals_the_body_without_its_own_members(
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

        let mut body: Value = serde_json::from_slice(&challenge.body).unwrap();
        let members = body.as_object_mut().unwrap();
        let member = members.remove("refusal").unwrap();
        prop_assert_eq!(member["reason"].as_str(), Some(reason.as_str()));
        prop_assert_eq!(&member["charged"], &Value::Bool(false));
        prop_assert_eq!(&member["retryable"], &Value::Bool(retryable));
        prop_assert!(members.remove("outputSchema").is_some());
        members.remove("missingParams");
        let extensions = members["extensions"].as_object_mut().unwrap();
        prop_assert!(extensions.remove("bazaar").is_some());
        let header: Value = serde_json::from_str(&header).unwrap();
        let shown = header["error"].as_str().unwrap();
        let cut = shown.strip_suffix("...").unwrap_or(shown);
        prop_assert!(shown == error || error.starts_with(cut));
        let url = header["resource"]["url"].as_str().unwrap();
        let urls = [query.as_deref(), None].map(|query| catalog.resource_url(operation, query));
        prop_assert!(urls.iter().any(|possible| possible == url), "{}", url);
        prop_assert_eq!(header, body);
    }
}
