//! All readings together, in the form of an answer.

use jiff::{Timestamp, civil::Date};
use serde::Serialize;

use super::{CrossCheck, Instrument, Reading};
use crate::{Decimal, Figure};

/// All readings, by group.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct MacroData {
    /// Indices of shares.
    pub indices: Vec<Reading>,
    /// Volatility.
    pub volatility: Volatility,
    /// The dollar.
    pub dollar: Dollar,
    /// US treasury yields.
    pub yields: Yields,
    /// Commodities.
    pub commodities: Vec<Reading>,
    /// Exchange rates.
    pub fx: Vec<Reading>,
    /// Values from a second source, for some of them.
    pub cross_checks: Vec<CrossCheck>,
}

/// Volatility.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Volatility {
    /// The VIX index.
    pub vix: Option<Reading>,
}

/// The dollar.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Dollar {
    /// An index that is computed from reference rates. It is not ICE DXY.
    pub derived_index: Option<Reading>,
    /// The Federal Reserve's broad index.
    pub broad_index: Option<Reading>,
}

/// Yields of one day.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Yields {
    /// The yield for three months.
    #[serde(rename = "3m")]
    pub three_months: Option<Reading>,
    /// The yield for two years.
    #[serde(rename = "2y")]
    pub two_years: Option<Reading>,
    /// The yield for ten years.
    #[serde(rename = "10y")]
    pub ten_years: Option<Reading>,
    /// The yield for thirty years.
    #[serde(rename = "30y")]
    pub thirty_years: Option<Reading>,
    /// The yield for ten years less that for two years, in basis points.
    pub spread_2s10s_bp: Option<Figure>,
    /// The day of the curve.
    pub curve_date: Option<Date>,
}

/// Returns the slope of the curve: the yield for ten years less that for two years, in basis
/// points. `None` when the two have different times, because a difference between two days is not a
/// slope.
#[must_use]
pub fn spread_bp(two: &Reading, ten: &Reading) -> Option<Figure> {
    if two.as_of != ten.as_of {
        return None;
    }
    let spread = ten.value.0.checked_sub(two.value.0)?;
    spread.checked_mul(Decimal::ONE_HUNDRED).map(Figure)
}

impl MacroData {
    /// Every reading.
    pub fn readings(&self) -> impl Iterator<Item = &Reading> {
        let Yields {
            three_months,
            two_years,
            ten_years,
            thirty_years,
            ..
        } = &self.yields;
        let single = [
            &self.volatility.vix,
            &self.dollar.derived_index,
            &self.dollar.broad_index,
            three_months,
            two_years,
            ten_years,
            thirty_years,
        ];
        self.indices
            .iter()
            .chain(single.into_iter().flatten())
            .chain(&self.commodities)
            .chain(&self.fx)
    }

    /// The reading of `instrument`.
    #[must_use]
    pub fn find(&self, instrument: &Instrument) -> Option<&Reading> {
        self.readings()
            .find(|reading| reading.symbol == instrument.symbol)
    }

    /// The reading of `instrument`, if it is an index of shares or the VIX.
    pub fn index_mut(&mut self, instrument: &Instrument) -> Option<&mut Reading> {
        self.indices
            .iter_mut()
            .chain(&mut self.volatility.vix)
            .find(|reading| reading.symbol == instrument.symbol)
    }

    /// Keeps only `instrument`.
    #[must_use]
    pub fn only(mut self, instrument: &Instrument) -> Self {
        let symbol = instrument.symbol;
        self.retain(|reading| reading.symbol == symbol);
        self
    }

    /// Keeps only the readings for which `keep` holds, with their cross checks.
    pub fn retain(&mut self, keep: impl Fn(&Reading) -> bool) {
        for list in [&mut self.indices, &mut self.commodities, &mut self.fx] {
            list.retain(&keep);
        }
        let yields = &mut self.yields;
        let mut curve = [
            &mut yields.three_months,
            &mut yields.two_years,
            &mut yields.ten_years,
            &mut yields.thirty_years,
        ];
        for reading in &mut curve {
            reading.take_if(|reading| !keep(reading));
        }
        if curve.iter().all(|reading| reading.is_none()) {
            yields.spread_2s10s_bp = None;
            yields.curve_date = None;
        }
        let single = [
            &mut self.volatility.vix,
            &mut self.dollar.derived_index,
            &mut self.dollar.broad_index,
        ];
        for reading in single {
            reading.take_if(|reading| !keep(reading));
        }
        let kept: Vec<&str> = self.readings().map(|reading| reading.symbol).collect();
        self.cross_checks
            .retain(|check| kept.contains(&check.symbol));
    }

