//! The free endpoints: health, state, discovery, documents.
//!
//! The documents are rendered once. The states are the last observations, except that a probe
//! checks the settlement and the stores anew, at most every two seconds.

mod dependencies;
mod offered;
mod rows;

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use data_sources::Clock;
use http::StatusCode;
use http::header::{self, HeaderValue};
use http::request::Parts;
use http_edge::Draining;
use jiff::Timestamp;
use ledger::Journal;
use route_catalog::Catalog;
use serde_json::{Map, Value, json};
use server_process::{METRICS_MEDIA_TYPE, readiness};
use settlement::Settler;

pub(crate) use self::dependencies::Dependencies;
use self::dependencies::{FailedDependency, Look};
use self::offered::{routes, unpayable};
use self::rows::{chains, freshness, source_row, wallet_files};
use crate::Sources;
use crate::answer::seconds;
use crate::payment::{PaymentProcessor, Worker};
use crate::reply::{self, NO_STORE, Reply};
use crate::{observe, page};

const TEXT: HeaderValue = HeaderValue::from_static("text/plain; charset=utf-8");
const HTML: HeaderValue = HeaderValue::from_static("text/html; charset=utf-8");
const SVG: HeaderValue = HeaderValue::from_static("image/svg+xml");
const ICO: HeaderValue = HeaderValue::from_static("image/x-icon");
/// The time limit of a scrape for the settler's report on its account and the clocks.
const SCRAPE_PATIENCE: Duration = Duration::from_secs(4);

/// The free endpoints. Each document is rendered once.
pub(crate) struct Free {
    catalog: Arc<Catalog>,
    started: Timestamp,
    documents: std::sync::OnceLock<Documents>,
    dependencies: Dependencies,
    draining: Draining,
}

struct Documents {
    openapi: Bytes,
    well_known: Bytes,
    llms: Bytes,
    page: Bytes,
}

impl Free {
    pub(crate) fn new(catalog: Arc<Catalog>, draining: Draining, clock: &dyn Clock) -> Self {
        Self {
            catalog,
            started: clock.now(),
            documents: std::sync::OnceLock::new(),
            dependencies: Dependencies::default(),
            draining,
        }
    }

    /// The dependencies of the server besides settlement and ledger.
    pub(crate) fn dependencies(&mut self) -> &mut Dependencies {
        &mut self.dependencies
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
            path @ ("/status" | "/status/detail") => {
                let mut status = self.status(processor, sources).await;
                if path == "/status/detail" {
                    status.insert("wallet_files".to_owned(), wallet_files(sources));
                }
                json_now(StatusCode::OK, &Value::Object(status))
            }
            "/freshness" => json_now(StatusCode::OK, &freshness(sources, sources.now()).await),
            // The settler's future is large; boxing it keeps the future of every other answer
            // small.
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
        let Look {
            mut faults,
            settlements_left,
            aggr_deferred,
        } = self.dependencies.look(processor).await;
        if self.draining.is_draining() {
            faults.push(FailedDependency {
                component: "server",
                reason: "draining".to_owned(),
            });
        }
        let reasons = faults
            .iter()
            .map(|fault| (fault.component, Some(fault.reason.as_str())));
        let (status, mut body) = readiness(faults.is_empty(), reasons);
        if let Some(members) = body.as_object_mut() {
            if let Some(left) = settlements_left {
                members.insert("settlements_left".to_owned(), left.into());
            }
            // An unpayable scheme does not make the server unready, because every other option of a
            // challenge can be paid.
            let unpayable = unpayable(&self.catalog, aggr_deferred);
            if !unpayable.is_empty() {
                members.insert("unpayable_schemes".to_owned(), json!(unpayable));
            }
        }
        json_now(status, &body)
    }

    async fn status<S: Settler, J: Journal, W: Worker>(
        &self,
        processor: &PaymentProcessor<S, J, W>,
        sources: &Sources,
    ) -> Map<String, Value> {
        let Look {
            faults,
            aggr_deferred,
            ..
        } = self.dependencies.look(processor).await;
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
        let status = json!({
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
        });
        match status {
            Value::Object(status) => status,
            _ => Map::new(),
        }
    }

    /// Renders the metrics, after setting the gauges that are read on demand.
    async fn metrics<S: Settler, J: Journal, W: Worker>(
        &self,
        processor: &PaymentProcessor<S, J, W>,
        sources: &Sources,
    ) -> Reply {
        // A scrape also reads the gas account and the clocks, because an operator may ask nothing
        // else. If the settler hangs, the gauges keep their last values.
        let dependencies = self.dependencies.look(processor);
        let _ = tokio::time::timeout(SCRAPE_PATIENCE, dependencies).await;
        let journal = processor.journal();
        // If the journal cannot be read, the gauges keep their last values, and `/readyz` names the
        // journal.
        if let Ok(counts) = journal.open_counts().await {
            observe::open_payments(&counts, processor.now());
        }
        if let Ok(bytes) = journal.size_bytes() {
            observe::ledger_bytes(bytes);
        }
        let upstreams = sources.all().into_iter();
        observe::upstreams(upstreams.flat_map(|upstream| upstream.health()));
        sources.measure_limits();
        sources.probes.measure();
        observe::wallet_faults(&sources.wallets.faults);
        match observe::METRICS.render() {
            Some(text) => {
                let media_type = HeaderValue::from_static(METRICS_MEDIA_TYPE);
                reply::with_body(StatusCode::OK, media_type, Bytes::from(text))
            }
            None => reply::with_body(StatusCode::OK, TEXT, Bytes::new()),
        }
    }
}

fn json_now(status: StatusCode, body: &Value) -> Reply {
    let mut reply = reply::json(status, body.to_string());
    reply.headers_mut().insert(header::CACHE_CONTROL, NO_STORE);
    reply
}
