//! `POST /swap`: a quote and the judged calldata of a swap on the home chain.

use data_sources::okx::Okx;
use data_sources::{SwapRequest, Trim};
use serde_json::{Value, json};

use super::fault;
use crate::answer::{Answered, Method, Object, Origin, Unavailable, seconds};
use crate::call::Call;
use crate::context::Context;
use crate::reply::ErrorReply;
use crate::reviewed::Unreviewed;

/// For how many seconds a quote counts as fresh. It ages with every block.
const FRESH_SECONDS: u64 = 15;

pub(super) async fn answer(
    context: &Context,
    okx: &Okx,
    unreviewed: &Unreviewed,
    call: &Call,
) -> Result<Answered, ErrorReply> {
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
            "to_token": quote.request.to_token.to_string(),
            "amount_atoms": quote.request.amount.to_string(),
            "quote": {
                "amount_out_atoms": quote.amount_out.to_string(),
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
        as_of: Some(context.now()),
        fresh_seconds: FRESH_SECONDS,
        none: &[],
        ..Answered::default()
    })
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
