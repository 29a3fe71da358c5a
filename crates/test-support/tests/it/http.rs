//! Tests that a stand-in sees each request and gives the answer that it was given.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use test_support::answer_http;

#[test]
fn a_whole_request_is_seen_and_answered() {
    let url = answer_http(|asked| {
        let seen = format!("{} {} {}", asked.method, asked.target, asked.body);
        (418, seen)
    });
    let address = url.strip_prefix("http://").unwrap();
    let mut stream = TcpStream::connect(address).unwrap();
    let request = "POST /a?b=c HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello";
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 418 "), "{answer}");
    assert!(answer.ends_with("\r\n\r\nPOST /a?b=c hello"), "{answer}");
}
