//! The machinery that every adapter shares: one upstream with its addresses and keys, asked no more
//! often than it allows, left alone while it fails, and with a record of how it has been doing.

mod ask;
mod breaker;
mod spec;

use std::{fmt, sync::Arc, time::Duration};

use jiff::Timestamp;
use reqwest::header::HeaderMap;
use secrecy::SecretString;
use serde::de::DeserializeOwned;

pub(crate) use self::ask::Ask;
use self::breaker::{Breaker, Permit};
pub use self::spec::{KeyRule, SourceConfig, UpstreamSpec};
use crate::{
    adapter::{USUAL_HOLD, retry_after},
    budget::{
        BudgetState, Gate, QuotaSpec, QuotaState, QuotaStore, QuotaStoreError, Quotas, Rate, Toll,
    },
    error::{SourceError, SourceErrorKind},
    meter::Expense,
    provenance::{Clock, Mode, Provenance, SourceStatus, Sourced},
    text::clean,
    transport::{
        Call, HealthBoard, HealthState, Limits, Media, QUOTED_CHARS, Reply, SourceHealth,
        Transport, TransportError, Upstream,
    },
};

/// Longest time that an upstream can keep itself from being asked.
const MAX_HOLD: Duration = Duration::from_secs(3600);
/// The same when it wants to be paid.
const MAX_UNPAID_HOLD: Duration = Duration::from_secs(24 * 3600);

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
    /// In the order of [`Families::each`](crate::Families::each).
    families: Vec<FamilyState>,
    quotas: Quotas,
    health: HealthBoard,
}

