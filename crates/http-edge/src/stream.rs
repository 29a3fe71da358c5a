//! The connection beneath the HTTP library: its time-outs, the answers that the library gives by
//! itself, and a close that loses no answer.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use hyper::StatusCode;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Instant, Sleep};
use tokio_io_timeout::TimeoutStream;

use crate::RequestIds;
use crate::refusal::Refusal;

/// The most bytes that are read and thrown away before a connection closes.
const MOST_UNREAD_BYTES: usize = 16 * 1024 * 1024;

/// The longest wait. No deadline lies beyond what a clock can show.
const LONGEST: Duration = Duration::from_secs(365 * 24 * 3_600);

/// What a connection waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// The client sends the head of a request, or has sent nothing since it connected.
    Head,
    /// A request is answered. Its handler has its own time limits.
    Request,
    /// The answer is on its way. The limit of a client that does not read applies.
    Answer,
    /// The last answer is written whole, and the next request has not begun.
    Idle,
}

impl Phase {
    const fn code(self) -> u8 {
        match self {
            Self::Head => 0,
            Self::Request => 1,
            Self::Idle => 2,
            Self::Answer => 3,
        }
    }

    const fn of(code: u8) -> Self {
        match code {
            1 => Self::Request,
            2 => Self::Idle,
            3 => Self::Answer,
            _ => Self::Head,
        }
    }
}

/// What the service of a connection tells its stream.
#[derive(Debug)]
pub(crate) struct ConnectionState {
    phase: AtomicU8,
    /// Whether the client may still be sending a body that nobody reads.
    is_unread: AtomicBool,
}

impl ConnectionState {
    pub(crate) fn new() -> Self {
        Self {
            phase: AtomicU8::new(Phase::Head.code()),
            is_unread: AtomicBool::new(false),
        }
    }

    /// Says that the head of a request has arrived.
    pub(crate) fn request_begins(&self) {
        self.enter(Phase::Request);
    }

    /// Says that the answer to a request is made.
    pub(crate) fn request_ends(&self) {
        self.enter(Phase::Answer);
    }

    /// Says that the connection must end, and that the client may still be sending.
    pub(crate) fn leave_unread(&self) {
        self.is_unread.store(true, Ordering::Relaxed);
    }

    fn enter(&self, phase: Phase) {
        self.phase.store(phase.code(), Ordering::Relaxed);
    }

    fn phase(&self) -> Phase {
        Phase::of(self.phase.load(Ordering::Relaxed))
    }
}

/// How long a connection waits for its client.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Patience {
    /// For a head, from its first byte, and for the first one from the connection's beginning.
    pub(crate) head: Duration,
    /// Between an answer and the next request.
    pub(crate) idle: Duration,
    /// For the rest of what a client sends, before the connection closes.
    pub(crate) linger: Duration,
    /// For a client that does not read.
    pub(crate) write: Duration,
}

/// A client's connection.
///
/// - A head and the pause between two requests have limits of their own.
/// - Where the HTTP library answers a head that it cannot read with an empty body, the answer gets
///   the body of every other error.
/// - Where the client may still be sending when the connection ends, the rest is read and thrown
///   away. Otherwise the system would answer it with a reset, which can take the answer away.
pub(crate) struct ConnectionStream {
    stream: Pin<Box<TimeoutStream<TcpStream>>>,
    state: Arc<ConnectionState>,
    ids: Arc<RequestIds>,
    patience: Patience,
    timer: Pin<Box<Sleep>>,
    /// The phase for which the timer runs.
    timed: Option<Phase>,
    /// An answer that takes the place of the library's, and how much of it is written.
    own: Option<(Vec<u8>, usize)>,
    closing: Option<Closing>,
}

/// The end of a connection: everything is written.
struct Closing {
    thrown_away: usize,
}

impl ConnectionStream {
    pub(crate) fn new(
        stream: TcpStream,
        state: Arc<ConnectionState>,
        ids: Arc<RequestIds>,
        patience: Patience,
    ) -> Self {
        let mut stream = TimeoutStream::new(stream);
        stream.set_write_timeout(Some(patience.write));
        Self {
            stream: Box::pin(stream),
            state,
            ids,
            patience,
            timer: Box::pin(tokio::time::sleep(patience.head)),
            timed: Some(Phase::Head),
            own: None,
            closing: None,
        }
    }

    /// Takes note that bytes have arrived: the first ones after an answer begin a head.
    fn received(&mut self) {
        if self.state.phase() == Phase::Idle {
            self.state.enter(Phase::Head);
            self.timed = None;
        }
    }

    /// Waits for bytes as long as the phase allows.
    fn wait(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let phase = self.state.phase();
        let limit = match phase {
            Phase::Request | Phase::Answer => return Poll::Pending,
            Phase::Head => self.patience.head,
            Phase::Idle => self.patience.idle,
        };
        if self.timed != Some(phase) {
            self.timed = Some(phase);
            self.restart(limit);
        }
        ready!(self.timer.as_mut().poll(context));
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }

    fn restart(&mut self, limit: Duration) {
        let now = Instant::now();
        let deadline = now.checked_add(limit.min(LONGEST)).unwrap_or(now);
        self.timer.as_mut().reset(deadline);
    }

    /// Writes bytes, or in their place the edge's own answer if they are the library's.
    fn write(
        &mut self,
        context: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        ready!(self.write_own(context))?;
        let mut full = bufs.iter().filter(|buf| !buf.is_empty());
        if let (Some(only), None) = (full.next(), full.next())
            && let Some(answer) = with_body(only, &self.ids)
        {
            self.own = Some((answer, 0));
            self.state.leave_unread();
            return Poll::Ready(Ok(only.len()));
        }
        self.stream.as_mut().poll_write_vectored(context, bufs)
    }

