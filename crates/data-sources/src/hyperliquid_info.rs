//! Hyperliquid as a source of readings: markets, books, candles, accounts, histories.
//!
//! Every request is `POST /info`. The answer for an unknown dex is HTTP 200 and `null`. The answer
//! for an unused address is zeros, which is a real answer. Contexts belong to the universe by
//! index, so a delisted asset keeps its place. Calls have weights, and one address has 1200 in a
//! minute; frequent answers are kept for a moment.

mod account;
mod history;
mod kept;
mod markets;
mod predicted;
mod prices;
mod purse;
mod trading;

use std::{sync::Arc, time::Duration};

use alloy_primitives::Address;
use readings::derivatives::{
    Account, Book, Candle, CoinReading, OpenOrder, PerpContext, SpotBalance, Venue, VenueReading,
    contract_for,
};
use serde::de::DeserializeOwned;
use serde_json::Value;

use self::{history::Histories, kept::OldestFills};
pub use self::{history::History, predicted::Predicted};
use crate::{
    cached::{Ages, Cached},
    error::{Error, SourceErrorKind},
    hyperliquid::info::{self, Weight},
    json::Json,
    perpetuals::not_listed,
    provenance::{Clock, Sourced},
    source::{Conduct, Source, SourceConfig, UpstreamSpec},
    transport::{Limits, Transport, TransportError},
    wire::malformed,
};

const MARKETS: &str = "hyperliquid.markets";
const DEXS: &str = "hyperliquid.dexs";
const CATEGORIES: &str = "hyperliquid.categories";
const BOOK: &str = "hyperliquid.book";
const CANDLES: &str = "hyperliquid.candles";
const PREDICTED: &str = "hyperliquid.predicted-fundings";
const ACCOUNT: &str = "hyperliquid.account";
const SPOT: &str = "hyperliquid.spot-account";
const ORDERS: &str = "hyperliquid.open-orders";
const ROLE: &str = "hyperliquid.role";
const HISTORY: &str = "hyperliquid.history";

/// Longest name of a coin or a dex.
const MAX_NAME_CHARS: usize = 32;

/// Hyperliquid as a source of readings. Clones share everything.
#[derive(Clone, Debug)]
pub struct HyperliquidInfo {
    source: Source,
    dexs: Cached<(), Arc<Vec<String>>>,
    categories: Cached<(), Arc<Vec<(String, String)>>>,
    markets: Cached<String, Arc<Vec<PerpContext>>>,
    overviews: Cached<String, Arc<Vec<PerpContext>>>,
    predicted: Cached<(), Arc<Vec<Predicted>>>,
    books: Cached<String, Book>,
    candles: Cached<(String, String), Arc<Vec<Candle>>>,
    accounts: Cached<(Address, String), Account>,
    spot: Cached<Address, Arc<Vec<SpotBalance>>>,
    orders: Cached<(Address, String), Arc<Vec<OpenOrder>>>,
    roles: Cached<Address, String>,
    oldest: Cached<Address, OldestFills>,
    histories: Histories,
}

