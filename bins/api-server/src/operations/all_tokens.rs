//! `GET /all-tokens`: the tokens of the home chain's aggregator. When the aggregator fails, a
//! catalogue's list replaces it, and the answer warns.

use data_sources::{Error, Provenance, Sourced, Token, TokenSnapshot};
use route_catalog::ErrorCode;
use serde_json::{Value, json};

use super::{boxed, fault};
use crate::answer::{Answered, Method, Warning};
use crate::call::Call;
use crate::context::Context;
use crate::reply::ErrorReply;
use crate::sources::{TOKEN_LIST_FRESH_SECONDS, Tokens};

pub(super) async fn answer(
    context: &Context,
    tokens: &Tokens,
    call: &Call,
) -> Result<Answered, ErrorReply> {
    let (found, fallback) = list(context, tokens, call).await?;
    let all = &found.value.tokens;
    if all.is_empty() {
        return Err(
            ErrorReply::new(ErrorCode::CoreDataMissing, "the token list is empty")
                .detail("missing", vec!["tokens"]),
        );
    }
    let start = cursor(call, all.len())?;
    let limit = call
        .parameters
        .integer("limit")
        .and_then(|limit| usize::try_from(limit).ok());
    let end = limit.map_or(all.len(), |limit| {
        start.saturating_add(limit).min(all.len())
    });
    let source = found.source();
    let data = || {
        let page = all.get(start..end).unwrap_or_default();
        json!({
            "chain_id": found.value.chain_id,
            "count": all.len(),
            "tokens": page.iter().map(row).collect::<Vec<_>>(),
            "next_cursor": (end < all.len()).then(|| end.to_string()),
        })
    };
    let data = tokens.rendered.object(all, (start, end), data);
    let mut warnings = Vec::new();
    if fallback {
        warnings.push(Warning {
            code: "fallback_list",
            message:
                "the list comes from a catalogue, not from the chain's aggregator: not every token of it \
                 can be swapped"
                    .to_owned(),
        });
    }
    if found.value.rejected > 0 {
        warnings.push(Warning {
            code: "rows_left_out",
            message: format!(
                "{} rows of the source's list are left out because they are unreadable, repeated or contradictory",
                found.value.rejected
            ),
        });
    }
    Ok(Answered {
        sources: found.sources,
        warnings,
        none: &["next_cursor"],
        ..Answered::of(data, TOKEN_LIST_FRESH_SECONDS).origin("tokens", source, Method::Direct)
    })
}

/// The aggregator's list, or else a catalogue's. The flag says whether it is a catalogue's.
async fn list(
    context: &Context,
    tokens: &Tokens,
    call: &Call,
) -> Result<(Sourced<TokenSnapshot>, bool), ErrorReply> {
    let error = match tokens.okx.tokens(call.max_age()).await {
        Ok(found) => return Ok((found, false)),
        Err(error) => error,
    };
    let fallback = boxed(|| tokens.coingecko.tokens(call.max_age()));
    let Ok(mut found) = fallback.await else {
        return Err(fault::reply(&error));
    };
    if let Error::Source(error) = &error {
        let mode = context.mode_of(error.source);
        found
            .sources
            .push(Provenance::unavailable(error, mode, context.now()));
    }
    Ok((found, true))
}

fn row(token: &Token) -> Value {
    json!({
        "address": token.address.to_string(),
        "symbol": token.symbol,
        "name": token.name,
        "decimals": token.decimals,
        "logo_url": token.logo_url,
    })
}

/// The position that the `next_cursor` of an earlier answer names.
fn cursor(call: &Call, count: usize) -> Result<usize, ErrorReply> {
    let Some(text) = call.parameters.text("cursor") else {
        return Ok(0);
    };
    text.parse()
        .ok()
        .filter(|start| *start <= count)
        .ok_or_else(|| {
            let problem = json!({
                "path": "query.cursor",
                "code": "invalid",
                "message": "expected the next_cursor of an earlier answer",
            });
            ErrorReply::new(
                ErrorCode::InvalidParams,
                "the cursor does not belong to this list",
            )
            .detail("problems", vec![problem])
        })
}
