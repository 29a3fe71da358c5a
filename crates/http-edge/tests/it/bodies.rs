//! Tests of the bodies of requests: read by the handler, or ignored by it.

use std::time::Duration;

use http_edge::{BodyError, Limits};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

use crate::{PATIENCE, Running, connect, exchange, read_to_end, start};

#[tokio::test]
async fn a_body_is_read_within_its_bounds() {
    let limits = Limits {
        max_body_bytes: 10,
        body_timeout: Duration::from_millis(100),
        ..Limits::default()
    };
    let running = start(limits).await;
    let send = async |head: &str, body: &str| {
        let request =
            format!("POST / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n{head}\r\n\r\n{body}");
        exchange(running.address, request.as_bytes()).await
    };
    assert!(send("content-length: 5", "hello").await.ends_with("hello"));
    assert!(
        send("content-length: 11", "").await.contains("TooLarge"),
        "refused before it is sent"
    );
    let chunked = send(
        "transfer-encoding: chunked",
        "8\r\naaaaaaaa\r\n8\r\nbbbbbbbb\r\n0\r\n\r\n",
    );
    assert!(chunked.await.contains("TooLarge"));
    assert!(send("content-length: 5", "hel").await.contains("TooSlow"));
    let error = BodyError::TooLarge { limit: 10 };
    assert_eq!(error.to_string(), "the body is longer than 10 bytes");
}

/// Sends the head of a request to `/unread`, and returns when its handler has decided the answer.
async fn undecided(running: &Running, framing: &str) -> TcpStream {
    let mut stream = connect(running.address).await;
    let head = format!("POST /unread HTTP/1.1\r\nhost: x\r\n{framing}\r\n\r\n");
    stream.write_all(head.as_bytes()).await.unwrap();
    let begun = tokio::time::timeout(PATIENCE, running.begun.notified());
    begun.await.expect("the handler is called");
    stream
}

#[tokio::test]
async fn a_body_that_the_handler_ignores_is_read_before_the_answer() {
    let running = start(Limits::default()).await;
    for (framing, rest) in [
        ("content-length: 5", "hello"),
        ("transfer-encoding: chunked", "5\r\nhello\r\n0\r\n\r\n"),
    ] {
        let mut stream = undecided(&running, framing).await;
        let (first, last) = rest.split_at(3);
        stream.write_all(first.as_bytes()).await.unwrap();
        stream.write_all(last.as_bytes()).await.unwrap();
        // The connection stays open, so another request is answered on it.
        let next = b"GET /client HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n";
        stream.write_all(next).await.unwrap();
        let answers = read_to_end(&mut stream).await;
        let decided = answers.find("decided");
        let client = answers.find("127.0.0.1");
        assert!(
            decided.is_some() && decided < client,
            "{framing}: {answers}"
        );
    }
}

#[tokio::test]
async fn the_rest_of_an_ignored_body_is_read_within_the_bounds_of_a_body() {
    let limits = Limits {
        max_body_bytes: 10,
        body_timeout: Duration::from_millis(100),
        ..Limits::default()
    };
    let running = start(limits).await;
    // The rest is too long, or never arrives: the answer is sent, and the connection is closed.
    for framing in [
        "content-length: 11",
        "content-length: 5",
        "transfer-encoding: chunked",
    ] {
        let mut stream = undecided(&running, framing).await;
        let answer = read_to_end(&mut stream).await;
        assert!(answer.ends_with("decided"), "{framing}: {answer}");
    }
}
