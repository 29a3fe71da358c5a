//! The daily yield curve of the US Treasury: par yields of every tenor, one row for each day.
//!
//! Columns are found by their header, because tenors come and go. A cell may be empty. A year's
//! file is empty until its first trading day.

use std::{sync::Arc, time::Duration};

use jiff::civil::Date;
use readings::{
    Decimal, Figure,
    macro_data::{Instrument, Market, Observation, new_york_date},
};

use crate::{
    budget::{Families, Rate},
    cached::{Ages, Cached},
    error::{Error, SourceErrorKind},
    provenance::{Clock, Sourced},
    source::{KeyRule, Source, SourceConfig, UpstreamSpec},
    transport::{Limits, Media, Transport, TransportError},
    wire::malformed,
};

const CURVE: &str = "treasury.yield-curve";

/// The tenors that are read, each with its column and its instrument.
const TENORS: [(&str, &Instrument); 4] = [
    ("3 Mo", &Instrument::US3M),
    ("2 Yr", &Instrument::US2Y),
    ("10 Yr", &Instrument::US10Y),
    ("30 Yr", &Instrument::US30Y),
];

/// The Treasury. Clones share everything.
#[derive(Clone, Debug)]
pub struct Treasury {
    source: Source,
    curves: Cached<(), Arc<Curve>>,
}

/// The curve of one day.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Curve {
    /// The day.
    pub date: Date,
    /// The day's tenors, with the value of the day before.
    pub points: Vec<(&'static Instrument, Observation)>,
}

impl Treasury {
    /// The addresses, limits and quotas of the upstream.
    pub const SPEC: &'static UpstreamSpec = &UpstreamSpec {
        name: "treasury",
        urls: &[("base_url", "https://home.treasury.gov")],
        key: KeyRule::Keyless,
        sources: &[CURVE],
        families: Families::One(Rate::per_minute(20)),
        limits: Limits::USUAL.within_seconds(10),
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
            curves: Cached::new(1, Ages::seconds(900, 7 * 86_400), clock),
        })
    }

    /// The upstream that this adapter asks.
    pub fn source(&self) -> &Source {
        &self.source
    }

    /// The newest curve, read again when the kept one was fetched longer ago than `max_age`.
    ///
    /// # Errors
    ///
    /// A [`SourceError`](crate::SourceError).
    pub async fn curve(&self, max_age: Option<Duration>) -> Result<Sourced<Arc<Curve>>, Error> {
        let this = self.clone();
        self.curves
            .get((), max_age, move || async move { this.fetch().await })
            .await
    }

    async fn fetch(&self) -> Result<Sourced<Arc<Curve>>, Error> {
        let today = new_york_date(self.source.now());
        let mut year = today.year();
        let mut file = self.year(year, today).await?;
        if file.value.is_none() {
            year -= 1;
            file = self.year(year, today).await?;
        }
        let sources = file.sources;
        let curve = file.value.ok_or_else(|| {
            self.source
                .reject_response(CURVE, malformed("$", "a day with yields", "none"))
        })?;
        let time = curve.points.first().map(|(_, point)| point.as_of);
        Ok(Sourced {
            value: Arc::new(curve),
            sources,
        }
        .as_of(time))
    }

    async fn year(&self, year: i16, today: Date) -> Result<Sourced<Option<Curve>>, Error> {
        let path = format!(
            "/resource-center/data-chart-center/interest-rates/daily-treasury-rates.csv/{year}/all\
             ?type=daily_treasury_yield_curve&field_tdr_date_value={year}&page=&_format=csv"
        );
        let ask = self.source.get(CURVE, &path).media(Media::Csv);
        self.source
            .ask(ask, |reply| Ok(newest(&reply.body, today)?))
            .await
    }
}