impl HyperliquidInfo {
    /// The addresses, limits and quotas of the upstream.
    pub const SPEC: &'static UpstreamSpec = &info::spec(
        &[
            MARKETS, DEXS, CATEGORIES, BOOK, CANDLES, PREDICTED, ACCOUNT, SPOT, ORDERS, ROLE,
            HISTORY,
        ],
        Limits::USUAL.up_to_bytes(8 * 1024 * 1024),
        Conduct::DATA,
    );

    /// Builds the adapter. It makes no connection yet.
    ///
    /// # Errors
    ///
    /// A [`TransportError`] when an address cannot be used.
    pub fn new(
        transport: &Transport,
        config: SourceConfig,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, TransportError> {
        let five = Ages::seconds(5, 60);
        Ok(Self {
            source: Source::new(transport, Self::SPEC, config, clock.clone())?,
            dexs: Cached::new(1, Ages::seconds(300, 86_400).with_floor(60), clock.clone()),
            categories: Cached::new(
                1,
                Ages::seconds(3600, 86_400).with_floor(300),
                clock.clone(),
            ),
            markets: Cached::new(64, five, clock.clone()),
            overviews: Cached::new(64, Ages::seconds(45, 300), clock.clone()),
            predicted: Cached::new(1, Ages::seconds(20, 300), clock.clone()),
            books: Cached::new(200, Ages::seconds(2, 15), clock.clone()),
            candles: Cached::new(200, five, clock.clone()),
            accounts: Cached::new(1000, Ages::seconds(5, 30), clock.clone()),
            spot: Cached::new(500, Ages::seconds(5, 30), clock.clone()),
            orders: Cached::new(500, Ages::seconds(5, 30), clock.clone()),
            roles: Cached::new(500, Ages::seconds(600, 3600), clock.clone()),
            oldest: Cached::new(500, Ages::seconds(60, 60), clock.clone()),
            histories: history::histories(clock),
        })
    }

    /// The upstream that this adapter asks.
    pub fn source(&self) -> &Source {
        &self.source
    }

    /// Asks `/info` for an answer of the form `T`; `null` is `None`.
    async fn info<T: DeserializeOwned + Send>(
        &self,
        source: &'static str,
        body: &Value,
        weight: Weight,
    ) -> Result<Sourced<Option<T>>, Error> {
        self.info_with(source, body, weight, |json| json.typed())
            .await
    }

    /// Asks `/info` and reads the answer with `read`; `null` is `None`.
    async fn info_with<T: Send>(
        &self,
        source: &'static str,
        body: &Value,
        weight: Weight,
        read: impl FnOnce(&Json<'_>) -> Result<T, SourceErrorKind> + Send,
    ) -> Result<Sourced<Option<T>>, Error> {
        let body = body.to_string();
        let ask = info::ask(&self.source, source, &body, weight);
        self.source
            .ask(ask, |reply| {
                let json = Json::document(&reply.body)?;
                match json.is_null() {
                    true => Ok(None),
                    false => Ok(Some(read(&json)?)),
                }
            })
            .await
    }

    /// [`Self::info`] for answers that are never `null`.
    async fn present<T: DeserializeOwned + Send>(
        &self,
        source: &'static str,
        body: &Value,
        weight: Weight,
    ) -> Result<Sourced<T>, Error> {
        let answer = self.info(source, body, weight).await?;
        self.some(source, answer)
    }

    /// An answer that must not be `null`.
    fn some<T>(
        &self,
        source: &'static str,
        answer: Sourced<Option<T>>,
    ) -> Result<Sourced<T>, Error> {
        let Some(value) = answer.value else {
            return Err(self
                .source
                .reject_response(source, malformed("$", "an answer", "null"))
                .into());
        };
        let sources = answer.sources;
        Ok(Sourced { value, sources })
    }

    /// The venue's reading of the perpetual of `coin`, in the form that all venues share.
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`] when it is not listed, or a [`SourceError`](crate::SourceError).
    pub async fn reading(
        &self,
        coin: &str,
        max_age: Option<Duration>,
    ) -> Result<Sourced<VenueReading>, Error> {
        let markets = self.markets("", max_age).await?;
        let now = self.source.now();
        let name = contract_for(Venue::Hyperliquid, coin).name;
        let found = markets
            .value
            .iter()
            .find(|market| market.coin == name && !market.delisted);
        let found = found.and_then(|market| prices::venue_reading(market, now));
        let Some((_, reading)) = found else {
            return Err(not_listed("hyperliquid", coin));
        };
        let sources = markets.sources;
        Ok(Sourced {
            value: reading,
            sources,
        })
    }

    /// Every perpetual of the venue's own dex with its coin.
    ///
    /// # Errors
    ///
    /// A [`SourceError`](crate::SourceError).
    pub async fn all(&self, max_age: Option<Duration>) -> Result<Sourced<Vec<CoinReading>>, Error> {
        let markets = self.markets("", max_age).await?;
        let now = self.source.now();
        Ok(markets.map(|markets| {
            let live = markets.iter().filter(|market| !market.delisted);
            live.filter_map(|market| prices::venue_reading(market, now))
                .collect()
        }))
    }
}

/// Whether a name can be asked for: visible ASCII without quotes, so that no name imitates another.
fn plain_name(name: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_graphic() && !matches!(byte, b'"' | b'\\' | b'<' | b'>');
    !name.is_empty() && name.len() <= MAX_NAME_CHARS && name.bytes().all(plain)
}
