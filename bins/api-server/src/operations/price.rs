//! `GET /price`.

use data_sources::TokenPrices;
use serde_json::json;

use super::{Call, fault};
use crate::Sources;
use crate::answer::{Answered, Method, seconds};
use crate::reply::ErrorReply;

const FRESH_SECONDS: u64 = 60;

pub(super) async fn answer(sources: &Sources, call: &Call) -> Result<Answered, ErrorReply> {
    let token = call.parameters.address("token").unwrap_or_default();
    let found = sources
        .okx
        .price(token)
        .await
        .map_err(|error| fault::reply(&error))?;
    let price = found.value;
    let source = found
        .sources
        .first()
        .map(|source| source.source)
        .unwrap_or_default();
    let data = json!({
        "token": price.token.to_string(),
        "chain_id": price.chain_id,
        "price_usd": price.price_usd.to_string(),
        "source": source,
        "as_of": seconds(price.as_of),
        // One source is an opinion; a second one that agrees is what makes it more.
        "confidence": "single_source",
    });
    Ok(Answered {
        sources: found.sources,
        as_of: Some(price.as_of),
        ..Answered::new(data, FRESH_SECONDS).origin("price_usd", source, Method::Direct)
    })
}
