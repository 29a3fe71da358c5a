//! `POST /swap`: a quote and the judged calldata of a swap on the home chain.
//!
//! Nothing is signed here. A swap that is not worth its input, or of which nobody can tell, is
//! answered with a warning under the code with which a signed one is refused.

use std::time::Duration;

use alloy_primitives::{Address, U256};
use data_sources::evm::EvmReader;
use data_sources::okx::Okx;
use data_sources::worth::{WorthJudge, side};
use data_sources::{NATIVE_COIN, SwapQuote, SwapRequest, Trim};
use readings::defi::chains::gas_coin;
use readings::worth::{Exchange, Side};
use serde_json::{Value, json};
use tokio::time::{Instant, timeout_at};

use super::fault;
use crate::answer::{Answered, Method, Object, Origin, Unavailable, Warning, seconds};
use crate::call::Call;
use crate::context::Context;
use crate::reply::ErrorReply;
use crate::reviewed::Unreviewed;

/// For how many seconds a quote counts as fresh. It ages with every block.
const FRESH_SECONDS: u64 = 15;

/// How long the answer waits for what the warnings need: the decimals and the prices of the tokens.
const WORTH_PATIENCE: Duration = Duration::from_secs(5);

/// The decimals of the home chain's coin, and of its wrapped token.
const COIN_DECIMALS: u8 = 18;

/// The sources that the route reads.
#[derive(Clone, Copy)]
pub(super) struct Reads<'a> {
    pub(super) okx: &'a Okx,
    pub(super) unreviewed: &'a Unreviewed,
    pub(super) evm: &'a EvmReader,
    pub(super) worth: &'a WorthJudge,
}

pub(super) async fn answer(
    context: &Context,
    sources: Reads<'_>,
    call: &Call,
) -> Result<Answered, ErrorReply> {
    let Reads {
        okx, unreviewed, ..
    } = sources;
    let parameters = &call.parameters;
    let request = SwapRequest::parse(
        parameters.address("fromToken").unwrap_or_default(),
        parameters.address("toToken").unwrap_or_default(),
        parameters.text("amount").unwrap_or_default(),
        parameters.address("userWalletAddress").unwrap_or_default(),
        parameters.text("slippage"),
        okx.reviewed(),
    )
    .map_err(|error| fault::reply(&error.into()))?;
    let found = okx
        .swap(&request)
        .await
        .inspect_err(|error| unreviewed.note(error, context.now()))
        .map_err(|error| fault::reply(&error))?;
    let source = found.source();
    let quote = found.value;
    let from = okx.reviewed().source_token(quote.request.from_token);
    let from_decimals = from.map(|token| token.decimals);
    let until = Instant::now() + WORTH_PATIENCE;
    let to_decimals = decimals(sources, quote.chain_id, quote.request.to_token);
    let to_decimals = timeout_at(until, to_decimals).await.ok().flatten();
    let warnings = warnings(sources, &quote, (from_decimals, to_decimals), until).await;
    let whole = |atoms: U256, decimals: Option<u8>| {
        decimals.map(|decimals| exact::format_units(atoms, decimals))
    };
    let mut unavailable = Vec::new();
    for (missing, field) in [
        (
            quote.price_impact_pct.is_none(),
            "data.quote.price_impact_pct",
        ),
        (quote.gas_limit.is_none(), "data.tx.gas_limit"),
        (
            quote.to_token.is_honeypot.is_none(),
            "data.to_token_checks.is_honeypot",
        ),
        (quote.to_token.symbol.is_none(), "data.to_token_symbol"),
        (to_decimals.is_none(), "data.to_token_decimals"),
        (to_decimals.is_none(), "data.quote.amount_out"),
        (to_decimals.is_none(), "data.quote.min_amount_out"),
    ] {
        if missing {
            let reason = "not_named_by_source".to_owned();
            unavailable.push(Unavailable {
                field: field.to_owned(),
                reason,
                source,
            });
        }
    }
    let route: Vec<_> = quote
        .route
        .iter()
        .map(|hop| json!({ "venue": hop.venue, "share_pct": hop.share_pct }))
        .collect();
    Ok(Answered {
        data: Object::from(json!({
            "from_token": quote.request.from_token.to_string(),
            "from_token_symbol": from.map(|token| token.symbol.as_str()),
            "from_token_decimals": from_decimals,
            "to_token": quote.request.to_token.to_string(),
            "to_token_symbol": quote.to_token.symbol,
            "to_token_decimals": to_decimals,
            "amount": whole(quote.request.amount, from_decimals),
            "amount_atoms": quote.request.amount.to_string(),
            "approval": {
                "token": quote.request.from_token.to_string(),
                "spender": okx.reviewed().spender.to_string(),
                "amount_atoms": quote.request.amount.to_string(),
            },
            "quote": {
                "amount_out": whole(quote.amount_out, to_decimals),
                "amount_out_atoms": quote.amount_out.to_string(),
                "min_amount_out": whole(quote.min_amount_out, to_decimals),
                "min_amount_out_atoms": quote.min_amount_out.to_string(),
                "price_impact_pct": quote.price_impact_pct,
                "route": route,
            },
            "tx": {
                "from": quote.request.user.to_string(),
                "to": quote.to.to_string(),
                "data": quote.data.to_string(),
                "value": "0",
                "gas_limit": quote.gas_limit.map(|gas| gas.to_string()),
                "chain_id": quote.chain_id,
            },
            "bound": {
                "function": quote.function,
                "receiver": quote.request.user.to_string(),
                "reviewed_version": quote.reviewed_version,
                "deadline": quote.deadline.map(deadline),
                "surplus_cut": quote.trim.as_ref().map(surplus_cut),
                "trailing_bytes": quote.trailing_bytes,
            },
            "to_token_checks": {
                "is_honeypot": quote.to_token.is_honeypot,
                "tax_rate": quote.to_token.tax_rate.as_ref().map(ToString::to_string),
            },
            "slippage_pct": quote.request.slippage.to_string(),
            "broadcast": false,
        })),
        origins: vec![
            Origin::new("quote", source, Method::Direct),
            Origin::new("tx", source, Method::Direct),
            Origin::new("bound", source, Method::Derived),
        ],
        sources: found.sources,
        unavailable,
        warnings,
        as_of: Some(context.now()),
        fresh_seconds: FRESH_SECONDS,
        none: &[],
        ..Answered::default()
    })
}

