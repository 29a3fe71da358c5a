//! Tests of revision 2026-07-28, in which every request carries all that the server needs to know.

use crate::protocol::prelude::*;
use crate::protocol::toolbox::meta;

const VERSION: (&str, &str) = ("MCP-Protocol-Version", "2026-07-28");

fn body(method: &str, params: Value) -> String {
    json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params }).to_string()
}

fn echo() -> Value {
    json!({ "name": "echo", "arguments": { "a": 1 }, "_meta": meta() })
}

#[tokio::test]
async fn discovery_names_revisions_and_capabilities() {
    let server = TestServer::start().await;
    let result = server.modern("server/discover", json!({})).await.result();
    assert_eq!(
        result["supportedVersions"],
        json!([
            "2026-07-28",
            "2025-11-25",
            "2025-06-18",
            "2025-03-26",
            "2024-11-05"
        ])
    );
    assert_eq!(result["capabilities"], json!({ "tools": {} }));
    assert_eq!(result["resultType"], "complete");
    assert_eq!(result["ttlMs"], 3_600_000);
    assert_eq!(result["cacheScope"], "public");
    assert_eq!(
        result["_meta"]["io.modelcontextprotocol/serverInfo"]["name"],
        "svc"
    );
}

#[tokio::test]
async fn lists_and_calls_carry_the_required_members() {
    let server = TestServer::start().await;
    let list = server.modern("tools/list", json!({})).await.result();
    assert_eq!(list["resultType"], "complete");
    assert_eq!(list["cacheScope"], "public");
    assert!(list["ttlMs"].as_u64().is_some());
    assert_eq!(list["tools"].as_array().unwrap().len(), 4);
    let called = server.modern("tools/call", echo()).await.result();
    assert_eq!(called["resultType"], "complete");
    assert_eq!(called["structuredContent"]["arguments"], r#"{"a":1}"#);
    let refused = server
        .modern("tools/call", json!({ "name": "refuse" }))
        .await
        .result();
    assert_eq!(refused["isError"], true);
    let unknown = server.modern("tools/call", json!({ "name": "none" })).await;
    assert_eq!(unknown.error(), (200, -32602, json!(1)));
    let nameless = body("tools/call", json!({ "_meta": meta() }));
    let answer = server
        .post(&[VERSION, ("Mcp-Method", "tools/call")], nameless)
        .await;
    assert_eq!(answer.error(), (200, -32602, json!(1)));
}

#[tokio::test]
async fn methods_that_are_not_served_are_not_found() {
    let server = TestServer::start().await;
    for method in [
        "ping",
        "initialize",
        "logging/setLevel",
        "prompts/list",
        "resources/list",
        "resources/templates/list",
        "completion/complete",
        "subscriptions/listen",
        "tools/Call",
        "nonsense",
    ] {
        let answer = server
            .modern(
                method,
                json!({ "protocolVersion": "2025-11-25", "level": "info" }),
            )
            .await;
        assert_eq!(answer.error(), (404, -32601, json!(1)), "{method}");
    }
    for (method, params) in [
        ("prompts/get", json!({ "name": "x" })),
        ("resources/read", json!({ "uri": "x" })),
    ] {
        let mut params = params;
        params["_meta"] = meta();
        let headers = [VERSION, ("Mcp-Method", method), ("Mcp-Name", "x")];
        let answer = server.post(&headers, body(method, params.clone())).await;
        assert_eq!(answer.error(), (404, -32601, json!(1)));
        let headers = [VERSION, ("Mcp-Method", method), ("Mcp-Name", "y")];
        let answer = server.post(&headers, body(method, params)).await;
        assert_eq!(answer.error(), (400, -32020, json!(1)));
    }
}

#[tokio::test]
async fn headers_must_agree_with_the_body() {
    let server = TestServer::start().await;
    let method = ("Mcp-Method", "tools/call");
    let name = ("Mcp-Name", "echo");
    for headers in [
        &[][..],
        &[VERSION],
        &[VERSION, method],
        &[VERSION, name],
        &[method, name],
        &[("MCP-Protocol-Version", "2025-11-25"), method, name],
        &[("MCP-Protocol-Version", "1900-01-01"), method, name],
        &[("MCP-Protocol-Version", ""), method, name],
        &[VERSION, VERSION, method, name],
        &[VERSION, ("Mcp-Method", "tools/list"), name],
        &[VERSION, ("Mcp-Method", "Tools/Call"), name],
        &[VERSION, ("Mcp-Method", ""), name],
        &[VERSION, method, method, name],
        &[VERSION, method, ("Mcp-Name", "refuse")],
        &[VERSION, method, ("Mcp-Name", "Echo")],
        &[VERSION, method, ("Mcp-Name", "")],
        &[VERSION, method, name, name],
        &[VERSION, method, ("Mcp-Name", "=?base64?ZWNobw?=")],
        &[VERSION, method, ("Mcp-Name", "=?base64?!!!!?=")],
        &[VERSION, method, ("Mcp-Name", "=?base64?cmVmdXNl?=")],
        &[VERSION, method, ("Mcp-Name", "=?BASE64?ZWNobw==?=")],
        &[VERSION, method, ("Mcp-Name", "=?base64?ZWNobw==")],
        &[VERSION, method, ("Mcp-Name", "=?base64??=")],
        &[VERSION, method, ("Mcp-Name", "\u{e9}cho")],
    ] {
        let answer = server.post(headers, body("tools/call", echo())).await;
        assert_eq!(answer.error(), (400, -32020, json!(1)), "{headers:?}");
    }
}

#[tokio::test]
async fn header_names_have_no_case_and_values_may_be_encoded() {
    let server = TestServer::start().await;
    for headers in [
        [
            ("mcp-protocol-version", "2026-07-28"),
            ("MCP-METHOD", "tools/call"),
            ("mcp-name", "echo"),
        ],
        [
            VERSION,
            ("Mcp-Method", "  tools/call \t"),
            ("Mcp-Name", " echo "),
        ],
        [
            VERSION,
            ("Mcp-Method", "tools/call"),
            ("Mcp-Name", "=?base64?ZWNobw==?="),
        ],
    ] {
        let answer = server.post(&headers, body("tools/call", echo())).await;
        assert_eq!(
            answer.result()["structuredContent"]["arguments"],
            r#"{"a":1}"#,
            "{headers:?}"
        );
    }
    // A header cannot carry this name unencoded.
    let headers = [
        VERSION,
        ("Mcp-Method", "tools/call"),
        ("Mcp-Name", "=?base64?zpQgdG9vbA==?="),
    ];
    let params = json!({ "name": "Δ tool", "_meta": meta() });
    let result = server
        .post(&headers, body("tools/call", params))
        .await
        .result();
    assert_eq!(result["structuredContent"], json!({ "delta": true }));
}

#[tokio::test]
async fn meta_has_to_be_complete() {
    let server = TestServer::start().await;
    let without = |key: &str| {
        let mut meta = meta();
        meta.as_object_mut()
            .unwrap()
            .remove(&format!("io.modelcontextprotocol/{key}"))
            .unwrap();
        json!({ "_meta": meta })
    };
    let with = |key: &str, value: Value| {
        let mut meta = meta();
        meta[format!("io.modelcontextprotocol/{key}")] = value;
        json!({ "_meta": meta })
    };
    let headers = [VERSION, ("Mcp-Method", "server/discover")];
    for params in [
        json!({}),
        json!({ "_meta": null }),
        json!({ "_meta": {} }),
        without("protocolVersion"),
        without("clientCapabilities"),
        with("protocolVersion", json!(20260728)),
        with("protocolVersion", Value::Null),
        with("clientCapabilities", json!([])),
        with("clientCapabilities", Value::Null),
        with("clientInfo", json!("me")),
    ] {
        let answer = server
            .post(&headers, body("server/discover", params.clone()))
            .await;
        assert_eq!(answer.error(), (400, -32602, json!(1)), "{params}");
    }
    let answer = server
        .post(&headers, body("server/discover", without("clientInfo")))
        .await;
    assert_eq!(answer.result()["resultType"], "complete");
    // No revision with less metadata has this method.
    let bare = server.bare(body("server/discover", json!({}))).await;
    assert_eq!(bare.error(), (400, -32602, json!(1)));
}

#[tokio::test]
async fn a_revision_that_is_not_served_is_refused_with_those_that_are() {
    let server = TestServer::start().await;
    let discovered = server.modern("server/discover", json!({})).await.result();
    for version in ["1900-01-01", "2026-07-29", "v999.0.0", ""] {
        let mut params = json!({ "_meta": meta() });
        params["_meta"]["io.modelcontextprotocol/protocolVersion"] = json!(version);
        let headers = [
            ("MCP-Protocol-Version", version),
            ("Mcp-Method", "server/discover"),
        ];
        let answer = server.post(&headers, body("server/discover", params)).await;
        assert_eq!(answer.error(), (400, -32022, json!(1)), "{version}");
        let data = answer.json()["error"]["data"].clone();
        assert_eq!(data["requested"], version);
        assert_eq!(data["supported"], discovered["supportedVersions"]);
    }
    // The request names an older revision in the new form, and gets that revision.
    let mut params = json!({ "_meta": meta() });
    params["_meta"]["io.modelcontextprotocol/protocolVersion"] = json!("2025-11-25");
    let headers = [("MCP-Protocol-Version", "2025-11-25")];
    let answer = server.post(&headers, body("ping", params)).await;
    assert_eq!(answer.result(), json!({}));
}

#[tokio::test]
async fn notifications_need_no_headers_and_must_not_lie() {
    let server = TestServer::start().await;
    let cancelled =
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#;
    for headers in [
        &[VERSION][..],
        &[VERSION, ("Mcp-Method", "notifications/cancelled")],
    ] {
        let answer = server.post(headers, cancelled).await;
        assert_eq!((answer.status, answer.body.as_str()), (202, ""));
    }
    let answer = server
        .post(&[VERSION, ("Mcp-Method", "tools/list")], cancelled)
        .await;
    assert_eq!(answer.error(), (400, -32020, json!("absent")));
}
