//! The answer of a paid route: `data`, the route's own object, and `meta`, which says where the
//! data comes from, how old it is and what is missing.

mod attribution;
mod meta;
mod object;
mod origin;
mod part;
mod time;

use std::borrow::Cow;

use data_sources::Provenance;
use jiff::Timestamp;
use serde::Serialize;

pub(crate) use self::object::{LastRendered, Object};
pub(crate) use self::origin::{Method, Origin};
pub(crate) use self::part::Part;
use self::part::{age, oldest};
pub(crate) use self::time::seconds;
use crate::reply::ErrorReply;
use crate::source_report::SourceReport;
pub(crate) use crate::source_report::{Cut, Unavailable};

/// The result of a route's work, before it is rendered for a caller.
#[derive(Debug, Clone, Default)]
pub(crate) struct Answered {
    /// The route's own object.
    pub(crate) data: Object,
    /// The sources that were asked, the core source first.
    pub(crate) sources: Vec<Provenance>,
    /// Members of `data` that are unavailable.
    pub(crate) unavailable: Vec<Unavailable>,
    /// Lists of `data` that are shortened.
    pub(crate) cut: Vec<Cut>,
    /// Warnings about the data for the caller.
    pub(crate) warnings: Vec<Warning>,
    /// The time of the data when no source names one because the data is computed here.
    pub(crate) as_of: Option<Timestamp>,
    /// For how many seconds the data counts as fresh. For an answer of several parts, the bound of
    /// the part that ages fastest.
    pub(crate) fresh_seconds: u64,
    /// The parts of a composed answer, each with its own time and bound. The answer is fresh while
    /// every part is.
    pub(crate) parts: Vec<Part>,
    /// The source of each member, for `provenance=1`.
    pub(crate) origins: Vec<Origin>,
    /// The edition of the dataset behind the answer, for `ETag`.
    pub(crate) edition: Option<String>,
    /// Members whose `null` means "there is none" rather than "unavailable".
    pub(crate) none: &'static [&'static str],
    /// The status code of the answer.
    pub(crate) status: Status,
}

/// The HTTP status of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Status {
    /// 200: the answer is complete.
    #[default]
    Ok,
    /// 201: the call created something.
    Created,
    /// 202: the call started something that goes on.
    Accepted,
}

impl Status {
    const fn code(self) -> u16 {
        match self {
            Self::Ok => 200,
            Self::Created => 201,
            Self::Accepted => 202,
        }
    }
}

/// A note about the data for the caller.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Warning {
    pub(crate) code: &'static str,
    pub(crate) message: String,
}

impl Answered {
    /// Makes an answer from a route's data, which counts as fresh for `fresh_seconds`.
    pub(crate) fn new(data: impl Serialize, fresh_seconds: u64) -> Self {
        let data = serde_json::to_value(data).unwrap_or_else(|error| {
            tracing::error!(%error, "an answer cannot be serialised");
            serde_json::Value::Null
        });
        Self::of(data.into(), fresh_seconds)
    }

    /// Makes an answer of several parts.
    pub(crate) fn of_parts(data: impl Serialize, parts: Vec<Part>) -> Self {
        let bounds = parts.iter().map(|part| part.fresh_seconds);
        let mut answered = Self::new(data, bounds.max().unwrap_or_default());
        answered.parts = parts;
        answered
    }

    /// This answer as a part of another one. A composed answer contributes its parts.
    pub(crate) fn as_parts(&self, name: &str, now: Timestamp) -> Vec<Part> {
        if self.parts.is_empty() {
            return vec![Part::at(name, self.as_of(now), self.fresh_seconds)];
        }
        self.parts.iter().map(|part| part.within(name)).collect()
    }

    /// Whether the answer is fresh, and for how many more seconds.
    fn freshness(&self, now: Timestamp) -> (bool, u64) {
        let age = self.age_seconds(now);
        let whole = self
            .parts
            .is_empty()
            .then(|| self.fresh_seconds.checked_sub(age));
        let parts = self.parts.iter().map(|part| part.left(now));
        let left = parts.chain(whole).min().flatten();
        (left.is_some(), left.unwrap_or_default())
    }

    /// Makes an answer from stored data, which counts as fresh for `fresh_seconds`.
    pub(crate) fn of(data: Object, fresh_seconds: u64) -> Self {
        Self {
            data,
            fresh_seconds,
            ..Self::default()
        }
    }

    /// Adds the sources and the missing fields of a report.
    #[must_use]
    pub(crate) fn with_report(mut self, report: SourceReport) -> Self {
        self.sources.extend(report.sources);
        self.unavailable.extend(report.unavailable);
        self.cut.extend(report.cut);
        self
    }

    /// Adds the source of a member.
    #[must_use]
    pub(crate) fn origin(
        mut self,
        field: impl Into<Cow<'static, str>>,
        source: &'static str,
        method: Method,
    ) -> Self {
        self.origins.push(Origin::new(field, source, method));
        self
    }

    /// Lists every unexplained `null` of `data` as unavailable, so that no absence is silent.
    #[must_use]
    pub(crate) fn complete(mut self) -> Self {
        let source = self.sources.first().map_or("", |source| source.source);
        for field in self.data.nulls() {
            let name = field.rsplit('.').next().unwrap_or_default();
            let explained = |unavailable: &Unavailable| {
                *field == unavailable.field
                    || field
                        .strip_prefix(unavailable.field.as_str())
                        .is_some_and(|rest| rest.starts_with(['.', '[']))
            };
            if !self.none.contains(&name) && !self.unavailable.iter().any(explained) {
                self.unavailable.push(Unavailable {
                    field: field.clone(),
                    reason: "not_named_by_source".to_owned(),
                    source,
                });
            }
        }
        self
    }

