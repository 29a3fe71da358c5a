//! Tests of `stdio` as an agent runs it.

use serde_json::{Value, json};

use crate::process::server::{Configured, Running};

fn start(lines: &str) -> (Configured, Running) {
    let configured = Configured::new(lines);
    let server = Running::start(&["stdio", "--config", configured.path().to_str().unwrap()]);
    (configured, server)
}

fn request(id: impl Into<Value>, method: &str, params: Value) -> String {
    json!({ "jsonrpc": "2.0", "id": id.into(), "method": method, "params": params }).to_string()
}

#[test]
fn an_agent_shakes_hands_calls_and_leaves() {
    let (_configured, mut server) = start("");
    server.say(&request(
        "a",
        "initialize",
        json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {} }),
    ));
    let answer = server.hear();
    assert_eq!(
        (&answer["id"], &answer["result"]["protocolVersion"]),
        (&json!("a"), &json!("2025-06-18"))
    );
    server.say(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
    server.say("");
    server.say(&request(
        2,
        "tools/call",
        json!({ "name": "svc_delegation_fence_status", "arguments": {} }),
    ));
    let answer = server.hear();
    assert_eq!(
        (&answer["id"], &answer["result"]["isError"]),
        (&json!(2), &json!(false))
    );
    drop(server.input.take());
    let (status, output, errors) = server.ended();
    assert_eq!(status.code(), Some(0), "{errors:?}");
    assert_eq!((output, errors), (vec![], vec![]));
}

#[test]
fn the_current_revision_needs_no_handshake_and_no_headers() {
    let (_configured, mut server) = start("");
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    server.say(&request(1, "server/discover", json!({ "_meta": meta })));
    assert_eq!(server.hear()["result"]["resultType"], "complete");
    server.say(&request(2, "ping", json!({ "_meta": meta })));
    assert_eq!(server.hear()["error"]["code"], -32601);
    server.say(&request(3, "ping", json!({})));
    assert_eq!(server.hear()["result"], json!({}));
    let other = json!({ "_meta": { "io.modelcontextprotocol/protocolVersion": "1900-01-01" } });
    server.say(&request(4, "tools/list", other));
    assert_eq!(server.hear()["error"]["code"], -32022);
    server.terminate();
    let (status, _, _) = server.ended();
    assert_eq!(status.code(), Some(0));
}

#[test]
fn a_bad_line_is_answered_and_the_next_one_is_read() {
    let (_configured, mut server) = start("server.max_body_bytes = 100");
    for (line, code) in [
        ("nonsense".to_owned(), -32700),
        ("[]".to_owned(), -32600),
        (format!("\"{}\"", "x".repeat(100)), -32600),
        ("y".repeat(1_000_000), -32600),
    ] {
        server.say(&line);
        let answer = server.hear();
        assert_eq!(answer["error"]["code"], code, "{line:.40}");
        assert_eq!(answer.get("id"), None);
    }
    server.say(&request(1, "ping", json!({})));
    assert_eq!(
        server.hear(),
        json!({ "jsonrpc": "2.0", "id": 1, "result": {} })
    );
    // The last line may lack its end.
    use std::io::Write as _;
    let last = request(2, "ping", json!({}));
    write!(server.input.as_mut().unwrap(), "{last}").unwrap();
    drop(server.input.take());
    assert_eq!(server.hear()["id"], 2);
    assert_eq!(server.ended().0.code(), Some(0));
}
