//! The endpoints that cost nothing: health, state, discovery, documents.

mod offered;

use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use data_sources::rpc::EndpointHealth;
use data_sources::transport::SourceHealth;
use data_sources::{Clock, Mode};
use http::StatusCode;
use http::header::{self, HeaderValue};
use http::request::Parts;
use http_edge::Draining;
use jiff::Timestamp;
use ledger::Journal;
use route_catalog::{Catalog, Dataset};
use serde_json::{Value, json};
use settlement::{Cause, Readiness, Settler};
use tokio::sync::Mutex;
use watch_server::Mandates;

use self::offered::{routes, unpayable};
use crate::Sources;
use crate::answer::seconds;
use crate::payment::{PaymentProcessor, Worker};
use crate::reply::{self, NO_STORE, Reply};
use crate::sources::TOKEN_LIST_FRESH_SECONDS;
use crate::{observe, page};

const TEXT: HeaderValue = HeaderValue::from_static("text/plain; charset=utf-8");
const HTML: HeaderValue = HeaderValue::from_static("text/html; charset=utf-8");
const SVG: HeaderValue = HeaderValue::from_static("image/svg+xml");
const ICO: HeaderValue = HeaderValue::from_static("image/x-icon");
/// A probe every few milliseconds must not become a call to the facilitator each.
const READINESS_KEPT: Duration = Duration::from_secs(2);
/// How long a scrape waits for what the settler says of its account and of the clocks.
const SCRAPE_PATIENCE: Duration = Duration::from_secs(4);

/// The free endpoints. Documents are rendered once.
pub(crate) struct Free {
    catalog: Arc<Catalog>,
    started: Timestamp,
    documents: std::sync::OnceLock<Documents>,
    readiness: Mutex<Option<(Instant, Dependencies)>>,
    /// The records of delegations, where some are taken.
    fence: Option<Arc<dyn fence_server::Store>>,
    /// The mandates, where some are kept.
    mandates: Option<Mandates>,
    draining: Draining,
}

struct Documents {
    openapi: Bytes,
    well_known: Bytes,
    llms: Bytes,
    page: Bytes,
}

/// What paid calls depend on, as it was at the last look.
#[derive(Debug, Clone)]
struct Dependencies {
    faults: Vec<Fault>,
    /// Settlements that the gas account can still pay; `None` where somebody else pays.
    settlements_left: Option<u64>,
    /// Whether scheme `aggr_deferred` can be settled; `None` while nothing can.
    aggr_deferred: Option<bool>,
}

/// Something that keeps paid calls from being served.
#[derive(Debug, Clone)]
struct Fault {
    component: &'static str,
    reason: String,
}

impl Free {
    pub(crate) fn new(catalog: Arc<Catalog>, draining: Draining, clock: &dyn Clock) -> Self {
        Self {
            catalog,
            started: clock.now(),
            documents: std::sync::OnceLock::new(),
            readiness: Mutex::new(None),
            fence: None,
            mandates: None,
            draining,
        }
    }

    /// Counts the records of mandates among what the server depends on.
    pub(crate) fn depend_on_mandates(&mut self, mandates: Mandates) {
        self.mandates = Some(mandates);
    }

    /// Counts the records of delegations among what the server depends on.
    pub(crate) fn depend_on(&mut self, fence: Arc<dyn fence_server::Store>) {
        self.fence = Some(fence);
    }

    /// Answers a `GET` or `HEAD` of one of the [`FREE_ROUTES`] without parameters.
    pub(crate) async fn answer<S: Settler, J: Journal, W: Worker>(
        &self,
        parts: &Parts,
        processor: &PaymentProcessor<S, J, W>,
        sources: &Sources,
    ) -> Reply {
        match parts.uri.path() {
            "/healthz" => json_now(StatusCode::OK, &json!({ "status": "ok" })),
            "/readyz" => self.readyz(processor).await,
            "/status" => self.status(processor, sources).await,
            "/freshness" => json_now(StatusCode::OK, &freshness(sources, sources.now()).await),
            // A look at the settler has a large future, which every answer would carry.
            "/metrics" => Box::pin(self.metrics(processor, sources)).await,
            "/openapi.json" => reply::json(StatusCode::OK, self.documents().openapi.clone()),
            "/.well-known/x402" => reply::json(StatusCode::OK, self.documents().well_known.clone()),
            "/icon.svg" => {
                reply::with_body(StatusCode::OK, SVG, Bytes::from_static(page::ICON_SVG))
            }
            "/favicon.ico" => {
                reply::with_body(StatusCode::OK, ICO, Bytes::from_static(page::ICON_ICO))
            }
            "/llms.txt" => reply::with_body(StatusCode::OK, TEXT, self.documents().llms.clone()),
            _ => {
                let mut reply =
                    reply::with_body(StatusCode::OK, HTML, self.documents().page.clone());
                page::secure(reply.headers_mut());
                reply
            }
        }
    }

