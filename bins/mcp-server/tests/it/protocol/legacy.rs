//! Tests of the protocol's revisions that begin with a handshake.

use crate::protocol::prelude::*;

const LEGACY: [&str; 3] = ["2025-11-25", "2025-06-18", "2024-11-05"];

fn request(method: &str, params: Value) -> String {
    json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params }).to_string()
}

fn initialize(version: &str) -> String {
    let client = json!({ "name": "test", "version": "1" });
    request(
        "initialize",
        json!({ "protocolVersion": version, "capabilities": {}, "clientInfo": client }),
    )
}

#[tokio::test]
async fn a_handshake_agrees_on_the_requested_or_the_newest_legacy_revision() {
    let server = TestServer::start().await;
    for version in LEGACY {
        let answer = server.bare(initialize(version)).await;
        assert_eq!(answer.header("mcp-session-id"), None);
        let result = answer.result();
        assert_eq!(result["protocolVersion"], version);
        assert_eq!(result["capabilities"], json!({ "tools": {} }));
        assert_eq!(result["serverInfo"]["name"], "svc");
        assert_eq!(result["serverInfo"]["version"], env!("CARGO_PKG_VERSION"));
        assert!(result["instructions"].as_str().unwrap().contains("refused"));
    }
    // The revision 2025-03-26 requires that a server accepts batches.
    for version in [
        "2026-07-28",
        "2025-03-26",
        "2027-01-01",
        "1900-01-01",
        "",
        "x",
    ] {
        let result = server.bare(initialize(version)).await.result();
        assert_eq!(result["protocolVersion"], "2025-11-25", "{version}");
    }
}

#[tokio::test]
async fn after_the_handshake_everything_works_without_a_session() {
    let server = TestServer::start().await;
    for version in LEGACY {
        let headers = [
            ("mcp-protocol-version", version),
            ("Mcp-Session-Id", "stale"),
        ];
        let body = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
        assert_eq!(server.post(&headers, body).await.status, 202);
        for (method, params) in [
            ("ping", json!({})),
            ("logging/setLevel", json!({ "level": "debug" })),
        ] {
            let answer = server.post(&headers, request(method, params)).await;
            assert_eq!(answer.result(), json!({}), "{method}");
        }
        let list = server
            .post(&headers, request("tools/list", json!({})))
            .await
            .result();
        assert_eq!(list.as_object().unwrap().len(), 1);
        let call =
            json!({ "name": "echo", "arguments": { "a": 1 }, "_meta": { "progressToken": 1 } });
        let result = server
            .post(&headers, request("tools/call", call))
            .await
            .result();
        assert_eq!(result["structuredContent"]["arguments"], r#"{"a":1}"#);
        // In these revisions an unknown method is no HTTP error. The SDKs behave so as well.
        for method in [
            "prompts/list",
            "resources/list",
            "server/discover",
            "nonsense",
            "",
        ] {
            let answer = server.post(&headers, request(method, json!({}))).await;
            assert_eq!(answer.error(), (200, -32601, json!(1)), "{method}");
        }
    }
}

#[tokio::test]
async fn a_version_that_is_not_served_is_refused() {
    let server = TestServer::start().await;
    for version in [
        "2025-03-26",
        "1900-01-01",
        "2027-01-01",
        "latest",
        "2025-11-25, 2025-11-25",
    ] {
        let answer = server
            .post(
                &[("MCP-Protocol-Version", version)],
                request("ping", json!({})),
            )
            .await;
        assert_eq!(answer.error(), (400, -32022, json!(1)), "{version}");
        let data = &answer.json()["error"]["data"];
        assert_eq!(data["requested"], version);
        assert_eq!(data["supported"].as_array().unwrap().len(), 4);
    }
    let twice = [
        ("MCP-Protocol-Version", "2025-11-25"),
        ("mcp-protocol-version", "2025-11-25"),
    ];
    let answer = server.post(&twice, request("ping", json!({}))).await;
    assert_eq!(answer.error(), (400, -32020, json!(1)));
}

#[tokio::test]
async fn notifications_are_never_answered() {
    let server = TestServer::start().await;
    for body in [
        r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#,
        r#"{"jsonrpc":"2.0","method":"nonsense"}"#,
        r#"{"jsonrpc":"2.0","method":"tools/call","params":{"name":"echo"}}"#,
        r#"{"jsonrpc":"2.0","method":"ping"}"#,
    ] {
        let answer = server.bare(body).await;
        assert_eq!((answer.status, answer.body.as_str()), (202, ""), "{body}");
    }
    for body in [
        r#"{"jsonrpc":"1.0","method":"notifications/initialized"}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/initialized","params":[]}"#,
    ] {
        let answer = server.bare(body).await;
        assert_eq!(answer.json().get("id"), None);
        assert!(answer.json().get("error").is_some());
    }
}

#[tokio::test]
async fn one_connection_may_speak_all_revisions() {
    let server = TestServer::start().await;
    let older = server.bare(request("ping", json!({}))).await;
    let newer = server.modern("server/discover", json!({})).await;
    let handshake = server.bare(initialize("2025-06-18")).await;
    assert_eq!(older.result(), json!({}));
    assert_eq!(newer.result()["resultType"], "complete");
    assert_eq!(handshake.result()["protocolVersion"], "2025-06-18");
}
