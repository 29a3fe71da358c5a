//! The metrics of this crate's calls, through the `metrics` facade.

use std::time::Duration;

use alloy_primitives::U256;

use crate::RemoteCall;

/// The duration of a call to a facilitator or broker in seconds, by `call` and `outcome`.
const FACILITATOR_SECONDS: &str = "svc_facilitator_seconds";

/// The duration of a call to a node in seconds, by `method` and `outcome`.
const RPC_SECONDS: &str = "svc_rpc_seconds";

/// The balance of the account that pays the gas, in the smallest unit of the chain's coin.
const GAS_BALANCE_WEI: &str = "svc_gas_balance_wei";

/// The values of the label `outcome`.
const OUTCOMES: [&str; 2] = ["ok", "error"];

/// Records one call with the status of its answer, if one came completely. `outcome` is `ok` for
/// any complete answer below status 500, even for a refusal or a revert. Otherwise it is `error`.
/// Both have durations, so that a slow failure is visible.
pub(crate) fn answered(call: RemoteCall, status: Option<u16>, took: Duration) {
    let answered = status.is_some_and(|status| status < 500);
    let outcome = if answered { "ok" } else { "error" };
    let seconds = took.as_secs_f64();
    match call {
        RemoteCall::Rpc(method) => {
            metrics::histogram!(RPC_SECONDS, "method" => method, "outcome" => outcome)
                .record(seconds);
        }
        call => {
            metrics::histogram!(FACILITATOR_SECONDS, "call" => call.as_str(), "outcome" => outcome)
                .record(seconds);
        }
    }
}

/// Creates the series of the calls to a facilitator or broker before the first call.
pub(crate) fn start_facilitator(calls: &[RemoteCall]) {
    for call in calls {
        for outcome in OUTCOMES {
            // Asking for a histogram creates it.
            let _ = metrics::histogram!(FACILITATOR_SECONDS, "call" => call.as_str(), "outcome" => outcome);
        }
    }
}

/// Creates the series of the calls to a node before the first call.
pub(crate) fn start_rpc(methods: &[&'static str]) {
    for method in methods.iter().copied() {
        for outcome in OUTCOMES {
            let _ = metrics::histogram!(RPC_SECONDS, "method" => method, "outcome" => outcome);
        }
    }
}

/// Records the balance of the account that pays the gas.
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
