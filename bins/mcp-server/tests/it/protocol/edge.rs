//! Tests of the checks before a body is read, and of the limits of bodies and heads.

use crate::protocol::prelude::*;

const PING: &str = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
const JSON: (&str, &str) = ("Content-Type", "application/json");

#[tokio::test]
async fn only_post_is_served() {
    let server = TestServer::start().await;
    for method in ["GET", "DELETE", "PUT", "PATCH", "HEAD", "OPTIONS", "TRACE"] {
        let headers = [("Accept", "text/event-stream"), ("Last-Event-ID", "1")];
        let answer = server.request(method, "/mcp", &headers, b"").await;
        assert_eq!(answer.status, 405, "{method}");
        assert_eq!(answer.header("allow"), Some("POST"));
        assert_eq!(answer.header("content-type"), Some("application/json"));
    }
    for target in ["/", "/mcp//", "/MCP", "/mcp/x", "/sse"] {
        let answer = server
            .request("POST", target, &[JSON], PING.as_bytes())
            .await;
        assert_eq!(answer.status, 404, "{target}");
        assert_eq!(answer.json()["error"]["code"], "not_found");
    }
    for target in ["/mcp?x=1", "/mcp/", "/mcp/?x=1"] {
        let answer = server.request("POST", target, &[JSON], PING.as_bytes());
        assert_eq!(answer.await.result(), json!({}), "{target}");
    }
}

#[tokio::test]
async fn bodies_are_json_and_say_so() {
    let server = TestServer::start().await;
    for headers in [
        &[][..],
        &[("Content-Type", "text/plain")],
        &[("Content-Type", "application/x-www-form-urlencoded")],
        &[JSON, JSON],
    ] {
        let answer = server
            .request("POST", "/mcp", headers, PING.as_bytes())
            .await;
        assert_eq!(
            answer.error(),
            (415, -32600, json!("absent")),
            "{headers:?}"
        );
    }
    let compressed = [JSON, ("Content-Encoding", "gzip")];
    let answer = server.request("POST", "/mcp", &compressed, &[0x1f, 0x8b]);
    assert_eq!(answer.await.error(), (415, -32600, json!("absent")));
    let headers = [("content-type", "application/json; charset=UTF-8")];
    let answer = server
        .request("POST", "/mcp", &headers, PING.as_bytes())
        .await;
    assert_eq!(answer.result(), json!({}));
}

#[tokio::test]
async fn json_is_served_unless_it_is_excluded() {
    let server = TestServer::start().await;
    for accept in [
        &[][..],
        &[("Accept", "*/*")],
        &[("Accept", "application/*")],
        &[("Accept", "application/json")],
        &[("Accept", "application/json, text/event-stream")],
    ] {
        let headers = [&[JSON], accept].concat();
        let answer = server
            .request("POST", "/mcp", &headers, PING.as_bytes())
            .await;
        assert_eq!(answer.result(), json!({}), "{accept:?}");
    }
    let headers = [JSON, ("Accept", "text/event-stream")];
    let answer = server
        .request("POST", "/mcp", &headers, PING.as_bytes())
        .await;
    assert_eq!(answer.error(), (406, -32600, json!("absent")));
    assert!(
        answer
            .body
            .contains("Accept: application/json, text/event-stream")
    );
}

