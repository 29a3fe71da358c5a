//! One value with its unit, its time and its state.
//!
//! A reading is judged at a given time: whether its market is open, how far it is behind, and for
//! how long it counts as fresh. The calendar of its market decides. Where values come from, and how
//! often they are requested, belongs to the caller.

use jiff::Timestamp;
use serde::Serialize;

use super::{Basis, Instrument, MarketState, Unit};
use crate::{Decimal, Figure, percent_change};

/// The decimal places of a change.
const CHANGE_PLACES: u32 = 4;
/// How many seconds old a value that is updated continuously may be in an open market.
const LIVE_SECONDS: i64 = 45 * 60;
/// How many seconds old a value may be in any case: the time between two requests to a source.
const LEAST_SECONDS: u64 = 300;
/// How far a source's clock may be ahead of ours, in seconds.
const FUTURE_SECONDS: i64 = 300;

/// A value as a source states it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Observation {
    /// The value, in the instrument's unit.
    pub value: Decimal,
    /// The value of the previous session, in the same unit.
    pub previous: Option<Decimal>,
    /// The time of the value.
    pub as_of: Timestamp,
    /// The source.
    pub source: &'static str,
    /// By how many minutes a source that follows the market publishes later. For other sources the
    /// calendar gives the delay.
    pub delayed_minutes: u32,
    /// How many sessions the source is usually behind.
    pub lag_sessions: usize,
    /// Whether the source follows the market while it is open.
    pub live: bool,
}

/// A value with everything that is needed to judge it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Reading {
    /// Its symbol.
    pub symbol: &'static str,
    /// Its name.
    pub name: &'static str,
    /// The value.
    pub value: Figure,
    /// Its unit.
    pub unit: Unit,
    /// Where it comes from.
    pub basis: Basis,
    /// The contract whose price it is, by the source's name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub contract: Option<&'static str>,
    /// The change from the previous session, in percent of that value.
    pub change_pct: Option<Figure>,
    /// The change of a yield from the previous session, in basis points.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub change_bp: Option<Figure>,
    /// The time of the value.
    pub as_of: Timestamp,
    /// Whether its market is open now.
    pub market_state: MarketState,
    /// Whether a newer value should be available. A value is not stale because its market is
    /// closed.
    pub stale: bool,
    /// The source.
    pub source: &'static str,
    /// By how many minutes the value is behind the newest value of its market. For a source that
    /// follows the open market, by how many it is behind the present.
    pub delayed_minutes: u32,
    /// `direct`, or `derived` for a value that is computed here.
    pub method: &'static str,
    /// Up to which age, in seconds, the value counts as fresh, by the calendar of its market.
    #[serde(skip)]
    pub fresh_seconds: u64,
}

/// The value is impossible for its instrument: it is out of all bounds, or its time is in the
/// future.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a value that cannot be one of this instrument")]
pub struct Implausible;

impl Reading {
    /// Makes the reading of `instrument` from `observation`, judged at `now`.
    ///
    /// # Errors
    ///
    /// [`Implausible`]. An impossible previous value is left out.
    pub fn new(
        instrument: &'static Instrument,
        observation: &Observation,
        now: Timestamp,
    ) -> Result<Self, Implausible> {
        let Observation { value, as_of, .. } = *observation;
        let ahead = as_of.duration_since(now).as_secs();
        if !instrument.believes(value) || ahead > FUTURE_SECONDS {
            return Err(Implausible);
        }
        let previous = observation
            .previous
            .filter(|previous| instrument.believes(*previous));
        let change_pct = previous.and_then(|previous| percent_change(previous, value));
        let yields = instrument.unit == Unit::Percent;
        let change_bp = previous.filter(|_| yields).and_then(|previous| {
            value
                .checked_sub(previous)?
                .checked_mul(Decimal::ONE_HUNDRED)
        });
        let market_state = instrument.market.state(now);
        let fresh_seconds = fresh_seconds(instrument, observation, now);
        let age = u64::try_from(now.duration_since(as_of).as_secs()).unwrap_or(0);
        Ok(Self {
            symbol: instrument.symbol,
            name: instrument.name,
            value: Figure(value),
            unit: instrument.unit,
            basis: instrument.basis(),
            contract: None,
            change_pct: change_pct.map(|change| Figure(change.round_dp(CHANGE_PLACES))),
            change_bp: change_bp.map(|change| Figure(change.round_dp(CHANGE_PLACES))),
            as_of,
            market_state,
            stale: age > fresh_seconds,
            source: observation.source,
            delayed_minutes: delayed_minutes(instrument, observation, now),
            method: "direct",
            fresh_seconds,
        })
    }

