//! `GET /price`.

use std::time::Duration;

use alloy_primitives::Address;
use data_sources::{Error, Provenance, SourceErrorKind, SourceStatus, Sourced, TokenPrice};
use jiff::Timestamp;
use readings::Figure;
use readings::token::consensus::{Confidence, Consensus, Quote, Weakness, agree};
use readings::token::market::TokenMarket;
use serde_json::{Value, json};

use super::{Call, fault};
use crate::Sources;
use crate::answer::{Answered, Method, Unavailable, Warning, seconds};
use crate::reply::ErrorReply;

const FRESH_SECONDS: u64 = 60;
/// The home chain as catalogues of prices call it.
const PLATFORM: &str = "xlayer";
/// What stands for a source when the price is of several.
const MEDIAN: &str = "median";

/// The price of a token of the home chain, and how far it is confirmed.
#[derive(Debug, Clone)]
pub(super) struct Spot {
    /// The token.
    pub(super) token: Address,
    /// Its chain.
    pub(super) chain_id: u64,
    /// The price.
    pub(super) consensus: Consensus,
    /// When the price was observed; `None` when no source says.
    pub(super) as_of: Option<Timestamp>,
    /// Dollars in the token's pools.
    pub(super) liquidity_usd: Option<Figure>,
}

pub(super) async fn answer(sources: &Sources, call: &Call) -> Result<Answered, ErrorReply> {
    let token = call.parameters.address("token").unwrap_or_default();
    about(sources, token, call.max_age()).await
}

/// The answer about `token`.
pub(super) async fn about(
    sources: &Sources,
    token: Address,
    max_age: Option<Duration>,
) -> Result<Answered, ErrorReply> {
    let found = spot(sources, token, max_age)
        .await
        .map_err(|error| fault::reply(&error))?;
    let (spot, sources) = (found.value, found.sources);
    let method = match spot.consensus.source {
        Some(_) => Method::Direct,
        None => Method::Median,
    };
    let answered = Answered::new(spot.data(), FRESH_SECONDS)
        .origin("price_usd", spot.source(), method)
        .origin("liquidity_usd", "okx.price-info", Method::Direct);
    let unavailable = gap(&spot, &sources).into_iter().collect();
    Ok(Answered {
        sources,
        unavailable,
        warnings: spot.warnings(),
        ..answered
    })
}

/// Why the liquidity is not known.
fn gap(spot: &Spot, sources: &[Provenance]) -> Option<Unavailable> {
    let source = "okx.price-info";
    let asked = sources.iter().find(|asked| asked.source == source);
    let reason = asked.and_then(|asked| asked.status.reason());
    spot.liquidity_usd.is_none().then(|| Unavailable {
        field: "data.liquidity_usd".to_owned(),
        reason: reason.unwrap_or("not_named_by_source").to_owned(),
        source,
    })
}

/// The price of `token` from the aggregator, checked by a second source, and by a third one when the
/// two differ or one of them has none.
///
/// # Errors
///
/// [`Error::NotPriced`] when every source that could be asked answered that it knows no price;
/// otherwise why none could be had.
pub(super) async fn spot(
    sources: &Sources,
    token: Address,
    max_age: Option<Duration>,
) -> Result<Sourced<Spot>, Error> {
    let now = sources.now();
    let (price, market, check) = tokio::join!(
        sources.okx.spot(token, max_age),
        sources.okx.market(token, max_age),
        sources.defillama.token_price(PLATFORM, token, max_age),
    );
    let mut asked = Asked::new(sources);
    let market = asked.take("okx.price-info", market);
    let price = asked.take("okx.market-price", price);
    let liquidity_usd = market.as_ref().and_then(|market| market.liquidity_usd);
    asked.quotes.extend(aggregator(price, market));
    let check = asked.take("defillama.coins", check);
    asked.quotes.extend(check);
    let agreed = agree(&asked.quotes, now);
    if agreed.is_none_or(|agreed| agreed.confidence != Confidence::Confirmed) {
        let pairs = sources.dexscreener.pairs(PLATFORM, token, max_age).await;
        let pairs = asked.take("dexscreener.pairs", pairs);
        asked.quotes.extend(pairs.and_then(|pairs| {
            let deepest = readings::token::pools::spot(PLATFORM, &token.to_string(), &pairs)?;
            Some(Quote {
                source: "dexscreener.pairs",
                price_usd: deepest.price_usd,
                as_of: None,
                liquidity_usd: Some(deepest.liquidity_usd),
                certainty_ratio: None,
            })
        }));
    }
    let Some(consensus) = agree(&asked.quotes, now) else {
        return Err(asked.failure(token));
    };
    let made_of = |quote: &&Quote| consensus.source.is_none_or(|source| source == quote.source);
    let as_of = consensus
        .used
        .iter()
        .filter(made_of)
        .filter_map(|quote| quote.as_of)
        .min();
    let sources_used = asked.provenance(&consensus);
    let spot = Spot {
        token,
        chain_id: sources.okx.reviewed().chain_id,
        consensus,
        as_of,
        liquidity_usd,
    };
    Ok(Sourced {
        value: spot,
        sources: sources_used,
    })
}

