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
}

impl Defillama {
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
            let quote: Sourced<Quote> = this
                .source
                .ask(ask, |reply| {
                    match quote(read_json(&reply.body)?, &coin, now)? {
                        Some(quote) => Ok(quote),
                        None => Err(Fault::Answer(Error::NotPriced { token })),
                    }
                })
                .await?;
            let as_of = quote.value.as_of;
            Ok(quote.as_of(as_of))
        };
        self.coins.get((platform, token), max_age, fetch).await
    }
}

/// The price of `coin`. `None` when the source leaves the coin out, because it knows no price.
fn quote(body: Body, coin: &str, now: Timestamp) -> Result<Option<Quote>, SourceErrorKind> {
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
    Ok(Some(Quote {
        source: SOURCE,
        price_usd: price,
        as_of: Some(as_of),
        liquidity_usd: None,
        certainty_ratio: row.confidence,
    }))
}
