//! What the adapters of the agent rail share: one call, its outcome on the health board, and the
//! reason in the words of the port.

use std::{num::NonZeroU32, sync::Arc, time::Duration};

use jiff::{Timestamp, fmt::rfc2822};
use plan_builder::ports::{PortError, PortErrorReason};
use plan_checks::UtcSeconds;
use reqwest::{
    StatusCode,
    header::{HeaderMap, RETRY_AFTER},
};

use crate::{
    budget::{BudgetState, Gate, Rate, Reported, Toll},
    error::{SourceError, SourceErrorKind},
    provenance::{Clock, Mode},
    transport::{Call, HealthState, Reply, SourceHealth, Upstream},
};

/// The rate-limit headers of the HTTP working group's draft.
const RATE_LIMIT_RESET: &str = "ratelimit-reset";
const RATE_LIMIT_REMAINING: &str = "ratelimit-remaining";
/// Longest time that an upstream can keep itself from being asked.
const MAX_HOLD: Duration = Duration::from_secs(2 * 3600);
/// The same when it wants to be paid.
const MAX_UNPAID_HOLD: Duration = Duration::from_secs(24 * 3600);
/// How long an upstream is left alone that says "too many" without a time.
pub(crate) const USUAL_HOLD: Duration = Duration::from_secs(15);

/// One upstream behind a port.
#[derive(Debug)]
pub(crate) struct Adapter {
    upstream: Upstream,
    setting: Setting,
    gate: Gate,
}

/// How a port is set up.
pub(crate) struct Setting {
    /// Name of the upstream in a configuration.
    pub(crate) name: &'static str,
    /// Whether it may be asked at all.
    pub(crate) enabled: bool,
    /// How much of it we allow ourselves, and how many servers share that; `None` is no budget.
    pub(crate) budget: Option<(Rate, NonZeroU32)>,
    /// Least time for which it is left alone that says "too many", whatever else it says.
    pub(crate) lockout: Duration,
    /// How long it is left alone when it says "too many" without a time.
    pub(crate) usual_hold: Duration,
    /// The time.
    pub(crate) clock: Arc<dyn Clock>,
}

impl std::fmt::Debug for Setting {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Setting")
            .field("name", &self.name)
            .field("enabled", &self.enabled)
            .field("budget", &self.budget)
            .field("lockout", &self.lockout)
            .finish_non_exhaustive()
    }
}

/// Why a reply gives no value.
#[derive(Debug)]
pub(crate) enum Fault {
    /// The upstream is at fault, or our access to it.
    Upstream(SourceErrorKind),
    /// The upstream did its work, and this is its answer to the request.
    Answer(PortErrorReason),
}

impl From<SourceErrorKind> for Fault {
    fn from(kind: SourceErrorKind) -> Self {
        Self::Upstream(kind)
    }
}

impl Fault {
    /// The same in the words of the port.
    pub(crate) fn into_reason(self, source: &'static str) -> PortErrorReason {
        match self {
            Self::Upstream(kind) => reason(source, &kind),
            Self::Answer(reason) => reason,
        }
    }
}

impl Adapter {
    pub(crate) fn new(upstream: Upstream, family: &str, setting: Setting) -> Self {
        // A recording has no limits.
        let live = upstream.mode() == Mode::Live;
        let budget = setting.budget.filter(|_| live);
        let rate = budget.map(|(rate, servers)| rate.divided(servers));
        Self {
            gate: Gate::new(family.to_owned(), rate, setting.clock.clone()),
            upstream,
            setting,
        }
    }

    /// What is left of its budget; `None` without one, and for a recording.
    pub(crate) fn budget(&self) -> Option<BudgetState> {
        self.gate.state()
    }

    pub(crate) fn mode(&self) -> Mode {
        self.upstream.mode()
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.setting.clock.now()
    }

    pub(crate) fn now_utc(&self) -> UtcSeconds {
        UtcSeconds::from_unix(u64::try_from(self.now().as_second()).unwrap_or(0))
    }

    /// How `sources` of this upstream have been doing.
    pub(crate) fn health(&self, sources: &[&'static str]) -> Vec<SourceHealth> {
        let now = self.now();
        let budget = self.gate.state();
        let of = |source: &&'static str| {
            let mut health = self
                .upstream
                .health()
                .of(source, now)
                .within(budget.as_ref());
            if self.gate.is_unpaid() {
                health.state = HealthState::PaymentRequired;
            }
            if !self.setting.enabled {
                health.state = HealthState::Disabled;
                health.reason = Some(SWITCHED_OFF.to_owned());
            }
            health
        };
        sources.iter().map(of).collect()
    }

