//! Tests of heads that the edge refuses, and of the pauses between them.

use std::time::Duration;

use http_edge::Limits;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::{PATIENCE, connect, exchange, read_to_end, start};

/// The body of an answer is the JSON of an error with this code, and its request id is in the head.
fn is_error(answer: &str, status: u16, code: &str) {
    assert!(
        answer.starts_with(&format!("HTTP/1.1 {status} ")),
        "{answer}"
    );
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    let error: serde_json::Value = serde_json::from_str(body).unwrap();
    let error = &error["error"];
    assert_eq!(error["code"], code, "{answer}");
    assert_eq!(
        (&error["charged"], &error["retryable"]),
        (&false.into(), &false.into())
    );
    let id = error["request_id"].as_str().unwrap();
    assert!(head.contains(&format!("x-request-id: {id}")), "{answer}");
    for line in [
        "content-type: application/json",
        "cache-control: no-store",
        "date: ",
    ] {
        assert_eq!(head.matches(line).count(), 1, "{line}: {answer}");
    }
    assert!(
        head.contains(&format!("content-length: {}", body.len())),
        "{answer}"
    );
}

#[tokio::test]
async fn a_head_that_cannot_be_read_is_answered_with_an_error_in_json() {
    let running = start(Limits::default()).await;
    let many: String = (0..101).map(|n| format!("x-{n}: 1\r\n")).collect();
    for (head, status, code) in [
        (
            "GET /?q=\"btc\" HTTP/1.1\r\nhost: x\r\n".to_owned(),
            400,
            "invalid_params",
        ),
        (
            "GET /?q=a<b HTTP/1.1\r\nhost: x\r\n".to_owned(),
            400,
            "invalid_params",
        ),
        (
            "GET /?q=a b HTTP/1.1\r\nhost: x\r\n".to_owned(),
            400,
            "invalid_params",
        ),
        (
            "G(T / HTTP/1.1\r\nhost: x\r\n".to_owned(),
            400,
            "invalid_params",
        ),
        (
            "GET / HTTP/7.1\r\nhost: x\r\n".to_owned(),
            400,
            "invalid_params",
        ),
        (
            "GET / HTTP/1.1\r\nno colon\r\n".to_owned(),
            400,
            "invalid_params",
        ),
        (
            "GET / HTTP/1.1\r\nhost: x\r\ncontent-length: x\r\n".to_owned(),
            400,
            "invalid_params",
        ),
        (
            format!("GET / HTTP/1.1\r\nhost: x\r\n{many}"),
            431,
            "headers_too_large",
        ),
        (
            format!("GET /{} HTTP/1.1\r\n", "a".repeat(120_000)),
            431,
            "headers_too_large",
        ),
    ] {
        let answer = exchange(running.address, format!("{head}\r\n").as_bytes()).await;
        is_error(&answer, status, code);
    }
}

#[tokio::test]
async fn an_unreadable_head_is_answered_after_the_requests_before_it() {
    let running = start(Limits::default()).await;
    let requests = b"GET /client HTTP/1.1\r\nhost: x\r\n\r\nGET /< HTTP/1.1\r\nhost: x\r\n\r\n";
    let answers = exchange(running.address, requests).await;
    assert!(answers.starts_with("HTTP/1.1 200 OK"), "{answers}");
    let refused = answers.find("HTTP/1.1 400").unwrap_or(answers.len());
    is_error(&answers[refused..], 400, "invalid_params");
}

#[tokio::test]
async fn http_1_1_needs_one_host() {
    let running = start(Limits::default()).await;
    for (lines, reason) in [
        ("", "host_missing"),
        ("host: a\r\nhost: a\r\n", "host_repeated"),
        ("host: a, b\r\n", "host_invalid"),
    ] {
        for target in ["/client", "http://a/client"] {
            let request = format!("GET {target} HTTP/1.1\r\nconnection: close\r\n{lines}\r\n");
            let answer = exchange(running.address, request.as_bytes()).await;
            is_error(&answer, 400, "invalid_params");
            assert!(answer.contains(reason), "{answer}");
        }
    }
    let old = exchange(running.address, b"GET /client HTTP/1.0\r\n\r\n").await;
    assert!(old.contains(" 200 OK"), "{old}");
}

#[tokio::test]
async fn a_pause_between_requests_has_a_limit_of_its_own() {
    let request = b"GET /client HTTP/1.1\r\nhost: x\r\n\r\n";
    let limits = Limits {
        header_timeout: Duration::from_millis(100),
        idle_timeout: PATIENCE,
        ..Limits::default()
    };
    let running = start(limits).await;
    let mut stream = connect(running.address).await;
    for _ in 0..2 {
        stream.write_all(request).await.unwrap();
        let mut answer = Vec::new();
        while !answer.ends_with(b"127.0.0.1") {
            answer.push(stream.read_u8().await.unwrap());
        }
        // Longer than a head may take.
        let early = tokio::time::timeout(Duration::from_millis(300), stream.read_u8()).await;
        assert!(early.is_err(), "the connection stays open");
    }
    // A head that has begun has the time of a head.
    stream.write_all(b"GET / HT").await.unwrap();
    let cut_off = tokio::time::timeout(PATIENCE / 2, stream.read_u8()).await;
    assert!(cut_off.expect("the connection is closed").is_err());

    let limits = Limits {
        header_timeout: PATIENCE,
        idle_timeout: Duration::from_millis(100),
        ..Limits::default()
    };
    let running = start(limits).await;
    let mut stream = connect(running.address).await;
    stream.write_all(request).await.unwrap();
    let closed = tokio::time::timeout(PATIENCE / 2, read_to_end(&mut stream)).await;
    assert!(closed.unwrap().ends_with("127.0.0.1"));
}
