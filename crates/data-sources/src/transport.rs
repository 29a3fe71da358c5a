//! One careful HTTP client for every upstream: no redirects, bounded time, bounded bodies, JSON
//! only.

mod health;
mod reply;

use std::{
    fmt,
    future::Future,
    sync::Arc,
    time::{Duration, Instant},
};

use reqwest::{
    Url,
    header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderValue},
    redirect::Policy,
};

pub use self::health::{HealthState, SourceHealth};
pub(crate) use self::{
    health::HealthBoard,
    reply::{Media, Reply, not_json},
};
use crate::{
    budget::Toll,
    error::SourceErrorKind,
    meter::{Expense, Meter},
    provenance::Mode,
};

/// Upstream text quoted in an error is cut to this many characters.
pub(crate) const QUOTED_CHARS: usize = 160;

/// The HTTP client that all upstreams of a process share.
#[derive(Clone, Debug)]
pub struct Transport {
    client: reqwest::Client,
}

impl Transport {
    /// Builds the client: no redirects (an answer comes from the host that was asked or not at
    /// all), no cookies, gzip, no `Referer`.
    ///
    /// # Errors
    ///
    /// [`TransportError`] when the TLS backend cannot be initialised.
    pub fn new() -> Result<Self, TransportError> {
        reqwest::Client::builder()
            .redirect(Policy::none())
            .referer(false)
            .user_agent(concat!("data-sources/", env!("CARGO_PKG_VERSION")))
            .build()
            .map(|client| Self { client })
            .map_err(|_| TransportError::Client)
    }

    /// One upstream over this client. `base_url` is the prefix of every request.
    ///
    /// # Errors
    ///
    /// [`TransportError::BaseUrl`] when `base_url` is not an absolute `http` or `https` URL without
    /// query and fragment.
    pub fn upstream(
        &self,
        base_url: &str,
        limits: Limits,
        mode: Mode,
    ) -> Result<Upstream, TransportError> {
        let base = absolute(base_url)?;
        let prefix =
            base.query().is_none() && base.username().is_empty() && base.password().is_none();
        if !prefix {
            return Err(TransportError::BaseUrl);
        }
        Ok(self.over(base.as_str().trim_end_matches('/'), limits, mode))
    }

    /// One endpoint over this client: `url` is the whole address, and may carry a key.
    ///
    /// # Errors
    ///
    /// [`TransportError::BaseUrl`] when `url` is not an absolute `http` or `https` URL without
    /// fragment.
    pub(crate) fn endpoint(
        &self,
        url: &str,
        limits: Limits,
        mode: Mode,
    ) -> Result<Upstream, TransportError> {
        Ok(self.over(absolute(url)?.as_str(), limits, mode))
    }

    fn over(&self, base: &str, limits: Limits, mode: Mode) -> Upstream {
        Upstream {
            client: self.client.clone(),
            base: base.to_owned(),
            limits,
            mode,
            health: Arc::default(),
        }
    }
}

fn absolute(url: &str) -> Result<Url, TransportError> {
    Url::parse(url)
        .ok()
        .filter(|url| matches!(url.scheme(), "http" | "https"))
        .filter(|url| url.host_str().is_some() && url.fragment().is_none())
        .ok_or(TransportError::BaseUrl)
}

/// A transport that could not be set up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TransportError {
    /// The HTTP client could not be built.
    #[error("the http client cannot be built")]
    Client,
    /// The base URL cannot be used.
    #[error("base_url is not an absolute http or https url without user, query and fragment")]
    BaseUrl,
    /// A key cannot be sent in a header.
    #[error("a key contains characters that no header may")]
    Key,
}

impl TransportError {
    /// Stable code of this error.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Client => "http_client_unusable",
            Self::BaseUrl => "base_url_invalid",
            Self::Key => "key_invalid",
        }
    }
}

/// How long, how much and how often one upstream is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Time for a whole call, retries and pauses included.
    pub timeout: Duration,
    /// Largest body, after decompression, in bytes.
    pub max_body_bytes: usize,
    /// Tries of one call; every call of this crate is idempotent.
    pub attempts: u32,
    /// Pause before the second try; doubled for each further one.
    pub backoff: Duration,
    /// Longest `Retry-After` that is waited for; a longer one ends the call as rate limited.
    pub retry_after_cap: Duration,
}

impl Limits {
    /// 4 s, 2 MiB, three tries from 100 ms, `Retry-After` up to 1 s.
    pub const USUAL: Self = Self {
        timeout: Duration::from_secs(4),
        max_body_bytes: 2 * 1024 * 1024,
        attempts: 3,
        backoff: Duration::from_millis(100),
        retry_after_cap: Duration::from_secs(1),
    };

    /// The same with another time.
    #[must_use]
    pub const fn within_seconds(self, seconds: u64) -> Self {
        Self {
            timeout: Duration::from_secs(seconds),
            ..self
        }
    }

    /// The same with another largest body.
    #[must_use]
    pub const fn up_to_bytes(self, max_body_bytes: usize) -> Self {
        Self {
            max_body_bytes,
            ..self
        }
    }
}

impl Default for Limits {
    /// [`Limits::USUAL`].
    fn default() -> Self {
        Self::USUAL
    }
}

/// One upstream: where it is, what it may cost, and how it has been doing.
#[derive(Clone)]
pub struct Upstream {
    client: reqwest::Client,
    base: String,
    limits: Limits,
    mode: Mode,
    health: Arc<HealthBoard>,
}

