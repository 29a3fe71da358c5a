//! All datasets of a server, and the tasks that keep the store beside them. The tasks end with the
//! server.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use data_sources::Clock;
use data_sources::defillama::PoolList;
use data_sources::x_api::XApi;
use getrandom::fill;
use jiff::Timestamp;
use readings::news::Digest;
use serde::Serialize;
use storage::ServerStore;
use tokio::task::JoinSet;

use super::{Current, Dataset, Job, NewsDigest, YieldPools};
use crate::memory::{self, Memory};

/// The time between two deletions of expired artifacts and leases.
const PRUNE_EVERY: Duration = Duration::from_secs(600);

/// The readers of every dataset.
#[derive(Debug, Clone)]
pub(crate) struct Snapshots {
    /// The news.
    pub(crate) news: Current<Digest>,
    /// The yield pools.
    pub(crate) yields: Current<PoolList>,
}

impl Default for Snapshots {
    /// The readers of a server that gathers nothing.
    fn default() -> Self {
        Self {
            news: Current::nothing(),
            yields: Current::nothing(),
        }
    }
}

/// The age of one dataset, for `/freshness` and `/status`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct DatasetAge {
    pub(crate) dataset: &'static str,
    pub(crate) snapshot_id: Option<String>,
    pub(crate) as_of: Option<String>,
    pub(crate) age_seconds: Option<u64>,
    pub(crate) fresh_seconds: u64,
    pub(crate) refused_seconds: u64,
    /// `fresh`, `stale`, or `unavailable` when there is no edition or it is too old to be served.
    pub(crate) verdict: &'static str,
}

impl Snapshots {
    /// The age of every dataset at `now`.
    pub(crate) fn ages(&self, now: Timestamp) -> Vec<DatasetAge> {
        vec![
            age_of::<NewsDigest>(&self.news, now),
            age_of::<YieldPools>(&self.yields, now),
        ]
    }
}

fn age_of<D: Dataset>(current: &Current<D::Value>, now: Timestamp) -> DatasetAge {
    let (fresh, refused) = (D::PACE.fresh.as_secs(), D::PACE.refused.as_secs());
    let held = current.latest();
    let age = held.as_ref().map(|held| held.age_seconds(now));
    DatasetAge {
        dataset: D::NAME,
        as_of: held.as_ref().map(|held| crate::answer::seconds(held.as_of)),
        snapshot_id: held.map(|held| held.snapshot_id.clone()),
        age_seconds: age,
        fresh_seconds: fresh,
        refused_seconds: refused,
        verdict: match age {
            Some(age) if age <= fresh => "fresh",
            Some(age) if age < refused => "stale",
            _ => "unavailable",
        },
    }
}

/// The running jobs of a server. They end when this is dropped.
#[derive(Default)]
pub(crate) struct Running {
    jobs: JoinSet<()>,
}

impl Running {
    /// Keeps `dataset` up to date from now on. Returns its reader.
    pub(crate) fn start<D: Dataset, S: ServerStore>(
        &mut self,
        dataset: D,
        store: Arc<S>,
        clock: Arc<dyn Clock>,
        holder: String,
    ) -> Current<D::Value> {
        let job = Job::new(dataset, store, clock, holder);
        let current = job.current();
        self.jobs.spawn(job.run());
        current
    }
}

impl Running {
    /// Keeps readings of tokens in the store.
    pub(crate) fn remember<S: ServerStore>(
        &mut self,
        memory: Memory,
        store: Arc<S>,
        clock: Arc<dyn Clock>,
    ) {
        self.jobs.spawn(memory::keep(memory, store, clock));
    }

    /// Keeps paid posts in the store.
    pub(crate) fn keep_posts<S: ServerStore>(
        &mut self,
        x_api: XApi,
        store: Arc<S>,
        clock: Arc<dyn Clock>,
    ) {
        if x_api.source().disabled().is_none() {
            self.jobs.spawn(memory::posts::keep(x_api, store, clock));
        }
    }

    /// Deletes expired records from the store, now and periodically.
    pub(crate) fn prune<S: ServerStore>(&mut self, store: Arc<S>, clock: Arc<dyn Clock>) {
        self.jobs.spawn(async move {
            let mut ticks = tokio::time::interval(PRUNE_EVERY);
            loop {
                ticks.tick().await;
                let now = u64::try_from(clock.now().as_second()).unwrap_or_default();
                if let Err(error) = store.prune(now).await {
                    tracing::warn!(%error, "the store cannot be pruned");
                }
            }
        });
    }
}

impl fmt::Debug for Running {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Running")
            .field("jobs", &self.jobs.len())
            .finish()
    }
}

/// A name for this server among those that share a store.
pub(crate) fn holder() -> String {
    let mut bytes = [0; 8];
    // Without randomness, the process number makes the name.
    match fill(&mut bytes) {
        Ok(()) => alloy_primitives::hex::encode(bytes),
        Err(_) => std::process::id().to_string(),
    }
}
