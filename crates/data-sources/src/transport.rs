//! One careful HTTP client for every upstream: no redirects, bounded time, bounded bodies, JSON
//! only.

mod health;

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use reqwest::{
    StatusCode, Url,
    header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderValue, RETRY_AFTER},
    redirect::Policy,
};
use serde_json::Value;

pub(crate) use self::health::HealthBoard;
pub use self::health::{HealthState, SourceHealth};
use crate::{
    error::{SourceError, SourceErrorKind},
    provenance::Mode,
    text::clean,
};

/// Upstream text quoted in an error is cut to this many characters.
pub(crate) const QUOTED_CHARS: usize = 160;
/// What is read of an error answer to find its code.
const ERROR_BODY_BYTES: usize = 16 * 1024;

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

    /// One upstream over this client.
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
        let base = Url::parse(base_url).map_err(|_| TransportError::BaseUrl)?;
        let usable = matches!(base.scheme(), "http" | "https")
            && base.host_str().is_some()
            && base.query().is_none()
            && base.fragment().is_none()
            && base.username().is_empty()
            && base.password().is_none();
        if !usable {
            return Err(TransportError::BaseUrl);
        }
        let base = base.as_str().trim_end_matches('/').to_owned();
        Ok(Upstream {
            client: self.client.clone(),
            base,
            limits,
            mode,
            health: Arc::default(),
        })
    }
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
}

impl TransportError {
    /// Stable code of this error.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Client => "http_client_unusable",
            Self::BaseUrl => "base_url_invalid",
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

impl Default for Limits {
    /// 4 s, 2 MiB, three tries from 100 ms, `Retry-After` up to 1 s.
    fn default() -> Self {
        Self {
            timeout: Duration::from_secs(4),
            max_body_bytes: 2 * 1024 * 1024,
            attempts: 3,
            backoff: Duration::from_millis(100),
            retry_after_cap: Duration::from_secs(1),
        }
    }
}

/// One upstream: where it is, what it may cost, and how it has been doing.
#[derive(Clone, Debug)]
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
}

impl Call<'_> {
    pub(crate) fn method(&self) -> &'static str {
        if self.body.is_some() { "POST" } else { "GET" }
    }
}

/// A complete JSON answer.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) json: Value,
    pub(crate) latency: Duration,
}

impl Upstream {
    /// Where this upstream's answers come from.
    pub fn mode(&self) -> Mode {
        self.mode
    }

    pub(crate) fn health(&self) -> &HealthBoard {
        &self.health
    }

