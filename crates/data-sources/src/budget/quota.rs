//! Quotas of days and months, and their pace. Pure: the caller passes the time in.

use std::num::NonZeroU32;

use jiff::{Timestamp, ToSpan, civil::Date, tz::TimeZone};

/// How many calls an upstream takes in a calendar day and a calendar month, in UTC. 0 means no
/// quota.
///
/// A quota is **paced**, so that no hour spends the month: at any time the calls of the period so
/// far are at most its linear share so far plus a tenth of the quota, and never more than the
/// quota. Unused calls can be used later in the same period.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QuotaSpec {
    /// Calls in a day.
    pub daily: u64,
    /// Calls in a month.
    pub monthly: u64,
}

impl QuotaSpec {
    /// Neither a daily nor a monthly quota.
    pub const NONE: Self = Self {
        daily: 0,
        monthly: 0,
    };

    /// A quota of this many calls in a month.
    #[must_use]
    pub const fn monthly(calls: u64) -> Self {
        Self {
            daily: 0,
            monthly: calls,
        }
    }

    /// The share of one of `servers` servers behind the same address. The share of a quota is at
    /// least 1.
    #[must_use]
    pub fn divided(self, servers: NonZeroU32) -> Self {
        let share = |calls: u64| match calls {
            0 => 0,
            calls => (calls / u64::from(servers.get())).max(1),
        };
        Self {
            daily: share(self.daily),
            monthly: share(self.monthly),
        }
    }
}

/// A day or a month of the calendar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Period {
    Day,
    Month,
}

impl Period {
    /// Its word in the name of a counter.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Day => "day",
            Self::Month => "month",
        }
    }

    /// The beginning of the period around `now`, and the beginning of the next one.
    pub(super) fn around(self, now: Timestamp) -> (Timestamp, Timestamp) {
        let today = now.to_zoned(TimeZone::UTC).date();
        let (first, next) = match self {
            Self::Day => (today, today.saturating_add(1.day())),
            Self::Month => {
                let first = today.first_of_month();
                (first, first.saturating_add(1.month()))
            }
        };
        let midnight = |date: Date| {
            let zoned = date.to_zoned(TimeZone::UTC);
            zoned.map_or(now, |zoned| zoned.timestamp())
        };
        (midnight(first), midnight(next))
    }
}

/// A quota with its pace.
#[derive(Clone, Copy, Debug)]
pub(super) struct Quota {
    pub(super) period: Period,
    pub(super) calls: u64,
}

impl Quota {
    /// The calls of the period that are allowed by `now`.
    pub(super) fn share(&self, now: Timestamp) -> u64 {
        let (start, end) = self.period.around(now);
        let millis = |from: Timestamp, to: Timestamp| {
            u128::try_from(to.as_millisecond().saturating_sub(from.as_millisecond())).unwrap_or(0)
        };
        let (passed, whole) = (millis(start, now), millis(start, end).max(1));
        let linear = u128::from(self.calls).saturating_mul(passed) / whole;
        let linear = u64::try_from(linear).unwrap_or(self.calls);
        linear.saturating_add(self.burst()).min(self.calls)
    }

    /// Seconds from `now` until one call more than `used` may be made.
    pub(super) fn wait(&self, used: u64, now: Timestamp) -> u64 {
        let (start, end) = self.period.around(now);
        let seconds = |time: Timestamp| time.as_second().saturating_sub(now.as_second());
        let until = if used >= self.calls {
            end
        } else {
            let whole = u128::try_from(end.as_millisecond().saturating_sub(start.as_millisecond()));
            // The linear share passes this many calls at that fraction of the period.
            let owed = used.saturating_add(1).saturating_sub(self.burst());
            let millis = u128::from(owed)
                .saturating_mul(whole.unwrap_or(0))
                .div_ceil(u128::from(self.calls.max(1)));
            let millis = i64::try_from(millis).unwrap_or(i64::MAX);
            Timestamp::from_millisecond(start.as_millisecond().saturating_add(millis))
                .unwrap_or(end)
        };
        // Rounded up, so that a caller that returns then is not refused again.
        u64::try_from(seconds(until).saturating_add(1))
            .unwrap_or(1)
            .max(1)
    }

    fn burst(&self) -> u64 {
        (self.calls / 10).max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MONTH: Quota = Quota {
        period: Period::Month,
        calls: 10_000,
    };

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    #[test]
    fn periods_are_those_of_the_calendar() {
        let around = |period: Period, text| {
            let (start, end) = period.around(at(text));
            (start.to_string(), end.to_string())
        };
        assert_eq!(
            around(Period::Month, "2026-12-31T23:59:59Z"),
            (
                "2026-12-01T00:00:00Z".to_owned(),
                "2027-01-01T00:00:00Z".to_owned()
            )
        );
        assert_eq!(
            around(Period::Day, "2028-02-29T00:00:00Z"),
            (
                "2028-02-29T00:00:00Z".to_owned(),
                "2028-03-01T00:00:00Z".to_owned()
            )
        );
    }

    #[test]
    fn a_month_is_not_spent_in_a_day() {
        assert_eq!(MONTH.share(at("2026-11-01T00:00:00Z")), 1_000);
        assert_eq!(MONTH.share(at("2026-11-02T00:00:00Z")), 1_333);
        assert_eq!(MONTH.share(at("2026-11-16T00:00:00Z")), 6_000);
        assert_eq!(MONTH.share(at("2026-11-30T00:00:00Z")), 10_000);
        let one = Quota { calls: 1, ..MONTH };
        assert_eq!(one.share(at("2026-11-01T00:00:00Z")), 1);
    }

    #[test]
    fn a_refusal_names_the_time_at_which_the_next_call_is_due() {
        for (used, now) in [
            (1_000, "2026-11-01T00:00:00Z"),
            (1_333, "2026-11-02T00:00:00Z"),
            (9_999, "2026-11-15T12:34:56.789Z"),
            (10_000, "2026-11-30T23:59:59.5Z"),
        ] {
            let now = at(now);
            let due = now + i64::try_from(MONTH.wait(used, now)).unwrap().seconds();
            let used = if MONTH.period.around(due) == MONTH.period.around(now) {
                used
            } else {
                0
            };
            assert!(MONTH.share(due) > used, "{used} at {due}");
            assert!(MONTH.share(now) <= used.max(1_000) || used == 0);
        }
    }

    #[test]
    fn servers_share_a_quota() {
        let spec = QuotaSpec {
            daily: 3,
            monthly: 0,
        };
        let divided = |servers| spec.divided(NonZeroU32::new(servers).unwrap());
        assert_eq!((divided(2).daily, divided(2).monthly), (1, 0));
        assert_eq!(divided(9).daily, 1);
    }
}
