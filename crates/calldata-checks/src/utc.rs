//! Seconds of Unix time with their RFC 3339 form, without a clock.

use std::{fmt, str::FromStr};

/// A time in whole seconds, from 1970 to the end of 9999. Prints as RFC 3339 in UTC:
/// `2026-11-21T15:30:00Z`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct UtcSeconds(u64);

const LAST: u64 = 253_402_300_799;
const DAY: u64 = 86_400;

/// Text that is not a time of the form `2026-11-21T15:30:00Z`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a time of the form 2026-11-21T15:30:00Z")]
pub struct TimeError;

impl UtcSeconds {
    /// From Unix time; times after the year 9999 become its last second.
    #[must_use]
    pub const fn from_unix(seconds: u64) -> Self {
        if seconds > LAST {
            Self(LAST)
        } else {
            Self(seconds)
        }
    }

    /// Unix time in seconds.
    #[must_use]
    pub const fn unix(self) -> u64 {
        self.0
    }

    /// Unix time in milliseconds.
    #[must_use]
    pub const fn unix_millis(self) -> u64 {
        self.0.saturating_mul(1000)
    }

    /// Later by `seconds`.
    #[must_use]
    pub const fn saturating_add(self, seconds: u64) -> Self {
        Self::from_unix(self.0.saturating_add(seconds))
    }

    /// Year, month and day, by the proleptic Gregorian calendar.
    const fn date(self) -> (u64, u64, u64) {
        // Days are counted from 0000-03-01, so that a leap day ends a year; an era is 400 years.
        let days = self.0 / DAY + 719_468;
        let era = days / 146_097;
        let day_of_era = days % 146_097;
        let year_of_era =
            (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
        let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let shifted_month = (5 * day_of_year + 2) / 153;
        let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
        let month = if shifted_month < 10 {
            shifted_month + 3
        } else {
            shifted_month - 9
        };
        let year = year_of_era + era * 400 + if month <= 2 { 1 } else { 0 };
        (year, month, day)
    }
}

impl fmt::Display for UtcSeconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (year, month, day) = self.date();
        let second_of_day = self.0 % DAY;
        let (hour, minute, second) = (
            second_of_day / 3600,
            second_of_day / 60 % 60,
            second_of_day % 60,
        );
        write!(
            f,
            "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z"
        )
    }
}

impl FromStr for UtcSeconds {
    type Err = TimeError;

    /// Only the form that [`fmt::Display`] prints: UTC with `Z`, whole seconds, upper case.
    fn from_str(text: &str) -> Result<Self, TimeError> {
        let shape = "0000-00-00T00:00:00Z";
        let fits = text.len() == shape.len()
            && text.bytes().zip(shape.bytes()).all(|(c, s)| {
                if s == b'0' {
                    c.is_ascii_digit()
                } else {
                    c == s
                }
            });
        if !fits {
            return Err(TimeError);
        }
        let number = |range: std::ops::Range<usize>| {
            text.get(range)
                .and_then(|t| t.parse::<u64>().ok())
                .ok_or(TimeError)
        };
        let (year, month, day) = (number(0..4)?, number(5..7)?, number(8..10)?);
        let (hour, minute, second) = (number(11..13)?, number(14..16)?, number(17..19)?);
        if year < 1970
            || month == 0
            || month > 12
            || day == 0
            || hour > 23
            || minute > 59
            || second > 59
        {
            return Err(TimeError);
        }
        let shifted_year = if month <= 2 { year - 1 } else { year };
        let shifted_month = if month > 2 { month - 3 } else { month + 9 };
        let day_of_year = (153 * shifted_month + 2) / 5 + day - 1;
        let days = shifted_year * 365 + shifted_year / 4 - shifted_year / 100
            + shifted_year / 400
            + day_of_year;
        let days = days.checked_sub(719_468).ok_or(TimeError)?;
        let time = Self(days * DAY + hour * 3600 + minute * 60 + second);
        // A day that its month does not have (31 April) prints as another one.
        if time.date() == (year, month, day) {
            Ok(time)
        } else {
            Err(TimeError)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn known_times() {
        for (unix, text) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (1_768_146_914, "2026-01-11T15:55:14Z"),
            (4_107_542_399, "2100-02-28T23:59:59Z"),
            (4_107_542_400, "2100-03-01T00:00:00Z"),
            (LAST, "9999-12-31T23:59:59Z"),
        ] {
            assert_eq!(UtcSeconds::from_unix(unix).to_string(), text);
            assert_eq!(text.parse(), Ok(UtcSeconds::from_unix(unix)));
        }
        assert_eq!(UtcSeconds::from_unix(u64::MAX).unix(), LAST);
    }

    #[test]
    fn other_forms_are_refused() {
        for text in [
            "",
            "2026-11-21",
            "2026-11-21T15:30:00",
            "2026-11-21T15:30:00z",
            "2026-11-21t15:30:00Z",
            "2026-11-21T15:30:00+00:00",
            "2026-11-21T15:30:00.0Z",
            "2026-02-29T00:00:00Z",
            "2026-04-31T00:00:00Z",
            "2026-13-01T00:00:00Z",
            "2026-00-01T00:00:00Z",
            "2026-01-00T00:00:00Z",
            "2026-01-01T24:00:00Z",
            "2026-01-01T00:60:00Z",
            "2026-01-01T00:00:60Z",
            "1969-12-31T23:59:59Z",
            // What the calendar's arithmetic must not see: nothing lies before them.
            "0000-01-01T00:00:00Z",
            "2026-03-00T00:00:00Z",
            "+026-01-01T00:00:00Z",
        ] {
            assert_eq!(text.parse::<UtcSeconds>(), Err(TimeError), "{text}");
        }
    }

    proptest! {
        #[test]
        fn text_and_seconds_agree(unix in 0..=LAST) {
            let time = UtcSeconds::from_unix(unix);
            prop_assert_eq!(time.to_string().parse(), Ok(time));
        }
    }
}
