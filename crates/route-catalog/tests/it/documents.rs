//! Tests of OpenAPI, the discovery documents and the tables.

use std::collections::BTreeSet;

use route_catalog::{
    Catalog, CatalogConfig, CatalogError, ErrorCode, FREE_ROUTES, Next, Offering, Operation,
    Unserved, docs_table, routes_json, routes_table,
};
use serde_json::{Value, json};
use x402_wire::Scheme;

use crate::support::{catalog, config};

#[test]
fn the_whole_openapi_document() {
    insta::with_settings!({sort_maps => true}, {
        insta::assert_json_snapshot!(catalog().openapi());
    });
}

#[test]
fn openapi_has_every_operation_with_its_price() {
    let document = catalog().openapi();
    assert_eq!(document["openapi"], "3.1.0");
    assert_eq!(document["info"]["version"], "1.0.0");
    let mut paid = 0;
    let mut names = BTreeSet::new();
    for item in document["paths"].as_object().unwrap().values() {
        for operation in item.as_object().unwrap().values() {
            assert_eq!(operation["security"], json!([]));
            assert!(names.insert(operation["operationId"].as_str().unwrap().to_owned()));
            if operation.get("x-payment-info").is_some() {
                paid += 1;
            }
        }
    }
    assert_eq!(paid, 45);
    assert_eq!(names.len(), 45 + FREE_ROUTES.len());
    for operation in Operation::ALL {
        let route = operation.route();
        let method = route.method.as_str().to_lowercase();
        let documented = &document["paths"][route.path][&method];
        assert_eq!(
            documented["x-payment-info"],
            json!({
                "protocols": ["x402"],
                "pricingMode": "fixed",
                "price": route.price.to_string(),
                "network": "eip155:196",
            })
        );
        let answers = operation.answers().iter().map(u16::to_string);
        assert!(answers.into_iter().all(|status| {
            let answer = &documented["responses"][&status];
            answer["content"]["application/json"]["schema"].is_object()
        }));
        for status in [
            "400", "402", "404", "405", "409", "413", "415", "422", "429", "431", "500", "503",
        ] {
            assert!(
                documented["responses"].get(status).is_some(),
                "{operation} {status}"
            );
        }
        assert_eq!(documented.get("requestBody").is_some(), route.takes_body());
    }
}

#[test]
fn every_reference_resolves() {
    let document = catalog().openapi();
    let mut references = Vec::new();
    collect_references(&document, &mut references);
    assert!(references.len() > 500);
    for reference in references {
        let pointer = reference.strip_prefix('#').unwrap();
        assert!(document.pointer(pointer).is_some(), "{reference}");
    }
}

fn collect_references(json: &Value, found: &mut Vec<String>) {
    match json {
        Value::Object(members) => {
            found.extend(
                members
                    .get("$ref")
                    .and_then(Value::as_str)
                    .map(str::to_owned),
            );
            members
                .values()
                .for_each(|member| collect_references(member, found));
        }
        Value::Array(entries) => entries
            .iter()
            .for_each(|entry| collect_references(entry, found)),
        _ => {}
    }
}

