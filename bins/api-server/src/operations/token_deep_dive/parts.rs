//! Parts of an answer that can fail independently, each with its time. A slow part does not hold up
//! the others.

use std::{future::Future, time::Duration};

use jiff::Timestamp;
use route_catalog::ErrorCode;
use serde::Serialize;
use serde_json::Value;
use tokio::time::{Instant, timeout};

use crate::answer::{self, Answered, Unavailable, Warning, seconds};
use crate::reply::ErrorReply;
use crate::source_report::SourceReport;

/// The time limits of parts.
#[derive(Debug, Clone, Copy)]
pub(in crate::operations) struct Budget {
    /// The limit of one part.
    pub(in crate::operations) part: Duration,
    /// The deadline of the answer.
    ends: Instant,
}

impl Budget {
    /// Starts the time now.
    pub(in crate::operations) fn start(part: Duration, whole: Duration) -> Self {
        Self {
            part,
            ends: Instant::now() + whole,
        }
    }

    /// Runs `work` within the time of a part and within the rest of the whole time.
    pub(in crate::operations) async fn run<T>(
        &self,
        work: impl Future<Output = Result<T, ErrorReply>>,
    ) -> PartOutcome<T> {
        let left = self.ends.saturating_duration_since(Instant::now());
        match timeout(self.part.min(left), work).await {
            Ok(Ok(value)) => PartOutcome::Ok(value),
            // The sources answered that there is no such thing. A source that has no figure of an
            // existing thing is another case.
            Ok(Err(refused))
                if refused.code() == ErrorCode::NotFound
                    && refused.reason() == "symbol_not_found" =>
            {
                PartOutcome::NotApplicable(refused.reason().to_owned())
            }
            Ok(Err(refused)) => PartOutcome::Unavailable(refused.reason().to_owned()),
            Err(_) => PartOutcome::Unavailable("time_budget_exhausted".to_owned()),
        }
    }
}

/// The outcome of a part.
#[derive(Debug)]
pub(in crate::operations) enum PartOutcome<T> {
    /// The part is available.
    Ok(T),
    /// The part is unavailable, with the reason.
    Unavailable(String),
    /// The subject has no such part, with the reason.
    NotApplicable(String),
}

impl PartOutcome<Answered> {
    /// The data of an available part.
    pub(in crate::operations) fn data(&self) -> Option<&Value> {
        match self {
            Self::Ok(answered) => Some(&answered.data),
            Self::Unavailable(_) | Self::NotApplicable(_) => None,
        }
    }
}

impl<T> PartOutcome<T> {
    /// Converts the value of an available part.
    pub(in crate::operations) fn map<U>(self, change: impl FnOnce(T) -> U) -> PartOutcome<U> {
        match self {
            Self::Ok(value) => PartOutcome::Ok(change(value)),
            Self::Unavailable(reason) => PartOutcome::Unavailable(reason),
            Self::NotApplicable(reason) => PartOutcome::NotApplicable(reason),
        }
    }
}

/// A part in its rendered form.
#[derive(Debug, Serialize)]
pub(in crate::operations) struct Part {
    status: &'static str,
    reason: Option<String>,
    as_of: Option<String>,
    data: Option<Value>,
}

/// The ages, sources and missing fields of the parts.
#[derive(Debug, Default)]
pub(in crate::operations) struct Gathered {
    pub(in crate::operations) report: SourceReport,
    pub(in crate::operations) warnings: Vec<Warning>,
    /// The age and the bound of each part.
    pub(in crate::operations) ages: Vec<answer::Part>,
}

impl Gathered {
    /// Adds the sources and missing fields of a part and renders it under `name`.
    pub(in crate::operations) fn part(
        &mut self,
        name: &str,
        outcome: PartOutcome<Answered>,
        now: Timestamp,
    ) -> Part {
        let (status, reason) = match outcome {
            PartOutcome::Ok(answered) => return self.answered(name, answered, now),
            PartOutcome::Unavailable(reason) => ("unavailable", reason),
            PartOutcome::NotApplicable(reason) => ("not_applicable", reason),
        };
        self.report.missing(name, reason.clone(), "");
        Part {
            status,
            reason: Some(reason),
            as_of: None,
            data: None,
        }
    }

