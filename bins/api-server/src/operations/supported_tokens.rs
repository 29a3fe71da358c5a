//! `GET /supported-tokens`: searches the tokens of a chain by symbol, and marks imitations.

use data_sources::okx::Okx;
use readings::symbol::SymbolKey;
use readings::token::search::{Likeness, rank};
use route_catalog::HOME_CHAIN;
use serde_json::json;

use super::fault;
use crate::answer::{Answered, Method, Warning};
use crate::call::Call;
use crate::reply::ErrorReply;

const FRESH_SECONDS: u64 = 60;
const USUAL_LIMIT: u64 = 20;

pub(super) async fn answer(okx: &Okx, call: &Call) -> Result<Answered, ErrorReply> {
    let parameters = &call.parameters;
    let text = parameters.text("symbol").unwrap_or_default().trim();
    let text = text.strip_prefix('$').unwrap_or(text);
    let symbol = SymbolKey::new(text)
        .ok_or_else(|| fault::bad_parameter("symbol", "expected a symbol of 1 to 64 characters"))?;
    let chain_id = parameters.chain("chain").unwrap_or(HOME_CHAIN).id;
    let limit = parameters.integer("limit").unwrap_or(USUAL_LIMIT);
    let cursor = parameters.text("cursor");
    let found = okx
        .search_tokens(text, chain_id, limit, cursor, call.max_age())
        .await
        .map_err(|error| fault::reply(&error))?;
    let tokens = rank(&symbol, found.value.tokens.clone());
    let imitations = tokens
        .iter()
        .filter(|row| row.likeness == Likeness::Imitation)
        .count();
    let warning = (imitations > 0).then(|| Warning {
        code: "imitations_found",
        message: format!("{imitations} of the tokens are written to look like another symbol"),
    });
    let data = json!({
        "query": text,
        "chain_id": chain_id,
        "tokens": tokens,
        "next_cursor": found.value.next_cursor,
    });
    Ok(Answered {
        sources: found.sources,
        warnings: warning.into_iter().collect(),
        none: &["next_cursor"],
        ..Answered::new(data, FRESH_SECONDS).origin("tokens", "okx.token-search", Method::Direct)
    })
}
