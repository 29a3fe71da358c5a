//! Reads a request body within bounds.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, LengthLimitError, Limited};
use hyper::body::{Body, Frame, Incoming, SizeHint};
use thiserror::Error;
use tokio::sync::oneshot;

/// The body of a request.
///
/// A [`Handler`](crate::Handler) may drop it unread: the server then reads the rest before it sends
/// the answer, within [`Limits::max_body_bytes`](crate::Limits::max_body_bytes) and
/// [`Limits::body_timeout`](crate::Limits::body_timeout). Otherwise the connection would close
/// while the client still sends, and the client (a reverse proxy above all) could lose the answer.
#[derive(Debug)]
pub struct RequestBody {
    /// `None` only while the body is dropped.
    incoming: Option<Incoming>,
    /// Takes the body back when the handler drops it unread.
    unread: Option<oneshot::Sender<Incoming>>,
}

impl RequestBody {
    /// Wraps the body of a request. The receiver gets the body back if it is dropped before anybody
    /// has read from it; it is `None` for a body without bytes.
    pub(crate) fn new(incoming: Incoming) -> (Self, Option<oneshot::Receiver<Incoming>>) {
        let (unread, returned) = match incoming.is_end_stream() {
            true => (None, None),
            false => {
                let (unread, returned) = oneshot::channel();
                (Some(unread), Some(returned))
            }
        };
        let incoming = Some(incoming);
        (Self { incoming, unread }, returned)
    }
}

impl Drop for RequestBody {
    fn drop(&mut self) {
        if let (Some(incoming), Some(unread)) = (self.incoming.take(), self.unread.take()) {
            // Without a receiver the connection is gone.
            let _ = unread.send(incoming);
        }
    }
}

impl Body for RequestBody {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        self.unread = None;
        match &mut self.incoming {
            Some(incoming) => Pin::new(incoming).poll_frame(context),
            None => Poll::Ready(None),
        }
    }

    fn is_end_stream(&self) -> bool {
        self.incoming.as_ref().is_none_or(Body::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        self.incoming
            .as_ref()
            .map_or_else(|| SizeHint::with_exact(0), Body::size_hint)
    }
}

/// Reads a body that its handler has not read, and forgets it. Does not read a body that is too
/// long, too slow or broken to its end.
pub(crate) async fn discard(body: Incoming, limit: usize, timeout: Duration) {
    let body = RequestBody {
        incoming: Some(body),
        unread: None,
    };
    let _ = read_body(body, limit, timeout).await;
}

/// Why a body was not read.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum BodyError {
    /// The body is longer than allowed, by its declared or its real length.
    #[error("the body is longer than {limit} bytes")]
    TooLarge {
        /// The most bytes that are read.
        limit: usize,
    },
    /// The body did not arrive in time.
    #[error("the body did not arrive within {} seconds", timeout.as_secs())]
    TooSlow {
        /// The time limit.
        timeout: Duration,
    },
    /// The connection ended, or the framing of the body is broken.
    #[error("the body could not be read to its end")]
    Broken,
}

/// Reads a whole body.
///
/// # Errors
/// [`BodyError::TooLarge`] at once when the declared length is above the limit.
pub async fn read_body(
    body: RequestBody,
    limit: usize,
    timeout: Duration,
) -> Result<Bytes, BodyError> {
    let hint = body.size_hint();
    if usize::try_from(hint.lower()).map_or(true, |announced| announced > limit) {
        return Err(BodyError::TooLarge { limit });
    }
    if hint.exact() == Some(0) {
        return Ok(Bytes::new());
    }
    match tokio::time::timeout(timeout, Limited::new(body, limit).collect()).await {
        Err(_elapsed) => Err(BodyError::TooSlow { timeout }),
        Ok(Ok(collected)) => Ok(collected.to_bytes()),
        Ok(Err(error)) if error.is::<LengthLimitError>() => Err(BodyError::TooLarge { limit }),
        Ok(Err(_)) => Err(BodyError::Broken),
    }
}
