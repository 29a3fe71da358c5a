//! The operator's view: metrics and the log. Series exist before their first event, except those
//! with an account as a label. No label takes its value from a caller's text.

mod table;

use std::sync::OnceLock;
use std::time::Duration;

use custody::{FileFault, WalletFaults};
use data_sources::gauges;
use data_sources::transport::{HealthState, SourceHealth};
use ledger::OpenCounts;
use metrics::{Counter, Gauge, Histogram, counter, gauge, histogram};
use route_catalog::{ErrorCode, Operation, WorkClass};
use server_process::{Metrics, begin_series};
use settlement::Receipt;
use wallet_actions::Operation as Action;
use x402_wire::Reason;

/// The process's metrics.
pub(crate) static METRICS: Metrics = Metrics::new(|| {
    gauges::describe();
    table::describe();
    start_at_zero();
});

/// The status codes of the free endpoints.
const STATUSES: [&str; 5] = ["200", "204", "404", "405", "503"];

/// The endpoints below `/delegation/`.
pub(crate) const DELEGATION_ENDPOINTS: [&str; 9] = [
    "status",
    "policy",
    "grants",
    "grant",
    "log",
    "revocations",
    "limits",
    "submissions",
    "submission",
];

/// Creates every series before its first event, so that the first event shows as an increase.
fn start_at_zero() {
    begin_series(env!("CARGO_PKG_VERSION"), &STATUSES);
    for operation in Operation::ALL.iter().map(|operation| operation.name()) {
        counter!(table::UNPAID_CHALLENGES, "operation" => operation).increment(0);
        let codes = ErrorCode::ALL.iter().map(|code| code.code());
        for outcome in ["served", "served_again", "declined"]
            .into_iter()
            .chain(codes)
        {
            counter!(table::PAID_CALLS, "operation" => operation, "outcome" => outcome)
                .increment(0);
        }
    }
    let reasons = Reason::NAMED
        .iter()
        .map(|reason| reason.as_str().to_owned());
    for reason in reasons.chain(["other".to_owned()]) {
        counter!(table::DECLINED, "reason" => reason).increment(0);
    }
    for class in [WorkClass::Data, WorkClass::Model, WorkClass::Transaction] {
        counter!(table::CREDIT_REFUSALS, "class" => class_name(class)).increment(0);
    }
    for endpoint in DELEGATION_ENDPOINTS {
        counter!(table::DELEGATION_ANSWERS, "endpoint" => endpoint, "outcome" => "ok").increment(0);
    }
    for kind in ["router", "selector", "spender"] {
        counter!(table::UNREVIEWED, "kind" => kind).increment(0);
    }
    for action in Action::ALL {
        counter!(table::WALLET_ACTIONS_UNCHARGED, "operation" => action.as_str()).increment(0);
    }
    counter!(table::WALLET_ACTIONS_REORGANISED).increment(0);
    data_sources::worth::begin_metric();
    counter!(table::SETTLED).increment(0);
    counter!(table::SETTLED_MICRO_USD).increment(0);
    counter!(table::WITHOUT_RECORD).increment(0);
    open_payments(&OpenCounts::default(), 0);
    ledger_bytes(0);
    wallet_faults(&WalletFaults::default());
    gauge!(table::PAID_CALLS_IN_FLIGHT).increment(0.0);
    // Zero would mean that the account is empty.
    settlements_left(None);
    gauge!(table::GAS_BALANCE_WEI).set(f64::NAN);
    clock_difference(0);
}

/// Creates the series of these upstreams before the first unreadable row.
pub(crate) fn count_tolerated_of(upstreams: impl Iterator<Item = &'static str>) {
    for upstream in upstreams {
        counter!(table::UPSTREAM_TOLERATED, "upstream" => upstream).increment(0);
    }
}

/// Counters of unpaid calls, one for each operation. Each is looked up once.
pub(crate) struct Challenges {
    counters: Vec<Counter>,
}

