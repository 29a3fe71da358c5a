//! Calls to one address: tries, the pauses between them, and time limits.
//!
//! Every try pays through the [`Toll`](crate::budget::Toll). The caller interprets
//! the status of an answer.

use std::{
    fmt,
    future::Future,
    time::{Duration, Instant},
};

use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderValue};

use super::{Call, Limits, Reply};
use crate::{budget::Toll, error::SourceErrorKind, meter::Meter};

/// One address of an upstream.
#[derive(Clone)]
pub struct Upstream {
    pub(super) client: reqwest::Client,
    pub(super) base: String,
}

impl Upstream {
    /// The prefix of every request. It may carry a key.
    pub(crate) fn base(&self) -> &str {
        &self.base
    }

    /// Makes `call` within `limits`. `headers` builds the headers of each try, because signatures
    /// carry a time. Returns the last answer, whatever its status; the body of a success has the
    /// expected content type. When the upstream names a pause of at most `waits_out` after a rate
    /// limit, the call waits it out, and the family is held for every caller in that time.
    pub(crate) async fn fetch<H>(
        &self,
        call: &Call<'_>,
        headers: H,
        limits: &Limits,
        waits_out: Option<Duration>,
        toll: &Toll<'_>,
    ) -> Result<(Reply, Duration), SourceErrorKind>
    where
        H: Fn() -> Result<HeaderMap, SourceErrorKind> + Send + Sync,
    {
        let started = Instant::now();
        let tries = self.tries(call, headers, waits_out, limits, toll);
        let reply = within(limits.timeout, tries).await?;
        Ok((reply, started.elapsed()))
    }

    /// Repeats `call` while the connection or the upstream breaks, and while the upstream asks for
    /// pauses of at most `waits_out`. Returns the last outcome, good or bad. Every try pays. When
    /// the first try cannot pay, the call ends with a kind for which
    /// [`SourceErrorKind::is_kept_back`] holds; when a later one cannot pay, the call ends with the
    /// outcome of the try before it.
    async fn tries<H>(
        &self,
        call: &Call<'_>,
        headers: H,
        waits_out: Option<Duration>,
        limits: &Limits,
        toll: &Toll<'_>,
    ) -> Result<Reply, SourceErrorKind>
    where
        H: Fn() -> Result<HeaderMap, SourceErrorKind> + Send + Sync,
    {
        let mut pause = limits.backoff;
        let mut tried = 1;
        let mut paid = toll.pay(call.weight).await?;
        loop {
            let outcome = self.once(call, headers()?, limits).await;
            let failure = match &outcome {
                Ok(reply) => {
                    if let Some(weight) = call.weigh.and_then(|weigh| weigh(reply)) {
                        toll.correct(&paid, weight);
                    }
                    reply.failure()
                }
                Err(kind) => Some(kind.clone()),
            };
            let Some(kind) = failure else { return outcome };
            let last = tried >= limits.attempts;
            match &kind {
                _ if last => return outcome,
                SourceErrorKind::Unreachable => tokio::time::sleep(pause).await,
                SourceErrorKind::HttpStatus { status, .. } if *status >= 500 => {
                    tokio::time::sleep(pause).await;
                }
                SourceErrorKind::RateLimited {
                    retry_after: Some(seconds),
                } => {
                    let asked = Duration::from_secs(*seconds);
                    if waits_out.is_none_or(|longest| asked > longest) {
                        return outcome;
                    }
                    toll.gate.wait_out(asked.max(pause)).await;
                }
                _ => return outcome,
            }
            let Ok(next) = toll.pay(call.weight).await else {
                return outcome;
            };
            paid = next;
            tracing::debug!(
                source = call.source,
                tried,
                reason = kind.code(),
                "trying again"
            );
            tried += 1;
            pause = pause.saturating_mul(2);
        }
    }

    async fn once(
        &self,
        call: &Call<'_>,
        headers: HeaderMap,
        limits: &Limits,
    ) -> Result<Reply, SourceErrorKind> {
        let url = format!("{}{}", self.base, call.path_and_query);
        let request = match call.body {
            Some(body) => self
                .client
                .post(url)
                .header(CONTENT_TYPE, HeaderValue::from_static("application/json"))
                .body(body.to_owned()),
            None => self.client.get(url),
        };
        Meter::count(call.expense);
        let response = request
            .header(ACCEPT, call.media.accept())
            .headers(headers)
            .send()
            .await
            .map_err(|_| SourceErrorKind::Unreachable)?;
        Reply::read(response, limits.max_body_bytes, call.media).await
    }
}

async fn within(
    limit: Duration,
    tries: impl Future<Output = Result<Reply, SourceErrorKind>>,
) -> Result<Reply, SourceErrorKind> {
    let timed_out = SourceErrorKind::Timeout {
        limit_ms: u64::try_from(limit.as_millis()).unwrap_or(u64::MAX),
    };
    tokio::time::timeout(limit, tries)
        .await
        .unwrap_or(Err(timed_out))
}

impl fmt::Debug for Upstream {
    /// Leaves out the address, which may carry a key.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Upstream").finish_non_exhaustive()
    }
}
