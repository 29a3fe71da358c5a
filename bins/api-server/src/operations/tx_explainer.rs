//! `GET /tx-explainer`: finds a transaction on its chain and explains it. The outcome comes from
//! nodes; names and units only describe it and may be missing.

mod gather;
mod search;

use readings::chain::{Explanation, MAX_SHOWN, ShownAsset, Status, explain};
use serde::Serialize;
use serde_json::json;
use tokio::time::Instant;

use super::fault;
use crate::answer::{Answered, Method};
use crate::call::Call;
use crate::context::Context;
use crate::reply::ErrorReply;
use crate::source_report::SourceReport;
use crate::sources::Chain;

/// The bound for an old block, which cannot change any more.
const SETTLED_SECONDS: u64 = 7 * 86_400;
/// The bound for a young block, which might be replaced.
const RECENT_SECONDS: u64 = 60;
/// The bound for a pending transaction, which may be in a block the next moment.
const PENDING_SECONDS: u64 = 5;
/// Members that are null when there is no such thing.
const NONE: [&str; 3] = ["to", "decoded_call", "signature_confidence"];
const NONE_BUT_A_REASON: [&str; 4] = [
    "to",
    "decoded_call",
    "signature_confidence",
    "revert_reason",
];

/// `data`: the explanation of the transaction, and the other transactions with the same hash on
/// other chains.
#[derive(Serialize)]
struct Explained<'a> {
    #[serde(flatten)]
    first: &'a Explanation,
    /// The same hash on other chains.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    other_matches: &'a [Explanation],
    /// The chains that were searched.
    search: Searched,
}

#[derive(Serialize)]
struct Searched {
    /// Chains that were asked.
    chains: Vec<&'static str>,
    /// Chains among them that could not answer. The transaction may be there as well.
    unavailable: Vec<&'static str>,
}

/// Members that are null because tokens did not state their names or units.
fn unnamed(explained: &Explanation) -> Vec<&'static str> {
    let transfers = explained.transfers.iter().flatten();
    let changes = explained.balance_changes.iter().flatten();
    let approvals = explained.approvals.iter().flatten();
    let without = |assets: Vec<&ShownAsset>| {
        let any = |lacks: fn(&ShownAsset) -> bool| assets.iter().any(|asset| lacks(asset));
        (
            any(|asset| asset.symbol.is_none()),
            any(|asset| asset.amount.is_none()),
        )
    };
    let of_transfers = without(transfers.map(|transfer| &transfer.asset).collect());
    let of_changes = without(changes.map(|change| &change.asset).collect());
    let nameless = approvals
        .into_iter()
        .any(|approval| approval.symbol.is_none());
    let found = [
        ("transfers[].symbol", of_transfers.0),
        ("transfers[].amount", of_transfers.1),
        ("balance_changes[].symbol", of_changes.0),
        ("balance_changes[].amount", of_changes.1),
        ("approvals[].symbol", nameless),
    ];
    found
        .into_iter()
        .filter_map(|(member, lacks)| lacks.then_some(member))
        .collect()
}

pub(super) async fn answer(
    context: &Context,
    chain: &Chain,
    call: &Call,
) -> Result<Answered, ErrorReply> {
    let hash = call
        .parameters
        .hash("txHash")
        .ok_or_else(|| fault::bad_parameter("txHash", "a transaction hash is required"))?;
    let wanted = call.parameters.chain("chain").map(|chain| chain.id);
    let mut report = SourceReport::default();
    let found = search::search(context, chain, hash, wanted, call.max_age(), &mut report).await;
    if found.records.is_empty() {
        return Err(found.nothing());
    }
    let deadline = Instant::now() + gather::PATIENCE;
    let mut explanations: Vec<Explanation> = Vec::new();
    for record in &found.records {
        let field = if explanations.is_empty() {
            ""
        } else {
            "other_matches[]."
        };
        let gathered = gather::gather(context, chain, record, deadline, &mut report).await;
        let explained = explain(record, &gathered.known);
        let source = gather::source(record);
        if let Some(reason) = gathered.tokens_missing {
            for member in unnamed(&explained) {
                report.missing(&format!("{field}{member}"), reason.clone(), source);
            }
        }
        for (member, reason) in &explained.missing {
            if *reason != "not_applicable" {
                report.missing(&format!("{field}{member}"), reason.clone(), source);
            }
        }
        for (list, total) in &explained.cut {
            report.cut(&format!("{field}{list}"), MAX_SHOWN, *total);
        }
        explanations.push(explained);
    }
    for network in &found.unavailable {
        report.missing(
            "other_matches",
            "chain_unavailable",
            data_sources::evm::source(network.id),
        );
    }
    let Some((first, others)) = explanations.split_first() else {
        return Err(found.nothing());
    };
    let fresh_seconds = match first.status {
        Status::Pending => PENDING_SECONDS,
        _ if found
            .records
            .iter()
            .all(|record| chain.evm.is_settled(record)) =>
        {
            SETTLED_SECONDS
        }
        _ => RECENT_SECONDS,
    };
    let data = Explained {
        first,
        other_matches: others,
        search: Searched {
            chains: found.asked.clone(),
            unavailable: found.unavailable_names(),
        },
    };
    let reverted = explanations
        .iter()
        .any(|explained| explained.status == Status::Reverted);
    let source = found.records.first().map_or("", gather::source);
    let mut answered = Answered::new(json!(data), fresh_seconds).with_report(report);
    answered.none = if reverted { &NONE } else { &NONE_BUT_A_REASON };
    Ok(answered
        .origin("status", source, Method::Direct)
        .origin("transfers", source, Method::Derived)
        .origin("balance_changes", source, Method::Derived)
        .origin("action", source, Method::Derived))
}
