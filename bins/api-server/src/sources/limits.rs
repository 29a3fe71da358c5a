//! Budgets and quotas of the upstreams: where quotas are kept, and what operators see of both.

use std::sync::Arc;

use data_sources::{QuotaStore, QuotaStoreError, Stored, gauges};
use storage::{ServerStore, SqliteStore, StoreError};

use super::Sources;

/// Counters of quotas in the store beside the ledger.
struct InStore(Arc<SqliteStore>);

impl QuotaStore for InStore {
    fn add<'a>(&'a self, name: &'a str, period: u64, calls: u64) -> Stored<'a, u64> {
        Box::pin(async move { told(self.0.count(name, period, calls).await) })
    }

    fn spend<'a>(
        &'a self,
        family: &'a str,
        slice: u64,
        weight: u64,
        oldest: u64,
    ) -> Stored<'a, ()> {
        Box::pin(async move { told(self.0.use_window(family, slice, weight, oldest).await) })
    }

    fn spent<'a>(&'a self, family: &'a str, oldest: u64) -> Stored<'a, Vec<(u64, u64)>> {
        Box::pin(async move { told(self.0.window_use(family, oldest).await) })
    }
}

fn told<T>(outcome: Result<T, StoreError>) -> Result<T, QuotaStoreError> {
    outcome.map_err(|error| QuotaStoreError { code: error.code() })
}

/// Keeps what is used of all limits in `store`.
pub(super) async fn keep_limits(sources: &Sources, store: &Arc<SqliteStore>) {
    let store: Arc<dyn QuotaStore> = Arc::new(InStore(store.clone()));
    for source in sources.all() {
        if let Err(error) = source.keep_limits(store.clone()).await {
            // The next call that needs the counter tries again, and is refused without it.
            let upstream = source.spec().name;
            tracing::error!(upstream, %error, "what is used of an upstream's limits is not known");
        }
    }
}

/// Sets the gauges of every family and every quota.
pub(super) fn measure(sources: &Sources) {
    for source in sources.all() {
        gauges::budgets(source.budget());
        if let Some(quota) = source.quota() {
            gauges::quota(source.spec().name, &quota);
        }
    }
}
