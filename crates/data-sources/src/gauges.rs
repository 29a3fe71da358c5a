//! Upstreams' remaining limits and states, as gauges. All servers show them in this form.

use metrics::{describe_gauge, gauge};

use crate::{
    budget::{BudgetState, QuotaState},
    transport::HealthState,
};

/// Describes the gauges to the recorder.
pub fn describe() {
    describe_gauge!(
        "svc_upstream_state",
        "1 for the present state of an upstream call, according to its last calls"
    );
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
}

/// Sets `svc_upstream_state` of one call: 1 for its current state, 0 for every other.
pub fn state(call: &str, state: HealthState) {
    for name in HealthState::ALL {
        let is_in = if name == state { 1.0 } else { 0.0 };
        gauge!("svc_upstream_state", "upstream" => call.to_owned(), "state" => name.as_str())
            .set(is_in);
    }
}

/// Sets the gauges of the families' remaining budgets.
pub fn budgets(budgets: impl IntoIterator<Item = BudgetState>) {
    for budget in budgets {
        gauge!("svc_upstream_budget_left", "family" => budget.family.clone()).set(budget.left);
        gauge!("svc_upstream_budget_limit", "family" => budget.family).set(budget.limit);
    }
}

/// Sets the gauge of the remaining quota of an upstream.
pub fn quota(upstream: &'static str, quota: &QuotaState) {
    gauge!("svc_upstream_quota_left", "upstream" => upstream).set(exact(quota.left));
    gauge!("svc_upstream_quota_limit", "upstream" => upstream).set(exact(quota.limit));
}

/// A quota as a gauge takes it.
fn exact(calls: u64) -> u32 {
    u32::try_from(calls).unwrap_or(u32::MAX)
}
