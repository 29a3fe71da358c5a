//! Tests of the judgement of cases.

use serde_json::{Value, json};
use test_support::cases::{Case, Observed, cases};

fn fits(entry: Value) -> bool {
    let case = Case {
        name: "test".to_owned(),
        given: json!({}),
        expect: json!({ "any_of": [{ "status": 7 }, entry] }),
        file: json!({}),
    };
    let observed = Observed {
        status: 400,
        answer: json!({ "error": { "code": "a", "problems": [{ "path": "query.Chian" }] } }),
        named: [("charged".to_owned(), json!(false))].into_iter().collect(),
    };
    std::panic::catch_unwind(|| case.judge(&observed)).is_ok()
}

#[test]
fn an_expectation_fits_or_does_not() {
    for entry in [
        json!({ "status": 400 }),
        json!({ "status": [200, 400] }),
        json!({ "status": 400, "where": { "error.code": ["a", "b"] } }),
        json!({ "where": { "charged": [false], "error.none": [null] } }),
        json!({ "where": { "error.problems[0].path": { "has": ["query\\.chian"] } } }),
        json!({ "where": { "error": { "has": "x|chian", "has_not": ["x|w", "z"] } } }),
    ] {
        assert!(fits(entry.clone()), "{entry}");
    }
    for entry in [
        json!({ "status": 402 }),
        json!({ "status": 400, "where": { "error.code": ["b"] } }),
        json!({ "where": { "charged": [true] } }),
        json!({ "where": { "error": { "has": ["chian", "chain"] } } }),
        json!({ "where": { "error": { "has_not": ["x|chian"] } } }),
        json!({ "where": { "error": { "has": ["\\d"] } } }),
        json!({ "where": { "error": { "like": ["chian"] } } }),
        json!({ "other": 1 }),
    ] {
        assert!(!fits(entry.clone()), "{entry}");
    }
}

#[test]
fn a_variant_is_laid_over_its_file() {
    let cases = cases("api_config");
    let named = |name: &str| {
        let mut found = cases.iter().filter(|case| case.name.ends_with(name));
        found.next().unwrap_or_else(|| panic!("{name}")).clone()
    };
    let any = named(", '*'");
    assert_eq!(any.given["server"]["allowed_hosts"], json!(["*"]));
    assert!(any.text("request").contains("any.example"));
    let probe = named("healthz, another host");
    assert_eq!(
        probe.given["server"]["allowed_hosts"],
        json!(["api.example.com"])
    );
    assert_eq!(probe.expect["any_of"][0]["status"], 200);
}
