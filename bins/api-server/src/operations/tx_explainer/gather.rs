//! Data that helps to explain a transaction: interfaces of verified contracts, signatures, tokens,
//! the reason of a revert. All of it may be missing; the explanation then says less.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use alloy_primitives::{Address, Selector};
use data_sources::sourcify::{self, Sourcify};
use data_sources::{Error, SourceError, SourceErrorKind, Sourced, fourbyte};
use data_sources::{Meter, evm::EvmReader};
use readings::chain::{
    ContractFacts, Knowledge, Needs, Record,
    knowledge::{Candidate, Replay},
};
use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::context::Context;
use crate::source_report::SourceReport;
use crate::sources::Chain;

/// The most rounds of requests. A call inside a call is only visible after the outer one was
/// decoded.
const ROUNDS: usize = 3;
/// The time limit of all this data for all transactions together. After it the explanation says
/// less instead of coming later.
pub(super) const PATIENCE: Duration = Duration::from_millis(3_500);

/// Data that helps to explain a transaction.
#[derive(Default)]
pub(super) struct Gathered {
    pub(super) known: Knowledge,
    /// The reason why symbols and units of tokens are missing.
    pub(super) tokens_missing: Option<String>,
}

/// The source of a record.
pub(super) fn source(record: &Record) -> &'static str {
    data_sources::evm::source(record.network.id)
}

/// Asks for the data that a record needs, and again for the needs that then appear, until
/// `deadline`.
pub(super) async fn gather(
    context: &Context,
    chain: &Chain,
    record: &Record,
    deadline: Instant,
    report: &mut SourceReport,
) -> Gathered {
    let mut gathered = Gathered::default();
    for place in 0..ROUNDS {
        let needs = Needs::of(record, &gathered.known);
        // The first round records what came too late.
        if needs.is_empty() || place > 0 && Instant::now() >= deadline {
            break;
        }
        round(
            context,
            chain,
            record,
            &needs,
            deadline,
            &mut gathered,
            report,
        )
        .await;
    }
    gathered
}

/// Asks for everything at once. A slow source does not discard the answers of the others.
async fn round(
    context: &Context,
    chain: &Chain,
    record: &Record,
    needs: &Needs,
    deadline: Instant,
    gathered: &mut Gathered,
    report: &mut SourceReport,
) {
    let chain_id = record.network.id;
    let tokens: Vec<Address> = needs.tokens.iter().copied().collect();
    let selectors: Vec<Selector> = needs.selectors.iter().copied().collect();
    let facts = async {
        let (reader, tokens) = (chain.evm.clone(), tokens.clone());
        let asked = async move { reader.token_facts(chain_id, &tokens).await };
        match needs.tokens.is_empty() {
            true => None,
            false => Some(by(deadline, source(record), asked).await),
        }
    };
    let replay = async {
        let (reader, record) = (chain.evm.clone(), record.clone());
        let name = source(&record);
        let run = async move { Ok(reader.replay(&record).await) };
        match needs.replay {
            true => Some(by(deadline, name, run).await),
            false => None,
        }
    };
    let (facts, replay, contracts, signatures) = tokio::join!(
        facts,
        replay,
        contracts(chain, chain_id, needs, deadline),
        signatures(chain, &selectors, deadline),
    );
    let known = &mut gathered.known;
    let replay =
        replay.map(|outcome| outcome.unwrap_or_else(|error| Replay::Unavailable(error.reason())));
    known.replay = known.replay.take().or(replay);
    match facts {
        Some(Ok(sourced)) => known.tokens.extend(report.accept(sourced)),
        Some(Err(error)) => {
            report.failed(context, &error);
            gathered.tokens_missing = Some(error.reason());
            // Each selector is asked for once.
            known
                .tokens
                .extend(tokens.into_iter().map(|token| (token, Default::default())));
        }
        None => {}
    }
    for Interface {
        address,
        outcome,
        failures,
    } in contracts
    {
        for error in failures {
            report.failed(context, &error);
        }
        match outcome {
            Ok(sourced) => drop(known.contracts.insert(address, report.accept(sourced))),
            Err(error) => {
                report.failed(context, &error);
                known.unasked.insert(address);
            }
        }
    }
    for outcome in signatures {
        match outcome {
            Ok(sourced) => {
                for (selector, candidates) in report.accept(sourced) {
                    known
                        .candidates
                        .entry(selector)
                        .or_default()
                        .extend(candidates);
                }
            }
            Err(error) => report.failed(context, &error),
        }
    }
    for selector in selectors {
        known.candidates.entry(selector).or_default();
    }
}

/// The known facts about a contract.
struct Interface {
    address: Address,
    outcome: Result<Sourced<ContractFacts>, Error>,
    /// The reasons why the contracts to which it delegates are unknown.
    failures: Vec<Error>,
}

