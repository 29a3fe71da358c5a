//! The judgement of worth: whether what an exchange gives is worth what it takes.
//!
//! One judgement decides about every swap, deposit and move before anything is signed. The price of
//! each token comes from sources that are independent of the quote: enough of them agree, or one
//! suffices that the operator calls strong. The quote's own statements (its price impact, and what
//! it says about the tokens) can only refuse. Without prices there is no judgement, and
//! [`Unworthy::Unknown`] says why.
//!
//! The module asks no source. Its caller gives the quotes of the sources and the time.

mod price;
mod rules;

use alloy_primitives::Address;
use jiff::Timestamp;
use serde::Serialize;
use thiserror::Error;

pub use self::price::{AgreedPrice, NoPrice, agreed_price};
pub use self::rules::{ChainSources, Limits, Rules, SOURCES};
use crate::token::consensus::Quote;
use crate::{Decimal, Figure};

/// One hundred percent, in basis points.
const ALL_BPS: Decimal = Decimal::from_parts(10_000, 0, 0, false, 0);

/// What an exchange takes and gives, and what its quote says about itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exchange {
    /// The chain of both tokens.
    pub chain_id: u64,
    /// What goes in.
    pub input: Side,
    /// What comes out.
    pub output: Side,
    /// The quote's own statements.
    pub stated: Stated,
    /// The caller's limit of the loss, in basis points. It tightens the operator's limits, or
    /// loosens them up to the operator's ceiling.
    pub max_price_impact_bps: Option<u32>,
}

/// One side of an exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Side {
    /// The token.
    pub token: Address,
    /// The amount in whole tokens, with the decimals that the chain states. `None` when it has more
    /// digits than a figure.
    pub amount: Option<Figure>,
}

/// What a quote says about itself. `None` is unknown, and never stands for "no" or zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stated {
    /// The effect on the price in percent. A loss is negative.
    pub impact_pct: Option<Figure>,
    /// About the input token.
    pub input: StatedToken,
    /// About the output token.
    pub output: StatedToken,
}

/// What a quote says about a token.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StatedToken {
    /// Whether the token can be bought but not sold.
    pub is_honeypot: Option<bool>,
    /// The part of each transfer that the token keeps, from 0 to 1.
    pub tax_ratio: Option<Figure>,
}

/// An exchange whose worth holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Worth {
    /// The dollars that go in.
    pub input_usd: Figure,
    /// The dollars that come out.
    pub output_usd: Figure,
    /// How much less comes out than goes in, in basis points of what goes in, rounded up. Negative
    /// for a gain.
    pub loss_bps: Figure,
    /// The greatest loss that was allowed.
    pub limit_bps: u32,
    /// The price of the input token.
    pub input_price: AgreedPrice,
    /// The price of the output token.
    pub output_price: AgreedPrice,
}

/// Why an exchange must not be signed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Unworthy {
    /// There is no judgement.
    #[error("what the exchange is worth cannot be judged: {0}")]
    Unknown(NoPrice),
    /// Less comes out than the limit allows, by the quote's own statement or by other prices.
    #[error("the exchange loses {observed_bps} basis points {by}; the limit is {limit_bps}")]
    PriceImpact {
        /// The greatest loss that is allowed.
        limit_bps: u32,
        /// The loss, rounded up.
        observed_bps: Figure,
        /// Who says so.
        by: By,
    },
    /// The quote says that the token cannot be sold.
    #[error("according to the quote, {token} can be bought but not sold")]
    Honeypot {
        /// The token.
        token: Address,
    },
    /// The quote says that the token keeps more of a transfer than allowed.
    #[error(
        "according to the quote, {token} keeps {observed_bps} basis points of a transfer; the limit is {limit_bps}"
    )]
    Tax {
        /// The token.
        token: Address,
        /// The greatest tax that is allowed.
        limit_bps: u32,
        /// The tax.
        observed_bps: Figure,
    },
}

/// Who says that an exchange loses too much.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    /// The quote itself.
    Quote,
    /// Prices that are independent of the quote.
    Prices,
}

impl std::fmt::Display for By {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Quote => "by its quote's own statement",
            Self::Prices => "at the prices of independent sources",
        })
    }
}

impl Unworthy {
    /// The code of a judgement that cannot be made.
    pub const UNKNOWN: &'static str = "worth_unknown";
    /// The codes, for metrics and tests.
    pub const CODES: [&'static str; 4] = [
        Self::UNKNOWN,
        "price_impact_too_high",
        "token_is_honeypot",
        "token_tax_too_high",
    ];

