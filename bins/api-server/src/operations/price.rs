//! `GET /price`: the price of a token of the home chain in US dollars, confirmed by a second
//! source.
//!
//! Sources that contradict each other give no price. [`readings`] judges the quotes; this module
//! decides who is asked.

mod answers;

use std::time::Duration;

use alloy_primitives::Address;
use data_sources::{Error, Provenance, SourceError, SourceErrorKind, Sourced, TokenPrice};
use jiff::Timestamp;
use readings::Figure;
use readings::token::consensus::{
    CONTRADICTION_PCT, Confidence, Consensus, Quote, TOLERANCE_PCT, Weakness, agree,
};
use readings::token::market::TokenMarket;
use readings::token::pools::{self, DexPair, DexPrice, platform_of};
use serde_json::{Value, json};

use self::answers::PriceAnswers;
use super::fault;
use super::token_security::trading;
use crate::answer::{Answered, Method, Part, Unavailable, Warning, seconds};
use crate::call::Call;
use crate::context::Context;
use crate::reply::ErrorReply;
use crate::source_report::SourceReport;
use crate::sources::Tokens;

const FRESH_SECONDS: u64 = 60;
/// The price catalogues' name for the home chain.
const PLATFORM: &str = "xlayer";
/// The source of exchange pairs.
const PAIRS: &str = "dexscreener.pairs";
/// The source of a token's market, including its liquidity.
const INFO: &str = "okx.price-info";
/// The time limit for quoting a trade of a token that no source lists.
const TRADE_PATIENCE: Duration = Duration::from_millis(2_500);
/// Significant digits of a price that is computed from a trade.
const TRADED_DIGITS: u32 = 15;
/// The reason why there is no price although there are quotes.
pub(super) const CONTRADICT: &str = "prices_contradict";
/// The source name of a price that several sources share.
const MEDIAN: &str = "median";

/// The price of a token of the home chain, and how well it is confirmed.
#[derive(Debug, Clone)]
pub(super) struct Spot {
    /// The token.
    pub(super) token: Address,
    /// Its chain.
    pub(super) chain_id: u64,
    /// The price.
    pub(super) consensus: Consensus,
    /// The time of the price's observation; `None` when no source states it.
    pub(super) as_of: Option<Timestamp>,
    /// Dollars in the token's pools.
    pub(super) liquidity_usd: Option<Figure>,
    /// The age and the bound of the price, of its confirmation and of the liquidity.
    pub(super) parts: Vec<Part>,
}

pub(super) async fn answer(
    context: &Context,
    tokens: &Tokens,
    call: &Call,
) -> Result<Answered, ErrorReply> {
    let token = call.parameters.address("token").unwrap_or_default();
    about(context, tokens, token, call.max_age()).await
}

/// The answer about `token`. Without a price there is no answer to sell.
pub(super) async fn about(
    context: &Context,
    tokens: &Tokens,
    token: Address,
    max_age: Option<Duration>,
) -> Result<Answered, ErrorReply> {
    let found = spot(context, tokens, token, max_age, max_age)
        .await
        .map_err(|error| fault::reply(&error))?;
    let (spot, sources) = (found.value, found.sources);
    if spot.consensus.price_usd.is_none() {
        return Err(spot.contradiction());
    }
    let method = match spot.consensus.source {
        Some(_) => Method::Direct,
        None => Method::Median,
    };
    let answered = Answered::of_parts(spot.data(), spot.parts.clone())
        .origin("price_usd", spot.source(), method)
        .origin("liquidity_usd", INFO, Method::Direct);
    let unavailable = missing_liquidity(&spot, &sources).into_iter().collect();
    Ok(Answered {
        sources,
        unavailable,
        warnings: spot.warnings(),
        ..answered
    })
}

/// The members that are null because there is no price.
pub(super) fn unpriced(spot: &Spot) -> Vec<Unavailable> {
    let members = match spot.consensus.price_usd {
        Some(_) => &[][..],
        None => &["price_usd", "source"][..],
    };
    let entry = |member: &&str| Unavailable {
        field: format!("data.{member}"),
        reason: CONTRADICT.to_owned(),
        source: "",
    };
    members.iter().map(entry).collect()
}

/// The entry for an unknown liquidity.
fn missing_liquidity(spot: &Spot, sources: &[Provenance]) -> Option<Unavailable> {
    let source = INFO;
    let entry = sources.iter().find(|entry| entry.source == source);
    let reason = entry.and_then(|entry| entry.status.reason());
    spot.liquidity_usd.is_none().then(|| Unavailable {
        field: "data.liquidity_usd".to_owned(),
        reason: reason.unwrap_or("not_named_by_source").to_owned(),
        source,
    })
}

