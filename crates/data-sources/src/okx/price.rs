//! `POST /api/v6/dex/market/price`.

use std::time::Duration;

use alloy_primitives::Address;
use serde_json::json;

use super::{DATA, Okx, lower, market::not_ahead, timestamp};
use crate::{
    Refusal,
    error::{Error, SourceErrorKind},
    json::Json,
    provenance::Sourced,
    text::clean,
    tokens::TokenPrice,
};

pub(super) const SOURCE: &str = "okx.market-price";
const PATH: &str = "/api/v6/dex/market/price";

impl Okx {
    /// The price of `token` in dollars.
    ///
    /// # Errors
    ///
    /// [`Error::NotPriced`] for a token that OKX does not know, [`Error::Refused`] for an answer
    /// about another token, [`Error::Source`] otherwise.
    pub async fn price(&self, token: Address) -> Result<Sourced<TokenPrice>, Error> {
        let chain_id = self.config.reviewed.chain_id;
        let subject = (chain_id.to_string(), lower(token));
        let body =
            json!([{"chainIndex": subject.0, "tokenContractAddress": subject.1}]).to_string();
        let (data, mut provenance) = self.ask(SOURCE, PATH, Some(&body)).await?;
        let malformed = |kind| self.reject_response(SOURCE, kind);

        let rows = Json::of(&data, DATA);
        if rows.elements().map_err(malformed)?.is_empty() {
            return Err(Error::NotPriced { token });
        }
        let row = rows.only().map_err(malformed)?;
        let chain = row
            .member("chainIndex")
            .and_then(|n| n.code())
            .map_err(malformed)?;
        let address = row
            .member("tokenContractAddress")
            .and_then(|n| n.address())
            .map_err(malformed)?;
        if chain != subject.0 || address != token {
            return Err(Error::Refused(Refusal::PriceSubject {
                expected: format!("{}:{}", subject.0, subject.1),
                observed: format!("{}:{}", clean(&chain, 16), lower(address)),
            }));
        }
        // OKX writes an unknown price as an empty text.
        let Some(price) = row.find("price") else {
            return Err(Error::NotPriced { token });
        };
        let read = || -> Result<TokenPrice, SourceErrorKind> {
            let price_usd = price.decimal_text()?;
            if price_usd.is_zero() {
                return Err(price.malformed("a price above zero"));
            }
            let time = row.member("time")?;
            let as_of = timestamp(&time)?;
            if !not_ahead(as_of, self.now()) {
                return Err(time.malformed("a past time"));
            }
            Ok(TokenPrice {
                token,
                chain_id,
                price_usd,
                as_of,
            })
        };
        let value = read().map_err(malformed)?;
        provenance.as_of = Some(value.as_of);
        Ok(Sourced {
            value,
            sources: vec![provenance],
        })
    }

    /// [`Self::price`], kept for a few seconds.
    ///
    /// # Errors
    ///
    /// Those of [`Self::price`].
    pub async fn spot(
        &self,
        token: Address,
        max_age: Option<Duration>,
    ) -> Result<Sourced<TokenPrice>, Error> {
        let this = self.clone();
        let fetch = move || async move { this.price(token).await };
        self.markets.prices.get(token, max_age, fetch).await
    }
}
