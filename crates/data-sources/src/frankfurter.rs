//! Frankfurter: reference rates of the ECB, one set for each working day, and the dollar index that
//! is computed from them. The rates are not prices of a market.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use jiff::{ToSpan, civil::Date};
use readings::{
    Decimal, Figure,
    macro_data::{DollarRates, Instrument, Market, Observation, derived_index},
};
use serde::Deserialize;

use crate::{
    budget::{Families, Rate},
    cached::{Ages, Cached},
    error::{Error, SourceErrorKind},
    json::read_json,
    provenance::{Clock, Sourced},
    source::{KeyRule, Source, SourceConfig, UpstreamSpec},
    transport::{Transport, TransportError},
    wire::malformed,
};

const RATES: &str = "frankfurter.rates";

/// Days that are asked for. They contain two sets of rates across any holiday.
const DAYS: i32 = 10;
/// Decimal places of an inverted rate.
const PLACES: u32 = 6;

/// The currencies, the instrument of each, and whether its rate is inverted (dollars for one unit).
const CURRENCIES: [(&str, &Instrument, bool); 6] = [
    ("EUR", &Instrument::EURUSD, true),
    ("GBP", &Instrument::GBPUSD, true),
    ("JPY", &Instrument::USDJPY, false),
    ("CAD", &Instrument::USDCAD, false),
    ("SEK", &Instrument::USDSEK, false),
    ("CHF", &Instrument::USDCHF, false),
];

/// Frankfurter. Clones share everything.
#[derive(Clone, Debug)]
pub struct Frankfurter {
    source: Source,
    rates: Cached<(), Rates>,
}

/// The newest rates, and the values derived from them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rates {
    /// The rates of the day.
    pub fx: Vec<(&'static Instrument, Observation)>,
    /// The derived dollar index, when the day has all six rates.
    pub dollar: Option<Observation>,
}

impl Frankfurter {
    /// The addresses, limits and quotas of the upstream.
    pub const SPEC: &'static UpstreamSpec = &UpstreamSpec {
        name: "frankfurter",
        urls: &[("base_url", "https://api.frankfurter.dev")],
        key: KeyRule::Keyless,
        sources: &[RATES],
        families: Families::One(Rate::per_minute(60)),
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
            rates: Cached::new(1, Ages::seconds(900, 7 * 86_400), clock),
        })
    }

    /// The upstream that this adapter asks.
    pub fn source(&self) -> &Source {
        &self.source
    }

    /// The newest reference rates of the dollar, read again when the kept ones were fetched longer
    /// ago than `max_age`.
    ///
    /// # Errors
    ///
    /// A [`SourceError`](crate::SourceError).
    pub async fn rates(&self, max_age: Option<Duration>) -> Result<Sourced<Rates>, Error> {
        let this = self.clone();
        self.rates
            .get((), max_age, move || async move { this.fetch().await })
            .await
    }

    async fn fetch(&self) -> Result<Sourced<Rates>, Error> {
        let today = Market::Currencies.date_of(self.source.now());
        let since = today.checked_sub(DAYS.days()).unwrap_or(today);
        let symbols = CURRENCIES.map(|(symbol, ..)| symbol).join(",");
        let path = format!("/v1/{since}..?base=USD&symbols={symbols}");
        let ask = self.source.get(RATES, &path);
        let read: Sourced<Rates> = self
            .source
            .ask(ask, |reply| {
                Ok::<_, crate::source::Fault<Error>>(read_json::<Answer>(&reply.body)?.read(today)?)
            })
            .await?;
        let time = read
            .value
            .fx
            .first()
            .map(|(_, observation)| observation.as_of);
        Ok(read.as_of(time))
    }
}

#[derive(Deserialize)]
struct Answer {
    amount: Figure,
    base: String,
    rates: BTreeMap<String, BTreeMap<String, Figure>>,
}

/// The rates of one day by currency.
type Day = BTreeMap<String, Figure>;

impl Answer {
    fn read(self, today: Date) -> Result<Rates, SourceErrorKind> {
        if self.base != "USD" || self.amount.0 != Decimal::ONE {
            let observed = format!("{} {}", self.amount, self.base);
            return Err(malformed("$.base", "rates of one dollar", observed));
        }
        let mut days = Vec::with_capacity(self.rates.len());
        for (text, rates) in self.rates {
            let date: Date = text
                .parse()
                .map_err(|_| malformed("$.rates", "YYYY-MM-DD", &text))?;
            if date > today {
                return Err(malformed("$.rates", "a day that has come", date));
            }
            days.push((date, rates));
        }
        days.sort_by_key(|(date, _)| std::cmp::Reverse(*date));
        let mut days = days.into_iter();
        let (date, day) = days
            .next()
            .ok_or_else(|| malformed("$.rates", "a day with rates", "none"))?;
        let before = days.next().map(|(_, day)| day);
        let as_of = Market::Currencies.stated_at(date);
        let as_of = as_of.ok_or_else(|| malformed("$.rates", "a weekday", date))?;
        let observation = |value, previous| Observation {
            value,
            previous,
            as_of,
            source: RATES,
            delayed_minutes: 0,
            lag_sessions: 0,
            live: false,
        };
        let earlier = |of: &dyn Fn(&Day) -> Option<Decimal>| before.as_ref().and_then(of);
        let fx = CURRENCIES
            .iter()
            .filter_map(|(currency, instrument, turned)| {
                let of = |day: &Day| rate(day, currency, *turned);
                Some((
                    *instrument,
                    observation(
                        of(&day)?.round_dp(PLACES),
                        earlier(&of).map(|rate| rate.round_dp(PLACES)),
                    ),
                ))
            });
        Ok(Rates {
            fx: fx.collect(),
            dollar: index(&day).map(|value| observation(value, earlier(&index))),
        })
    }
}

