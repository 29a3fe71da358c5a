//! Probes of all upstreams: on an operator's request, and in the background of a server.
//!
//! A background probe leaves the budgets and quotas to paying callers, and never asks a question
//! that costs money.

use std::{
    collections::BTreeMap,
    future::{Future as _, poll_fn},
    hash::{BuildHasher as _, RandomState},
    sync::{Arc, Mutex, PoisonError},
    task::Poll,
    time::Duration,
};

use jiff::Timestamp;
use metrics::{describe_gauge, gauge};
use serde_json::{Value, json};

use super::{
    question::{ProbeResult, Probed},
    row::{Row, State, rows},
};
use crate::source::Source;

/// The reason why models get no questions.
const COSTS: &str = "each question to a model costs money";
/// The reason why a background probe skips an upstream.
const PAYING_CALLERS: &str = "the rest of its budget or quota is for paying callers";
/// The pause between two questions of a background probe.
const PAUSE: Duration = Duration::from_secs(2);

/// The result of a probe, with its exchanges.
#[derive(Clone, Debug, Default)]
pub struct Found {
    /// A row for each source.
    pub rows: Vec<Row>,
    /// The results of the questions.
    pub results: Vec<ProbeResult>,
}

/// Asks every question of `adapter`. `serves` names the routes that use a source.
pub async fn probe(
    adapter: &dyn Probed,
    now: Timestamp,
    serves: &(dyn Fn(&str) -> Vec<&'static str> + Sync),
) -> Found {
    ask(adapter, now, serves, Duration::ZERO).await
}

/// Asks every question of all adapters, with the adapters in parallel. The result keeps the order
/// of the adapters.
pub async fn probe_all(
    adapters: &[&dyn Probed],
    now: Timestamp,
    serves: &(dyn Fn(&str) -> Vec<&'static str> + Sync),
) -> Found {
    let mut waiting: Vec<_> = adapters
        .iter()
        .map(|adapter| (Box::pin(probe(*adapter, now, serves)), None))
        .collect();
    poll_fn(|context| {
        let mut all = Poll::Ready(());
        for (running, found) in &mut waiting {
            if found.is_none() {
                match running.as_mut().poll(context) {
                    Poll::Ready(result) => *found = Some(result),
                    Poll::Pending => all = Poll::Pending,
                }
            }
        }
        all
    })
    .await;
    let mut all = Found::default();
    for found in waiting.into_iter().filter_map(|(_, found)| found) {
        all.rows.extend(found.rows);
        all.results.extend(found.results);
    }
    all
}

async fn ask(
    adapter: &dyn Probed,
    now: Timestamp,
    serves: &(dyn Fn(&str) -> Vec<&'static str> + Sync),
    pause: Duration,
) -> Found {
    let mut found = Found::default();
    match adapter.source().and_then(unasked) {
        Some(unasked) => found.rows = unasked,
        None => {
            for question in adapter.questions() {
                let result = question.ask().await;
                merge(&mut found.rows, rows(&result, now));
                found.results.push(result);
                tokio::time::sleep(pause).await;
            }
        }
    }
    if let Some(source) = adapter.source().filter(|source| source.spec().models) {
        costly(&mut found.rows, source);
    }
    let quota = adapter.source().and_then(Source::quota);
    for row in &mut found.rows {
        row.serves = serves(row.source);
        row.quota_left = quota.map(|quota| quota.left);
    }
    found
}

/// The rows of an upstream that is not asked at all.
fn unasked(source: &Source) -> Option<Vec<Row>> {
    let spec = source.spec();
    let why = source.disabled()?;
    let row = |of: &&'static str| Row::unasked(spec.name, of, State::Disabled, why);
    Some(spec.sources.iter().map(row).collect())
}

/// Adds the sources of a model that no free question covers.
fn costly(rows: &mut Vec<Row>, source: &Source) {
    let spec = source.spec();
    for of in spec.sources {
        if !rows.iter().any(|row| row.source == *of) {
            rows.push(Row::unasked(spec.name, of, State::NotAsked, COSTS));
        }
    }
}

/// Merges several questions of one source into one row: the worst.
fn merge(all: &mut Vec<Row>, new: Vec<Row>) {
    for row in new {
        let same = |other: &&mut Row| other.upstream == row.upstream && other.source == row.source;
        let Some(known) = all.iter_mut().find(same) else {
            all.push(row);
            continue;
        };
        let tolerated = known.tolerated.saturating_add(row.tolerated);
        let age = known.age_seconds.max(row.age_seconds);
        if row.state > known.state || known.state == State::Kept {
            *known = row;
        }
        known.tolerated = tolerated;
        known.age_seconds = age;
    }
}

/// How often a server probes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    /// Time between two probes of one upstream.
    pub every: Duration,
    /// Time from the start to the first probe.
    pub first: Duration,
}

impl Pace {
    /// One probe per `every`, randomly shifted by up to a tenth of it, so that servers that start
    /// together do not ask together.
    #[must_use]
    pub fn jittered(every: Duration) -> Self {
        let chance = RandomState::new().hash_one(every);
        let tenth = u32::try_from(chance % 1_000).unwrap_or(0);
        let moved = every.saturating_mul(tenth) / 10_000;
        Self {
            every: every.saturating_sub(every / 20).saturating_add(moved),
            first: Duration::from_secs(300).saturating_add(moved / 20),
        }
    }
}

/// The last result for each upstream, for `/status` and metrics. Clones share it.
#[derive(Clone, Debug, Default)]
pub struct Board {
    rows: Arc<Mutex<Rows>>,
}

/// The last row and its time, by upstream and source.
type Rows = BTreeMap<(String, &'static str), (Timestamp, Row)>;

impl Board {
    /// The last rows and their times.
    #[must_use]
    pub fn rows(&self) -> Vec<(Timestamp, Row)> {
        let rows = self.rows.lock().unwrap_or_else(PoisonError::into_inner);
        rows.values().cloned().collect()
    }

    /// Asks all adapters one after another, forever.
    pub async fn keep(
        &self,
        adapters: &[&dyn Probed],
        every: Duration,
        now: impl Fn() -> Timestamp,
        serves: &(dyn Fn(&str) -> Vec<&'static str> + Sync),
    ) {
        tokio::time::sleep(Pace::jittered(every).first).await;
        loop {
            for adapter in adapters {
                self.look(*adapter, now(), serves).await;
            }
            tokio::time::sleep(Pace::jittered(every).every).await;
        }
    }

    /// The rows as `/status` shows them.
    #[must_use]
    pub fn document(&self) -> Vec<Value> {
        let shown = |(at, row): (Timestamp, Row)| {
            let at = at.strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
            let mut shown = json!(row);
            if let Some(members) = shown.as_object_mut() {
                members.insert("probed_at".to_owned(), json!(at));
            }
            shown
        };
        self.rows().into_iter().map(shown).collect()
    }

    /// Asks the questions of `adapter`, unless the remaining limits are needed for paying callers.
    pub async fn look(
        &self,
        adapter: &dyn Probed,
        now: Timestamp,
        serves: &(dyn Fn(&str) -> Vec<&'static str> + Sync),
    ) {
        if let Some(source) = adapter.source()
            && unasked(source).is_none()
            && !has_room(source)
        {
            self.postpone(source, now);
            return;
        }
        let found = ask(adapter, now, serves, PAUSE).await;
        self.note(found.rows, now);
    }

    fn postpone(&self, source: &Source, now: Timestamp) {
        let spec = source.spec();
        let mut rows = self.rows.lock().unwrap_or_else(PoisonError::into_inner);
        for of in spec.sources {
            let row = Row::unasked(spec.name, of, State::NotAsked, PAYING_CALLERS);
            // An earlier result stays until the source is asked again.
            rows.entry((spec.name.to_owned(), of)).or_insert((now, row));
        }
    }

    fn note(&self, found: Vec<Row>, now: Timestamp) {
        let mut rows = self.rows.lock().unwrap_or_else(PoisonError::into_inner);
        for row in found {
            if row.state.exit_code() > 0 {
                let detail = row.detail.as_deref().unwrap_or_default();
                tracing::warn!(
                    upstream = row.upstream,
                    source = row.source,
                    state = row.state.as_str(),
                    detail,
                    "probe"
                );
            }
            let key = (row.upstream.clone(), row.source);
            // A kept value says nothing new about the source.
            let known = rows.contains_key(&key);
            if row.state != State::Kept || !known {
                rows.insert(key, (now, row));
            }
        }
    }

    /// Sets the gauges of the results.
    pub fn measure(&self) {
        let mut tolerated: BTreeMap<String, u64> = BTreeMap::new();
        let mut broken: BTreeMap<String, u32> = BTreeMap::new();
        for (_, row) in self.rows() {
            let sum = tolerated.entry(row.upstream.clone()).or_default();
            *sum = sum.saturating_add(row.tolerated);
            let count = broken.entry(row.upstream).or_default();
            *count = count.saturating_add(u32::from(row.state.exit_code() > 0));
        }
        for (upstream, members) in tolerated {
            let members = u32::try_from(members).unwrap_or(u32::MAX);
            gauge!("svc_probe_tolerated_members", "upstream" => upstream).set(members);
        }
        for (upstream, sources) in broken {
            gauge!("svc_probe_broken_sources", "upstream" => upstream).set(sources);
        }
    }
}

/// Describes the gauges to the recorder.
pub fn describe() {
    describe_gauge!(
        "svc_probe_tolerated_members",
        "members of an upstream's answers at the last probe that the recorded form does not have"
    );
    describe_gauge!(
        "svc_probe_broken_sources",
        "sources of an upstream that were not ok at the last probe"
    );
}

/// Whether at least half of every budget and a twentieth of the quota are left.
fn has_room(source: &Source) -> bool {
    let budgets = source.budget();
    let within = budgets
        .iter()
        .all(|budget| budget.left.saturating_mul(2) >= budget.limit);
    let quota = source
        .quota()
        .is_none_or(|quota| quota.left.saturating_mul(20) >= quota.limit);
    within && quota
}
