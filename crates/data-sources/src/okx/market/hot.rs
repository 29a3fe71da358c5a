//! `GET /api/v6/dex/market/token/hot-token`: rankings of tokens, of one chain or of all.

use std::{sync::Arc, time::Duration};

use readings::{
    Figure,
    token::{market::HotToken, measure, undisputed},
};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::{ChainIndex, MAX_SYMBOL_CHARS, count, malformed, price, row, rows, small};
use crate::{
    error::{Error, SourceErrorKind},
    okx::Okx,
    provenance::Sourced,
    text::clean,
};

const SOURCE: &str = "okx.hot-tokens";
/// The path of a ranking: by the source's score over a day, without tokens that the source rates as
/// risky.
const PATH: &str =
    "/api/v6/dex/market/token/hot-token?rankingType=4&rankingTimeFrame=4&limit=20&riskFilter=true";

/// The order of a ranking.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum HotBy {
    /// The source's own score of how a token trends.
    Score,
    /// Dollars in the token's pools.
    Liquidity,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Row {
    chain_index: ChainIndex,
    token_contract_address: String,
    token_symbol: String,
    #[serde(default, deserialize_with = "Figure::lenient")]
    price: Option<Figure>,
    #[serde(default, deserialize_with = "Figure::lenient")]
    change: Option<Figure>,
    #[serde(default, deserialize_with = "Figure::lenient")]
    volume: Option<Figure>,
    #[serde(default, deserialize_with = "Figure::lenient")]
    liquidity: Option<Figure>,
    #[serde(default, deserialize_with = "Figure::lenient")]
    market_cap: Option<Figure>,
    #[serde(default, deserialize_with = "Figure::lenient")]
    unique_traders: Option<Figure>,
    #[serde(default, deserialize_with = "Figure::lenient")]
    holders: Option<Figure>,
    #[serde(default, deserialize_with = "Figure::lenient")]
    top10_hold_percent: Option<Figure>,
    #[serde(default, deserialize_with = "Figure::lenient")]
    risk_level_control: Option<Figure>,
}

impl Okx {
    /// Tokens by the source's own score of how they trend, on `chain_id` or on all chains, without
    /// stablecoins and without tokens that the source rates as risky.
    ///
    /// # Errors
    ///
    /// When the answer is unusable.
    pub async fn hot_tokens(
        &self,
        chain_id: Option<u64>,
        max_age: Option<Duration>,
    ) -> Result<Sourced<Arc<[HotToken]>>, Error> {
        self.hot_by(chain_id, HotBy::Score, max_age).await
    }

    /// The tokens of `chain_id` with the most dollars in their pools, without tokens that the
    /// source rates as risky.
    ///
    /// # Errors
    ///
    /// When the answer is unusable.
    pub async fn liquid_tokens(
        &self,
        chain_id: u64,
        max_age: Option<Duration>,
    ) -> Result<Sourced<Arc<[HotToken]>>, Error> {
        self.hot_by(Some(chain_id), HotBy::Liquidity, max_age).await
    }

    async fn hot_by(
        &self,
        chain_id: Option<u64>,
        by: HotBy,
        max_age: Option<Duration>,
    ) -> Result<Sourced<Arc<[HotToken]>>, Error> {
        let (this, key) = (self.clone(), (chain_id, by));
        let fetch = move || async move { this.fetch_hot(chain_id, by).await };
        self.markets.hot.get(key, max_age, fetch).await
    }

    async fn fetch_hot(
        &self,
        chain_id: Option<u64>,
        by: HotBy,
    ) -> Result<Sourced<Arc<[HotToken]>>, Error> {
        let order = match by {
            HotBy::Score => "&rankBy=15&stableTokenFilter=true",
            HotBy::Liquidity => "&rankBy=7&stableTokenFilter=false",
        };
        let chain = chain_id
            .map(|id| format!("&chainIndex={id}"))
            .unwrap_or_default();
        let path = format!("{PATH}{order}{chain}");
        let raw: Sourced<Vec<Box<RawValue>>> = self.read(SOURCE, &path, None).await?;
        let read = self
            .source
            .counting(SOURCE, || rows(&raw.value, hot))
            .map_err(|kind| self.reject_response(SOURCE, kind))?;
        let answered = read.len();
        let ours = |token: &HotToken| chain_id.is_none_or(|id| token.chain_id == id);
        let ours: Vec<HotToken> = read.into_iter().filter(ours).collect();
        if ours.is_empty() && answered > 0 {
            let kind = malformed("$", "tokens of the chain asked for", "tokens of others");
            return Err(self.reject_response(SOURCE, kind).into());
        }
        let key = |token: &HotToken| (token.chain_id, token.contract.clone());
        let tokens = undisputed(ours, key, |a, b| a.symbol == b.symbol);
        Ok(raw.map(|_| tokens.into()))
    }
}

fn hot(raw: &RawValue) -> Result<HotToken, SourceErrorKind> {
    let row: Row = row(raw)?;
    let symbol = clean(&row.token_symbol, MAX_SYMBOL_CHARS);
    let contract = row.token_contract_address;
    let plain = (16..=80).contains(&contract.len())
        && contract.bytes().all(|byte| byte.is_ascii_alphanumeric());
    if symbol.is_empty() || !plain {
        return Err(malformed("$", "a symbol and a contract", "none"));
    }
    Ok(HotToken {
        chain_id: row
            .chain_index
            .id()
            .ok_or_else(|| malformed("$", "a chain id", "another text"))?,
        contract,
        symbol,
        price_usd: price(row.price),
        change_24h_pct: row.change,
        volume_24h_usd: measure(row.volume),
        liquidity_usd: measure(row.liquidity),
        market_cap_usd: price(row.market_cap),
        traders_24h: count(row.unique_traders),
        holders: count(row.holders),
        top10_hold_pct: measure(row.top10_hold_percent),
        risk_level: small(row.risk_level_control).filter(|level| *level > 0),
    })
}
