//! The machinery that every adapter shares: one upstream with its addresses and keys, asked no more
//! often than it allows, left alone while it fails, and with a record of how it has been doing.

mod ask;
mod breaker;
mod spec;

use std::{
    fmt,
    num::NonZeroU32,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use governor::{DefaultDirectRateLimiter, Quota, RateLimiter};
use jiff::Timestamp;
use reqwest::header::HeaderMap;
use secrecy::SecretString;
use serde::de::DeserializeOwned;

pub(crate) use self::ask::Ask;
use self::breaker::{Breaker, Permit};
pub use self::spec::{KeyRule, SourceConfig, UpstreamSpec};
use crate::{
    adapter::retry_after,
    error::{SourceError, SourceErrorKind},
    meter::Expense,
    provenance::{Clock, Mode, Provenance, SourceStatus, Sourced},
    text::clean,
    transport::{
        Call, HealthBoard, HealthState, Limits, Media, QUOTED_CHARS, Reply, SourceHealth,
        Transport, TransportError, Upstream,
    },
};

/// Longest wait for a place in the rate bucket.
const PATIENCE: Duration = Duration::from_millis(800);
/// Longest time that an upstream can keep itself from being asked.
const MAX_HOLD: Duration = Duration::from_secs(3600);
/// How long an upstream is left alone that says "too many" without a time.
const USUAL_HOLD: Duration = Duration::from_secs(15);

/// One upstream of the data routes. Clones share everything.
#[derive(Clone)]
pub struct Source {
    inner: Arc<Inner>,
}

struct Inner {
    spec: &'static UpstreamSpec,
    upstreams: Vec<(&'static str, Upstream)>,
    config: SourceConfig,
    limits: Limits,
    clock: Arc<dyn Clock>,
    bucket: Option<DefaultDirectRateLimiter>,
    breaker: Breaker,
    held_until: Mutex<Option<Timestamp>>,
    health: HealthBoard,
}

/// Why a reply gives no value.
#[derive(Debug)]
pub(crate) enum Fault<E> {
    /// The upstream is at fault, or our access to it.
    Upstream(SourceErrorKind),
    /// The upstream did its work, and this is its answer to the request.
    Answer(E),
}

impl<E> From<SourceErrorKind> for Fault<E> {
    fn from(kind: SourceErrorKind) -> Self {
        Self::Upstream(kind)
    }
}

impl Source {
    /// Connects nothing yet.
    ///
    /// # Errors
    ///
    /// A [`TransportError`] when an address or a key cannot be used.
    pub fn new(
        transport: &Transport,
        spec: &'static UpstreamSpec,
        config: SourceConfig,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, TransportError> {
        let mut limits = spec.limits;
        limits.timeout = config.timeout.unwrap_or(limits.timeout);
        Self::limited(transport, spec, config, limits, clock)
    }

    /// [`Self::new`] with limits that replace those of `spec`.
    pub(crate) fn limited(
        transport: &Transport,
        spec: &'static UpstreamSpec,
        config: SourceConfig,
        limits: Limits,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, TransportError> {
        let upstream = |&(key, public): &(&'static str, &'static str)| {
            let url = config.urls.get(key).map_or(public, String::as_str);
            Ok((key, transport.upstream(url, limits, config.mode)?))
        };
        let upstreams = spec.urls.iter().map(upstream).collect::<Result<_, _>>()?;
        let quota = |(per_minute, burst)| Quota::per_minute(per_minute).allow_burst(burst);
        let bucket = NonZeroU32::new(spec.per_minute)
            .zip(NonZeroU32::new(spec.burst))
            .map(|limits| RateLimiter::direct(quota(limits)));
        Ok(Self {
            inner: Arc::new(Inner {
                spec,
                upstreams,
                config,
                limits,
                clock,
                bucket,
                breaker: Breaker::default(),
                held_until: Mutex::new(None),
                health: HealthBoard::default(),
            }),
        })
    }

    /// What is known of the upstream before it is asked.
    pub fn spec(&self) -> &'static UpstreamSpec {
        self.inner.spec
    }

    /// Whether answers come from the upstream or from a recording.
    pub fn mode(&self) -> Mode {
        self.inner.config.mode
    }

    /// Why it is not asked at all, if it is not.
    pub fn disabled(&self) -> Option<&'static str> {
        let config = &self.inner.config;
        if !config.enabled {
            return Some("switched off in the configuration");
        }
        let keyless = self.inner.spec.key == KeyRule::Required
            && config.api_key.is_none()
            && config.mode == Mode::Live;
        keyless.then_some("no api key")
    }

    /// How each of its sources has been doing.
    pub fn health(&self) -> Vec<SourceHealth> {
        let now = self.now();
        let disabled = self.disabled();
        let of = |source: &&'static str| {
            let mut health = self.inner.health.of(source, now);
            if let Some(reason) = disabled {
                health.state = HealthState::Disabled;
                health.reason = Some(reason.to_owned());
            }
            health
        };
        self.inner.spec.sources.iter().map(of).collect()
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.inner.clock.now()
    }

    pub(crate) fn clock(&self) -> Arc<dyn Clock> {
        self.inner.clock.clone()
    }

    /// The key, if there is one.
    pub(crate) fn api_key(&self) -> Option<&SecretString> {
        self.inner.config.api_key.as_ref()
    }

    /// What the operator chose under `key`.
    pub(crate) fn option(&self, key: &str) -> Option<&str> {
        self.inner.config.options.get(key).map(String::as_str)
    }

    pub(crate) fn secret_key(&self) -> Option<&SecretString> {
        self.inner.config.secret_key.as_ref()
    }

    /// The beginning of a GET.
    pub(crate) fn get<'a>(&self, source: &'static str, path_and_query: &'a str) -> Ask<'a> {
        Ask {
            source,
            url: None,
            path_and_query,
            body: None,
            headers: HeaderMap::new(),
            signed: None,
            media: Media::Json,
            cost: 1,
            follows_up: false,
            accepts: &[],
            limits: self.inner.limits,
        }
    }

    /// The beginning of a POST that only asks, and may therefore be repeated.
    pub(crate) fn post<'a>(
        &self,
        source: &'static str,
        path_and_query: &'a str,
        body: &'a str,
    ) -> Ask<'a> {
        Ask {
            body: Some(body),
            ..self.get(source, path_and_query)
        }
    }

    /// Makes `ask` and reads the reply with `read`, which sees a 2xx or one of the statuses that
    /// the call accepts.
    ///
    /// A disabled upstream, an empty rate bucket, an open circuit and a rate limit that has not
    /// passed end the call before it is made.
    pub(crate) async fn ask<T, E>(
        &self,
        ask: Ask<'_>,
        read: impl FnOnce(&Reply) -> Result<T, Fault<E>> + Send,
    ) -> Result<Sourced<T>, E>
    where
        E: From<SourceError>,
    {
        let source = ask.source;
        let permit = self.admit(source, ask.cost).await?;
        let outcome = self.send(&ask).await;
        let now = self.now();
        let (reply, latency) = match outcome {
            Ok(reply) => reply,
            Err(kind) => return Err(self.failed(source, kind, permit).into()),
        };
        let accepted = reply.status.is_success() || ask.accepts.contains(&reply.status.as_u16());
        let read = match reply.failure() {
            Some(kind) if !accepted => Err(Fault::Upstream(kind)),
            _ => read(&reply),
        };
        match read {
            Ok(value) => {
                permit.succeeded();
                self.inner.health.succeeded(source, now, latency);
                let provenance = Provenance {
                    source,
                    status: SourceStatus::Ok,
                    as_of: None,
                    fetched_at: now,
                    latency_ms: u64::try_from(latency.as_millis()).unwrap_or(u64::MAX),
                    mode: self.mode(),
                    cached: false,
                    reference: false,
                };
                Ok(Sourced {
                    value,
                    sources: vec![provenance],
                })
            }
            Err(Fault::Answer(answer)) => {
                permit.succeeded();
                self.inner.health.succeeded(source, now, latency);
                Err(answer)
            }
            Err(Fault::Upstream(SourceErrorKind::RateLimited { retry_after: named })) => {
                let named = retry_after(&reply.headers, now).or(named.map(Duration::from_secs));
                Err(self.held_off(source, named, permit).into())
            }
            Err(Fault::Upstream(kind)) => Err(self.failed(source, kind, permit).into()),
        }
    }

    /// Makes `ask` and reads a JSON body of the form `T`; what does not fit is named by its place.
    pub(crate) async fn json<T, E>(&self, ask: Ask<'_>) -> Result<Sourced<T>, E>
    where
        T: DeserializeOwned,
        E: From<SourceError>,
    {
        self.ask(ask, |reply| Ok(read_json(&reply.body)?)).await
    }

    /// Records that an answer which was fine in its form turned out to be unusable.
    pub(crate) fn spoiled(&self, source: &'static str, kind: SourceErrorKind) -> SourceError {
        self.inner.health.spoiled(source, self.now(), &kind);
        tracing::warn!(source, %kind, "upstream answer not usable");
        SourceError { source, kind }
    }

    async fn admit(&self, source: &'static str, cost: u32) -> Result<Permit<'_>, SourceError> {
        let refuse = |kind| SourceError { source, kind };
        if let Some(reason) = self.disabled() {
            return Err(refuse(SourceErrorKind::Disabled { reason }));
        }
        if let Some(left) = self.held() {
            let retry_after = Some(left.as_secs().max(1));
            return Err(refuse(SourceErrorKind::RateLimited { retry_after }));
        }
        let permit = self.inner.breaker.admit(self.now()).map_err(|left| {
            refuse(SourceErrorKind::CircuitOpen {
                retry_after: left.as_secs().max(1),
            })
        })?;
        if let (Some(bucket), Some(cost)) = (&self.inner.bucket, NonZeroU32::new(cost)) {
            let place = tokio::time::timeout(PATIENCE, bucket.until_n_ready(cost));
            if !matches!(place.await, Ok(Ok(()))) {
                let retry_after = Some(5);
                return Err(refuse(SourceErrorKind::RateLimited { retry_after }));
            }
        }
        Ok(permit)
    }

    async fn send(&self, ask: &Ask<'_>) -> Result<(Reply, Duration), SourceErrorKind> {
        let found = self
            .inner
            .upstreams
            .iter()
            .find(|(key, _)| ask.url.is_none_or(|url| url == *key));
        let Some((_, upstream)) = found else {
            return Err(SourceErrorKind::Unreachable);
        };
        let call = Call {
            source: ask.source,
            path_and_query: ask.path_and_query,
            body: ask.body,
            media: ask.media,
            expense: match self.inner.spec.models && !ask.follows_up {
                true => Expense::Model,
                false => Expense::Data,
            },
        };
        let headers = || match &ask.signed {
            Some(sign) => sign().map(|mut signed| {
                signed.extend(ask.headers.clone());
                signed
            }),
            None => Ok(ask.headers.clone()),
        };
        upstream.fetch_within(&call, headers, &ask.limits).await
    }

    fn failed(
        &self,
        source: &'static str,
        kind: SourceErrorKind,
        permit: Permit<'_>,
    ) -> SourceError {
        // What answers, if only with nonsense or a refusal, is not down.
        match &kind {
            SourceErrorKind::Timeout { .. } | SourceErrorKind::Unreachable => {
                permit.failed(self.now());
            }
            SourceErrorKind::HttpStatus { status, .. } if *status >= 500 => {
                permit.failed(self.now());
            }
            _ => permit.succeeded(),
        }
        self.inner.health.failed(source, self.now(), &kind);
        tracing::warn!(source, reason = %kind.reason(), "upstream failed");
        SourceError { source, kind }
    }

    fn held_off(
        &self,
        source: &'static str,
        named: Option<Duration>,
        permit: Permit<'_>,
    ) -> SourceError {
        let pause = named.unwrap_or(USUAL_HOLD).min(MAX_HOLD);
        let until = self.now().checked_add(pause).ok();
        let mut held = self
            .inner
            .held_until
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        *held = until.max(*held);
        drop(held);
        let retry_after = Some(pause.as_secs().max(1));
        self.failed(source, SourceErrorKind::RateLimited { retry_after }, permit)
    }

    /// What is left of the time in which the upstream does not want to be asked.
    fn held(&self) -> Option<Duration> {
        let until = (*self
            .inner
            .held_until
            .lock()
            .unwrap_or_else(PoisonError::into_inner))?;
        let left = Duration::try_from(until.duration_since(self.now())).ok()?;
        (!left.is_zero() && left <= MAX_HOLD).then_some(left)
    }
}

/// Reads a JSON body of the form `T`; what does not fit is named by its place.
pub(crate) fn read_json<T: DeserializeOwned>(body: &[u8]) -> Result<T, SourceErrorKind> {
    let mut reader = serde_json::Deserializer::from_slice(body);
    let value = serde_path_to_error::deserialize(&mut reader).map_err(|error| {
        SourceErrorKind::Malformed {
            path: format!("$.{}", error.path()),
            expected: "the documented form",
            observed: clean(&error.inner().to_string(), QUOTED_CHARS),
        }
    })?;
    reader.end().map_err(|error| SourceErrorKind::Malformed {
        path: "$".to_owned(),
        expected: "one document",
        observed: clean(&error.to_string(), QUOTED_CHARS),
    })?;
    Ok(value)
}

impl fmt::Debug for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Source")
            .field("name", &self.inner.spec.name)
            .field("mode", &self.mode())
            .finish_non_exhaustive()
    }
}

/// Declares an adapter over a [`Source`]: its type, its [`UpstreamSpec`] and its constructor.
macro_rules! upstream {
    ($(#[$doc:meta])* $name:ident, $spec:expr) => {
        $(#[$doc])*
        #[derive(Clone, Debug)]
        pub struct $name {
            source: $crate::source::Source,
        }

        impl $name {
            /// What is known of it before it is asked.
            pub const SPEC: &'static $crate::source::UpstreamSpec = &$spec;

            /// Connects nothing yet.
            ///
            /// # Errors
            ///
            /// A [`TransportError`](crate::transport::TransportError) when an address cannot be used.
            pub fn new(
                transport: &$crate::transport::Transport,
                config: $crate::source::SourceConfig,
                clock: std::sync::Arc<dyn $crate::Clock>,
            ) -> Result<Self, $crate::transport::TransportError> {
                let source = $crate::source::Source::new(transport, Self::SPEC, config, clock)?;
                Ok(Self { source })
            }

            /// The upstream behind it.
            pub fn source(&self) -> &$crate::source::Source {
                &self.source
            }
        }
    };
}
pub(crate) use upstream;
