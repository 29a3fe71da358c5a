//! Balances without OKX's index: the native coin and listed tokens from the chain's nodes, and all
//! tokens with prices from its explorer if there is one.

use data_sources::blockscout::Blockscout;
use data_sources::evm::{EvmReader, Leg};
use data_sources::okx::Okx;
use data_sources::{Error, Meter, SourceError, SourceErrorKind, Sourced};
use std::collections::BTreeMap;
use std::time::Duration;

use alloy_primitives::Address;
use readings::chain::network::NATIVE_DECIMALS;
use readings::chain::{Network, TokenFacts};
use readings::portfolio::{Asset, ChainReading, Coverage, Holding, Risk, known_tokens, merge};
use tokio::task::JoinSet;

use crate::context::Context;
use crate::source_report::SourceReport;
use crate::sources::Accounts;

/// The time limit of one chain.
const PATIENCE: Duration = Duration::from_millis(4_500);
/// The time limit of a list that is either cached or not.
const GLANCE: Duration = Duration::from_millis(300);
/// The most tokens of a chain that are asked for.
const MAX_TOKENS: usize = 400;

/// The results of one chain: from its nodes, and from its explorer.
type ChainResult = (
    u64,
    Result<Sourced<Vec<Holding>>, Error>,
    Option<Result<Sourced<Vec<Holding>>, Error>>,
);

/// Reads the chains in parallel.
pub(super) async fn read(
    context: &Context,
    accounts: &Accounts,
    account: Address,
    chains: &[u64],
    report: &mut SourceReport,
) -> Vec<ChainReading> {
    let listed = listed(&accounts.okx, chains).await;
    let mut asked = JoinSet::new();
    for chain_id in chains.iter().copied() {
        let mut tokens = known_tokens(chain_id);
        if let Some(more) = listed.get(&chain_id) {
            tokens.extend(
                more.iter()
                    .copied()
                    .filter(|token| !tokens.contains(token))
                    .collect::<Vec<_>>(),
            );
        }
        tokens.truncate(MAX_TOKENS);
        let (reader, explorer) = (accounts.evm.clone(), accounts.blockscout.clone());
        asked.spawn(Meter::carry(async move {
            one(reader, explorer, chain_id, account, tokens).await
        }));
    }
    let mut results: BTreeMap<u64, ChainResult> = asked
        .join_all()
        .await
        .into_iter()
        .map(|result| (result.0, result))
        .collect();
    let mut readings = Vec::new();
    for chain_id in chains {
        let Some((_, nodes, explorer)) = results.remove(chain_id) else {
            continue;
        };
        readings.push(reading(context, *chain_id, nodes, explorer, report));
    }
    readings
}

/// The token list of chain 196, if it is still cached.
async fn listed(okx: &Okx, chains: &[u64]) -> BTreeMap<u64, Vec<Address>> {
    let mut found = BTreeMap::new();
    let home = okx.reviewed().chain_id;
    if chains.contains(&home)
        && let Ok(Ok(list)) = tokio::time::timeout(GLANCE, okx.tokens(None)).await
    {
        let tokens = list.value.tokens.iter().filter(|token| !token.is_native());
        found.insert(home, tokens.map(|token| token.address).collect());
    }
    found
}

async fn one(
    reader: EvmReader,
    explorer: Blockscout,
    chain_id: u64,
    account: Address,
    tokens: Vec<Address>,
) -> ChainResult {
    let nodes = async {
        let read =
            tokio::time::timeout(PATIENCE, from_nodes(&reader, chain_id, account, &tokens)).await;
        read.unwrap_or_else(|_| Err(too_late(chain_id, PATIENCE)))
    };
    let indexed = async {
        match Blockscout::covers(chain_id) {
            true => Some(explorer.tokens(chain_id, account).await),
            false => None,
        }
    };
    let (nodes, indexed) = tokio::join!(nodes, indexed);
    (chain_id, nodes, indexed)
}