/// What the sources that share a limit have in common.
struct FamilyState {
    gate: Gate,
    breaker: Breaker,
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
        // A recording has no limits.
        let live = config.mode == Mode::Live;
        let family = |(name, rate): (&'static str, Rate)| {
            let name = match name {
                "" => spec.name.to_owned(),
                name => format!("{}.{name}", spec.name),
            };
            let rate = live.then(|| rate.divided(config.servers));
            FamilyState {
                gate: Gate::new(name, rate, clock.clone()),
                breaker: Breaker::default(),
            }
        };
        let addresses = spec.urls.iter().map(|(key, _)| *key);
        let families = spec.families.each(addresses).map(family).collect();
        let quota = QuotaSpec {
            daily: config.daily_quota.unwrap_or(spec.quota.daily),
            monthly: config.monthly_quota.unwrap_or(spec.quota.monthly),
        };
        let quota = if live { quota } else { QuotaSpec::NONE };
        let quotas = Quotas::new(spec.name, quota.divided(config.servers), clock.clone());
        Ok(Self {
            inner: Arc::new(Inner {
                spec,
                upstreams,
                config,
                limits,
                clock,
                families,
                quotas,
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

    /// How each of its sources has been doing, and what is left of the budgets and quotas that they
    /// share. A source with several addresses shows the one of which the least is left.
    pub fn health(&self) -> Vec<SourceHealth> {
        let now = self.now();
        let disabled = self.disabled();
        let quota = self.inner.quotas.state();
        let of = |source: &&'static str| {
            let families = || self.families_of(source);
            let budgets = families().filter_map(|family| family.gate.state());
            let budget = budgets.min_by_key(|budget| budget.left);
            let mut health = self.inner.health.of(source, now).within(budget.as_ref());
            health.quota_left = quota.map(|quota| quota.left);
            health.quota_resets_at = quota.map(|quota| quota.resets_at);
            if families().any(|family| family.gate.is_unpaid()) {
                health.state = HealthState::PaymentRequired;
            }
            if let Some(reason) = disabled {
                health.state = HealthState::Disabled;
                health.reason = Some(reason.to_owned());
            }
            health
        };
        self.inner.spec.sources.iter().map(of).collect()
    }

    /// What is left of the budget of each of its families; nothing for a recording.
    pub fn budget(&self) -> Vec<BudgetState> {
        let families = self.inner.families.iter();
        families.filter_map(|family| family.gate.state()).collect()
    }

    /// What is left of its quota; of two, the one with fewer calls left.
    pub fn quota(&self) -> Option<QuotaState> {
        self.inner.quotas.state()
    }

    /// Keeps the counters of its quotas in `store` from now on, and goes on where they stand there.
    /// Until then they are counted in memory.
    ///
    /// # Errors
    ///
    /// What the store gives. Calls that a quota covers are refused until the store works again.
    pub async fn keep_quotas(&self, store: Arc<dyn QuotaStore>) -> Result<(), QuotaStoreError> {
        self.inner.quotas.keep_in(store).await
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
            weight: 1,
            weigh: None,
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
    /// A disabled upstream, a spent budget or quota, an open circuit and a pause that has not passed
    /// end the call before it is made.
    pub(crate) async fn ask<T, E>(
        &self,
        ask: Ask<'_>,
        read: impl FnOnce(&Reply) -> Result<T, Fault<E>> + Send,
    ) -> Result<Sourced<T>, E>
    where
        E: From<SourceError>,
    {
        let source = ask.source;
        let family = self.family(&ask)?;
        let permit = self.admit(source, family)?;
        let outcome = self.send(&ask, family).await;
        let now = self.now();
        let (reply, latency) = match outcome {
            Ok(reply) => reply,
            // It was not asked: that says nothing of how it is doing.
            Err(kind) if kind.is_kept_back() => return Err(SourceError { source, kind }.into()),
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
                let pause = named.unwrap_or(USUAL_HOLD).min(MAX_HOLD);
                family.gate.hold(pause);
                let retry_after = Some(pause.as_secs().max(1));
                let kind = SourceErrorKind::RateLimited { retry_after };
                Err(self.failed(source, kind, permit).into())
            }
            Err(Fault::Upstream(SourceErrorKind::PaymentRequired { retry_after: named })) => {
                let asked = retry_after(&reply.headers, now);
                let asked = asked.unwrap_or(Duration::from_secs(named));
                let pause = family.gate.hold_unpaid(asked, MAX_UNPAID_HOLD);
                let retry_after = pause.as_secs();
                let kind = SourceErrorKind::PaymentRequired { retry_after };
                Err(self.failed(source, kind, permit).into())
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

    /// The family that a call belongs to.
    fn family(&self, ask: &Ask<'_>) -> Result<&FamilyState, SourceError> {
        let upstreams = &self.inner.upstreams;
        let address = upstreams
            .iter()
            .position(|(key, _)| ask.url.is_none_or(|url| url == *key));
        let family = address.and_then(|address| {
            let place = self.inner.spec.families.of(ask.source, address);
            self.inner.families.get(place)
        });
        family.ok_or(SourceError {
            source: ask.source,
            kind: SourceErrorKind::Unreachable,
        })
    }

    /// The families that a source's calls belong to.
    fn families_of(&self, source: &str) -> impl Iterator<Item = &FamilyState> {
        let addresses = 0..self.inner.upstreams.len();
        let mut places: Vec<usize> = addresses
            .map(|address| self.inner.spec.families.of(source, address))
            .collect();
        places.dedup();
        places
            .into_iter()
            .filter_map(|place| self.inner.families.get(place))
    }

    fn admit<'a>(
        &self,
        source: &'static str,
        family: &'a FamilyState,
    ) -> Result<Permit<'a>, SourceError> {
        let refuse = |kind| SourceError { source, kind };
        if let Some(reason) = self.disabled() {
            return Err(refuse(SourceErrorKind::Disabled { reason }));
        }
        family.gate.held().map_err(refuse)?;
        family.breaker.admit(self.now()).map_err(|left| {
            refuse(SourceErrorKind::CircuitOpen {
                retry_after: left.as_secs().max(1),
            })
        })
    }

    async fn send(
        &self,
        ask: &Ask<'_>,
        family: &FamilyState,
    ) -> Result<(Reply, Duration), SourceErrorKind> {
        let found = self
            .inner
            .upstreams
            .iter()
            .find(|(key, _)| ask.url.is_none_or(|url| url == *key));
        let Some((_, upstream)) = found else {
            return Err(SourceErrorKind::Unreachable);
        };
        let toll = Toll {
            gate: &family.gate,
            quotas: Some(&self.inner.quotas),
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
            weight: ask.weight,
            weigh: ask.weigh,
        };
        let headers = || match &ask.signed {
            Some(sign) => sign().map(|mut signed| {
                signed.extend(ask.headers.clone());
                signed
            }),
            None => Ok(ask.headers.clone()),
        };
        upstream
            .fetch_within(&call, headers, &ask.limits, &toll)
            .await
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
