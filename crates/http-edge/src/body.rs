//! Reads a request body within bounds.

use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, LengthLimitError, Limited};
use hyper::body::{Body, Frame, Incoming, SizeHint};
use hyper::header::{self, HeaderMap};
use thiserror::Error;
use tokio::sync::oneshot;

/// The body of a request.
///
/// A [`Handler`](crate::Handler) may drop it before its end, as a 402 or a 413 does. The server
/// then reads the rest, so that the answer reaches a client that sends its whole body before it
/// reads; see [`Limits::linger`](crate::Limits::linger).
#[derive(Debug)]
pub struct RequestBody {
    /// `None` only while the body is dropped.
    incoming: Option<Incoming>,
    /// Whether the head has a `Content-Encoding` that changes the bytes.
    is_encoded: bool,
    /// Whether somebody has begun to read it.
    is_begun: bool,
    /// Takes the body back when the handler drops it before its end.
    unread: Option<oneshot::Sender<Unread>>,
}

/// The rest of a body that its handler has dropped.
#[derive(Debug)]
pub(crate) struct Unread {
    incoming: Incoming,
    is_begun: bool,
}

impl Unread {
    /// Reads the rest within bounds, and forgets it. Returns whether that was all of it.
    ///
    /// A rest that is known to be too long is not read. Neither is the rest of a body that the
    /// handler began to read: it gave up because that body is too long or too slow.
    pub(crate) async fn discard(self, limit: usize, timeout: Duration) -> bool {
        if self.is_begun {
            return false;
        }
        let body = RequestBody {
            incoming: Some(self.incoming),
            is_encoded: false,
            is_begun: true,
            unread: None,
        };
        read_body(body, limit, timeout).await.is_ok()
    }
}

impl RequestBody {
    /// Wraps the body of a request. The receiver gets the body back if it is dropped before its
    /// end; it is `None` for a body without bytes.
    pub(crate) fn new(
        incoming: Incoming,
        headers: &HeaderMap,
    ) -> (Self, Option<oneshot::Receiver<Unread>>) {
        let (unread, returned) = match incoming.is_end_stream() {
            true => (None, None),
            false => {
                let (unread, returned) = oneshot::channel();
                (Some(unread), Some(returned))
            }
        };
        let body = Self {
            incoming: Some(incoming),
            is_encoded: is_encoded(headers),
            is_begun: false,
            unread,
        };
        (body, returned)
    }
}

/// Whether a `Content-Encoding` changes the bytes of the body.
fn is_encoded(headers: &HeaderMap) -> bool {
    let mut lines = headers.get_all(header::CONTENT_ENCODING).iter();
    lines.any(|line| {
        let mut codings = line.as_bytes().split(|byte| *byte == b',');
        codings.any(|coding| {
            let coding = coding.trim_ascii();
            !coding.is_empty() && !coding.eq_ignore_ascii_case(b"identity")
        })
    })
}

impl Drop for RequestBody {
    fn drop(&mut self) {
        if let (Some(incoming), Some(unread)) = (self.incoming.take(), self.unread.take())
            && !incoming.is_end_stream()
        {
            // Without a receiver the connection is gone.
            let _ = unread.send(Unread {
                incoming,
                is_begun: self.is_begun,
            });
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
        self.is_begun = true;
        let Some(incoming) = &mut self.incoming else {
            return Poll::Ready(None);
        };
        let frame = ready!(Pin::new(incoming).poll_frame(context));
        if !matches!(frame, Some(Ok(_))) {
            // The body has ended, or cannot be read any further.
            self.unread = None;
        }
        Poll::Ready(frame)
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
    /// The body has a `Content-Encoding`, such as `gzip`.
    #[error("the body has a Content-Encoding: send it as it is, without that header")]
    Encoded,
    /// The connection ended, or the framing of the body is broken.
    #[error("the body could not be read to its end")]
    Broken,
}

/// Reads a whole body.
///
/// # Errors
/// [`BodyError::Encoded`] and, when the declared length is above the limit,
/// [`BodyError::TooLarge`] at once.
pub async fn read_body(
    body: RequestBody,
    limit: usize,
    timeout: Duration,
) -> Result<Bytes, BodyError> {
    if body.is_encoded {
        return Err(BodyError::Encoded);
    }
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
