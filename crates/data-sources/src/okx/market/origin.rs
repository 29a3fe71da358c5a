//! `GET …/token/advanced-info` and `GET …/token/top-liquidity`: a token's origin and its pools.

use std::{sync::Arc, time::Duration};

use alloy_primitives::Address;
use jiff::Timestamp;
use readings::{
    Figure,
    token::{
        market::{TokenOrigin, TokenPool},
        measure,
    },
};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::{count, malformed, not_ahead, row, rows, small};
use crate::{
    error::{Error, SourceErrorKind},
    okx::{Okx, lower},
    provenance::Sourced,
    text::clean,
};

const ORIGIN: &str = "okx.advanced-info";
const POOLS: &str = "okx.top-liquidity";
const MAX_TAGS: usize = 32;

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Info {
    #[serde(deserialize_with = "Figure::lenient")]
    risk_control_level: Option<Figure>,
    #[serde(deserialize_with = "Figure::lenient")]
    lp_burned_percent: Option<Figure>,
    token_tags: Option<Vec<String>>,
    #[serde(deserialize_with = "Figure::lenient")]
    create_time: Option<Figure>,
    creator_address: Option<String>,
    #[serde(deserialize_with = "Figure::lenient")]
    dev_rug_pull_token_count: Option<Figure>,
    #[serde(deserialize_with = "Figure::lenient")]
    dev_create_token_count: Option<Figure>,
    #[serde(deserialize_with = "Figure::lenient")]
    top10_hold_percent: Option<Figure>,
    #[serde(deserialize_with = "Figure::lenient")]
    dev_holding_percent: Option<Figure>,
    #[serde(deserialize_with = "Figure::lenient")]
    suspicious_holding_percent: Option<Figure>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Pool {
    #[serde(default)]
    pool: String,
    #[serde(default)]
    protocol_name: String,
    #[serde(default)]
    pool_address: String,
    #[serde(default, deserialize_with = "Figure::lenient")]
    liquidity_usd: Option<Figure>,
    #[serde(default, deserialize_with = "Figure::lenient")]
    liquidity_provider_fee_percent: Option<Figure>,
}

impl Okx {
    /// The origin of a token of the home chain. This answer does not name its token.
    ///
    /// # Errors
    ///
    /// When the answer is unusable.
    pub async fn token_origin(
        &self,
        token: Address,
        max_age: Option<Duration>,
    ) -> Result<Sourced<Arc<TokenOrigin>>, Error> {
        let this = self.clone();
        let fetch = move || async move {
            let path = this.about("advanced-info", token);
            let info: Sourced<Info> = this.read(ORIGIN, &path, None).await?;
            let now = this.now();
            Ok(info.map(|info| Arc::new(origin(info, now))))
        };
        self.markets.origins.get(token, max_age, fetch).await
    }

    /// The deepest pools of a token of the home chain, at most five, in the source's order. The
    /// list may be empty.
    ///
    /// # Errors
    ///
    /// When the answer is unusable.
    pub async fn token_pools(
        &self,
        token: Address,
        max_age: Option<Duration>,
    ) -> Result<Sourced<Arc<[TokenPool]>>, Error> {
        let this = self.clone();
        let fetch = move || async move {
            let path = this.about("top-liquidity", token);
            let raw: Sourced<Vec<Box<RawValue>>> = this.read(POOLS, &path, None).await?;
            let pools = this.source.counting(POOLS, || rows(&raw.value, pool));
            let pools = pools.map_err(|kind| this.reject_response(POOLS, kind))?;
            Ok(raw.map(|_| pools.into()))
        };
        self.markets.pools.get(token, max_age, fetch).await
    }

    fn about(&self, what: &str, token: Address) -> String {
        let chain_id = self.config.reviewed.chain_id;
        let token = lower(token);
        format!(
            "/api/v6/dex/market/token/{what}?chainIndex={chain_id}&tokenContractAddress={token}"
        )
    }
}

fn origin(info: Info, now: Timestamp) -> TokenOrigin {
    let created = count(info.create_time)
        .and_then(|millis| i64::try_from(millis).ok())
        .and_then(|millis| Timestamp::from_millisecond(millis).ok());
    let tags = info.token_tags.unwrap_or_default();
    TokenOrigin {
        creator: info
            .creator_address
            .and_then(|text| text.parse().ok())
            .filter(|creator: &Address| !creator.is_zero()),
        created_at: created.filter(|time| *time > Timestamp::UNIX_EPOCH && not_ahead(*time, now)),
        // Level 0 is "not assessed".
        risk_level: small(info.risk_control_level).filter(|level| *level > 0),
        top10_hold_pct: share(info.top10_hold_percent),
        creator_hold_pct: share(info.dev_holding_percent),
        suspicious_hold_pct: share(info.suspicious_holding_percent),
        lp_burned_pct: share(info.lp_burned_percent),
        creator_tokens: count(info.dev_create_token_count),
        creator_rug_pulls: count(info.dev_rug_pull_token_count),
        tags: tags
            .iter()
            .take(MAX_TAGS)
            .map(|tag| clean(tag, 48))
            .collect(),
    }
}

fn pool(raw: &RawValue) -> Result<TokenPool, SourceErrorKind> {
    let row: Pool = row(raw)?;
    let name = clean(&row.pool, 64);
    if name.is_empty() {
        return Err(malformed("$.pool", "a name", "none"));
    }
    Ok(TokenPool {
        name,
        protocol: clean(&row.protocol_name, 48),
        address: row.pool_address.parse().ok(),
        liquidity_usd: measure(row.liquidity_usd),
        fee_pct: measure(row.liquidity_provider_fee_percent),
    })
}

/// A share in percent is 0 to 100.
fn share(figure: Option<Figure>) -> Option<Figure> {
    let whole = Figure(readings::Decimal::ONE_HUNDRED);
    measure(figure).filter(|share| *share <= whole)
}