/// Reads the price of `token` from the aggregator and checks it with a second source. A third
/// source is asked when the two differ or one has no price. A token that no source lists is priced
/// by a small trade. `kept` limits the age of a cached answer, `taken` the age of an observation.
///
/// # Errors
///
/// [`Error::NotPriced`] when every source that could be asked answered that it knows no price.
/// Otherwise the reason of the failure.
pub(super) async fn spot(
    context: &Context,
    tokens: &Tokens,
    token: Address,
    kept: Option<Duration>,
    taken: Option<Duration>,
) -> Result<Sourced<Spot>, Error> {
    let now = context.now();
    let (price, market, check) = tokio::join!(
        tokens.okx.spot(token, kept),
        tokens.okx.market(token, kept),
        tokens.defillama.token_price(PLATFORM, token, kept),
    );
    let mut answers = PriceAnswers::new(context);
    let market = answers.take(INFO, market);
    let price = answers.take("okx.market-price", price);
    let liquidity_usd = market.as_ref().and_then(|market| market.liquidity_usd);
    answers.quotes.extend(aggregator(price, market));
    let check = answers.take("defillama.coins", check);
    // An observation that is too old for the caller cannot confirm a younger one.
    let young = |quote: &Quote| within(quote, taken, now);
    let alone = answers.quotes.is_empty();
    answers
        .quotes
        .extend(check.filter(|quote| alone || young(quote)));
    let agreed = agree(&answers.quotes, now);
    if agreed.is_none_or(|agreed| agreed.confidence != Confidence::Confirmed) {
        let pairs = tokens.dexscreener.pairs(PLATFORM, token, kept).await;
        let pool = answers.pool(PLATFORM, token, pairs);
        let alone = answers.quotes.is_empty();
        answers.quotes.extend(
            pool.into_iter()
                .filter(|quote| alone || within(quote, taken, now)),
        );
    }
    let consensus = match agree(&answers.quotes, now) {
        Some(consensus) => consensus,
        None => match traded(context, tokens, &mut answers, token, kept).await {
            Some(consensus) => consensus,
            None => return Err(answers.failure(token)),
        },
    };
    let chain_id = tokens.okx.reviewed().chain_id;
    Ok(spot_of(&answers, token, chain_id, consensus, liquidity_usd))
}

/// Reads the price of `token` on another chain, from its deepest pool on the platform of exchanges.
///
/// # Errors
///
/// As [`spot`].
pub(super) async fn elsewhere(
    context: &Context,
    tokens: &Tokens,
    chain_id: u64,
    token: Address,
    max_age: Option<Duration>,
) -> Result<Sourced<Spot>, Error> {
    let platform = platform_of(chain_id).ok_or(Error::NotPriced { token })?;
    let mut answers = PriceAnswers::new(context);
    let pairs = tokens.dexscreener.pairs(platform, token, max_age).await;
    let pool = answers.pool(platform, token, pairs);
    answers.quotes.extend(pool);
    let Some(consensus) = agree(&answers.quotes, context.now()) else {
        return Err(answers.failure(token));
    };
    let liquidity_usd = consensus.used.first().and_then(|quote| quote.liquidity_usd);
    Ok(spot_of(&answers, token, chain_id, consensus, liquidity_usd))
}

fn spot_of(
    answers: &PriceAnswers<'_>,
    token: Address,
    chain_id: u64,
    consensus: Consensus,
    liquidity_usd: Option<Figure>,
) -> Sourced<Spot> {
    let made_of = |quote: &&Quote| consensus.source.is_none_or(|source| source == quote.source);
    let as_of = consensus
        .used
        .iter()
        .filter(made_of)
        .filter_map(|quote| quote.as_of)
        .min();
    let (sources, parts) = answers.provenance(&consensus, liquidity_usd.is_some());
    let value = Spot {
        token,
        chain_id,
        consensus,
        as_of,
        liquidity_usd,
        parts,
    };
    Sourced { value, sources }
}

/// Whether a price is young enough for the caller. A source that states no time observed the price
/// just now.
fn within(quote: &Quote, max_age: Option<Duration>, now: Timestamp) -> bool {
    let age = |as_of| Duration::try_from(now.duration_since(as_of)).unwrap_or_default();
    let limits = max_age.zip(quote.as_of);
    limits.is_none_or(|(max_age, as_of)| age(as_of) <= max_age)
}

/// The price of the deepest pool of `pairs`, and that of a pool which contradicts it. A price is as
/// old as the pool's last trade can be, because the time of the fetch does not say when anyone paid
/// it.
fn of_pools(
    platform: &str,
    token: Address,
    pairs: &[DexPair],
    fetched_at: Timestamp,
) -> Vec<Quote> {
    let address = token.to_string();
    let Some(deepest) = pools::spot(platform, &address, pairs) else {
        return Vec::new();
    };
    let contrary = pools::contrary(platform, &address, pairs, &deepest);
    let quote = |price: DexPrice| Quote {
        source: PAIRS,
        price_usd: price.price_usd,
        as_of: price.traded_at(fetched_at),
        liquidity_usd: Some(price.liquidity_usd),
        certainty_ratio: None,
    };
    std::iter::once(deepest)
        .chain(contrary)
        .map(quote)
        .collect()
}