    /// Marks the reading as the price of this contract.
    #[must_use]
    pub fn of_contract(self, basis: Basis, contract: &'static str) -> Self {
        Self {
            basis,
            contract: Some(contract),
            ..self
        }
    }

    /// Marks the reading as computed here.
    #[must_use]
    pub fn derived(self) -> Self {
        Self {
            method: "derived",
            ..self
        }
    }
}

/// Returns by how many minutes a value is behind its market. A source that does not follow the
/// market is behind by the time between its value and the market's newest one. For a source that
/// publishes once a week, that may be days.
fn delayed_minutes(instrument: &Instrument, observation: &Observation, now: Timestamp) -> u32 {
    if observation.live {
        return observation.delayed_minutes;
    }
    let newest = instrument.market.expected(now, 0);
    let behind = newest.map_or(0, |newest| {
        newest.duration_since(observation.as_of).as_mins()
    });
    u32::try_from(behind).unwrap_or(0)
}

/// Returns how old a value may be: for a short time in an open market that the source follows,
/// otherwise since the last value that must have been published.
fn fresh_seconds(instrument: &Instrument, observation: &Observation, now: Timestamp) -> u64 {
    let market = instrument.market;
    if observation.live && market.state(now) == MarketState::Open {
        let opened_long_ago = market.state(
            now.saturating_sub(jiff::SignedDuration::from_secs(LIVE_SECONDS))
                .unwrap_or(now),
        );
        if opened_long_ago == MarketState::Open {
            return u64::try_from(LIVE_SECONDS).unwrap_or(LEAST_SECONDS);
        }
    }
    let expected = market.expected(now, observation.lag_sessions);
    let since = expected.map_or(0, |expected| now.duration_since(expected).as_secs());
    // A continuous value stops some minutes before or after the official close.
    let slack = if observation.live { LIVE_SECONDS } else { 0 };
    // Every value stays fresh for a moment after it was judged, until the answer is written and
    // read.
    u64::try_from(since.saturating_add(slack))
        .unwrap_or(0)
        .saturating_add(LEAST_SECONDS)
}

/// A value from a second source. It checks the reading, and does not replace it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CrossCheck {
    /// The symbol of the checked value.
    pub symbol: &'static str,
    /// The second source.
    pub source: &'static str,
    /// Its value, in the same unit.
    pub value: Figure,
    /// Its time.
    pub as_of: Timestamp,
    /// The contract whose price it is, by the source's name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub contract: Option<&'static str>,
    /// How it differs from the reading, in percent. Values of different days also differ by what
    /// the market moved.
    pub difference_pct: Option<Figure>,
}

