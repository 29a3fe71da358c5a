//! The result of a probe for one source: its state, and the members that differ from the recorded
//! form.
//!
//! A row says what was observed. The operator decides what to do about it.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::Serialize;
use serde_json::Value;

use super::{
    form::{Change, form_key, forms},
    question::ProbeResult,
    shape::Shape,
    witness::Exchange,
};
use crate::{
    error::{SourceError, SourceErrorKind},
    text::clean,
};

/// Longest text of an upstream that is shown.
const DETAIL_CHARS: usize = 200;

/// The state of a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// The source answers in the recorded form.
    Ok,
    /// A kept value answered: the source was asked a moment ago.
    Kept,
    /// The source is switched off, or has no key.
    Disabled,
    /// The source was not asked: a question costs money, or a budget, a quota or a pause forbids
    /// it.
    NotAsked,
    /// The source answered 429.
    RateLimited,
    /// No answer came in time.
    TimedOut,
    /// No connection was possible.
    Unreachable,
    /// The source answered with another status than 2xx, 401, 402, 403, 429 or 451.
    HttpStatus,
    /// The answer lacks something that a reading depends on; the reading leaves it out.
    Changed,
    /// The source reports a failure inside an answer.
    Refused,
    /// The source answered 402.
    PaymentRequired,
    /// The source answered 401 or 403 although a key was sent.
    KeyRefused,
    /// The source answered 401, 403 or 451, and no key was sent.
    AccessRefused,
    /// The answer cannot be read.
    Malformed,
}

impl State {
    /// The word in the table.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Kept => "kept",
            Self::Disabled => "disabled",
            Self::NotAsked => "not asked",
            Self::RateLimited => "rate limited",
            Self::TimedOut => "timed out",
            Self::Unreachable => "unreachable",
            Self::HttpStatus => "http status",
            Self::Changed => "changed",
            Self::Refused => "refused",
            Self::PaymentRequired => "payment required",
            Self::KeyRefused => "key refused",
            Self::AccessRefused => "access refused",
            Self::Malformed => "malformed",
        }
    }

    /// 0 for a good state, 2 for a state that contradicts the adapter or the configuration, 1 for a
    /// state that could not be determined now.
    #[must_use]
    pub fn exit_code(self) -> u8 {
        match self {
            Self::Ok | Self::Kept | Self::Disabled | Self::NotAsked => 0,
            Self::RateLimited | Self::TimedOut | Self::Unreachable | Self::HttpStatus => 1,
            Self::Changed
            | Self::Refused
            | Self::PaymentRequired
            | Self::KeyRefused
            | Self::AccessRefused
            | Self::Malformed => 2,
        }
    }
}

/// The result of a probe for one source.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Row {
    /// The upstream, by the name of its table.
    pub upstream: String,
    /// The source.
    pub source: &'static str,
    /// Its state.
    pub state: State,
    /// Whether the source answered at all; `None` when it was not asked.
    pub reachable: Option<bool>,
    /// Whether the source accepted the key; `None` without a key or without an answer.
    pub authenticated: Option<bool>,
    /// Whether the answer could be read; `None` without an answer.
    pub parsed: Option<bool>,
    /// The age of the data, where the source states its time.
    pub age_seconds: Option<u64>,
    /// Calls left of the quota.
    pub quota_left: Option<u64>,
    /// The reason why the state is not `ok`. It holds no URL and no key.
    pub detail: Option<String>,
    /// The members that differ from the recorded form.
    pub changes: Vec<Change>,
    /// The number of unrecorded members, which are tolerated.
    pub tolerated: u64,
    /// The routes or tools that use the source.
    pub serves: Vec<&'static str>,
}

/// Whether there is nothing to probe: no source is switched on.
#[must_use]
pub(super) fn nothing(rows: &[Row]) -> bool {
    rows.iter().all(|row| row.state == State::Disabled)
}

/// The exit code of a probe with these rows: 2 when a source contradicts its recorded form or the
/// configuration, or none is switched on, 1 when one could not be asked, otherwise 0.
#[must_use]
pub fn exit_code(rows: &[Row]) -> u8 {
    if nothing(rows) {
        return 2;
    }
    rows.iter()
        .map(|row| row.state.exit_code())
        .max()
        .unwrap_or(0)
}

/// A row for each source of an answered question.
#[must_use]
pub fn rows(result: &ProbeResult, now: Timestamp) -> Vec<Row> {
    let mut by_source: BTreeMap<&'static str, Vec<&Exchange>> = BTreeMap::new();
    for exchange in &result.exchanges {
        by_source.entry(exchange.source).or_default().push(exchange);
    }
    for source in result.sources {
        by_source.entry(source).or_default();
    }
    by_source
        .into_iter()
        .map(|(source, exchanges)| row(result, source, &exchanges, now))
        .collect()
}

