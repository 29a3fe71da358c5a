//! The service behind HTTP.

use std::{convert::Infallible, net::SocketAddr};

use bytes::Bytes;
use http_body_util::Full;
use hyper::{
    Request, Response, StatusCode, body::Incoming, header::CONTENT_TYPE, header::HeaderValue,
    server::conn::http1, service::service_fn,
};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;

use super::Iris;
use crate::{error::DevChainError, listener::Listener};

/// A service that listens on a socket. Dropping it closes the socket and every connection.
#[derive(Debug)]
pub struct IrisServer(Listener);

impl IrisServer {
    /// The base URL for clients: the `base_url` of Circle's adapter.
    #[must_use]
    pub fn url(&self) -> String {
        self.0.url()
    }
}

impl Iris {
    /// Serves over HTTP until the returned server is dropped. Port 0 picks a free port.
    ///
    /// # Errors
    ///
    /// When the address cannot be bound.
    pub async fn serve(&self, address: SocketAddr) -> Result<IrisServer, DevChainError> {
        let iris = self.clone();
        let listener = Listener::open(address, move |stream| connection(stream, iris.clone()));
        Ok(IrisServer(listener.await?))
    }
}

async fn connection(stream: TcpStream, iris: Iris) {
    let service = service_fn(|request| {
        let response = respond(&request, &iris);
        async { Ok::<_, Infallible>(response) }
    });
    // A client that goes away ends here.
    let _ended = http1::Builder::new()
        .serve_connection(TokioIo::new(stream), service)
        .await;
}

fn respond(request: &Request<Incoming>, iris: &Iris) -> Response<Full<Bytes>> {
    let uri = request.uri();
    let asked = uri
        .path_and_query()
        .map_or(uri.path(), |asked| asked.as_str());
    let (status, body) = match iris.answer(request.method().as_str(), asked) {
        Some(reply) => (reply.status, reply.body),
        None => (404, r#"{"code":404,"message":"Not Found"}"#.to_owned()),
    };
    let mut response = Response::new(Full::new(Bytes::from(body)));
    *response.status_mut() = StatusCode::from_u16(status).unwrap_or(StatusCode::OK);
    let json = HeaderValue::from_static("application/json");
    response.headers_mut().insert(CONTENT_TYPE, json);
    response
}
