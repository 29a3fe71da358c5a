//! Searches a transaction on every chain at once, because a hash does not name its chain.

use std::time::Duration;

use alloy_primitives::B256;
use data_sources::{Error, Meter, SourceError, SourceErrorKind};
use readings::chain::{NETWORKS, Network, Record};
use route_catalog::ErrorCode;
use tokio::task::JoinSet;

use crate::context::Context;
use crate::reply::ErrorReply;
use crate::source_report::SourceReport;
use crate::sources::Chain;

/// The time limit of one chain with all of its nodes.
const PATIENCE: Duration = Duration::from_secs(6);

/// The result of the search.
pub(super) struct Found {
    /// The transaction on each chain that has it, by chain id.
    pub(super) records: Vec<Record>,
    /// Chains that were asked.
    pub(super) asked: Vec<&'static str>,
    /// Chains among them that could not answer.
    pub(super) unavailable: Vec<&'static Network>,
}

/// Searches one chain, or all of them in parallel.
pub(super) async fn search(
    context: &Context,
    chain: &Chain,
    hash: B256,
    wanted: Option<u64>,
    max_age: Option<Duration>,
    report: &mut SourceReport,
) -> Found {
    let networks: Vec<&'static Network> = NETWORKS
        .iter()
        .filter(|network| wanted.is_none_or(|id| id == network.id))
        .collect();
    let mut looks = JoinSet::new();
    for network in &networks {
        let (reader, network) = (chain.evm.clone(), *network);
        looks.spawn(Meter::carry(async move {
            let look =
                tokio::time::timeout(PATIENCE, reader.transaction(network.id, hash, max_age)).await;
            let late = |_| Err(too_late(network));
            (network, look.unwrap_or_else(late))
        }));
    }
    let mut outcomes = looks.join_all().await;
    outcomes.sort_by_key(|(network, _)| network.id);
    let mut found = Found {
        records: Vec::new(),
        asked: networks.iter().map(|network| network.name).collect(),
        unavailable: Vec::new(),
    };
    for (network, outcome) in outcomes {
        match outcome {
            Ok(sourced) => found.records.extend(report.accept(sourced)),
            Err(error) => {
                report.failed(context, &error);
                found.unavailable.push(network);
            }
        }
    }
    found
}

impl Found {
    pub(super) fn unavailable_names(&self) -> Vec<&'static str> {
        self.unavailable
            .iter()
            .map(|network| network.name)
            .collect()
    }

    /// The error without a transaction. It is "not found" only if every chain answered.
    pub(super) fn nothing(&self) -> ErrorReply {
        if self.unavailable.is_empty() {
            let chains = self.asked.join(", ");
            return ErrorReply::new(
                ErrorCode::NotFound,
                format!("no transaction with this hash on {chains}"),
            )
            .detail("reason", "tx_not_found");
        }
        let message = "some chains could not be asked, and the others do not know the transaction";
        ErrorReply::new(ErrorCode::UpstreamUnavailable, message)
            .detail("reason", "chains_unavailable")
            .detail("unavailable", self.unavailable_names())
            .retryable(true)
    }
}

fn too_late(network: &'static Network) -> Error {
    let kind = SourceErrorKind::Timeout {
        limit_ms: u64::try_from(PATIENCE.as_millis()).unwrap_or(u64::MAX),
    };
    let source = data_sources::evm::source(network.id);
    SourceError { source, kind }.into()
}