    /// The stable code for callers.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Unknown(_) => Self::UNKNOWN,
            Self::PriceImpact { .. } => "price_impact_too_high",
            Self::Honeypot { .. } => "token_is_honeypot",
            Self::Tax { .. } => "token_tax_too_high",
        }
    }

    /// The allowed and the observed value, as texts. `None` for a judgement that cannot be made.
    #[must_use]
    pub fn compared(&self) -> Option<(String, String)> {
        match self {
            Self::Unknown(_) => None,
            Self::PriceImpact {
                limit_bps,
                observed_bps,
                ..
            }
            | Self::Tax {
                limit_bps,
                observed_bps,
                ..
            } => Some((
                format!("at most {limit_bps} basis points"),
                observed_bps.to_string(),
            )),
            Self::Honeypot { .. } => Some(("a token that can be sold".into(), "none".into())),
        }
    }
}

impl From<NoPrice> for Unworthy {
    fn from(reason: NoPrice) -> Self {
        Self::Unknown(reason)
    }
}

/// Judges an exchange by the quotes of independent sources for its two tokens.
///
/// The quote's own statements are judged first: what it admits needs no price.
///
/// # Errors
/// [`Unworthy`]: the exchange must not be signed.
pub fn judge(
    exchange: &Exchange,
    (of_input, of_output): (&[Quote], &[Quote]),
    rules: &Rules,
    now: Timestamp,
) -> Result<Worth, Unworthy> {
    judge_statements(exchange, rules)?;
    let price =
        |side: &Side, quotes| agreed_price(exchange.chain_id, side.token, quotes, rules, now);
    let input_price = price(&exchange.input, of_input)?;
    let output_price = price(&exchange.output, of_output)?;
    weigh(exchange, input_price, output_price, rules)
}

/// Judges what the quote says about itself. It can only refuse.
///
/// # Errors
/// [`Unworthy`], but never [`Unworthy::Unknown`].
pub fn judge_statements(exchange: &Exchange, rules: &Rules) -> Result<(), Unworthy> {
    let Stated {
        impact_pct,
        input,
        output,
    } = exchange.stated;
    for (side, said) in [(&exchange.output, output), (&exchange.input, input)] {
        let token = side.token;
        if said.is_honeypot == Some(true) {
            return Err(Unworthy::Honeypot { token });
        }
        let limit_bps = rules.limits.max_tax_bps;
        let tax_bps = said
            .tax_ratio
            .map(|ratio| in_bps(ratio.get(), Decimal::ONE));
        if let Some(observed_bps) = tax_bps.filter(|bps| exceeds(*bps, limit_bps)) {
            return Err(Unworthy::Tax {
                token,
                limit_bps,
                observed_bps: Figure(observed_bps),
            });
        }
    }
    let (limit_bps, _) = rules.limits.of_caller(exchange.max_price_impact_bps);
    let lost_pct = impact_pct.map(|pct| -pct.get());
    let lost_bps = lost_pct.map(|pct| in_bps(pct, Decimal::ONE_HUNDRED));
    match lost_bps.filter(|bps| exceeds(*bps, limit_bps)) {
        Some(observed_bps) => Err(Unworthy::PriceImpact {
            limit_bps,
            observed_bps: Figure(observed_bps),
            by: By::Quote,
        }),
        None => Ok(()),
    }
}

fn weigh(
    exchange: &Exchange,
    input_price: AgreedPrice,
    output_price: AgreedPrice,
    rules: &Rules,
) -> Result<Worth, Unworthy> {
    let worth = |side: &Side, price: &AgreedPrice| {
        let usd = side.amount?.get().checked_mul(price.usd.get())?;
        (!usd.is_sign_negative()).then_some(usd)
    };
    let too_large = |side: &Side| NoPrice::Incomputable { token: side.token };
    let Exchange { input, output, .. } = exchange;
    let input_usd = worth(input, &input_price)
        .filter(|usd| !usd.is_zero())
        .ok_or_else(|| too_large(input))?;
    let output_usd = worth(output, &output_price).ok_or_else(|| too_large(output))?;
    let lost = input_usd
        .checked_sub(output_usd)
        .and_then(|lost| lost.checked_div(input_usd))
        .ok_or_else(|| too_large(output))?;
    let loss_bps = in_bps(lost, Decimal::ONE);
    let (_, limit_bps) = rules.limits.of_caller(exchange.max_price_impact_bps);
    if exceeds(loss_bps, limit_bps) {
        return Err(Unworthy::PriceImpact {
            limit_bps,
            observed_bps: Figure(loss_bps),
            by: By::Prices,
        });
    }
    Ok(Worth {
        input_usd: Figure(input_usd.round_dp(6)),
        output_usd: Figure(output_usd.round_dp(6)),
        loss_bps: Figure(loss_bps),
        limit_bps,
        input_price,
        output_price,
    })
}

/// Returns `part` of `whole` in basis points, rounded up. An overflow is the greatest number.
fn in_bps(part: Decimal, whole: Decimal) -> Decimal {
    part.checked_mul(ALL_BPS)
        .and_then(|part| part.checked_div(whole))
        .map_or(Decimal::MAX, |bps| bps.ceil())
}

fn exceeds(bps: Decimal, limit_bps: u32) -> bool {
    bps > Decimal::from(limit_bps)
}

#[cfg(test)]
mod tests;
