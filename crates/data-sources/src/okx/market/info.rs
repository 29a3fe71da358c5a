//! `POST /api/v6/dex/market/price-info`: the market of up to a hundred tokens at once.

use std::{sync::Arc, time::Duration};

use alloy_primitives::Address;
use readings::{
    Figure,
    token::{market::TokenMarket, measure, undisputed},
};
use serde::Deserialize;
use serde_json::{json, value::RawValue};

use super::{ChainIndex, count, malformed, price, row, rows, time};
use crate::{
    error::{Error, SourceErrorKind},
    okx::{Okx, lower},
    provenance::Sourced,
};

const SOURCE: &str = "okx.price-info";
const PATH: &str = "/api/v6/dex/market/price-info";
/// The most tokens of one call.
const MAX_TOKENS: usize = 100;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Row {
    chain_index: ChainIndex,
    token_contract_address: Address,
    #[serde(default, deserialize_with = "Figure::or_none")]
    time: Option<Figure>,
    #[serde(default, deserialize_with = "Figure::or_none")]
    price: Option<Figure>,
    #[serde(default, deserialize_with = "Figure::lenient")]
    market_cap: Option<Figure>,
    #[serde(default, deserialize_with = "Figure::lenient")]
    liquidity: Option<Figure>,
    #[serde(default, deserialize_with = "Figure::lenient")]
    holders: Option<Figure>,
    #[serde(
        default,
        rename = "priceChange5M",
        deserialize_with = "Figure::lenient"
    )]
    change_5m: Option<Figure>,
    #[serde(
        default,
        rename = "priceChange1H",
        deserialize_with = "Figure::lenient"
    )]
    change_1h: Option<Figure>,
    #[serde(
        default,
        rename = "priceChange4H",
        deserialize_with = "Figure::lenient"
    )]
    change_4h: Option<Figure>,
    #[serde(
        default,
        rename = "priceChange24H",
        deserialize_with = "Figure::lenient"
    )]
    change_24h: Option<Figure>,
    #[serde(default, rename = "volume24H", deserialize_with = "Figure::lenient")]
    volume_24h: Option<Figure>,
    #[serde(default, rename = "txs24H", deserialize_with = "Figure::lenient")]
    txs_24h: Option<Figure>,
}

impl Okx {
    /// The markets of `tokens`, in their order. A token that is not priced has no row. Only the
    /// first hundred tokens are read.
    ///
    /// # Errors
    ///
    /// When the answer is unusable.
    pub async fn markets(
        &self,
        tokens: &[Address],
        max_age: Option<Duration>,
    ) -> Result<Sourced<Arc<[TokenMarket]>>, Error> {
        let tokens: Vec<Address> = tokens.iter().take(MAX_TOKENS).copied().collect();
        let (this, key) = (self.clone(), tokens.clone());
        let fetch = move || async move { this.fetch_markets(&tokens).await };
        self.markets.infos.get(key, max_age, fetch).await
    }

    /// The market of one token.
    ///
    /// # Errors
    ///
    /// [`Error::NotPriced`] for an unknown token; an [`Error::Source`] when the answer is unusable.
    pub async fn market(
        &self,
        token: Address,
        max_age: Option<Duration>,
    ) -> Result<Sourced<TokenMarket>, Error> {
        let Sourced { value, sources } = self.markets(&[token], max_age).await?;
        let value = value.first().cloned().ok_or(Error::NotPriced { token })?;
        Ok(Sourced { value, sources })
    }

    async fn fetch_markets(
        &self,
        tokens: &[Address],
    ) -> Result<Sourced<Arc<[TokenMarket]>>, Error> {
        let chain_id = self.config.reviewed.chain_id;
        let asked: Vec<_> = tokens
            .iter()
            .map(|token| json!({"chainIndex": chain_id.to_string(), "tokenContractAddress": lower(*token)}))
            .collect();
        let body = json!(asked).to_string();
        let raw: Sourced<Vec<Box<RawValue>>> = self.read(SOURCE, PATH, Some(&body)).await?;
        let row = |raw: &RawValue| self.market_row(raw);
        let read = self.source.counting(SOURCE, || rows(&raw.value, row));
        let found = read.map_err(|kind| self.reject_response(SOURCE, kind))?;
        let found: Vec<TokenMarket> = found.into_iter().flatten().collect();
        let ours =
            |market: &TokenMarket| market.chain_id == chain_id && tokens.contains(&market.address);
        let answered = found.len();
        let found: Vec<_> = found.into_iter().filter(ours).collect();
        if answered > 0 && found.is_empty() {
            let kind = malformed("$", "rows of the tokens asked for", "rows of others");
            return Err(self.reject_response(SOURCE, kind).into());
        }
        let mut found = undisputed(
            found,
            |market| market.address,
            |a, b| a.price_usd == b.price_usd,
        );
        found.sort_by_key(|market| tokens.iter().position(|token| *token == market.address));
        let oldest = found.iter().map(|market| market.as_of).min();
        Ok(raw.map(|_| found.into()).as_of(oldest))
    }

    /// `None` for a row without a price: the source has none.
    fn market_row(&self, raw: &RawValue) -> Result<Option<TokenMarket>, SourceErrorKind> {
        let row: Row = row(raw)?;
        let Some(stated) = row.price else {
            return Ok(None);
        };
        let bad = |expected, observed: &str| malformed("$", expected, observed);
        Ok(Some(TokenMarket {
            address: row.token_contract_address,
            chain_id: row
                .chain_index
                .id()
                .ok_or_else(|| bad("a chain id", "another text"))?,
            as_of: time(row.time.ok_or_else(|| bad("a time", "none"))?, self.now())?,
            price_usd: price(Some(stated))
                .ok_or_else(|| bad("a price above zero", &stated.to_string()))?,
            change_5m_pct: row.change_5m,
            change_1h_pct: row.change_1h,
            change_4h_pct: row.change_4h,
            change_24h_pct: row.change_24h,
            volume_24h_usd: measure(row.volume_24h),
            liquidity_usd: measure(row.liquidity),
            // A market cap of zero dollars means that the source does not know the supply.
            market_cap_usd: price(row.market_cap),
            holders: count(row.holders),
            txs_24h: count(row.txs_24h),
        }))
    }
}
