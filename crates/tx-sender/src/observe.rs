//! The metrics of the sender, through the `metrics` facade.

use std::time::Duration;

use crate::Lane;

const RPC_SECONDS: &str = "svc_rpc_seconds";
const DEPTH: &str = "svc_sender_depth";
const OLDEST_SECONDS: &str = "svc_sender_oldest_seconds";
const TRANSACTIONS_LEFT: &str = "svc_sender_transactions_left";
const HELD: &str = "svc_sender_held";
const BUMPS: &str = "svc_sender_bumps_total";
const REORGANISED: &str = "svc_sender_reorganised_total";

/// Describes the metrics of this crate to the recorder.
pub fn describe() {
    use metrics::{Unit, describe_counter, describe_gauge};
    describe_gauge!(
        DEPTH,
        "transactions of a lane that are not in a block for good"
    );
    describe_gauge!(
        OLDEST_SECONDS,
        Unit::Seconds,
        "age of the oldest transaction of a lane that is not in a block for good"
    );
    describe_gauge!(
        TRANSACTIONS_LEFT,
        "transactions like the last one that the account of a lane can still pay for"
    );
    describe_gauge!(HELD, "1 while a lane is held by this cause");
    describe_counter!(BUMPS, "replacements with higher fees");
    describe_counter!(REORGANISED, "outcomes that a reorganisation has taken back");
}

/// Records the duration of one call to a node.
pub(crate) fn record_call(method: &'static str, answered: bool, took: Duration) {
    let outcome = if answered { "ok" } else { "error" };
    metrics::histogram!(RPC_SECONDS, "method" => method, "outcome" => outcome)
        .record(took.as_secs_f64());
}

/// The metrics of one lane.
#[derive(Debug)]
pub(crate) struct LaneMetrics {
    chain: String,
    account: String,
}

impl LaneMetrics {
    /// Makes the metrics of a lane. Creates the series of its counters, so that the first event
    /// shows as an increase.
    pub(crate) fn new(lane: Lane) -> Self {
        let metrics = Self {
            chain: lane.chain_id.to_string(),
            account: lane.account.to_string(),
        };
        for name in [BUMPS, REORGANISED] {
            metrics.counter(name).increment(0);
        }
        metrics
    }

    fn gauge(&self, name: &'static str) -> metrics::Gauge {
        metrics::gauge!(name, "chain" => self.chain.clone(), "account" => self.account.clone())
    }

    fn counter(&self, name: &'static str) -> metrics::Counter {
        metrics::counter!(name, "chain" => self.chain.clone(), "account" => self.account.clone())
    }

    pub(crate) fn depth(&self, depth: usize, oldest_seconds: u64) {
        self.gauge(DEPTH)
            .set(u32::try_from(depth).unwrap_or(u32::MAX));
        let seconds = u32::try_from(oldest_seconds).unwrap_or(u32::MAX);
        self.gauge(OLDEST_SECONDS).set(seconds);
    }

    pub(crate) fn left(&self, transactions: u64) {
        let left = u32::try_from(transactions).unwrap_or(u32::MAX);
        self.gauge(TRANSACTIONS_LEFT).set(left);
    }

    pub(crate) fn bumped(&self) {
        self.counter(BUMPS).increment(1);
    }

    pub(crate) fn reorganised(&self) {
        self.counter(REORGANISED).increment(1);
    }

    pub(crate) fn held(&self, cause: &'static str, held: bool) {
        metrics::gauge!(
            HELD,
            "chain" => self.chain.clone(),
            "account" => self.account.clone(),
            "cause" => cause
        )
        .set(if held { 1 } else { 0 });
    }
}
