//! `GET /all-tokens`.

use data_sources::{Error, Provenance, Sourced, Token, TokenList, TokenSnapshot};
use route_catalog::ErrorCode;
use serde_json::{Value, json};

use super::{Call, fault};
use crate::Sources;
use crate::answer::{Answered, Method, Unavailable, Warning};
use crate::reply::ErrorReply;

/// The list changes rarely; it is read again every six hours.
pub(crate) const FRESH_SECONDS: u64 = 6 * 3600;

pub(super) async fn answer(sources: &Sources, call: &Call) -> Result<Answered, ErrorReply> {
    let (found, fallback) = list(sources, call).await?;
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
    let page = all.get(start..end).unwrap_or_default();
    let source = found
        .sources
        .first()
        .map(|source| source.source)
        .unwrap_or_default();
    let unknown_decimals = page.iter().any(|token| token.decimals.is_none());
    let data = json!({
        "chain_id": found.value.chain_id,
        "count": all.len(),
        "tokens": page.iter().map(row).collect::<Vec<_>>(),
        "next_cursor": (end < all.len()).then(|| end.to_string()),
    });
    let unknown = unknown_decimals.then(|| Unavailable {
        field: "data.tokens[].decimals".to_owned(),
        reason: "not_named_by_source".to_owned(),
        source,
    });
    let warning = fallback.then(|| Warning {
        code: "fallback_list",
        message:
            "the list is of a catalogue, not of the chain's aggregator: not every token of it \
                  can be swapped"
                .to_owned(),
    });
    Ok(Answered {
        unavailable: unknown.into_iter().collect(),
        sources: found.sources,
        warnings: warning.into_iter().collect(),
        none: &["next_cursor", "logo_url"],
        ..Answered::new(data, FRESH_SECONDS).origin("tokens", source, Method::Direct)
    })
}

/// The aggregator's list, otherwise that of a catalogue; and whether it is the latter.
async fn list(
    sources: &Sources,
    call: &Call,
) -> Result<(Sourced<TokenSnapshot>, bool), ErrorReply> {
    let error = match sources.okx.tokens(call.max_age()).await {
        Ok(found) => return Ok((found, false)),
        Err(error) => error,
    };
    let Ok(mut found) = sources.coingecko.tokens(call.max_age()).await else {
        return Err(fault::reply(&error));
    };
    if let Error::Source(error) = &error {
        let mode = sources.mode_of(error.source);
        found
            .sources
            .push(Provenance::unavailable(error, mode, sources.now()));
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

/// The position that an earlier answer's `next_cursor` names.
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
                "the cursor is not one of this list",
            )
            .detail("problems", vec![problem])
        })
}
