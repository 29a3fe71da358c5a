//! Reads the single answers, each on its own. [`market`](super::market) compares them.

use alloy_primitives::{B256, U256};
use calldata_checks::Decimal;
use plan_builder::ports::{PmBuilderFee, PmToken};

use crate::{error::SourceErrorKind, json::Json};

/// Longest outcome that is shown.
const MAX_OUTCOME_CHARS: usize = 64;
/// The whole of an amount, in basis points: no fee is higher.
const WHOLE: u128 = 10_000;

type Read<T> = Result<T, SourceErrorKind>;

/// `/markets-by-token/{tokenId}`: the market of a token.
#[derive(Debug)]
pub(super) struct Pair {
    pub(super) condition_id: B256,
    pub(super) token_ids: [U256; 2],
}

/// `/clob-markets/{conditionId}`: the market in the order book.
#[derive(Debug)]
pub(super) struct Book {
    pub(super) condition_id: B256,
    pub(super) tokens: [PmToken; 2],
    pub(super) tick_size: Decimal,
    pub(super) min_order_size: Decimal,
    pub(super) neg_risk: bool,
    pub(super) accepting_orders: bool,
    pub(super) fee_rate: Option<Decimal>,
}

/// The market in the list. Its tick size is not read: the list may lag behind a change, and two
/// answers of the order book state it.
#[derive(Debug)]
pub(super) struct Listed {
    pub(super) condition_id: B256,
    pub(super) tokens: [PmToken; 2],
    pub(super) neg_risk: bool,
    pub(super) accepting_orders: bool,
    pub(super) order_book: bool,
    pub(super) active: bool,
    pub(super) closed: bool,
}

pub(super) fn version(body: &Json<'_>) -> Read<u64> {
    body.object()?.member("version")?.integer()
}

pub(super) fn tick_size(body: &Json<'_>) -> Read<Decimal> {
    tick(&body.object()?.member("minimum_tick_size")?)
}

pub(super) fn neg_risk(body: &Json<'_>) -> Read<bool> {
    body.object()?.member("neg_risk")?.flag()
}

/// `/fees/builder-fees/{code}`: the venue's fee for a builder code, in basis points.
pub(super) fn builder_fee(body: &Json<'_>) -> Read<PmBuilderFee> {
    let body = body.object()?;
    let rate = |name| {
        let json = body.member(name)?;
        let bps = json.decimal()?;
        Decimal::new(WHOLE, 0)
            .is_ok_and(|whole| bps <= whole)
            .then_some(bps)
            .ok_or_else(|| json.malformed("at most 10000 basis points"))
    };
    Ok(PmBuilderFee {
        maker_bps: rate("builder_maker_fee_rate_bps")?,
        taker_bps: rate("builder_taker_fee_rate_bps")?,
    })
}

pub(super) fn pair(body: &Json<'_>) -> Read<Pair> {
    let body = body.object()?;
    Ok(Pair {
        condition_id: body.member("condition_id")?.word()?,
        token_ids: [
            body.member("primary_token_id")?.digits()?,
            body.member("secondary_token_id")?.digits()?,
        ],
    })
}

pub(super) fn book(body: &Json<'_>) -> Read<Book> {
    let market = body.object()?;
    let [first, second] = market.member("t")?.exactly("a list of two tokens")?;
    let token = |json: Json<'_>| {
        let token = json.object()?;
        Ok(PmToken {
            token_id: token.member("t")?.digits()?,
            outcome: token.member("o")?.label(MAX_OUTCOME_CHARS)?,
        })
    };
    let fee = market.find("fd").map(|fee| fee.object()).transpose()?;
    Ok(Book {
        condition_id: market.member("c")?.word()?,
        tokens: [token(first)?, token(second)?],
        tick_size: tick(&market.member("mts")?)?,
        min_order_size: market.member("mos")?.decimal()?,
        neg_risk: market.flag_or_false("nr")?,
        accepting_orders: market.flag_or_false("ao")?,
        fee_rate: fee
            .and_then(|fee| fee.find("r"))
            .map(|rate| rate.decimal())
            .transpose()?,
    })
}

/// The market that trades `token_id`, from the list's answer; `None` when the list has none.
pub(super) fn listed(body: &Json<'_>, token_id: U256) -> Read<Option<Listed>> {
    let mut found = None;
    for json in body.elements()? {
        let market = json.object()?;
        let ids = market.member("clobTokenIds")?;
        let names = market.member("outcomes")?;
        let [first, second] = strings(&ids, |id| id.digits())?;
        let [first_name, second_name] = strings(&names, |name| name.label(MAX_OUTCOME_CHARS))?;
        if first != token_id && second != token_id {
            return Err(ids.malformed("the token that was asked for"));
        }
        let market = Listed {
            condition_id: market.member("conditionId")?.word()?,
            tokens: [
                PmToken {
                    token_id: first,
                    outcome: first_name,
                },
                PmToken {
                    token_id: second,
                    outcome: second_name,
                },
            ],
            neg_risk: market.flag_or_false("negRisk")?,
            accepting_orders: market.flag_or_false("acceptingOrders")?,
            order_book: market.flag_or_false("enableOrderBook")?,
            active: market.member("active")?.flag()?,
            closed: market.member("closed")?.flag()? || market.flag_or_false("archived")?,
        };
        if found.replace(market).is_some() {
            return Err(body.malformed("one market of the token"));
        }
    }
    Ok(found)
}

/// The first token of the first market that the list shows.
pub(super) fn first_token(body: &Json<'_>) -> Read<Option<U256>> {
    let Some(first) = body.elements()?.into_iter().next() else {
        return Ok(None);
    };
    let [token, _] = strings(&first.member("clobTokenIds")?, |id| id.digits())?;
    Ok(Some(token))
}

/// A price step lies strictly between 0 and 1.
fn tick(json: &Json<'_>) -> Read<Decimal> {
    let tick = json.decimal()?;
    let between = !tick.is_zero() && Decimal::new(1, 0).is_ok_and(|one| tick < one);
    between
        .then_some(tick)
        .ok_or_else(|| json.malformed("a tick size between 0 and 1"))
}

/// The list of two that the market list encodes in a string.
fn strings<T>(json: &Json<'_>, read: impl Fn(&Json<'_>) -> Read<T>) -> Read<[T; 2]> {
    let text = json.text()?;
    let [first, second] =
        Json::nested(&text, json.path())?.exactly("a string with a list of two")?;
    Ok([read(&first)?, read(&second)?])
}
