//! The scanners of token contracts against servers that answer well, badly and maliciously.

mod goplus;
mod okx;

use alloy_primitives::{Address, address};
use data_sources::Error;
use jiff::Timestamp;
use test_support::ManualClock;
use wiremock::ResponseTemplate;

pub(crate) use crate::support::{answering, json, recorded};

/// The time of the recordings.
pub(crate) const NOW: i64 = 1_795_222_920;
pub(crate) const EXT: Address = address!("4200000000000000000000000000000000000006");
pub(crate) const WOKB: Address = address!("e538905cf8410324e03a5a23c1c177a474d59b2b");
pub(crate) const USDG: Address = address!("4ae46a509f6b1d9056937ba4500cb143933d2dc8");
pub(crate) const USDT0: Address = address!("779ded0c9e1022225f8e0630b35a9b54be713736");

/// A clock of the recordings that a test moves.
pub(crate) fn recorded_clock() -> ManualClock {
    ManualClock::at(Timestamp::from_second(NOW).unwrap())
}

pub(crate) fn reason<T: std::fmt::Debug>(result: Result<T, Error>) -> String {
    result.map_or_else(
        |error| error.reason(),
        |value| format!("accepted {value:?}"),
    )
}

/// Answers that every adapter must refuse, whatever the request.
pub(crate) fn bad_days() -> Vec<(ResponseTemplate, &'static str)> {
    let body = |text: &str, kind: &str| ResponseTemplate::new(200).set_body_raw(text, kind);
    vec![
        (
            body("<html>checking your browser</html>", "text/html"),
            "upstream_wrong_content_type",
        ),
        (
            body("<html>checking your browser</html>", "application/json"),
            "upstream_malformed",
        ),
        (body("", "application/json"), "upstream_malformed"),
        (body("null", "application/json"), "upstream_malformed"),
        (
            body(r#"{"code":NaN}"#, "application/json"),
            "upstream_malformed",
        ),
        (
            body(&"[".repeat(100_000), "application/json"),
            "upstream_malformed",
        ),
        (
            body(&" ".repeat(40 * 1024 * 1024), "application/json"),
            "upstream_too_large",
        ),
        (ResponseTemplate::new(403), "upstream_http_403"),
        (ResponseTemplate::new(451), "upstream_http_451"),
        (
            ResponseTemplate::new(429).insert_header("retry-after", "3600"),
            "upstream_rate_limited",
        ),
    ]
}
