//! Tests of the operational endpoints.

use crate::protocol::prelude::*;

#[tokio::test]
async fn the_operational_endpoints_answer() {
    let server = TestServer::start().await;
    let get = async |target: &'static str| server.request("GET", target, &[], b"").await;
    assert_eq!(get("/healthz").await.json(), json!({ "status": "ok" }));
    assert_eq!(
        get("/readyz").await.json(),
        json!({ "ready": true, "reasons": [] })
    );
    let status = get("/status").await.json();
    assert_eq!(status["service"], "svc");
    assert_eq!(status["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(status["upstreams"], json!([]));
    server
        .bare(r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"refuse"}}"#)
        .await;
    server.bare("nonsense").await;
    let metrics = get("/metrics").await;
    assert!(
        metrics
            .header("content-type")
            .unwrap()
            .starts_with("text/plain")
    );
    for line in [
        "svc_mcp_messages_total{method=\"tools/call\"}",
        "svc_mcp_tool_calls_total{tool=\"refuse\",outcome=\"refused\"}",
        "svc_mcp_malformed_total",
        "svc_mcp_tool_call_seconds_bucket{tool=\"refuse\"",
        "svc_http_answers_total{status=\"400\"}",
    ] {
        assert!(metrics.body.contains(line), "{line}: {}", metrics.body);
    }
    for target in ["/healthz", "/readyz", "/status", "/metrics"] {
        let answer = server.request("HEAD", target, &[], b"").await;
        assert_eq!((answer.status, answer.body.as_str()), (200, ""));
        let answer = server.request("POST", target, &[], b"{}").await;
        assert_eq!(
            (answer.status, answer.header("allow")),
            (405, Some("GET, HEAD"))
        );
    }
}

#[tokio::test]
async fn operational_endpoints_but_the_probes_are_behind_the_host_check() {
    let server = TestServer::start().await;
    let strangers: [(&str, &str, &str); 3] = [
        ("Host", "10.0.0.7:8403", "host_not_served"),
        ("Host", "evil.example.com", "host_not_served"),
        ("Origin", "http://evil.example.com", "origin_not_served"),
    ];
    for (name, value, code) in strangers {
        for target in ["/status", "/metrics", "/nowhere"] {
            let answer = server.request("GET", target, &[(name, value)], b"").await;
            assert_eq!(answer.status, 403, "{target}");
            let error = answer.json()["error"].clone();
            assert_eq!(
                (&error["code"], &error["charged"]),
                (&json!(code), &json!(false))
            );
        }
        let answer = server
            .request("GET", "/healthz", &[(name, value)], b"")
            .await;
        assert_eq!(answer.json(), json!({ "status": "ok" }));
        let answer = server
            .request("GET", "/readyz", &[(name, value)], b"")
            .await;
        assert_eq!(answer.json()["ready"], true);
    }
}
