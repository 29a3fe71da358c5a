//! The price of a token on which independent sources agree.

use alloy_primitives::Address;
use jiff::Timestamp;
use serde::Serialize;
use thiserror::Error;

use super::rules::{ChainSources, Rules};
use crate::token::consensus::{Quote, TOLERANCE_PCT, Weakness, spread_pct};
use crate::{Decimal, Figure, median};

/// The significant digits of a price that is computed from several.
const DERIVED_DIGITS: u32 = 15;

/// A price on which enough sources agree, or a strong one that nobody contradicts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct AgreedPrice {
    /// The dollars for one whole token, above zero.
    pub usd: Figure,
    /// The quotes that agree, each with its time, liquidity and certainty.
    pub quotes: Vec<Quote>,
}

/// Why a token has no price that counts.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum NoPrice {
    /// Too few sources have a price that counts, and none of them suffices alone.
    #[error("{token}: {}", too_few(.counting, .discounted, .needed))]
    TooFew {
        /// The token.
        token: Address,
        /// The sources whose price counts.
        counting: Vec<&'static str>,
        /// The sources whose price does not count, and why.
        discounted: Vec<(&'static str, Weakness)>,
        /// How many must agree.
        needed: u32,
    },
    /// The sources contradict each other.
    #[error("{token}: {} contradict each other", .sources.join(" and "))]
    Contradicted {
        /// The token.
        token: Address,
        /// The sources.
        sources: Vec<&'static str>,
    },
    /// The amount at the price has no figure: it is zero, has too many digits, or nobody knows the
    /// decimals of the token.
    #[error("{token}: its amount in whole tokens is zero, has too many digits or is not known")]
    Incomputable {
        /// The token.
        token: Address,
    },
    /// The caller did not wait for the sources any longer.
    #[error("the sources of prices did not answer in time")]
    Late,
}

fn too_few(
    counting: &[&'static str],
    discounted: &[(&'static str, Weakness)],
    needed: &u32,
) -> String {
    let have = match counting {
        [] => "no source has a price that counts".to_owned(),
        some => format!("only {} has a price that counts", some.join(" and ")),
    };
    let mut text = format!("{have}; {needed} must agree");
    for (source, weakness) in discounted {
        let why = match weakness {
            Weakness::Old => "is too old",
            Weakness::Untimed => "has no time",
            Weakness::Unsure => "is uncertain, or states neither certainty nor liquidity",
            Weakness::Thin => "has too little liquidity",
            Weakness::Traded => "is computed from a trade",
        };
        text.push_str(&format!("; the price of {source} {why}"));
    }
    text
}

/// Finds the price of `token` on which the sources of a chain agree. Quotes of other sources are
/// left out.
///
/// Sources agree when they differ by at most [`TOLERANCE_PCT`]. Those that agree must be as many as
/// the rules demand and more than half of those that count; their median is the price. A strong
/// source suffices alone, unless another one that counts contradicts it.
///
/// # Errors
/// [`NoPrice`]
pub fn agreed_price(
    chain_id: u64,
    token: Address,
    quotes: &[Quote],
    rules: &Rules,
    now: Timestamp,
) -> Result<AgreedPrice, NoPrice> {
    let sources = rules.sources(chain_id);
    let bounds = rules.limits.bounds();
    let mut counting: Vec<&Quote> = Vec::new();
    let mut discounted = Vec::new();
    for quote in quotes
        .iter()
        .filter(|quote| names(&sources.independent, quote))
    {
        match quote.weakness_within(&bounds, now) {
            // One source has one voice.
            None if counting
                .iter()
                .any(|other| upstream(other) == upstream(quote)) => {}
            None => counting.push(quote),
            Some(weakness) => discounted.push((quote.source, weakness)),
        }
    }
    let needed = rules.limits.agree;
    // Of several largest groups the one that begins first, in the order of the sources.
    let agreeing = counting
        .iter()
        .rev()
        .map(|quote| agreeing_with(quote, &counting))
        .max_by_key(Vec::len)
        .unwrap_or_default();
    let is_most = agreeing.len().saturating_mul(2) > counting.len();
    let is_enough = u32::try_from(agreeing.len()).is_ok_and(|many| many >= needed);
    let suffices = is_enough || agreeing.iter().any(|quote| is_strong(sources, quote));
    match (is_most, suffices) {
        (true, true) => price_of(&agreeing).ok_or(NoPrice::Incomputable { token }),
        (false, _) if !counting.is_empty() => Err(NoPrice::Contradicted {
            token,
            sources: counting.iter().map(|quote| quote.source).collect(),
        }),
        _ => Err(NoPrice::TooFew {
            token,
            counting: counting.iter().map(|quote| quote.source).collect(),
            discounted,
            needed,
        }),
    }
}

/// The quotes that agree with `quote` and with each other: those within the tolerance of it, as
/// long as all of them together stay within it.
fn agreeing_with<'a>(quote: &'a Quote, all: &[&'a Quote]) -> Vec<&'a Quote> {
    let mut agreeing = vec![quote];
    for other in all.iter().filter(|other| !std::ptr::eq(**other, quote)) {
        let mut prices: Vec<Decimal> = agreeing.iter().map(|of| of.price_usd.get()).collect();
        prices.push(other.price_usd.get());
        if spread_pct(&prices).is_some_and(|spread| spread <= TOLERANCE_PCT) {
            agreeing.push(other);
        }
    }
    agreeing
}

fn price_of(agreeing: &[&Quote]) -> Option<AgreedPrice> {
    let prices: Vec<Decimal> = agreeing.iter().map(|quote| quote.price_usd.get()).collect();
    let usd = match prices.as_slice() {
        [only] => *only,
        several => median(several)?.round_sf(DERIVED_DIGITS)?,
    };
    (usd > Decimal::ZERO).then(|| AgreedPrice {
        usd: Figure(usd),
        quotes: agreeing.iter().copied().cloned().collect(),
    })
}

/// The upstream of a quote: the first word of its source (`defillama` of `defillama.coins`).
fn upstream(quote: &Quote) -> &'static str {
    quote.source.split('.').next().unwrap_or(quote.source)
}

fn names(upstreams: &[String], quote: &Quote) -> bool {
    upstreams.iter().any(|name| name == upstream(quote))
}

fn is_strong(sources: &ChainSources, quote: &Quote) -> bool {
    names(&sources.strong, quote)
}
