//! `--now`: any time of RFC 3339, for people and scripts that write offsets or fractions.

use plan_checks::UtcSeconds;

/// Text that is not a time of RFC 3339, or lies outside the years 1970 to 9999.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a time of RFC 3339 like 2026-11-21T15:30:00Z")]
pub(crate) struct NotATime;

/// Parses a time; fractions of a second are cut off.
pub(crate) fn parse(text: &str) -> Result<UtcSeconds, NotATime> {
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
    fn what_is_not_a_time_is_refused() {
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
