//! Minimal servers: the baselines that the real server is measured against.

pub mod facilitator;
pub mod fixed;
pub mod log;
pub mod mcp;
pub mod paid;

use std::convert::Infallible;
use std::future::Future;
use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::Full;
use hyper::body::{Body, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpListener;

use crate::BenchError;
use crate::exchange::{HttpAnswer, Recording};

/// Takes a port and prints it on stderr, as the real server does.
///
/// # Errors
/// When no port is available.
async fn listen() -> Result<TcpListener, BenchError> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    eprintln!("listening on http://{}", listener.local_addr()?);
    Ok(listener)
}

/// Answers every request of every connection; ends only with the process.
///
/// # Errors
/// When the listener breaks.
pub async fn serve<F, R, B>(listener: TcpListener, answer: F) -> Result<(), BenchError>
where
    F: Fn(Request<Incoming>) -> R + Send + Sync + 'static,
    R: Future<Output = Response<B>> + Send + 'static,
    B: Body<Data = Bytes, Error = Infallible> + Send + 'static,
{
    let answer = Arc::new(answer);
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        let answer = answer.clone();
        tokio::spawn(async move {
            let service = service_fn(move |request| {
                let reply = answer(request);
                async move { Ok::<_, Infallible>(reply.await) }
            });
            let mut http = http1::Builder::new();
            http.timer(TokioTimer::new());
            // A connection that breaks ends alone; the load generator reports it.
            let _ = http.serve_connection(TokioIo::new(stream), service).await;
        });
    }
}

/// A recorded answer, to be replayed.
///
/// # Errors
/// When the file cannot be read.
pub fn recorded(file: &Path) -> Result<HttpAnswer, BenchError> {
    let text = std::fs::read(file).map_err(BenchError::io(file))?;
    serde_json::from_slice::<Recording>(&text)?.replay()
}

/// A response with shared bytes.
fn response(answer: &HttpAnswer) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(answer.body.clone()));
    *response.status_mut() = answer.status;
    *response.headers_mut() = answer.headers.clone();
    response
}
