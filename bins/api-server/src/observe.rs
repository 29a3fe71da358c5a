//! What operators see: metrics and the log.

use std::sync::OnceLock;
use std::time::Duration;

use metrics::{
    Counter, Histogram, counter, describe_counter, describe_gauge, describe_histogram, histogram,
};
use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle};
use route_catalog::{Operation, WorkClass};
pub(crate) use server_config::start_log;
use settlement::Receipt;
use x402_wire::Reason;

const SECONDS: [f64; 11] = [
    0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0, 30.0,
];

static METRICS: OnceLock<Option<PrometheusHandle>> = OnceLock::new();

/// The process's metrics, installed at the first call; `None` when another recorder is installed.
pub(crate) fn metrics() -> Option<&'static PrometheusHandle> {
    METRICS
        .get_or_init(|| {
            let builder = PrometheusBuilder::new()
                .set_buckets_for_metric(Matcher::Suffix("_seconds".to_owned()), &SECONDS)
                .ok()?;
            let handle = builder.install_recorder().ok()?;
            describe_counter!(
                "http_unpaid_challenges_total",
                "402 answers to calls without payment"
            );
            describe_counter!(
                "paid_calls_total",
                "calls with a payment header by operation and outcome"
            );
            describe_counter!("payments_declined_total", "declined payments by reason");
            describe_counter!("payments_settled_total", "settled payments");
            describe_counter!(
                "payments_settled_micro_usd_total",
                "settled amounts in millionths of a dollar"
            );
            describe_counter!(
                "http_answers_total",
                "answers of the free endpoints by status"
            );
            describe_gauge!(
                "payments_undecided",
                "payments whose outcome was unknown at the last look"
            );
            describe_histogram!(
                "paid_call_seconds",
                "time from request to answer of served paid calls"
            );
            Some(handle)
        })
        .as_ref()
}

/// Folds recorded samples into their buckets from time to time, so that they take no memory when nobody scrapes.
pub(crate) async fn keep_metrics() {
    let mut ticks = tokio::time::interval(Duration::from_secs(5));
    loop {
        ticks.tick().await;
        if let Some(handle) = metrics() {
            handle.run_upkeep();
        }
    }
}

/// Counters of unpaid calls, one for each operation, looked up once.
pub(crate) struct Challenges {
    counters: Vec<Counter>,
}

impl Challenges {
    pub(crate) fn new() -> Self {
        let of = |operation: &Operation| counter!("http_unpaid_challenges_total", "operation" => operation.name());
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

/// What is counted of served calls of one operation.
struct Served {
    calls: Counter,
    seconds: Histogram,
}

/// By operation, each looked up at its first use.
static SERVED: [OnceLock<Served>; Operation::ALL.len()] =
    [const { OnceLock::new() }; Operation::ALL.len()];

pub(crate) fn paid_call(operation: Operation, outcome: &'static str, took: Duration) {
    let index = Operation::ALL.iter().position(|other| *other == operation);
    let operation = operation.name();
    let calls = || counter!("paid_calls_total", "operation" => operation, "outcome" => outcome);
    let served = index.and_then(|index| SERVED.get(index));
    if let Some(served) = served.filter(|_| outcome == "served") {
        let served = served.get_or_init(|| {
            // A handle that is taken before there is a recorder counts nothing.
            metrics();
            Served {
                calls: calls(),
                seconds: histogram!("paid_call_seconds", "operation" => operation),
            }
        });
        served.calls.increment(1);
        served.seconds.record(took.as_secs_f64());
    } else {
        calls().increment(1);
    }
}

/// Counters of declined payments by reason, each looked up at its first use.
static DECLINED: [OnceLock<Counter>; Reason::NAMED.len() + 1] =
    [const { OnceLock::new() }; Reason::NAMED.len() + 1];

pub(crate) fn declined(reason: &Reason) {
    // Codes of a facilitator that have no name here would let a caller make up label values.
    let named = Reason::NAMED.iter().position(|named| named == reason);
    let label = named.map_or("other", |_| reason.as_str()).to_owned();
    if let Some(counter) = DECLINED.get(named.unwrap_or(Reason::NAMED.len())) {
        counter
            .get_or_init(|| counter!("payments_declined_total", "reason" => label))
            .increment(1);
    }
}

static SETTLED: OnceLock<(Counter, Counter)> = OnceLock::new();

pub(crate) fn settled(receipt: &Receipt) {
    let (payments, micro_usd) = SETTLED.get_or_init(|| {
        metrics();
        (
            counter!("payments_settled_total"),
            counter!("payments_settled_micro_usd_total"),
        )
    });
    payments.increment(1);
    micro_usd.increment(u64::try_from(receipt.amount).unwrap_or(u64::MAX));
}

pub(crate) fn free_answer(status: u16) {
    counter!("http_answers_total", "status" => status.to_string()).increment(1);
}

/// A call that was refused because nobody's credit covered its work.
pub(crate) fn credit_refused(class: WorkClass) {
    let class = match class {
        WorkClass::Data => "data",
        WorkClass::Model => "model",
        WorkClass::Transaction => "transaction",
    };
    counter!("svc_credit_refusals_total", "class" => class).increment(1);
}
