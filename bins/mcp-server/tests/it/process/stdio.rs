//! Tests of `stdio` as an agent runs it.

use std::io::Write as _;

use serde_json::{Value, json};
use test_support::process::{Ended, Server};
use test_support::{eventually_blocking, wait};

use crate::process::server::Configured;

/// A running server, and the messages that it has written so far.
struct Agent {
    server: Server,
    received: usize,
    _configured: Configured,
}

impl Agent {
    fn start(lines: &str) -> Self {
        let configured = Configured::new(lines);
        Self {
            server: configured.stdio(),
            received: 0,
            _configured: configured,
        }
    }

    fn write(&mut self, text: &str) {
        let stdin = self.server.stdin.as_mut().unwrap();
        stdin.write_all(text.as_bytes()).unwrap();
    }

    fn send(&mut self, line: &str) {
        self.write(&format!("{line}\n"));
    }

    /// The next message that the server writes.
    fn receive(&mut self) -> Value {
        let line = eventually_blocking("a line", || {
            let stdout = self.server.stdout();
            let line = stdout.split_inclusive('\n').nth(self.received)?;
            Some(line.strip_suffix('\n')?.to_owned())
        });
        self.received += 1;
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"))
    }

    /// Closes the server's input and waits for its end.
    fn leave(mut self) -> Ended {
        self.server.stdin.take();
        wait(self.server.ended())
    }
}

fn request(id: impl Into<Value>, method: &str, params: Value) -> String {
    json!({ "jsonrpc": "2.0", "id": id.into(), "method": method, "params": params }).to_string()
}

#[test]
fn an_agent_shakes_hands_calls_and_leaves() {
    let mut agent = Agent::start("");
    agent.send(&request(
        "a",
        "initialize",
        json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {} }),
    ));
    let answer = agent.receive();
    assert_eq!(
        (&answer["id"], &answer["result"]["protocolVersion"]),
        (&json!("a"), &json!("2025-06-18"))
    );
    agent.send(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
    agent.send("");
    agent.send(&request(
        2,
        "tools/call",
        json!({ "name": "svc_delegation_fence_status", "arguments": {} }),
    ));
    let answer = agent.receive();
    assert_eq!(
        (&answer["id"], &answer["result"]["isError"]),
        (&json!(2), &json!(false))
    );
    let received = agent.received;
    let ended = agent.leave();
    assert_eq!(ended.ok().stdout.lines().count(), received, "{ended:?}");
    assert_eq!(ended.stderr, "");
}

#[test]
fn the_current_revision_needs_no_handshake_and_no_headers() {
    let mut agent = Agent::start("");
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    agent.send(&request(1, "server/discover", json!({ "_meta": meta })));
    assert_eq!(agent.receive()["result"]["resultType"], "complete");
    agent.send(&request(2, "ping", json!({ "_meta": meta })));
    assert_eq!(agent.receive()["error"]["code"], -32601);
    agent.send(&request(3, "ping", json!({})));
    assert_eq!(agent.receive()["result"], json!({}));
    let other = json!({ "_meta": { "io.modelcontextprotocol/protocolVersion": "1900-01-01" } });
    agent.send(&request(4, "tools/list", other));
    assert_eq!(agent.receive()["error"]["code"], -32022);
    wait(agent.server.stop());
}

#[test]
fn a_bad_line_is_answered_and_the_next_one_is_read() {
    let mut agent = Agent::start("server.max_body_bytes = 100");
    for (line, code) in [
        ("nonsense".to_owned(), -32700),
        ("[]".to_owned(), -32600),
        (format!("\"{}\"", "x".repeat(100)), -32600),
        ("y".repeat(1_000_000), -32600),
    ] {
        agent.send(&line);
        let answer = agent.receive();
        assert_eq!(answer["error"]["code"], code, "{line:.40}");
        assert_eq!(answer.get("id"), None);
    }
    agent.send(&request(1, "ping", json!({})));
    assert_eq!(
        agent.receive(),
        json!({ "jsonrpc": "2.0", "id": 1, "result": {} })
    );
    // The last line may lack its end.
    agent.write(&request(2, "ping", json!({})));
    agent.server.stdin.take();
    assert_eq!(agent.receive()["id"], 2);
    agent.leave().ok();
}
