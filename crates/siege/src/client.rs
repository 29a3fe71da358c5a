//! A client that keeps its connection while possible.

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

/// Why there is no answer.
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

/// A caller of one server.
#[derive(Debug)]
pub struct Client {
    server: SocketAddr,
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

impl Client {
    /// A caller that has not connected yet.
    pub fn new(server: SocketAddr) -> Self {
        Self { server, open: None }
    }

    /// Sends a request and reads the whole answer. A connection that breaks is opened again by the
    /// next request.
    ///
    /// # Errors
    /// When no whole answer arrives.
    pub async fn send(&mut self, request: &Request) -> Result<HttpAnswer, ClientError> {
        let answer = tokio::time::timeout(PATIENCE, self.exchange(request)).await;
        let answer = answer.unwrap_or(Err(ClientError::Late));
        if answer.is_err() {
            self.open = None;
        }
        answer
    }

    async fn exchange(&mut self, request: &Request) -> Result<HttpAnswer, ClientError> {
        let mut open = match self.open.take() {
            Some(open) if !open.sender.is_closed() => open,
            _ => self.connect().await?,
        };
        let mut builder = http::Request::builder()
            .method(request.method.clone())
            .uri(&request.target)
            .header(http::header::HOST, self.server.to_string());
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
        let stream = TcpStream::connect(self.server).await?;
        stream.set_nodelay(true)?;
        let (sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
        let connection = tokio::spawn(async move {
            // The caller sees a broken connection by the exchange that it breaks.
            let _ended = connection.await;
        });
        Ok(Open { sender, connection })
    }
}
