//! `GET /portfolio`: the token balances of an account on many chains. An unknown balance is listed
//! as unavailable and is never zero.

mod fallback;
mod native;

use std::collections::{BTreeMap, BTreeSet};

use alloy_primitives::Address;
use readings::chain::NETWORKS;
use readings::portfolio::{Asset, ChainReading, ChainStatus, Holding, Portfolio, portfolio};

use super::fault;
use crate::answer::{Answered, Cut, Method, Part, Warning};
use crate::call::Call;
use crate::context::Context;
use crate::reply::ErrorReply;
use crate::source_report::SourceReport;
use crate::sources::Accounts;

/// For how many seconds the balances count as fresh. They may change with every block.
const FRESH_SECONDS: u64 = 15;
/// Members of a balance that are null for a reason of their chain.
const NULL_BY_CHAIN: [(&str, &[&str]); 4] = [
    ("balance_unavailable", &["raw", "amount", "value_usd"]),
    ("decimals_unknown", &["decimals", "amount", "value_usd"]),
    ("price_unknown", &["price_usd", "value_usd"]),
    ("value_out_of_range", &["value_usd"]),
];

/// The balances of an account, and their sources.
#[derive(Debug)]
pub(crate) struct Balances {
    /// The balances.
    pub(crate) portfolio: Portfolio,
    /// The sources, and the missing fields.
    pub(crate) report: SourceReport,
    /// The age of the balances, and of the prices of native coins that have a source of their own.
    pub(crate) parts: Vec<Part>,
}

pub(super) async fn answer(
    context: &Context,
    accounts: &Accounts,
    call: &Call,
) -> Result<Answered, ErrorReply> {
    let address = call.address_or_own()?;
    let chains: Vec<u64> = match call.parameters.chains("chains") {
        Some(chains) => chains.iter().map(|chain| chain.id).collect(),
        None => NETWORKS.iter().map(|network| network.id).collect(),
    };
    let Balances {
        portfolio,
        mut report,
        parts,
    } = balances(context, accounts, address, &chains).await?;
    let source = report.sources.first().map_or("", |source| source.source);
    let mut cuts = Vec::new();
    for chain in &portfolio.chains {
        let reason = chain.reasons.first().map_or("unavailable", String::as_str);
        let mut missing = |member: &str| {
            let source = data_sources::evm::source(chain.chain_id);
            report.missing(&format!("chains[].{member}"), reason, source);
        };
        if let (Some(shown), Some(total)) = (&chain.tokens, chain.tokens_total)
            && total > shown.len()
        {
            let place = format!("chains[chain_id={}].tokens", chain.chain_id);
            cuts.extend(Cut::of(&place, shown.len(), total));
        }
        if chain.usd.is_none() {
            missing("usd");
        }
        if chain.status == ChainStatus::Unavailable {
            missing("tokens");
            missing("tokens_total");
        }
    }
    report.cut.extend(cuts);
    if portfolio.total_usd.is_none() {
        report.missing("total_usd", "no_value_known", source);
    }
    for (reason, members) in NULL_BY_CHAIN {
        let holds = |reasons: &[String]| reasons.iter().any(|known| known == reason);
        if portfolio.chains.iter().any(|chain| holds(&chain.reasons)) {
            for member in members {
                report.missing(&format!("chains[].tokens[].{member}"), reason, source);
            }
        }
    }
    let mut answered = Answered::of_parts(&portfolio, parts)
        .with_report(report)
        .origin("total_usd", source, Method::Derived)
        .origin("chains", source, Method::Direct);
    if let Some((chain_id, token)) = portfolio.unsupported() {
        let address = match token.address {
            Asset::Native => String::new(),
            Asset::Token(address) => address.to_checksum(None),
        };
        answered.warnings.push(Warning {
            code: "price_unverified",
            message: format!(
                "most of total_usd is the token {address} on chain {chain_id}, by the price of one source alone: \
                 check what a sale gives"
            ),
        });
    }
    Ok(answered)
}

/// Reads the balances of an account on `chains`. On the chains that OKX's index covers, the index
/// answers, and a node provides the native balance if the index lists none. On other chains, and
/// without the index, nodes and explorers answer chain by chain. Native balances without a price
/// get one from a source that needs no key.
///
/// # Errors
///
/// `core_data_missing` when no chain could be read.
pub(crate) async fn balances(
    context: &Context,
    accounts: &Accounts,
    address: Address,
    chains: &[u64],
) -> Result<Balances, ErrorReply> {
    let mut report = SourceReport::default();
    let indexed = indexed(context, accounts, address, chains, &mut report).await;
    let others: Vec<u64> = chains
        .iter()
        .copied()
        .filter(|chain| !indexed.contains_key(chain))
        .collect();
    let mut aside = SourceReport::default();
    let (indexed, others) = tokio::join!(
        native::read(context, accounts, address, indexed, &mut report),
        fallback::read(context, accounts, address, &others, &mut aside),
    );
    report.join(aside);
    let mut readings: Vec<ChainReading> = indexed.into_iter().chain(others).collect();
    let place = |reading: &ChainReading| chains.iter().position(|id| *id == reading.chain_id);
    readings.sort_by_key(place);
    let mut prices = SourceReport::default();
    native::price(context, accounts, &mut readings, &mut prices).await;
    let mut parts = vec![Part::of("balances", &report.sources, FRESH_SECONDS)];
    if !prices.core().is_empty() {
        let fresh = native::PRICE_FRESH_SECONDS;
        parts.push(Part::of("native_prices", &prices.sources, fresh));
    }
    report.join(prices);
    let portfolio = portfolio(address, readings);
    let failed = portfolio
        .chains
        .iter()
        .all(|chain| chain.status == ChainStatus::Unavailable);
    if failed {
        let reason = portfolio
            .chains
            .first()
            .and_then(|chain| chain.reasons.first());
        return Err(fault::core_missing(
            "balances",
            reason.map_or("unavailable", String::as_str),
        ));
    }
    Ok(Balances {
        portfolio,
        report,
        parts,
    })
}

/// The index's balances on each chain that it covers. When it lists nothing on a chain, only its
/// own list of chains tells whether it covers the chain. If that is unknown, other sources read the
/// chain.
async fn indexed(
    context: &Context,
    accounts: &Accounts,
    address: Address,
    chains: &[u64],
    report: &mut SourceReport,
) -> BTreeMap<u64, Vec<Holding>> {
    let (balances, covered) = tokio::join!(
        accounts.okx.balances(address, chains),
        accounts.okx.balance_chains(),
    );
    let mut listed = match balances {
        Ok(sourced) => report.accept(sourced),
        Err(error) => {
            report.failed(context, &error);
            return BTreeMap::new();
        }
    };
    let covered = match covered {
        // The list of chains does not age the balances.
        Ok(sourced) => report.accept(sourced.as_reference()),
        Err(error) => {
            report.failed(context, &error);
            std::sync::Arc::new(BTreeSet::new())
        }
    };
    let of = |chain: &u64| match listed.remove(chain) {
        Some(holdings) => Some((*chain, holdings)),
        None => covered.contains(chain).then(|| (*chain, Vec::new())),
    };
    chains.iter().filter_map(of).collect()
}
