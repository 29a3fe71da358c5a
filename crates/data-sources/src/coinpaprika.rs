//! CoinPaprika: coins by symbol, without a key.
//!
//! Peculiarities: figures are numbers, a rank of zero means that a coin is not ranked, and an
//! unknown id is a 404.

use std::{sync::Arc, time::Duration};

use jiff::{Timestamp, civil::Date};
use readings::{
    Figure,
    symbol::SymbolKey,
    token::{
        coin::{AllTimeHigh, Coin, choose, unpriced},
        measure,
    },
};
use serde::Deserialize;
use url::form_urlencoded::byte_serialize;

use crate::{
    budget::{Families, QuotaSpec, Rate},
    cached::{Ages, Cached},
    error::{Error, SourceErrorKind},
    json::read_json,
    provenance::{Clock, Sourced},
    source::{Fault, KeyRule, Source, SourceConfig, UpstreamSpec},
    text::clean,
    transport::{Limits, QUOTED_CHARS, Transport, TransportError},
};

const SEARCH: &str = "coinpaprika.search";
const TICKER: &str = "coinpaprika.ticker";
/// How far a time of the source may be ahead of our clock.
const AHEAD: Duration = Duration::from_secs(300);

/// CoinPaprika. Clones share everything.
#[derive(Clone, Debug)]
pub struct Coinpaprika {
    source: Source,
    coins: Cached<String, Arc<Coin>>,
}

#[derive(Deserialize)]
struct Found {
    #[serde(default)]
    currencies: Option<Vec<Listed>>,
}

#[derive(Deserialize)]
struct Listed {
    id: String,
    name: String,
    symbol: String,
    rank: Option<u32>,
    is_active: Option<bool>,
}

#[derive(Deserialize)]
struct Ticker {
    id: String,
    symbol: String,
    #[serde(default, deserialize_with = "Figure::lenient")]
    max_supply: Option<Figure>,
    last_updated: Option<String>,
    quotes: Quotes,
}

#[derive(Deserialize)]
struct Quotes {
    #[serde(rename = "USD")]
    usd: Usd,
}

#[derive(Deserialize)]
struct Usd {
    price: Figure,
    #[serde(default, deserialize_with = "Figure::lenient")]
    volume_24h: Option<Figure>,
    #[serde(default, deserialize_with = "Figure::lenient")]
    market_cap: Option<Figure>,
    #[serde(default, deserialize_with = "Figure::lenient")]
    percent_change_1h: Option<Figure>,
    #[serde(default, deserialize_with = "Figure::lenient")]
    percent_change_24h: Option<Figure>,
    #[serde(default, deserialize_with = "Figure::lenient")]
    percent_change_7d: Option<Figure>,
    #[serde(default, deserialize_with = "Figure::lenient")]
    percent_change_30d: Option<Figure>,
    #[serde(default, deserialize_with = "Figure::lenient")]
    ath_price: Option<Figure>,
    ath_date: Option<String>,
}