impl CrossCheck {
    /// Compares the value of `source` with `reading`.
    #[must_use]
    pub fn new(reading: &Reading, source: &'static str, value: Decimal, as_of: Timestamp) -> Self {
        Self {
            symbol: reading.symbol,
            source,
            value: Figure(value),
            as_of,
            contract: None,
            difference_pct: percent_change(reading.value.0, value)
                .map(|difference| Figure(difference.round_dp(CHANGE_PLACES))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Decimal {
        text.parse::<Figure>().unwrap().0
    }

    fn observed(value: &str, previous: Option<&str>, as_of: &str) -> Observation {
        Observation {
            value: of(value),
            previous: previous.map(of),
            as_of: as_of.parse().unwrap(),
            source: "s",
            delayed_minutes: 0,
            lag_sessions: 0,
            live: false,
        }
    }

    fn reading(instrument: &'static Instrument, observation: &Observation, now: &str) -> Reading {
        Reading::new(instrument, observation, now.parse().unwrap()).unwrap()
    }

    #[test]
    fn a_quiet_weekend_is_not_stale_and_a_missed_session_is() {
        let friday = observed("6880.1", Some("6850"), "2026-11-20T21:00:00Z");
        for now in [
            "2026-11-21T01:02:00Z",
            "2026-11-22T12:00:00Z",
            "2026-11-23T21:00:00Z",
        ] {
            let reading = reading(&Instrument::SP500, &friday, now);
            assert!(!reading.stale, "{now}");
        }
        assert_eq!(
            reading(&Instrument::SP500, &friday, "2026-11-22T12:00:00Z").market_state,
            MarketState::Closed
        );
        assert!(reading(&Instrument::SP500, &friday, "2026-11-23T21:31:00Z").stale);
        let lagging = Observation {
            lag_sessions: 1,
            ..friday
        };
        assert!(!reading(&Instrument::SP500, &lagging, "2026-11-23T21:31:00Z").stale);
        assert!(reading(&Instrument::SP500, &lagging, "2026-11-24T21:31:00Z").stale);
    }

    #[test]
    fn a_live_value_ages_while_the_market_is_open() {
        let live = |as_of: &str| Observation {
            live: true,
            ..observed("17.42", None, as_of)
        };
        let stale = |as_of: &str, now: &str| reading(&Instrument::VIX, &live(as_of), now).stale;
        assert!(!stale("2026-11-20T15:30:00Z", "2026-11-20T16:00:00Z"));
        assert!(stale("2026-11-20T15:00:00Z", "2026-11-20T16:00:00Z"));
        // The source is delayed, so after the open the value of the day before remains for a while.
        assert!(!stale("2026-11-19T21:15:00Z", "2026-11-20T14:40:00Z"));
        assert!(stale("2026-11-19T21:15:00Z", "2026-11-20T16:00:00Z"));
        // The last tick comes a minute before the official close, and is the value of the weekend.
        assert!(!stale("2026-11-20T21:14:59Z", "2026-11-21T01:02:00Z"));
        assert!(stale("2026-11-19T21:14:59Z", "2026-11-21T01:02:00Z"));
    }

    #[test]
    fn an_old_spot_price_says_how_far_behind_it_is() {
        // The source publishes once a week. On Friday evening, its newest price is Monday's.
        let weekly = Observation {
            lag_sessions: 4,
            ..observed("59.9", None, "2026-11-16T19:30:00Z")
        };
        let now = "2026-11-21T01:02:00Z";
        let read = reading(&Instrument::WTI, &weekly, now);
        assert_eq!(
            (read.delayed_minutes, read.basis),
            (4 * 24 * 60, Basis::Spot)
        );
        let future = Observation {
            live: true,
            delayed_minutes: 10,
            ..observed("60.2", None, "2026-11-20T21:59:00Z")
        };
        let read = reading(&Instrument::WTI_FUTURE, &future, now);
        assert_eq!(
            (read.delayed_minutes, read.basis),
            (10, Basis::FuturesFrontMonth)
        );
        let read = read.of_contract(Basis::PerpetualOracle, "xyz:CL");
        assert_eq!(
            (read.basis, read.contract),
            (Basis::PerpetualOracle, Some("xyz:CL"))
        );
        let today = observed("6880.1", None, "2026-11-20T21:00:00Z");
        assert_eq!(reading(&Instrument::SP500, &today, now).delayed_minutes, 0);
    }

    #[test]
    fn yields_change_in_basis_points_too() {
        let curve = observed("4.08", Some("4.11"), "2026-11-20T20:30:00Z");
        let reading = reading(&Instrument::US10Y, &curve, "2026-11-21T01:02:00Z");
        assert_eq!(reading.change_bp.unwrap().to_string(), "-3");
        assert_eq!(reading.change_pct.unwrap().to_string(), "-0.7299");
        let json = serde_json::to_value(&reading).unwrap();
        assert_eq!(json["as_of"], "2026-11-20T20:30:00Z");
        assert_eq!(
            (&json["unit"], &json["market_state"], &json["stale"]),
            (&"percent".into(), &"closed".into(), &false.into())
        );
        assert!(json.get("fresh_seconds").is_none());
    }

    #[test]
    fn impossible_values_are_refused() {
        let now: Timestamp = "2026-11-21T01:02:00Z".parse().unwrap();
        let of = |value: &str, as_of: &str| {
            Reading::new(&Instrument::VIX, &observed(value, None, as_of), now)
        };
        assert!(of("17", "2026-11-21T01:06:00Z").is_ok());
        assert_eq!(of("17", "2026-11-21T01:08:00Z"), Err(Implausible));
        assert_eq!(of("0", "2026-11-20T21:00:00Z"), Err(Implausible));
        // The previous value is impossible, so no change is stated.
        let odd = observed("17", Some("0"), "2026-11-20T21:15:00Z");
        let reading = Reading::new(&Instrument::VIX, &odd, now).unwrap();
        assert_eq!((reading.change_pct, reading.change_bp), (None, None));
    }

    #[test]
    fn a_second_source_is_compared() {
        let vix = observed("17.42", None, "2026-11-20T21:15:00Z");
        let reading = reading(&Instrument::VIX, &vix, "2026-11-21T01:02:00Z");
        let check = CrossCheck::new(&reading, "y", of("17.5942"), reading.as_of);
        assert_eq!(
            (
                check.symbol,
                check.difference_pct.unwrap().to_string().as_str()
            ),
            ("VIX", "1")
        );
    }
}