    /// Returns up to which age, in seconds, the whole set counts as fresh. When no reading is
    /// stale, this is the allowed age of the oldest reading. Otherwise it is less than the age of
    /// the stalest one.
    #[must_use]
    pub fn fresh_seconds(&self) -> u64 {
        let stale = self.readings().filter(|reading| reading.stale);
        let least = stale.map(|reading| reading.fresh_seconds).min();
        let oldest = self.readings().min_by_key(|reading| reading.as_of);
        least
            .or(oldest.map(|reading| reading.fresh_seconds))
            .unwrap_or(0)
    }

    /// The time of the oldest reading.
    #[must_use]
    pub fn as_of(&self) -> Option<Timestamp> {
        self.readings().map(|reading| reading.as_of).min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::macro_data::Observation;

    fn reading(
        instrument: &'static Instrument,
        value: &str,
        as_of: &str,
        lag_sessions: usize,
    ) -> Reading {
        let observation = Observation {
            value: value.parse::<Figure>().unwrap().0,
            previous: None,
            as_of: as_of.parse().unwrap(),
            source: "s",
            delayed_minutes: 0,
            lag_sessions,
            live: false,
        };
        Reading::new(
            instrument,
            &observation,
            "2026-11-21T01:02:00Z".parse().unwrap(),
        )
        .unwrap()
    }

    fn data() -> MacroData {
        let (two, ten) = (
            reading(&Instrument::US2Y, "3.51", "2026-11-20T20:30:00Z", 0),
            reading(&Instrument::US10Y, "4.08", "2026-11-20T20:30:00Z", 0),
        );
        MacroData {
            indices: vec![reading(
                &Instrument::SP500,
                "6880",
                "2026-11-19T21:00:00Z",
                1,
            )],
            yields: Yields {
                spread_2s10s_bp: spread_bp(&two, &ten),
                two_years: Some(two),
                ten_years: Some(ten),
                ..Yields::default()
            },
            ..MacroData::default()
        }
    }

    #[test]
    fn the_slope_needs_two_yields_of_one_day() {
        assert_eq!(data().yields.spread_2s10s_bp.unwrap().to_string(), "57");
        let two = reading(&Instrument::US2Y, "3.51", "2026-11-19T20:30:00Z", 0);
        let ten = reading(&Instrument::US10Y, "3.40", "2026-11-20T20:30:00Z", 0);
        assert_eq!(spread_bp(&two, &ten), None);
        let inverted = reading(&Instrument::US2Y, "3.51", "2026-11-20T20:30:00Z", 0);
        assert_eq!(spread_bp(&inverted, &ten).unwrap().to_string(), "-11");
    }

    #[test]
    fn a_set_is_fresh_while_nothing_is_stale() {
        let now: Timestamp = "2026-11-21T01:02:00Z".parse().unwrap();
        let age = |data: &MacroData| {
            let age = now.duration_since(data.as_of().unwrap()).as_secs();
            u64::try_from(age).unwrap()
        };
        let mut data = data();
        assert!(age(&data) <= data.fresh_seconds());
        data.fx.push(reading(
            &Instrument::EURUSD,
            "1.16",
            "2026-11-18T13:15:00Z",
            0,
        ));
        assert!(age(&data) > data.fresh_seconds());
        assert_eq!(
            (
                MacroData::default().fresh_seconds(),
                MacroData::default().as_of()
            ),
            (0, None)
        );
    }

    #[test]
    fn a_cross_check_goes_with_its_reading() {
        let mut data = data();
        let check = |data: &MacroData, instrument| {
            let reading = data.find(instrument).unwrap();
            CrossCheck::new(reading, "y", reading.value.0, reading.as_of)
        };
        data.cross_checks = vec![
            check(&data, &Instrument::SP500),
            check(&data, &Instrument::US2Y),
        ];
        let friday: Timestamp = "2026-11-20T00:00:00Z".parse().unwrap();
        data.retain(|reading| reading.as_of >= friday);
        let checked: Vec<_> = data.cross_checks.iter().map(|of| of.symbol).collect();
        assert_eq!((data.readings().count(), checked), (2, vec!["US2Y"]));
        assert!(data.yields.spread_2s10s_bp.is_some());
        data.retain(|_| false);
        assert_eq!(data.yields, Yields::default());
        assert!(data.cross_checks.is_empty());
    }

    #[test]
    fn one_symbol_is_kept_alone() {
        assert_eq!(data().readings().count(), 3);
        let only = data().only(&Instrument::US2Y);
        let symbols: Vec<_> = only.readings().map(|reading| reading.symbol).collect();
        assert_eq!(symbols, ["US2Y"]);
        assert!(
            data().find(&Instrument::SP500).is_some() && data().find(&Instrument::VIX).is_none()
        );
    }
}
