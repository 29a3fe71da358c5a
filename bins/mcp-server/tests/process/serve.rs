//! `serve` from its start to its end.

use std::io::Read;
use std::net::TcpStream;

use serde_json::json;

use crate::process::{Configured, Running, post};

#[test]
fn it_says_where_it_listens_serves_and_ends_on_sigterm() {
    let configured = Configured::new("server.listen = '127.0.0.1:0'\nplans.brand = 'acme'");
    let server = Running::start(&["serve", "--config", configured.path().to_str().unwrap()]);
    let (address, before) = server.listens();
    assert_eq!(before, Vec::<String>::new());
    let body = json!({
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": { "name": "acme_delegation_fence_status" },
    });
    let answer = post(address, &body.to_string());
    assert_eq!(answer["result"]["structuredContent"]["present"], false);
    // Connections without a request do not keep it.
    let mut idle = TcpStream::connect(address).unwrap();
    server.terminate();
    let (status, output, errors) = server.ended();
    assert_eq!(status.code(), Some(0), "{errors:?}");
    assert_eq!(output, Vec::<String>::new());
    assert_eq!(errors.len(), 1, "{errors:?}");
    assert!(errors[0].contains("shutting down"), "{errors:?}");
    let mut rest = Vec::new();
    // Closed in order or cut off: there was no request.
    let _ = idle.read_to_end(&mut rest);
    assert_eq!(rest, b"");
    assert!(TcpStream::connect(address).is_err());
}

#[test]
fn a_server_for_the_world_that_only_knows_localhost_says_so() {
    let configured = Configured::new("server.listen = '0.0.0.0:0'");
    let server = Running::start(&["serve", "--config", configured.path().to_str().unwrap()]);
    let (_, before) = server.listens();
    assert_eq!(before.len(), 1, "{before:?}");
    assert!(before[0].contains("server.allowed_hosts"), "{before:?}");
    server.terminate();
    assert_eq!(server.ended().0.code(), Some(0));
}