impl Challenges {
    pub(crate) fn new() -> Self {
        let of = |operation: &Operation| counter!(table::UNPAID_CHALLENGES, "operation" => operation.name());
        Self {
            counters: Operation::ALL.iter().map(of).collect(),
        }
    }

    pub(crate) fn count(&self, operation: Operation) {
        let index = Operation::ALL.iter().position(|other| *other == operation);
        if let Some(counter) = index.and_then(|index| self.counters.get(index)) {
            counter.increment(1);
        }
    }
}

/// The metrics of the served calls of one operation.
struct Served {
    calls: Counter,
    seconds: Histogram,
}

/// The metrics of each operation. Each is looked up at its first use.
static SERVED: [OnceLock<Served>; Operation::ALL.len()] =
    [const { OnceLock::new() }; Operation::ALL.len()];

pub(crate) fn paid_call(operation: Operation, outcome: &'static str, took: Duration) {
    let index = Operation::ALL.iter().position(|other| *other == operation);
    let operation = operation.name();
    let calls = || counter!(table::PAID_CALLS, "operation" => operation, "outcome" => outcome);
    let served = index.and_then(|index| SERVED.get(index));
    if let Some(served) = served.filter(|_| outcome == "served") {
        let served = served.get_or_init(|| {
            // A handle that is taken before a recorder is installed counts nothing.
            METRICS.install();
            Served {
                calls: calls(),
                seconds: histogram!(table::PAID_CALL_SECONDS, "operation" => operation),
            }
        });
        served.calls.increment(1);
        served.seconds.record(took.as_secs_f64());
    } else {
        calls().increment(1);
    }
}

/// Counters of declined payments by reason. Each is looked up at its first use.
static DECLINED: [OnceLock<Counter>; Reason::NAMED.len() + 1] =
    [const { OnceLock::new() }; Reason::NAMED.len() + 1];

pub(crate) fn declined(reason: &Reason) {
    // A facilitator's unknown code counts as `other`: otherwise a caller could invent label values.
    let named = Reason::NAMED.iter().position(|named| named == reason);
    let label = named.map_or("other", |_| reason.as_str()).to_owned();
    if let Some(counter) = DECLINED.get(named.unwrap_or(Reason::NAMED.len())) {
        counter
            .get_or_init(|| counter!(table::DECLINED, "reason" => label))
            .increment(1);
    }
}

static SETTLED: OnceLock<(Counter, Counter)> = OnceLock::new();

pub(crate) fn settled(receipt: &Receipt) {
    let (payments, micro_usd) = SETTLED.get_or_init(|| {
        METRICS.install();
        (counter!(table::SETTLED), counter!(table::SETTLED_MICRO_USD))
    });
    payments.increment(1);
    micro_usd.increment(u64::try_from(receipt.amount).unwrap_or(u64::MAX));
}

/// Counts an answer below `/delegation/` as `ok` or by the code of its refusal.
pub(crate) fn delegation_answer(endpoint: &'static str, outcome: &'static str) {
    counter!(table::DELEGATION_ANSWERS, "endpoint" => endpoint, "outcome" => outcome).increment(1);
}

/// Counts an unreviewed contract or function that the aggregator named.
pub(crate) fn unreviewed(kind: &'static str) {
    counter!(table::UNREVIEWED, "kind" => kind).increment(1);
}

/// Counts an action that was done but not charged because the window of its payment closed first.
pub(crate) fn action_uncharged(operation: &'static str) {
    counter!(table::WALLET_ACTIONS_UNCHARGED, "operation" => operation).increment(1);
}

/// Counts a call that was refused because no credit covered its work.
pub(crate) fn credit_refused(class: WorkClass) {
    counter!(table::CREDIT_REFUSALS, "class" => class_name(class)).increment(1);
}

const fn class_name(class: WorkClass) -> &'static str {
    match class {
        WorkClass::Data => "data",
        WorkClass::Model => "model",
        WorkClass::Transaction => "transaction",
    }
}

/// Counts a paid call as in flight until this is dropped.
pub(crate) struct InFlight(Gauge);

