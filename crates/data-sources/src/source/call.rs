//! Makes a call: the checks before it, and the consequences of its outcome for budgets, pauses,
//! health and metrics. The transport has the tries and the time limits.

use std::time::Duration;

use jiff::Timestamp;
use readings::unreadable;
use reqwest::header::HeaderMap;
use serde::de::DeserializeOwned;

use super::{
    FamilyState, Source,
    ask::{Accepts, Ask},
    breaker::Permit,
};
use crate::{
    budget::Toll,
    error::{SourceError, SourceErrorKind},
    json::read_json,
    meter::Expense,
    probe::{Sent, Witness},
    provenance::{Provenance, SourceStatus, Sourced},
    transport::{Call, Media, Reply, reported, retry_after},
};

/// The metric that counts rows and figures that could not be read and were left out.
const TOLERATED: &str = "svc_upstream_tolerated_total";

/// The reason why a reply gives no value.
#[derive(Debug)]
pub(crate) enum Fault<E> {
    /// The upstream is at fault, or our access to it.
    Upstream(SourceErrorKind),
    /// The upstream did its work and refuses or cannot satisfy the request.
    Answer(E),
}

impl<E> From<SourceErrorKind> for Fault<E> {
    fn from(kind: SourceErrorKind) -> Self {
        Self::Upstream(kind)
    }
}

/// A reply whose status the adapter reads. Its content decides the consequences of the call.
struct Accepted<'a> {
    source: &'static str,
    family: &'a FamilyState,
    permit: Permit<'a>,
    reply: Reply,
    received_at: Timestamp,
    latency: Duration,
}

