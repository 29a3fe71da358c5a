//! Metrics for operators, and the functions that count. No label takes its value from a caller's
//! text.

use std::time::Duration;

use data_sources::{gauges, worth};
use metrics::{
    Counter, Gauge, Histogram, counter, describe_counter, describe_gauge, describe_histogram,
    gauge, histogram,
};
use server_process::{BUILD_INFO, HTTP_ANSWERS, Metrics, begin_series};

/// The methods that have a label. A caller cannot add further labels.
const METHODS: [&str; 7] = [
    "initialize",
    "logging/setLevel",
    "notifications/initialized",
    "ping",
    "server/discover",
    "tools/call",
    "tools/list",
];

/// The statuses whose series exist from the start.
const STATUSES: [&str; 12] = [
    "200", "202", "204", "400", "403", "404", "405", "406", "408", "413", "415", "503",
];

/// The process's metrics.
pub(crate) static METRICS: Metrics = Metrics::new(|| {
    describe();
    begin_series(env!("CARGO_PKG_VERSION"), &STATUSES);
});

fn describe() {
    describe_gauge!(BUILD_INFO, "always 1; its label is the version");
    describe_gauge!("svc_mcp_calls_in_flight", "tool calls in progress");
    gauges::describe();
    data_sources::probe::describe();
    describe_counter!(
        "svc_mcp_messages_total",
        "requests and notifications by method"
    );
    describe_counter!(
        "svc_mcp_malformed_total",
        "messages refused for their form, headers or revision"
    );
    describe_counter!("svc_mcp_tool_calls_total", "tool calls by tool and outcome");
    describe_histogram!(
        "svc_mcp_tool_call_seconds",
        "time from a call's message to its result"
    );
    describe_counter!(HTTP_ANSWERS, "answers by status");
    describe_counter!(
        worth::JUDGEMENTS,
        "judgements of what swaps are worth, by result"
    );
    worth::begin_metric();
}

/// The dispatcher's counters, each looked up once.
pub(crate) struct Calls {
    methods: [Counter; METHODS.len()],
    other_method: Counter,
    malformed: Counter,
    unknown: Counter,
    tools: Vec<Tool>,
    in_flight: Gauge,
}

/// Counts one call in the gauge of calls in progress until it is dropped.
pub(crate) struct InFlight(Gauge);

impl Drop for InFlight {
    fn drop(&mut self) {
        self.0.decrement(1);
    }
}

struct Tool {
    name: String,
    answered: Counter,
    refused: Counter,
    seconds: Histogram,
}

impl Calls {
    pub(crate) fn new<'a>(tools: impl Iterator<Item = &'a str>) -> Self {
        METRICS.install();
        let call = |tool: &str, outcome: &'static str| counter!("svc_mcp_tool_calls_total", "tool" => tool.to_owned(), "outcome" => outcome);
        let tools = tools.map(|name| Tool {
            name: name.to_owned(),
            answered: call(name, "answered"),
            refused: call(name, "refused"),
            seconds: histogram!("svc_mcp_tool_call_seconds", "tool" => name.to_owned()),
        });
        Self {
            methods: METHODS.map(|method| counter!("svc_mcp_messages_total", "method" => method)),
            other_method: counter!("svc_mcp_messages_total", "method" => "other"),
            malformed: counter!("svc_mcp_malformed_total"),
            unknown: call("other", "unknown"),
            tools: tools.collect(),
            in_flight: gauge!("svc_mcp_calls_in_flight"),
        }
    }

    /// Counts a call as in progress until the returned value is dropped.
    pub(crate) fn begin(&self) -> InFlight {
        self.in_flight.increment(1);
        InFlight(self.in_flight.clone())
    }

    pub(crate) fn message(&self, method: &str) {
        let index = METHODS.iter().position(|known| *known == method);
        let counter = index.and_then(|index| self.methods.get(index));
        counter.unwrap_or(&self.other_method).increment(1);
    }

    pub(crate) fn malformed(&self) {
        self.malformed.increment(1);
    }

    pub(crate) fn unknown(&self) {
        self.unknown.increment(1);
    }

    pub(crate) fn called(&self, name: &str, is_error: bool, took: Duration) {
        if let Some(tool) = self.tools.iter().find(|tool| tool.name == name) {
            let outcome = if is_error {
                &tool.refused
            } else {
                &tool.answered
            };
            outcome.increment(1);
            tool.seconds.record(took.as_secs_f64());
        }
    }
}
