//! The demo agent's JSON-RPC client over HTTP.

use std::net::SocketAddr;

use bytes::Bytes;
use http::Request;
use http::header::{ACCEPT, CONTENT_TYPE, HOST};
use http_body_util::{BodyExt, Full};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use thiserror::Error;
use tokio::net::TcpStream;

/// An error of an exchange.
#[derive(Debug, Error)]
pub(crate) enum PeerError {
    #[error("{address} cannot be reached: {error}")]
    Connection {
        address: SocketAddr,
        error: std::io::Error,
    },
    #[error("the exchange with {address} failed: {error}")]
    Http {
        address: SocketAddr,
        error: hyper::Error,
    },
    #[error("not a request: {0}")]
    Request(#[from] http::Error),
    #[error("{method} is not answered with JSON-RPC (status {status})")]
    Answer { method: &'static str, status: u16 },
    #[error("{method} is answered with the error {error}")]
    Refused { method: &'static str, error: Value },
}

/// An endpoint that answers JSON-RPC.
#[derive(Debug, Clone, Copy)]
pub(super) struct Peer {
    pub(super) address: SocketAddr,
    pub(super) path: &'static str,
}

impl Peer {
    /// Calls a method and returns the member `result` of the answer.
    pub(super) async fn call(
        &self,
        method: &'static str,
        params: Value,
    ) -> Result<Value, PeerError> {
        let address = self.address;
        let http = |error| PeerError::Http { address, error };
        let body = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
        let request = Request::post(self.path)
            .header(HOST, address.to_string())
            .header(CONTENT_TYPE, "application/json")
            .header(ACCEPT, "application/json, text/event-stream")
            .body(Full::new(Bytes::from(body.to_string())))?;
        let stream = TcpStream::connect(address)
            .await
            .map_err(|error| PeerError::Connection { address, error })?;
        let (mut sender, connection) =
            http1::handshake(TokioIo::new(stream)).await.map_err(http)?;
        tokio::spawn(connection);
        let response = sender.send_request(request).await.map_err(http)?;
        let status = response.status().as_u16();
        let body = response
            .into_body()
            .collect()
            .await
            .map_err(http)?
            .to_bytes();
        let mut answer: Value =
            serde_json::from_slice(&body).map_err(|_| PeerError::Answer { method, status })?;
        match (
            answer.get_mut("error").map(Value::take),
            answer.get_mut("result"),
        ) {
            (None, Some(result)) => Ok(result.take()),
            (Some(error), _) => Err(PeerError::Refused { method, error }),
            (None, None) => Err(PeerError::Answer { method, status }),
        }
    }
}
