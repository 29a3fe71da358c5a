//! Tests of bodies that are not a message. None of them reaches a tool, and each answer names the
//! expected form.

use crate::protocol::prelude::*;

#[tokio::test]
async fn a_body_that_is_not_json_is_a_parse_error() {
    let server = TestServer::start().await;
    let deep_object = format!("{}1{}", "{\"a\":".repeat(100), "}".repeat(100));
    for body in [
        "",
        " ",
        "nonsense",
        "{",
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"",
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}}",
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"} {}",
        "{\"jsonrpc\":\"2.0\",\"id\":01,\"method\":\"ping\"}",
        "{'jsonrpc':'2.0'}",
        "\u{feff}\u{feff}{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}",
        "[1,",
        "nul",
        &"[".repeat(60_000),
        &"{\"a\":".repeat(10_000),
        &deep_object,
    ] {
        let answer = server.bare(body).await;
        assert_eq!(answer.error(), (400, -32700, json!("absent")), "{body:.60}");
    }
    let answer = server
        .bare(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"p\xffng\"}")
        .await;
    assert_eq!(answer.error(), (400, -32700, json!("absent")));
    // One byte-order mark is ignored.
    let marked = "\u{feff}{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}";
    assert_eq!(server.bare(marked).await.result(), json!({}));
    // With one level less, the body is accepted.
    let body = format!(
        "{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"x\":{}{}}}",
        "[".repeat(63),
        "]".repeat(63)
    );
    assert_eq!(server.bare(body).await.result(), json!({}));
}

#[tokio::test]
async fn json_that_is_no_message_is_an_invalid_request() {
    let server = TestServer::start().await;
    let ping = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    for (body, id) in [
        ("[]".to_owned(), json!("absent")),
        ("1".to_owned(), json!("absent")),
        ("null".to_owned(), json!("absent")),
        ("\"ping\"".to_owned(), json!("absent")),
        ("{}".to_owned(), json!("absent")),
        (ping.replace("1,", "null,"), json!("absent")),
        (ping.replace("1,", "1.5,"), json!("absent")),
        (ping.replace("1,", "true,"), json!("absent")),
        (ping.replace("1,", "[1],"), json!("absent")),
        (ping.replace("1,", "{},"), json!("absent")),
        (ping.replace("\"2.0\"", "\"1.0\""), json!(1)),
        (ping.replace("\"2.0\"", "2.0"), json!(1)),
        (ping.replace("\"jsonrpc\":\"2.0\",", ""), json!(1)),
        (ping.replace("\"ping\"", "5"), json!(1)),
        (ping.replace("\"ping\"", "null"), json!(1)),
        (ping.replace(",\"method\":\"ping\"", ""), json!(1)),
        // These are responses, and the server has asked the client for nothing.
        (
            r#"{"jsonrpc":"2.0","id":1,"result":{}}"#.to_owned(),
            json!(1),
        ),
        (
            r#"{"jsonrpc":"2.0","id":"a","error":{"code":1,"message":""}}"#.to_owned(),
            json!("a"),
        ),
        // The member occurs twice, and the server does not guess which one is meant.
        (
            ping.replace("\"id\":1", "\"id\":1,\"id\":2"),
            json!("absent"),
        ),
        (
            ping.replace("\"id\":1", "\"id\":1,\"\\u0069d\":1"),
            json!("absent"),
        ),
        (ping.replace("}", ",\"x\":1,\"x\":1}"), json!("absent")),
    ] {
        let answer = server.bare(&body).await;
        assert_eq!(answer.error(), (400, -32600, id), "{body}");
    }
}

#[tokio::test]
async fn parameters_without_the_form_of_their_method_are_invalid() {
    let server = TestServer::start().await;
    for (method, params) in [
        ("ping", "[]"),
        ("ping", "[1]"),
        ("ping", "\"x\""),
        ("ping", "7"),
        ("ping", r#"{"_meta":[]}"#),
        ("ping", r#"{"a":1,"a":1}"#),
        ("ping", r#"{"_meta":{"a":1,"a":1}}"#),
        ("tools/call", "{}"),
        ("tools/call", r#"{"arguments":{}}"#),
        ("tools/call", r#"{"name":7}"#),
        ("tools/call", r#"{"name":null}"#),
        ("tools/call", r#"{"name":"echo","arguments":[]}"#),
        ("tools/call", r#"{"name":"echo","arguments":"{}"}"#),
        ("tools/call", r#"{"name":"echo","arguments":5}"#),
        ("tools/call", r#"{"name":"echo","name":"refuse"}"#),
        (
            "tools/call",
            r#"{"name":"echo","arguments":{},"arguments":{}}"#,
        ),
        ("tools/call", r#"{"name":"none"}"#),
        ("tools/call", r#"{"name":""}"#),
        ("tools/call", r#"{"name":"Echo"}"#),
        ("tools/list", r#"{"cursor":"next"}"#),
        ("initialize", "{}"),
        ("initialize", r#"{"protocolVersion":1}"#),
        ("logging/setLevel", "{}"),
        ("logging/setLevel", r#"{"level":"loud"}"#),
    ] {
        let body = format!(r#"{{"jsonrpc":"2.0","id":"i","method":"{method}","params":{params}}}"#);
        let answer = server.bare(&body).await;
        assert_eq!(answer.error(), (200, -32602, json!("i")), "{body}");
    }
    for method in ["tools/call", "initialize"] {
        let body = format!(r#"{{"jsonrpc":"2.0","id":0,"method":"{method}"}}"#);
        assert_eq!(
            server.bare(&body).await.error(),
            (200, -32602, json!(0)),
            "{body}"
        );
    }
}
