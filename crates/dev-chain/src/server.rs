//! The chain behind HTTP, for clients in other processes. It accepts POST requests at any path and
//! speaks plain HTTP only.

use std::{future::pending, io, net::SocketAddr};

use bytes::Bytes;
use http_body_util::{BodyExt, Full, Limited};
use hyper::{
    Method, Request, Response, StatusCode,
    body::{Body, Incoming},
    header::{ALLOW, CONTENT_TYPE, HeaderValue},
    server::conn::http1,
    service::service_fn,
};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;

use crate::{chain::DevChain, error::DevChainError, listener::Listener, rpc::Reply};

/// Longest request body, as in go-ethereum.
const MAX_BODY_BYTES: usize = 5 * 1024 * 1024;

/// A chain that listens on a socket. Dropping it closes the socket and every connection.
#[derive(Debug)]
pub struct RpcServer(Listener);

impl RpcServer {
    /// The bound address.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.0.address
    }

    /// The base URL for clients, for example `http://127.0.0.1:8545`.
    #[must_use]
    pub fn url(&self) -> String {
        self.0.url()
    }
}

impl DevChain {
    /// Serves JSON-RPC over HTTP until the returned server is dropped. Port 0 picks a free port.
    ///
    /// # Errors
    ///
    /// When the address cannot be bound.
    pub async fn serve(&self, address: SocketAddr) -> Result<RpcServer, DevChainError> {
        let chain = self.clone();
        let listener = Listener::open(address, move |stream| connection(stream, chain.clone()));
        Ok(RpcServer(listener.await?))
    }
}

async fn connection(stream: TcpStream, chain: DevChain) {
    let service = service_fn(|request| respond(request, &chain));
    // A client that disconnects, and a fault that closes the connection, both end here.
    let _ended = http1::Builder::new()
        .serve_connection(TokioIo::new(stream), service)
        .await;
}

/// An error makes hyper close the connection without an answer.
async fn respond(
    request: Request<Incoming>,
    chain: &DevChain,
) -> Result<Response<Full<Bytes>>, io::Error> {
    if request.method() != Method::POST {
        let mut response = plain(StatusCode::METHOD_NOT_ALLOWED, Vec::new());
        response
            .headers_mut()
            .insert(ALLOW, HeaderValue::from_static("POST"));
        return Ok(response);
    }
    // A body with a declared length that is too long is refused without waiting for it.
    let announced = usize::try_from(request.body().size_hint().lower()).unwrap_or(usize::MAX);
    if announced > MAX_BODY_BYTES {
        return Ok(plain(StatusCode::PAYLOAD_TOO_LARGE, Vec::new()));
    }
    let Ok(body) = Limited::new(request.into_body(), MAX_BODY_BYTES)
        .collect()
        .await
    else {
        return Ok(plain(StatusCode::PAYLOAD_TOO_LARGE, Vec::new()));
    };
    match chain.answer(&body.to_bytes()) {
        Reply::Http { status, body } => Ok(plain(
            StatusCode::from_u16(status).unwrap_or(StatusCode::OK),
            body,
        )),
        Reply::Close => Err(io::ErrorKind::ConnectionAborted.into()),
        Reply::Never => pending().await,
    }
}

fn plain(status: StatusCode, body: Vec<u8>) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(Bytes::from(body)));
    *response.status_mut() = status;
    response
        .headers_mut()
        .insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}
