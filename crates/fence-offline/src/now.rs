//! Times and spans in written form: any time of RFC 3339, or a number of days or hours.

use std::time::{SystemTime, UNIX_EPOCH};

use calldata_checks::UtcSeconds;

const DAY: u64 = 86_400;

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
    if let Ok(time) = UtcSeconds::parse_rfc3339(text) {
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

#[cfg(test)]
mod tests {
    use super::*;

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
}
