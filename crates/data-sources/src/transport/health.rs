//! The health of each source, for `/status`. It reports the past and decides nothing: the circuit
//! breaker decides whether an upstream is asked.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::{Mutex, PoisonError},
    time::Duration,
};

use jiff::Timestamp;

use crate::{budget::BudgetState, error::SourceErrorKind};

/// Latencies kept per source.
const RING: usize = 128;
/// How long after its last good answer a failing source counts as degraded rather than unavailable.
const DEGRADED_FOR: Duration = Duration::from_secs(300);

/// The health of one source, as `/status` shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceHealth {
    /// The name of the source, for example `okx.swap`.
    pub source: &'static str,
    /// Its state.
    pub state: HealthState,
    /// The reason why it is not `ok`: the reason of the last failure, or why it is disabled.
    pub reason: Option<String>,
    /// When it last answered usably.
    pub last_ok: Option<Timestamp>,
    /// When it last failed.
    pub last_error: Option<Timestamp>,
    /// Median latency of its last answers, in milliseconds.
    pub p50_ms: Option<u64>,
    /// 95th percentile of the same, in milliseconds.
    pub p95_ms: Option<u64>,
    /// Calls made since the start.
    pub calls: u64,
    /// Calls that failed since the start.
    pub failures: u64,
    /// Rows and figures of its answers since the start that could not be read and were left out.
    pub tolerated: u64,
    /// The weight that calls may use now, from the budget of the source's family; `None` without a
    /// budget.
    pub budget_left: Option<u32>,
    /// The weight that calls may use in any `window_seconds`.
    pub budget_limit: Option<u32>,
    /// Length of the window of the budget.
    pub window_seconds: Option<u32>,
    /// Remaining calls of the day's or the month's quota, whichever has fewer; `None` without a
    /// quota.
    pub quota_left: Option<u64>,
    /// When the next day or month begins.
    pub quota_resets_at: Option<Timestamp>,
}

impl SourceHealth {
    /// Adds the remaining budget.
    #[must_use]
    pub(crate) fn within(mut self, budget: Option<&BudgetState>) -> Self {
        self.budget_left = budget.map(|budget| budget.left);
        self.budget_limit = budget.map(|budget| budget.limit);
        self.window_seconds = budget.map(|budget| budget.window_seconds);
        self
    }
}

/// State of a source, in the terms of `/status`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HealthState {
    /// The last call succeeded, or none was made yet.
    Ok,
    /// The last call failed, an earlier one within five minutes did not.
    Degraded,
    /// Switched off, or without a key.
    Disabled,
    /// The last call failed and none succeeded within five minutes.
    Unavailable,
    /// The upstream asks to be paid, and is not asked for a while.
    PaymentRequired,
}

impl HealthState {
    /// Every state.
    pub const ALL: [Self; 5] = [
        Self::Ok,
        Self::Degraded,
        Self::Disabled,
        Self::Unavailable,
        Self::PaymentRequired,
    ];

    /// `ok`, `degraded`, `disabled`, `unavailable` or `payment_required`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Degraded => "degraded",
            Self::Disabled => "disabled",
            Self::Unavailable => "unavailable",
            Self::PaymentRequired => "payment_required",
        }
    }
}

/// Outcomes per source id.
#[derive(Debug, Default)]
pub(crate) struct HealthBoard {
    records: Mutex<BTreeMap<&'static str, Record>>,
}

#[derive(Debug, Default)]
struct Record {
    latencies_ms: VecDeque<u64>,
    last_ok: Option<Timestamp>,
    last_error: Option<(Timestamp, String)>,
    failing: bool,
    calls: u64,
    failures: u64,
    tolerated: u64,
}

impl HealthBoard {
    pub(crate) fn succeeded(&self, source: &'static str, now: Timestamp, latency: Duration) {
        self.with(source, |record| {
            record.calls = record.calls.saturating_add(1);
            if record.latencies_ms.len() == RING {
                record.latencies_ms.pop_front();
            }
            record
                .latencies_ms
                .push_back(u64::try_from(latency.as_millis()).unwrap_or(u64::MAX));
            record.last_ok = Some(now);
            record.failing = false;
        });
    }

