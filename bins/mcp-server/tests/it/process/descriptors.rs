//! Tests of file descriptors: idle connections leave enough of them for the work of the server.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};

use calldata_checks::Rail;
use test_support::wait;

use crate::process::rails::REQUESTS;
use crate::process::rails::stage::{Venues, name};
use crate::process::server::{Configured, before_listening, get_text, post_over};

/// Opens connections that send nothing. They stay open as long as the result is held.
fn idle(address: SocketAddr, count: usize) -> Vec<TcpStream> {
    (0..count)
        .map(|_| TcpStream::connect(address).unwrap())
        .collect()
}

/// Reads the metrics over one connection that stays open.
struct Watcher(BufReader<TcpStream>);

impl Watcher {
    fn new(address: SocketAddr) -> Self {
        Self(BufReader::new(TcpStream::connect(address).unwrap()))
    }

    fn connections(&mut self) -> usize {
        let request = b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n";
        self.0.get_mut().write_all(request).unwrap();
        let mut length = 0;
        loop {
            let mut line = String::new();
            self.0.read_line(&mut line).unwrap();
            match line.trim_end().split_once(": ") {
                Some(("content-length", value)) => length = value.parse().unwrap(),
                _ if line == "\r\n" => break,
                _ => {}
            }
        }
        let mut body = vec![0; length];
        self.0.read_exact(&mut body).unwrap();
        let body = String::from_utf8(body).unwrap();
        let gauge = body
            .lines()
            .find_map(|line| line.strip_prefix("svc_connections "));
        gauge.unwrap().parse().unwrap()
    }
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
    let server = configured.serve_limited("ulimit -n 128");
    let (address, before) = (server.address(), before_listening(&server));
    assert_eq!(before.len(), 2, "{before:?}");
    for part in ["limit of open descriptors", "limit=128", "connections=64"] {
        assert!(before[1].contains(part), "{before:?}");
    }
    let mut watcher = Watcher::new(address);
    let caller = TcpStream::connect(address).unwrap();
    let crowd = idle(address, 200);
    while watcher.connections() < 64 {}
    // By now the server has accepted as many connections as it ever will.
    let later = (0..200).map(|_| watcher.connections()).max();
    assert_eq!(later, Some(64));
    // The plan needs a connection to the venue, and the process has none yet.
    let answer = post_over(caller, &swap());
    assert_eq!(answer["result"]["isError"], false, "{answer}");
    drop(crowd);
    wait(server.stop());
}

#[test]
fn the_soft_limit_is_raised_to_the_hard_one() {
    let configured = Configured::new("server.listen = '127.0.0.1:0'\nserver.max_connections = 300");
    let server = configured.serve_limited("ulimit -S -n 128");
    let (address, before) = (server.address(), before_listening(&server));
    assert!(
        before.iter().all(|line| !line.contains("descriptors")),
        "{before:?}"
    );
    // The server serves more connections than the soft limit allowed.
    let crowd = idle(address, 200);
    assert!(get_text(address, "/metrics").contains("svc_connections 201"));
    drop(crowd);
    wait(server.stop());
}
