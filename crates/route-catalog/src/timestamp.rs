//! Times in a caller's form: RFC 3339, or Unix milliseconds as digits.

/// 2009-01-01, before the first block of any chain.
const EARLIEST_MS: u64 = 1_230_768_000_000;
/// 2100-01-01.
const LATEST_MS: u64 = 4_102_444_800_000;

/// Reads a time as Unix milliseconds. Seconds are not mistaken for milliseconds: a time outside of
/// the years 2009 to 2099 is refused.
pub(crate) fn parse_ms(text: &str) -> Option<u64> {
    let ms = if text.bytes().all(|byte| byte.is_ascii_digit()) {
        text.parse().ok()?
    } else {
        rfc3339_ms(text)?
    };
    (EARLIEST_MS..LATEST_MS).contains(&ms).then_some(ms)
}

fn rfc3339_ms(text: &str) -> Option<u64> {
    let mut reader = Reader { rest: text };
    let year = reader.digits(4)?;
    reader.literal(b'-')?;
    let month = reader.digits(2)?;
    reader.literal(b'-')?;
    let day = reader.digits(2)?;
    if reader.literal(b'T').is_none() {
        reader.literal(b't')?;
    }
    let hour = reader.digits(2)?;
    reader.literal(b':')?;
    let minute = reader.digits(2)?;
    reader.literal(b':')?;
    let second = reader.digits(2)?;
    let ms = reader.fraction_ms()?;
    let offset_minutes = reader.offset_minutes()?;

    let in_range = (1970..=9999).contains(&year)
        && (1..=12).contains(&month)
        && (1..=days_in_month(year, month)).contains(&day)
        && hour <= 23
        && minute <= 59
        && second <= 59;
    if !in_range || !reader.rest.is_empty() {
        return None;
    }
    let local_minutes = (days_since_1970(year, month, day) * 24 + hour) * 60 + minute;
    let minutes = i64::try_from(local_minutes)
        .ok()?
        .checked_sub(offset_minutes)?;
    Some((u64::try_from(minutes).ok()? * 60 + second) * 1000 + ms)
}

const fn is_leap(year: u64) -> bool {
    year.is_multiple_of(4) && !year.is_multiple_of(100) || year.is_multiple_of(400)
}

const fn days_in_month(year: u64, month: u64) -> u64 {
    match month {
        2 if is_leap(year) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Days of the proleptic Gregorian calendar; `year >= 1970`.
fn days_since_1970(year: u64, month: u64, day: u64) -> u64 {
    let before = year - 1;
    // Leap days up to the end of `before`, less the 477 up to the end of 1969.
    let leap_days = before / 4 - before / 100 + before / 400 - 477;
    let months: u64 = (1..month).map(|month| days_in_month(year, month)).sum();
    (year - 1970) * 365 + leap_days + months + day - 1
}

struct Reader<'a> {
    rest: &'a str,
}

impl Reader<'_> {
    fn digits(&mut self, count: usize) -> Option<u64> {
        let (head, rest) = self.rest.split_at_checked(count)?;
        let value = head
            .bytes()
            .all(|byte| byte.is_ascii_digit())
            .then(|| head.parse().ok())??;
        self.rest = rest;
        Some(value)
    }

    fn literal(&mut self, expected: u8) -> Option<()> {
        self.rest = self.rest.strip_prefix(char::from(expected))?;
        Some(())
    }

    /// An empty text, or a point and one to nine digits, cut to milliseconds.
    fn fraction_ms(&mut self) -> Option<u64> {
        let Some(rest) = self.rest.strip_prefix('.') else {
            return Some(0);
        };
        let count = rest.bytes().take_while(u8::is_ascii_digit).count();
        if !(1..=9).contains(&count) {
            return None;
        }
        let (digits, rest) = rest.split_at_checked(count)?;
        self.rest = rest;
        let padded = format!("{digits:0<3}");
        padded.get(..3)?.parse().ok()
    }

    fn offset_minutes(&mut self) -> Option<i64> {
        if self.literal(b'Z').is_some() || self.literal(b'z').is_some() {
            return Some(0);
        }
        let sign = if self.literal(b'+').is_some() {
            1
        } else {
            self.literal(b'-')?;
            -1
        };
        let hours = self.digits(2)?;
        self.literal(b':')?;
        let minutes = self.digits(2)?;
        if hours > 23 || minutes > 59 {
            return None;
        }
        Some(sign * i64::try_from(hours * 60 + minutes).ok()?)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn known_times() {
        for (text, ms) in [
            ("2026-11-21T01:00:00Z", 1_795_222_800_000),
            ("2026-11-21t01:00:00.5z", 1_795_222_800_500),
            ("2026-11-21T03:30:00.123456789+02:30", 1_795_222_800_123),
            ("2026-11-20T17:00:00-08:00", 1_795_222_800_000),
            ("2024-02-29T00:00:00Z", 1_709_164_800_000),
            ("2000-03-01T00:00:00Z", 951_868_800_000),
            ("1970-01-01T00:00:00Z", 0),
        ] {
            assert_eq!(rfc3339_ms(text), Some(ms), "{text}");
        }
        assert_eq!(parse_ms("1795222800000"), Some(1_795_222_800_000));
    }

    #[test]
    fn a_malformed_or_distant_time_is_refused() {
        for text in [
            "",
            "1795222800",
            "2026-11-21",
            "2026-11-21 01:00:00Z",
            "2026-11-21T01:00:00",
            "2026-11-21T01:00:00 02:00",
            "2026-11-21T01:00:00.Z",
            "2026-11-21T24:00:00Z",
            "2026-02-29T00:00:00Z",
            "2026-13-01T00:00:00Z",
            "2026-00-01T00:00:00Z",
            "2026-01-00T00:00:00Z",
            "2026-11-21T01:00:00Zjunk",
            "+026-11-21T01:00:00Z",
            "1999-11-21T01:00:00Z",
            "99999999999999999999999",
        ] {
            assert_eq!(parse_ms(text), None, "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn consecutive_days_differ_by_one(year in 1970_u64..2400, month in 1_u64..=12) {
            let last = days_since_1970(year, month, days_in_month(year, month));
            let (next_year, next_month) = if month == 12 { (year + 1, 1) } else { (year, month + 1) };
            prop_assert_eq!(days_since_1970(next_year, next_month, 1), last + 1);
        }

        #[test]
        fn no_text_panics(text in "\\PC*") {
            let _ = parse_ms(&text);
        }
    }
}
