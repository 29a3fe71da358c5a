//! Compares the figures of a quote with the request, before its calldata.

use alloy_primitives::{Address, U256};

use super::{OfferedCall, Refusal, ReviewedContracts, SwapAsked, SwapFacts, bind::bind};
use crate::UtcSeconds;

/// Longest foreign text that a refusal repeats, in characters.
const MAX_SHOWN: usize = 24;

/// A quote of the aggregator as the adapter has read it. The checks trust none of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Quote<'a> {
    /// The chain's number, in the quote's spelling.
    pub chain_index: &'a str,
    /// Input token.
    pub from_token: Address,
    /// Decimals of the input token.
    pub from_decimals: U256,
    /// Output token.
    pub to_token: Address,
    /// Amount spent, in the input token's unit.
    pub amount: U256,
    /// The most that may be spent, where the quote names it.
    pub max_spend: Option<U256>,
    /// The tolerance in percent, in the quote's spelling, where the quote names it.
    pub slippage_percent: Option<&'a str>,
    /// The transaction.
    pub call: OfferedCall<'a>,
}

/// Judges a quote: its figures first, then its calldata.
///
/// The facts are those of the calldata. The quoted output, which no calldata contains, is used for
/// two comparisons only: the least output must be within the tolerance below it, and a trim must
/// not start below it.
///
/// # Errors
/// The [`Refusal`] that names the first comparison that fails.
///
/// # Example
/// The [module](super) has one.
pub fn judge(
    quote: &Quote<'_>,
    asked: &SwapAsked,
    reviewed: &ReviewedContracts,
    now: UtcSeconds,
) -> Result<SwapFacts, Refusal> {
    compare_figures(quote, asked, reviewed)?;
    bind(&quote.call, asked, reviewed, now.unix())
}

fn compare_figures(
    quote: &Quote<'_>,
    asked: &SwapAsked,
    reviewed: &ReviewedContracts,
) -> Result<(), Refusal> {
    if quote.chain_index != reviewed.chain_id.to_string() {
        return Err(Refusal::QuoteChain {
            expected: reviewed.chain_id,
            observed: shown(quote.chain_index),
        });
    }
    for (side, expected, observed) in [
        ("input", asked.from_token, quote.from_token),
        ("output", asked.to_token, quote.to_token),
    ] {
        if expected != observed {
            return Err(Refusal::QuoteToken {
                side,
                expected,
                observed,
            });
        }
    }
    if let Some(token) = reviewed.source_token(asked.from_token)
        && U256::from(token.decimals) != quote.from_decimals
    {
        return Err(Refusal::QuoteDecimals {
            expected: token.decimals,
            observed: quote.from_decimals,
        });
    }
    if quote.amount != asked.amount {
        return Err(Refusal::QuoteAmount {
            expected: asked.amount,
            observed: quote.amount,
        });
    }
    if quote.call.quoted_output.is_zero() {
        return Err(Refusal::QuoteOutput {
            observed: quote.call.quoted_output,
        });
    }
    if let Some(percent) = quote.slippage_percent
        && percent.parse() != Ok(asked.slippage)
    {
        return Err(Refusal::SlippageMismatch {
            expected: asked.slippage.to_string(),
            observed: shown(percent),
        });
    }
    match quote.max_spend {
        Some(observed) if observed > asked.amount => Err(Refusal::MaxSpendAboveAmount {
            expected: asked.amount,
            observed,
        }),
        _ => Ok(()),
    }
}

/// Shortens foreign text in a message to visible ASCII.
fn shown(text: &str) -> String {
    let visible = text.chars().filter(char::is_ascii_graphic);
    visible.take(MAX_SHOWN).collect()
}
