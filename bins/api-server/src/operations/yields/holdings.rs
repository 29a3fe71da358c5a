//! What an account has, as the judgements over idle money take it.

use alloy_primitives::Address;
use readings::Figure;
use readings::defi::{chains, idle::Holding};
use readings::portfolio::{Asset, ChainBalances, Portfolio, Risk};

use crate::Sources;
use crate::operations::legs::Legs;
use crate::operations::portfolio::{Balances, balances};
use crate::reply::ErrorReply;

/// Balances of an account.
#[derive(Debug, Default)]
pub(crate) struct Held {
    /// What it has.
    pub(crate) holdings: Vec<Holding>,
    /// Chains that could not be read: what is there is not known.
    pub(crate) unread: Vec<u64>,
}

/// The balances of `address` on `chains`, or on every chain that is read.
///
/// # Errors
/// 503 `core_data_missing` when no chain could be read.
pub(crate) async fn holdings(
    sources: &Sources,
    address: Address,
    chains: Option<Vec<u64>>,
    legs: &mut Legs,
) -> Result<Held, ErrorReply> {
    let chains = chains.unwrap_or_else(|| chains::ids().collect());
    let Balances { portfolio, legs: read } = balances(sources, address, &chains).await?;
    legs.sources.extend(read.sources);
    legs.unavailable.extend(read.unavailable);
    Ok(held(&portfolio))
}

fn held(portfolio: &Portfolio) -> Held {
    let mut held = Held::default();
    for chain in &portfolio.chains {
        match &chain.tokens {
            Some(_) => held.holdings.extend(of_chain(chain)),
            None => held.unread.push(chain.chain_id),
        }
    }
    held
}

/// Balances of which the amount is known, without what is flagged.
fn of_chain(chain: &ChainBalances) -> impl Iterator<Item = Holding> + '_ {
    let known = chain.tokens.iter().flatten().filter(|balance| balance.risk != Risk::High);
    known.filter_map(|balance| {
        Some(Holding {
            chain_id: chain.chain_id,
            token: match balance.address {
                Asset::Native => None,
                Asset::Token(address) => Some(address.to_string()),
            },
            amount: balance.amount.as_deref()?.parse::<Figure>().ok()?,
            usd: balance.value_usd,
        })
    })
}
