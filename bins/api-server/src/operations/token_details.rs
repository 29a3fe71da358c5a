//! `GET /token-details`: price, market capitalisation and change of the coin with a symbol. Several
//! coins may have the symbol: the answer warns and names how many.

use std::sync::Arc;
use std::time::Duration;

use data_sources::{Error, Provenance, SourceError, SourceErrorKind, Sourced};
use readings::symbol::SymbolKey;
use readings::token::coin::{Coin, choose};
use readings::token::pools;

use super::fault;
use crate::answer::{Answered, Cut, Method, Unavailable, Warning};
use crate::call::Call;
use crate::context::Context;
use crate::reply::ErrorReply;
use crate::sources::Tokens;

/// For how many seconds a coin of a catalogue counts as fresh. Catalogues update a coin every
/// minute or two.
const FRESH_SECONDS: u64 = 300;
/// For how many seconds the price of a pool counts as fresh. It is as old as the end of the pool's
/// trading window, which is at least five minutes.
const POOL_FRESH_SECONDS: u64 = 600;
const SEARCH: &str = "dexscreener.search";
const MARKETS: &str = "coingecko.markets";
const CONTRACTS: &str = "coingecko.contracts";
/// The time limit of the first catalogue while another one can replace it.
const PATIENCE: Duration = Duration::from_millis(1_200);
/// The time limit of contracts, which only complete a coin.
const CONTRACTS_PATIENCE: Duration = Duration::from_millis(900);

pub(super) async fn answer(
    context: &Context,
    tokens: &Tokens,
    call: &Call,
) -> Result<Answered, ErrorReply> {
    let text = call.parameters.text("symbol").unwrap_or_default();
    let symbol = SymbolKey::new(text)
        .ok_or_else(|| fault::bad_parameter("symbol", "expected a symbol of 1 to 64 characters"))?;
    let found = details(context, tokens, &symbol, call.max_age())
        .await
        .map_err(|error| fault::reply(&error))?;
    let source = found.source();
    let coin = &found.value;
    let mut answered = Answered::new(coin, fresh_seconds(&found.sources))
        .origin("price_usd", source, Method::Direct)
        .origin("market_cap_usd", source, Method::Direct);
    answered.warnings = warnings(coin);
    answered.unavailable = missing_fields(coin, &found.sources);
    answered.cut.extend(cut(coin));
    answered.sources = found.sources;
    Ok(answered)
}

/// Finds the coin with the symbol: at CoinGecko with its contracts, otherwise at CoinPaprika.
///
/// A symbol that CoinGecko does not know is searched among the pairs of exchanges. That search is
/// skipped while CoinGecko does not answer, because a token of an exchange could then imitate a
/// listed coin unnoticed.
///
/// # Errors
///
/// [`Error::NotFound`] (`symbol_not_found`) when every source that could be asked answered that it
/// does not know the symbol. Otherwise the reason of the failure.
pub(super) async fn details(
    context: &Context,
    tokens: &Tokens,
    symbol: &SymbolKey,
    max_age: Option<Duration>,
) -> Result<Sourced<Coin>, Error> {
    let mut asked = CatalogueAnswers::default();
    let coins = tokens.coingecko.coins(symbol, max_age);
    let coins = match tokens.coinpaprika.source().disabled() {
        None => in_time(MARKETS, PATIENCE, coins).await,
        Some(_) => coins.await,
    };
    let found = match coins {
        Ok(coins) => coingecko(context, tokens, symbol, coins).await,
        Err(error) => Err(error),
    };
    if let Some(found) = asked.take(context, found) {
        return Ok(asked.with(found));
    }
    let unlisted = asked.failure.is_none() && asked.unknown;
    let paprika = tokens.coinpaprika.coin(symbol, max_age).await;
    if let Some(found) = asked.take(context, paprika) {
        return Ok(asked.with(found.map(|coin| Coin::clone(&coin))));
    }
    if unlisted {
        let pairs = tokens.dexscreener.search(symbol.as_str(), max_age).await;
        let found = pairs.and_then(|pairs| {
            let seen = pairs.sources.first().map(|source| source.fetched_at);
            let coin = seen.and_then(|seen| pools::deepest(symbol, &pairs.value, seen));
            let coin = coin.ok_or_else(unknown)?;
            let traded = coin.as_of;
            // The price is as old as the last trade can be, whenever the pool was read.
            Ok(pairs.map(|_| coin).as_of(traded))
        });
        if let Some(found) = asked.take(context, found) {
            return Ok(asked.with(found));
        }
    }
    Err(asked.failure())
}

/// The answer of `source` within its time. A later answer is still cached for the next caller.
async fn in_time<T>(
    source: &'static str,
    patience: Duration,
    work: impl Future<Output = Result<T, Error>>,
) -> Result<T, Error> {
    let late = |_| {
        Err(Error::Source(SourceError {
            source,
            kind: SourceErrorKind::Timeout {
                limit_ms: u64::try_from(patience.as_millis()).unwrap_or(u64::MAX),
            },
        }))
    };
    tokio::time::timeout(patience, work)
        .await
        .unwrap_or_else(late)
}

