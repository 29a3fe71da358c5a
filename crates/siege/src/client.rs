//! A client that keeps its connection while possible.

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

/// The header by which the servers of the siege distinguish callers.
pub const CLIENT_ADDRESS: HeaderName = HeaderName::from_static("x-forwarded-for");

/// The time limit of an answer: longer than any time limit of the servers.
const PATIENCE: Duration = Duration::from_secs(30);

/// The reason why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// No connection.
    #[error("connection: {0}")]
    Connection(#[from] io::Error),
    /// The exchange broke off.
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
    /// Path and query.
    pub target: String,
    /// Headers beside `Host`.
    pub headers: Vec<(HeaderName, HeaderValue)>,
    /// Its body.
    pub body: Bytes,
}

impl Request {
    /// A GET without headers.
    pub fn get(target: impl Into<String>) -> Self {
        Self {
            method: Method::GET,
            target: target.into(),
            headers: Vec::new(),
            body: Bytes::new(),
        }
    }

    /// A POST of JSON.
    pub fn post(target: impl Into<String>, body: impl Into<Bytes>) -> Self {
        let json = HeaderValue::from_static("application/json");
        Self {
            method: Method::POST,
            body: body.into(),
            ..Self::get(target)
        }
        .with(http::header::CONTENT_TYPE, json)
    }

    /// Adds a header.
    #[must_use]
    pub fn with(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.headers.push((name, value));
        self
    }

    /// The request as bytes on the wire.
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

/// A caller of one server, or of several that serve the same.
#[derive(Debug)]
pub struct Client {
    /// The first one is asked.
    servers: VecDeque<Peer>,
}

impl Client {
    /// A caller of one server that has not connected yet.
    pub fn new(server: SocketAddr) -> Self {
        Self::of_all([server])
    }

    /// A caller of several servers. It asks the first one until it is told to go on to the next.
    pub fn of_all(servers: impl IntoIterator<Item = SocketAddr>) -> Self {
        let peer = |address| Peer {
            address,
            open: None,
        };
        Self {
            servers: servers.into_iter().map(peer).collect(),
        }
    }

    /// Sends the following requests to the next server; after the last one comes the first one. The
    /// connections stay open.
    pub fn go_on(&mut self) {
        if let Some(first) = self.servers.pop_front() {
            self.servers.push_back(first);
        }
    }

    /// Sends a request and reads the whole answer. A connection that breaks is opened again by the
    /// next request.
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

/// A server, and the connection to it.
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
            // The caller sees a broken connection by the exchange that it breaks.
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
