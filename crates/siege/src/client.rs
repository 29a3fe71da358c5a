//! An HTTP client that keeps its connection as long as possible, and can go on to the next server.

use std::collections::VecDeque;
use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use bench::exchange::HttpAnswer;
use bytes::Bytes;
use http::{HeaderName, HeaderValue, Method};
use http_body_util::{BodyExt as _, Full};
use hyper::client::conn::http1::{self, SendRequest};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::task::JoinHandle;

/// The header by which the servers of the siege tell callers apart.
pub const CLIENT_ADDRESS: HeaderName = HeaderName::from_static("x-forwarded-for");

/// How long a caller waits for an answer. This is longer than every time limit of the servers.
const PATIENCE: Duration = Duration::from_secs(30);

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// No connection could be made.
    #[error("connection: {0}")]
    Connection(#[from] io::Error),
    /// The connection broke before the answer was complete.
    #[error("exchange: {0}")]
    Exchange(#[from] hyper::Error),
    /// The request is invalid.
    #[error("request: {0}")]
    Request(#[from] http::Error),
    /// The answer did not come in time.
    #[error("no answer in {} s", PATIENCE.as_secs())]
    Late,
}

/// One request.
#[derive(Debug, Clone)]
pub struct Request {
    /// Its method.
    pub method: Method,
    /// The path and the query.
    pub target: String,
    /// The headers, without `Host`.
    pub headers: Vec<(HeaderName, HeaderValue)>,
    /// Its body.
    pub body: Bytes,
}

impl Request {
    /// Makes a GET without headers.
    pub fn get(target: impl Into<String>) -> Self {
        Self {
            method: Method::GET,
            target: target.into(),
            headers: Vec::new(),
            body: Bytes::new(),
        }
    }

    /// Makes a POST with JSON.
    pub fn post(target: impl Into<String>, body: impl Into<Bytes>) -> Self {
        let json = HeaderValue::from_static("application/json");
        Self {
            method: Method::POST,
            body: body.into(),
            ..Self::get(target)
        }
        .with(http::header::CONTENT_TYPE, json)
    }

    /// Makes a POST with JSON, or a GET when the body is empty.
    pub fn with_body(target: impl Into<String>, body: Bytes) -> Self {
        match body.is_empty() {
            true => Self::get(target),
            false => Self::post(target, body),
        }
    }

    /// Adds a header.
    #[must_use]
    pub fn with(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.headers.push((name, value));
        self
    }

    /// Returns the request as bytes for a connection.
    pub fn to_bytes(&self, host: SocketAddr) -> Vec<u8> {
        let mut bytes = format!(
            "{} {} HTTP/1.1\r\nhost: {host}\r\n",
            self.method, self.target
        );
        for (name, value) in &self.headers {
            bytes.push_str(name.as_str());
            bytes.push_str(": ");
            bytes.push_str(value.to_str().unwrap_or_default());
            bytes.push_str("\r\n");
        }
        bytes.push_str(&format!("content-length: {}\r\n\r\n", self.body.len()));
        let mut bytes = bytes.into_bytes();
        bytes.extend_from_slice(&self.body);
        bytes
    }
}

/// Calls one server, or several servers that serve the same.
#[derive(Debug)]
pub struct Client {
    /// The servers. The first one gets the requests.
    servers: VecDeque<Peer>,
}

impl Client {
    /// Makes a caller of one server. It does not connect yet.
    pub fn new(server: SocketAddr) -> Self {
        Self::of_all([server])
    }

    /// Makes a caller of several servers. It asks the first one until [`Self::go_on`] is called.
    pub fn of_all(servers: impl IntoIterator<Item = SocketAddr>) -> Self {
        let peer = |address| Peer {
            address,
            open: None,
        };
        Self {
            servers: servers.into_iter().map(peer).collect(),
        }
    }

    /// Sends the following requests to the next server. The first server follows the last one. The
    /// connections stay open.
    pub fn go_on(&mut self) {
        if let Some(first) = self.servers.pop_front() {
            self.servers.push_back(first);
        }
    }

    /// Sends a request and reads the whole answer. If the connection breaks, the next request opens
    /// it again.
    ///
    /// # Errors
    /// When no whole answer arrives.
    pub async fn send(&mut self, request: &Request) -> Result<HttpAnswer, ClientError> {
        let Some(server) = self.servers.front_mut() else {
            return Err(io::Error::from(io::ErrorKind::AddrNotAvailable).into());
        };
        let answer = tokio::time::timeout(PATIENCE, server.exchange(request)).await;
        let answer = answer.unwrap_or(Err(ClientError::Late));
        if answer.is_err() {
            server.open = None;
        }
        answer
    }
}

/// A server with the connection to it.
#[derive(Debug)]
struct Peer {
    address: SocketAddr,
    open: Option<Open>,
}

#[derive(Debug)]
struct Open {
    sender: SendRequest<Full<Bytes>>,
    connection: JoinHandle<()>,
}

impl Drop for Open {
    fn drop(&mut self) {
        self.connection.abort();
    }
}

impl Peer {
    async fn exchange(&mut self, request: &Request) -> Result<HttpAnswer, ClientError> {
        let mut open = match self.open.take() {
            Some(open) if !open.sender.is_closed() => open,
            _ => self.connect().await?,
        };
        let mut builder = http::Request::builder()
            .method(request.method.clone())
            .uri(&request.target)
            .header(http::header::HOST, self.address.to_string());
        for (name, value) in &request.headers {
            builder = builder.header(name, value);
        }
        let message = builder.body(Full::new(request.body.clone()))?;
        open.sender.ready().await?;
        let (head, body) = open.sender.send_request(message).await?.into_parts();
        let body = body.collect().await?.to_bytes();
        self.open = Some(open);
        Ok(HttpAnswer {
            status: head.status,
            headers: head.headers,
            body,
        })
    }

    async fn connect(&self) -> Result<Open, ClientError> {
        let stream = TcpStream::connect(self.address).await?;
        stream.set_nodelay(true)?;
        let (sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
        let connection = tokio::spawn(async move {
            // The exchange on the connection shows the caller when it breaks.
            let _ended = connection.await;
        });
        Ok(Open { sender, connection })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::{Reply, serve};

    #[tokio::test]
    async fn the_next_server_is_asked_when_the_caller_goes_on() {
        let mut servers = Vec::new();
        for name in ["one", "two"] {
            let answer = move |_| std::future::ready(Reply::json(200, name));
            servers.push(serve(answer).await.unwrap());
        }
        let mut client = Client::of_all(servers);
        let mut answers = Vec::new();
        for go_on in [false, true, true] {
            let answer = client.send(&Request::get("/")).await.unwrap();
            answers.push(answer.body);
            if go_on {
                client.go_on();
            }
        }
        answers.push(client.send(&Request::get("/")).await.unwrap().body);
        assert_eq!(answers, ["one", "one", "two", "one"]);
        let nowhere = Client::of_all([]).send(&Request::get("/")).await;
        assert!(matches!(nowhere, Err(ClientError::Connection(_))));
    }
}
