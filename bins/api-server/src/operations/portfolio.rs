//! `GET /portfolio`.

mod fallback;

use alloy_primitives::Address;
use readings::chain::NETWORKS;
use readings::portfolio::{ChainReading, ChainStatus, Coverage, Portfolio, portfolio};

use super::{fault, sub_wallet};
use crate::answer::{Answered, Method};
use crate::call::Call;
use crate::context::Context;
use crate::reply::ErrorReply;
use crate::source_report::SourceReport;
use crate::sources::Accounts;

/// Balances change with every block.
const FRESH_SECONDS: u64 = 15;
/// Members of a balance that are null for a reason of their chain.
const GAPS: [(&str, &[&str]); 4] = [
    ("balance_unavailable", &["raw", "amount", "value_usd"]),
    ("decimals_unknown", &["decimals", "amount", "value_usd"]),
    ("price_unknown", &["price_usd", "value_usd"]),
    ("value_out_of_range", &["value_usd"]),
];

/// What an account has, and who said so.
#[derive(Debug)]
pub(crate) struct Balances {
    /// What it has.
    pub(crate) portfolio: Portfolio,
    /// The sources, and what could not be had of them.
    pub(crate) report: SourceReport,
}

pub(super) async fn answer(
    context: &Context,
    accounts: &Accounts,
    call: &Call,
) -> Result<Answered, ErrorReply> {
    let address = sub_wallet::address_or_own(call)?;
    let chains: Vec<u64> = match call.parameters.chains("chains") {
        Some(chains) => chains.iter().map(|chain| chain.id).collect(),
        None => NETWORKS.iter().map(|network| network.id).collect(),
    };
    let Balances {
        portfolio,
        mut report,
    } = balances(context, accounts, address, &chains).await?;
    let source = report.sources.first().map_or("", |source| source.source);
    for chain in &portfolio.chains {
        if chain.status == ChainStatus::Unavailable {
            let reason = chain.reasons.first().map_or("unavailable", String::as_str);
            for member in ["usd", "tokens"] {
                report.missing(
                    &format!("chains[].{member}"),
                    reason,
                    data_sources::evm::source(chain.chain_id),
                );
            }
        }
    }
    for (reason, members) in GAPS {
        let holds = |reasons: &[String]| reasons.iter().any(|known| known == reason);
        if portfolio.chains.iter().any(|chain| holds(&chain.reasons)) {
            for member in members {
                report.missing(&format!("chains[].tokens[].{member}"), reason, source);
            }
        }
    }
    Ok(Answered::new(&portfolio, FRESH_SECONDS)
        .with_report(report)
        .origin("total_usd", source, Method::Derived)
        .origin("chains", source, Method::Direct))
}

/// What an account has on `chains`: as OKX's index knows it; without it, chain by chain from nodes and explorers.
///
/// # Errors
///
/// `core_data_missing` when nothing could be read of any chain.
pub(crate) async fn balances(
    context: &Context,
    accounts: &Accounts,
    address: Address,
    chains: &[u64],
) -> Result<Balances, ErrorReply> {
    let mut report = SourceReport::default();
    let readings: Vec<ChainReading> = match accounts.okx.balances(address, chains).await {
        Ok(sourced) => {
            let mut found = report.got(sourced);
            let reading = |chain_id: &u64| ChainReading {
                chain_id: *chain_id,
                holdings: found
                    .remove(chain_id)
                    .ok_or_else(|| "not_covered".to_owned()),
                coverage: Coverage::Indexed,
            };
            chains.iter().map(reading).collect()
        }
        Err(error) => {
            report.failed(context, &error);
            fallback::read(context, accounts, address, chains, &mut report).await
        }
    };
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
    Ok(Balances { portfolio, report })
}
