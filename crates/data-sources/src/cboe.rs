//! Cboe: the delayed quote of VIX.
//!
//! After the close `prev_day_close` is already the close of the day itself, so the session before
//! is the price less its change.

use std::{sync::Arc, time::Duration};

use jiff::{Timestamp, civil::DateTime, tz::TimeZone};
use readings::{
    Figure,
    macro_data::{Observation, chicago_time},
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

const VIX: &str = "cboe.vix";
/// How late the quote is.
const DELAYED_MINUTES: u32 = 15;
/// How many seconds its clock may be ahead of ours.
const AHEAD: i64 = 300;

/// Cboe. Clones share everything.
#[derive(Clone, Debug)]
pub struct Cboe {
    source: Source,
    vix: Cached<(), Observation>,
}

impl Cboe {
    /// The addresses, limits and quotas of the upstream.
    pub const SPEC: &'static UpstreamSpec = &UpstreamSpec {
        name: "cboe",
        urls: &[("base_url", "https://cdn.cboe.com")],
        key: KeyRule::Keyless,
        sources: &[VIX],
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
            vix: Cached::new(1, Ages::seconds(120, 4 * 86_400), clock),
        })
    }

    /// The upstream that this adapter asks.
    pub fn source(&self) -> &Source {
        &self.source
    }

    /// The VIX index, read again when the kept one was fetched longer ago than `max_age`.
    ///
    /// # Errors
    ///
    /// A [`SourceError`](crate::SourceError).
    pub async fn vix(&self, max_age: Option<Duration>) -> Result<Sourced<Observation>, Error> {
        let this = self.clone();
        self.vix
            .get((), max_age, move || async move { this.fetch().await })
            .await
    }

    async fn fetch(&self) -> Result<Sourced<Observation>, Error> {
        let now = self.source.now();
        let ask = self
            .source
            .get(VIX, "/api/global/delayed_quotes/quotes/_VIX.json");
        let read: Sourced<Observation> = self
            .source
            .ask(ask, |reply| {
                Ok::<_, crate::source::Fault<Error>>(read_json::<Answer>(&reply.body)?.read(now)?)
            })
            .await?;
        let time = read.value.as_of;
        Ok(read.as_of(Some(time)))
    }
}

#[derive(Deserialize)]
struct Answer {
    timestamp: String,
    data: Quote,
}

#[derive(Deserialize)]
struct Quote {
    symbol: String,
    current_price: Figure,
    #[serde(default, deserialize_with = "Figure::lenient")]
    price_change: Option<Figure>,
    last_trade_time: String,
}

impl Answer {
    fn read(self, now: Timestamp) -> Result<Observation, SourceErrorKind> {
        let Quote {
            symbol,
            current_price,
            price_change,
            last_trade_time,
        } = self.data;
        if !matches!(symbol.as_str(), "^VIX" | "_VIX" | "VIX") {
            return Err(malformed("$.data.symbol", "^VIX", symbol));
        }
        let made = clock(&self.timestamp)
            .and_then(|clock| TimeZone::UTC.to_timestamp(clock).ok())
            .ok_or_else(|| malformed("$.timestamp", "a time", &self.timestamp))?;
        // The exchange's own clock says when the value was made; that cannot be later than the
        // answer. The time of the file says nothing about the value, so without a time of trade the
        // value has no age.
        let traded = clock(&last_trade_time)
            .and_then(chicago_time)
            .filter(|time| *time <= made)
            .ok_or_else(|| {
                let expected = "a time that is not after the answer's";
                malformed("$.data.last_trade_time", expected, &last_trade_time)
            })?;
        if made.duration_since(now).as_secs() > AHEAD {
            return Err(malformed("$.timestamp", "a time that has come", made));
        }
        Ok(Observation {
            value: current_price.0,
            previous: price_change.and_then(|change| current_price.0.checked_sub(change.0)),
            as_of: traded,
            source: VIX,
            delayed_minutes: DELAYED_MINUTES,
            lag_sessions: 0,
            live: true,
        })
    }
}

/// A date and a time with a space or a `T` between them, of at most 32 characters.
fn clock(text: &str) -> Option<DateTime> {
    text.get(..text.len().min(32))?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(json: &str) -> Result<Observation, SourceErrorKind> {
        let now = "2026-11-21T01:02:00Z".parse().unwrap();
        read_json::<Answer>(json.as_bytes())?.read(now)
    }

    fn quote(timestamp: &str, members: &str) -> String {
        format!(
            r#"{{"timestamp": "{timestamp}", "data": {{"symbol": "^VIX", "prev_day_close": 17.42, {members}}}}}"#
        )
    }

    #[test]
    fn the_session_before_is_the_price_less_its_change() {
        let members = r#""current_price": 17.42, "price_change": -0.56, "last_trade_time": "2026-11-20T15:14:59""#;
        let vix = read(&quote("2026-11-20 22:15:55", members)).unwrap();
        assert_eq!(
            (
                vix.value.to_string().as_str(),
                vix.previous.unwrap().to_string().as_str()
            ),
            ("17.42", "17.98")
        );
        assert_eq!(vix.as_of.to_string(), "2026-11-20T21:14:59Z");
    }

    #[test]
    fn a_value_without_a_time_of_trade_has_no_age_and_is_refused() {
        for odd in [
            r#""last_trade_time": "2026-11-20T23:00:00""#,
            r#""last_trade_time": "yesterday""#,
            r#""last_trade_time": null"#,
            r#""other": 1"#,
        ] {
            let members = format!(r#""current_price": 17.42, {odd}"#);
            let refused = read(&quote("2026-11-20 22:15:55", &members)).unwrap_err();
            let SourceErrorKind::Malformed { path, .. } = refused else {
                panic!("{odd}: {refused}")
            };
            assert!(path.starts_with("$.data"), "{odd}: {path}");
        }
    }

    #[test]
    fn another_quote_and_another_time_are_refused() {
        let price = r#""current_price": 17.42, "last_trade_time": "2026-11-20T15:14:59""#;
        assert!(read(&quote("2026-11-20 22:15:55", price)).is_ok());
        for wrong in [
            quote("2026-11-21 02:00:00", price),
            quote("soon", price),
            quote("2026-11-20 22:15:55", &price.replace("17.42", r#""NaN""#)),
            quote("2026-11-20 22:15:55", price).replace("^VIX", "^SPX"),
            r#"{"timestamp": "2026-11-20 22:15:55", "data": {}}"#.to_owned(),
        ] {
            assert!(read(&wrong).is_err(), "{wrong}");
        }
    }
}
