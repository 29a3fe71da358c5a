//! Answers that depend on a chain of a test or of the demo, so no recording can have them.

use std::{fmt, sync::Arc};

/// A responder for one host. It answers before the recordings do, for example with Circle's
/// attestations of recent burns. Clones share the same function.
#[derive(Clone)]
pub struct Live {
    host: String,
    answer: Arc<Answer>,
}

type Answer = dyn Fn(&str, &str) -> Option<LiveReply> + Send + Sync;

/// The answer of a [`Live`] responder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LiveReply {
    /// The HTTP status.
    pub status: u16,
    /// The JSON text.
    pub body: String,
}

impl Live {
    /// Makes a responder that calls `answer` for every request to `host`, with the method and with
    /// the path and query. When `answer` returns `None`, the next responder or a recording answers.
    ///
    /// ```
    /// use replay::{Live, LiveReply};
    ///
    /// let live = Live::new("iris-api.circle.com", |_method, path_and_query| {
    ///     path_and_query.starts_with("/v2/messages/").then(|| LiveReply {
    ///         status: 404,
    ///         body: r#"{"code":404,"message":"Message not found"}"#.to_owned(),
    ///     })
    /// });
    /// # let _unused = live;
    /// ```
    pub fn new(
        host: impl Into<String>,
        answer: impl Fn(&str, &str) -> Option<LiveReply> + Send + Sync + 'static,
    ) -> Self {
        Self {
            host: host.into(),
            answer: Arc::new(answer),
        }
    }

    pub(crate) fn answer(
        &self,
        host: &str,
        method: &str,
        path_and_query: &str,
    ) -> Option<LiveReply> {
        (self.host == host)
            .then(|| (self.answer)(method, path_and_query))
            .flatten()
    }
}

impl fmt::Debug for Live {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Live")
            .field("host", &self.host)
            .finish_non_exhaustive()
    }
}
