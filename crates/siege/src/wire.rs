//! HTTP servers that can fail as networks fail.

use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode, header};
use http_body_util::BodyExt as _;
use hyper::body::{Body, Frame, Incoming, SizeHint};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpListener;

/// How long a caller waits for an answer that does not come.
const SILENCE: Duration = Duration::from_secs(30);

/// A complete request.
#[derive(Debug)]
pub struct Asked {
    /// Its method.
    pub method: Method,
    /// The path and the query.
    pub target: String,
    /// Its headers.
    pub headers: HeaderMap,
    /// Its body.
    pub body: Bytes,
}

/// The reaction of a server to a request.
#[derive(Debug, Clone)]
pub enum Reply {
    /// Sends a whole answer.
    Whole {
        /// Its status.
        status: u16,
        /// Its headers.
        headers: HeaderMap,
        /// Its body.
        body: Bytes,
    },
    /// Sends the first half of an answer, then ends the connection.
    Torn(Bytes),
    /// Ends the connection.
    Drop,
    /// Sends no answer, and keeps the connection open.
    Silence,
}

impl Reply {
    /// Makes a whole answer in JSON.
    pub fn json(status: u16, body: impl Into<Bytes>) -> Self {
        let json = HeaderValue::from_static("application/json");
        Self::Whole {
            status,
            headers: HeaderMap::from_iter([(header::CONTENT_TYPE, json)]),
            body: body.into(),
        }
    }
}

/// Serves on a free port of the loopback interface as long as the runtime lives.
///
/// # Errors
/// When no port is available.
pub async fn serve<F, R>(answer: F) -> io::Result<SocketAddr>
where
    F: Fn(Asked) -> R + Send + Sync + 'static,
    R: Future<Output = Reply> + Send + 'static,
{
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    let answer = Arc::new(answer);
    tokio::spawn(async move {
        loop {
            let Ok((stream, _)) = listener.accept().await else {
                tokio::time::sleep(Duration::from_millis(10)).await;
                continue;
            };
            let answer = answer.clone();
            tokio::spawn(async move {
                let service = service_fn(move |request| respond(answer.clone(), request));
                let mut connection = http1::Builder::new();
                connection.timer(TokioTimer::new());
                // This ends when the caller disconnects, or when the server drops the connection
                // deliberately.
                let _ended = connection
                    .serve_connection(TokioIo::new(stream), service)
                    .await;
            });
        }
    });
    Ok(address)
}

/// Makes the response of a reply. With an error, hyper closes the connection without an answer.
async fn respond<F, R>(
    answer: Arc<F>,
    request: Request<Incoming>,
) -> io::Result<Response<PerhapsTorn>>
where
    F: Fn(Asked) -> R,
    R: Future<Output = Reply>,
{
    let (head, body) = request.into_parts();
    let body = body.collect().await.map_err(io::Error::other)?.to_bytes();
    let target = head.uri.path_and_query();
    let asked = Asked {
        method: head.method,
        target: target.map_or("/", |target| target.as_str()).to_owned(),
        headers: head.headers,
        body,
    };
    match answer(asked).await {
        Reply::Whole {
            status,
            headers,
            body,
        } => {
            let mut response = Response::new(PerhapsTorn::whole(body));
            *response.status_mut() = StatusCode::from_u16(status).unwrap_or_default();
            *response.headers_mut() = headers;
            Ok(response)
        }
        Reply::Torn(body) => Ok(Response::new(PerhapsTorn::torn(&body))),
        Reply::Drop => Err(io::ErrorKind::ConnectionAborted.into()),
        Reply::Silence => {
            tokio::time::sleep(SILENCE).await;
            Err(io::ErrorKind::TimedOut.into())
        }
    }
}

/// A body that can break off.
struct PerhapsTorn {
    left: Option<Bytes>,
    torn: bool,
}

impl PerhapsTorn {
    fn whole(body: Bytes) -> Self {
        let left = Some(body).filter(|body| !body.is_empty());
        Self { left, torn: false }
    }

    fn torn(body: &Bytes) -> Self {
        Self {
            left: Some(body.slice(..body.len() / 2)),
            torn: true,
        }
    }
}

impl Body for PerhapsTorn {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _context: &mut Context<'_>,
    ) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        Poll::Ready(match self.left.take() {
            Some(data) => Some(Ok(Frame::data(data))),
            None if self.torn => Some(Err(io::ErrorKind::ConnectionAborted.into())),
            None => None,
        })
    }

    fn is_end_stream(&self) -> bool {
        self.left.is_none() && !self.torn
    }

    fn size_hint(&self) -> SizeHint {
        let length = self.left.as_ref().map_or(0, Bytes::len);
        let length = u64::try_from(length).unwrap_or(u64::MAX);
        match self.torn {
            true => SizeHint::default(),
            false => SizeHint::with_exact(length),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::{Client, Request};

    async fn ask(reply: Reply) -> Result<bytes::Bytes, crate::client::ClientError> {
        let address = serve(move |_| std::future::ready(reply.clone()))
            .await
            .unwrap();
        let answer = Client::new(address).send(&Request::get("/")).await?;
        Ok(answer.body)
    }

    #[tokio::test]
    async fn answers_arrive_whole_torn_or_not_at_all() {
        let whole = ask(Reply::json(200, "0123456789")).await.unwrap();
        assert_eq!(whole, "0123456789");
        assert_eq!(ask(Reply::json(500, "")).await.unwrap(), "");
        ask(Reply::Torn("0123456789".into())).await.unwrap_err();
        ask(Reply::Drop).await.unwrap_err();
    }
}
