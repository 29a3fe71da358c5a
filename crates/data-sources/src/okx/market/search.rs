//! `GET /api/v6/dex/market/token/search`: tokens of a chain by symbol, name or address, page by
//! page. Imitations are not told apart here.

use std::{sync::Arc, time::Duration};

use alloy_primitives::Address;
use readings::{
    Figure,
    token::{
        measure,
        search::{FoundPage, FoundToken},
        undisputed,
    },
};
use serde::Deserialize;
use serde_json::value::RawValue;
use url::form_urlencoded::Serializer;

use super::{
    ChainIndex, MAX_NAME_CHARS, MAX_SYMBOL_CHARS, count, malformed, price, row, rows, small,
};
use crate::{
    error::{Error, SourceErrorKind},
    okx::Okx,
    provenance::Sourced,
    text::clean,
};

const SOURCE: &str = "okx.token-search";
const PATH: &str = "/api/v6/dex/market/token/search";
const MAX_CURSOR_LEN: usize = 128;

/// The request of a page of search results.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct TokenSearch {
    text: String,
    chain_id: u64,
    limit: u64,
    cursor: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Row {
    chain_index: ChainIndex,
    token_contract_address: Address,
    token_symbol: String,
    token_name: Option<String>,
    #[serde(default, deserialize_with = "Figure::or_none")]
    decimal: Option<Figure>,
    #[serde(default, deserialize_with = "Figure::lenient")]
    price: Option<Figure>,
    #[serde(default, deserialize_with = "Figure::lenient")]
    change: Option<Figure>,
    #[serde(default, deserialize_with = "Figure::lenient")]
    market_cap: Option<Figure>,
    #[serde(default, deserialize_with = "Figure::lenient")]
    liquidity: Option<Figure>,
    #[serde(default, deserialize_with = "Figure::lenient")]
    holders: Option<Figure>,
    tag_list: Option<Tags>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Tags {
    community_recognized: Option<bool>,
}

#[derive(Deserialize)]
struct Place {
    cursor: Option<String>,
}

impl TokenSearch {
    fn path(&self) -> String {
        let mut query = Serializer::new(String::new());
        query
            .append_pair("chains", &self.chain_id.to_string())
            .append_pair("search", &self.text)
            .append_pair("limit", &self.limit.to_string());
        if let Some(cursor) = &self.cursor {
            query.append_pair("cursor", cursor);
        }
        format!("{PATH}?{}", query.finish())
    }
}

impl Okx {
    /// The tokens of a chain that match a symbol, a name or an address, in the source's order: at
    /// most `limit`, from `cursor`, which is the `next_cursor` of an earlier page. A page may be
    /// empty.
    ///
    /// # Errors
    ///
    /// When the answer is unusable.
    pub async fn search_tokens(
        &self,
        text: &str,
        chain_id: u64,
        limit: u64,
        cursor: Option<&str>,
        max_age: Option<Duration>,
    ) -> Result<Sourced<Arc<FoundPage>>, Error> {
        let search = TokenSearch {
            text: text.to_owned(),
            chain_id,
            limit,
            cursor: cursor.map(str::to_owned),
        };
        let (this, key) = (self.clone(), search.clone());
        let fetch = move || async move { this.fetch_search(&search).await };
        self.markets.found.get(key, max_age, fetch).await
    }

    async fn fetch_search(&self, search: &TokenSearch) -> Result<Sourced<Arc<FoundPage>>, Error> {
        let path = search.path();
        let raw: Sourced<Vec<Box<RawValue>>> = self.read(SOURCE, &path, None).await?;
        let page = page(&raw.value, search).map_err(|kind| self.reject_response(SOURCE, kind))?;
        Ok(raw.map(|_| Arc::new(page)))
    }
}

fn page(raw: &[Box<RawValue>], search: &TokenSearch) -> Result<FoundPage, SourceErrorKind> {
    let read = rows(raw, found)?;
    let ours: Vec<FoundToken> = read
        .into_iter()
        .filter(|(chain_id, _)| *chain_id == search.chain_id)
        .map(|(_, token)| token)
        .collect();
    if ours.is_empty() && !raw.is_empty() {
        return Err(malformed(
            "$",
            "tokens of the chain asked for",
            "tokens of others",
        ));
    }
    let full = u64::try_from(raw.len()).is_ok_and(|rows| rows >= search.limit);
    let last = raw
        .last()
        .filter(|_| full)
        .and_then(|last| row::<Place>(last).ok());
    let next_cursor = last
        .and_then(|place| place.cursor)
        .filter(|cursor| !cursor.is_empty() && cursor.len() <= MAX_CURSOR_LEN)
        // A page that leads to itself would never end.
        .filter(|cursor| search.cursor.as_ref() != Some(cursor));
    let same = |a: &FoundToken, b: &FoundToken| a.symbol == b.symbol && a.decimals == b.decimals;
    Ok(FoundPage {
        tokens: undisputed(ours, |token| token.address, same),
        next_cursor,
    })
}

fn found(raw: &RawValue) -> Result<(u64, FoundToken), SourceErrorKind> {
    let row: Row = row(raw)?;
    let symbol = clean(&row.token_symbol, MAX_SYMBOL_CHARS);
    if symbol.is_empty() || row.token_contract_address.is_zero() {
        return Err(malformed("$", "a symbol and an address", "none"));
    }
    let chain_id = row
        .chain_index
        .id()
        .ok_or_else(|| malformed("$", "a chain id", "another text"))?;
    let decimals = match row.decimal {
        Some(decimal) => {
            let small = small(Some(decimal));
            Some(small.ok_or_else(|| malformed("$.decimal", "at most 255", &decimal.to_string()))?)
        }
        None => None,
    };
    let name = row.token_name.map(|name| clean(&name, MAX_NAME_CHARS));
    Ok((
        chain_id,
        FoundToken {
            address: row.token_contract_address,
            symbol,
            name: name.filter(|name| !name.is_empty()),
            decimals,
            price_usd: price(row.price),
            change_24h_pct: row.change,
            market_cap_usd: price(row.market_cap),
            liquidity_usd: measure(row.liquidity),
            holders: count(row.holders),
            verified: row.tag_list.and_then(|tags| tags.community_recognized),
        },
    ))
}
