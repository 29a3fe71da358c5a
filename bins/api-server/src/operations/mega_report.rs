//! `GET /mega-report`.

use std::future::Future;
use std::pin::Pin;

use data_sources::Sourced;
use jiff::Timestamp;
use route_catalog::Operation;
use serde_json::{Map, Value, json};

use super::crypto_news::{core_source, no_index, snapshot, undated};
use super::legs::Legs;
use super::{Call, fault};
use crate::Sources;
use crate::answer::{Answered, Method, Part, Unavailable, Warning, fresh_together};
use crate::reply::ErrorReply;
use crate::snapshots::{Dataset, News};

/// Headlines of a report.
const HEADLINES: usize = 10;
/// Rows of every other list.
const ROWS: usize = 5;

/// A section that is taken from the answer of another route: its name, the route, and the members that are taken, lists
/// among them cut.
struct Section {
    name: &'static str,
    operation: Operation,
    /// The one list that the section is, or nothing for all members.
    list: Option<&'static str>,
}

const SECTIONS: [Section; 5] = [
    Section {
        name: "kol_alpha",
        operation: Operation::KolSentiment,
        list: None,
    },
    Section {
        name: "trending",
        operation: Operation::TrendingAltcoins,
        list: Some("altcoins"),
    },
    Section {
        name: "yield",
        operation: Operation::YieldAlpha,
        list: Some("pools"),
    },
    Section {
        name: "derivatives",
        operation: Operation::FundingRates,
        list: Some("markets"),
    },
    Section {
        name: "macro",
        operation: Operation::TradfiData,
        list: None,
    },
];

pub(super) async fn answer(sources: &Sources, call: &Call) -> Result<Answered, ErrorReply> {
    let [kol, trending, yields, derivatives, markets] = SECTIONS;
    let ask = |section: &Section| other_route(sources, call, section.operation);
    let (news, one, two, three, four, five) = tokio::join!(
        snapshot(sources),
        ask(&kol),
        ask(&trending),
        ask(&yields),
        ask(&derivatives),
        ask(&markets),
    );
    let now = sources.now();
    let mut report = Report::default();
    let mut headlines_source = "";
    match &news {
        Ok(snapshot) => {
            let digest = &snapshot.value;
            let headlines = digest
                .headlines
                .get(..HEADLINES)
                .unwrap_or(&digest.headlines);
            report
                .sections
                .insert("headlines".to_owned(), json!(headlines));
            report
                .sections
                .insert("sentiment".to_owned(), json!(digest.brief));
            report.as_of = Some(snapshot.as_of);
            report.ages.push(Part {
                age: snapshot.age_seconds(now),
                fresh: News::PACE.fresh.as_secs(),
            });
            report.legs.got(Sourced {
                value: (),
                sources: snapshot.provenance(),
            });
            headlines_source = core_source(snapshot);
            report.legs.unavailable.extend(undated(
                "sections.headlines",
                headlines,
                headlines_source,
            ));
            if digest.brief.fear_greed.is_none() {
                report
                    .legs
                    .unavailable
                    .push(no_index("sections.sentiment.fear_greed", snapshot));
            }
        }
        Err(error) => {
            report.missing("headlines", error);
            report.missing("sentiment", error);
        }
    }
    let no_trend = two.is_err();
    for (section, told) in [
        (kol, one),
        (trending, two),
        (yields, three),
        (derivatives, four),
        (markets, five),
    ] {
        report.add(&section, told, now);
    }
    if news.is_err() && no_trend {
        return Err(fault::core_missing(
            "headlines_or_trending",
            "headlines_and_trending_missing",
        ));
    }
    let data = json!({ "sections": report.sections, "missing": report.missing });
    let mut answered = Answered::new(data, fresh_together(report.ages)).with_legs(report.legs);
    answered.as_of = report.as_of;
    answered.warnings = report.warnings;
    Ok(match headlines_source {
        "" => answered,
        source => answered.origin("sections/headlines", source, Method::Derived),
    })
}

/// A report in the making.
#[derive(Default)]
struct Report {
    sections: Map<String, Value>,
    missing: Vec<&'static str>,
    legs: Legs,
    /// What the sections' routes say about their data, each once.
    warnings: Vec<Warning>,
    /// How old each section is, and up to which age it is fresh.
    ages: Vec<Part>,
    /// The time of the oldest section.
    as_of: Option<Timestamp>,
}

impl Report {
    fn add(&mut self, section: &Section, told: Result<Answered, ErrorReply>, now: Timestamp) {
        let answered = match told {
            Ok(answered) => answered,
            Err(error) => return self.missing(section.name, &error),
        };
        self.ages.push(Part {
            age: answered.age_seconds(now),
            fresh: answered.fresh_seconds,
        });
        self.as_of = self.as_of.into_iter().chain([answered.as_of(now)]).min();
        for warning in answered.warnings {
            if !self.warnings.contains(&warning) {
                self.warnings.push(warning);
            }
        }
        let (value, inner) = match section.list {
            Some(list) => (
                cut(answered.data.get(list).cloned().unwrap_or_default()),
                format!("data.{list}"),
            ),
            None => (cut_members(answered.data.into_value()), "data".to_owned()),
        };
        self.sections.insert(section.name.to_owned(), value);
        self.legs.got(Sourced {
            value: (),
            sources: answered.sources,
        });
        let place = format!("data.sections.{}", section.name);
        let moved = answered.unavailable.into_iter().filter_map(|gap| {
            let rest = gap.field.strip_prefix(&inner)?;
            Some(Unavailable {
                field: format!("{place}{rest}"),
                ..gap
            })
        });
        self.legs.unavailable.extend(moved);
    }

    fn missing(&mut self, name: &'static str, error: &ErrorReply) {
        self.sections.insert(name.to_owned(), Value::Null);
        self.missing.push(name);
        self.legs
            .missing(&format!("sections.{name}"), error.reason(), "");
    }
}

/// The first rows of a list.
fn cut(mut value: Value) -> Value {
    if let Value::Array(rows) = &mut value {
        rows.truncate(ROWS);
    }
    value
}

/// An object with each of its lists cut.
fn cut_members(value: Value) -> Value {
    match value {
        Value::Object(members) => members
            .into_iter()
            .map(|(name, member)| (name, cut(member)))
            .collect(),
        other => other,
    }
}

/// What another route answers without parameters, not older than the caller takes: an older section is missing, and the
/// others are still told. It shares that route's caches, which ask for what they do not hold young
/// enough.
fn other_route<'a>(
    sources: &'a Sources,
    call: &Call,
    operation: Operation,
) -> Pin<Box<dyn Future<Output = Result<Answered, ErrorReply>> + Send + 'a>> {
    let parsed = operation.route().parse(None, b"");
    let (payer, request_id, max_age) = (call.payer, call.request_id, call.max_age_seconds());
    Box::pin(async move {
        let parameters = parsed.unwrap_or_default();
        let call = Call {
            operation,
            parameters,
            payer,
            request_id,
            max_age,
        };
        super::answer(sources, &call).await
    })
}
