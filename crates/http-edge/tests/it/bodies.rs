//! Tests of the bodies of requests: read by the handler, or ignored by it.

use std::time::Duration;

use http_edge::{BodyError, Drained, Limits};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

use crate::{PATIENCE, Running, connect, exchange, read_to_end, start};

const MEBIBYTE: usize = 1024 * 1024;

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
async fn the_rest_of_an_ignored_body_is_read_within_bounds() {
    let limits = Limits {
        max_body_bytes: 10,
        linger: Duration::from_millis(100),
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

/// Sends a request with a body of this many bytes as a client does that reads no answer before it
/// has sent everything.
async fn send_all(stream: &mut TcpStream, request: &str, length: usize) -> std::io::Result<()> {
    stream.write_all(request.as_bytes()).await?;
    let piece = vec![b'x'; MEBIBYTE];
    for _ in 0..length / MEBIBYTE {
        stream.write_all(&piece).await?;
    }
    Ok(())
}

#[tokio::test]
async fn an_early_answer_reaches_a_client_that_sends_its_whole_body_first() {
    let running = start(Limits::default()).await;
    let length = 12 * MEBIBYTE;
    // One handler ignores the body, the other one refuses its length.
    for (path, answer) in [("/unread", "decided"), ("/", "TooLarge")] {
        for framing in [
            format!("content-length: {length}"),
            format!("transfer-encoding: chunked\r\n\r\n{length:x}"),
        ] {
            let mut stream = connect(running.address).await;
            let end = if framing.starts_with('c') {
                "\r\n\r\n"
            } else {
                "\r\n"
            };
            let request = format!("POST {path} HTTP/1.1\r\nhost: x\r\n{framing}{end}");
            let sent = send_all(&mut stream, &request, length).await;
            sent.unwrap_or_else(|error| panic!("{path} {framing}: {error}"));
            let answered = read_to_end(&mut stream).await;
            assert!(answered.contains(answer), "{path} {framing}: {answered}");
            assert!(answered.contains("connection: close\r\n"), "{answered}");
        }
    }
}

#[tokio::test]
async fn what_is_thrown_away_is_bounded_in_bytes_and_in_time() {
    let running = start(Limits::default()).await;
    let mut stream = connect(running.address).await;
    let length = 128 * MEBIBYTE;
    let request = format!("POST /unread HTTP/1.1\r\nhost: x\r\ncontent-length: {length}\r\n\r\n");
    let sent = send_all(&mut stream, &request, length).await;
    assert!(sent.is_err(), "the connection closes after 16 MiB");

    let limits = Limits {
        linger: Duration::from_millis(100),
        ..Limits::default()
    };
    let running = start(limits).await;
    let mut stream = connect(running.address).await;
    stream.write_all(request.as_bytes()).await.unwrap();
    assert!(read_to_end(&mut stream).await.ends_with("decided"));
    running.stop.send(()).unwrap();
    let drained = tokio::time::timeout(PATIENCE, running.server).await;
    assert_eq!(drained.unwrap().unwrap(), Drained::Completely);
    drop(stream);
}

#[tokio::test]
async fn a_client_that_asks_first_is_not_asked_for_a_body_that_nobody_reads() {
    let running = start(Limits::default()).await;
    let mut stream = undecided(&running, "content-length: 5\r\nexpect: 100-continue").await;
    let answer = read_to_end(&mut stream).await;
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    assert!(answer.contains("connection: close") && answer.ends_with("decided"));
}

#[tokio::test]
async fn a_compressed_body_is_not_read() {
    let running = start(Limits::default()).await;
    let send = async |headers: &str| {
        let request = format!(
            "POST / HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: 2\r\n{headers}\r\n{{}}"
        );
        exchange(running.address, request.as_bytes()).await
    };
    for encoded in ["gzip", "br", "identity, gzip", "x-unknown"] {
        let answer = send(&format!("content-encoding: {encoded}\r\n")).await;
        assert!(answer.ends_with("Encoded"), "{encoded}: {answer}");
    }
    let answer = send("content-encoding: identity\r\ncontent-encoding: gzip\r\n").await;
    assert!(answer.ends_with("Encoded"), "{answer}");
    for plain in [
        "",
        "content-encoding: Identity\r\n",
        "content-encoding:\r\n",
    ] {
        let answer = send(plain).await;
        assert!(answer.ends_with("{}"), "{plain}: {answer}");
    }
}
