//! Times in the form of answers.

use std::fmt;

use jiff::Timestamp;
use serde::{Serialize, Serializer};

/// Renders a time in RFC 3339 UTC, rounded down to whole seconds.
pub(crate) fn seconds(time: Timestamp) -> String {
    Seconds(time).to_string()
}

/// A time that serialises as [`seconds`] renders it.
#[derive(Debug)]
pub(super) struct Seconds(pub(super) Timestamp);

impl fmt::Display for Seconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let whole = Timestamp::from_second(self.0.as_second()).unwrap_or(self.0);
        whole.fmt(f)
    }
}

impl Serialize for Seconds {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}
