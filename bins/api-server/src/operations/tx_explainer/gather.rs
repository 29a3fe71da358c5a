//! What helps to read a transaction: interfaces of verified contracts, signatures, tokens, the reason of a revert. Each of
//! it may be missing; the reading then says less.

use std::time::Duration;

use alloy_primitives::{Address, Selector};
use data_sources::{Error, Sourced};
use readings::chain::{ContractFacts, Knowledge, Needs, Record, knowledge::Candidate};
use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::Sources;
use crate::operations::legs::Legs;

/// Calls inside calls show only when the outer one is read.
const ROUNDS: usize = 3;
/// Time for all of it, of all transactions together: without it the answer is poorer, later than this it is none.
pub(super) const PATIENCE: Duration = Duration::from_millis(3_500);

/// The source of a record.
pub(super) fn source(record: &Record) -> &'static str {
    data_sources::evm::source(record.network.id)
}

/// Asks for what the record needs, and again for what then shows, until `deadline`.
pub(super) async fn gather(
    sources: &Sources,
    record: &Record,
    deadline: Instant,
    legs: &mut Legs,
) -> Knowledge {
    let mut known = Knowledge::default();
    let rounds = async {
        for _ in 0..ROUNDS {
            let needs = Needs::of(record, &known);
            if needs.is_empty() {
                break;
            }
            round(sources, record, &needs, &mut known, legs).await;
        }
    };
    let in_time = tokio::time::timeout_at(deadline, rounds).await.is_ok();
    if !in_time {
        tracing::debug!(
            chain = record.network.name,
            "what helps to read a transaction came too late"
        );
    }
    known
}

async fn round(
    sources: &Sources,
    record: &Record,
    needs: &Needs,
    known: &mut Knowledge,
    legs: &mut Legs,
) {
    let chain_id = record.network.id;
    let tokens: Vec<Address> = needs.tokens.iter().copied().collect();
    let selectors: Vec<Selector> = needs.selectors.iter().copied().collect();
    let facts = async {
        match tokens.is_empty() {
            true => None,
            false => Some(sources.evm.token_facts(chain_id, &tokens).await),
        }
    };
    let replay = async {
        match needs.replay {
            true => Some(sources.evm.replay(record).await),
            false => None,
        }
    };
    let (facts, replay, contracts, signatures) = tokio::join!(
        facts,
        replay,
        contracts(sources, chain_id, needs),
        signatures(sources, &selectors),
    );
    known.replay = known.replay.take().or(replay);
    match facts {
        Some(Ok(sourced)) => known.tokens.extend(legs.got(sourced)),
        Some(Err(error)) => {
            legs.failed(sources, &error);
            // Asked once is enough.
            known
                .tokens
                .extend(tokens.into_iter().map(|token| (token, Default::default())));
        }
        None => {}
    }
    for (address, outcome) in contracts {
        match outcome {
            Ok(sourced) => drop(known.contracts.insert(address, legs.got(sourced))),
            Err(error) => {
                legs.failed(sources, &error);
                known.unasked.insert(address);
            }
        }
    }
    for outcome in signatures {
        match outcome {
            Ok(sourced) => {
                for (selector, candidates) in legs.got(sourced) {
                    known
                        .candidates
                        .entry(selector)
                        .or_default()
                        .extend(candidates);
                }
            }
            Err(error) => legs.failed(sources, &error),
        }
    }
    for selector in selectors {
        known.candidates.entry(selector).or_default();
    }
}

/// The interfaces of contracts, with those of what they delegate to.
async fn contracts(
    sources: &Sources,
    chain_id: u64,
    needs: &Needs,
) -> Vec<(Address, Result<Sourced<ContractFacts>, Error>)> {
    let mut asked = JoinSet::new();
    for address in needs.contracts.iter().copied() {
        let sourcify = sources.sourcify.clone();
        let reader = sources.evm.clone();
        asked.spawn(async move {
            let outcome = async {
                let Sourced { value, sources } = sourcify.contract(chain_id, address).await?;
                let mut facts = value.facts.clone();
                let mut implementations = value.implementations.clone();
                // Proxies that nobody published still say where they delegate to.
                if implementations.is_empty() && !facts.has_functions() {
                    implementations.extend(reader.implementation(chain_id, address).await);
                }
                for implementation in implementations {
                    match sourcify.contract(chain_id, implementation).await {
                        Ok(published) => facts.delegates_to(implementation, &published.value.facts),
                        Err(_) => facts.delegates_to(implementation, &ContractFacts::default()),
                    }
                }
                Ok(Sourced {
                    value: facts,
                    sources,
                })
            };
            (address, outcome.await)
        });
    }
    asked.join_all().await
}

/// What the databases list for selectors: the second one is asked for those of which the first knows nothing.
async fn signatures(
    sources: &Sources,
    selectors: &[Selector],
) -> Vec<Result<Sourced<Vec<(Selector, Vec<Candidate>)>>, Error>> {
    if selectors.is_empty() {
        return Vec::new();
    }
    let first = sources.sourcify.signatures(selectors).await;
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
        let fourbyte = sources.fourbyte.clone();
        asked.spawn(async move {
            let found = fourbyte.signatures(selector).await;
            found.map(|sourced| sourced.map(|candidates| vec![(selector, candidates)]))
        });
    }
    let mut all = vec![first.map(|sourced| sourced.map(|listed| listed.into_iter().collect()))];
    all.extend(asked.join_all().await);
    all
}