/// Units of `currency` for a dollar; inverted, dollars for a unit.
fn rate(day: &Day, currency: &str, turned: bool) -> Option<Decimal> {
    let rate = day.get(currency)?.0;
    if rate <= Decimal::ZERO {
        return None;
    }
    if turned {
        Decimal::ONE.checked_div(rate)
    } else {
        Some(rate)
    }
}

fn index(day: &Day) -> Option<Decimal> {
    derived_index(&DollarRates {
        eurusd: rate(day, "EUR", true)?,
        usdjpy: rate(day, "JPY", false)?,
        gbpusd: rate(day, "GBP", true)?,
        usdcad: rate(day, "CAD", false)?,
        usdsek: rate(day, "SEK", false)?,
        usdchf: rate(day, "CHF", false)?,
    })
}

#[cfg(test)]
mod tests {
    use jiff::civil::date;

    use super::*;

    fn read(json: &str) -> Result<Rates, SourceErrorKind> {
        read_json::<Answer>(json.as_bytes())?.read(date(2026, 11, 20))
    }

    const DAY: &str = r#"{"CAD": 1.4021, "CHF": 0.8071, "EUR": 0.86214, "GBP": 0.76311, "JPY": 156.21, "SEK": 9.4712}"#;

    #[test]
    fn rates_are_turned_the_usual_way_round() {
        let json = format!(
            r#"{{"amount": 1.0, "base": "USD", "rates": {{"2026-11-19": {DAY}, "2026-11-20": {DAY}}}}}"#
        );
        let rates = read(&json).unwrap();
        let shown: Vec<_> = rates
            .fx
            .iter()
            .map(|(instrument, rate)| format!("{} {}", instrument.symbol, rate.value))
            .collect();
        assert_eq!(
            shown,
            [
                "EURUSD 1.159904",
                "GBPUSD 1.310427",
                "USDJPY 156.21",
                "USDCAD 1.4021",
                "USDSEK 9.4712",
                "USDCHF 0.8071"
            ]
        );
        let dollar = rates.dollar.unwrap();
        assert_eq!(dollar.value.to_string(), "99.6540");
        assert_eq!(dollar.previous, Some(dollar.value));
        assert_eq!(dollar.as_of.to_string(), "2026-11-20T13:15:00Z");
    }

    /// The first of May: our calendar decides holidays, the source decides rates.
    #[test]
    fn rates_of_a_day_that_the_calendar_takes_for_a_holiday_are_read() {
        let json = format!(r#"{{"amount": 1, "base": "USD", "rates": {{"2026-05-01": {DAY}}}}}"#);
        let rates = read(&json).unwrap();
        assert_eq!(rates.fx.len(), 6);
        assert_eq!(rates.fx[0].1.as_of.to_string(), "2026-05-01T12:15:00Z");
    }

    #[test]
    fn an_index_needs_all_six() {
        let json =
            r#"{"amount": 1, "base": "USD", "rates": {"2026-11-20": {"EUR": 0.86, "JPY": 0}}}"#;
        let rates = read(json).unwrap();
        assert_eq!((rates.fx.len(), rates.dollar), (1, None));
    }

    #[test]
    fn other_rates_are_refused() {
        for wrong in [
            format!(r#"{{"amount": 1, "base": "EUR", "rates": {{"2026-11-20": {DAY}}}}}"#),
            format!(r#"{{"amount": 100, "base": "USD", "rates": {{"2026-11-20": {DAY}}}}}"#),
            format!(r#"{{"amount": 1, "base": "USD", "rates": {{"2026-11-21": {DAY}}}}}"#),
            format!(r#"{{"amount": 1, "base": "USD", "rates": {{"2026-11-15": {DAY}}}}}"#),
            r#"{"amount": 1, "base": "USD", "rates": {}}"#.to_owned(),
            r#"{"amount": 1, "base": "USD", "rates": {"2026-11-20": {"EUR": "NaN"}}}"#.to_owned(),
        ] {
            assert!(read(&wrong).is_err(), "{wrong}");
        }
    }
}
