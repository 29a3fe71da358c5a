//! Budgets and quotas of the upstreams: where quotas are kept, and what operators see of both.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use data_sources::{QuotaStore, QuotaStoreError};
use ledger::{Shelf, SqliteShelf};
use metrics::{describe_gauge, gauge};

use super::Sources;

/// Counters of quotas on the shelf.
struct OnShelf(Arc<SqliteShelf>);

impl QuotaStore for OnShelf {
    fn add<'a>(
        &'a self,
        name: &'a str,
        period: u64,
        calls: u64,
    ) -> Pin<Box<dyn Future<Output = Result<u64, QuotaStoreError>> + Send + 'a>> {
        Box::pin(async move {
            let total = self.0.count(name, period, calls).await;
            total.map_err(|error| QuotaStoreError { code: error.code() })
        })
    }
}

/// Keeps the counters of all quotas on `shelf`.
pub(super) async fn keep_quotas(sources: &Sources, shelf: &Arc<SqliteShelf>) {
    let store: Arc<dyn QuotaStore> = Arc::new(OnShelf(shelf.clone()));
    for source in sources.all() {
        if let Err(error) = source.keep_quotas(store.clone()).await {
            // The next call that needs the counter tries again, and is refused without it.
            let upstream = source.spec().name;
            tracing::error!(upstream, %error, "the quota of an upstream is not known");
        }
    }
}

/// Sets the gauges of every family and every quota.
pub(super) fn measure(sources: &Sources) {
    describe_gauge!(
        "svc_upstream_budget_left",
        "weight of calls that a family of an upstream may take now"
    );
    describe_gauge!(
        "svc_upstream_budget_limit",
        "weight of calls that a family of an upstream may take in its window"
    );
    describe_gauge!(
        "svc_upstream_quota_left",
        "calls left of an upstream's day or month"
    );
    describe_gauge!(
        "svc_upstream_quota_limit",
        "calls of an upstream's day or month"
    );
    for source in sources.all() {
        for budget in source.budget() {
            gauge!("svc_upstream_budget_left", "family" => budget.family.clone()).set(budget.left);
            gauge!("svc_upstream_budget_limit", "family" => budget.family).set(budget.limit);
        }
        if let Some(quota) = source.quota() {
            let upstream = source.spec().name;
            gauge!("svc_upstream_quota_left", "upstream" => upstream).set(exact(quota.left));
            gauge!("svc_upstream_quota_limit", "upstream" => upstream).set(exact(quota.limit));
        }
    }
}

/// A quota as a gauge takes it.
fn exact(calls: u64) -> u32 {
    u32::try_from(calls).unwrap_or(u32::MAX)
}
