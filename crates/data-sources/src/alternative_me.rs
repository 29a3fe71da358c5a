//! alternative.me: the fear and greed index, one value for each day in UTC.

use jiff::{SignedDuration, Timestamp};
use readings::news::FearGreed;
use serde::Deserialize;
use serde_json::Value;

use crate::{
    budget::{Families, Rate},
    error::{SourceError, SourceErrorKind},
    json::read_json,
    provenance::Sourced,
    source::{Fault, KeyRule, UpstreamSpec, upstream},
    text::clean,
    transport::{Limits, QUOTED_CHARS},
};

const SOURCE: &str = "alternative-me.fear-greed";
/// The oldest value that is used. A value is of its day; half a day after the next one was due, it
/// says nothing about today.
const USABLE: SignedDuration = SignedDuration::from_hours(36);
/// How far a value may be ahead of our clock.
const TOLERANCE: SignedDuration = SignedDuration::from_mins(5);

upstream!(
    /// alternative.me: the fear and greed index.
    AlternativeMe,
    UpstreamSpec {
        name: "alternative_me",
        urls: &[("base_url", "https://api.alternative.me")],
        key: KeyRule::Keyless,
        sources: &[SOURCE],
        families: Families::One(Rate::per_minute(30)),
        limits: Limits::USUAL.up_to_bytes(64 * 1024),
        ..UpstreamSpec::DATA
    }
);

#[derive(Deserialize)]
struct Answer {
    data: Vec<Row>,
    #[serde(default)]
    metadata: Metadata,
}

#[derive(Deserialize)]
struct Row {
    value: String,
    timestamp: String,
}

#[derive(Default, Deserialize)]
struct Metadata {
    #[serde(default)]
    error: Value,
}

impl AlternativeMe {
    /// The newest value: `GET /fng/`.
    ///
    /// # Errors
    ///
    /// A [`SourceError`]; a value that is more than a day and a half old or from the future is
    /// malformed.
    pub async fn fear_greed(&self) -> Result<Sourced<FearGreed>, SourceError> {
        let now = self.source.now();
        let ask = self.source.get(SOURCE, "/fng/?limit=2");
        let found = self
            .source
            .ask(ask, |reply| {
                let answer = read_json(&reply.body)?;
                newest(&answer, now).map_err(Fault::<SourceError>::Upstream)
            })
            .await?;
        let as_of = found.value.as_of;
        Ok(found.as_of(Some(as_of)))
    }
}

fn newest(answer: &Answer, now: Timestamp) -> Result<FearGreed, SourceErrorKind> {
    if !answer.metadata.error.is_null() {
        return Err(SourceErrorKind::Business {
            code: "error".to_owned(),
            message: clean(&answer.metadata.error.to_string(), QUOTED_CHARS),
        });
    }
    let malformed = |path: &str, expected, observed: &str| SourceErrorKind::Malformed {
        path: format!("$.data{path}"),
        expected,
        observed: clean(observed, QUOTED_CHARS),
    };
    let read = |row: &Row| {
        let seconds = row.timestamp.parse().ok()?;
        Some((Timestamp::from_second(seconds).ok()?, row.value.clone()))
    };
    let (as_of, value) = answer
        .data
        .iter()
        .filter_map(read)
        .max_by_key(|(time, _)| *time)
        .ok_or_else(|| malformed("", "a value with its time", "none"))?;
    let age = now.duration_since(as_of);
    if age > USABLE || age < -TOLERANCE {
        let observed = as_of.to_string();
        return Err(malformed(
            "[0].timestamp",
            "a time of today or yesterday",
            &observed,
        ));
    }
    value
        .parse()
        .ok()
        .and_then(|number| FearGreed::new(number, as_of.min(now)))
        .ok_or_else(|| malformed("[0].value", "an integer from 0 to 100", &value))
}
