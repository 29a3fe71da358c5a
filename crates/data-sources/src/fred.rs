//! FRED: series of the Federal Reserve Bank of St. Louis. With a key it uses the documented
//! interface. Without one, or when that fails, it reads the CSV behind FRED's charts.
//!
//! A missing observation is `"."` or an empty cell, never zero.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use jiff::{ToSpan, civil::Date};
use readings::{
    Decimal, Figure,
    macro_data::{Instrument, Observation, new_york_date},
};
use secrecy::ExposeSecret;
use serde::Deserialize;

use crate::{
    budget::{Families, Rate},
    cached::{Ages, Cached},
    error::{Error, SourceErrorKind},
    json::read_json,
    provenance::{Clock, Sourced},
    source::{KeyRule, Source, SourceConfig, UpstreamSpec},
    transport::{Media, Transport, TransportError},
    wire::malformed,
};

const SERIES: &str = "fred.series";
const CHART: &str = "fred.chart-csv";

/// Days that are asked for: enough for two values of a weekly series.
const DAYS: i32 = 30;

/// One series: its id at FRED, what it is, and how many sessions it is usually behind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Series {
    /// The id at FRED.
    pub id: &'static str,
    /// The instrument that it measures.
    pub instrument: &'static Instrument,
    /// Sessions between a value and its publication.
    pub lag_sessions: usize,
}

/// The series that are read.
pub static ALL: [Series; 11] = [
    series("SP500", &Instrument::SP500, 1),
    series("NASDAQCOM", &Instrument::NASDAQ, 1),
    series("DJIA", &Instrument::DJIA, 1),
    series("DTWEXBGS", &Instrument::DOLLAR_BROAD, 7),
    series("DCOILWTICO", &Instrument::WTI, 8),
    series("DCOILBRENTEU", &Instrument::BRENT, 8),
    series("VIXCLS", &Instrument::VIX, 2),
    series("DGS3MO", &Instrument::US3M, 2),
    series("DGS2", &Instrument::US2Y, 2),
    series("DGS10", &Instrument::US10Y, 2),
    series("DGS30", &Instrument::US30Y, 2),
];

const fn series(id: &'static str, instrument: &'static Instrument, lag_sessions: usize) -> Series {
    Series {
        id,
        instrument,
        lag_sessions,
    }
}

/// FRED. Clones share everything.
#[derive(Clone, Debug)]
pub struct Fred {
    source: Source,
    series: Cached<&'static str, Observation>,
}

impl Fred {
    /// The addresses, limits and quotas of the upstream.
    pub const SPEC: &'static UpstreamSpec = &UpstreamSpec {
        name: "fred",
        urls: &[
            ("base_url", "https://api.stlouisfed.org"),
            ("csv_url", "https://fred.stlouisfed.org"),
        ],
        key: KeyRule::Optional,
        sources: &[SERIES, CHART],
        families: Families::EachAddress(Rate::per_minute(100)),
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
            series: Cached::new(32, Ages::seconds(1800, 7 * 86_400), clock),
        })
    }

    /// The upstream that this adapter asks.
    pub fn source(&self) -> &Source {
        &self.source
    }

    /// The newest value of the series for `instrument`, read again when the kept one was fetched
    /// longer ago than `max_age`.
    ///
    /// # Errors
    ///
    /// A [`SourceError`](crate::SourceError); [`Error::NotFound`] when no series is read for it.
    pub async fn latest(
        &self,
        instrument: &Instrument,
        max_age: Option<Duration>,
    ) -> Result<Sourced<Observation>, Error> {
        let Some(series) = ALL.iter().find(|series| series.instrument == instrument) else {
            return Err(Error::NotFound {
                reason: "symbol_not_found",
                message: format!("no series is read for {}", instrument.symbol),
            });
        };
        let this = self.clone();
        self.series
            .get(series.id, max_age, move || async move {
                this.fetch(series).await
            })
            .await
    }

    async fn fetch(&self, series: &'static Series) -> Result<Sourced<Observation>, Error> {
        let keyed = self.keyed(series).await;
        let found = match keyed {
            Some(Ok(found)) => found,
            _ => self.chart(series).await?,
        };
        let time = found.value.as_of;
        Ok(found.as_of(Some(time)))
    }

    /// Reads the documented interface; `None` without a key.
    async fn keyed(&self, series: &'static Series) -> Option<Result<Sourced<Observation>, Error>> {
        let key = self.source.api_key()?.expose_secret().trim();
        let plain = !key.is_empty() && key.bytes().all(|byte| byte.is_ascii_alphanumeric());
        if !plain {
            return None;
        }
        let path = format!(
            "/fred/series/observations?series_id={}&file_type=json&sort_order=desc&limit={DAYS}&api_key={key}",
            series.id
        );
        let today = new_york_date(self.source.now());
        let ask = self.source.get(SERIES, &path);
        let read = self.source.ask(ask, |reply| {
            let answer: Answer = read_json(&reply.body)?;
            let rows = answer
                .observations
                .into_iter()
                .map(|row| (row.date, row.value));
            Ok(newest(rows, series, SERIES, today)?)
        });
        Some(read.await)
    }

    async fn chart(&self, series: &'static Series) -> Result<Sourced<Observation>, Error> {
        let today = new_york_date(self.source.now());
        let since = today.checked_sub(DAYS.days()).unwrap_or(today);
        let path = format!("/graph/fredgraph.csv?id={}&cosd={since}", series.id);
        let ask = self
            .source
            .get(CHART, &path)
            .at("csv_url")
            .media(Media::Csv);
        self.source
            .ask(ask, |reply| {
                Ok(newest(
                    chart_rows(&reply.body, series)?,
                    series,
                    CHART,
                    today,
                )?)
            })
            .await
    }
}