/// Counts a paid call that begins.
pub(crate) fn in_flight() -> InFlight {
    static CALLS: OnceLock<Gauge> = OnceLock::new();
    let calls = CALLS.get_or_init(|| {
        // A handle that is taken before a recorder is installed counts nothing.
        METRICS.install();
        gauge!(table::PAID_CALLS_IN_FLIGHT)
    });
    InFlight::enter(calls.clone())
}

impl InFlight {
    fn enter(calls: Gauge) -> Self {
        calls.increment(1.0);
        Self(calls)
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        self.0.decrement(1.0);
    }
}

/// Counts a payment that the chain knows and the ledger does not.
pub(crate) fn payment_without_record() {
    counter!(table::WITHOUT_RECORD).increment(1);
}

/// Shows how many payments in the ledger are undecided, and for how long at `now` (Unix seconds).
pub(crate) fn open_payments(counts: &OpenCounts, now: u64) {
    for (state, payments) in [
        ("in_flight", counts.in_flight),
        ("unknown", counts.unknown),
        ("undecidable", counts.undecidable),
    ] {
        gauge!(table::OPEN, "state" => state).set(as_float(payments));
    }
    let since = counts.oldest_unknown.unwrap_or(now);
    gauge!(table::OLDEST_UNKNOWN).set(as_float(now.saturating_sub(since)));
}

/// Shows the bytes of the ledger on disk.
pub(crate) fn ledger_bytes(bytes: u64) {
    gauge!(table::LEDGER_BYTES).set(as_float(bytes));
}

/// Shows how many files of sub-wallets cannot be used, by the codes of their faults.
pub(crate) fn wallet_faults(faults: &WalletFaults) {
    let faults = faults.all();
    let count = |is_counted: &dyn Fn(&str) -> bool| {
        let counted = faults.iter().filter(|fault| is_counted(fault.code)).count();
        as_float(u64::try_from(counted).unwrap_or(u64::MAX))
    };
    for code in FileFault::CODES {
        gauge!(table::WALLET_FILES_UNUSABLE, "code" => code).set(count(&|other| other == code));
    }
    let others = count(&|code| !FileFault::CODES.contains(&code));
    gauge!(table::WALLET_FILES_UNUSABLE, "code" => "other").set(others);
}

/// Shows how many settlements the gas account can still pay. `None` when that is unknown or another
/// account pays.
pub(crate) fn settlements_left(settlements: Option<u64>) {
    gauge!(table::SETTLEMENTS_LEFT).set(settlements.map_or(f64::NAN, as_float));
}

/// Shows by how many seconds the machine's clock is ahead of the chain's if they contradict each
/// other, otherwise 0.
pub(crate) fn clock_difference(seconds: i64) {
    gauge!(table::CLOCK_DIFFERENCE).set(as_float(seconds));
}

/// Shows whether each upstream's last calls worked.
pub(crate) fn upstreams(calls: impl Iterator<Item = SourceHealth>) {
    for call in calls {
        gauges::state(call.source, call.state);
        if call.state == HealthState::Disabled {
            continue;
        }
        let up = if call.state == HealthState::Unavailable {
            0.0
        } else {
            1.0
        };
        gauge!(table::UPSTREAM_UP, "source" => call.source).set(up);
    }
}

/// Converts a count for a gauge. Counts beyond 2^53 lose their last digits.
#[expect(
    clippy::as_conversions,
    clippy::cast_precision_loss,
    reason = "gauges are floats, and no amount of money"
)]
fn as_float(count: impl Into<i128>) -> f64 {
    count.into() as f64
}

#[cfg(test)]
mod tests {
    use metrics_exporter_prometheus::PrometheusBuilder;

    use super::*;

    /// The text of a scrape after some events, from a recorder of its own.
    fn scraped(events: impl FnOnce()) -> String {
        let recorder = PrometheusBuilder::new().build_recorder();
        let handle = recorder.handle();
        metrics::with_local_recorder(&recorder, events);
        handle.render()
    }

