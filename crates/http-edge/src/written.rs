//! Tells a handler that its answer was written whole to the connection.
//!
//! The body of such an answer notes when the server has taken its last bytes. The connection's
//! stream is flushed only when the server has passed on everything that it had taken. So at the
//! next complete flush, the answer has left this process. A connection that ends before drops the
//! notice.

use std::convert::Infallible;
use std::fmt;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http_body_util::Full;
use hyper::Response;
use hyper::body::{Body, Frame, SizeHint};
use hyper::rt::{Read, ReadBufCursor, Write};

/// A notice that an answer with a body was written whole to its connection. A handler puts it into
/// the extensions of its answer. It is given at most once, and never for an answer that was cut.
///
/// A reverse proxy that takes the whole answer counts as the reader.
#[derive(Clone)]
pub struct OnWritten(Arc<dyn Fn() + Send + Sync>);

impl OnWritten {
    /// Makes a notice. The function must not block: the connection waits for it.
    pub fn new(notice: impl Fn() + Send + Sync + 'static) -> Self {
        Self(Arc::new(notice))
    }
}

impl fmt::Debug for OnWritten {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("OnWritten")
    }
}

/// The notices of a connection whose answers were taken and are not flushed yet.
#[derive(Clone, Default)]
pub(crate) struct Taken(Arc<Mutex<Vec<OnWritten>>>);

impl Taken {
    fn lock(&self) -> MutexGuard<'_, Vec<OnWritten>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn push(&self, notice: OnWritten) {
        self.lock().push(notice);
    }

    fn give(&self) {
        let notices = std::mem::take(&mut *self.lock());
        for OnWritten(notice) in notices {
            notice();
        }
    }
}

/// The body of an answer.
pub(crate) struct AnswerBody {
    full: Full<Bytes>,
    notice: Option<(OnWritten, Taken)>,
}

impl AnswerBody {
    /// Wraps the body of an answer, and takes the notice out of the answer's extensions.
    pub(crate) fn of(answer: Response<Full<Bytes>>, taken: &Taken) -> Response<Self> {
        let (mut parts, full) = answer.into_parts();
        let notice = parts.extensions.remove::<OnWritten>();
        let notice = notice.map(|notice| (notice, taken.clone()));
        Response::from_parts(parts, Self { full, notice })
    }
}

impl Body for AnswerBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let body = self.get_mut();
        let frame = ready!(Pin::new(&mut body.full).poll_frame(context));
        if body.full.is_end_stream()
            && let Some((notice, taken)) = body.notice.take()
        {
            taken.push(notice);
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.full.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.full.size_hint()
    }
}

/// The stream of a connection.
pub(crate) struct Watched<S> {
    stream: S,
    taken: Taken,
}

impl<S> Watched<S> {
    pub(crate) fn new(stream: S, taken: Taken) -> Self {
        Self { stream, taken }
    }
}

impl<S: Read + Unpin> Read for Watched<S> {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_read(context, buffer)
    }
}

impl<S: Write + Unpin> Write for Watched<S> {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.get_mut().stream).poll_write(context, bytes)
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let watched = self.get_mut();
        let flushed = ready!(Pin::new(&mut watched.stream).poll_flush(context));
        if flushed.is_ok() {
            watched.taken.give();
        }
        Poll::Ready(flushed)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_shutdown(context)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffers: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.get_mut().stream).poll_write_vectored(context, buffers)
    }
}
