//! Sends requests that no well-behaved client sends. The answers have the status, the code and the
//! form that MCP requires.

use serde_json::{Value, json};

use super::world::{AgentWorld, LEGACY, MODERN};

/// A request and its expected answer.
struct Case {
    what: &'static str,
    revision: &'static str,
    headers: Vec<(&'static str, &'static str)>,
    body: String,
    status: u16,
    /// The code of the error. `None` when the answer is a result.
    code: Option<i64>,
}

fn legacy(what: &'static str, body: impl ToString, status: u16, code: Option<i64>) -> Case {
    Case {
        what,
        revision: LEGACY,
        headers: vec![("mcp-protocol-version", LEGACY)],
        body: body.to_string(),
        status,
        code,
    }
}

/// A complete request of the newest revision.
fn modern(what: &'static str, method: &'static str, status: u16, code: Option<i64>) -> Case {
    Case {
        what,
        revision: MODERN,
        headers: vec![("mcp-protocol-version", MODERN), ("mcp-method", method)],
        body: request(method, json!({"_meta": meta()})).to_string(),
        status,
        code,
    }
}

fn request(method: &str, params: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": params})
}

fn meta() -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": MODERN,
        "io.modelcontextprotocol/clientCapabilities": {},
    })
}

fn call(tool: &str, meta: Option<Value>) -> Value {
    let mut params = json!({"name": tool, "arguments": {}});
    if let Some(meta) = meta {
        params["_meta"] = meta;
    }
    request("tools/call", params)
}

impl Case {
    fn with_body(self, body: impl ToString) -> Self {
        Self {
            body: body.to_string(),
            ..self
        }
    }

    fn with_header(mut self, name: &'static str, value: &'static str) -> Self {
        self.headers.retain(|(known, _)| *known != name);
        self.headers.push((name, value));
        self
    }
}

fn cases() -> Vec<Case> {
    const FENCE: &str = "svc_delegation_fence_status";
    let ping = request("ping", json!({}));
    vec![
        legacy("not JSON", "{", 400, Some(-32700)),
        legacy("a batch", json!([ping]), 400, Some(-32600)),
        legacy(
            "an id that is null",
            json!({"jsonrpc": "2.0", "id": null, "method": "ping"}),
            400,
            Some(-32600),
        ),
        legacy(
            "another JSON-RPC",
            json!({"jsonrpc": "1.0", "id": 7, "method": "ping"}),
            400,
            Some(-32600),
        ),
        legacy(
            "an unknown method",
            request("tools/execute", json!({})),
            200,
            Some(-32601),
        ),
        legacy(
            "an unknown tool",
            call("svc_send_money", None),
            200,
            Some(-32602),
        ),
        legacy(
            "a call without parameters",
            json!({"jsonrpc": "2.0", "id": 7, "method": "tools/call"}),
            200,
            Some(-32602),
        ),
        legacy(
            "missing arguments",
            call("svc_prepare_swap", None),
            200,
            None,
        ),
        legacy("a version that never was", &ping, 400, Some(-32022))
            .with_header("mcp-protocol-version", "1900-01-01"),
        modern("an unknown method", "tools/execute", 404, Some(-32601)),
        modern("a method of the handshake era", "ping", 404, Some(-32601)),
        modern(
            "another method in the head",
            "tools/list",
            400,
            Some(-32020),
        )
        .with_header("mcp-method", "tools/call"),
        modern("another tool in the head", "tools/call", 400, Some(-32020))
            .with_header("mcp-name", "svc_prepare_swap")
            .with_body(call(FENCE, Some(meta()))),
        modern("no capabilities", "tools/list", 400, Some(-32602)).with_body(request(
            "tools/list",
            json!({"_meta": {"io.modelcontextprotocol/protocolVersion": MODERN}}),
        )),
        modern("an unknown tool", "tools/call", 200, Some(-32602))
            .with_header("mcp-name", "svc_send_money")
            .with_body(call("svc_send_money", Some(meta()))),
        modern("missing arguments", "tools/call", 200, None)
            .with_header("mcp-name", "svc_prepare_bridge")
            .with_body(call("svc_prepare_bridge", Some(meta()))),
    ]
}

#[tokio::test]
async fn wrong_requests_are_answered_by_the_specification() {
    let world = AgentWorld::start().await;
    let http = test_support::http_client();
    let mut messages = Vec::new();
    for case in cases() {
        let what = format!("{} ({})", case.what, case.revision);
        let mut request = http
            .post(world.server.endpoint())
            .header("content-type", "application/json")
            .header("accept", "application/json, text/event-stream")
            .body(case.body.clone());
        for (name, value) in &case.headers {
            request = request.header(*name, *value);
        }
        let answer = request.send().await.unwrap();
        assert_eq!(answer.status(), case.status, "{what}");
        let text = answer.text().await.unwrap();
        let message: Value = serde_json::from_str(&text).expect("JSON");
        assert_eq!(
            message["error"]["code"].as_i64(),
            case.code,
            "{what}: {message}"
        );
        if case.code.is_none() {
            assert_eq!(message["result"]["isError"], true, "{what}: {message}");
            let refused = &message["result"]["structuredContent"]["refused"];
            assert_eq!(refused["check"], "input_invalid", "{what}: {message}");
        }
        let method = serde_json::from_str::<Value>(&case.body).ok();
        messages.push(json!({
            "revision": case.revision,
            "method": method.map(|body| body["method"].clone()),
            "message": message,
        }));
    }
    world.judge_messages(&messages).await;
}