/// The aggregator's price; that of its market data when it gives none.
fn aggregator(price: Option<TokenPrice>, market: Option<TokenMarket>) -> Option<Quote> {
    let liquidity_usd = market.as_ref().and_then(|market| market.liquidity_usd);
    let direct = price.and_then(|price| {
        let price_usd: Figure = price.price_usd.as_str().parse().ok()?;
        // More digits after the point than a figure holds are no price.
        (!price_usd.get().is_zero()).then_some(("okx.market-price", price_usd, price.as_of))
    });
    let derived = market.map(|market| ("okx.price-info", market.price_usd, market.as_of));
    let (source, price_usd, as_of) = direct.or(derived)?;
    Some(Quote {
        source,
        price_usd,
        as_of: Some(as_of),
        liquidity_usd,
        certainty_ratio: None,
    })
}

/// The sources that were asked for a price, and what they said.
struct Asked<'a> {
    sources: &'a Sources,
    quotes: Vec<Quote>,
    provenance: Vec<Provenance>,
    /// What kept a source from saying anything.
    failure: Option<Error>,
    unknown: bool,
}

impl<'a> Asked<'a> {
    fn new(sources: &'a Sources) -> Self {
        Self {
            sources,
            quotes: Vec::new(),
            provenance: Vec::new(),
            failure: None,
            unknown: false,
        }
    }

    fn take<T>(&mut self, source: &'static str, leg: Result<Sourced<T>, Error>) -> Option<T> {
        match leg {
            Ok(sourced) => {
                self.provenance.extend(sourced.sources);
                Some(sourced.value)
            }
            Err(error) => {
                self.provenance.push(Provenance {
                    status: SourceStatus::Unavailable {
                        reason: error.reason(),
                    },
                    mode: self.sources.mode_of(source),
                    as_of: None,
                    ..Provenance::local(source, self.sources.now())
                });
                if matches!(error, Error::NotPriced { .. }) {
                    self.unknown = true;
                } else if self.failure.as_ref().is_none_or(is_disabled) {
                    self.failure = Some(error);
                }
                None
            }
        }
    }

    /// Why there is no price.
    fn failure(self, token: Address) -> Error {
        match self.failure {
            Some(error) if !(self.unknown && is_disabled(&error)) => error,
            _ => Error::NotPriced { token },
        }
    }

    /// Who took part. A source that only confirmed the price does not age it.
    fn provenance(&self, consensus: &Consensus) -> Vec<Provenance> {
        let mut provenance = self.provenance.clone();
        for source in &mut provenance {
            if consensus.source.is_some_and(|of| of != source.source) {
                source.as_of = None;
                source.fetched_at = self.sources.now();
            }
        }
        // The core source comes first.
        provenance.sort_by_key(|source| consensus.source != Some(source.source));
        provenance
    }
}

fn is_disabled(error: &Error) -> bool {
    matches!(error, Error::Source(error) if matches!(error.kind, SourceErrorKind::Disabled { .. }))
}

impl Spot {
    /// The source of the price, or what stands for several.
    pub(super) fn source(&self) -> &'static str {
        self.consensus.source.unwrap_or(MEDIAN)
    }

    /// The route's object.
    pub(super) fn data(&self) -> Value {
        let mut data = json!({
            "token": self.token.to_string(),
            "chain_id": self.chain_id,
            "price_usd": self.consensus.price_usd,
            "source": self.source(),
            "as_of": self.as_of.map(seconds),
            "liquidity_usd": self.liquidity_usd,
            "confidence": self.consensus.confidence,
            "quotes": self.consensus.used,
        });
        if let (Some(spread), Value::Object(members)) = (self.consensus.spread_pct, &mut data) {
            members.insert("spread_pct".to_owned(), json!(spread));
        }
        data
    }

    /// What a caller should know about the price.
    pub(super) fn warnings(&self) -> Vec<Warning> {
        let consensus = &self.consensus;
        let mut warnings = Vec::new();
        if let (Confidence::Disputed, Some(spread)) = (consensus.confidence, consensus.spread_pct) {
            let sources: Vec<_> = consensus.used.iter().map(|quote| quote.source).collect();
            warnings.push(Warning {
                code: "prices_differ",
                message: format!(
                    "{} differ by {spread} %; the price is their median",
                    sources.join(" and ")
                ),
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
        Weakness::Unsure => "one that its source is not sure of",
        Weakness::Thin => "one with hardly any liquidity behind it",
    }
}