/// The rows of a chart's CSV, whose second column is named after the series.
fn chart_rows(
    body: &[u8],
    series: &Series,
) -> Result<std::vec::IntoIter<(String, String)>, SourceErrorKind> {
    let mut reader = csv::ReaderBuilder::new().flexible(true).from_reader(body);
    let header = reader
        .headers()
        .map_err(|error| malformed("$", "a csv file", error))?;
    if header.get(1).map(str::trim) != Some(series.id) {
        let observed = header.get(1).unwrap_or("nothing");
        return Err(malformed(
            "$[0][1]",
            "the series that was asked for",
            observed,
        ));
    }
    let mut rows = Vec::new();
    for record in reader.records() {
        let record = record.map_err(|error| malformed("$", "a csv file", error))?;
        let cell = |at: usize| record.get(at).unwrap_or_default().trim().to_owned();
        rows.push((cell(0), cell(1)));
    }
    Ok(rows.into_iter())
}

/// The newest value with the one before it. Two different values of one date contradict each other:
/// then it is not known which one holds, so the date has none. If it is the newest date, the answer
/// is refused.
fn newest(
    rows: impl Iterator<Item = (String, String)>,
    series: &Series,
    source: &'static str,
    today: Date,
) -> Result<Observation, SourceErrorKind> {
    let mut values: BTreeMap<Date, Option<Decimal>> = BTreeMap::new();
    for (date, value) in rows {
        let date: Date = date
            .parse()
            .map_err(|_| malformed("$[].date", "YYYY-MM-DD", &date))?;
        if date > today {
            return Err(malformed("$[].date", "a day that has come", date));
        }
        if matches!(value.as_str(), "" | ".") {
            continue;
        }
        let figure: Figure = value
            .parse()
            .map_err(|_| malformed("$[].value", "a number", &value))?;
        values
            .entry(date)
            .and_modify(|known| *known = known.filter(|known| *known == figure.0))
            .or_insert(Some(figure.0));
    }
    let mut values = values.into_iter().rev();
    let (date, value) = values
        .next()
        .ok_or_else(|| malformed("$", "a value", "none"))?;
    let value = value.ok_or_else(|| malformed("$[].value", "one value for a date", date))?;
    let as_of = series.instrument.market.stated_at(date);
    let as_of = as_of.ok_or_else(|| malformed("$[].date", "a weekday", date))?;
    Ok(Observation {
        value,
        previous: values.next().and_then(|(_, value)| value),
        as_of,
        source,
        delayed_minutes: 0,
        lag_sessions: series.lag_sessions,
        live: false,
    })
}

#[derive(Deserialize)]
struct Answer {
    observations: Vec<Row>,
}

#[derive(Deserialize)]
struct Row {
    date: String,
    value: String,
}

#[cfg(test)]
mod tests {
    use jiff::civil::date;

    use super::*;

    fn of(rows: &[(&str, &str)]) -> Result<Observation, SourceErrorKind> {
        let series = ALL.iter().find(|series| series.id == "DGS10").unwrap();
        let rows = rows
            .iter()
            .map(|(date, value)| ((*date).to_owned(), (*value).to_owned()));
        newest(rows, series, SERIES, date(2026, 11, 20))
    }

    #[test]
    fn a_missing_value_is_skipped_and_never_zero() {
        let found = of(&[
            ("2026-11-20", "."),
            ("2026-11-18", "4.11"),
            ("2026-11-19", "4.08"),
            ("2026-11-11", ""),
        ])
        .unwrap();
        assert_eq!(
            (
                found.value.to_string().as_str(),
                found.previous.unwrap().to_string().as_str()
            ),
            ("4.08", "4.11")
        );
        assert_eq!(found.as_of.to_string(), "2026-11-19T20:30:00Z");
        for nothing in [&[("2026-11-20", ".")][..], &[]] {
            assert!(of(nothing).is_err());
        }
    }

    #[test]
    fn two_values_of_one_date_contradict_each_other() {
        let rows = |newest: &'static str, before: &'static str| {
            of(&[
                ("2026-11-18", "4.11"),
                ("2026-11-19", "4.08"),
                ("2026-11-18", before),
                ("2026-11-19", newest),
            ])
        };
        let same = rows("4.080", "4.11").unwrap();
        assert_eq!(same.previous.unwrap().to_string(), "4.11");
        assert_eq!(rows("4.08", "4.10").unwrap().previous, None);
        assert!(rows("99.0", "4.11").is_err());
    }

    #[test]
    fn odd_rows_are_refused() {
        for odd in [
            ("2026-11-21", "4.0"),
            ("11/20/2026", "4.0"),
            ("2026-11-20", "n/a"),
            ("2026-11-15", "4.0"),
        ] {
            assert!(of(&[odd]).is_err(), "{odd:?}");
        }
    }

    #[test]
    fn a_chart_must_be_of_the_series() {
        let sp500 = &ALL[0];
        assert!(chart_rows(b"observation_date,SP500\n2026-11-19,6880.1\n", sp500).is_ok());
        for other in ["observation_date,DGS10\n2026-11-19,4.0\n", "<html>", ""] {
            assert!(chart_rows(other.as_bytes(), sp500).is_err(), "{other}");
        }
    }

    #[test]
    fn every_series_is_of_one_instrument() {
        for (n, series) in ALL.iter().enumerate() {
            assert!(
                ALL[..n]
                    .iter()
                    .all(|other| other.instrument != series.instrument)
            );
        }
    }
}
