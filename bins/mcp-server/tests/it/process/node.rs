//! A node with scripted answers.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;

use serde_json::{Value, json};

/// A node of one chain. It answers until the process ends.
pub(crate) struct Node {
    pub(crate) url: String,
}

impl Node {
    /// Answers `eth_chainId` itself and every other request by `answer`. Requests that `answer`
    /// does not know revert.
    pub(crate) fn open(
        chain_id: u64,
        answer: impl Fn(&Value) -> Option<Value> + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let answer = Arc::new(answer);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let answer = answer.clone();
                let reply = move |request: &Value| match request["method"].as_str() {
                    Some("eth_chainId") => Some(json!(format!("{chain_id:#x}"))),
                    _ => answer(request),
                };
                thread::spawn(move || while exchange(&stream, &reply).is_some() {});
            }
        });
        Self { url }
    }
}

fn exchange(mut stream: &TcpStream, reply: &dyn Fn(&Value) -> Option<Value>) -> Option<()> {
    let mut reader = BufReader::new(stream.try_clone().ok()?);
    let mut length = 0;
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).ok()? == 0 {
            return None;
        }
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().ok()?;
        }
        if line == "\r\n" {
            break;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    let request: Value = serde_json::from_slice(&body).ok()?;
    let mut answer = json!({"jsonrpc": "2.0", "id": request["id"]});
    match reply(&request) {
        Some(result) => answer["result"] = result,
        None => answer["error"] = json!({"code": 3, "message": "execution reverted", "data": "0x"}),
    }
    let answer = answer.to_string();
    let head = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
        answer.len()
    );
    stream.write_all(head.as_bytes()).ok()?;
    stream.write_all(answer.as_bytes()).ok()
}
