//! `GET /prices/current/{coins}` of `coins.llama.fi`.

use std::{collections::BTreeMap, time::Duration};

use alloy_primitives::Address;
use jiff::Timestamp;
use readings::{Decimal, Figure, token::consensus::Quote};
use serde::Deserialize;

use super::Defillama;
use crate::{
    error::{Error, SourceErrorKind},
    json::read_json,
    provenance::Sourced,
    source::Fault,
    text::clean,
    transport::QUOTED_CHARS,
};

const SOURCE: &str = "defillama.coins";

/// The chains whose tokens are priced, by this source's names.
const CHAINS: [(u64, &str); 8] = [
    (1, "ethereum"),
    (10, "optimism"),
    (56, "bsc"),
    (137, "polygon"),
    (196, "xlayer"),
    (8453, "base"),
    (42161, "arbitrum"),
    (43114, "avax"),
];
/// How far a time of the source may be ahead of our clock.
const AHEAD: Duration = Duration::from_secs(300);

#[derive(Deserialize)]
struct Body {
    coins: BTreeMap<String, Row>,
}

#[derive(Deserialize)]
struct Row {
    #[serde(default, deserialize_with = "Figure::or_none")]
    price: Option<Figure>,
    timestamp: i64,
    #[serde(default, deserialize_with = "Figure::lenient")]
    confidence: Option<Figure>,
    /// A whole number. The price counts without it, too.
    #[serde(default)]
    decimals: Option<serde_json::Value>,
}

/// A token as the source describes it.
#[derive(Clone, Debug)]
pub(super) struct Coin {
    quote: Quote,
    decimals: Option<u8>,
}

impl Defillama {
    /// A chain's name at this source, for [`Defillama::token_price`]; `None` for a chain without
    /// one.
    #[must_use]
    pub fn platform(chain_id: u64) -> Option<&'static str> {
        let mut chains = CHAINS.iter();
        chains
            .find(|(id, _)| *id == chain_id)
            .map(|(_, name)| *name)
    }

    /// The price of a token on `platform`, a chain as this source calls it (`xlayer`, `base`).
    ///
    /// # Errors
    ///
    /// [`Error::NotPriced`] for an unknown token; an [`Error::Source`] when the answer is unusable.
    pub async fn token_price(
        &self,
        platform: &'static str,
        token: Address,
        max_age: Option<Duration>,
    ) -> Result<Sourced<Quote>, Error> {
        let coin = self.coin(platform, token, max_age).await?;
        Ok(coin.map(|coin| coin.quote))
    }

    /// The decimals of a token, as the source states them with its price.
    ///
    /// # Errors
    ///
    /// As [`Defillama::token_price`].
    pub async fn token_decimals(
        &self,
        platform: &'static str,
        token: Address,
        max_age: Option<Duration>,
    ) -> Result<Option<u8>, Error> {
        let coin = self.coin(platform, token, max_age).await?;
        Ok(coin.value.decimals)
    }

    async fn coin(
        &self,
        platform: &'static str,
        token: Address,
        max_age: Option<Duration>,
    ) -> Result<Sourced<Coin>, Error> {
        let this = self.clone();
        let fetch = move || async move {
            let coin = format!("{platform}:{token:#x}");
            let path = format!("/prices/current/{coin}");
            let ask = this
                .source
                .get(SOURCE, &path)
                .at("coins_url")
                .timeout(Duration::from_secs(4));
            let now = this.source.now();
            let found: Sourced<Coin> = this
                .source
                .ask(ask, |reply| {
                    match read(read_json(&reply.body)?, &coin, now)? {
                        Some(found) => Ok(found),
                        None => Err(Fault::Answer(Error::NotPriced { token })),
                    }
                })
                .await?;
            let as_of = found.value.quote.as_of;
            Ok(found.as_of(as_of))
        };
        self.coins.get((platform, token), max_age, fetch).await
    }
}

/// The row of `coin`. `None` when the source leaves the coin out, because it knows no price.
fn read(body: Body, coin: &str, now: Timestamp) -> Result<Option<Coin>, SourceErrorKind> {
    let malformed = |expected, observed: String| SourceErrorKind::Malformed {
        path: format!("$.coins.{coin}"),
        expected,
        observed: clean(&observed, QUOTED_CHARS),
    };
    let found = body
        .coins
        .into_iter()
        .find(|(key, _)| key.eq_ignore_ascii_case(coin));
    let Some((_, row)) = found else {
        return Ok(None);
    };
    let Some(price) = row.price else {
        return Ok(None);
    };
    if price.get() <= Decimal::ZERO {
        return Err(malformed("a price above zero", price.to_string()));
    }
    let seen = Timestamp::from_second(row.timestamp).ok().filter(|time| {
        *time > Timestamp::UNIX_EPOCH && now.checked_add(AHEAD).is_ok_and(|latest| *time <= latest)
    });
    let as_of =
        seen.ok_or_else(|| malformed("a past time in seconds", row.timestamp.to_string()))?;
    Ok(Some(Coin {
        quote: Quote {
            source: SOURCE,
            price_usd: price,
            as_of: Some(as_of),
            liquidity_usd: None,
            certainty_ratio: row.confidence,
        },
        decimals: row
            .decimals
            .and_then(|decimals| u8::try_from(decimals.as_u64()?).ok()),
    }))
}
