//! Judges whether the answers of the order book and of the market list describe one market. The
//! first contradiction is named; no answer is preferred.

use alloy_primitives::U256;
use calldata_checks::Decimal;
use plan_builder::ports::PmToken;

use super::{
    GAMMA, MARKET, TOKEN,
    readings::{Book, Listed, Pair},
};
use crate::error::SourceErrorKind;

/// An answer that contradicts the others.
#[derive(Debug)]
pub(super) struct Dispute {
    pub(super) source: &'static str,
    pub(super) kind: SourceErrorKind,
}

/// Compares the answers. A tick size can change while a market is live: answers from before and
/// after the change do not describe one market.
pub(super) fn agreed(
    token_id: U256,
    pair: &Pair,
    tick_size: Decimal,
    neg_risk: bool,
    book: &Book,
    listed: &Listed,
) -> Result<(), Dispute> {
    let ids = |tokens: &[PmToken; 2]| tokens.each_ref().map(|token| token.token_id);
    let [first, second] = ids(&book.tokens);
    let same = |other: [U256; 2]| other == [first, second] || other == [second, first];
    let text = |value: &dyn ToString| value.to_string();

    expect(
        TOKEN,
        "$.primary_token_id",
        pair.token_ids.contains(&token_id),
        "the token that was asked for",
        || text(&pair.token_ids[0]),
    )?;
    expect(
        MARKET,
        "$.c",
        book.condition_id == pair.condition_id,
        "the condition that was asked for",
        || text(&book.condition_id),
    )?;
    expect(
        MARKET,
        "$.t",
        first != second && same(pair.token_ids),
        "the two tokens of markets-by-token",
        || format!("{first}, {second}"),
    )?;
    let outcomes = book.tokens.each_ref().map(|token| token.outcome.as_str());
    expect(
        MARKET,
        "$.t",
        outcomes[0] != outcomes[1],
        "two outcomes that look different",
        || outcomes.join(", "),
    )?;
    expect(
        MARKET,
        "$.mts",
        book.tick_size == tick_size,
        "the tick size of tick-size",
        || text(&book.tick_size),
    )?;
    expect(
        MARKET,
        "$.nr",
        book.neg_risk == neg_risk,
        "the flag of neg-risk",
        || text(&book.neg_risk),
    )?;
    expect(
        GAMMA,
        "$[0].conditionId",
        listed.condition_id == book.condition_id,
        "the condition of clob-markets",
        || text(&listed.condition_id),
    )?;
    let [one, other] = &listed.tokens;
    let paired = [one, other].iter().all(|token| book.tokens.contains(token));
    expect(
        GAMMA,
        "$[0].clobTokenIds",
        paired && one != other,
        "the tokens and outcomes of clob-markets",
        || {
            format!(
                "{} {}, {} {}",
                one.token_id, one.outcome, other.token_id, other.outcome
            )
        },
    )?;
    expect(
        GAMMA,
        "$[0].negRisk",
        listed.neg_risk == neg_risk,
        "the flag of neg-risk",
        || text(&listed.neg_risk),
    )
}

fn expect(
    source: &'static str,
    path: &str,
    holds: bool,
    expected: &'static str,
    observed: impl FnOnce() -> String,
) -> Result<(), Dispute> {
    if holds {
        return Ok(());
    }
    let kind = SourceErrorKind::Malformed {
        path: path.to_owned(),
        expected,
        observed: observed(),
    };
    Err(Dispute { source, kind })
}