    /// Makes `call` and reads what came back with `read`, whatever its status; a rate limit alone
    /// is dealt with here.
    ///
    /// After a rate limit the upstream is not asked again before the time it named.
    pub(crate) async fn ask<T>(
        &self,
        call: &Call<'_>,
        headers: &HeaderMap,
        read: impl FnOnce(&Reply) -> Result<T, Fault>,
    ) -> Result<T, PortError> {
        let outcome = self.ask_timed(call, headers, read).await;
        outcome
            .map(|(value, _)| value)
            .map_err(|fault| self.error(fault.into_reason(call.source)))
    }

    /// [`Self::ask`] with the time that the call took, and with failures as they are.
    pub(crate) async fn ask_timed<T>(
        &self,
        call: &Call<'_>,
        headers: &HeaderMap,
        read: impl FnOnce(&Reply) -> Result<T, Fault>,
    ) -> Result<(T, Duration), Fault> {
        let source = call.source;
        if !self.setting.enabled {
            let reason = SWITCHED_OFF;
            return Err(SourceErrorKind::Disabled { reason }.into());
        }
        let toll = Toll {
            gate: &self.gate,
            quotas: None,
        };
        let (reply, latency) = match self.upstream.fetch(call, headers, &toll).await {
            Ok(reply) => reply,
            // It was not asked: that says nothing of how it is doing.
            Err(kind) if kind.is_kept_back() => return Err(kind.into()),
            Err(kind) => return Err(self.failed(source, kind)),
        };
        if let Some(said) = reported(&reply.headers, self.now()) {
            self.gate.reported(said);
        }
        let named = || retry_after(&reply.headers, self.now());
        if reply.status == StatusCode::TOO_MANY_REQUESTS {
            return Err(self.limited(source, named()));
        }
        match read(&reply) {
            Ok(value) => {
                self.upstream
                    .health()
                    .succeeded(source, self.now(), latency);
                Ok((value, latency))
            }
            Err(Fault::Answer(reason)) => {
                self.upstream
                    .health()
                    .succeeded(source, self.now(), latency);
                Err(Fault::Answer(reason))
            }
            Err(Fault::Upstream(SourceErrorKind::RateLimited { retry_after })) => {
                Err(self.limited(source, named().or(retry_after.map(Duration::from_secs))))
            }
            Err(Fault::Upstream(SourceErrorKind::PaymentRequired { .. })) => {
                let asked = named().unwrap_or_default();
                let pause = self.gate.hold_unpaid(asked, MAX_UNPAID_HOLD);
                let retry_after = pause.as_secs();
                Err(self.failed(source, SourceErrorKind::PaymentRequired { retry_after }))
            }
            Err(Fault::Upstream(kind)) => Err(self.failed(source, kind)),
        }
    }

    /// Records that answers which were each fine do not fit together.
    pub(crate) fn spoiled(&self, source: &'static str, kind: &SourceErrorKind) -> PortError {
        self.upstream.health().spoiled(source, self.now(), kind);
        tracing::warn!(source, %kind, "upstream answers not usable");
        self.error(reason(source, kind))
    }

    pub(crate) fn error(&self, reason: PortErrorReason) -> PortError {
        PortError {
            source_name: self.setting.name,
            reason,
        }
    }

    fn failed(&self, source: &'static str, kind: SourceErrorKind) -> Fault {
        self.upstream.health().failed(source, self.now(), &kind);
        tracing::warn!(source, reason = %kind.reason(), "upstream failed");
        Fault::Upstream(kind)
    }

    fn limited(&self, source: &'static str, asked: Option<Duration>) -> Fault {
        let asked = asked.unwrap_or(self.setting.usual_hold);
        let pause = asked.max(self.setting.lockout).min(MAX_HOLD);
        self.gate.hold(pause);
        let kind = SourceErrorKind::RateLimited {
            retry_after: Some(pause.as_secs()),
        };
        self.failed(source, kind)
    }
}

const SWITCHED_OFF: &str = "switched off in the configuration";

/// `kind` in the words of the port.
fn reason(source: &'static str, kind: &SourceErrorKind) -> PortErrorReason {
    // The upstream's own name is in the error around this.
    let call = source.split_once('.').map_or(source, |(_, call)| call);
    let error = SourceError {
        source: call,
        kind: kind.clone(),
    };
    match kind {
        SourceErrorKind::RateLimited { retry_after } => PortErrorReason::RateLimited {
            retry_after: retry_after.map(Duration::from_secs),
        },
        SourceErrorKind::OverBudget { retry_after }
        | SourceErrorKind::QuotaSpent { retry_after } => PortErrorReason::RateLimited {
            retry_after: Some(Duration::from_secs(*retry_after)),
        },
        SourceErrorKind::Malformed {
            path,
            expected,
            observed,
        } => PortErrorReason::Malformed {
            path: path.clone(),
            detail: format!("{call}: expected {expected}, got {observed}"),
        },
        SourceErrorKind::WrongContentType { .. } | SourceErrorKind::TooLarge { .. } => {
            PortErrorReason::Malformed {
                path: "$".to_owned(),
                detail: error.to_string(),
            }
        }
        _ => PortErrorReason::Unavailable {
            detail: error.to_string(),
        },
    }
}