fn row(result: &ProbeResult, source: &'static str, exchanges: &[&Exchange], now: Timestamp) -> Row {
    let mut row = Row::nothing(&result.upstream, source);
    if exchanges.is_empty() {
        row.state = match result.answer {
            Some(_) => State::Kept,
            None => State::NotAsked,
        };
        row.detail = result
            .answer
            .is_none()
            .then(|| "another question before it failed".to_owned());
        return row;
    }
    for exchange in exchanges {
        let (state, detail) = standing(exchange);
        if state >= row.state {
            row.state = state;
            row.detail = detail;
        }
        let Some(reply) = exchange
            .reply
            .as_ref()
            .filter(|reply| success(reply.status))
        else {
            continue;
        };
        let form = forms().get(&form_key(exchange));
        let document: Option<Value> = serde_json::from_slice(&reply.body).ok();
        if let (Some(form), Some(document)) = (form, document) {
            let (changes, added) = form.compare(&Shape::of(&document));
            row.tolerated = row.tolerated.saturating_add(added);
            row.changes.extend(changes);
        }
    }
    if !row.changes.is_empty() && row.state < State::Changed {
        row.state = State::Changed;
    }
    if row.state == State::Changed {
        let changes: Vec<String> = row.changes.iter().map(ToString::to_string).collect();
        row.detail = Some(changes.join("; "));
    }
    let asked = || exchanges.iter().filter(|exchange| exchange.asked);
    row.reachable = asked()
        .next()
        .map(|_| asked().all(|exchange| answered(exchange)));
    let keyed = asked().any(|exchange| exchange.keyed);
    let any = asked().any(|exchange| answered(exchange));
    row.authenticated = (keyed && any).then_some(row.state != State::KeyRefused);
    let success = |exchange: &&Exchange| exchange.reply.as_ref().is_none_or(|r| success(r.status));
    row.parsed = asked()
        .any(|exchange| answered(exchange) && success(exchange))
        .then_some(row.state != State::Malformed);
    row.age_seconds = result.answer.as_ref().and_then(|answer| {
        let times = answer.times.iter().filter(|(of, _)| *of == source);
        let oldest = times.map(|(_, time)| *time).min()?;
        Some(u64::try_from(now.duration_since(oldest).as_secs()).unwrap_or(0))
    });
    row
}

impl Row {
    /// An empty row: nothing is known about the source yet.
    pub(super) fn nothing(upstream: &str, source: &'static str) -> Self {
        Self {
            upstream: upstream.to_owned(),
            source,
            state: State::Ok,
            reachable: None,
            authenticated: None,
            parsed: None,
            age_seconds: None,
            quota_left: None,
            detail: None,
            changes: Vec::new(),
            tolerated: 0,
            serves: Vec::new(),
        }
    }

    /// A row of a source that was not asked, and why.
    #[must_use]
    pub fn unasked(upstream: &str, source: &'static str, state: State, detail: &str) -> Self {
        Self {
            state,
            detail: Some(detail.to_owned()),
            ..Self::nothing(upstream, source)
        }
    }
}

/// Whether any answer arrived. The body of an answer with the wrong content type is not kept.
fn answered(exchange: &Exchange) -> bool {
    let dropped = matches!(
        exchange.fault,
        Some(SourceErrorKind::WrongContentType { .. } | SourceErrorKind::TooLarge { .. })
    );
    exchange.reply.is_some() || dropped
}

const fn success(status: u16) -> bool {
    status >= 200 && status < 300
}

/// The state of a source after one exchange.
fn standing(exchange: &Exchange) -> (State, Option<String>) {
    let Some(kind) = &exchange.fault else {
        return (State::Ok, None);
    };
    let said = SourceError {
        source: exchange.source,
        kind: kind.clone(),
    };
    let said = said.to_string();
    let detail = said.split_once(": ").map_or(said.as_str(), |(_, why)| why);
    let detail = match kind {
        SourceErrorKind::RateLimited {
            retry_after: Some(seconds),
        } => format!("{detail}, retry in {seconds} s"),
        _ => clean(detail, DETAIL_CHARS),
    };
    let detail = Some(detail);
    let refused = if exchange.keyed {
        State::KeyRefused
    } else {
        State::AccessRefused
    };
    let state = match kind {
        SourceErrorKind::Timeout { .. } => State::TimedOut,
        SourceErrorKind::Unreachable => State::Unreachable,
        SourceErrorKind::HttpStatus { status, .. } => match status {
            401 | 403 => refused,
            451 => State::AccessRefused,
            _ => State::HttpStatus,
        },
        SourceErrorKind::RateLimited { .. } if exchange.asked => State::RateLimited,
        SourceErrorKind::PaymentRequired { .. } if exchange.asked => State::PaymentRequired,
        SourceErrorKind::Business { .. } => State::Refused,
        SourceErrorKind::Malformed { .. }
        | SourceErrorKind::WrongContentType { .. }
        | SourceErrorKind::TooLarge { .. } => State::Malformed,
        SourceErrorKind::Disabled { .. } => State::Disabled,
        SourceErrorKind::RateLimited { .. }
        | SourceErrorKind::PaymentRequired { .. }
        | SourceErrorKind::OverBudget { .. }
        | SourceErrorKind::QuotaSpent { .. }
        | SourceErrorKind::CircuitOpen { .. }
        | SourceErrorKind::Refreshing => State::NotAsked,
    };
    (state, detail)
}
