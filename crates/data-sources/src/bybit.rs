//! Bybit futures: funding, open interest, long/short ratios.
//!
//! Failures arrive inside HTTP 200 with a `retCode`. Where Bybit may not serve, it answers 403.
//! That is an outage of this venue only.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use jiff::Timestamp;
use readings::{
    Figure,
    derivatives::{
        CoinReading, Funding, FundingInterval, LongShort, OpenInterest, Part, Venue, VenueReading,
        coin_of_contract, contract_for,
    },
};
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::value::RawValue;

use crate::{
    budget::{Families, Rate},
    error::{Error, SourceErrorKind},
    json::read_json,
    perpetuals::{Assembly, Exchange, Perpetuals, not_listed},
    provenance::{Clock, Sourced},
    source::{Fault, KeyRule, Source, SourceConfig, UpstreamSpec},
    text::clean,
    transport::{QUOTED_CHARS, Transport, TransportError},
    wire::{Millis, malformed, rows},
};

const TICKERS: &str = "bybit.tickers";
const RATIO: &str = "bybit.long-short";

/// The code of wrong parameters, which includes an unknown symbol.
const BAD_PARAMETERS: i64 = 10_001;
/// The code of too many requests.
const TOO_MANY: i64 = 10_006;
/// The period of the long/short ratio.
const PERIOD: &str = "1h";

/// Bybit futures. Clones share everything.
#[derive(Clone, Debug)]
pub struct Bybit {
    source: Source,
    kept: Perpetuals,
}

