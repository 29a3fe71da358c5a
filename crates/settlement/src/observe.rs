//! Metrics of the calls that this crate makes, through the `metrics` facade.

use std::time::Duration;

use alloy_primitives::U256;

use crate::http::Reply;
use crate::{Call, Cause};

/// Seconds that a facilitator or broker took for one call, by `call` and `outcome`.
const FACILITATOR_SECONDS: &str = "svc_facilitator_seconds";

/// Seconds that a node took for one call, by `method` and `outcome`.
const RPC_SECONDS: &str = "svc_rpc_seconds";

/// What the account that pays the gas holds, in the smallest unit of the chain's coin.
const GAS_BALANCE_WEI: &str = "svc_gas_balance_wei";

/// The values of the label `outcome`.
const OUTCOMES: [&str; 2] = ["ok", "error"];

/// Counts one call. `outcome` is `ok` for any complete answer below status 500, a refusal or a
/// revert included, and `error` for everything else: both are counted, so that a slow failure
/// shows.
pub(crate) fn answered(call: Call, reply: Result<&Reply, &Cause>, took: Duration) {
    let answered = reply.is_ok_and(|reply| reply.status < 500);
    let outcome = if answered { "ok" } else { "error" };
    let seconds = took.as_secs_f64();
    match call {
        Call::Rpc(method) => {
            metrics::histogram!(RPC_SECONDS, "method" => method, "outcome" => outcome)
                .record(seconds);
        }
        call => {
            metrics::histogram!(FACILITATOR_SECONDS, "call" => call.as_str(), "outcome" => outcome)
                .record(seconds);
        }
    }
}

/// Makes the series of a facilitator's or broker's calls exist before the first call.
pub(crate) fn start_facilitator(calls: &[Call]) {
    for call in calls {
        for outcome in OUTCOMES {
            // A histogram exists from when it is asked for.
            let _ = metrics::histogram!(FACILITATOR_SECONDS, "call" => call.as_str(), "outcome" => outcome);
        }
    }
}

/// Makes the series of a node's calls exist before the first call.
pub(crate) fn start_rpc(methods: &[&'static str]) {
    for method in methods.iter().copied() {
        for outcome in OUTCOMES {
            let _ = metrics::histogram!(RPC_SECONDS, "method" => method, "outcome" => outcome);
        }
    }
}

/// The balance of the account that pays the gas has been read.
pub(crate) fn gas_balance(balance: U256) {
    metrics::gauge!(GAS_BALANCE_WEI).set(f64::from(balance));
}

/// Describes the metrics of this crate to the recorder.
pub(crate) fn describe() {
    metrics::describe_histogram!(
        FACILITATOR_SECONDS,
        metrics::Unit::Seconds,
        "time that a facilitator or broker took for one call"
    );
    metrics::describe_gauge!(GAS_BALANCE_WEI, "what the account that pays the gas holds");
    metrics::describe_histogram!(
        RPC_SECONDS,
        metrics::Unit::Seconds,
        "time that a node took for one call"
    );
}
