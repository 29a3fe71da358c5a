//! The balances of an account for the routes about idle money. An unknown balance is listed, and
//! never counts as nothing.

use alloy_primitives::Address;
use readings::Figure;
use readings::defi::{assets, chains, idle::Holding};
use readings::portfolio::{Asset, Balance, Portfolio, Risk};

use crate::answer::Part;
use crate::context::Context;
use crate::operations::portfolio::{Balances, balances};
use crate::reply::ErrorReply;
use crate::source_report::SourceReport;
use crate::sources::Accounts;

/// The reasons why a chain's answer may lack balances that could earn.
const PARTLY: [&str; 2] = ["only_listed_tokens", "native_balance_unread"];

/// Balances of an account.
#[derive(Debug, Default)]
pub(crate) struct Held {
    /// The balances.
    pub(crate) holdings: Vec<Holding>,
    /// Chains that could not be read. Their balances are unknown.
    pub(crate) unread: Vec<u64>,
    /// Chains that were read in part. Other tokens, or the chain's own coin, are unknown.
    pub(crate) partly_read: Vec<u64>,
    /// Whether the amount of a token that could earn is unknown.
    pub(crate) uncertain: bool,
    /// The age of the balances and of the prices of native coins.
    pub(crate) parts: Vec<Part>,
}

/// Reads the balances of `address` on `chains`, or on every readable chain. Unknown balances are
/// listed as missing in `field`.
///
/// # Errors
/// 503 `core_data_missing` when no chain could be read.
pub(crate) async fn holdings(
    context: &Context,
    accounts: &Accounts,
    address: Address,
    chains: Option<Vec<u64>>,
    field: &str,
    report: &mut SourceReport,
) -> Result<Held, ErrorReply> {
    let chains = chains.unwrap_or_else(|| chains::ids().collect());
    let Balances {
        portfolio,
        report: read,
        parts,
    } = balances(context, accounts, address, &chains).await?;
    let source = read.sources.first().map_or("", |source| source.source);
    report.sources.extend(read.sources);
    let mut held = held(&portfolio);
    held.parts = parts;
    if !held.unread.is_empty() {
        report.missing(field, "chain_unavailable", source);
    }
    if !held.partly_read.is_empty() {
        report.missing(field, "chain_partly_read", source);
    }
    if held.uncertain {
        report.missing(field, "balance_unavailable", source);
    }
    Ok(held)
}

fn held(portfolio: &Portfolio) -> Held {
    let mut held = Held::default();
    for chain in &portfolio.chains {
        match &chain.tokens {
            Some(balances) => {
                let partly = |reason: &String| PARTLY.contains(&reason.as_str());
                if chain.reasons.iter().any(partly) {
                    held.partly_read.push(chain.chain_id);
                }
                held.count_in(chain.chain_id, balances);
            }
            None => held.unread.push(chain.chain_id),
        }
    }
    held
}

impl Held {
    /// Adds the balances that are not flagged.
    fn count_in(&mut self, chain_id: u64, balances: &[Balance]) {
        for balance in balances.iter().filter(|balance| balance.risk != Risk::High) {
            let token = match balance.address {
                Asset::Native => None,
                Asset::Token(address) => Some(address.to_string()),
            };
            let amount = balance
                .amount
                .as_deref()
                .and_then(|amount| amount.parse::<Figure>().ok());
            match amount {
                Some(amount) => self.holdings.push(Holding {
                    chain_id,
                    token,
                    amount,
                    usd: balance.value_usd,
                }),
                None => self.uncertain |= could_earn(chain_id, token.as_deref()),
            }
        }
    }
}

fn could_earn(chain_id: u64, token: Option<&str>) -> bool {
    match token {
        Some(address) => assets::find(chain_id, address).is_some(),
        None => assets::native_class(chain_id).is_some(),
    }
}