    fn answered(&mut self, name: &str, answered: Answered, now: Timestamp) -> Part {
        // The part's missing fields are listed before its place in the answer changes.
        let answered = answered.complete();
        let as_of = seconds(answered.as_of(now));
        self.ages.extend(answered.as_parts(name, now));
        self.warnings.extend(answered.warnings);
        self.report.accept(data_sources::Sourced {
            value: (),
            sources: answered.sources,
        });
        let moved = answered.unavailable.into_iter().map(|entry| Unavailable {
            field: entry
                .field
                .replacen("data", &format!("data.{name}.data"), 1),
            ..entry
        });
        self.report.unavailable.extend(moved);
        let place = format!("data.{name}.data");
        let moved = answered.cut.into_iter();
        self.report
            .cut
            .extend(moved.filter_map(|cut| cut.moved("data", &place)));
        let mut data = answered.data.into_value();
        drop_none(&mut data, answered.none);
        Part {
            status: "ok",
            reason: None,
            as_of: Some(as_of),
            data: Some(data),
        }
    }
}

/// Removes members whose `null` means that there is none, because a part has no other way to say
/// it.
pub(in crate::operations) fn drop_none(value: &mut Value, none: &[&str]) {
    match value {
        Value::Object(members) => {
            members.retain(|name, member| !(member.is_null() && none.contains(&name.as_str())));
            members
                .values_mut()
                .for_each(|member| drop_none(member, none));
        }
        Value::Array(items) => items.iter_mut().for_each(|item| drop_none(item, none)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use std::future::pending;

    use serde_json::json;

    use super::*;

    fn budget(part_ms: u64, whole_ms: u64) -> Budget {
        Budget::start(
            Duration::from_millis(part_ms),
            Duration::from_millis(whole_ms),
        )
    }

    fn refused() -> ErrorReply {
        ErrorReply::new(ErrorCode::UpstreamUnavailable, "down")
            .detail("reason", "upstream_http_503")
    }

    fn now() -> Timestamp {
        Timestamp::from_second(1_795_222_920).unwrap()
    }

    #[tokio::test]
    async fn a_part_ends_in_its_time_and_in_that_of_the_whole() {
        let late = |outcome| matches!(outcome, PartOutcome::<()>::Unavailable(reason) if reason == "time_budget_exhausted");
        assert!(late(budget(5, 60_000).run(pending()).await));
        assert!(late(budget(60_000, 5).run(pending()).await));
        let there = budget(60_000, 60_000).run(async { Ok(7) }).await;
        assert!(matches!(there, PartOutcome::Ok(7)));
        let down = budget(60_000, 60_000)
            .run(async { Err::<(), _>(refused()) })
            .await;
        assert!(matches!(down, PartOutcome::Unavailable(reason) if reason == "upstream_http_503"));
        let none =
            || ErrorReply::new(ErrorCode::NotFound, "none").detail("reason", "symbol_not_found");
        let none = budget(60_000, 60_000)
            .run(async { Err::<(), _>(none()) })
            .await;
        assert!(matches!(none, PartOutcome::NotApplicable(reason) if reason == "symbol_not_found"));
        let unpriced =
            ErrorReply::new(ErrorCode::NotFound, "none").detail("reason", "token_not_priced");
        let unpriced = budget(60_000, 60_000)
            .run(async { Err::<(), _>(unpriced) })
            .await;
        assert!(
            matches!(unpriced, PartOutcome::Unavailable(reason) if reason == "token_not_priced")
        );
    }

    #[test]
    fn missing_fields_move_with_their_part() {
        let mut gathered = Gathered::default();
        let answered = Answered {
            data: json!({"price_usd": null, "owner": null, "rows": [{"owner": null, "b": 1}]})
                .into(),
            none: &["owner"],
            fresh_seconds: 60,
            as_of: Some(now()),
            ..Answered::default()
        };
        let part = gathered.part("core", PartOutcome::Ok(answered), now());
        assert_eq!(
            part.data,
            Some(json!({"price_usd": null, "rows": [{"b": 1}]}))
        );
        assert_eq!(
            (part.status, part.as_of.as_deref()),
            ("ok", Some("2026-11-21T01:02:00Z"))
        );
        let none = gathered.part(
            "security",
            PartOutcome::NotApplicable("no_contract".to_owned()),
            now(),
        );
        assert_eq!(
            (none.status, none.reason.as_deref()),
            ("not_applicable", Some("no_contract"))
        );
        let down = gathered.part(
            "derivatives",
            PartOutcome::Unavailable("upstream_timeout".to_owned()),
            now(),
        );
        assert_eq!(down.status, "unavailable");
        let missing: Vec<_> = gathered
            .report
            .unavailable
            .iter()
            .map(|entry| (entry.field.as_str(), entry.reason.as_str()))
            .collect();
        assert_eq!(
            missing,
            [
                ("data.core.data.price_usd", "not_named_by_source"),
                ("data.security", "no_contract"),
                ("data.derivatives", "upstream_timeout"),
            ]
        );
        assert_eq!(gathered.ages, [answer::Part::at("core", now(), 60)]);
    }
}
