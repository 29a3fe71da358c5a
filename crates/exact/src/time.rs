//! Unix times and their RFC 3339 form, without a clock. The calendar is that of `jiff`.

use std::{fmt, str::FromStr, time::Duration};

use jiff::{
    SignedDuration, Timestamp,
    civil::{DateTime, datetime},
};

/// A time in whole seconds, from 1970 to the end of 9999. Prints as RFC 3339 in UTC:
/// `2026-11-21T15:30:00Z`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct UtcSeconds(u64);

const LAST: u64 = 253_402_300_799;
/// The epoch as a civil time, because `jiff`'s time stamps end a day before the year 9999 does.
const EPOCH: DateTime = datetime(1970, 1, 1, 0, 0, 0, 0);

/// Text that is not a time of the form `2026-11-21T15:30:00Z`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a time of the form 2026-11-21T15:30:00Z")]
pub struct TimeError;

/// Text that is not a time of RFC 3339, or lies outside the years 1970 to 9999.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a time of RFC 3339 like 2026-11-21T15:30:00Z")]
pub struct Rfc3339Error;

impl UtcSeconds {
    /// Makes a time of Unix seconds. Times after the year 9999 become its last second.
    ///
    /// ```
    /// let time = exact::UtcSeconds::from_unix(1_795_275_000);
    /// assert_eq!(time.to_string(), "2026-11-21T15:30:00Z");
    /// assert_eq!(time.unix_millis(), 1_795_275_000_000);
    /// assert_eq!(time.saturating_add(60).to_string(), "2026-11-21T15:31:00Z");
    /// ```
    #[must_use]
    pub const fn from_unix(seconds: u64) -> Self {
        if seconds > LAST {
            Self(LAST)
        } else {
            Self(seconds)
        }
    }

    /// Makes a time of a time stamp, without its fraction of a second. Times before 1970 become its
    /// first second.
    ///
    /// ```
    /// use exact::UtcSeconds;
    /// use jiff::Timestamp;
    ///
    /// let time = UtcSeconds::from_timestamp(Timestamp::from_second(1_795_275_000)?);
    /// assert_eq!(time.to_string(), "2026-11-21T15:30:00Z");
    /// assert_eq!(UtcSeconds::from_timestamp(Timestamp::from_second(-1)?).unix(), 0);
    /// # Ok::<(), jiff::Error>(())
    /// ```
    #[must_use]
    pub fn from_timestamp(time: Timestamp) -> Self {
        Self::from_unix(u64::try_from(time.as_second()).unwrap_or(0))
    }

    /// Reads any time of RFC 3339 and drops its fraction of a second.
    ///
    /// # Errors
    /// Those of [`parse_rfc3339`].
    ///
    /// ```
    /// let time = exact::UtcSeconds::parse_rfc3339("2026-11-21T17:30:00.5+02:00")?;
    /// assert_eq!(time.unix(), 1_795_275_000);
    /// # Ok::<(), exact::Rfc3339Error>(())
    /// ```
    pub fn parse_rfc3339(text: &str) -> Result<Self, Rfc3339Error> {
        parse_rfc3339(text).map(|since| Self(since.as_secs()))
    }

    /// Returns Unix time in seconds.
    #[must_use]
    pub const fn unix(self) -> u64 {
        self.0
    }

    /// Returns Unix time in milliseconds.
    #[must_use]
    pub const fn unix_millis(self) -> u64 {
        self.0.saturating_mul(1000)
    }

    /// Returns the time `seconds` later, at most the last second of the year 9999.
    #[must_use]
    pub const fn saturating_add(self, seconds: u64) -> Self {
        Self::from_unix(self.0.saturating_add(seconds))
    }
}

impl fmt::Display for UtcSeconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let since = i64::try_from(self.0).map_err(|_| fmt::Error)?;
        let time = EPOCH
            .checked_add(SignedDuration::from_secs(since))
            .map_err(|_| fmt::Error)?;
        write!(f, "{time}Z")
    }
}

impl FromStr for UtcSeconds {
    type Err = TimeError;