/// An idempotent call: a GET without a body or a POST that only asks.
pub(crate) struct Call<'a> {
    /// Source id, for example `okx.swap`.
    pub(crate) source: &'static str,
    /// Path with query, from the root of the interface, exactly as it is sent and signed.
    pub(crate) path_and_query: &'a str,
    /// JSON body of a POST; a GET has none.
    pub(crate) body: Option<&'a str>,
    /// What the answer must be.
    pub(crate) media: Media,
    /// What a request counts as.
    pub(crate) expense: Expense,
    /// Weight of a request, the most that it can have; a request without weight takes nothing of a
    /// budget.
    pub(crate) weight: u32,
    /// What a request weighed, as its reply shows.
    pub(crate) weigh: Option<Weigh>,
}

/// The weight of a request that a reply shows; `None` when it shows none.
pub(crate) type Weigh = fn(&Reply) -> Option<u32>;

impl<'a> Call<'a> {
    /// A GET of JSON.
    pub(crate) fn get(source: &'static str, path_and_query: &'a str) -> Self {
        Self {
            source,
            path_and_query,
            body: None,
            media: Media::Json,
            expense: Expense::Data,
            weight: 1,
            weigh: None,
        }
    }

    /// A POST of JSON that only asks.
    pub(crate) fn post(source: &'static str, path_and_query: &'a str, body: &'a str) -> Self {
        Self {
            body: Some(body),
            ..Self::get(source, path_and_query)
        }
    }

    /// The same with another weight.
    pub(crate) fn weighing(self, weight: u32) -> Self {
        Self { weight, ..self }
    }
}

impl Upstream {
    /// Where this upstream's answers come from.
    pub fn mode(&self) -> Mode {
        self.mode
    }

    pub(crate) fn health(&self) -> &HealthBoard {
        &self.health
    }

    /// Makes `call` and gives whatever came back, with any status; a rate limit is never waited
    /// for. The body of a success called itself what was asked for.
    pub(crate) async fn fetch(
        &self,
        call: &Call<'_>,
        headers: &HeaderMap,
        toll: &Toll<'_>,
    ) -> Result<(Reply, Duration), SourceErrorKind> {
        let started = Instant::now();
        let tries = self.tries(call, || Ok(headers.clone()), None, &self.limits, toll);
        let reply = within(self.limits.timeout, tries).await?;
        Ok((reply, started.elapsed()))
    }

    /// Makes `call` within `limits`, with the headers that `headers` gives for each try (signatures
    /// carry a time), and gives whatever came back. A short rate limit is waited for when the
    /// upstream says how long it is.
    pub(crate) async fn fetch_within<H>(
        &self,
        call: &Call<'_>,
        headers: H,
        limits: &Limits,
        toll: &Toll<'_>,
    ) -> Result<(Reply, Duration), SourceErrorKind>
    where
        H: Fn() -> Result<HeaderMap, SourceErrorKind> + Send + Sync,
    {
        let started = Instant::now();
        let cap = Some(limits.retry_after_cap);
        let tries = self.tries(call, headers, cap, limits, toll);
        let reply = within(limits.timeout, tries).await?;
        Ok((reply, started.elapsed()))
    }

    /// Repeats `call` while the connection or the upstream breaks, and while it asks for pauses of
    /// at most `rate_limit_cap`. The last outcome is given, good or bad. Every try pays: the call ends
    /// with a kind for which [`SourceErrorKind::is_kept_back`] holds when the first one cannot, and
    /// with the outcome of the one before when a later one cannot.
    async fn tries<H>(
        &self,
        call: &Call<'_>,
        headers: H,
        rate_limit_cap: Option<Duration>,
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
            let wait = match &kind {
                SourceErrorKind::Unreachable => Some(pause),
                SourceErrorKind::HttpStatus { status, .. } if *status >= 500 => Some(pause),
                SourceErrorKind::RateLimited { retry_after } => {
                    let asked = retry_after.map(Duration::from_secs);
                    let asked =
                        asked.filter(|asked| rate_limit_cap.is_some_and(|cap| *asked <= cap));
                    asked.map(|asked| asked.max(pause))
                }
                _ => None,
            };
            match wait {
                Some(wait) if tried < limits.attempts => tokio::time::sleep(wait).await,
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
    /// Without the address, which may carry a key.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Upstream")
            .field("limits", &self.limits)
            .field("mode", &self.mode)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base_urls_are_absolute_and_carry_no_secret() {
        let transport = Transport::new().unwrap();
        let parsed = |url: &str| transport.upstream(url, Limits::default(), Mode::Live);
        assert_eq!(
            parsed("https://web3.okx.com/").unwrap().base,
            "https://web3.okx.com"
        );
        assert_eq!(
            parsed("http://127.0.0.1:1/web3.okx.com").unwrap().base,
            "http://127.0.0.1:1/web3.okx.com"
        );
        for bad in [
            "web3.okx.com",
            "ftp://a",
            "https://a?k=1",
            "https://a#f",
            "https://u:p@a",
            "data:,x",
        ] {
            assert_eq!(parsed(bad).err(), Some(TransportError::BaseUrl), "{bad}");
        }
    }

    #[test]
    fn an_endpoint_may_carry_a_key_that_is_never_printed() {
        let transport = Transport::new().unwrap();
        let url = "https://user:password@node.example/v3/secret?apikey=hidden";
        let endpoint = transport
            .endpoint(url, Limits::default(), Mode::Live)
            .unwrap();
        assert_eq!(endpoint.base, url);
        let printed = format!("{endpoint:?}");
        assert!(
            !["password", "secret", "hidden", "node"]
                .iter()
                .any(|word| printed.contains(word))
        );
        for bad in [
            "node.example",
            "ws://node.example",
            "https://node.example#f",
            "",
        ] {
            let refused = transport.endpoint(bad, Limits::default(), Mode::Live);
            assert_eq!(refused.err(), Some(TransportError::BaseUrl), "{bad}");
        }
    }
}