impl Source {
    /// Starts a GET.
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
            free: false,
            accepts: Accepts::Success,
            limits: self.inner.limits,
        }
    }

    /// Starts a POST that only reads, and may therefore be repeated.
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

    /// Makes the call and reads the reply with `read`, which gets a 2xx or one of the accepted
    /// statuses.
    ///
    /// A disabled upstream, a spent budget or quota, an open circuit, or a running pause ends the
    /// call before it is made.
    pub(crate) async fn ask<T, E>(
        &self,
        ask: Ask<'_>,
        read: impl FnOnce(&Reply) -> Result<T, Fault<E>> + Send,
    ) -> Result<Sourced<T>, E>
    where
        E: From<SourceError>,
    {
        // Each caller compiles this function anew, so the work is in functions without `T`.
        let accepted = self.receive(&ask).await?;
        match self.counting(accepted.source, || read(&accepted.reply)) {
            Ok(value) => Ok(Sourced {
                value,
                sources: vec![self.succeeded(accepted)],
            }),
            Err(Fault::Answer(answer)) => {
                self.succeeded(accepted);
                Err(answer)
            }
            Err(Fault::Upstream(kind)) => Err(self.unusable(accepted, kind).into()),
        }
    }

    /// Makes the call and reads a JSON body of the form `T`. An error names the place.
    pub(crate) async fn json<T, E>(&self, ask: Ask<'_>) -> Result<Sourced<T>, E>
    where
        T: DeserializeOwned,
        E: From<SourceError>,
    {
        self.ask(ask, |reply| Ok(read_json(&reply.body)?)).await
    }

    /// Records that a well-formed answer turned out to be unusable.
    pub(crate) fn reject_response(
        &self,
        source: &'static str,
        kind: SourceErrorKind,
    ) -> SourceError {
        self.inner.health.reject_response(source, self.now(), &kind);
        Witness::fault(source, &kind);
        tracing::warn!(source, %kind, "upstream answer not usable");
        SourceError { source, kind }
    }

    /// Reads an answer of `source`, and counts the unreadable parts that were left out.
    pub(crate) fn counting<T>(&self, source: &'static str, read: impl FnOnce() -> T) -> T {
        let (read, left_out) = unreadable::counting(read);
        self.tolerate(source, left_out);
        read
    }

    fn tolerate(&self, source: &'static str, left_out: u64) {
        if left_out > 0 {
            self.inner.health.tolerated(source, left_out);
            metrics::counter!(TOLERATED, "upstream" => self.inner.spec.name).increment(left_out);
        }
    }

    /// Makes the call, and returns a reply whose status the adapter reads.
    async fn receive(&self, ask: &Ask<'_>) -> Result<Accepted<'_>, SourceError> {
        let source = ask.source;
        let family = self.family(ask)?;
        let permit = self.admit(source, family)?;
        let outcome = self.send(ask, family).await;
        self.witness(ask, &outcome);
        let received_at = self.now();
        let (reply, latency) = match outcome {
            Ok(reply) => reply,
            // The upstream was not asked, which says nothing about its health.
            Err(kind) if kind.is_kept_back() => {
                Witness::fault(source, &kind);
                return Err(SourceError { source, kind });
            }
            Err(kind) => return Err(self.failed(source, kind, permit)),
        };
        if self.inner.spec.conduct.believes_what_is_left
            && let Some(said) = reported(&reply.headers, received_at)
        {
            family.gate.reported(said);
        }
        let accepted = Accepted {
            source,
            family,
            permit,
            reply,
            received_at,
            latency,
        };
        match accepted.reply.failure() {
            Some(kind) if !ask.accepts.includes(accepted.reply.status) => {
                Err(self.unusable(accepted, kind))
            }
            _ => Ok(accepted),
        }
    }

    /// Records that a reply was read. Returns the provenance of its value.
    fn succeeded(&self, accepted: Accepted<'_>) -> Provenance {
        let (source, fetched_at) = (accepted.source, accepted.received_at);
        let latency = accepted.latency;
        accepted.permit.succeeded();
        self.inner.health.succeeded(source, fetched_at, latency);
        Provenance {
            source,
            status: SourceStatus::Ok,
            as_of: None,
            fetched_at,
            latency_ms: u64::try_from(latency.as_millis()).unwrap_or(u64::MAX),
            mode: self.mode(),
            cached: false,
            reference: false,
        }
    }

    /// Records that a reply gives no value. A reply that limits our requests pauses its family.
    fn unusable(&self, accepted: Accepted<'_>, kind: SourceErrorKind) -> SourceError {
        let gate = &accepted.family.gate;
        let named = || retry_after(&accepted.reply.headers, accepted.received_at);
        let kind = match kind {
            SourceErrorKind::RateLimited { retry_after: told } => {
                let named = named().or(told.map(Duration::from_secs));
                let (pause, retry_after) = self.inner.spec.conduct.pause(named);
                gate.hold(pause);
                let retry_after = Some(retry_after);
                SourceErrorKind::RateLimited { retry_after }
            }
            SourceErrorKind::PaymentRequired { retry_after: told } => {
                let asked = named().unwrap_or(Duration::from_secs(told));
                let retry_after = gate.hold_unpaid(asked).as_secs();
                SourceErrorKind::PaymentRequired { retry_after }
            }
            kind => kind,
        };
        self.failed(accepted.source, kind, accepted.permit)
    }

    /// Shows a call to the witness of the running work.
    fn witness(&self, ask: &Ask<'_>, outcome: &Result<(Reply, Duration), SourceErrorKind>) {
        let reply = match outcome {
            Ok((reply, _)) => Some(reply),
            Err(kind) if kind.is_kept_back() => return,
            Err(_) => None,
        };
        let mut upstreams = self.inner.upstreams.iter();
        let found = upstreams.find(|(key, _)| ask.url.is_none_or(|url| url == *key));
        let sent = Sent {
            source: ask.source,
            // The whole address of an endpoint may be a secret.
            base: found.and_then(|(key, upstream)| (!key.is_empty()).then(|| upstream.base())),
            path_and_query: ask.path_and_query,
            body: ask.body,
            keyed: self.inner.config.api_key.is_some(),
        };
        Witness::saw(&sent, reply);
    }

    /// The family of a call.
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

    fn admit<'a>(
        &self,
        source: &'static str,
        family: &'a FamilyState,
    ) -> Result<Permit<'a>, SourceError> {
        let refuse = |kind| {
            Witness::fault(source, &kind);
            SourceError { source, kind }
        };
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
            expense: match self.inner.spec.models && !ask.free {
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
        let waits_out = self.inner.spec.conduct.waits_out;
        upstream
            .fetch(&call, headers, &ask.limits, waits_out, &toll)
            .await
    }

    fn failed(
        &self,
        source: &'static str,
        kind: SourceErrorKind,
        permit: Permit<'_>,
    ) -> SourceError {
        // An upstream that answers at all, even with a refusal, is not down.
        match &kind {
            _ if !self.inner.spec.conduct.breaks_off => permit.succeeded(),
            SourceErrorKind::Timeout { .. } | SourceErrorKind::Unreachable => {
                permit.failed(self.now());
            }
            SourceErrorKind::HttpStatus { status, .. } if *status >= 500 => {
                permit.failed(self.now());
            }
            _ => permit.succeeded(),
        }
        self.inner.health.failed(source, self.now(), &kind);
        Witness::fault(source, &kind);
        tracing::warn!(source, reason = %kind.reason(), "upstream failed");
        SourceError { source, kind }
    }
}
