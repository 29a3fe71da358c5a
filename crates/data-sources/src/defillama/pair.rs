//! The prices of a swap's two tokens, in one request. A plan's quote is compared with them.

use std::time::Duration;

use alloy_primitives::Address;
use calldata_checks::{UtcSeconds, swap::PriceReading};
use plan_builder::ports::{IndependentPrice, SwapAsk};

use super::Defillama;
use crate::{
    error::{Error, SourceErrorKind},
    json::{Json, Object},
    provenance::Sourced,
    source::Fault,
};

const SOURCE: &str = "defillama.coins";

/// The chains of the agent rail, by this source's names.
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

    /// The prices of a swap's tokens, for comparison with a plan's quote; `None` when they cannot
    /// be read.
    pub async fn independent_price(&self, ask: &SwapAsk) -> Option<IndependentPrice> {
        let found = self.pair_price(ask.chain_id, ask.from_token, ask.to_token);
        match found.await {
            Ok(reading) => reading.map(|reading| IndependentPrice {
                source: Self::SPEC.name.to_owned(),
                reading,
            }),
            Err(error) => {
                tracing::debug!(%error, "no independent price");
                None
            }
        }
    }

    /// The prices of both tokens of a swap, each for a whole token, with their decimals. `None` for
    /// a chain that has no name here.
    ///
    /// # Errors
    ///
    /// [`Error::NotPriced`] for an unknown token; an [`Error::Source`] when the answer is unusable.
    pub async fn pair_price(
        &self,
        chain_id: u64,
        from: Address,
        to: Address,
    ) -> Result<Option<PriceReading>, Error> {
        let Some(chain) = Self::platform(chain_id) else {
            return Ok(None);
        };
        let coin = |token: Address| format!("{chain}:{token:#x}");
        let path = format!("/prices/current/{},{}", coin(from), coin(to));
        let ask = self
            .source
            .get(SOURCE, &path)
            .at("coins_url")
            .timeout(Duration::from_secs(4));
        let reading: Sourced<PriceReading> = self
            .source
            .ask(ask, |reply| {
                let body = Json::document(&reply.body)?.object()?;
                let coins = body.member("coins")?.object()?;
                let row = |token| {
                    let row = coins.find(&coin(token));
                    row.ok_or(Fault::Answer(Error::NotPriced { token }))
                };
                let (spent, received) = (row(from)?.object()?, row(to)?.object()?);
                Ok(reading(&spent, &received)?)
            })
            .await?;
        Ok(Some(reading.value))
    }
}

fn reading(from: &Object<'_>, to: &Object<'_>) -> Result<PriceReading, SourceErrorKind> {
    let time = |row: &Object<'_>| row.member("timestamp")?.integer::<u64>();
    Ok(PriceReading {
        from_usd: from.member("price")?.decimal()?,
        from_decimals: from.member("decimals")?.integer()?,
        to_usd: to.member("price")?.decimal()?,
        to_decimals: to.member("decimals")?.integer()?,
        as_of: UtcSeconds::from_unix(time(from)?.min(time(to)?)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const BODY: &str = r#"{"coins": {
        "base:0x833589fcd6edb6e08f4c7c32d4f71b54bda02913":
            {"decimals": 6, "symbol": "USDC", "price": 0.999871, "timestamp": 1790000000, "confidence": 0.99},
        "base:0x4200000000000000000000000000000000000006":
            {"decimals": 18, "symbol": "WETH", "price": 2512.3400000000001, "timestamp": 1789999990, "confidence": 0.99}
    }}"#;

    #[test]
    fn both_rows_are_read_exactly_and_the_older_time_counts() {
        let body = Json::document(BODY.as_bytes()).unwrap().object().unwrap();
        let coins = body.member("coins").unwrap().object().unwrap();
        let row = |key: &str| coins.member(key).unwrap().object().unwrap();
        let usdc = row("base:0x833589fcd6edb6e08f4c7c32d4f71b54bda02913");
        let weth = row("base:0x4200000000000000000000000000000000000006");
        let found = reading(&usdc, &weth).unwrap();
        assert_eq!(found.from_usd.to_string(), "0.999871");
        assert_eq!(found.to_usd.to_string(), "2512.3400000000001");
        assert_eq!((found.from_decimals, found.to_decimals), (6, 18));
        assert_eq!(found.as_of.unix(), 1_789_999_990);
    }
}
