//! Walks the cases of `fixtures/cases/` that are about the Model Context Protocol.

use std::io::Write as _;

use serde_json::Value;
use test_support::cases::{Case, Observed, cases};
use test_support::wait;

use crate::process::server::{Configured, run};
use crate::protocol::wire::TestServer;

/// The bytes that a case gives in hexadecimal.
fn bytes(case: &Case) -> Vec<u8> {
    let digits = case.text("hex").as_bytes();
    let pairs = digits.chunks(2).map(|pair| {
        let pair = std::str::from_utf8(pair).unwrap();
        u8::from_str_radix(pair, 16).unwrap()
    });
    pairs.collect()
}

#[tokio::test]
async fn requests() {
    let server = TestServer::start().await;
    for case in cases("mcp_http") {
        let body = match case.given.get("body") {
            Some(body) => body.to_string().into_bytes(),
            None => bytes(&case),
        };
        let path = case.given["path"].as_str().unwrap_or("/mcp");
        let mut headers = vec![
            ("Content-Type", "application/json"),
            ("Accept", "application/json, text/event-stream"),
        ];
        for (name, value) in case.given["headers"].as_object().into_iter().flatten() {
            headers.push((name, value.as_str().unwrap()));
        }
        let answer = server.request("POST", path, &headers, &body).await;
        case.judge(&Observed {
            status: answer.status,
            answer: answer.json(),
            ..Observed::default()
        });
    }
}

#[test]
fn lines() {
    for case in cases("mcp_stdio") {
        let configured = Configured::new("");
        let mut server = configured.stdio();
        let mut input = server.stdin.take().unwrap();
        input.write_all(&bytes(&case)).unwrap();
        drop(input);
        let output = wait(server.ended());
        let mut lines: Vec<Value> = output
            .ok()
            .stdout
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        let expected = case.expect["lines"].as_array().unwrap();
        assert_eq!(lines.len(), expected.len(), "{}: {lines:?}", case.name);
        // The answers may come in any order.
        for expected in expected {
            let found = lines.iter().position(|line| has(line, expected));
            let found = found.unwrap_or_else(|| panic!("{}: {lines:?}", case.name));
            lines.swap_remove(found);
        }
    }
}

/// Whether a value has at least these members.
fn has(value: &Value, expected: &Value) -> bool {
    match expected.as_object().filter(|members| !members.is_empty()) {
        Some(members) => members
            .iter()
            .all(|(name, expected)| has(&value[name], expected)),
        None => value == expected,
    }
}

#[test]
fn schemas_of_the_tools() {
    let tools = run(&["tools", "--json"], &[]).ok().json();
    for case in cases("mcp_tools") {
        let keeps: fn(&Value) -> bool = match case.file["rule"].as_str().unwrap() {
            "object_has_properties" => {
                |schema| schema["type"] != "object" || schema["properties"].is_object()
            }
            "no_type_list" => |schema| !schema["type"].is_array(),
            other => panic!("unknown rule {other}"),
        };
        for tool in tools.as_array().unwrap() {
            for schema in ["inputSchema", "outputSchema"] {
                let place = format!("{}: {} {schema}", case.name, tool["name"]);
                all(&tool[schema], keeps, &place);
            }
        }
    }
}

/// Asserts that a schema and all schemas within it keep a rule.
fn all(schema: &Value, keeps: fn(&Value) -> bool, place: &str) {
    assert!(keeps(schema), "{place}: {schema}");
    for (name, member) in schema["properties"].as_object().into_iter().flatten() {
        all(member, keeps, &format!("{place}.{name}"));
    }
    for branches in ["anyOf", "oneOf", "allOf"] {
        for branch in schema[branches].as_array().into_iter().flatten() {
            all(branch, keeps, place);
        }
    }
    if schema["items"].is_object() {
        all(&schema["items"], keeps, place);
    }
}
