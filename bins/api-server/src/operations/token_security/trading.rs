//! Live quotes in both directions: whether a token can be bought and sold, and at what cost. A
//! quote binds nobody and costs no gas.

use std::time::Duration;

use alloy_primitives::{Address, U256};
use data_sources::{Error, SourceToken, Sourced, okx::Okx};
use jiff::Timestamp;
use readings::Figure;
use readings::security::{Probe, Quoted, Traded, Trades, atoms_worth, one_token};

use crate::context::Context;
use crate::source_report::SourceReport;

/// The sizes of the probes in dollars.
const SIZES: [u32; 2] = [10, 1000];
/// The time limit of a purchase and its sale.
const PATIENCE: Duration = Duration::from_secs(5);
/// The time limit for the sale of a token that cannot be bought.
const FURTHER_PATIENCE: Duration = Duration::from_millis(2_500);
/// The reason why the sale is not tried at first when there is no way to buy.
const NOTHING_BOUGHT: &str = "nothing_bought";
/// The source of the quotes.
pub(in crate::operations) const SOURCE: &str = "okx.quote";

/// The probes of one token, and the sources that were asked.
#[derive(Debug, Default)]
pub(in crate::operations) struct Trading {
    pub(in crate::operations) trades: Trades,
    /// The token that pays.
    pub(in crate::operations) counter: Option<SourceToken>,
    asked: Vec<Result<Sourced<()>, Error>>,
}

/// Probes `token` against the first reviewed dollar token other than itself.
pub(in crate::operations) async fn probe(
    okx: &Okx,
    token: Address,
    max_age: Option<Duration>,
) -> Trading {
    let Some(mut trading) = Trading::against_a_dollar(okx, token) else {
        return Trading::default();
    };
    let (small, large) = tokio::join!(
        trading.both_ways(okx, token, SIZES[0], max_age),
        trading.both_ways(okx, token, SIZES[1], max_age),
    );
    trading.add(small);
    trading.add(large);
    trading
}

/// Makes the smallest probe of [`probe`] alone.
pub(in crate::operations) async fn smallest(
    okx: &Okx,
    token: Address,
    max_age: Option<Duration>,
) -> Trading {
    let Some(mut trading) = Trading::against_a_dollar(okx, token) else {
        return Trading::default();
    };
    let small = trading.both_ways(okx, token, SIZES[0], max_age).await;
    trading.add(small);
    trading
}

impl Trading {
    fn against_a_dollar(okx: &Okx, token: Address) -> Option<Self> {
        let dollars = &okx.reviewed().source_tokens;
        let counter = dollars.iter().find(|dollar| dollar.address != token)?;
        let atoms_per_usd = 10u64.checked_pow(u32::from(counter.decimals))?;
        Some(Self {
            trades: Trades {
                probes: Vec::new(),
                atoms_per_usd,
            },
            counter: Some(counter.clone()),
            asked: Vec::new(),
        })
    }

    fn add(&mut self, (probe, asked): (Probe, QuoteResults)) {
        self.trades.probes.push(probe);
        self.asked.extend(asked);
    }

    /// Quotes a sale when the exchange knows no way to buy, because holders want to know. A known
    /// price sets the amount that is worth a probe's dollars. Without one, a whole token is tried.
    pub(in crate::operations) async fn sell_what_cannot_be_bought(
        &mut self,
        okx: &Okx,
        token: Address,
        price_usd: Option<Figure>,
        max_age: Option<Duration>,
    ) {
        let Some(counter) = self.counter.as_ref().map(|counter| counter.address) else {
            return;
        };
        let untried = |probe: &Probe| probe.buy == Traded::NoRoute;
        if !self.trades.probes.iter().any(untried) {
            return;
        }
        let asked = &mut self.asked;
        let probes = &mut self.trades.probes;
        let further = async {
            let decimals = match okx.tokens(None).await {
                Ok(list) => {
                    let mut listed = list.value.tokens.iter();
                    let decimals = listed
                        .find(|listed| listed.address == token)
                        .and_then(|listed| listed.decimals);
                    let named = list.map(|_| ());
                    asked.extend(decimals.map(|_| Ok(named.as_reference())));
                    decimals
                }
                Err(_) => None,
            };
            for probe in probes.iter_mut().filter(|probe| untried(probe)) {
                let amount = decimals.and_then(|decimals| match price_usd {
                    Some(price) => atoms_worth(probe.usd, price.get(), decimals),
                    None => one_token(decimals),
                });
                probe.sell = match amount {
                    Some(amount) => {
                        let sold = okx.shown_quote(token, counter, amount, max_age).await;
                        outcome(sold, asked)
                    }
                    None => Traded::Unavailable("decimals_unknown".to_owned()),
                };
            }
        };
        // Probes without an answer by then count as not tried.
        let _ = tokio::time::timeout(FURTHER_PATIENCE, further).await;
    }

    /// The time of the oldest quote.
    pub(in crate::operations) fn as_of(&self) -> Option<Timestamp> {
        let quotes = self.asked.iter().filter_map(|asked| asked.as_ref().ok());
        quotes
            .flat_map(|quote| &quote.sources)
            .filter(|source| !source.reference)
            .map(|source| source.as_of.unwrap_or(source.fetched_at))
            .min()
    }

    /// The failure behind a missing quote, unless the exchange itself answered that there is none.
    pub(in crate::operations) fn failure(&self) -> Option<&Error> {
        self.asked.iter().find_map(|asked| asked.as_ref().err())
    }

    /// Quotes a purchase of the given dollars, and the sale of its proceeds.
    async fn both_ways(
        &self,
        okx: &Okx,
        token: Address,
        usd: u32,
        max_age: Option<Duration>,
    ) -> (Probe, QuoteResults) {
        let mut asked = QuoteResults::new();
        let mut probe = Probe {
            usd,
            buy: late(),
            sell: late(),
        };
        let Some(counter) = self.counter.as_ref().map(|counter| counter.address) else {
            return (probe, asked);
        };
        let trade = async {
            let atoms_per_usd = U256::from(self.trades.atoms_per_usd);
            let amount = U256::from(usd).saturating_mul(atoms_per_usd);
            let bought = okx.shown_quote(counter, token, amount, max_age).await;
            probe.buy = outcome(bought, &mut asked);
            probe.sell = match &probe.buy {
                Traded::Quoted(quote) => {
                    let sold = okx
                        .shown_quote(token, counter, quote.amount_out_atoms, max_age)
                        .await;
                    outcome(sold, &mut asked)
                }
                Traded::NoRoute => Traded::Unavailable(NOTHING_BOUGHT.to_owned()),
                Traded::Unavailable(reason) => Traded::Unavailable(reason.clone()),
            };
        };
        // After the time limit, the answers that came until then stay.
        let _ = tokio::time::timeout(PATIENCE, trade).await;
        (probe, asked)
    }

    /// Lists the sources that were asked. An exchange without a way to trade has answered, so it
    /// did not fail.
    pub(in crate::operations) fn list(&self, report: &mut SourceReport, context: &Context) {
        for asked in &self.asked {
            match asked {
                Ok(found) => report.accept(found.clone()),
                Err(error) => report.failed(context, error),
            }
        }
    }
}

type QuoteResults = Vec<Result<Sourced<()>, Error>>;

fn late() -> Traded {
    Traded::Unavailable("upstream_timeout".to_owned())
}

fn outcome(answer: Result<Sourced<Quoted>, Error>, asked: &mut QuoteResults) -> Traded {
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