#[tokio::test]
async fn pages_of_other_sites_are_kept_out() {
    let server = TestServer::with("server.public_url = 'https://mcp.example.com'").await;
    let evil = ("Origin", "http://evil.example.com");
    for headers in [
        &[evil][..],
        &[evil, ("Host", "evil.example.com")],
        &[("Origin", "null")],
        &[("Origin", "http://localhost:1"), evil],
        &[("Host", "evil.example.com")],
        &[("Host", "mcp.example.com.evil.example.com")],
    ] {
        for method in ["POST", "GET", "OPTIONS"] {
            let headers = [&[JSON], headers].concat();
            let answer = server
                .request(method, "/mcp", &headers, PING.as_bytes())
                .await;
            assert_eq!(
                answer.error(),
                (403, -32600, json!("absent")),
                "{method} {headers:?}"
            );
            assert_eq!(answer.header("access-control-allow-origin"), None);
        }
    }
    for headers in [
        &[("Host", "mcp.example.com")][..],
        &[
            ("Host", "localhost:8403"),
            ("Origin", "http://localhost:5173"),
        ],
        &[
            ("Host", "mcp.example.com:443"),
            ("Origin", "https://mcp.example.com"),
        ],
    ] {
        let headers = [&[JSON], headers].concat();
        let answer = server
            .request("POST", "/mcp", &headers, PING.as_bytes())
            .await;
        assert_eq!(answer.result(), json!({}), "{headers:?}");
        let origin = headers
            .iter()
            .find(|(name, _)| *name == "Origin")
            .map(|(_, origin)| *origin);
        assert_eq!(answer.header("access-control-allow-origin"), origin);
        assert_eq!(answer.header("vary"), Some("Origin"));
    }
    // A target in absolute form names the host itself.
    let absolute = format!("http://evil.example.com{}", "/mcp");
    let answer = server
        .request("POST", &absolute, &[JSON], PING.as_bytes())
        .await;
    assert_eq!(answer.status, 403);
    // HTTP/1.1 does not allow a request without `Host`.
    let raw = format!(
        "POST /mcp HTTP/1.1\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{PING}",
        PING.len()
    );
    let answer = server.raw(raw.as_bytes()).await;
    assert_eq!(answer.status, 400);
    assert_eq!(answer.json()["error"]["reason"], "host_missing");
}

#[tokio::test]
async fn a_page_that_is_served_may_ask_first() {
    let server = TestServer::with("server.allowed_origins = ['https://app.example']").await;
    let headers = [
        ("Origin", "https://app.example"),
        ("Access-Control-Request-Method", "POST"),
        (
            "Access-Control-Request-Headers",
            "content-type,mcp-protocol-version",
        ),
    ];
    let answer = server.request("OPTIONS", "/mcp", &headers, b"").await;
    assert_eq!((answer.status, answer.body.as_str()), (204, ""));
    assert_eq!(
        answer.header("access-control-allow-origin"),
        Some("https://app.example")
    );
    assert_eq!(answer.header("access-control-allow-methods"), Some("POST"));
    let allowed = answer
        .header("access-control-allow-headers")
        .unwrap()
        .to_ascii_lowercase();
    for header in [
        "content-type",
        "accept",
        "mcp-protocol-version",
        "mcp-method",
        "mcp-name",
    ] {
        assert!(
            allowed.split(", ").any(|allowed| allowed == header),
            "{header}"
        );
    }
    let answer = server
        .request("OPTIONS", "/mcp", &[("Origin", "http://localhost")], b"")
        .await;
    assert_eq!(answer.status, 403);
}

#[tokio::test]
async fn bodies_and_heads_have_limits() {
    let server = TestServer::with("server.max_body_bytes = 1000").await;
    let fill = |length: usize| {
        let rest = length - PING.len() - ",\"x\":\"\"".len();
        PING.replace('}', &format!(",\"x\":\"{}\"}}", "y".repeat(rest)))
    };
    assert_eq!(fill(1000).len(), 1000);
    assert_eq!(server.bare(fill(1000)).await.result(), json!({}));
    assert_eq!(
        server.bare(fill(1001)).await.error(),
        (413, -32600, json!("absent"))
    );
    // One body is announced and never sent. The other is sent in chunks and not announced.
    let announced = format!(
        "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
        1_000_000_000_000_u64
    );
    assert_eq!(server.raw(announced.as_bytes()).await.status, 413);
    let chunk = format!("400\r\n{}\r\n", "y".repeat(0x400));
    let chunked = format!(
        "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n{chunk}0\r\n\r\n"
    );
    assert_eq!(server.raw(chunked.as_bytes()).await.status, 413);
    let long = "x".repeat(40_000);
    let answer = server
        .request("POST", "/mcp", &[JSON, ("X-Long", &long)], PING.as_bytes())
        .await;
    assert_eq!(answer.status, 431);
}

#[tokio::test]
async fn answers_name_their_request_and_are_not_cached() {
    let server = TestServer::start().await;
    let (first, second) = (server.bare(PING).await, server.bare(PING).await);
    assert_eq!(first.header("cache-control"), Some("no-store"));
    assert_ne!(first.header("x-request-id"), None);
    assert_ne!(first.header("x-request-id"), second.header("x-request-id"));
    assert_eq!(first.header("mcp-session-id"), None);
}
