//! Tests of the protocol's revisions that begin with a handshake.

use crate::protocol::prelude::*;

const LEGACY: [&str; 4] = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];

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
    for version in ["2026-07-28", "2027-01-01", "1900-01-01", "", "x"] {
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
        assert_eq!(data["supported"].as_array().unwrap().len(), 5);
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

#[tokio::test]
async fn a_batch_is_answered_with_the_answers_to_its_requests() {
    let server = TestServer::start().await;
    let call = r#"{"jsonrpc":"2.0","id":"b","method":"tools/call","params":{"name":"echo"}}"#;
    let (ping, initialized) = (
        r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
    );
    let body =
        format!(" [{ping}, {initialized},{call},7,{{\"jsonrpc\":\"2.0\",\"id\":2}},[{ping}]]");
    for headers in [&[][..], &[("MCP-Protocol-Version", "2025-03-26")]] {
        let usual = [("Content-Type", "application/json")];
        let headers = [&usual, headers].concat();
        let answer = server
            .request("POST", "/mcp", &headers, body.as_bytes())
            .await;
        assert_eq!(answer.status, 200);
        let answers = answer.json();
        let answers = answers.as_array().unwrap();
        assert_eq!(answers.len(), 5, "{answers:?}");
        assert_eq!(
            answers[0],
            json!({ "jsonrpc": "2.0", "id": 1, "result": {} })
        );
        assert_eq!(answers[1]["id"], "b");
        assert_eq!(answers[1]["result"]["isError"], false);
        for (answer, id) in [(2, None), (3, Some(&json!(2))), (4, None)] {
            assert_eq!(answers[answer]["error"]["code"], -32600, "{answers:?}");
            assert_eq!(answers[answer].get("id"), id, "{answers:?}");
        }
    }
    let answer = server.bare(format!("[{initialized},{initialized}]")).await;
    assert_eq!((answer.status, answer.body.as_str()), (202, ""));
}

#[tokio::test]
async fn a_batch_that_is_not_allowed_is_refused_as_a_whole() {
    let server = TestServer::start().await;
    let ping = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    let batch = format!("[{ping}]");
    for version in ["2026-07-28", "2025-11-25", "2025-06-18", "2024-11-05"] {
        let answer = server
            .post(&[("MCP-Protocol-Version", version)], &batch)
            .await;
        assert_eq!(answer.error(), (400, -32600, json!("absent")), "{version}");
    }
    let unknown = server
        .post(&[("MCP-Protocol-Version", "2019-01-01")], &batch)
        .await;
    assert_eq!(unknown.error(), (400, -32022, json!("absent")));
    let many = format!("[{}]", vec![ping; 33].join(","));
    for body in ["[]", " [ ] ", &many] {
        assert_eq!(
            server.bare(body).await.error(),
            (400, -32600, json!("absent"))
        );
    }
    let most = format!("[{}]", vec![ping; 32].join(","));
    let headers = [("Content-Type", "application/json")];
    let answer = server
        .request("POST", "/mcp", &headers, most.as_bytes())
        .await;
    assert_eq!(answer.json().as_array().unwrap().len(), 32);
}

#[tokio::test]
async fn some_messages_are_sent_by_themselves() {
    let server = TestServer::start().await;
    let modern = request(
        "tools/list",
        json!({ "_meta": crate::protocol::toolbox::meta() }),
    );
    let headers = [("Content-Type", "application/json")];
    for message in [initialize("2025-03-26"), modern] {
        let body = format!("[{message}]");
        let answer = server
            .request("POST", "/mcp", &headers, body.as_bytes())
            .await;
        assert_eq!(answer.status, 200);
        let refused = &answer.json()[0];
        assert!(refused["error"]["code"].is_i64(), "{refused}");
        assert_eq!((refused.get("result"), &refused["id"]), (None, &json!(1)));
    }
}
