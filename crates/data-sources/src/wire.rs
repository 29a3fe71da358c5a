//! Forms that many interfaces share: times in milliseconds, and lists with single bad rows. A list
//! may lose rows, never all of them.

use std::fmt;

use jiff::{SignedDuration, Timestamp};
use readings::unreadable;
use serde::{Deserialize, Deserializer, de::DeserializeOwned, de::Error as _};
use serde_json::{Value, value::RawValue};

use crate::{error::SourceErrorKind, text::clean, transport::QUOTED_CHARS};

/// How far ahead of ours an upstream's clock may be.
const AHEAD: SignedDuration = SignedDuration::from_mins(5);

/// A time in Unix milliseconds, written as a number or as text. Venues write zero for "none".
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
    /// The time of a past event: it must be stated, and not lie in the future.
    pub(crate) fn past(self, now: Timestamp, path: &str) -> Result<Timestamp, SourceErrorKind> {
        let latest = now.saturating_add(AHEAD).unwrap_or(now);
        match self.0 {
            Some(time) if time <= latest => Ok(time),
            Some(time) => Err(malformed(path, "a time that has come", time)),
            None => Err(malformed(path, "a time", "none")),
        }
    }
}

/// An answer that breaks the interface's contract.
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

/// A row in the form `T`. An unreadable row is counted; the caller leaves it out.
pub(crate) fn row<T: DeserializeOwned>(row: Value) -> Option<T> {
    let read = serde_json::from_value(row);
    read.map_err(|_| unreadable::note()).ok()
}

/// The rows of a list that can be read. A bad row is counted and left out; a list of bad rows only
/// is refused.
pub(crate) fn rows<T: DeserializeOwned>(
    list: &[Box<RawValue>],
    path: &str,
) -> Result<Vec<T>, SourceErrorKind> {
    let mut read: Vec<T> = Vec::with_capacity(list.len());
    for row in list {
        match serde_json::from_str(row.get()) {
            Ok(row) => read.push(row),
            Err(_) => unreadable::note(),
        }
    }
    if read.is_empty() && !list.is_empty() {
        return Err(malformed(path, "rows of the documented form", "none"));
    }
    Ok(read)
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
    fn a_bad_row_does_not_affect_the_others() {
        let list: Vec<Box<RawValue>> = serde_json::from_str(r#"[1, "x", 2]"#).unwrap();
        assert_eq!(rows::<u8>(&list, "$"), Ok(vec![1, 2]));
        assert!(rows::<bool>(&list, "$").is_err());
        assert_eq!(rows::<u8>(&[], "$"), Ok(Vec::new()));
    }
}
