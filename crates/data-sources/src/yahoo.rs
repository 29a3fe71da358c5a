//! Yahoo charts, unofficial: a second source for values that another source has, and futures that
//! another source confirms. It is never the only source.
//!
//! It often answers "Too Many Requests" in plain text to data centres.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use jiff::{Timestamp, ToSpan, civil::Date};
use readings::{
    Decimal, Figure,
    macro_data::{Instrument, Market},
};
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
    /// The close of the session before that of the price; `None` when the chart does not tell it
    /// for certain.
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
                let ChartRow {
                    meta,
                    timestamp,
                    indicators,
                } = answer.chart.opened(symbol)?;
                let days = DayBars {
                    timestamp,
                    indicators,
                };
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
                let previous = days.close_before(instrument.market, time);
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
    timestamp: Vec<i64>,
    #[serde(default)]
    indicators: Indicators,
}

/// The bars of days: the times at which they begin, and their values.
struct DayBars {
    timestamp: Vec<i64>,
    indicators: Indicators,
}

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

impl DayBars {
    /// The close of the last session before the session of `live`, by the dates of `market`. `None`
    /// when that session is missing, has no close, or has two that differ. A day may come twice,
    /// and the present day may have a bar of its own or none.
    fn close_before(&self, market: Market, live: Timestamp) -> Option<Decimal> {
        let closes = &self.indicators.quote.first()?.close;
        let today = market.session_date(live)?;
        if closes.len() != self.timestamp.len() {
            return None;
        }
        let mut days: BTreeMap<Date, Option<Decimal>> = BTreeMap::new();
        for (time, close) in self.timestamp.iter().zip(closes) {
            let date = market.date_of(Timestamp::from_second(*time).ok()?);
            let close = close.map(|close| close.0);
            days.entry(date)
                .and_modify(|known| *known = known.filter(|known| Some(*known) == close))
                .or_insert(close);
        }
        let (date, close) = days.range(..today).next_back()?;
        let between = date.tomorrow().ok()?.series(1.day());
        let missing = between
            .take_while(|day| *day < today)
            .any(|day| market.valued_at(day).is_some());
        close.filter(|_| !missing)
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

#[cfg(test)]
mod tests {
    use super::*;

    /// The close before `live`, for bars of days: their times and closes.
    fn before(market: Market, live: &str, bars: &[(&str, Option<&str>)]) -> Option<String> {
        let days = DayBars {
            timestamp: bars
                .iter()
                .map(|(time, _)| time.parse::<Timestamp>().unwrap().as_second())
                .collect(),
            indicators: Indicators {
                quote: vec![Closes {
                    close: bars
                        .iter()
                        .map(|(_, close)| close.map(|close| close.parse().unwrap()))
                        .collect(),
                }],
            },
        };
        let close = days.close_before(market, live.parse().unwrap());
        close.map(|close| close.to_string())
    }

    #[test]
    fn the_close_before_is_that_of_the_last_session_before_the_price() {
        let gold = |live: &str, bars: &[(&str, Option<&str>)]| {
            before(Market::CommodityFutures, live, bars)
        };
        let live = "2026-11-24T21:59:00Z";
        let (friday, monday, today) = (
            ("2026-11-20T05:00:00Z", Some("4020")),
            ("2026-11-23T05:00:00Z", Some("4060")),
            ("2026-11-24T05:00:00Z", Some("4100")),
        );
        let expected = Some("4060".to_owned());
        assert_eq!(gold(live, &[friday, monday, today]), expected);
        assert_eq!(gold(live, &[friday, monday]), expected);
        let running = (live, Some("4100"));
        assert_eq!(gold(live, &[friday, monday, today, running]), expected);
        let no_close = ("2026-11-24T05:00:00Z", None);
        assert_eq!(gold(live, &[friday, monday, no_close]), expected);
        assert_eq!(gold(live, &[monday, today, monday]), expected);
        // The session before is missing, has no close, or has two.
        assert_eq!(gold(live, &[friday, today]), None);
        assert_eq!(gold(live, &[friday, (monday.0, None), today]), None);
        assert_eq!(gold(live, &[monday, (monday.0, Some("4061")), today]), None);
        assert_eq!(gold(live, &[today]), None);
        // A weekend and a holiday are no missing sessions. The day of a holiday counts when it has
        // a bar.
        let live = "2026-11-23T21:59:00Z";
        assert_eq!(gold(live, &[friday, monday]).as_deref(), Some("4020"));
        let (wednesday, thursday) = (
            ("2026-11-25T05:00:00Z", Some("4040")),
            ("2026-11-26T05:00:00Z", Some("4050")),
        );
        let live = "2026-11-27T17:00:00Z";
        assert_eq!(gold(live, &[wednesday]).as_deref(), Some("4040"));
        assert_eq!(gold(live, &[wednesday, thursday]).as_deref(), Some("4050"));
        // In the evening a session of the next day has begun, and the charts do not say to which
        // day they count its price.
        assert_eq!(gold("2026-11-24T23:30:00Z", &[friday, monday, today]), None);
    }

    #[test]
    fn a_day_is_one_of_the_exchange() {
        // 21:00 in New York is the next day in Greenwich.
        let bars = [
            ("2026-11-19T14:30:00Z", Some("6850")),
            ("2026-11-21T02:00:00Z", Some("6880")),
        ];
        let index = |live: &str| before(Market::UsEquities, live, &bars);
        assert_eq!(index("2026-11-21T02:00:00Z").as_deref(), Some("6850"));
        assert_eq!(index("2026-11-23T15:00:00Z").as_deref(), Some("6880"));
        // The time zone changes between the two days.
        let bars = [
            ("2026-10-30T13:30:00Z", Some("1")),
            ("2026-11-02T14:30:00Z", Some("2")),
        ];
        let index = before(Market::UsEquities, "2026-11-02T15:00:00Z", &bars);
        assert_eq!(index.as_deref(), Some("1"));
    }
}