#[test]
fn every_documented_example_satisfies_its_schema() {
    let document = catalog().openapi();
    let components = json!({"components": document["components"]});
    let validate = |place: &str, schema: &Value, example: &Value| {
        // A reference `#/components/…` resolves inside the schema that validates the example.
        let mut root = components.clone();
        root["allOf"] = json!([schema]);
        let validator = jsonschema::draft202012::new(&root).unwrap();
        let errors: Vec<_> = validator
            .iter_errors(example)
            .map(|error| error.to_string())
            .collect();
        assert!(errors.is_empty(), "{place}: {errors:?}");
    };
    for operation in Operation::ALL {
        let route = operation.route();
        let documented =
            &document["paths"][route.path][route.method.as_str().to_lowercase().as_str()];
        for status in operation.answers() {
            let answer =
                &documented["responses"][status.to_string()]["content"]["application/json"];
            validate(
                &format!("{operation} answer {status}"),
                &answer["schema"],
                &answer["example"],
            );
        }
        if route.takes_body() {
            let body = &documented["requestBody"]["content"]["application/json"];
            validate(
                &format!("{operation} body"),
                &body["schema"],
                &body["example"],
            );
        }
        for parameter in documented["parameters"].as_array().unwrap() {
            if let Some(example) = parameter.get("example") {
                let place = format!("{operation} {}", parameter["name"]);
                validate(&place, &parameter["schema"], example);
            }
        }
    }
    let refusal = route_catalog::Refusal {
        code: ErrorCode::PaymentRequired.code(),
        reason: "payment_missing",
        retryable: true,
        request_id: "r",
        next: &Next::SignNew,
    };
    let challenge = catalog().challenge(Operation::Swap, None, "e", Some(&refusal));
    let body: Value = serde_json::from_slice(&challenge.body).unwrap();
    let schema = &document["components"]["schemas"]["PaymentRequired"];
    validate("402", schema, &body);
}

/// The catalog of a server that does not serve one route and cannot settle one scheme.
fn partial() -> Catalog {
    let unserved = Unserved {
        reason: "no_upstream_configured",
        needs: vec!["upstreams.okx.api_key".to_owned()],
    };
    let offering = Offering {
        unserved: [(Operation::Swap, unserved)].into(),
        unpayable: vec![Scheme::AggrDeferred],
    };
    Catalog::offering(&config(), offering).unwrap()
}

#[test]
fn documents_mark_the_unserved_routes() {
    let catalog = partial();
    let swap = &catalog.openapi()["paths"]["/swap"]["post"];
    assert_eq!(swap["tags"], json!(["paid", "tokens", "unavailable"]));
    assert_eq!(swap["x-availability"]["servable"], false);
    let price = &catalog.openapi()["paths"]["/price"]["get"];
    assert_eq!(
        (&price["tags"], &price["x-availability"]),
        (&json!(["paid", "tokens"]), &json!({"servable": true}))
    );
    assert_eq!(
        catalog.well_known()["unavailable"],
        json!([{"method": "POST", "needs": ["upstreams.okx.api_key"], "reason": "no_upstream_configured", "url": "https://api.example.com/swap"}])
    );
    let challenge = catalog.challenge(Operation::Swap, None, "e", None);
    let body: Value = serde_json::from_slice(&challenge.body).unwrap();
    assert_eq!(
        body["extensions"]["availability"]["info"]["servable"],
        false
    );
    assert!(
        challenge.header.len() <= 3_500,
        "{}",
        challenge.header.len()
    );
    let other = catalog.challenge(Operation::Price, None, "e", None);
    let body: Value = serde_json::from_slice(&other.body).unwrap();
    assert!(body["extensions"].get("availability").is_none());
}

#[test]
fn documents_name_the_schemes_that_cannot_be_paid() {
    let refusal = route_catalog::Refusal {
        code: ErrorCode::PaymentRequired.code(),
        reason: "payment_missing",
        retryable: true,
        request_id: "r",
        next: &Next::SignNew,
    };
    let unpayable = |catalog: &Catalog, operation, query| {
        let body = catalog.challenge_body(operation, query, "e", Some(&refusal));
        let body: Value = serde_json::from_slice(&body).unwrap();
        assert_eq!(body["accepts"].as_array().unwrap().len(), 6);
        body["refusal"]["unpayable_schemes"].clone()
    };
    let address = Some("address=0x1f9840a85d5aF5bf1D1762F925BDADdC4201F984");
    for (operation, query, is_private) in [
        (Operation::Price, None, false),
        (Operation::Portfolio, address, false),
        // Only a proven payer gets an answer about its own wallet.
        (Operation::Portfolio, None, true),
        (Operation::SubWallet, None, true),
        (Operation::AutoSwap, None, true),
    ] {
        let deferred = json!(["aggr_deferred"]);
        assert_eq!(unpayable(&partial(), operation, query), deferred);
        let expected = if is_private { deferred } else { Value::Null };
        let observed = unpayable(catalog(), operation, query);
        assert_eq!(observed, expected, "{operation} {query:?}");
    }
    assert!(
        partial()
            .llms_txt()
            .contains("Options with scheme `aggr_deferred` cannot be paid here")
    );
}

