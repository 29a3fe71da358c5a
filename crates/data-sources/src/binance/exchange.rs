//! What the adapters of exchanges share: times, rows that may be bad one by one, and readings put
//! together from several calls.

use std::fmt;

use jiff::{SignedDuration, Timestamp};
use readings::derivatives::{Part, VenueReading};
use serde::{Deserialize, Deserializer, de::DeserializeOwned, de::Error as _};
use serde_json::value::RawValue;

use crate::{
    error::{Error, SourceErrorKind},
    provenance::{Mode, Provenance, Sourced},
    text::clean,
    transport::QUOTED_CHARS,
};

/// How far ahead of ours a venue's clock may be.
const AHEAD: SignedDuration = SignedDuration::from_mins(5);

/// A time in unix milliseconds, written as a number or as text. Zero is how venues write that there
/// is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Millis(pub(crate) Option<Timestamp>);

impl<'de> Deserialize<'de> for Millis {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = Box::<RawValue>::deserialize(deserializer)?;
        let text = raw.get();
        let text = text
            .strip_prefix('"')
            .and_then(|rest| rest.strip_suffix('"'))
            .unwrap_or(text);
        let millis: u64 = text
            .parse()
            .map_err(|_| D::Error::custom("not a time in milliseconds"))?;
        if millis == 0 {
            return Ok(Self(None));
        }
        i64::try_from(millis)
            .ok()
            .and_then(|millis| Timestamp::from_millisecond(millis).ok())
            .map(|time| Self(Some(time)))
            .ok_or_else(|| D::Error::custom("not a time in milliseconds"))
    }
}

impl Millis {
    /// The time of something that has happened: stated, and not in the future.
    pub(crate) fn past(self, now: Timestamp, path: &str) -> Result<Timestamp, SourceErrorKind> {
        let latest = now.saturating_add(AHEAD).unwrap_or(now);
        match self.0 {
            Some(time) if time <= latest => Ok(time),
            Some(time) => Err(malformed(path, "a time that has come", time)),
            None => Err(malformed(path, "a time", "none")),
        }
    }
}

/// An answer that is not what the interface promises.
pub(crate) fn malformed(
    path: &str,
    expected: &'static str,
    observed: impl fmt::Display,
) -> SourceErrorKind {
    SourceErrorKind::Malformed {
        path: path.to_owned(),
        expected,
        observed: clean(&observed.to_string(), QUOTED_CHARS),
    }
}

/// The rows of a list that can be read. A bad one spoils itself only, unless all are bad.
pub(crate) fn rows<T: DeserializeOwned>(
    list: &[Box<RawValue>],
    path: &str,
) -> Result<Vec<T>, SourceErrorKind> {
    let read: Vec<T> = list
        .iter()
        .filter_map(|row| serde_json::from_str(row.get()).ok())
        .collect();
    if read.is_empty() && !list.is_empty() {
        return Err(malformed(path, "rows of the documented form", "none"));
    }
    Ok(read)
}

/// The venue answered that it does not list this.
pub(crate) fn not_listed(venue: &str, contract: &str) -> Error {
    Error::NotFound {
        reason: "symbol_not_found",
        message: format!("{venue} does not list {}", clean(contract, 40)),
    }
}

/// A reading that grows call by call; a call that failed leaves a named gap.
pub(crate) struct Assembly {
    pub(crate) reading: VenueReading,
    sources: Vec<Provenance>,
    mode: Mode,
    now: Timestamp,
}

impl Assembly {
    pub(crate) fn new(reading: VenueReading, mode: Mode, now: Timestamp) -> Self {
        Self {
            reading,
            sources: Vec::new(),
            mode,
            now,
        }
    }

    /// The value of a call that gave `part`.
    pub(crate) fn part<T>(&mut self, part: Part, call: Result<Sourced<T>, Error>) -> Option<T> {
        match call {
            Ok(sourced) => Some(self.core(sourced)),
            Err(error) => {
                let source = error.source_id().unwrap_or_default();
                if let Error::Source(error) = &error {
                    self.sources
                        .push(Provenance::unavailable(error, self.mode, self.now));
                }
                self.reading.lacks(part, error.reason(), source);
                None
            }
        }
    }

    /// The value of a call that must not fail.
    pub(crate) fn core<T>(&mut self, sourced: Sourced<T>) -> T {
        self.sources.extend(sourced.sources);
        sourced.value
    }

    pub(crate) fn done(self) -> Sourced<VenueReading> {
        Sourced {
            value: self.reading,
            sources: self.sources,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_milliseconds_and_not_of_the_future() {
        let read = |json: &str| serde_json::from_str::<Millis>(json).ok();
        let time = Timestamp::from_millisecond(1_795_222_800_000).unwrap();
        assert_eq!(read("1795222800000"), Some(Millis(Some(time))));
        assert_eq!(read("\"1795222800000\""), Some(Millis(Some(time))));
        assert_eq!(read("0"), Some(Millis(None)));
        for wrong in [
            "\"\"",
            "null",
            "-1",
            "1.5",
            "true",
            "1e3",
            "99999999999999999999",
            "18446744073709551615",
        ] {
            assert_eq!(read(wrong), None, "{wrong}");
        }
        let past = |now: i64| Millis(Some(time)).past(Timestamp::from_second(now).unwrap(), "$.t");
        assert_eq!(past(1_795_222_800), Ok(time));
        assert!(past(1_795_222_500).is_ok() && past(1_795_222_499).is_err());
        assert!(Millis(None).past(time, "$.t").is_err());
    }

    #[test]
    fn a_bad_row_spoils_itself_only() {
        let list: Vec<Box<RawValue>> = serde_json::from_str(r#"[1, "x", 2]"#).unwrap();
        assert_eq!(rows::<u8>(&list, "$"), Ok(vec![1, 2]));
        assert!(rows::<bool>(&list, "$").is_err());
        assert_eq!(rows::<u8>(&[], "$"), Ok(Vec::new()));
    }
}
