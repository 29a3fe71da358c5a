//! The operational endpoints: liveness, readiness, metrics, and the state of the upstreams. They
//! cause no request: they show the last observations.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use data_sources::transport::{HealthState, SourceHealth};
use data_sources::{BudgetState, Mode, QuotaState, gauges};
use http::{HeaderValue, Method, StatusCode, header};
use http_edge::{Draining, RequestId};
use jiff::Timestamp;
use serde_json::{Value, json};
use server_process::{METRICS_MEDIA_TYPE, readiness};

use super::reply::{self, Reply};
use crate::observe;

const ALLOW: HeaderValue = HeaderValue::from_static("GET, HEAD");
const TEXT: HeaderValue = HeaderValue::from_static(METRICS_MEDIA_TYPE);

/// The states of an upstream that answers no call.
const NO_USE: [HealthState; 2] = [HealthState::Unavailable, HealthState::PaymentRequired];

/// Reports the state of the systems that the tools depend on.
pub trait Health: Send + Sync + 'static {
    /// Returns one entry for each system, in a stable order. Makes no call: the entries are the
    /// last observations.
    fn observe(&self) -> Vec<Observed>;

    /// The remaining limits of each system.
    fn limits(&self) -> Limits {
        Limits::default()
    }

    /// The known reasons why some plans are of no use. Each has a component and a reason, as last
    /// observed.
    fn concerns(&self) -> Vec<(String, String)> {
        Vec::new()
    }

    /// Updates [`Self::concerns`] from time to time. Runs as long as the server does.
    fn keep(self: Arc<Self>) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        Box::pin(std::future::ready(()))
    }

    /// The result of the last probe of each source, as `/status` shows it.
    fn probes(&self) -> Vec<Value> {
        Vec::new()
    }

    /// Probes every upstream from time to time. Runs as long as the server does.
    fn keep_probing(self: Arc<Self>, _every: Duration) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        Box::pin(std::future::ready(()))
    }
}

/// The remaining limits of upstreams.
#[derive(Debug, Clone, Default)]
pub struct Limits {
    /// The budget of each family of calls.
    pub budgets: Vec<BudgetState>,
    /// The quota of each upstream that has one, by its name.
    pub quotas: Vec<(&'static str, QuotaState)>,
}

/// The health of tools that depend on nothing.
#[derive(Debug, Clone, Copy)]
pub struct NoUpstreams;

impl Health for NoUpstreams {
    fn observe(&self) -> Vec<Observed> {
        Vec::new()
    }
}

/// The last observation of one upstream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Observed {
    /// Its id, such as `lifi.quote`. That of a node also names its chain and its position.
    pub id: String,
    /// `live`, or `replay` for recorded answers.
    pub mode: Mode,
    /// Its health.
    pub health: SourceHealth,
    /// Whether plans are made without it, too: a source of prices.
    pub is_optional: bool,
}

impl Observed {
    fn to_json(&self) -> Value {
        let health = &self.health;
        json!({
            "id": self.id,
            "state": health.state.as_str(),
            "reason": health.reason,
            "mode": self.mode.as_str(),
            "last_ok": health.last_ok.map(seconds),
            "last_error": health.last_error.map(seconds),
            "p50_ms": health.p50_ms,
            "p95_ms": health.p95_ms,
            "calls": health.calls,
            "failures": health.failures,
            "budget_left": health.budget_left,
            "budget_limit": health.budget_limit,
            "window_seconds": health.window_seconds,
            "quota_left": health.quota_left,
            "quota_resets_at": health.quota_resets_at.map(seconds),
        })
    }
}

/// The operational endpoints of one server.
pub(crate) struct Operations {
    service: String,
    started: Timestamp,
    health: Arc<dyn Health>,
    draining: Draining,
}

impl Operations {
    pub(crate) fn new(
        service: String,
        started: Timestamp,
        health: Arc<dyn Health>,
        draining: Draining,
    ) -> Self {
        Self {
            service,
            started,
            health,
            draining,
        }
    }

    pub(crate) fn answer(&self, method: &Method, path: &str, id: RequestId) -> Reply {
        let render: fn(&Self) -> Reply = match path {
            "/healthz" => |_| reply::json(StatusCode::OK, &json!({ "status": "ok" })),
            "/readyz" => Self::readiness,
            "/status" => Self::status,
            "/metrics" => Self::metrics,
            _ => {
                let message = "there is no such route; the tools are at POST /mcp";
                return reply::error(StatusCode::NOT_FOUND, "not_found", message, id);
            }
        };
        if !matches!(*method, Method::GET | Method::HEAD) {
            let status = StatusCode::METHOD_NOT_ALLOWED;
            let mut reply = reply::error(status, "method_not_allowed", "expected GET", id);
            reply.headers_mut().insert(header::ALLOW, ALLOW);
            return reply;
        }
        render(self)
    }

    /// The server is ready while it can build some plan and was not asked to end. A venue that is
    /// down refuses its own plans by name. A leg that the router refuses leaves the chain's other
    /// legs usable.
    fn readiness(&self) -> Reply {
        if self.draining.is_draining() {
            let (status, body) = readiness(false, [("server", Some("draining"))]);
            return reply::json(status, &body);
        }
        let observed = self.health.observe();
        let enabled = || {
            observed
                .iter()
                .filter(|seen| seen.health.state != HealthState::Disabled)
        };
        let works = |seen: &&Observed| !NO_USE.contains(&seen.health.state);
        let venues = || enabled().filter(|seen| !seen.is_optional);
        let is_ready = venues().any(|seen| works(&seen)) || venues().next().is_none();
        let concerns = self.health.concerns();
        let reasons = enabled()
            .filter(|seen| !works(seen))
            .map(|seen| (seen.id.as_str(), seen.health.reason.as_deref()))
            .chain(
                concerns
                    .iter()
                    .map(|(component, reason)| (component.as_str(), Some(reason.as_str()))),
            );
        let (status, body) = readiness(is_ready, reasons);
        reply::json(status, &body)
    }

    fn status(&self) -> Reply {
        let body = json!({
            "service": self.service,
            "version": env!("CARGO_PKG_VERSION"),
            "started_at": seconds(self.started),
            "upstreams": self.health.observe().iter().map(Observed::to_json).collect::<Vec<Value>>(),
            "probes": self.health.probes(),
            "datasets": [],
        });
        reply::json(StatusCode::OK, &body)
    }

    fn metrics(&self) -> Reply {
        observe::METRICS.install();
        for seen in self.health.observe() {
            gauges::state(&seen.id, seen.health.state);
        }
        let Limits { budgets, quotas } = self.health.limits();
        gauges::budgets(budgets);
        for (upstream, quota) in quotas {
            gauges::quota(upstream, &quota);
        }
        let text = observe::METRICS.render().unwrap_or_default();
        reply::with_body(StatusCode::OK, TEXT, Bytes::from(text))
    }
}

/// RFC 3339 in UTC, to the second.
fn seconds(at: Timestamp) -> String {
    at.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}
