//! Security scans, holders and live quotes of tokens. The adapter reads what the source states;
//! `readings` makes the verdict.

mod holders;
mod quote;
mod scan;

use std::{sync::Arc, time::Duration};

use alloy_primitives::{Address, U256};
use readings::{
    Figure,
    security::{Holder, Quoted, Scan},
};

use super::{DATA, Okx, lower};
use crate::{
    cached::{Ages, Cached},
    error::{Error, SourceError, SourceErrorKind},
    json::Json,
    provenance::{Clock, Sourced},
};

const TOKEN_SCAN: &str = "okx.token-scan";
const TOKEN_HOLDERS: &str = "okx.token-holders";
const QUOTE: &str = "okx.quote";

/// The kept scans, holders and quotes.
#[derive(Clone)]
pub(super) struct Scans {
    scans: Cached<(u64, Address), Scan>,
    holders: Cached<Address, Arc<Vec<Holder>>>,
    quotes: Cached<(Address, Address, U256), Quoted>,
}

impl Scans {
    /// Keeps scans for ten minutes, the rest for half a minute.
    pub(super) fn new(clock: &Arc<dyn Clock>) -> Self {
        let (long, short) = (Ages::seconds(600, 600), Ages::seconds(30, 30));
        Self {
            scans: Cached::new(4096, long, clock.clone()),
            holders: Cached::new(1024, short, clock.clone()),
            quotes: Cached::new(4096, short, clock.clone()),
        }
    }
}

impl Okx {
    /// The scan of `token` on `chain_id`, at most ten minutes old, or `max_age`.
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`] with `no_scan` when OKX does not know the token, and with
    /// `chain_not_covered` when it does not scan the chain; [`Error::Source`] otherwise.
    pub async fn token_scan(
        &self,
        chain_id: u64,
        token: Address,
        max_age: Option<Duration>,
    ) -> Result<Sourced<Scan>, Error> {
        let okx = self.clone();
        let fetch = || async move { okx.fetch_scan(chain_id, token).await };
        self.security
            .scans
            .get((chain_id, token), max_age, fetch)
            .await
    }

    /// The largest holders of `token` on chain 196, at most half a minute old, or `max_age`.
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`] with `no_holder_list`; [`Error::Source`] otherwise.
    pub async fn token_holders(
        &self,
        token: Address,
        max_age: Option<Duration>,
    ) -> Result<Sourced<Arc<Vec<Holder>>>, Error> {
        let okx = self.clone();
        let fetch = || async move { okx.fetch_holders(token).await };
        self.security.holders.get(token, max_age, fetch).await
    }

    /// The current output in `to` for `amount` of `from` on chain 196, at most half a minute old,
    /// or `max_age`.
    ///
    /// # Errors
    ///
    /// [`Error::NoRoute`] when there is no route; [`Error::Source`] otherwise.
    pub async fn shown_quote(
        &self,
        from: Address,
        to: Address,
        amount: U256,
        max_age: Option<Duration>,
    ) -> Result<Sourced<Quoted>, Error> {
        let okx = self.clone();
        let fetch = || async move { okx.fetch_quote(from, to, amount).await };
        self.security
            .quotes
            .get((from, to, amount), max_age, fetch)
            .await
    }

    fn missed(&self, source: &'static str, kind: SourceErrorKind) -> Error {
        let error: SourceError = self.reject_response(source, kind);
        error.into()
    }
}

/// A percentage between 0 and 100.
fn percent(json: &Json<'_>) -> Result<Figure, SourceErrorKind> {
    let odd = || json.malformed("a percentage from 0 to 100");
    let text = json.decimal_text().map_err(|_| odd())?;
    let pct: Figure = text.as_str().parse().map_err(|_| odd())?;
    (pct.get() <= readings::Decimal::ONE_HUNDRED)
        .then_some(pct)
        .ok_or_else(odd)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn percentages_are_plain_and_within_the_whole() {
        let of = |value: Value| {
            let raw = serde_json::value::to_raw_value(&value).unwrap();
            percent(&Json::of(&raw, "$"))
                .ok()
                .map(|pct| pct.to_string())
        };
        assert_eq!(of(json!("10.0")).as_deref(), Some("10"));
        assert_eq!(of(json!("100")).as_deref(), Some("100"));
        for odd in [
            json!("100.01"),
            json!("-1"),
            json!("NaN"),
            json!(10),
            json!("1e1"),
            json!(""),
        ] {
            assert_eq!(of(odd.clone()), None, "{odd}");
        }
    }
}
