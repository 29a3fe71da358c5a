//! Renders an answer: `data` as it is, and `meta` beside it.
//!
//! The text of `data` is reused between calls. `meta` is written anew, because it holds the time
//! and the caller's wishes.

use std::fmt;

use data_sources::{Attribution, Mode, Provenance};
use http_edge::RequestId;
use jiff::Timestamp;
use ledger::PaidAnswer;
use serde::{Serialize, Serializer};
use serde_json::Value;

use super::attribution::attributed;
use super::origin::Origin;
use super::part::{self, SectionEntry};
use super::time::{Seconds, seconds};
use super::{Answered, Warning};
use crate::call::Call;
use crate::source_report::{Cut, Unavailable};

/// The usual size of `meta` and the braces around `data`; the buffer grows when that is not enough.
const USUAL_META_BYTES: usize = 640;

#[derive(Serialize)]
struct Meta<'a> {
    route: &'static str,
    as_of: Seconds,
    generated_at: Seconds,
    age_seconds: u64,
    max_age_seconds: u64,
    verdict: &'static str,
    cache: &'static str,
    schema_version: &'static str,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    sections: Vec<SectionEntry<'a>>,
    #[serde(serialize_with = "entries")]
    sources: &'a [Provenance],
    unavailable: &'a [Unavailable],
    #[serde(skip_serializing_if = "<[Cut]>::is_empty")]
    cut: &'a [Cut],
    #[serde(skip_serializing_if = "<[Warning]>::is_empty")]
    warnings: &'a [Warning],
    /// Attributions that sources require wherever their data is shown.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    attribution: Vec<&'static Attribution>,
    #[serde(skip_serializing_if = "Option::is_none")]
    provenance: Option<serde_json::Map<String, Value>>,
    #[serde(serialize_with = "as_text")]
    request_id: &'a RequestId,
}

#[derive(Serialize)]
struct SourceEntry<'a> {
    id: &'static str,
    status: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    as_of: Option<Seconds>,
    latency_ms: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    mode: Option<&'static str>,
}

impl Answered {
    /// Renders the answer for a call.
    pub(crate) fn at(&self, call: &Call, now: Timestamp) -> PaidAnswer {
        let age_seconds = self.age_seconds(now);
        let (fresh, left) = self.freshness(now);
        let cached = self.sources.iter().any(|source| source.cached);
        let wants_provenance = call.parameters.provenance();
        let meta = Meta {
            route: call.operation.route().path,
            as_of: Seconds(self.as_of(now)),
            generated_at: Seconds(now),
            age_seconds,
            max_age_seconds: self.fresh_seconds,
            verdict: part::verdict(fresh),
            cache: if cached { "hit" } else { "miss" },
            schema_version: "1",
            sections: self.parts.iter().map(|part| part.entry(now)).collect(),
            sources: &self.sources,
            unavailable: &self.unavailable,
            cut: &self.cut,
            warnings: &self.warnings,
            attribution: attributed(&self.sources),
            provenance: wants_provenance.then(|| self.provenance(now)),
            request_id: &call.request_id,
        };
        let data = self.data.text();
        let mut body = Vec::with_capacity(data.len().saturating_add(USUAL_META_BYTES));
        body.extend_from_slice(br#"{"data":"#);
        body.extend_from_slice(data);
        body.extend_from_slice(br#","meta":"#);
        if let Err(error) = serde_json::to_writer(&mut body, &meta) {
            tracing::error!(%error, "an answer cannot be serialised");
        }
        body.push(b'}');
        let headers = self.headers(call.is_private(), age_seconds, left);
        PaidAnswer::new(self.status.code(), headers, body.into())
    }

    fn provenance(&self, now: Timestamp) -> serde_json::Map<String, Value> {
        let entries = |origin: &Origin| {
            let Origin { source, method, .. } = origin;
            let known = self.sources.iter().find(|s| s.source == *source);
            let as_of = known.and_then(|s| s.as_of).or(self.as_of);
            let as_of = seconds(as_of.or(known.map(|s| s.fetched_at)).unwrap_or(now));
            let value = serde_json::json!({ "source": source, "as_of": as_of, "method": method });
            let paths = origin.paths(&self.data).into_iter();
            paths.map(move |path| (path, value.clone()))
        };
        self.origins.iter().flat_map(entries).collect()
    }
}

fn as_text<S: Serializer>(value: &impl fmt::Display, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(value)
}

impl<'a> SourceEntry<'a> {
    fn of(source: &'a Provenance) -> Self {
        Self {
            id: source.source,
            status: source.status.as_str(),
            reason: source.status.reason(),
            as_of: source.as_of.map(Seconds),
            latency_ms: source.latency_ms,
            mode: (source.mode == Mode::Replay).then_some(source.mode.as_str()),
        }
    }
}

fn entries<S: Serializer>(sources: &[Provenance], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(sources.iter().map(SourceEntry::of))
}