impl Coinpaprika {
    /// The addresses, limits and quotas of the upstream.
    pub const SPEC: &'static UpstreamSpec = &UpstreamSpec {
        name: "coinpaprika",
        urls: &[("base_url", "https://api.coinpaprika.com")],
        key: KeyRule::Keyless,
        sources: &[SEARCH, TICKER],
        families: Families::One(Rate::per_minute(30)),
        quota: QuotaSpec::monthly(20_000),
        limits: Limits::USUAL.within_seconds(2),
        ..UpstreamSpec::DATA
    };

    /// Builds the adapter. It makes no connection yet.
    ///
    /// # Errors
    ///
    /// A [`TransportError`] when the address cannot be used.
    pub fn new(
        transport: &Transport,
        config: SourceConfig,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, TransportError> {
        Ok(Self {
            source: Source::new(transport, Self::SPEC, config, clock.clone())?,
            coins: Cached::new(1_000, Ages::seconds(60, 600).with_floor(15), clock),
        })
    }

    /// The upstream that this adapter asks.
    pub fn source(&self) -> &Source {
        &self.source
    }

    /// The highest ranked active coin with this symbol. The source does not state its contracts or
    /// its circulating supply.
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`] (`symbol_not_found`) when no coin has the symbol; an [`Error::Source`]
    /// when the answer is unusable.
    pub async fn coin(
        &self,
        symbol: &SymbolKey,
        max_age: Option<Duration>,
    ) -> Result<Sourced<Arc<Coin>>, Error> {
        let (this, symbol) = (self.clone(), symbol.clone());
        let key = symbol.as_str().to_owned();
        let fetch = move || async move { this.fetch(&symbol).await };
        self.coins.get(key, max_age, fetch).await
    }

    async fn fetch(&self, symbol: &SymbolKey) -> Result<Sourced<Arc<Coin>>, Error> {
        let text: String = byte_serialize(symbol.as_str().as_bytes()).collect();
        let path = format!("/v1/search?q={text}&c=currencies&modifier=symbol_search&limit=50");
        let found: Sourced<Found> = self
            .source
            .json::<_, Error>(self.source.get(SEARCH, &path))
            .await?;
        let listed = found.value.currencies.unwrap_or_default();
        let coins = listed.into_iter().filter_map(coin).collect();
        let Some(chosen) = choose(symbol, coins) else {
            return Err(Error::NotFound {
                reason: "symbol_not_found",
                message: "no coin with this symbol is known".to_owned(),
            });
        };
        let path = format!("/v1/tickers/{}", chosen.id);
        let now = self.source.now();
        let mut ticker: Sourced<Coin> = self
            .source
            .ask(self.source.get(TICKER, &path), |reply| {
                priced(chosen, read_json(&reply.body)?, symbol, now)
                    .map_err(Fault::<Error>::Upstream)
            })
            .await?;
        for source in &mut ticker.sources {
            source.as_of = ticker.value.as_of;
        }
        ticker.sources.extend(found.sources);
        Ok(ticker.map(Arc::new))
    }
}

fn coin(listed: Listed) -> Option<Coin> {
    let symbol = clean(&listed.symbol, 32);
    let name = clean(&listed.name, 64);
    let usable = is_id(&listed.id) && !symbol.is_empty() && !name.is_empty();
    (usable && listed.is_active != Some(false)).then(|| Coin {
        rank: listed.rank.filter(|rank| *rank > 0),
        ..unpriced(listed.id, symbol, name)
    })
}

fn priced(
    chosen: Coin,
    ticker: Ticker,
    symbol: &SymbolKey,
    now: Timestamp,
) -> Result<Coin, SourceErrorKind> {
    let malformed = |path: &str, expected, observed: &str| SourceErrorKind::Malformed {
        path: path.to_owned(),
        expected,
        observed: clean(observed, QUOTED_CHARS),
    };
    if ticker.id != chosen.id || !symbol.names(&ticker.symbol) {
        return Err(malformed("$.id", "the coin asked for", &ticker.id));
    }
    let usd = ticker.quotes.usd;
    let above_zero =
        |figure: Option<Figure>| measure(figure).filter(|figure| !figure.get().is_zero());
    let price = above_zero(Some(usd.price)).ok_or_else(|| {
        malformed(
            "$.quotes.USD.price",
            "a price above zero",
            &usd.price.to_string(),
        )
    })?;
    let stated = ticker.last_updated.unwrap_or_default();
    let as_of = stated
        .parse::<Timestamp>()
        .ok()
        .filter(|time| now.checked_add(AHEAD).is_ok_and(|latest| *time <= latest))
        .ok_or_else(|| malformed("$.last_updated", "a past time", &stated))?;
    let date = usd
        .ath_date
        .and_then(|text| text.get(..10)?.parse::<Date>().ok());
    Ok(Coin {
        price_usd: Some(price),
        market_cap_usd: above_zero(usd.market_cap),
        volume_24h_usd: measure(usd.volume_24h),
        change_1h_pct: usd.percent_change_1h,
        change_24h_pct: usd.percent_change_24h,
        change_7d_pct: usd.percent_change_7d,
        change_30d_pct: usd.percent_change_30d,
        max_supply: above_zero(ticker.max_supply),
        ath: above_zero(usd.ath_price).map(|price| AllTimeHigh { price, date }),
        as_of: Some(as_of),
        ..chosen
    })
}

/// An id that a path may contain, such as `btc-bitcoin`.
fn is_id(id: &str) -> bool {
    (1..=100).contains(&id.len())
        && id
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
        && id.bytes().any(|byte| byte.is_ascii_alphanumeric())
}