    /// The value of a series.
    fn value<'a>(text: &'a str, series: &str) -> Option<&'a str> {
        text.lines()
            .filter_map(|line| line.rsplit_once(' '))
            .find_map(|(name, value)| (name == series).then_some(value))
    }

    #[test]
    fn every_metric_exists_before_its_first_event() {
        let text = scraped(start_at_zero);
        for metric in table::METRICS {
            assert!(metric.name.starts_with("svc_"), "{}", metric.name);
            let elsewhere_or_at_first_use = [
                "svc_connections",
                "svc_connections_refused_total",
                "svc_facilitator_seconds",
                "svc_rpc_seconds",
                table::PAID_CALL_SECONDS,
                table::UPSTREAM_UP,
                table::UPSTREAM_STATE,
                table::UPSTREAM_TOLERATED,
                table::PROBE_BROKEN,
                table::PROBE_TOLERATED,
            ];
            // A sender's series carry the account as a label, so they begin with the account's
            // first transaction. No alert waits for the first of these wallets' events.
            let begins_later = [
                "svc_sender_",
                "svc_wallet_actions_held_total",
                "svc_wallet_actions_total",
                "svc_wallet_gas_topups_",
            ];
            let of_an_account = begins_later.iter().any(|it| metric.name.starts_with(it));
            let exists = text
                .lines()
                .any(|line| !line.starts_with('#') && line.starts_with(metric.name));
            assert_eq!(
                exists,
                !of_an_account && !elsewhere_or_at_first_use.contains(&metric.name),
                "{}:\n{text}",
                metric.name
            );
        }
        for series in [
            "svc_paid_calls_total{operation=\"price\",outcome=\"settlement_pending\"}",
            "svc_credit_refusals_total{class=\"model\"}",
            "svc_payments_declined_total{reason=\"other\"}",
            "svc_payments_open{state=\"undecidable\"}",
            "svc_wallet_actions_uncharged_total{operation=\"defi_invest\"}",
            "svc_wallet_actions_reorganised_total",
        ] {
            assert_eq!(value(&text, series), Some("0"), "{series}");
        }
        assert_eq!(value(&text, "svc_settlements_left"), Some("NaN"));
        assert_eq!(value(&text, "svc_gas_balance_wei"), Some("NaN"));
        let build = concat!(
            "svc_build_info{version=\"",
            env!("CARGO_PKG_VERSION"),
            "\"}"
        );
        assert_eq!(value(&text, build), Some("1"));
    }

    #[test]
    fn a_call_is_in_flight_until_it_ends() {
        let calls = || gauge!(table::PAID_CALLS_IN_FLIGHT);
        for (left, expected) in [(0, "0"), (2, "2")] {
            let text = scraped(|| {
                let mut begun: Vec<InFlight> = (0..3).map(|_| InFlight::enter(calls())).collect();
                begun.truncate(left);
                std::mem::forget(begun);
            });
            assert_eq!(value(&text, "svc_paid_calls_in_flight"), Some(expected));
        }
    }

    #[test]
    fn metrics_show_their_values() {
        let text = scraped(|| {
            clock_difference(-31);
            ledger_bytes(4096);
            settlements_left(Some(12));
            payment_without_record();
            let counts = OpenCounts {
                unknown: 3,
                oldest_unknown: Some(100),
                ..OpenCounts::default()
            };
            open_payments(&counts, 170);
        });
        for (series, expected) in [
            ("svc_clock_difference_seconds", "-31"),
            ("svc_ledger_bytes", "4096"),
            ("svc_payments_without_record_total", "1"),
            ("svc_settlements_left", "12"),
            ("svc_payments_open{state=\"unknown\"}", "3"),
            ("svc_payments_open{state=\"in_flight\"}", "0"),
            ("svc_payments_oldest_unknown_seconds", "70"),
        ] {
            assert_eq!(value(&text, series), Some(expected), "{series}");
        }
    }
}
