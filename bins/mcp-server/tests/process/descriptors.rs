//! Idle sockets leave descriptors for the work.

use std::net::{SocketAddr, TcpStream};

use plan_checks::Rail;

use crate::process::{Configured, Running, get_text, post_over};
use crate::rails::{REQUESTS, Venues, name};

/// Connections that say nothing, and that stay open as long as this is held.
fn idle(address: SocketAddr, count: usize) -> Vec<TcpStream> {
    (0..count)
        .map(|_| TcpStream::connect(address).unwrap())
        .collect()
}

fn swap() -> String {
    let (rail, arguments) = REQUESTS[0];
    assert_eq!(rail, Rail::Swap);
    let name = name(rail);
    format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"{name}","arguments":{arguments}}}}}"#
    )
}

#[test]
fn under_a_low_limit_idle_sockets_keep_no_call_from_its_upstream() {
    let venues = Venues::open();
    let configured = Configured::new(&venues.configuration());
    let path = configured.path();
    let arguments = ["serve", "--config", path.to_str().unwrap()];
    let server = Running::start_limited("-n 128", &arguments);
    let (address, before) = server.listens();
    assert_eq!(before.len(), 1, "{before:?}");
    for part in ["limit of open descriptors", "limit=128", "connections=64"] {
        assert!(before[0].contains(part), "{before:?}");
    }
    let caller = TcpStream::connect(address).unwrap();
    let crowd = idle(address, 200);
    // The plan needs a connection to the venue, which this process has never had.
    let answer = post_over(caller, &swap());
    assert_eq!(answer["result"]["isError"], false, "{answer}");
    drop(crowd);
    server.terminate();
    assert_eq!(server.ended().0.code(), Some(0));
}

#[test]
fn the_soft_limit_is_raised_to_the_hard_one() {
    let configured = Configured::new("server.listen = '127.0.0.1:0'\nserver.max_connections = 300");
    let path = configured.path();
    let arguments = ["serve", "--config", path.to_str().unwrap()];
    let server = Running::start_limited("-S -n 128", &arguments);
    let (address, before) = server.listens();
    assert_eq!(before, Vec::<String>::new());
    // More than the soft limit at a time, and each is served.
    let crowd = idle(address, 200);
    assert!(get_text(address, "/metrics").contains("svc_connections 201"));
    drop(crowd);
    server.terminate();
    assert_eq!(server.ended().0.code(), Some(0));
}
