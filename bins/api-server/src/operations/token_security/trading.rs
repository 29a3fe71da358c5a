//! Live quotes both ways: can it be bought, can it be sold, and what does that cost.

use std::time::Duration;

use alloy_primitives::{Address, U256};
use data_sources::{Error, SourceToken, Sourced, okx::Okx};
use readings::security::{Probe, Quoted, Traded, Trades};

use super::super::legs::Legs;
use crate::Sources;

/// Dollars of the probes.
const SIZES: [u32; 2] = [10, 1000];
/// Time for a purchase and its sale.
const PATIENCE: Duration = Duration::from_secs(5);
/// The source of the quotes.
pub(in crate::operations) const SOURCE: &str = "okx.quote";

/// The probes of one token and who was asked.
#[derive(Debug, Default)]
pub(in crate::operations) struct Trading {
    pub(in crate::operations) trades: Trades,
    /// What is paid with.
    pub(in crate::operations) counter: Option<SourceToken>,
    asked: Vec<Result<Sourced<()>, Error>>,
}

/// Probes `token` against the first reviewed dollar token that it is not itself.
pub(in crate::operations) async fn probe(
    okx: &Okx,
    token: Address,
    max_age: Option<Duration>,
) -> Trading {
    let dollars = &okx.reviewed().source_tokens;
    let Some(counter) = dollars
        .iter()
        .find(|dollar| dollar.address != token)
        .cloned()
    else {
        return Trading::default();
    };
    let atoms_per_usd = 10u64
        .checked_pow(u32::from(counter.decimals))
        .unwrap_or_default();
    let one = |usd| both_ways(okx, counter.address, token, usd, atoms_per_usd, max_age);
    let (small, large) = tokio::join!(one(SIZES[0]), one(SIZES[1]));
    let mut trading = Trading {
        trades: Trades {
            probes: Vec::new(),
            atoms_per_usd,
        },
        counter: Some(counter),
        asked: Vec::new(),
    };
    for (probe, asked) in [small, large] {
        trading.trades.probes.push(probe);
        trading.asked.extend(asked);
    }
    trading
}

impl Trading {
    /// Lists who was asked. That there is no way is an answer, not a failure.
    pub(in crate::operations) fn list(&self, legs: &mut Legs, sources: &Sources) {
        for asked in &self.asked {
            match asked {
                Ok(found) => legs.got(found.clone()),
                Err(error) => legs.failed(sources, error),
            }
        }
    }
}

type Asked = Vec<Result<Sourced<()>, Error>>;

/// A purchase for so many dollars, and the sale of what it gives.
async fn both_ways(
    okx: &Okx,
    counter: Address,
    token: Address,
    usd: u32,
    atoms_per_usd: u64,
    max_age: Option<Duration>,
) -> (Probe, Asked) {
    let mut asked = Asked::new();
    let mut probe = Probe {
        usd,
        buy: late(),
        sell: late(),
    };
    let trade = async {
        let amount = U256::from(usd).saturating_mul(U256::from(atoms_per_usd));
        let bought = okx.shown_quote(counter, token, amount, max_age).await;
        probe.buy = outcome(bought, &mut asked);
        probe.sell = match &probe.buy {
            Traded::Quoted(quote) => {
                let sold = okx
                    .shown_quote(token, counter, quote.amount_out_atoms, max_age)
                    .await;
                outcome(sold, &mut asked)
            }
            Traded::NoRoute => Traded::Unavailable("nothing_bought".to_owned()),
            Traded::Unavailable(reason) => Traded::Unavailable(reason.clone()),
        };
    };
    // What was answered until then stays.
    let _ = tokio::time::timeout(PATIENCE, trade).await;
    (probe, asked)
}

fn late() -> Traded {
    Traded::Unavailable("upstream_timeout".to_owned())
}

fn outcome(answer: Result<Sourced<Quoted>, Error>, asked: &mut Asked) -> Traded {
    match answer {
        Ok(found) => {
            asked.push(Ok(Sourced {
                value: (),
                sources: found.sources,
            }));
            Traded::Quoted(found.value)
        }
        Err(Error::NoRoute { .. }) => Traded::NoRoute,
        Err(error) => {
            let reason = error.reason();
            asked.push(Err(error));
            Traded::Unavailable(reason)
        }
    }
}