impl Bybit {
    /// The addresses, limits and quotas of the upstream.
    pub const SPEC: &'static UpstreamSpec = &UpstreamSpec {
        name: "bybit",
        urls: &[("base_url", "https://api.bybit.com")],
        key: KeyRule::Keyless,
        sources: &[TICKERS, RATIO],
        families: Families::One(Rate::per_minute(200)),
        ..UpstreamSpec::DATA
    };

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
        Ok(Self {
            source: Source::new(transport, Self::SPEC, config, clock.clone())?,
            kept: Perpetuals::new(clock),
        })
    }

    /// The upstream that this adapter asks.
    pub fn source(&self) -> &Source {
        &self.source
    }

    /// The linear perpetual of `coin` against USDT.
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`] when it is not listed; a [`SourceError`](crate::SourceError) when its
    /// ticker could not be read. The reading names other parts that are missing.
    pub async fn reading(
        &self,
        coin: &str,
        max_age: Option<Duration>,
    ) -> Result<Sourced<VenueReading>, Error> {
        self.kept.reading(self, coin, max_age).await
    }

    /// Every linear perpetual against USDT with its coin, without long/short ratios.
    ///
    /// # Errors
    ///
    /// A [`SourceError`](crate::SourceError).
    pub async fn all(
        &self,
        max_age: Option<Duration>,
    ) -> Result<Sourced<Arc<Vec<CoinReading>>>, Error> {
        self.kept.all(self, max_age).await
    }
}

impl Exchange for Bybit {
    async fn fetch(&self, coin: &str) -> Result<Sourced<VenueReading>, Error> {
        let contract = contract_for(Venue::Bybit, coin);
        let name = contract.name.as_str();
        let (ticker, ratio) = tokio::join!(self.ticker(name), self.ratio(name));
        let now = self.source.now();
        let reading = VenueReading::empty(Venue::Bybit, name);
        let mut assembly = Assembly::new(reading, self.source.mode(), now);
        assembly.core(ticker?).fill(&mut assembly.reading);
        assembly.reading.long_short = assembly.part(Part::LongShort, ratio).flatten();
        let mut done = assembly.done();
        done.value = done.value.per_coin(&contract);
        Ok(done)
    }

    async fn fetch_all(&self) -> Result<Sourced<Arc<Vec<CoinReading>>>, Error> {
        let path = "/v5/market/tickers?category=linear";
        let list = self
            .open::<Listed<Box<RawValue>>>(TICKERS, path, "")
            .await?;
        let (listed, time) = list.value;
        let read = || rows(&listed.list, "$.result.list");
        let tickers: Vec<Ticker> = self
            .source
            .counting(TICKERS, read)
            .map_err(|kind| self.source.reject_response(TICKERS, kind))?;
        let mut readings = BTreeMap::new();
        for ticker in tickers {
            let Some((coin, contract)) = coin_of_contract(Venue::Bybit, &ticker.symbol) else {
                continue;
            };
            let mut reading = VenueReading::empty(Venue::Bybit, &contract.name);
            ticker.fill(&mut reading);
            readings.insert(coin, reading.per_coin(&contract));
        }
        let sources = list.sources;
        let value = Arc::new(readings.into_iter().collect());
        Ok(Sourced { value, sources }.as_of(Some(time)))
    }
}

impl Bybit {
    async fn ticker(&self, name: &str) -> Result<Sourced<Ticker>, Error> {
        let path = format!("/v5/market/tickers?category=linear&symbol={name}");
        let list = self.open::<Listed<Ticker>>(TICKERS, &path, name).await?;
        let (listed, time) = list.value;
        let Some(ticker) = listed.list.into_iter().next() else {
            return Err(not_listed("bybit", name));
        };
        self.same(TICKERS, &ticker.symbol, name)?;
        let sources = list.sources;
        Ok(Sourced {
            value: ticker,
            sources,
        }
        .as_of(Some(time)))
    }

    async fn ratio(&self, name: &str) -> Result<Sourced<Option<LongShort>>, Error> {
        let path = format!(
            "/v5/market/account-ratio?category=linear&symbol={name}&period={PERIOD}&limit=1"
        );
        let list = self.open::<Listed<Ratio>>(RATIO, &path, name).await?;
        let now = self.source.now();
        let sources = list.sources;
        let Some(row) = list.value.0.list.into_iter().next() else {
            return Ok(Sourced {
                value: None,
                sources,
            });
        };
        self.same(RATIO, &row.symbol, name)?;
        let reject_response = |kind| self.source.reject_response(RATIO, kind);
        let time = row
            .timestamp
            .past(now, "$.result.list[0].timestamp")
            .map_err(reject_response)?;
        let ratio = LongShort::from_shares(row.buy_ratio.0, row.sell_ratio.0, PERIOD, time)
            .ok_or_else(|| {
                malformed(
                    "$.result.list[0].buyRatio",
                    "shares of a whole",
                    row.buy_ratio,
                )
            })
            .map_err(reject_response)?;
        // The reading carries the time of its period, so the period does not age the answer.
        Ok(Sourced {
            value: Some(ratio),
            sources,
        })
    }

    /// Refuses an answer about another contract.
    fn same(&self, source: &'static str, observed: &str, asked: &str) -> Result<(), Error> {
        if observed == asked {
            return Ok(());
        }
        let path = "$.result.list[0].symbol";
        let kind = malformed(path, "the contract that was asked for", observed);
        Err(self.source.reject_response(source, kind).into())
    }

    /// `{"retCode": 0, "result": …, "time": …}`: any other code is a failure.
    async fn open<T: DeserializeOwned>(
        &self,
        source: &'static str,
        path: &str,
        asked: &str,
    ) -> Result<Sourced<(T, Timestamp)>, Error> {
        let now = self.source.now();
        self.source
            .ask(
                self.source.get(source, path),
                |reply| -> Result<_, Fault<Error>> {
                    let envelope: Envelope<'_> = serde_json::from_slice(&reply.body)
                        .map_err(|error| malformed("$", "an envelope with a retCode", error))?;
                    let message = envelope.ret_msg.to_ascii_lowercase();
                    match envelope.ret_code {
                        0 => {}
                        BAD_PARAMETERS if message.contains("symbol") => {
                            return Err(Fault::Answer(not_listed("bybit", asked)));
                        }
                        TOO_MANY => {
                            return Err(SourceErrorKind::RateLimited { retry_after: None }.into());
                        }
                        code => {
                            let message = clean(&envelope.ret_msg, QUOTED_CHARS);
                            let code = code.to_string();
                            return Err(SourceErrorKind::Business { code, message }.into());
                        }
                    }
                    let result = envelope.result.map_or("null", RawValue::get);
                    Ok((
                        read_json(result.as_bytes())?,
                        envelope.time.past(now, "$.time")?,
                    ))
                },
            )
            .await
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Envelope<'a> {
    ret_code: i64,
    #[serde(default)]
    ret_msg: std::borrow::Cow<'a, str>,
    #[serde(borrow, default)]
    result: Option<&'a RawValue>,
    time: Millis,
}

#[derive(Deserialize)]
struct Listed<T> {
    list: Vec<T>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Ticker {
    symbol: String,
    mark_price: Figure,
    #[serde(default, deserialize_with = "Figure::or_none")]
    open_interest: Option<Figure>,
    #[serde(default, deserialize_with = "Figure::or_none")]
    open_interest_value: Option<Figure>,
    #[serde(default, deserialize_with = "Figure::or_none")]
    funding_rate: Option<Figure>,
    #[serde(default, deserialize_with = "Figure::or_none")]
    funding_interval_hour: Option<Figure>,
    next_funding_time: Millis,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Ratio {
    symbol: String,
    buy_ratio: Figure,
    sell_ratio: Figure,
    timestamp: Millis,
}

impl Ticker {
    fn fill(&self, reading: &mut VenueReading) {
        reading.mark_px = (self.mark_price.0 > readings::Decimal::ZERO).then_some(self.mark_price);
        let (base, usd) = (self.open_interest, self.open_interest_value);
        reading.open_interest = OpenInterest::stated(base.map(Figure::get), usd.map(Figure::get));
        if reading.open_interest.is_none() {
            reading.lacks(Part::OpenInterest, "not_named_by_source", TICKERS);
        }
        let Some(rate) = self.funding_rate else {
            return reading.lacks(Part::Funding, "not_named_by_source", TICKERS);
        };
        let whole = self
            .funding_interval_hour
            .filter(|hours| hours.0.fract().is_zero());
        let hours = whole.and_then(|hours| u64::try_from(hours.0).ok());
        let Some(interval) = hours.and_then(FundingInterval::hours) else {
            return reading.lacks(Part::Funding, "funding_interval_unknown", TICKERS);
        };
        match Funding::new(rate.0, interval, self.next_funding_time.0, TICKERS) {
            Ok(funding) => reading.funding = Some(funding),
            Err(_) => reading.lacks(Part::Funding, "upstream_implausible", TICKERS),
        }
    }
}