/// The newest day of a file, with the changes from the day before. The rows may be in any order.
/// `None` for a file without days.
fn newest(body: &[u8], today: Date) -> Result<Option<Curve>, SourceErrorKind> {
    let mut reader = csv::ReaderBuilder::new().flexible(true).from_reader(body);
    let header = reader
        .headers()
        .map_err(|error| malformed("$", "a csv file", error))?
        .clone();
    let column = |name: &str| {
        header
            .iter()
            .position(|cell| cell.trim().eq_ignore_ascii_case(name))
    };
    let date_column = column("Date").ok_or_else(|| malformed("$[0]", "a column Date", "none"))?;
    let tenors: Vec<_> = TENORS
        .iter()
        .filter_map(|(name, instrument)| Some((column(name)?, *instrument)))
        .collect();
    if tenors.is_empty() {
        return Err(malformed("$[0]", "columns of tenors", "none"));
    }
    let mut days: Vec<(Date, csv::StringRecord)> = Vec::new();
    for record in reader.records() {
        let record = record.map_err(|error| malformed("$", "a csv file", error))?;
        let date = record
            .get(date_column)
            .and_then(|cell| Date::strptime("%m/%d/%Y", cell.trim()).ok());
        let date = date.ok_or_else(|| malformed("$[].Date", "MM/DD/YYYY", "another form"))?;
        if date > today {
            return Err(malformed("$[].Date", "a day that has come", date));
        }
        days.push((date, record));
    }
    days.sort_by_key(|(date, _)| std::cmp::Reverse(*date));
    days.dedup_by_key(|(date, _)| *date);
    let mut days = days.into_iter();
    let Some((date, row)) = days.next() else {
        return Ok(None);
    };
    let before = days.next();
    let as_of = Market::UsTreasuries.stated_at(date);
    let as_of = as_of.ok_or_else(|| malformed("$[].Date", "a weekday", date))?;
    let point = |(at, instrument): (usize, &'static Instrument)| {
        let value = yield_of(row.get(at))?;
        let previous = before
            .as_ref()
            .and_then(|(_, row)| yield_of(row.get(at)).ok().flatten());
        Ok(value.map(|value| {
            let observation = Observation {
                value,
                previous,
                as_of,
                source: CURVE,
                delayed_minutes: 0,
                lag_sessions: 0,
                live: false,
            };
            (instrument, observation)
        }))
    };
    let points: Result<Vec<_>, SourceErrorKind> = tenors
        .into_iter()
        .map(point)
        .filter_map(Result::transpose)
        .collect();
    Ok(Some(Curve {
        date,
        points: points?,
    }))
}

/// A cell in percent. Empty cells and `N/A` are `None`; any other text that is no number is an
/// error.
fn yield_of(cell: Option<&str>) -> Result<Option<Decimal>, SourceErrorKind> {
    match cell.map(str::trim) {
        None | Some("" | "N/A") => Ok(None),
        Some(text) => text
            .parse::<Figure>()
            .map(|figure| Some(figure.0))
            .map_err(|_| malformed("$[]", "a yield in percent", text)),
    }
}

#[cfg(test)]
mod tests {
    use jiff::civil::date;

    use super::*;

    const TODAY: Date = date(2026, 11, 20);

    fn curve(text: &str) -> Result<Option<Curve>, SourceErrorKind> {
        newest(text.as_bytes(), TODAY)
    }

    #[test]
    fn columns_are_found_by_name_and_days_by_date() {
        let text = "10 Yr,Date,Extra,2 Yr\n4.11,11/19/2026,9,3.54\n4.08,11/20/2026,9,N/A\n";
        let curve = curve(text).unwrap().unwrap();
        assert_eq!(curve.date, TODAY);
        let [(instrument, point)] = curve.points.as_slice() else {
            panic!("{curve:?}");
        };
        assert_eq!(
            (instrument.symbol, point.value.to_string().as_str()),
            ("US10Y", "4.08")
        );
        assert_eq!(point.previous.unwrap().to_string(), "4.11");
        assert_eq!(point.as_of.to_string(), "2026-11-20T20:30:00Z");
    }

    /// Our calendar decides holidays, but a curve that the source states counts.
    #[test]
    fn a_curve_of_a_day_that_the_calendar_takes_for_a_holiday_is_read() {
        let curve = curve("Date,\"10 Yr\"\n11/10/2026,4.11\n11/11/2026,4.08\n").unwrap();
        let point = &curve.unwrap().points[0].1;
        assert_eq!(point.value.to_string(), "4.08");
        assert_eq!(point.as_of.to_string(), "2026-11-11T20:30:00Z");
    }

    #[test]
    fn a_year_without_days_has_no_curve() {
        assert_eq!(curve("Date,\"10 Yr\"\n"), Ok(None));
    }

    #[test]
    fn a_malformed_curve_is_refused() {
        for text in [
            "",
            "<html><body>Checking your browser</body></html>",
            "Date,Other\n11/20/2026,1\n",
            "Date,\"10 Yr\"\n2026-11-20,4.08\n",
            "Date,\"10 Yr\"\n11/21/2026,4.08\n",
            "Date,\"10 Yr\"\n11/20/2026,NaN\n",
            "Date,\"10 Yr\"\n11/20/2026,4.08%\n",
            // The row is of a Sunday.
            "Date,\"10 Yr\"\n11/15/2026,4.08\n",
        ] {
            assert!(curve(text).is_err(), "{text}");
        }
    }
}