/// The interfaces of contracts, including those to which they delegate.
async fn contracts(
    chain: &Chain,
    chain_id: u64,
    needs: &Needs,
    deadline: Instant,
) -> Vec<Interface> {
    let mut asked = JoinSet::new();
    for address in needs.contracts.iter().copied() {
        let (sourcify, reader) = (chain.sourcify.clone(), chain.evm.clone());
        asked.spawn(Meter::carry(interface(
            sourcify, reader, chain_id, address, deadline,
        )));
    }
    asked.join_all().await
}

async fn interface(
    database: Sourcify,
    reader: EvmReader,
    chain_id: u64,
    address: Address,
    deadline: Instant,
) -> Interface {
    let published = |address| {
        let database = database.clone();
        let asked = async move { database.contract(chain_id, address).await };
        by(deadline, sourcify::ABI, asked)
    };
    let mut failures = Vec::new();
    let outcome = match published(address).await {
        Ok(Sourced { value, sources }) => {
            let mut facts = value.facts.clone();
            let mut implementations = value.implementations.clone();
            // Even an unpublished proxy shows to which contract it delegates.
            if implementations.is_empty() && !facts.has_functions() {
                let asked = async move { Ok(reader.implementation(chain_id, address).await) };
                let node = data_sources::evm::source(chain_id);
                let found = by(deadline, node, asked).await;
                implementations.extend(found.ok().flatten());
            }
            for implementation in implementations {
                match published(implementation).await {
                    Ok(found) => facts.delegates_to(implementation, Some(&found.value.facts)),
                    Err(error) => {
                        facts.delegates_to(implementation, None);
                        failures.push(error);
                    }
                }
            }
            let value = facts;
            Ok(Sourced { value, sources })
        }
        Err(error) => Err(error),
    };
    Interface {
        address,
        outcome,
        failures,
    }
}

/// The databases' entries for selectors. The second database is asked for those that the first does
/// not know.
async fn signatures(
    chain: &Chain,
    selectors: &[Selector],
    deadline: Instant,
) -> Vec<Result<Sourced<Vec<(Selector, Vec<Candidate>)>>, Error>> {
    if selectors.is_empty() {
        return Vec::new();
    }
    let (database, asked) = (chain.sourcify.clone(), selectors.to_vec());
    let first = async move { database.signatures(&asked).await };
    let first = by(deadline, sourcify::SIGNATURES, first).await;
    let listed = |selector: &Selector| {
        let found = first
            .as_ref()
            .ok()
            .and_then(|sourced| sourced.value.get(selector));
        found.is_some_and(|candidates| !candidates.is_empty())
    };
    let mut asked = JoinSet::new();
    for selector in selectors
        .iter()
        .copied()
        .filter(|selector| !listed(selector))
    {
        let fourbyte = chain.fourbyte.clone();
        let found = async move { fourbyte.signatures(selector).await };
        asked.spawn(Meter::carry(async move {
            let found = by(deadline, fourbyte::SIGNATURES, found).await;
            found.map(|sourced| sourced.map(|listed| vec![(selector, listed.to_vec())]))
        }));
    }
    let owned = |listed: Arc<BTreeMap<Selector, Vec<Candidate>>>| {
        let rows = listed.iter();
        rows.map(|(selector, found)| (*selector, found.clone()))
            .collect()
    };
    let mut all = vec![first.map(|sourced| sourced.map(owned))];
    all.extend(asked.join_all().await);
    all
}

/// The result of `work` by the deadline. The work continues afterwards: a slow source is noticed,
/// and its late answer serves the next caller.
async fn by<T: Send + 'static>(
    deadline: Instant,
    source: &'static str,
    work: impl Future<Output = Result<T, Error>> + Send + 'static,
) -> Result<T, Error> {
    let kind = match tokio::time::timeout_at(deadline, tokio::spawn(Meter::carry(work))).await {
        Ok(Ok(outcome)) => return outcome,
        Ok(Err(_)) => SourceErrorKind::Unreachable,
        Err(_) => SourceErrorKind::Timeout {
            limit_ms: u64::try_from(PATIENCE.as_millis()).unwrap_or(u64::MAX),
        },
    };
    Err(SourceError { source, kind }.into())
}

#[cfg(test)]
mod tests {
    use tokio::sync::oneshot;

    use super::*;

    #[tokio::test]
    async fn late_work_is_listed_and_continues() {
        let (open, gate) = oneshot::channel::<()>();
        let (done, finished) = oneshot::channel();
        let slow = async move {
            let _ = gate.await;
            let _ = done.send(());
            Ok(1)
        };
        let late = by(Instant::now(), "sourcify.abi", slow).await.unwrap_err();
        assert_eq!(
            (late.source_id(), late.reason().as_str()),
            (Some("sourcify.abi"), "upstream_timeout")
        );
        open.send(()).unwrap();
        finished.await.expect("the work was not given up");
        let in_time = async { Ok(2) };
        let deadline = Instant::now() + PATIENCE;
        assert_eq!(by(deadline, "sourcify.abi", in_time).await.unwrap(), 2);
    }
}
