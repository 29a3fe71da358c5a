//! Parts of an answer, each with its own time and its own bound. An answer is fresh while each of
//! its parts is.

use std::borrow::Cow;

use data_sources::{Provenance, SourceStatus};
use jiff::Timestamp;
use serde::Serialize;

use super::time::Seconds;

/// A part of an answer: the time of its data, and for how long the data counts as fresh.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Part {
    /// The name of the part: a member of `data`, or the input of a member.
    pub(crate) name: Cow<'static, str>,
    /// The oldest time of the data. `None` means now: no source contributed to the part.
    as_of: Option<Timestamp>,
    /// The greatest age at which the part counts as fresh.
    pub(crate) fresh_seconds: u64,
}

/// An entry of `meta.sections`.
#[derive(Debug, Serialize)]
pub(super) struct SectionEntry<'a> {
    name: &'a str,
    as_of: Seconds,
    age_seconds: u64,
    max_age_seconds: u64,
    verdict: &'static str,
}

impl Part {
    /// A part from the data of `sources`.
    pub(crate) fn of(
        name: impl Into<Cow<'static, str>>,
        sources: &[Provenance],
        fresh_seconds: u64,
    ) -> Self {
        Self {
            name: name.into(),
            as_of: oldest(sources),
            fresh_seconds,
        }
    }

    /// A part whose data has a known time.
    pub(crate) fn at(name: &str, as_of: Timestamp, fresh_seconds: u64) -> Self {
        Self {
            name: name.to_owned().into(),
            as_of: Some(as_of),
            fresh_seconds,
        }
    }

    /// This part as a part of `name`.
    pub(crate) fn within(&self, name: &str) -> Self {
        Self {
            name: format!("{name}.{}", self.name).into(),
            ..self.clone()
        }
    }

    /// For how many more seconds the part is fresh; `None` when it is stale.
    pub(super) fn left(&self, now: Timestamp) -> Option<u64> {
        self.fresh_seconds.checked_sub(self.age(now))
    }

    pub(super) fn entry(&self, now: Timestamp) -> SectionEntry<'_> {
        SectionEntry {
            name: &self.name,
            as_of: Seconds(self.as_of.unwrap_or(now)),
            age_seconds: self.age(now),
            max_age_seconds: self.fresh_seconds,
            verdict: verdict(self.left(now).is_some()),
        }
    }

    fn age(&self, now: Timestamp) -> u64 {
        age(self.as_of.unwrap_or(now), now)
    }
}

/// The word for data within its bound (`fresh`) or beyond it.
pub(super) fn verdict(fresh: bool) -> &'static str {
    match fresh {
        true => "fresh",
        false => "stale",
    }
}

/// The oldest time among the data of `sources`.
pub(super) fn oldest(sources: &[Provenance]) -> Option<Timestamp> {
    let used = sources.iter().filter(|source| {
        !source.reference && !matches!(source.status, SourceStatus::Unavailable { .. })
    });
    used.map(|source| source.as_of.unwrap_or(source.fetched_at))
        .min()
}

/// Seconds from `time` to `now`.
pub(super) fn age(time: Timestamp, now: Timestamp) -> u64 {
    u64::try_from(now.duration_since(time).as_secs()).unwrap_or_default()
}