    fn write_own(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        while let Some((answer, written)) = &mut self.own {
            let rest = answer.get(*written..).unwrap_or_default();
            if rest.is_empty() {
                self.own = None;
                break;
            }
            let more = ready!(self.stream.as_mut().poll_write(context, rest))?;
            if more == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            *written = written.saturating_add(more);
        }
        Poll::Ready(Ok(()))
    }
}

impl AsyncRead for ConnectionStream {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let before = buf.filled().len();
        match this.stream.as_mut().poll_read(context, buf) {
            Poll::Pending => this.wait(context),
            Poll::Ready(read) => {
                if buf.filled().len() > before {
                    this.received();
                }
                Poll::Ready(read)
            }
        }
    }
}

impl AsyncWrite for ConnectionStream {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.get_mut().write(context, &[IoSlice::new(buf)])
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.get_mut().write(context, bufs)
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        ready!(this.write_own(context))?;
        ready!(this.stream.as_mut().poll_flush(context))?;
        if this.state.phase() == Phase::Answer {
            this.state.enter(Phase::Idle);
            // Starts the timer: the next read may come only when it has run out.
            let _ = this.wait(context);
        }
        Poll::Ready(Ok(()))
    }

    /// Ends the answer. Then reads what the client still sends, if it may be sending.
    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        if this.closing.is_none() {
            ready!(this.write_own(context))?;
            ready!(this.stream.as_mut().poll_shutdown(context))?;
            if !this.state.is_unread.load(Ordering::Relaxed) {
                return Poll::Ready(Ok(()));
            }
            this.closing = Some(Closing { thrown_away: 0 });
            this.restart(this.patience.linger);
        }
        let Some(closing) = &mut this.closing else {
            return Poll::Ready(Ok(()));
        };
        let mut space = [0_u8; 8 * 1024];
        while closing.thrown_away < MOST_UNREAD_BYTES {
            let mut buf = ReadBuf::new(&mut space);
            match this.stream.as_mut().poll_read(context, &mut buf) {
                Poll::Pending => return this.timer.as_mut().poll(context).map(Ok),
                Poll::Ready(Ok(())) if !buf.filled().is_empty() => {
                    let more = buf.filled().len();
                    closing.thrown_away = closing.thrown_away.saturating_add(more);
                }
                // The client has ended, too.
                Poll::Ready(_) => break,
            }
        }
        Poll::Ready(Ok(()))
    }
}

/// The answer that takes the place of one of the HTTP library's, `None` for any other bytes.
///
/// The library answers a head that it cannot read with a head of its own and no body. Every answer
/// of this edge has the header `x-request-id`.
fn with_body(head: &[u8], ids: &RequestIds) -> Option<Vec<u8>> {
    const NO_BODY: &str = "\r\ncontent-length: 0\r\n";
    if !(head.starts_with(b"HTTP/1.1 4") || head.starts_with(b"HTTP/1.0 4")) {
        return None;
    }
    let head = std::str::from_utf8(head).ok()?;
    let (lines, after) = head.split_once("\r\n\r\n")?;
    let (before, rest) = head.split_once(NO_BODY)?;
    if !after.is_empty() || lines.contains("\r\nx-request-id: ") {
        return None;
    }
    let (status_line, other) = before.split_once("\r\n").unwrap_or((before, ""));
    let refusal = match status_line.get(9..12)? {
        "414" | "431" => Refusal::HeadTooLarge,
        _ => Refusal::Malformed,
    };
    let version = status_line.get(..8)?;
    let status: StatusCode = refusal.status();
    let id = ids.next_id().text();
    let body = refusal.body(&id);
    let length = body.len();
    let other = if other.is_empty() {
        String::new()
    } else {
        format!("{other}\r\n")
    };
    let answer = format!(
        "{version} {status}\r\n{other}content-type: application/json\r\ncache-control: no-store\r\n\
         x-request-id: {id}\r\ncontent-length: {length}\r\n{rest}{body}"
    );
    Some(answer.into_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_answer_of_the_library_gets_a_body() {
        let ids = RequestIds::new();
        let own = "HTTP/1.1 400 Bad Request\r\nconnection: close\r\ncontent-length: 0\r\n\
                   date: Sun, 29 Nov 2026 02:00:00 GMT\r\n\r\n";
        let answer = String::from_utf8(with_body(own.as_bytes(), &ids).unwrap()).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        assert!(
            head.starts_with("HTTP/1.1 400 Bad Request\r\nconnection: close\r\n"),
            "{head}"
        );
        assert!(head.ends_with("GMT") && head.contains(&format!("length: {}", body.len())));
        let error: serde_json::Value = serde_json::from_str(body).unwrap();
        assert_eq!(error["error"]["code"], "invalid_params");
        assert_eq!(error["error"]["reason"], "malformed_request");
        for status in ["431 Request Header Fields Too Large", "414 URI Too Long"] {
            let head = own.replace("400 Bad Request", status);
            let answer = String::from_utf8(with_body(head.as_bytes(), &ids).unwrap()).unwrap();
            assert!(answer.starts_with("HTTP/1.1 431 "), "{answer}");
            assert!(answer.contains("headers_too_large"), "{answer}");
        }
        for other in [
            own.replace("400 Bad Request", "200 OK"),
            own.replace("length: 0", "length: 2"),
            own.replace("date: ", "x-request-id: 1\r\ndate: "),
            format!("{own}x"),
            own.trim_end().to_owned(),
            own.get(1..).unwrap().to_owned(),
            String::new(),
        ] {
            assert_eq!(with_body(other.as_bytes(), &ids), None, "{other}");
        }
    }
}
