//! `GET /api/v3/token_lists/x-layer/all.json`, in the common format of token lists.

use std::time::Duration;

use alloy_primitives::Address;
use jiff::Timestamp;
use readings::token::{https, undisputed};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::Coingecko;
use crate::{
    CHAIN_ID,
    error::{Error, SourceErrorKind},
    json::read_json,
    provenance::Sourced,
    source::Fault,
    text::clean,
    tokens::{Token, TokenSnapshot},
};

pub(super) const SOURCE: &str = "coingecko.token-list";
const PATH: &str = "/api/v3/token_lists/x-layer/all.json";

#[derive(Deserialize)]
struct Body {
    timestamp: Option<String>,
    tokens: Vec<Box<RawValue>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Row {
    chain_id: u64,
    address: Address,
    name: Option<String>,
    symbol: String,
    decimals: Option<u8>,
    #[serde(rename = "logoURI")]
    logo: Option<String>,
}

impl Coingecko {
    /// The tokens that can be traded, at most `max_age` old when that is given; the adapter's own
    /// time to live holds as well.
    ///
    /// # Errors
    ///
    /// [`Error::Source`] when no list is young enough.
    pub async fn tokens(&self, max_age: Option<Duration>) -> Result<Sourced<TokenSnapshot>, Error> {
        let this = self.clone();
        let fetch = move || async move {
            let read: Result<Sourced<(TokenSnapshot, Option<Timestamp>)>, Error> = this
                .source
                .ask(this.ask(SOURCE, PATH), |reply| {
                    snapshot(read_json(&reply.body)?).map_err(Fault::Upstream)
                })
                .await;
            let read = read?;
            let now = this.source.now();
            // A list is as old as its last change, unless that time lies in the future.
            let as_of = read.value.1.filter(|time| *time <= now);
            Ok(read.map(|(snapshot, _)| snapshot).as_of(as_of))
        };
        self.list.get((), max_age, fetch).await
    }
}

fn snapshot(body: Body) -> Result<(TokenSnapshot, Option<Timestamp>), SourceErrorKind> {
    let total = body.tokens.len();
    let read = body.tokens.iter().filter_map(|raw| token(raw)).collect();
    let same = |a: &Token, b: &Token| a.decimals == b.decimals && a.symbol == b.symbol;
    let tokens = undisputed(read, |token: &Token| token.address, same);
    if tokens.is_empty() {
        return Err(SourceErrorKind::Malformed {
            path: "$.tokens".to_owned(),
            expected: "a list with at least one usable token of the chain",
            observed: format!("{total} others"),
        });
    }
    let rejected = total.saturating_sub(tokens.len());
    let stated = body.timestamp.and_then(|text| text.parse().ok());
    let snapshot = TokenSnapshot {
        chain_id: CHAIN_ID,
        tokens: tokens.into(),
        rejected,
    };
    Ok((snapshot, stated))
}

fn token(raw: &RawValue) -> Option<Token> {
    let row: Row = read_json(raw.get().as_bytes()).ok()?;
    let symbol = clean(&row.symbol, 32);
    let usable = row.chain_id == CHAIN_ID && !row.address.is_zero() && !symbol.is_empty();
    usable.then(|| Token {
        address: row.address,
        symbol,
        name: row
            .name
            .map(|name| clean(&name, 64))
            .filter(|name| !name.is_empty()),
        decimals: row.decimals,
        logo_url: row.logo.as_deref().and_then(https),
    })
}
