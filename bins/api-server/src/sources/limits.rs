//! Budgets and quotas of the upstreams: where the counters are stored, and the metrics of both.

use std::sync::Arc;

use data_sources::{QuotaStore, gauges};
use storage::AnyStore;

use super::Sources;

/// Keeps the counters of all limits in `store`.
pub(super) async fn keep_limits(sources: &Sources, store: &Arc<AnyStore>) {
    let store: Arc<dyn QuotaStore> = store.clone();
    for source in sources.all() {
        if let Err(error) = source.keep_limits(store.clone()).await {
            // The next call that needs the counter tries again, and is refused without it.
            let upstream = source.spec().name;
            tracing::error!(upstream, %error, "the counters of an upstream's limits cannot be read");
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