/// The highest ranked coin of the results, if it has a price, and its contracts.
async fn coingecko(
    context: &Context,
    tokens: &Tokens,
    symbol: &SymbolKey,
    found: Sourced<Arc<Vec<Coin>>>,
) -> Result<Sourced<Coin>, Error> {
    let mut coin = choose(symbol, found.value.to_vec()).ok_or_else(unknown)?;
    let mut provenance = found.sources;
    for source in &mut provenance {
        source.as_of = coin.as_of;
    }
    if coin.price_usd.is_none() {
        // A listed coin without a price is not an unknown coin.
        return Err(Error::Source(SourceError {
            source: MARKETS,
            kind: SourceErrorKind::Malformed {
                path: "$.current_price".to_owned(),
                expected: "a price",
                observed: "none".to_owned(),
            },
        }));
    }
    let contracts = tokens.coingecko.contracts(&coin.id);
    match in_time(CONTRACTS, CONTRACTS_PATIENCE, contracts).await {
        Ok(contracts) => {
            coin.contracts = Some(contracts.value.to_vec());
            // Contracts do not change with the market.
            provenance.extend(contracts.as_reference().sources);
        }
        Err(Error::Source(error)) => {
            let mode = context.mode_of(error.source);
            provenance.push(Provenance::unavailable(&error, mode, context.now()));
        }
        Err(_) => {}
    }
    Ok(Sourced {
        value: coin,
        sources: provenance,
    })
}

/// The failures of the catalogues.
#[derive(Default)]
struct CatalogueAnswers {
    provenance: Vec<Provenance>,
    failure: Option<Error>,
    /// A catalogue that is switched off or has no key.
    disabled: Option<Error>,
    unknown: bool,
}

impl CatalogueAnswers {
    fn take<T>(
        &mut self,
        context: &Context,
        result: Result<Sourced<T>, Error>,
    ) -> Option<Sourced<T>> {
        match result {
            Ok(found) => return Some(found),
            Err(Error::Source(error)) => {
                let mode = context.mode_of(error.source);
                self.provenance
                    .push(Provenance::unavailable(&error, mode, context.now()));
                let slot = match error.kind {
                    SourceErrorKind::Disabled { .. } => &mut self.disabled,
                    _ => &mut self.failure,
                };
                slot.get_or_insert(error.into());
            }
            Err(Error::NotFound { .. }) => self.unknown = true,
            Err(error) => self.failure = Some(error),
        }
        None
    }

    /// The error without a coin. A symbol counts as unknown only when every source was asked.
    fn failure(self) -> Error {
        let disabled = self.disabled.filter(|_| !self.unknown);
        self.failure.or(disabled).unwrap_or_else(unknown)
    }

    fn with(self, mut found: Sourced<Coin>) -> Sourced<Coin> {
        found.sources.extend(self.provenance);
        found
    }
}

fn unknown() -> Error {
    Error::NotFound {
        reason: "symbol_not_found",
        message: "no source knows a coin with this symbol".to_owned(),
    }
}

/// For how many seconds a coin counts as fresh, by its source.
pub(super) fn fresh_seconds(sources: &[Provenance]) -> u64 {
    match sources.first().map(|source| source.source) {
        Some(SEARCH) => POOL_FRESH_SECONDS,
        _ => FRESH_SECONDS,
    }
}

/// The fields of a coin that a source could have provided but did not.
pub(super) fn missing_fields(coin: &Coin, sources: &[Provenance]) -> Vec<Unavailable> {
    let failed = sources
        .iter()
        .find(|source| source.source == CONTRACTS)
        .and_then(|source| source.status.reason());
    let entry = failed
        .filter(|_| coin.contracts.is_none())
        .map(|reason| Unavailable {
            field: "data.contracts".to_owned(),
            reason: reason.to_owned(),
            source: CONTRACTS,
        });
    entry.into_iter().collect()
}

/// Records how many other coins with the symbol are listed.
pub(super) fn cut(coin: &Coin) -> Option<Cut> {
    Cut::of(
        "alternatives",
        coin.alternatives.len(),
        coin.alternatives_total,
    )
}

/// The warnings about a coin that was chosen by its symbol.
pub(super) fn warnings(coin: &Coin) -> Vec<Warning> {
    let mut warnings = Vec::new();
    if !coin.alternatives.is_empty() {
        warnings.push(Warning {
            code: "symbol_ambiguous",
            message: format!(
                "{} is one of {} coins with this symbol",
                coin.id,
                coin.alternatives_total.saturating_add(1)
            ),
        });
    }
    if coin.as_of.is_none() {
        warnings.push(Warning {
            code: "time_not_stated",
            message: "the source does not state the time of these figures: their age is that of the request"
                .to_owned(),
        });
    }
    if coin.rank.is_none() {
        warnings.push(Warning {
            code: "symbol_not_ranked",
            message: "no ranked coin has this symbol: compare the contract with the one you mean"
                .to_owned(),
        });
    }
    warnings
}