#[test]
fn assets_and_the_chain_have_names() {
    let text = catalog().llms_txt();
    for line in [
        "paid per call on X Layer (eip155:196) with x402",
        "- USD₮0 on X Layer (eip155:196): 0x779Ded0c9e1022225f8E0630b35a9b54bE713736",
        "- Global Dollar on X Layer (eip155:196): 0x4ae46a509F6b1D9056937BA4500cb143933D2dc8",
        "GET https://api.example.com/llm-research ($0.10): ",
        "  - Example: GET https://api.example.com/portfolio?address=0x",
    ] {
        assert!(text.contains(line), "{line}");
    }
}

#[test]
fn the_text_of_openapi_equals_the_document() {
    let text = catalog().openapi_text();
    assert_eq!(
        serde_json::from_str::<Value>(&text).unwrap(),
        catalog().openapi()
    );
    assert!(text.ends_with("}\n"));
}

#[test]
fn the_well_known_document_lists_every_path_once() {
    let document = catalog().well_known();
    assert_eq!(document["version"], 1);
    let resources = document["resources"].as_array().unwrap();
    assert_eq!(resources.len(), 43);
    assert_eq!(resources[0], "https://api.example.com/swap");
}

#[test]
fn the_text_documents() {
    insta::assert_snapshot!("llms_txt", catalog().llms_txt());
    insta::assert_snapshot!("docs_table", docs_table(|_| None));
    insta::assert_snapshot!("routes_table", routes_table());
}

#[test]
fn the_routes_as_json() {
    let json = routes_json();
    assert_eq!(json["operations"], 45);
    assert_eq!(json["paths"], 43);
    assert_eq!(json["resources"], 42);
    assert_eq!(json["routes"].as_array().unwrap().len(), 45);
    insta::with_settings!({sort_maps => true}, {
        insta::assert_json_snapshot!(json["routes"][0]);
    });
}

#[test]
fn the_contact_is_a_url_or_a_mail_address() {
    let contact = |contact: Option<&str>| {
        let config = CatalogConfig {
            contact: contact.map(str::to_owned),
            ..config()
        };
        Catalog::new(&config).unwrap().openapi()["info"]["contact"].clone()
    };
    assert_eq!(
        contact(None),
        json!({"name": "svc", "url": "https://api.example.com"})
    );
    assert_eq!(
        contact(Some("a@b.example")),
        json!({"name": "svc", "email": "a@b.example"})
    );
    assert_eq!(
        contact(Some("https://b.example")),
        json!({"name": "svc", "url": "https://b.example"})
    );
}

#[test]
fn public_urls_that_cannot_begin_a_resource_are_refused() {
    let make = |url: &str| {
        let config = CatalogConfig {
            public_url: url.to_owned(),
            ..config()
        };
        Catalog::new(&config).map(|catalog| catalog.base_url().to_owned())
    };
    assert_eq!(
        make("http://127.0.0.1:8402"),
        Ok("http://127.0.0.1:8402".into())
    );
    assert_eq!(
        make("https://[::1]:8402/v1/"),
        Ok("https://[::1]:8402/v1".into())
    );
    for url in ["", "api.example.com", "ftp://a", "https://", "https:///x"] {
        assert_eq!(
            make(url),
            Err(CatalogError::PublicUrl {
                observed: url.to_owned()
            })
        );
    }
    for (url, observed) in [
        ("https://a?b", '?'),
        ("https://a#b", '#'),
        ("https://a b", ' '),
        ("https://user@a", '@'),
        ("https://ä", 'ä'),
    ] {
        let error = make(url).unwrap_err();
        assert_eq!(error, CatalogError::PublicUrlPart { observed });
        assert_eq!(error.code(), "public_url_part_invalid");
    }
}
