//! Funding rates of all venues, converted to one interval.

use std::num::NonZeroU8;

use jiff::{SignedDuration, Timestamp};
use serde::Serialize;

use crate::{Decimal, Figure};

/// The highest credible rate of one interval, as a fraction. No venue's cap is near it, and a rate
/// in percent or in basis points soon exceeds it.
const MAX_RATE: Decimal = Decimal::from_parts(1, 0, 0, false, 1);

/// The decimal places of a rate for eight hours.
const RATE_PLACES: u32 = 12;
/// The decimal places of a yearly percentage.
const APR_PLACES: u32 = 6;

/// The time between two funding payments, in whole hours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FundingInterval(NonZeroU8);

impl FundingInterval {
    /// One hour, the interval of Hyperliquid.
    pub const HOUR: Self = Self(NonZeroU8::MIN);
    /// Eight hours, the default interval of the other venues.
    pub const EIGHT_HOURS: Self = Self(NonZeroU8::MIN.saturating_add(7));

    /// Makes an interval of this many hours. `None` for zero and for more than a day.
    #[must_use]
    pub fn hours(hours: u64) -> Option<Self> {
        let hours = u8::try_from(hours).ok().filter(|hours| *hours <= 24)?;
        NonZeroU8::new(hours).map(Self)
    }

    /// Returns the time from one payment to the next. `None` unless it is a number of whole hours,
    /// at most a day.
    #[must_use]
    pub fn between(one: Timestamp, next: Timestamp) -> Option<Self> {
        let hour = SignedDuration::from_hours(1);
        let between = next.duration_since(one);
        let hours = between.as_secs().checked_div(hour.as_secs())?;
        let hours = u64::try_from(hours).ok()?;
        let whole = SignedDuration::from_hours(i64::try_from(hours).ok()?) == between;
        whole.then(|| Self::hours(hours)).flatten()
    }

    /// Whether a payment at `next`, announced at `now`, fits an interval whose payments are counted
    /// from midnight UTC: it lies on the grid of the interval, and no more than one interval ahead.
    #[must_use]
    pub fn fits(self, next: Timestamp, now: Timestamp) -> bool {
        let interval = SignedDuration::from_hours(self.get().into());
        let into_day = next.as_second().rem_euclid(86_400);
        let on_grid = into_day.checked_rem(interval.as_secs()) == Some(0);
        on_grid && next.duration_since(now) <= interval
    }

    /// The number of hours.
    #[must_use]
    pub fn get(self) -> u8 {
        self.0.get()
    }
}

/// A funding rate, which longs pay to shorts. When it is negative, shorts pay.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Funding {
    /// The rate for the venue's interval, as a fraction of the position.
    pub rate: Figure,
    /// The venue's interval.
    pub interval_hours: u8,
    /// The rate for eight hours: `rate × 8 / interval`.
    pub rate_8h: Figure,
    /// The rate for a year without compounding, in percent: `rate × 24 / interval × 365 × 100`.
    pub apr_pct: Figure,
    /// When the next payment is due.
    pub next_at: Option<Timestamp>,
    /// The source of the rate. It is not the venue when the venue did not answer.
    pub source: &'static str,
}

/// The rate is impossible.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a funding rate beyond 10 % of the position per interval")]
pub struct Unbelievable;

impl Funding {
    /// Makes a rate from that of one interval, as a fraction.
    ///
    /// # Errors
    ///
    /// [`Unbelievable`] beyond 0.1 for an interval.
    pub fn new(
        rate: Decimal,
        interval: FundingInterval,
        next_at: Option<Timestamp>,
        source: &'static str,
    ) -> Result<Self, Unbelievable> {
        if rate.abs() > MAX_RATE {
            return Err(Unbelievable);
        }
        let per_hours = |hours: u32| {
            rate.checked_mul(Decimal::from(hours))?
                .checked_div(Decimal::from(interval.get()))
        };
        let rate_8h = per_hours(8).ok_or(Unbelievable)?;
        let apr_pct = per_hours(24 * 365)
            .and_then(|year| year.checked_mul(Decimal::ONE_HUNDRED))
            .ok_or(Unbelievable)?;
        Ok(Self {
            rate: Figure(rate),
            interval_hours: interval.get(),
            rate_8h: Figure(rate_8h.round_dp(RATE_PLACES)),
            apr_pct: Figure(apr_pct.round_dp(APR_PLACES)),
            next_at,
            source,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(rate: &str, hours: u64) -> (String, String) {
        let rate = rate.parse::<Figure>().unwrap().0;
        let interval = FundingInterval::hours(hours).unwrap();
        let funding = Funding::new(rate, interval, None, "s").unwrap();
        (funding.rate_8h.to_string(), funding.apr_pct.to_string())
    }

    #[test]
    fn one_and_the_same_cost_is_equal_at_every_interval() {
        let same = ("0.0001".to_owned(), "10.95".to_owned());
        assert_eq!(of("0.0000125", 1), same);
        assert_eq!(of("0.00005", 4), same);
        assert_eq!(of("0.0001", 8), same);
        assert_eq!(
            of("-0.0000042", 1),
            ("-0.0000336".to_owned(), "-3.6792".to_owned())
        );
        // A day has no whole number of seven hours. The result is rounded, and not cut.
        assert_eq!(
            of("0.0001", 7),
            ("0.000114285714".to_owned(), "12.514286".to_owned())
        );
    }

    #[test]
    fn a_rate_in_another_unit_is_not_believed() {
        let rate = |text: &str| {
            let rate = text.parse::<Figure>().unwrap().0;
            Funding::new(rate, FundingInterval::HOUR, None, "s").is_ok()
        };
        assert!(rate("0.1") && rate("-0.1") && rate("0"));
        assert!(!rate("0.1001") && !rate("-1") && !rate("1000000000000000000000000"));
    }

    #[test]
    fn an_interval_fits_its_next_payment_or_not() {
        let fits = |hours: u64, next: &str| {
            let interval = FundingInterval::hours(hours).unwrap();
            let now = "2026-11-21T07:30:00Z".parse().unwrap();
            interval.fits(next.parse().unwrap(), now)
        };
        let (eight, nine, noon) = (
            "2026-11-21T08:00:00Z",
            "2026-11-21T09:00:00Z",
            "2026-11-21T12:00:00Z",
        );
        assert!(fits(8, eight) && fits(4, eight) && fits(1, eight));
        assert!(!fits(8, nine) && !fits(4, nine) && !fits(8, noon));
        // The payment is on the grid, and further away than the interval is long.
        assert!(!fits(4, noon) && !fits(1, nine) && fits(8, "2026-11-21T08:00:00.000Z"));
        assert!(!fits(8, "2026-11-21T08:01:00Z"));
    }

    #[test]
    fn intervals_are_whole_hours_of_at_most_a_day() {
        let at = |seconds| Timestamp::from_second(seconds).unwrap();
        let between =
            |seconds| FundingInterval::between(at(0), at(seconds)).map(FundingInterval::get);
        assert_eq!(between(8 * 3600), Some(8));
        assert_eq!(between(3600), Some(1));
        for no_interval in [0, -3600, 1800, 3601, 25 * 3600, i64::from(u32::MAX)] {
            assert_eq!(between(no_interval), None, "{no_interval}");
        }
        assert_eq!(FundingInterval::hours(0), None);
        assert_eq!(FundingInterval::EIGHT_HOURS.get(), 8);
    }
}