/// The price that a small trade in both directions implies.
async fn traded(
    context: &Context,
    tokens: &Tokens,
    answers: &mut PriceAnswers<'_>,
    token: Address,
    max_age: Option<Duration>,
) -> Option<Consensus> {
    let trading = trading::smallest(&tokens.okx, token, max_age);
    let Ok(trading) = tokio::time::timeout(TRADE_PATIENCE, trading).await else {
        let limit_ms = u64::try_from(TRADE_PATIENCE.as_millis()).unwrap_or(u64::MAX);
        answers.without_price(Error::Source(SourceError {
            source: trading::SOURCE,
            kind: SourceErrorKind::Timeout { limit_ms },
        }));
        return None;
    };
    let mut report = SourceReport::default();
    trading.list(&mut report, context);
    answers.list(report.sources);
    if let Some(error) = trading.failure() {
        answers.without_price(error.clone());
    }
    let price = trading.trades.traded_price_usd()?.round_sf(TRADED_DIGITS)?;
    Some(Consensus::traded(Quote {
        source: trading::SOURCE,
        price_usd: Figure(price),
        as_of: trading.as_of(),
        liquidity_usd: None,
        certainty_ratio: None,
    }))
}

/// The aggregator's price, or else that of its market data.
fn aggregator(price: Option<TokenPrice>, market: Option<TokenMarket>) -> Option<Quote> {
    let liquidity_usd = market.as_ref().and_then(|market| market.liquidity_usd);
    let direct = price.and_then(|price| {
        let price_usd: Figure = price.price_usd.as_str().parse().ok()?;
        // A price with more decimal places than a figure holds counts as none.
        (!price_usd.get().is_zero()).then_some(("okx.market-price", price_usd, price.as_of))
    });
    let derived = market.map(|market| (INFO, market.price_usd, market.as_of));
    let (source, price_usd, as_of) = direct.or(derived)?;
    Some(Quote {
        source,
        price_usd,
        as_of: Some(as_of),
        liquidity_usd,
        certainty_ratio: None,
    })
}

impl Spot {
    /// The source of the price, or the common name for several.
    pub(super) fn source(&self) -> &'static str {
        self.consensus.source.unwrap_or(MEDIAN)
    }

    /// The error when the sources contradict each other, with each source's price.
    fn contradiction(&self) -> ErrorReply {
        fault::core_missing("price", CONTRADICT)
            .detail("confidence", json!(self.consensus.confidence))
            .detail("quotes", json!(self.consensus.used))
            .detail("spread_pct", json!(self.consensus.spread_pct))
            .detail("contradiction_pct", Figure(CONTRADICTION_PCT).to_string())
    }

    /// The route's object.
    pub(super) fn data(&self) -> Value {
        let mut data = json!({
            "token": self.token.to_string(),
            "chain_id": self.chain_id,
            "price_usd": self.consensus.price_usd,
            "source": self.consensus.price_usd.map(|_| self.source()),
            "as_of": self.as_of.map(seconds),
            "liquidity_usd": self.liquidity_usd,
            "confidence": self.consensus.confidence,
            "quotes": self.consensus.used,
            "rules": {
                "tolerance_pct": Figure(TOLERANCE_PCT),
                "contradiction_pct": Figure(CONTRADICTION_PCT),
            },
        });
        if let (Some(spread), Value::Object(members)) = (self.consensus.spread_pct, &mut data) {
            members.insert("spread_pct".to_owned(), json!(spread));
        }
        data
    }

    /// The warnings about the price.
    pub(super) fn warnings(&self) -> Vec<Warning> {
        let consensus = &self.consensus;
        let mut warnings = Vec::new();
        let decision = match (consensus.confidence, consensus.source) {
            (Confidence::Disputed, Some(source)) => Some(format!(
                "the price is that of {source}, which most sources confirm"
            )),
            (Confidence::Disputed, None) => Some("the price is their median".to_owned()),
            (Confidence::Contradicted, _) => Some("there is no price".to_owned()),
            _ => None,
        };
        if let (Some(decision), Some(spread)) = (decision, consensus.spread_pct) {
            let sources: Vec<_> = consensus.used.iter().map(|quote| quote.source).collect();
            let sources = sources.join(" and ");
            warnings.push(Warning {
                code: "prices_differ",
                message: format!("{sources} differ by {spread} %; {decision}"),
            });
        }
        if let Some(weakness) = consensus.weakness {
            warnings.push(Warning {
                code: "weak_price",
                message: format!("the only price is {}", words(weakness)),
            });
        }
        warnings
    }
}

fn words(weakness: Weakness) -> &'static str {
    match weakness {
        Weakness::Old => "older than ten minutes",
        Weakness::Untimed => "without a time of observation",
        Weakness::Unsure => "uncertain according to its source",
        Weakness::Thin => "backed by very little liquidity",
        Weakness::Traded => "computed from the quote of a ten-dollar trade",
    }
}