    /// The oldest time of the data that was used. Data without a time of its own is as old as its
    /// fetch. Data that only names things does not age.
    pub(crate) fn as_of(&self, now: Timestamp) -> Timestamp {
        oldest(&self.sources)
            .into_iter()
            .chain(self.as_of)
            .min()
            .unwrap_or(now)
    }

    /// Seconds from [`Self::as_of`] to `now`.
    pub(crate) fn age_seconds(&self, now: Timestamp) -> u64 {
        age(self.as_of(now), now)
    }

    /// Refuses data that is older than the caller accepts.
    pub(crate) fn no_older_than(
        self,
        max_age: Option<u64>,
        now: Timestamp,
    ) -> Result<Self, ErrorReply> {
        let age = self.age_seconds(now);
        match max_age {
            Some(limit) if age > limit => Err(ErrorReply::new(
                route_catalog::ErrorCode::UpstreamUnavailable,
                format!("the data is {age} seconds old and cannot be refreshed, and at most {limit} are accepted"),
            )
            .detail("reason", "older_than_max_age")
            .detail("age_seconds", age)),
            _ => Ok(self),
        }
    }

    /// The headers that are stored with the answer. Answers about the payer's own wallet must not
    /// be cached on the way. None may be transformed, because `Content-Digest` covers the bytes
    /// that were sent.
    fn headers(&self, is_private: bool, age_seconds: u64, left: u64) -> Box<[ledger::Header]> {
        let age = ("age".into(), age_seconds.to_string());
        let cached = match is_private {
            true => "private, no-store, no-transform".to_owned(),
            false => format!("private, max-age={left}, no-transform"),
        };
        let cached = ("cache-control".into(), cached);
        match &self.edition {
            Some(edition) => [age, cached, ("etag".into(), format!("\"{edition}\""))].into(),
            None => [age, cached].into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_answer_is_fresh_while_each_of_its_parts_is() {
        let now: Timestamp = "2026-11-21T01:02:00Z".parse().unwrap();
        let ago = |seconds: i64| Timestamp::from_second(now.as_second() - seconds).unwrap();
        let freshness = |parts: &[(i64, u64)]| {
            let parts = parts
                .iter()
                .map(|&(age, fresh)| Part::at("part", ago(age), fresh));
            let answered = Answered::of_parts(json!({}), parts.collect());
            (answered.freshness(now), answered.fresh_seconds)
        };
        // The oldest part is 900 s old. The price goes stale in 50 s, and so does the answer. The
        // bound stays the same.
        assert_eq!(freshness(&[(900, 4500), (10, 60)]), ((true, 50), 4500));
        assert_eq!(freshness(&[(905, 4500), (15, 60)]), ((true, 45), 4500));
        // The price is stale already, however old the rest is.
        assert_eq!(freshness(&[(900, 4500), (61, 60)]), ((false, 0), 4500));
        assert_eq!(freshness(&[(5, 60)]), ((true, 55), 60));
    }

    #[test]
    fn an_answer_within_another_keeps_its_parts() {
        let now: Timestamp = "2026-11-21T01:02:00Z".parse().unwrap();
        let parts = vec![Part::at("price", now, 60), Part::at("check", now, 600)];
        let inner = Answered::of_parts(json!({}), parts);
        let names = |answered: &Answered| {
            let parts = answered.as_parts("dex_price", now).into_iter();
            parts
                .map(|part| (part.name.into_owned(), part.fresh_seconds))
                .collect::<Vec<_>>()
        };
        assert_eq!(
            names(&inner),
            [
                ("dex_price.price".to_owned(), 60),
                ("dex_price.check".to_owned(), 600)
            ]
        );
        let whole = Answered::new(json!({}), 30);
        assert_eq!(names(&whole), [("dex_price".to_owned(), 30)]);
    }

    #[test]
    fn names_alone_do_not_age_an_answer() {
        let now: Timestamp = "2026-11-21T01:02:00Z".parse().unwrap();
        let hour_ago = Timestamp::from_second(now.as_second() - 3600).unwrap();
        let price = Provenance::local("price", now);
        let names = Provenance {
            reference: true,
            ..Provenance::local("names", hour_ago)
        };
        let mut answered = Answered {
            sources: vec![price, names],
            ..Answered::default()
        };
        assert_eq!(answered.age_seconds(now), 0);
        answered.sources[1].reference = false;
        assert_eq!(answered.age_seconds(now), 3600);
    }

    #[test]
    fn every_null_is_explained() {
        let answered = Answered {
            data: Object::from(
                json!({"a": null, "rows": [{"b": null, "c": 1}, {"b": 2, "c": null}], "leg": {"x": null}, "next_cursor": null}),
            ),
            unavailable: vec![Unavailable {
                field: "data.leg".to_owned(),
                reason: "upstream_timeout".to_owned(),
                source: "s",
            }],
            none: &["next_cursor"],
            ..Answered::default()
        };
        let named: Vec<_> = answered
            .complete()
            .unavailable
            .into_iter()
            .map(|entry| (entry.field, entry.reason))
            .collect();
        let unnamed = |field: &str| (field.to_owned(), "not_named_by_source".to_owned());
        assert_eq!(
            named,
            [
                ("data.leg".to_owned(), "upstream_timeout".to_owned()),
                unnamed("data.a"),
                unnamed("data.rows[].b"),
                unnamed("data.rows[].c"),
            ]
        );
    }
}