    /// Makes `call`, with the headers that `headers` gives for each try (signatures carry a time).
    pub(crate) async fn call<H>(&self, call: &Call<'_>, headers: H) -> Result<Answer, SourceError>
    where
        H: Fn() -> Result<HeaderMap, SourceErrorKind> + Send + Sync,
    {
        let started = Instant::now();
        let outcome = tokio::time::timeout(self.limits.timeout, self.tries(call, headers)).await;
        let latency = started.elapsed();
        match outcome {
            Ok(Ok(json)) => Ok(Answer { json, latency }),
            Ok(Err(kind)) => Err(SourceError {
                source: call.source,
                kind,
            }),
            Err(_) => Err(SourceError {
                source: call.source,
                kind: self.timed_out(),
            }),
        }
    }

    async fn tries<H>(&self, call: &Call<'_>, headers: H) -> Result<Value, SourceErrorKind>
    where
        H: Fn() -> Result<HeaderMap, SourceErrorKind> + Send + Sync,
    {
        let mut pause = self.limits.backoff;
        let mut tried = 1;
        loop {
            let kind = match self.once(call, headers()?).await {
                Ok(json) => return Ok(json),
                Err(kind) => kind,
            };
            let wait = match &kind {
                SourceErrorKind::Unreachable => Some(pause),
                SourceErrorKind::HttpStatus { status, .. } if *status >= 500 => Some(pause),
                SourceErrorKind::RateLimited { retry_after } => {
                    Some(retry_after.map_or(pause, Duration::from_secs))
                        .filter(|wait| *wait <= self.limits.retry_after_cap)
                }
                _ => None,
            };
            match wait {
                Some(wait) if tried < self.limits.attempts => tokio::time::sleep(wait).await,
                _ => return Err(kind),
            }
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

    async fn once(&self, call: &Call<'_>, headers: HeaderMap) -> Result<Value, SourceErrorKind> {
        let url = format!("{}{}", self.base, call.path_and_query);
        let request = match call.body {
            Some(body) => self
                .client
                .post(url)
                .header(CONTENT_TYPE, HeaderValue::from_static("application/json"))
                .body(body.to_owned()),
            None => self.client.get(url),
        };
        let response = request
            .header(ACCEPT, HeaderValue::from_static("application/json"))
            .headers(headers)
            .send()
            .await
            .map_err(|_| SourceErrorKind::Unreachable)?;
        let status = response.status();
        if status == StatusCode::TOO_MANY_REQUESTS {
            let retry_after = response
                .headers()
                .get(RETRY_AFTER)
                .and_then(|value| value.to_str().ok())
                .and_then(|value| value.trim().parse().ok());
            return Err(SourceErrorKind::RateLimited { retry_after });
        }
        if !status.is_success() {
            let code = match json_type(response.headers()) {
                Ok(()) => read(response, ERROR_BODY_BYTES)
                    .await
                    .ok()
                    .and_then(|body| code_of(&body)),
                Err(_) => None,
            };
            return Err(SourceErrorKind::HttpStatus {
                status: status.as_u16(),
                code,
            });
        }
        json_type(response.headers())?;
        let body = read(response, self.limits.max_body_bytes).await?;
        serde_json::from_slice(&body).map_err(|error| SourceErrorKind::Malformed {
            path: String::new(),
            expected: "a json document",
            observed: clean(&error.to_string(), QUOTED_CHARS),
        })
    }

    fn timed_out(&self) -> SourceErrorKind {
        SourceErrorKind::Timeout {
            limit_ms: u64::try_from(self.limits.timeout.as_millis()).unwrap_or(u64::MAX),
        }
    }
}

/// Refuses a body that does not call itself JSON, before a byte of it is parsed.
fn json_type(headers: &HeaderMap) -> Result<(), SourceErrorKind> {
    let observed = headers
        .get(CONTENT_TYPE)
        .and_then(|value| value.to_str().ok())
        .unwrap_or("");
    let essence = observed
        .split(';')
        .next()
        .unwrap_or("")
        .trim()
        .to_ascii_lowercase();
    let json = essence == "application/json"
        || (essence.starts_with("application/") && essence.ends_with("+json"));
    if json {
        return Ok(());
    }
    Err(SourceErrorKind::WrongContentType {
        observed: clean(observed, QUOTED_CHARS),
    })
}

/// Reads a body of at most `limit` bytes; a longer one is dropped with its connection.
async fn read(mut response: reqwest::Response, limit: usize) -> Result<Vec<u8>, SourceErrorKind> {
    let announced = response
        .content_length()
        .and_then(|length| usize::try_from(length).ok());
    if announced.is_some_and(|length| length > limit) {
        return Err(SourceErrorKind::TooLarge { limit });
    }
    let mut body = Vec::with_capacity(announced.unwrap_or(0));
    while let Some(chunk) = response
        .chunk()
        .await
        .map_err(|_| SourceErrorKind::Unreachable)?
    {
        if body.len().saturating_add(chunk.len()) > limit {
            return Err(SourceErrorKind::TooLarge { limit });
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body)
}

/// The `code` member of an error body, when it looks like one.
fn code_of(body: &[u8]) -> Option<String> {
    let json: Value = serde_json::from_slice(body).ok()?;
    let code = match json.get("code")? {
        Value::String(code) => code.clone(),
        Value::Number(code) => code.to_string(),
        _ => return None,
    };
    (code.len() <= 16 && !code.is_empty() && code.bytes().all(|b| b.is_ascii_alphanumeric()))
        .then_some(code)
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
    fn only_json_counts_as_json() {
        let of = |value: &'static str| {
            json_type(&HeaderMap::from_iter([(
                CONTENT_TYPE,
                HeaderValue::from_static(value),
            )]))
            .is_ok()
        };
        assert!(
            of("application/json;charset=UTF-8")
                && of("Application/JSON")
                && of("application/problem+json")
        );
        assert!(!of("text/html") && !of("text/json-ish") && !of("application/jsonp") && !of(""));
        assert!(json_type(&HeaderMap::new()).is_err());
    }

    #[test]
    fn codes_are_short_and_plain() {
        assert_eq!(code_of(br#"{"code":"50113"}"#).as_deref(), Some("50113"));
        assert_eq!(code_of(br#"{"code":50026}"#).as_deref(), Some("50026"));
        assert_eq!(code_of(br#"{"code":"<script>alert(1)</script>"}"#), None);
        assert_eq!(code_of(br#"{"code":null}"#), None);
    }
}
