//! Tests of tool calls in their shortest form: no handshake, no version, no `_meta`.

use crate::protocol::prelude::*;
use crate::protocol::toolbox::{DIFFICULT, REFUSAL};

fn call(id: &str, params: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{params}}}"#)
}

#[tokio::test]
async fn a_bare_call_is_answered_with_the_same_json_twice() {
    let server = TestServer::start().await;
    let answer = server.bare(call("1", r#"{"name":"echo"}"#)).await;
    assert_eq!(answer.status, 200);
    // The answer has the tool's text byte for byte, once as JSON and once as text.
    let text = serde_json::to_string(DIFFICULT).unwrap();
    assert_eq!(
        answer.body,
        format!(
            r#"{{"jsonrpc":"2.0","id":1,"result":{{"content":[{{"type":"text","text":{text}}}],"structuredContent":{DIFFICULT},"isError":false}}}}"#
        )
    );
}

#[tokio::test]
async fn a_refusal_is_a_result() {
    let server = TestServer::start().await;
    let result = server
        .bare(call("1", r#"{"name":"refuse","arguments":{}}"#))
        .await
        .result();
    assert_eq!(result["isError"], true);
    assert_eq!(result["content"][0]["text"], REFUSAL);
    assert_eq!(result["structuredContent"]["refused"]["check"], "no");
}

#[tokio::test]
async fn absent_and_null_arguments_count_as_no_arguments() {
    let server = TestServer::start().await;
    for params in [
        r#"{"name":"echo"}"#,
        r#"{"name":"echo","arguments":null}"#,
        r#"{"name":"echo","arguments":{}}"#,
        r#"{"arguments":{},"name":"\u0065cho","_meta":null,"extra":[1]}"#,
    ] {
        let result = server.bare(call("1", params)).await.result();
        assert_eq!(
            result["structuredContent"]["n"].to_string(),
            "12345678901234567890",
            "{params}"
        );
    }
}

#[tokio::test]
async fn arguments_arrive_as_they_were_sent() {
    let server = TestServer::start().await;
    // The tool gets the caller's text unchanged: order, spaces, duplicates and numbers.
    for arguments in [
        r#"{"b": 1,  "a":2}"#,
        r#"{"a":1,"a":2}"#,
        r#"{"n":1e400,"m":123456789012345678901234567890.10}"#,
        r#"{"s":"\u0041\ud800"}"#,
    ] {
        let params = format!(r#"{{"name":"echo","arguments": {arguments} }}"#);
        let result = server.bare(call("1", &params)).await.result();
        assert_eq!(result["structuredContent"]["arguments"], *arguments);
    }
}

#[tokio::test]
async fn ids_come_back_as_they_were_written() {
    let server = TestServer::start().await;
    for id in [
        "0",
        "-7",
        "9007199254740993",
        "123456789012345678901234567890",
        "\"\"",
        "\"1\"",
        "\"\\u00e9 \\\" \\\\\"",
        "\"世界\"",
    ] {
        let answer = server.bare(call(id, r#"{"name":"refuse"}"#)).await;
        let head = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":"#);
        assert!(answer.body.starts_with(&head), "{id}: {}", answer.body);
        let answer = server.bare(call(id, r#"{"name":"none"}"#)).await;
        let head = format!(r#"{{"jsonrpc":"2.0","id":{id},"error":"#);
        assert!(answer.body.starts_with(&head), "{id}: {}", answer.body);
    }
}

#[tokio::test]
async fn tools_are_listed_in_their_own_order() {
    let server = TestServer::start().await;
    let body = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;
    let first = server.bare(body).await;
    let result = first.result();
    let names: Vec<&str> = result["tools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| tool["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["refuse", "echo", "Δ tool", "another"]);
    let tool = &result["tools"][1];
    assert_eq!(
        *tool,
        json!({
            "name": "echo",
            "title": "The tool echo",
            "description": "For tests.",
            "inputSchema": { "type": "object" },
            "outputSchema": { "type": "object" },
            "annotations": {
                "readOnlyHint": true,
                "destructiveHint": false,
                "idempotentHint": true,
                "openWorldHint": false,
            },
        })
    );
    assert_eq!(server.bare(body).await.body, first.body);
}

#[tokio::test]
async fn calls_above_the_limit_are_refused_by_name() {
    let server = TestServer::with("plans.calls_per_second = 1\nplans.calls_burst = 2").await;
    let mut checks = Vec::new();
    for _ in 0..3 {
        let result = server.bare(call("1", r#"{"name":"echo"}"#)).await.result();
        checks.push(result["structuredContent"]["refused"]["check"].clone());
    }
    assert_eq!(checks, [Value::Null, Value::Null, json!("rate_limited")]);
    // Other methods are still served.
    let ping = server
        .bare(r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#)
        .await;
    assert_eq!(ping.result(), json!({}));
}