/// Judges what the swap is worth until this time, as if it were signed. The decimals are those of
/// the two tokens.
async fn warnings(
    sources: Reads<'_>,
    quote: &SwapQuote,
    decimals: (Option<u8>, Option<u8>),
    until: Instant,
) -> Vec<Warning> {
    let SwapRequest {
        from_token,
        to_token,
        amount,
        ..
    } = quote.request;
    let whole = |token, atoms, decimals| match decimals {
        Some(decimals) => side(token, atoms, decimals),
        None => Side {
            token,
            amount: None,
        },
    };
    let exchange = Exchange {
        chain_id: quote.chain_id,
        input: whole(from_token, amount, decimals.0),
        output: whole(to_token, quote.amount_out, decimals.1),
        stated: quote.stated(),
        max_price_impact_bps: None,
    };
    let left = until.saturating_duration_since(Instant::now());
    let judged = sources.worth.judge_within(&exchange, left).await;
    let warning = judged.err().map(|unworthy| Warning {
        code: unworthy.code(),
        message: unworthy.to_string(),
    });
    warning.into_iter().collect()
}

/// A token's decimals: reviewed ones, or those that its contract states. The aggregator's own
/// statement would let it choose the worth of its output.
async fn decimals(sources: Reads<'_>, chain_id: u64, token: Address) -> Option<u8> {
    if let Some(reviewed) = sources.okx.reviewed().source_token(token) {
        return Some(reviewed.decimals);
    }
    if token == NATIVE_COIN || gas_coin(chain_id).is_some_and(|coin| coin.token == token) {
        return Some(COIN_DECIMALS);
    }
    let facts = sources.evm.token_facts(chain_id, &[token]).await;
    facts.ok()?.value.get(&token)?.decimals
}

/// The aggregator's share of an output that exceeds the quote. The least output stays untouched.
fn surplus_cut(trim: &Trim) -> Value {
    json!({
        "above_amount_out_atoms": trim.above.to_string(),
        "rate_per_mille": trim.rate_per_mille,
        "recipient": trim.recipient.to_string(),
        "shared_with": trim.charge.as_ref().map(|charge| json!({
            "share_per_mille": charge.share_per_mille,
            "recipient": charge.recipient.to_string(),
        })),
    })
}

fn deadline(unix: u64) -> Option<String> {
    let time = jiff::Timestamp::from_second(i64::try_from(unix).ok()?).ok()?;
    Some(seconds(time))
}

#[cfg(test)]
mod tests {
    use readings::worth::SOURCES;
    use route_catalog::Operation;

    /// One quote, a token's decimals at two nodes, and the prices of both tokens.
    #[test]
    fn the_reserve_covers_the_judgement_of_worth() {
        let most = 1 + 2 + 2 * SOURCES.len();
        let reserved = Operation::Swap.most_calls().upstream;
        assert_eq!(usize::try_from(reserved).unwrap(), most);
    }
}
