//! Tests of `serve` from its start to its end.

use std::io::Read;
use std::net::TcpStream;

use serde_json::json;
use test_support::wait;

use crate::process::server::{Configured, before_listening, get, get_text, post};

#[test]
fn the_server_prints_its_address_serves_and_ends_on_sigterm() {
    let configured = Configured::new("server.listen = '127.0.0.1:0'\nplans.brand = 'acme'");
    let server = configured.serve();
    let (address, before) = (server.address(), before_listening(&server));
    assert_eq!(before.len(), 1, "{before:?}");
    assert!(before[0].contains("are kept in memory"), "{before:?}");
    let body = json!({
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": { "name": "acme_delegation_fence_status" },
    });
    let answer = post(address, &body.to_string());
    assert_eq!(answer["result"]["structuredContent"]["present"], false);
    // Connections without a request do not delay the shutdown.
    let mut idle = TcpStream::connect(address).unwrap();
    server.terminate();
    let ended = wait(server.ended());
    assert_eq!(ended.ok().stdout, "");
    let log: Vec<&str> = ended.stderr.lines().skip(before.len() + 1).collect();
    assert_eq!(log.len(), 1, "{log:?}");
    assert!(log[0].contains("shutting down"), "{log:?}");
    let mut rest = Vec::new();
    // There was no request, so the server may close the connection in order or reset it.
    let _ = idle.read_to_end(&mut rest);
    assert_eq!(rest, b"");
    assert!(TcpStream::connect(address).is_err());
}

#[test]
fn a_server_for_the_world_that_only_knows_localhost_says_so() {
    let configured = Configured::new("server.listen = '0.0.0.0:0'");
    let server = configured.serve();
    let before = before_listening(&server);
    assert_eq!(before.len(), 2, "{before:?}");
    assert!(before[1].contains("server.allowed_hosts"), "{before:?}");
    wait(server.stop());
}

#[test]
fn a_server_that_drains_serves_on_and_is_not_ready() {
    let configured = Configured::new("server.listen = '127.0.0.1:0'\nserver.drain_seconds = 3600");
    let server = configured.serve();
    let address = server.address();
    assert_eq!(
        get(address, "/readyz"),
        json!({ "ready": true, "reasons": [] })
    );
    server.terminate();
    let draining = |line: &str| line.contains("draining").then_some(());
    wait(server.wait_for_line(draining)).unwrap();
    let reason = json!({ "component": "server", "reason": "draining" });
    assert_eq!(
        get(address, "/readyz"),
        json!({ "ready": false, "reasons": [reason] })
    );
    let ping = post(address, r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#);
    assert_eq!(ping["result"], json!({}));
}

#[test]
fn metrics_are_there_before_anything_has_happened() {
    let configured = Configured::new("server.listen = '127.0.0.1:0'");
    let server = configured.serve();
    let address = server.address();
    let metrics = get_text(address, "/metrics");
    let version = env!("CARGO_PKG_VERSION");
    for line in [
        &format!("svc_build_info{{version=\"{version}\"}} 1"),
        "svc_connections 1",
        "svc_mcp_calls_in_flight 0",
        "svc_mcp_malformed_total 0",
        "svc_mcp_messages_total{method=\"tools/call\"} 0",
        "svc_mcp_tool_calls_total{tool=\"svc_prepare_swap\",outcome=\"refused\"} 0",
        "svc_mcp_tool_calls_total{tool=\"other\",outcome=\"unknown\"} 0",
        "svc_http_answers_total{status=\"403\"} 0",
        "svc_upstream_state{upstream=\"lifi.quote\",state=\"ok\"} 1",
        "svc_upstream_state{upstream=\"lifi.quote\",state=\"unavailable\"} 0",
    ] {
        assert!(metrics.contains(line), "{line}: {metrics}");
    }
    let unprefixed = metrics.lines().find(|line| {
        let name = line
            .strip_prefix("# HELP ")
            .or(line.strip_prefix("# TYPE "));
        !line.is_empty() && !name.unwrap_or(line).starts_with("svc_")
    });
    assert_eq!(unprefixed, None);
}