/// When the upstream answers again: `Retry-After` in seconds or as a date, otherwise
/// `ratelimit-reset` in seconds or, as some send it, as Unix time.
pub(crate) fn retry_after(headers: &HeaderMap, now: Timestamp) -> Option<Duration> {
    let text = |name: &str| {
        headers
            .get(name)
            .and_then(|value| value.to_str().ok())
            .map(str::trim)
    };
    let until = |then: Timestamp| Duration::try_from(then.duration_since(now)).unwrap_or_default();
    let seconds = |text: &str| {
        let seconds: u64 = text.parse().ok()?;
        let present = u64::try_from(now.as_second()).unwrap_or(0);
        // No pause is as long as half of the time since 1970.
        let pause = if seconds > present / 2 {
            seconds.saturating_sub(present)
        } else {
            seconds
        };
        Some(Duration::from_secs(pause))
    };
    let date = |text: &str| {
        rfc2822::parse(text)
            .ok()
            .map(|then| until(then.timestamp()))
    };
    text(RETRY_AFTER.as_str())
        .and_then(|text| seconds(text).or_else(|| date(text)))
        .or_else(|| text(RATE_LIMIT_RESET).and_then(seconds))
}

/// How much the upstream says is left until when, in the headers of the draft.
fn reported(headers: &HeaderMap, now: Timestamp) -> Option<Reported> {
    let left = headers.get(RATE_LIMIT_REMAINING)?.to_str().ok()?;
    headers.get(RATE_LIMIT_RESET)?;
    Some(Reported {
        left: left.trim().parse().ok()?,
        reset: retry_after(headers, now)?,
    })
}

#[cfg(test)]
mod tests {
    use reqwest::header::{HeaderName, HeaderValue};

    use super::*;

    #[test]
    fn pauses_are_read_in_every_form() {
        let now = Timestamp::from_second(1_795_222_800).unwrap();
        let read = |pairs: &[(&'static str, &'static str)]| {
            let pairs = pairs.iter().map(|(name, value)| {
                (
                    HeaderName::from_static(name),
                    HeaderValue::from_static(value),
                )
            });
            retry_after(&HeaderMap::from_iter(pairs), now).map(|pause| pause.as_secs())
        };
        assert_eq!(read(&[]), None);
        assert_eq!(
            read(&[("retry-after", "7"), ("ratelimit-reset", "3600")]),
            Some(7)
        );
        assert_eq!(read(&[("ratelimit-reset", "3600")]), Some(3600));
        assert_eq!(read(&[("ratelimit-reset", "1795222860")]), Some(60));
        assert_eq!(read(&[("ratelimit-reset", "1795222700")]), Some(0));
        assert_eq!(
            read(&[("retry-after", "Sat, 21 Nov 2026 01:00:30 GMT")]),
            Some(30)
        );
        assert_eq!(
            read(&[("retry-after", "Sat, 21 Nov 2026 00:00:00 GMT")]),
            Some(0)
        );
        assert_eq!(
            read(&[("retry-after", "soon"), ("ratelimit-reset", "5")]),
            Some(5)
        );
        assert_eq!(read(&[("retry-after", "-1")]), None);
    }

    #[test]
    fn reasons_keep_place_and_detail() {
        let malformed = SourceErrorKind::Malformed {
            path: "$.a[0]".to_owned(),
            expected: "an address",
            observed: "12".to_owned(),
        };
        assert_eq!(
            reason("lifi.quote", &malformed).to_string(),
            "malformed answer at $.a[0]: quote: expected an address, got 12"
        );
        let page = SourceErrorKind::WrongContentType {
            expected: "json",
            observed: "text/html".to_owned(),
        };
        assert_eq!(
            reason("lifi.quote", &page).to_string(),
            "malformed answer at $: quote: content type \"text/html\" instead of json"
        );
        assert_eq!(
            reason("lifi.quote", &SourceErrorKind::Timeout { limit_ms: 5 }).to_string(),
            "unavailable: quote: no answer within 5 ms"
        );
    }
}