    /// Reads only the form that [`fmt::Display`] prints: UTC with `Z`, whole seconds, upper case.
    fn from_str(text: &str) -> Result<Self, TimeError> {
        text.strip_suffix('Z')
            .filter(|local| !local.contains('t'))
            .and_then(local_time)
            .and_then(since_epoch)
            .map(|since| Self(since.as_secs()))
            .ok_or(TimeError)
    }
}

/// Parses a time of RFC 3339 and returns the time since 1970. The text has date and time with `T`,
/// at most nine digits of a fraction, and `Z` or an offset. `t` and `z` are read as `T` and `Z`. A
/// leap second is refused.
///
/// # Errors
/// [`Rfc3339Error`]
///
/// ```
/// let since = exact::parse_rfc3339("2026-11-21T17:30:00.25+02:00")?;
/// assert_eq!((since.as_secs(), since.subsec_millis()), (1_795_275_000, 250));
/// assert!(exact::parse_rfc3339("2026-11-21").is_err());
/// # Ok::<(), exact::Rfc3339Error>(())
/// ```
pub fn parse_rfc3339(text: &str) -> Result<Duration, Rfc3339Error> {
    rfc3339(text).ok_or(Rfc3339Error)
}

fn rfc3339(text: &str) -> Option<Duration> {
    let (local, rest) = text.split_at_checked(SHAPE.len())?;
    let local = local_time(local)?;
    let (nanoseconds, zone) = match rest.strip_prefix('.') {
        Some(rest) => {
            let zone = rest.trim_start_matches(|c: char| c.is_ascii_digit());
            let digits = rest.strip_suffix(zone)?;
            let is_exact = (1..=9).contains(&digits.len());
            let padded = format!("{digits:0<9}");
            (is_exact.then(|| padded.parse().ok())??, zone)
        }
        None => (0, rest),
    };
    let utc = local.checked_sub(offset(zone)?).ok()?;
    since_epoch(utc)?.checked_add(Duration::from_nanos(nanoseconds))
}

const SHAPE: &str = "0000-00-00T00:00:00";

/// Reads a date and a time of day of the form `2026-11-21T15:30:00`, from 1970 on.
fn local_time(text: &str) -> Option<DateTime> {
    let fits = text.len() == SHAPE.len()
        && text.bytes().zip(SHAPE.bytes()).all(|(c, s)| match s {
            b'0' => c.is_ascii_digit(),
            b'T' => c == b'T' || c == b't',
            _ => c == s,
        });
    let year: i16 = text.get(0..4).filter(|_| fits)?.parse().ok()?;
    let part = |at: usize| text.get(at..at + 2)?.parse::<i8>().ok();
    let time = DateTime::new(year, part(5)?, part(8)?, part(11)?, part(14)?, part(17)?, 0);
    time.ok().filter(|_| year >= 1970)
}

/// Reads `Z`, or a sign and `hh:mm`.
fn offset(zone: &str) -> Option<SignedDuration> {
    let (sign, digits) = match zone.split_at_checked(1)? {
        ("Z" | "z", "") => return Some(SignedDuration::ZERO),
        ("+", digits) => (1, digits),
        ("-", digits) => (-1, digits),
        _ => return None,
    };
    let two_digits = |text: &str| {
        let digits = text.len() == 2 && text.bytes().all(|byte| byte.is_ascii_digit());
        text.parse::<i64>().ok().filter(|_| digits)
    };
    let (hours, minutes) = digits.split_once(':')?;
    match (two_digits(hours)?, two_digits(minutes)?) {
        (hours @ 0..24, minutes @ 0..60) => Some(SignedDuration::from_secs(
            sign * (hours * 3600 + minutes * 60),
        )),
        _ => None,
    }
}

