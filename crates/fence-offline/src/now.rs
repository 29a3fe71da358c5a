//! Times and spans in written form: any time of RFC 3339, or a number of days or hours.

use std::time::{SystemTime, UNIX_EPOCH};

use calldata_checks::UtcSeconds;

const DAY: u64 = 86_400;

/// Text that is not a time of RFC 3339, or lies outside the years 1970 to 9999.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a time of RFC 3339 like 2026-11-21T15:30:00Z")]
pub struct NotATime;

/// The machine's time. A clock before 1970 gives the latest possible time, at which everything is
/// over.
#[must_use]
pub fn clock() -> UtcSeconds {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(UtcSeconds::from_unix(u64::MAX), |since| {
            UtcSeconds::from_unix(since.as_secs())
        })
}

/// A time, or a span from another time on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum When {
    /// At this time.
    At(UtcSeconds),
    /// So many seconds later.
    After(u64),
}

impl When {
    /// The time, for a span that begins at `start`. `None` past the year 9999.
    #[must_use]
    pub fn from(self, start: UtcSeconds) -> Option<UtcSeconds> {
        match self {
            Self::At(time) => Some(time),
            Self::After(seconds) => {
                let unix = start.unix().checked_add(seconds)?;
                let time = UtcSeconds::from_unix(unix);
                (time.unix() == unix).then_some(time)
            }
        }
    }
}

/// Text that is neither a time nor a number of days or hours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("neither a span like 90d or 12h nor a time of RFC 3339 like 2026-11-21T15:30:00Z")]
pub struct NotAWhen;

/// Parses `90d`, `12h` or a time.
///
/// # Errors
/// [`NotAWhen`]
pub fn parse_when(text: &str) -> Result<When, NotAWhen> {
    if let Ok(time) = parse(text) {
        return Ok(When::At(time));
    }
    let (digits, unit) = if let Some(days) = text.strip_suffix('d') {
        (days, DAY)
    } else if let Some(hours) = text.strip_suffix('h') {
        (hours, 3_600)
    } else {
        return Err(NotAWhen);
    };
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(NotAWhen);
    }
    let count: u64 = digits.parse().map_err(|_| NotAWhen)?;
    count.checked_mul(unit).map(When::After).ok_or(NotAWhen)
}

/// Parses a time; fractions of a second are cut off.
///
/// # Errors
/// [`NotATime`]
pub fn parse(text: &str) -> Result<UtcSeconds, NotATime> {
    let (local, rest) = text.split_at_checked(19).ok_or(NotATime)?;
    let local: UtcSeconds = format!("{local}Z")
        .to_ascii_uppercase()
        .parse()
        .map_err(|_| NotATime)?;
    let zone = match rest.strip_prefix('.') {
        Some(fraction) => {
            let zone = fraction.trim_start_matches(|c: char| c.is_ascii_digit());
            if zone.len() == fraction.len() {
                return Err(NotATime);
            }
            zone
        }
        None => rest,
    };
    let unix = match zone.split_at_checked(1).ok_or(NotATime)? {
        ("Z" | "z", "") => Some(local.unix()),
        ("+", offset) => local.unix().checked_sub(seconds(offset)?),
        ("-", offset) => local.unix().checked_add(seconds(offset)?),
        _ => None,
    };
    let time = unix.map(UtcSeconds::from_unix).ok_or(NotATime)?;
    // Times after the year 9999 would become its last second.
    if Some(time.unix()) == unix {
        Ok(time)
    } else {
        Err(NotATime)
    }
}

/// The seconds of an offset `hh:mm`.
fn seconds(offset: &str) -> Result<u64, NotATime> {
    let two_digits = |text: &str| {
        let digits = text.len() == 2 && text.bytes().all(|b| b.is_ascii_digit());
        text.parse::<u64>().ok().filter(|_| digits)
    };
    let (hours, minutes) = offset.split_once(':').ok_or(NotATime)?;
    match (two_digits(hours), two_digits(minutes)) {
        (Some(hours @ 0..24), Some(minutes @ 0..60)) => Ok(hours * 3600 + minutes * 60),
        _ => Err(NotATime),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_and_fractions_are_read() {
        for text in [
            "2026-11-21T15:30:00Z",
            "2026-11-21t15:30:00z",
            "2026-11-21T15:30:00.999Z",
            "2026-11-21T15:30:00+00:00",
            "2026-11-21T15:30:00-00:00",
            "2026-11-21T17:30:00.5+02:00",
            "2026-11-22T01:15:00+09:45",
            "2026-11-21T07:30:00-08:00",
        ] {
            assert_eq!(
                parse(text).unwrap().to_string(),
                "2026-11-21T15:30:00Z",
                "{text}"
            );
        }
    }

    #[test]
    fn spans_are_days_or_hours() {
        let start = UtcSeconds::from_unix(1_000);
        for (text, end) in [("90d", 7_777_000), ("0d", 1_000), ("12h", 44_200)] {
            let when = parse_when(text).unwrap();
            assert_eq!(when.from(start), Some(UtcSeconds::from_unix(end)), "{text}");
        }
        let when = parse_when("2026-11-21T15:30:00Z").unwrap();
        assert_eq!(
            when.from(start).unwrap().to_string(),
            "2026-11-21T15:30:00Z"
        );
        for text in [
            "",
            "d",
            "90",
            "-1d",
            "1.5d",
            "+1d",
            "90D",
            "9w",
            "99999999999999999999d",
        ] {
            assert_eq!(parse_when(text), Err(NotAWhen), "{text}");
        }
        assert_eq!(parse_when("9999999d").unwrap().from(start), None);
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
            "2026-11-21T15:30:00.Z",
            "2026-11-21T15:30:00.5",
            "2026-11-21T15:30:00ZZ",
            "2026-11-21T15:30:00+2:00",
            "2026-11-21T15:30:00+02",
            "2026-11-21T15:30:00+24:00",
            "2026-11-21T15:30:00++1:00",
            "2026-11-31T15:30:00Z",
            "1970-01-01T00:30:00+01:00",
            "9999-12-31T23:30:00-01:00",
            "2026-11-21T15:30:0\u{665}Z",
        ] {
            assert_eq!(parse(text), Err(NotATime), "{text}");
        }
    }
}