    fn documents(&self) -> &Documents {
        self.documents.get_or_init(|| Documents {
            openapi: Bytes::from(self.catalog.openapi_text()),
            well_known: Bytes::from(self.catalog.well_known().to_string()),
            llms: Bytes::from(self.catalog.llms_txt()),
            page: Bytes::from(page::render(&self.catalog)),
        })
    }

    async fn readyz<S: Settler, J: Journal, W: Worker>(
        &self,
        processor: &PaymentProcessor<S, J, W>,
    ) -> Reply {
        let Dependencies {
            mut faults,
            settlements_left,
            aggr_deferred,
        } = self.dependencies(processor).await;
        if self.draining.is_draining() {
            faults.push(Fault {
                component: "server",
                reason: "draining".to_owned(),
            });
        }
        let status = if faults.is_empty() {
            StatusCode::OK
        } else {
            StatusCode::SERVICE_UNAVAILABLE
        };
        let reasons: Vec<Value> = faults
            .iter()
            .map(|fault| json!({ "component": fault.component, "reason": fault.reason }))
            .collect();
        let mut body = json!({ "ready": faults.is_empty(), "reasons": reasons });
        if let Some(members) = body.as_object_mut() {
            if let Some(left) = settlements_left {
                members.insert("settlements_left".to_owned(), left.into());
            }
            // Not a reason to be unready: every other option of a challenge can be paid.
            let unpayable = unpayable(&self.catalog, aggr_deferred);
            if !unpayable.is_empty() {
                members.insert("unpayable_schemes".to_owned(), json!(unpayable));
            }
        }
        json_now(status, &body)
    }

    async fn dependencies<S: Settler, J: Journal, W: Worker>(
        &self,
        processor: &PaymentProcessor<S, J, W>,
    ) -> Dependencies {
        // Held while asking: probes that come meanwhile wait for this answer.
        let mut kept = self.readiness.lock().await;
        if let Some((at, dependencies)) = kept.as_ref()
            && at.elapsed() < READINESS_KEPT
        {
            return dependencies.clone();
        }
        let mut faults = Vec::new();
        let readiness = processor.settler().readiness().await;
        observe_readiness(&readiness);
        let (settlements_left, aggr_deferred) = match readiness {
            Readiness::Ready {
                settlements_left,
                aggr_deferred,
            } => (settlements_left, Some(aggr_deferred)),
            Readiness::NotReady { reason } => {
                faults.push(Fault {
                    component: "settlement",
                    reason: reason.to_string(),
                });
                (None, None)
            }
        };
        if let Err(error) = processor.journal().probe().await {
            faults.push(Fault {
                component: "ledger",
                reason: error.to_string(),
            });
        }
        if let Some(fence) = &self.fence
            && let Err(error) = fence.probe().await
        {
            faults.push(Fault {
                component: "fence",
                reason: error.to_string(),
            });
        }
        if let Some(mandates) = &self.mandates
            && let Err(error) = mandates.probe().await
        {
            faults.push(Fault {
                component: "mandates",
                reason: error.to_string(),
            });
        }
        let dependencies = Dependencies {
            faults,
            settlements_left,
            aggr_deferred,
        };
        *kept = Some((Instant::now(), dependencies.clone()));
        dependencies
    }

    async fn status<S: Settler, J: Journal, W: Worker>(
        &self,
        processor: &PaymentProcessor<S, J, W>,
        sources: &Sources,
    ) -> Reply {
        let Dependencies {
            faults,
            aggr_deferred,
            ..
        } = self.dependencies(processor).await;
        let component = |name: &str| {
            let fault = faults.iter().find(|fault| fault.component == name);
            json!({
                "state": if fault.is_none() { "ok" } else { "unavailable" },
                "reason": fault.map(|fault| fault.reason.clone()),
            })
        };
        let upstreams: Vec<Value> = sources
            .all()
            .into_iter()
            .flat_map(|upstream| {
                let mode = upstream.mode();
                upstream
                    .health()
                    .into_iter()
                    .map(move |source| (source, mode))
            })
            .map(|(source, mode)| source_row(&source, mode))
            .collect();
        json_now(
            StatusCode::OK,
            &json!({
                "service": self.catalog.brand(),
                "version": env!("CARGO_PKG_VERSION"),
                "started_at": seconds(self.started),
                "settlement": component("settlement"),
                "ledger": component("ledger"),
                "unpayable_schemes": unpayable(&self.catalog, aggr_deferred),
                "routes": routes(&self.catalog),
                "upstreams": upstreams,
                "reviewed_contracts": sources.unreviewed.status(&sources.tokens.okx.reviewed().version),
                "chains": chains(sources),
                "probes": sources.probes.document(),
                "datasets": freshness(sources, sources.now()).await.get("datasets"),
            }),
        )
    }

