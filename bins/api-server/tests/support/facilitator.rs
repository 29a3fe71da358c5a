//! A facilitator that does what a test says, down to the bytes on the wire.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

/// What is answered to one call.
#[derive(Debug, Clone)]
pub enum Say {
    Json(u16, String),
    Html(u16),
    /// Takes the request and never answers.
    Hang,
    /// Takes the request and closes the connection.
    Drop,
    /// Announces more than it sends.
    Truncate,
}

#[derive(Default)]
struct Script {
    verify: VecDeque<Say>,
    settle: VecDeque<Say>,
    verified: Vec<String>,
    settled: Vec<String>,
}

pub struct Facilitator {
    pub url: String,
    script: Arc<Mutex<Script>>,
    task: JoinHandle<()>,
}

pub fn valid() -> Say {
    Say::Json(200, r#"{"isValid":true}"#.to_owned())
}

pub fn success(transaction: &str) -> Say {
    let json =
        format!(r#"{{"success":true,"transaction":"{transaction}","network":"eip155:196"}}"#);
    Say::Json(200, json)
}

impl Facilitator {
    /// Answers `/verify` and `/settle` from the scripts in turn; the last line of a script is repeated.
    pub async fn start(verify: Vec<Say>, settle: Vec<Say>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let script = Arc::new(Mutex::new(Script {
            verify: verify.into(),
            settle: settle.into(),
            ..Script::default()
        }));
        let shared = script.clone();
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(converse(stream, shared.clone()));
            }
        });
        Self { url, script, task }
    }

    /// Bodies of the settle calls so far.
    pub fn settled(&self) -> Vec<String> {
        self.script.lock().unwrap().settled.clone()
    }

    /// Bodies of the verify calls so far.
    pub fn verified(&self) -> Vec<String> {
        self.script.lock().unwrap().verified.clone()
    }
}

impl Drop for Facilitator {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn converse(mut stream: TcpStream, script: Arc<Mutex<Script>>) {
    while let Some((path, body)) = read_request(&mut stream).await {
        let say = {
            let mut script = script.lock().unwrap();
            match path.as_str() {
                "/verify" => {
                    script.verified.push(body);
                    next(&mut script.verify)
                }
                "/settle" => {
                    script.settled.push(body);
                    next(&mut script.settle)
                }
                _ => Say::Json(
                    200,
                    r#"{"kinds":[{"x402Version":2,"scheme":"exact","network":"eip155:196"}],"extensions":[],"signers":{}}"#
                        .to_owned(),
                ),
            }
        };
        let (status, media_type, body) = match say {
            Say::Json(status, body) => (status, "application/json", body),
            Say::Html(status) => (status, "text/html", "<html>gateway</html>".to_owned()),
            Say::Hang => std::future::pending().await,
            Say::Drop => return,
            Say::Truncate => {
                let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 500\r\n\r\n{\"succ";
                let _ = stream.write_all(head.as_bytes()).await;
                return;
            }
        };
        let head = format!(
            "HTTP/1.1 {status} X\r\ncontent-type: {media_type}\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        );
        if stream.write_all(head.as_bytes()).await.is_err() {
            return;
        }
    }
}

fn next(script: &mut VecDeque<Say>) -> Say {
    if script.len() > 1 {
        script.pop_front().unwrap()
    } else {
        script.front().unwrap().clone()
    }
}

async fn read_request(stream: &mut TcpStream) -> Option<(String, String)> {
    let mut bytes = Vec::new();
    loop {
        if let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            let head = String::from_utf8_lossy(&bytes[..end]).to_lowercase();
            let length = head
                .lines()
                .find_map(|line| line.strip_prefix("content-length:"))
                .map_or(0, |length| length.trim().parse().unwrap());
            let path = head.split(' ').nth(1)?.to_owned();
            while bytes.len() < end + 4 + length {
                if stream.read_buf(&mut bytes).await.ok()? == 0 {
                    return None;
                }
            }
            let body = String::from_utf8_lossy(&bytes[end + 4..end + 4 + length]).into_owned();
            return Some((path, body));
        }
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    }
}
