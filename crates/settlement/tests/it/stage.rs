//! An HTTP server that follows a script: it gives good answers, bad answers or no answers.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

/// The server's reaction to one request.
#[derive(Debug, Clone)]
pub(crate) enum Act {
    /// A complete answer.
    Answer {
        status: u16,
        content_type: &'static str,
        body: String,
    },
    /// Redirects to this place.
    Redirect(String),
    /// Closes the connection without a byte.
    Close,
    /// Sends the head and half of the body. Then closes the connection.
    CutOff(String),
    /// Sends nothing and keeps the connection open.
    Hang,
}

pub(crate) fn json(body: impl Into<String>) -> Act {
    with_status(200, body)
}

pub(crate) fn with_status(status: u16, body: impl Into<String>) -> Act {
    Act::Answer {
        status,
        content_type: "application/json",
        body: body.into(),
    }
}

/// A request as it arrived.
#[derive(Debug, Clone)]
pub(crate) struct Seen {
    pub(crate) method: String,
    pub(crate) target: String,
    pub(crate) headers: HashMap<String, String>,
    pub(crate) body: String,
}

#[derive(Debug, Default)]
struct Script {
    acts: HashMap<String, VecDeque<Act>>,
    seen: Vec<Seen>,
}

/// A scripted server. Dropping it closes every connection.
#[derive(Debug)]
pub(crate) struct Stage {
    script: Arc<Mutex<Script>>,
    address: String,
    task: JoinHandle<()>,
}

impl Stage {
    pub(crate) async fn open() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let script = Arc::new(Mutex::new(Script::default()));
        let task = tokio::spawn(accept(listener, script.clone()));
        Self {
            script,
            address,
            task,
        }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Adds what the server does with the next requests to a path, given without a query.
    pub(crate) fn plays(&self, path: &str, acts: impl IntoIterator<Item = Act>) {
        let mut script = self.script.lock().unwrap();
        script.acts.entry(path.to_owned()).or_default().extend(acts);
    }

    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.script.lock().unwrap().seen.clone()
    }

    /// Returns the bodies of the requests to a path.
    pub(crate) fn bodies(&self, path: &str) -> Vec<String> {
        let seen = self.seen();
        seen.into_iter()
            .filter(|seen| seen.path() == path)
            .map(|seen| seen.body)
            .collect()
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Seen {
    fn path(&self) -> &str {
        self.target.split('?').next().unwrap()
    }
}

async fn accept(listener: TcpListener, script: Arc<Mutex<Script>>) {
    let mut connections = tokio::task::JoinSet::new();
    loop {
        let (stream, _) = listener.accept().await.unwrap();
        connections.spawn(connection(stream, script.clone()));
    }
}

async fn connection(mut stream: TcpStream, script: Arc<Mutex<Script>>) {
    while let Some(seen) = read_request(&mut stream).await {
        let act = {
            let mut script = script.lock().unwrap();
            script.seen.push(seen.clone());
            script
                .acts
                .get_mut(seen.path())
                .and_then(VecDeque::pop_front)
        };
        let unscripted = Act::Answer {
            status: 418,
            content_type: "text/plain",
            body: format!("no act for {}", seen.target),
        };
        let (head, body) = match act.unwrap_or(unscripted) {
            Act::Answer {
                status,
                content_type,
                body,
            } => (
                format!(
                    "HTTP/1.1 {status} X\r\ncontent-type: {content_type}\r\ncontent-length: {}\r\n\r\n",
                    body.len()
                ),
                body,
            ),
            Act::Redirect(location) => (
                format!("HTTP/1.1 307 X\r\nlocation: {location}\r\ncontent-length: 0\r\n\r\n"),
                String::new(),
            ),
            Act::Close => return,
            Act::CutOff(body) => {
                let length = body.len();
                let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {length}\r\n\r\n");
                stream.write_all(head.as_bytes()).await.unwrap();
                stream
                    .write_all(&body.as_bytes()[..length / 2])
                    .await
                    .unwrap();
                return;
            }
            Act::Hang => std::future::pending().await,
        };
        // The client may have read enough and closed the connection.
        if stream.write_all(head.as_bytes()).await.is_err()
            || stream.write_all(body.as_bytes()).await.is_err()
        {
            return;
        }
    }
}

async fn read_request(stream: &mut TcpStream) -> Option<Seen> {
    let mut bytes = Vec::new();
    let end = loop {
        if let Some(at) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
            break at;
        }
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    };
    let head = String::from_utf8(bytes[..end].to_vec()).unwrap();
    let mut lines = head.split("\r\n");
    let mut first = lines.next()?.split(' ');
    let (method, target) = (first.next()?.to_owned(), first.next()?.to_owned());
    let headers: HashMap<String, String> = lines
        .filter_map(|line| line.split_once(": "))
        .map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned()))
        .collect();
    let length = headers
        .get("content-length")
        .map_or(0, |text| text.parse().unwrap());
    let mut body = bytes.split_off(end + 4);
    while body.len() < length {
        if stream.read_buf(&mut body).await.ok()? == 0 {
            return None;
        }
    }
    let body = String::from_utf8(body).unwrap();
    Some(Seen {
        method,
        target,
        headers,
        body,
    })
}