/// Reads the native coin and the listed tokens in one batch. A failed call leaves a balance
/// unknown, not zero.
async fn from_nodes(
    reader: &EvmReader,
    chain_id: u64,
    account: Address,
    tokens: &[Address],
) -> Result<Sourced<Vec<Holding>>, Error> {
    let mut asked: Vec<Leg> = vec![reader.native_balance_leg(chain_id, account)?];
    asked.extend(
        tokens
            .iter()
            .map(|token| EvmReader::balance_leg(*token, account)),
    );
    let Sourced {
        value: batch,
        sources,
    } = reader.multicall(chain_id, &asked).await?;
    let amount = |place: usize| {
        batch
            .results
            .get(place)
            .and_then(Option::as_ref)
            .and_then(EvmReader::amount)
    };
    let network = Network::by_id(chain_id);
    let mut holdings = vec![Holding {
        asset: Asset::Native,
        symbol: network.map(|network| network.native_symbol.to_owned()),
        decimals: Some(NATIVE_DECIMALS),
        raw: amount(0),
        amount: None,
        price_usd: None,
        risk: Risk::Low,
    }];
    let read = tokens.iter().enumerate();
    // Zero balances stay in the list, so that a lagging index cannot bring back a token that the
    // chain says is gone.
    let read: Vec<_> = read
        .map(|(place, token)| (*token, amount(place.saturating_add(1))))
        .collect();
    let held: Vec<Address> = read
        .iter()
        .filter(|(_, raw)| raw.is_none_or(|raw| !raw.is_zero()))
        .map(|(token, _)| *token)
        .collect();
    // Symbols and units of the held tokens. Without them the balances are still true.
    let facts = match held.is_empty() {
        true => BTreeMap::new(),
        false => reader
            .token_facts(chain_id, &held)
            .await
            .map(|facts| facts.value)
            .unwrap_or_default(),
    };
    for (token, raw) in read {
        let TokenFacts { symbol, decimals } = facts.get(&token).cloned().unwrap_or_default();
        holdings.push(Holding {
            asset: Asset::Token(token),
            symbol,
            decimals,
            raw,
            amount: None,
            price_usd: None,
            risk: Risk::Unknown,
        });
    }
    Ok(Sourced {
        value: holdings,
        sources,
    })
}

fn reading(
    context: &Context,
    chain_id: u64,
    nodes: Result<Sourced<Vec<Holding>>, Error>,
    explorer: Option<Result<Sourced<Vec<Holding>>, Error>>,
    report: &mut SourceReport,
) -> ChainReading {
    let indexed = explorer.and_then(|result| match result {
        Ok(sourced) => Some(report.accept(sourced)),
        Err(error) => {
            report.failed(context, &error);
            None
        }
    });
    let (holdings, coverage) = match (nodes, indexed) {
        (Ok(nodes), Some(indexed)) => (Ok(merge(report.accept(nodes), indexed)), Coverage::Indexed),
        (Ok(nodes), None) => (Ok(report.accept(nodes)), Coverage::ListedTokens),
        (Err(error), Some(mut indexed)) => {
            report.failed(context, &error);
            // The explorer lists tokens only, so the native balance is unknown.
            indexed.push(unread_native(chain_id));
            (Ok(indexed), Coverage::Indexed)
        }
        (Err(error), None) => {
            report.failed(context, &error);
            (Err(error.reason()), Coverage::ListedTokens)
        }
    };
    ChainReading {
        chain_id,
        holdings,
        coverage,
    }
}

pub(super) fn unread_native(chain_id: u64) -> Holding {
    Holding {
        asset: Asset::Native,
        symbol: Network::by_id(chain_id).map(|network| network.native_symbol.to_owned()),
        decimals: Some(NATIVE_DECIMALS),
        raw: None,
        amount: None,
        price_usd: None,
        risk: Risk::Low,
    }
}

pub(super) fn too_late(chain_id: u64, patience: Duration) -> Error {
    let kind = SourceErrorKind::Timeout {
        limit_ms: u64::try_from(patience.as_millis()).unwrap_or(u64::MAX),
    };
    let source = data_sources::evm::source(chain_id);
    SourceError { source, kind }.into()
}