/// Returns the time since 1970; `None` for a time before it.
fn since_epoch(utc: DateTime) -> Option<Duration> {
    Duration::try_from(utc.duration_since(EPOCH)).ok()
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
            (951_868_800, "2000-03-01T00:00:00Z"),
            (1_709_164_800, "2024-02-29T00:00:00Z"),
            (1_768_146_914, "2026-01-11T15:55:14Z"),
            (4_107_542_399, "2100-02-28T23:59:59Z"),
            (4_107_542_400, "2100-03-01T00:00:00Z"),
            (LAST, "9999-12-31T23:59:59Z"),
        ] {
            let time = UtcSeconds::from_unix(unix);
            assert_eq!(time.to_string(), text);
            assert_eq!(text.parse(), Ok(time));
            assert_eq!(UtcSeconds::parse_rfc3339(text), Ok(time));
        }
        assert_eq!(UtcSeconds::from_unix(u64::MAX).unix(), LAST);
        let before = Timestamp::from_second(-1).unwrap();
        assert_eq!(UtcSeconds::from_timestamp(before).unix(), 0);
    }

    #[test]
    fn other_forms_are_refused() {
        for text in [
            "",
            "2026-11-21",
            "2026-11-21T15:30:00",
            "2026-11-21T15:30:00z",
            "2026-11-21t15:30:00Z",
            "2026-11-21T15:30:00ZZ",
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
            "0000-01-01T00:00:00Z",
            "2026-03-00T00:00:00Z",
            "+026-01-01T00:00:00Z",
        ] {
            assert_eq!(text.parse::<UtcSeconds>(), Err(TimeError), "{text}");
        }
    }

    #[test]
    fn offsets_and_fractions_are_read() {
        for (text, milliseconds) in [
            ("2026-11-21T15:30:00Z", 0),
            ("2026-11-21t15:30:00z", 0),
            ("2026-11-21T15:30:00.999Z", 999),
            ("2026-11-21T15:30:00.123456789+00:00", 123),
            ("2026-11-21T15:30:00-00:00", 0),
            ("2026-11-21T17:30:00.5+02:00", 500),
            ("2026-11-22T01:15:00+09:45", 0),
            ("2026-11-21T07:30:00-08:00", 0),
        ] {
            let since = parse_rfc3339(text).unwrap();
            assert_eq!(
                since.as_millis(),
                1_795_275_000_000 + milliseconds,
                "{text}"
            );
            let second = UtcSeconds::parse_rfc3339(text).unwrap().to_string();
            assert_eq!(second, "2026-11-21T15:30:00Z", "{text}");
        }
    }

    #[test]
    fn a_malformed_time_is_refused() {
        for text in [
            "",
            "now",
            "1790000000",
            "2026-11-21",
            "2026-11-21T15:30:00",
            "2026-11-21 15:30:00Z",
            "2026-11-21T15:30:00 02:00",
            "2026-11-21T15:30:00.Z",
            "2026-11-21T15:30:00.5",
            "2026-11-21T15:30:00.1234567890Z",
            "2026-11-21T15:30:00ZZ",
            "2026-11-21T15:30:00Zjunk",
            "2026-11-21T15:30:00+2:00",
            "2026-11-21T15:30:00+02",
            "2026-11-21T15:30:00+24:00",
            "2026-11-21T15:30:00++1:00",
            "2026-11-31T15:30:00Z",
            "2026-02-29T00:00:00Z",
            "+026-11-21T01:00:00Z",
            "1970-01-01T00:30:00+01:00",
            "1970-01-01T00:59:59.5+01:00",
            "9999-12-31T23:30:00-01:00",
            "2026-11-21T15:30:0\u{665}Z",
        ] {
            assert_eq!(parse_rfc3339(text), Err(Rfc3339Error), "{text}");
        }
    }

    proptest! {
        #[test]
        fn text_and_seconds_agree(unix in 0..=LAST) {
            let time = UtcSeconds::from_unix(unix);
            prop_assert_eq!(time.to_string().parse(), Ok(time));
            prop_assert_eq!(UtcSeconds::parse_rfc3339(&time.to_string()), Ok(time));
        }

        #[test]
        fn no_text_panics(text in "\\PC*") {
            let _ = parse_rfc3339(&text);
        }
    }
}
