//! The rows of `/status` and `/freshness` about sources, nodes and datasets.

use custody::WalletFault;
use data_sources::Mode;
use data_sources::rpc::EndpointHealth;
use data_sources::transport::SourceHealth;
use jiff::Timestamp;
use route_catalog::Dataset;
use serde_json::{Value, json};

use crate::Sources;
use crate::answer::seconds;
use crate::sources::TOKEN_LIST_FRESH_SECONDS;

/// The recent health of one source.
pub(super) fn source_row(source: &SourceHealth, mode: Mode) -> Value {
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

/// The recent health of each chain's nodes. Their addresses often contain a key and are left out.
pub(super) fn chains(sources: &Sources) -> Vec<Value> {
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

/// The files of sub-wallets that cannot be used, and whom they belong to.
pub(super) fn wallet_files(sources: &Sources) -> Value {
    let faults = sources.wallets.faults.all().into_iter();
    let row = |WalletFault { owner, file, code }: WalletFault| {
        let owner = owner.to_string();
        json!({ "file": file, "owner": owner, "code": code })
    };
    faults.map(row).collect()
}

/// The age and the verdict of every dataset, computed now.
pub(super) async fn freshness(sources: &Sources, now: Timestamp) -> Value {
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

/// The routes that read a dataset, as their catalog rows declare.
fn routes_of(dataset: &str) -> Vec<&'static str> {
    let mut all = Dataset::ALL.into_iter();
    let known = all.find(|known| known.name() == dataset);
    let operations = known.into_iter().flat_map(Dataset::operations);
    operations.map(|operation| operation.route().path).collect()
}
