//! A facilitator whose answers a test scripts, down to the bytes on the wire.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;
use tokio::task::JoinHandle;

/// How the facilitator answers one call.
#[derive(Debug, Clone)]
pub enum Say {
    Json(u16, String),
    Html(u16),
    /// Takes the request and never answers.
    Hang,
    /// Takes the request and closes the connection.
    Drop,
    /// Announces a longer body than it sends.
    Truncate,
}

#[derive(Default)]
struct Script {
    verify: VecDeque<Say>,
    settle: VecDeque<Say>,
    verified: Vec<String>,
    settled: Vec<String>,
    seen: Vec<Seen>,
    lists_deferred: bool,
    lists_bazaar: bool,
    closes: bool,
}

/// A request as it arrived.
#[derive(Debug, Clone)]
pub struct Seen {
    pub method: String,
    pub path: String,
    /// By names in lower case.
    pub headers: HashMap<String, String>,
    pub body: String,
}

/// The prefix of the broker's paths. Answers below it are wrapped as the broker's are.
const BROKER: &str = "/api/v6/pay/x402";

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
    /// Answers `/verify` and `/settle` from the scripts in turn. The last answer of a script
    /// repeats.
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
            let closing = Arc::new(Closing::default());
            loop {
                tokio::select! {
                    accepted = listener.accept() => {
                        let Ok((stream, _)) = accepted else { return };
                        tokio::spawn(converse(stream, shared.clone(), closing.clone()));
                    }
                    () = closing.begun.notified() => break,
                }
            }
            drop(listener);
            closing.done.notify_one();
        });
        Self { url, script, task }
    }

    /// Lists `aggr_deferred` as well from now on.
    pub fn list_deferred(&self) {
        self.script.lock().unwrap().lists_deferred = true;
    }

    /// Lists the extension `bazaar` from now on.
    pub fn list_bazaar(&self) {
        self.script.lock().unwrap().lists_bazaar = true;
    }

    /// Stops listening once a payment has been verified, so that no settlement can reach the
    /// facilitator.
    pub fn close_after_verifying(&self) {
        self.script.lock().unwrap().closes = true;
    }

    /// All requests so far.
    pub fn seen(&self) -> Vec<Seen> {
        self.script.lock().unwrap().seen.clone()
    }

    /// The bodies of the settle calls so far.
    pub fn settled(&self) -> Vec<String> {
        self.script.lock().unwrap().settled.clone()
    }

    /// The bodies of the verify calls so far.
    pub fn verified(&self) -> Vec<String> {
        self.script.lock().unwrap().verified.clone()
    }
}

impl Drop for Facilitator {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Lets a connection ask for the end of the listener, and wait until it has ended.
#[derive(Default)]
struct Closing {
    /// Ends the connections that wait for a request.
    idle: Notify,
    begun: Notify,
    done: Notify,
}

async fn converse(mut stream: TcpStream, script: Arc<Mutex<Script>>, closing: Arc<Closing>) {
    loop {
        let seen = tokio::select! {
            seen = read_request(&mut stream) => seen,
            () = closing.idle.notified() => None,
        };
        let Some(seen) = seen else { return };
        let (wrapped, path) = match seen.path.strip_prefix(BROKER) {
            Some(path) => (true, path.to_owned()),
            None => (false, seen.path.clone()),
        };
        let mut say = {
            let mut script = script.lock().unwrap();
            script.seen.push(seen.clone());
            match path.as_str() {
                "/verify" => {
                    script.verified.push(seen.body);
                    next(&mut script.verify)
                }
                "/settle" => {
                    script.settled.push(seen.body);
                    next(&mut script.settle)
                }
                _ => Say::Json(200, supported(&script)),
            }
        };
        if let Say::Json(_, json) = &mut say
            && wrapped
        {
            *json = format!(r#"{{"code":"0","msg":"success","data":{json}}}"#);
        }
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
        let closes = path == "/verify" && script.lock().unwrap().closes;
        if closes {
            // The listener and open connections must be gone before the caller can ask again.
            closing.idle.notify_waiters();
            closing.begun.notify_one();
            closing.done.notified().await;
        }
        let head = format!(
            "HTTP/1.1 {status} X\r\ncontent-type: {media_type}\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        );
        if stream.write_all(head.as_bytes()).await.is_err() || closes {
            return;
        }
    }
}

fn supported(script: &Script) -> String {
    let kind =
        |scheme| format!(r#"{{"x402Version":2,"scheme":"{scheme}","network":"eip155:196"}}"#);
    let mut kinds = kind("exact");
    if script.lists_deferred {
        kinds = format!("{kinds},{}", kind("aggr_deferred"));
    }
    let extension = if script.lists_bazaar {
        "\"bazaar\""
    } else {
        ""
    };
    format!(r#"{{"kinds":[{kinds}],"extensions":[{extension}],"signers":{{}}}}"#)
}

fn next(script: &mut VecDeque<Say>) -> Say {
    if script.len() > 1 {
        script.pop_front().unwrap()
    } else {
        script.front().unwrap().clone()
    }
}

async fn read_request(stream: &mut TcpStream) -> Option<Seen> {
    let mut bytes = Vec::new();
    loop {
        if let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
            let mut lines = head.lines();
            let mut request = lines.next()?.split(' ').map(str::to_owned);
            let (method, path) = (request.next()?, request.next()?);
            let headers: HashMap<String, String> = lines
                .filter_map(|line| line.split_once(": "))
                .map(|(name, value)| (name.to_lowercase(), value.to_owned()))
                .collect();
            let length = headers
                .get("content-length")
                .map_or(0, |length| length.parse().unwrap());
            while bytes.len() < end + 4 + length {
                if stream.read_buf(&mut bytes).await.ok()? == 0 {
                    return None;
                }
            }
            let body = String::from_utf8_lossy(&bytes[end + 4..end + 4 + length]).into_owned();
            return Some(Seen {
                method,
                path,
                headers,
                body,
            });
        }
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    }
}
