//! Yahoo charts, unofficial: a second source for values that another source has, and futures that
//! another source confirms. It is never the only source.
//!
//! It often answers "Too Many Requests" in plain text to data centres.

use std::{sync::Arc, time::Duration};

use jiff::Timestamp;
use readings::{Decimal, Figure, macro_data::Instrument};
use serde::Deserialize;

use crate::{
    budget::{Families, Rate},
    cached::{Ages, Cached},
    error::{Error, SourceErrorKind},
    json::read_json,
    provenance::{Clock, Sourced},
    source::{Fault, KeyRule, Source, SourceConfig, UpstreamSpec},
    text::clean,
    transport::{QUOTED_CHARS, Transport, TransportError},
    wire::malformed,
};

const CHART: &str = "yahoo.chart";

/// The compared instruments: the instrument, Yahoo's symbol, and the symbol in a path.
const LOOKED_AT: [(&Instrument, &str, &str); 3] = [
    (&Instrument::VIX, "^VIX", "%5EVIX"),
    (&Instrument::SP500, "^GSPC", "%5EGSPC"),
    (&Instrument::NASDAQ, "^IXIC", "%5EIXIC"),
];

/// Futures that expire next, by instrument: Yahoo's symbol, and the symbol in a path.
const FUTURES: [(&Instrument, &str, &str); 5] = [
    (&Instrument::GOLD, "GC=F", "GC%3DF"),
    (&Instrument::SILVER, "SI=F", "SI%3DF"),
    (&Instrument::COPPER, "HG=F", "HG%3DF"),
    (&Instrument::NATGAS, "NG=F", "NG%3DF"),
    (&Instrument::WTI_FUTURE, "CL=F", "CL%3DF"),
];

/// A price of a chart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quote {
    /// The price.
    pub price: Decimal,
    /// The close of the session before; `None` when the chart does not have it.
    pub previous: Option<Decimal>,
    /// The time of the price.
    pub as_of: Timestamp,
}

/// How many seconds its clock may be ahead of ours.
const AHEAD: i64 = 300;

/// Yahoo. Clones share everything.
#[derive(Clone, Debug)]
pub struct Yahoo {
    source: Source,
    charts: Cached<&'static str, Quote>,
}

impl Yahoo {
    /// The addresses, limits and quotas of the upstream.
    pub const SPEC: &'static UpstreamSpec = &UpstreamSpec {
        name: "yahoo",
        urls: &[("base_url", "https://query1.finance.yahoo.com")],
        key: KeyRule::Keyless,
        sources: &[CHART],
        families: Families::One(Rate::per_minute(30)),
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
            charts: Cached::new(16, Ages::seconds(300, 3600), clock),
        })
    }

    /// The upstream that this adapter asks.
    pub fn source(&self) -> &Source {
        &self.source
    }

    /// The instruments that are compared.
    pub fn instruments() -> impl Iterator<Item = &'static Instrument> {
        LOOKED_AT.iter().map(|(instrument, ..)| *instrument)
    }

    /// The futures that are read: the instrument and the contract's name.
    pub fn futures() -> impl Iterator<Item = (&'static Instrument, &'static str)> {
        FUTURES
            .iter()
            .map(|(instrument, contract, _)| (*instrument, *contract))
    }

    /// Its price of `instrument` with its time, read again when the kept one was fetched longer ago
    /// than `max_age`.
    ///
    /// # Errors
    ///
    /// A [`SourceError`](crate::SourceError); [`Error::NotFound`] for any other instrument.
    pub async fn price(
        &self,
        instrument: &Instrument,
        max_age: Option<Duration>,
    ) -> Result<Sourced<Quote>, Error> {
        let mut all = LOOKED_AT.iter().chain(&FUTURES);
        let found = all.find(|(known, ..)| *known == instrument);
        let Some((instrument, symbol, path)) = found else {
            return Err(not_found(instrument.symbol));
        };
        let this = self.clone();
        self.charts
            .get(symbol, max_age, move || async move {
                this.fetch(instrument, symbol, path).await
            })
            .await
    }

    async fn fetch(
        &self,
        instrument: &'static Instrument,
        symbol: &str,
        path: &str,
    ) -> Result<Sourced<Quote>, Error> {
        let path = format!("/v8/finance/chart/{path}?range=5d&interval=1d");
        let now = self.source.now();
        let ask = self.source.get(CHART, &path).accepts(&[404]);
        let read: Sourced<Quote> = self
            .source
            .ask(ask, |reply| {
                let answer: Answer = read_json(&reply.body)?;
                let ChartRow { meta, indicators } = answer.chart.opened(symbol)?;
                if meta.symbol != symbol {
                    let path = "$.chart.result[0].meta.symbol";
                    return Err(
                        malformed(path, "the symbol that was asked for", meta.symbol).into(),
                    );
                }
                let price = meta.regular_market_price.0;
                let path = "$.chart.result[0].meta.regularMarketPrice";
                if !instrument.believes(price) {
                    return Err(malformed(path, "a price of the instrument", price).into());
                }
                let time = Timestamp::from_second(meta.regular_market_time)
                    .ok()
                    .filter(|time| time.duration_since(now).as_secs() <= AHEAD);
                let path = "$.chart.result[0].meta.regularMarketTime";
                let time = time.ok_or_else(|| {
                    malformed(path, "a time that has come", meta.regular_market_time)
                })?;
                let previous = indicators.previous();
                Ok(Quote {
                    price,
                    previous: previous.filter(|price| instrument.believes(*price)),
                    as_of: time,
                })
            })
            .await?;
        let time = read.value.as_of;
        Ok(read.as_of(Some(time)))
    }
}

fn not_found(symbol: &str) -> Error {
    Error::NotFound {
        reason: "symbol_not_found",
        message: format!("no chart of {symbol}"),
    }
}

#[derive(Deserialize)]
struct Answer {
    chart: Chart,
}

#[derive(Deserialize)]
struct Chart {
    #[serde(default)]
    result: Option<Vec<ChartRow>>,
    #[serde(default)]
    error: Option<ChartError>,
}

#[derive(Deserialize)]
struct ChartError {
    code: String,
    #[serde(default)]
    description: String,
}

#[derive(Deserialize)]
struct ChartRow {
    meta: Meta,
    #[serde(default)]
    indicators: Indicators,
}

/// Daily values, the present day's last.
#[derive(Default, Deserialize)]
struct Indicators {
    #[serde(default)]
    quote: Vec<Closes>,
}

#[derive(Deserialize)]
struct Closes {
    #[serde(default)]
    close: Vec<Option<Figure>>,
}

impl Indicators {
    /// The close before the last one.
    fn previous(&self) -> Option<Decimal> {
        let closes = self.quote.first()?.close.iter().rev();
        closes.flatten().nth(1).map(|close| close.0)
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Meta {
    symbol: String,
    regular_market_price: Figure,
    regular_market_time: i64,
}

impl Chart {
    fn opened(self, symbol: &str) -> Result<ChartRow, Fault<Error>> {
        if let Some(error) = self.error {
            if error.code == "Not Found" {
                return Err(Fault::Answer(not_found(symbol)));
            }
            return Err(Fault::Upstream(SourceErrorKind::Business {
                code: clean(&error.code, 16),
                message: clean(&error.description, QUOTED_CHARS),
            }));
        }
        let row = self.result.and_then(|rows| rows.into_iter().next());
        let row = row.ok_or_else(|| malformed("$.chart.result", "a chart", "none"))?;
        Ok(row)
    }
}