    pub(crate) fn failed(&self, source: &'static str, now: Timestamp, kind: &SourceErrorKind) {
        self.with(source, |record| {
            record.calls = record.calls.saturating_add(1)
        });
        self.reject_response(source, now, kind);
    }

    /// Records that a call which counted as a success has an unusable answer.
    pub(crate) fn reject_response(
        &self,
        source: &'static str,
        now: Timestamp,
        kind: &SourceErrorKind,
    ) {
        self.with(source, |record| {
            record.last_error = Some((now, kind.reason()));
            record.failing = true;
            record.failures = record.failures.saturating_add(1);
        });
    }

    /// Counts the parts of an answer that could not be read and were left out.
    pub(crate) fn tolerated(&self, source: &'static str, left_out: u64) {
        self.with(source, |record| {
            record.tolerated = record.tolerated.saturating_add(left_out);
        });
    }

    pub(crate) fn of(&self, source: &'static str, now: Timestamp) -> SourceHealth {
        let mut health = SourceHealth {
            source,
            state: HealthState::Ok,
            reason: None,
            last_ok: None,
            last_error: None,
            p50_ms: None,
            p95_ms: None,
            calls: 0,
            failures: 0,
            tolerated: 0,
            budget_left: None,
            budget_limit: None,
            window_seconds: None,
            quota_left: None,
            quota_resets_at: None,
        };
        let records = self.records.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(record) = records.get(source) else {
            return health;
        };
        let mut sorted: Vec<u64> = record.latencies_ms.iter().copied().collect();
        sorted.sort_unstable();
        let percentile = |percent: usize| {
            sorted
                .get(sorted.len().saturating_mul(percent).div_ceil(100).max(1) - 1)
                .copied()
        };
        health.p50_ms = percentile(50);
        health.p95_ms = percentile(95);
        health.last_ok = record.last_ok;
        health.last_error = record.last_error.as_ref().map(|(at, _)| *at);
        health.calls = record.calls;
        health.failures = record.failures;
        health.tolerated = record.tolerated;
        if record.failing {
            health.reason = record.last_error.as_ref().map(|(_, reason)| reason.clone());
            let recent = record
                .last_ok
                .is_some_and(|at| now.duration_since(at).unsigned_abs() <= DEGRADED_FOR);
            health.state = if recent {
                HealthState::Degraded
            } else {
                HealthState::Unavailable
            };
        }
        health
    }

    fn with(&self, source: &'static str, change: impl FnOnce(&mut Record)) {
        let mut records = self.records.lock().unwrap_or_else(PoisonError::into_inner);
        change(records.entry(source).or_default());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_follow_the_last_call_and_the_last_success() {
        let board = HealthBoard::default();
        let at = |second| Timestamp::from_second(second).unwrap();
        assert_eq!(board.of("okx.swap", at(0)).state, HealthState::Ok);
        board.failed("okx.swap", at(1), &SourceErrorKind::Unreachable);
        assert_eq!(board.of("okx.swap", at(1)).state, HealthState::Unavailable);
        for millis in 1..=200 {
            board.succeeded("okx.swap", at(10), Duration::from_millis(millis));
        }
        let health = board.of("okx.swap", at(10));
        assert_eq!((health.state, health.reason), (HealthState::Ok, None));
        assert_eq!((health.p50_ms, health.p95_ms), (Some(136), Some(194)));
        board.failed(
            "okx.swap",
            at(20),
            &SourceErrorKind::HttpStatus {
                status: 503,
                code: None,
            },
        );
        let health = board.of("okx.swap", at(20));
        assert_eq!(
            (health.state, health.reason.as_deref()),
            (HealthState::Degraded, Some("upstream_http_503"))
        );
        assert_eq!(
            board.of("okx.swap", at(400)).state,
            HealthState::Unavailable
        );
        assert_eq!((health.calls, health.failures), (202, 2));
    }
}