    /// The metrics, with the gauges that are read when they are asked for.
    async fn metrics<S: Settler, J: Journal, W: Worker>(
        &self,
        processor: &PaymentProcessor<S, J, W>,
        sources: &Sources,
    ) -> Reply {
        // Whoever scrapes and asks nothing else sees the gas account and the clocks as well. A
        // settler that hangs leaves the last figures.
        let dependencies = self.dependencies(processor);
        let _ = tokio::time::timeout(SCRAPE_PATIENCE, dependencies).await;
        let journal = processor.journal();
        // A journal that cannot be read leaves its last figures; `/readyz` names it.
        if let Ok(counts) = journal.open_counts().await {
            observe::open_payments(&counts);
        }
        if let Ok(bytes) = journal.size_bytes() {
            observe::ledger_bytes(bytes);
        }
        let upstreams = sources.all().into_iter();
        observe::upstreams(upstreams.flat_map(|upstream| upstream.health()));
        sources.measure_limits();
        sources.probes.measure();
        match observe::metrics() {
            Some(handle) => {
                let media_type =
                    HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8");
                reply::with_body(StatusCode::OK, media_type, Bytes::from(handle.render()))
            }
            None => reply::with_body(StatusCode::OK, TEXT, Bytes::new()),
        }
    }
}

fn source_row(source: &SourceHealth, mode: Mode) -> Value {
    json!({
        "id": source.source,
        "state": source.state.as_str(),
        "reason": source.reason,
        "mode": mode.as_str(),
        "last_ok": source.last_ok.map(seconds),
        "last_error": source.last_error.map(seconds),
        "p50_ms": source.p50_ms,
        "p95_ms": source.p95_ms,
        "calls": source.calls,
        "failures": source.failures,
        "tolerated": source.tolerated,
        "budget_left": source.budget_left,
        "budget_limit": source.budget_limit,
        "window_seconds": source.window_seconds,
        "quota_left": source.quota_left,
        "quota_resets_at": source.quota_resets_at.map(seconds),
    })
}

/// How the nodes of each chain have been doing; their addresses often carry a key and are not
/// shown.
fn chains(sources: &Sources) -> Vec<Value> {
    let endpoints = sources.chain.evm.health().into_iter();
    let row = |endpoint: EndpointHealth| {
        let mode = sources.chain.evm.mode();
        let calls = endpoint
            .sources
            .iter()
            .map(|source| source_row(source, mode));
        json!({
            "chain_id": endpoint.chain_id,
            "endpoint": endpoint.position,
            "calls": calls.collect::<Vec<_>>(),
        })
    };
    endpoints.map(row).collect()
}

/// The age and the verdict of every dataset, computed now.
async fn freshness(sources: &Sources, now: Timestamp) -> Value {
    let fetched_at = sources.tokens.okx.token_list_fetched_at().await;
    let age = fetched_at.map(|at| u64::try_from(now.duration_since(at).as_secs()).unwrap_or(0));
    let limit = TOKEN_LIST_FRESH_SECONDS;
    let mut datasets = vec![json!({
        "dataset": Dataset::TokenList.name(),
        "routes": routes_of(Dataset::TokenList.name()),
        "as_of": fetched_at.map(seconds),
        "age_seconds": age,
        "max_age_seconds": limit,
        "verdict": match age {
            None => "absent",
            Some(age) if age <= limit => "fresh",
            Some(_) => "stale",
        },
    })];
    datasets.extend(sources.snapshots.ages(now).iter().map(|age| {
        json!({
            "dataset": age.dataset,
            "routes": routes_of(age.dataset),
            "snapshot_id": age.snapshot_id,
            "as_of": age.as_of,
            "age_seconds": age.age_seconds,
            "max_age_seconds": age.fresh_seconds,
            "refused_from_seconds": age.refused_seconds,
            "verdict": age.verdict,
        })
    }));
    json!({ "generated_at": seconds(now), "datasets": datasets })
}

/// The routes that read a dataset, as their rows in the catalog declare it.
fn routes_of(dataset: &str) -> Vec<&'static str> {
    let mut all = Dataset::ALL.into_iter();
    let known = all.find(|known| known.name() == dataset);
    let operations = known.into_iter().flat_map(Dataset::operations);
    operations.map(|operation| operation.route().path).collect()
}

/// What the settler says of its account and of the clocks, for metrics.
fn observe_readiness(readiness: &Readiness) {
    let apart = match readiness {
        Readiness::NotReady {
            reason: Cause::Clock { machine, block },
        } => {
            let ahead = i128::from(*machine) - i128::from(*block);
            i64::try_from(ahead).unwrap_or_default()
        }
        _ => 0,
    };
    observe::clock_difference(apart);
    match readiness {
        Readiness::Ready {
            settlements_left, ..
        } => observe::settlements_left(*settlements_left),
        Readiness::NotReady {
            reason: Cause::NoGas { .. },
        } => observe::settlements_left(Some(0)),
        // Nobody has looked at the account.
        Readiness::NotReady { .. } => {}
    }
}

fn json_now(status: StatusCode, body: &Value) -> Reply {
    let mut reply = reply::json(status, body.to_string());
    reply.headers_mut().insert(header::CACHE_CONTROL, NO_STORE);
    reply
}
