//! An upstream's statements about its limits, in the headers of a reply.

use std::time::Duration;

use jiff::{Timestamp, fmt::rfc2822};
use reqwest::header::{HeaderMap, RETRY_AFTER};

use crate::budget::Reported;

/// The rate-limit headers of the HTTP working group's draft.
const RATE_LIMIT_RESET: &str = "ratelimit-reset";
const RATE_LIMIT_REMAINING: &str = "ratelimit-remaining";

/// When the upstream answers again: `Retry-After` in seconds or as a date, otherwise
/// `ratelimit-reset` in seconds or, as some send it, as Unix time.
pub(crate) fn retry_after(headers: &HeaderMap, now: Timestamp) -> Option<Duration> {
    let text = |name: &str| {
        headers
            .get(name)
            .and_then(|value| value.to_str().ok())
            .map(str::trim)
    };
    let until = |then: Timestamp| Duration::try_from(then.duration_since(now)).unwrap_or_default();
    let seconds = |text: &str| {
        let seconds: u64 = text.parse().ok()?;
        let present = u64::try_from(now.as_second()).unwrap_or(0);
        // No pause is longer than half of the time since 1970.
        let pause = if seconds > present / 2 {
            seconds.saturating_sub(present)
        } else {
            seconds
        };
        Some(Duration::from_secs(pause))
    };
    let date = |text: &str| {
        rfc2822::parse(text)
            .ok()
            .map(|then| until(then.timestamp()))
    };
    text(RETRY_AFTER.as_str())
        .and_then(|text| seconds(text).or_else(|| date(text)))
        .or_else(|| text(RATE_LIMIT_RESET).and_then(seconds))
}

/// The remaining calls and the time of their reset, from the headers of the draft.
pub(crate) fn reported(headers: &HeaderMap, now: Timestamp) -> Option<Reported> {
    let left = headers.get(RATE_LIMIT_REMAINING)?.to_str().ok()?;
    headers.get(RATE_LIMIT_RESET)?;
    Some(Reported {
        left: left.trim().parse().ok()?,
        reset: retry_after(headers, now)?,
    })
}

#[cfg(test)]
mod tests {
    use reqwest::header::{HeaderName, HeaderValue};

    use super::*;

    #[test]
    fn pauses_are_read_in_every_form() {
        let now = Timestamp::from_second(1_795_222_800).unwrap();
        let read = |pairs: &[(&'static str, &'static str)]| {
            let pairs = pairs.iter().map(|(name, value)| {
                (
                    HeaderName::from_static(name),
                    HeaderValue::from_static(value),
                )
            });
            retry_after(&HeaderMap::from_iter(pairs), now).map(|pause| pause.as_secs())
        };
        assert_eq!(read(&[]), None);
        assert_eq!(
            read(&[("retry-after", "7"), ("ratelimit-reset", "3600")]),
            Some(7)
        );
        assert_eq!(read(&[("ratelimit-reset", "3600")]), Some(3600));
        assert_eq!(read(&[("ratelimit-reset", "1795222860")]), Some(60));
        assert_eq!(read(&[("ratelimit-reset", "1795222700")]), Some(0));
        assert_eq!(
            read(&[("retry-after", "Sat, 21 Nov 2026 01:00:30 GMT")]),
            Some(30)
        );
        assert_eq!(
            read(&[("retry-after", "Sat, 21 Nov 2026 00:00:00 GMT")]),
            Some(0)
        );
        assert_eq!(
            read(&[("retry-after", "soon"), ("ratelimit-reset", "5")]),
            Some(5)
        );
        assert_eq!(read(&[("retry-after", "-1")]), None);
    }
}
