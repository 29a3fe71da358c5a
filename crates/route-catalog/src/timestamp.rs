//! Reads times as callers write them: RFC 3339, or Unix milliseconds as digits.

/// 2009-01-01, which is before the first block of any chain. Earlier times are refused.
const EARLIEST_MS: u64 = 1_230_768_000_000;
/// 2100-01-01. Later times are refused.
const LATEST_MS: u64 = 4_102_444_800_000;

/// Reads a time and returns it as Unix milliseconds. Refuses a time outside of the years 2009 to
/// 2099, so that seconds are never taken for milliseconds.
pub(crate) fn parse_ms(text: &str) -> Option<u64> {
    let ms = if text.bytes().all(|byte| byte.is_ascii_digit()) {
        text.parse().ok()?
    } else {
        u64::try_from(exact::parse_rfc3339(text).ok()?.as_millis()).ok()?
    };
    (EARLIEST_MS..LATEST_MS).contains(&ms).then_some(ms)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn known_times_are_read() {
        for (text, ms) in [
            ("2026-11-21T01:00:00Z", 1_795_222_800_000),
            ("2026-11-21t01:00:00.5z", 1_795_222_800_500),
            ("2026-11-21T03:30:00.123456789+02:30", 1_795_222_800_123),
            ("2026-11-20T17:00:00-08:00", 1_795_222_800_000),
            ("2024-02-29T00:00:00Z", 1_709_164_800_000),
        ] {
            assert_eq!(parse_ms(text), Some(ms), "{text}");
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
        fn no_text_panics(text in "\\PC*") {
            let _ = parse_ms(&text);
        }
    }
}
