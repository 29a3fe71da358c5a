//! Every metric of this server as one table, for the recorder and for `docs/OPERATIONS.md`. A test
//! compares the document with it.

use data_sources::worth::JUDGEMENTS;
use metrics::{describe_counter, describe_gauge, describe_histogram};
use server_process::{BUILD_INFO, HTTP_ANSWERS};

pub(super) const UNPAID_CHALLENGES: &str = "svc_unpaid_challenges_total";
pub(super) const PAID_CALLS: &str = "svc_paid_calls_total";
pub(super) const PAID_CALL_SECONDS: &str = "svc_paid_call_seconds";
pub(super) const PAID_CALLS_IN_FLIGHT: &str = "svc_paid_calls_in_flight";
pub(super) const DECLINED: &str = "svc_payments_declined_total";
pub(super) const SETTLED: &str = "svc_payments_settled_total";
pub(super) const SETTLED_MICRO_USD: &str = "svc_payments_settled_micro_usd_total";
pub(super) const OPEN: &str = "svc_payments_open";
pub(super) const OLDEST_UNKNOWN: &str = "svc_payments_oldest_unknown_seconds";
pub(super) const WITHOUT_RECORD: &str = "svc_payments_without_record_total";
pub(super) const CREDIT_REFUSALS: &str = "svc_credit_refusals_total";
pub(super) const LEDGER_BYTES: &str = "svc_ledger_bytes";
pub(super) const SETTLEMENTS_LEFT: &str = "svc_settlements_left";
pub(super) const GAS_BALANCE_WEI: &str = "svc_gas_balance_wei";
pub(super) const CLOCK_DIFFERENCE: &str = "svc_clock_difference_seconds";
pub(super) const UPSTREAM_UP: &str = "svc_upstream_up";
pub(super) const UPSTREAM_STATE: &str = "svc_upstream_state";
pub(super) const UPSTREAM_TOLERATED: &str = "svc_upstream_tolerated_total";
pub(super) const PROBE_BROKEN: &str = "svc_probe_broken_sources";
pub(super) const PROBE_TOLERATED: &str = "svc_probe_tolerated_members";
pub(super) const UNREVIEWED: &str = "svc_unreviewed_contracts_total";
pub(super) const DELEGATION_ANSWERS: &str = "svc_delegation_answers_total";
pub(super) const WALLET_FILES_UNUSABLE: &str = "svc_wallet_files_unusable";
pub(super) const WALLET_ACTIONS_UNCHARGED: &str = "svc_wallet_actions_uncharged_total";
pub(super) const WALLET_ACTIONS_REORGANISED: &str = "svc_wallet_actions_reorganised_total";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Counter,
    Gauge,
    Histogram,
}

pub(super) struct Metric {
    pub(super) name: &'static str,
    pub(super) kind: Kind,
    #[cfg_attr(not(test), expect(dead_code, reason = "the documentation lists them"))]
    pub(super) labels: &'static [&'static str],
    /// Markdown for people.
    pub(super) help: &'static str,
}

use Kind::{Counter, Gauge, Histogram};

/// In the order of the documentation. Crates below this one record some of them.
pub(super) const METRICS: [Metric; 41] = [
    Metric {
        name: UNPAID_CHALLENGES,
        kind: Counter,
        labels: &["operation"],
        help: "calls without a payment header, answered 402",
    },
    Metric {
        name: PAID_CALLS,
        kind: Counter,
        labels: &["operation", "outcome"],
        help: "calls whose payment could be read. `outcome` is `served`, `served_again`, `declined` (402) or an error code",
    },
    Metric {
        name: PAID_CALL_SECONDS,
        kind: Histogram,
        labels: &["operation"],
        help: "time to answer of calls that were served for the first time. The one histogram that does not exist from the start: an operation's series begins with its first such call",
    },
    Metric {
        name: PAID_CALLS_IN_FLIGHT,
        kind: Gauge,
        labels: &[],
        help: "paid calls in progress, including those whose callers hung up",
    },
    Metric {
        name: DECLINED,
        kind: Counter,
        labels: &["reason"],
        help: "402 to a payment, by reason; `other` for codes that are not listed",
    },
    Metric {
        name: SETTLED,
        kind: Counter,
        labels: &[],
        help: "settled payments, including those that were found settled later",
    },
    Metric {
        name: SETTLED_MICRO_USD,
        kind: Counter,
        labels: &[],
        help: "their sum in millionths of a dollar",
    },
    Metric {
        name: OPEN,
        kind: Gauge,
        labels: &["state"],
        help: "undecided payments in the ledger. `state` is `in_flight`, `unknown` (the server finds out) or `undecidable` (left to the operator)",
    },
    Metric {
        name: OLDEST_UNKNOWN,
        kind: Gauge,
        labels: &[],
        help: "seconds for which the outcome of a payment in the ledger has been unknown, of the payment with the longest time; 0 without one",
    },
    Metric {
        name: WITHOUT_RECORD,
        kind: Counter,
        labels: &[],
        help: "calls with a payment that the chain shows as made to this service and the ledger does not know (409, reason `no_answer`; needs `rpc_url`). The ledger has lost commits, or a payer has sent an authorization to the chain itself",
    },
    Metric {
        name: CREDIT_REFUSALS,
        kind: Counter,
        labels: &["class"],
        help: "calls refused because no credit covered their work. `class` is `data`, `model` or `transaction`",
    },
    Metric {
        name: LEDGER_BYTES,
        kind: Gauge,
        labels: &[],
        help: "bytes of the ledger on disk, its log included",
    },
    Metric {
        name: SETTLEMENTS_LEFT,
        kind: Gauge,
        labels: &[],
        help: "settlements that the gas account can still pay at the present fee. `/metrics`, `/readyz` and `/status` look it up, at most every 2 s; `NaN` before the first look-up and when the server does not settle itself",
    },
    Metric {
        name: GAS_BALANCE_WEI,
        kind: Gauge,
        labels: &[],
        help: "the balance of the gas account, in the smallest unit of the chain's coin; as old as `svc_settlements_left`, and `NaN` whenever that is",
    },
    Metric {
        name: CLOCK_DIFFERENCE,
        kind: Gauge,
        labels: &[],
        help: "seconds by which the machine's clock is ahead of the chain's if they contradict each other, otherwise 0; as old as `svc_settlements_left`",
    },
    Metric {
        name: UPSTREAM_UP,
        kind: Gauge,
        labels: &["source"],
        help: "0 when an upstream call is `unavailable` in `/status`, otherwise 1; disabled ones are not listed",
    },
    Metric {
        name: UPSTREAM_STATE,
        kind: Gauge,
        labels: &["upstream", "state"],
        help: "1 for the present state of an upstream call, as in `/status`, 0 for the other states",
    },
    Metric {
        name: PROBE_BROKEN,
        kind: Gauge,
        labels: &["upstream"],
        help: "sources of an upstream that the last probe found broken. Exists from the first probe on",
    },
    Metric {
        name: PROBE_TOLERATED,
        kind: Gauge,
        labels: &["upstream"],
        help: "members in an upstream's answers at the last probe that are unknown to the recorded form. Exists from the first probe on",
    },
    Metric {
        name: UPSTREAM_TOLERATED,
        kind: Counter,
        labels: &["upstream"],
        help: "unreadable rows and figures in an upstream's answers. They were left out; the rest of each answer was used. `/status` has the count of each source",
    },
    Metric {
        name: UNREVIEWED,
        kind: Counter,
        labels: &["kind"],
        help: "quotes of the chain's aggregator that were refused because they name an unreviewed contract or function. `kind` is `router`, `selector` or `spender`; `/status` shows what was observed",
    },
    Metric {
        name: DELEGATION_ANSWERS,
        kind: Counter,
        labels: &["endpoint", "outcome"],
        help: "answers below `/delegation/`. `outcome` is `ok` or the code of the refusal",
    },
    Metric {
        name: HTTP_ANSWERS,
        kind: Counter,
        labels: &["status"],
        help: "answers of the free endpoints and of unknown paths",
    },
    Metric {
        name: BUILD_INFO,
        kind: Gauge,
        labels: &["version"],
        help: "always 1",
    },
    Metric {
        name: "svc_connections",
        kind: Gauge,
        labels: &[],
        help: "open connections",
    },
    Metric {
        name: "svc_connections_refused_total",
        kind: Counter,
        labels: &[],
        help: "connections that were closed at once: their address had `max_connections_per_address` open",
    },
    Metric {
        name: "svc_facilitator_seconds",
        kind: Histogram,
        labels: &["call", "outcome"],
        help: "duration of one call to the facilitator or the broker; `outcome` is `ok` or `error`",
    },
    Metric {
        name: "svc_rpc_seconds",
        kind: Histogram,
        labels: &["method", "outcome"],
        help: "duration of one call to the settlement's nodes",
    },
    Metric {
        name: "svc_sender_depth",
        kind: Gauge,
        labels: &["chain", "account"],
        help: "own transactions (settlements in mode `onchain`, wallets, the fence) that are not final yet. Like the following metrics, it exists from the first transaction on",
    },
    Metric {
        name: "svc_sender_oldest_seconds",
        kind: Gauge,
        labels: &["chain", "account"],
        help: "age of the oldest of them",
    },
    Metric {
        name: "svc_sender_transactions_left",
        kind: Gauge,
        labels: &["chain", "account"],
        help: "transactions like the last one that the account can still pay for, beside the pending ones",
    },
    Metric {
        name: "svc_sender_held",
        kind: Gauge,
        labels: &["chain", "account", "cause"],
        help: "1 while this cause holds own transactions back (see `[settlement]`)",
    },
    Metric {
        name: "svc_sender_bumps_total",
        kind: Counter,
        labels: &["chain", "account"],
        help: "replacements with higher fees",
    },
    Metric {
        name: "svc_sender_reorganised_total",
        kind: Counter,
        labels: &["chain", "account"],
        help: "results that a reorganisation has undone",
    },
    Metric {
        name: "svc_wallet_actions_total",
        kind: Counter,
        labels: &["operation", "outcome"],
        help: "ended actions of sub-wallets: `completed`, `partial`, `failed` or `cancelled`. Exists from the first one on",
    },
    Metric {
        name: "svc_wallet_actions_held_total",
        kind: Counter,
        labels: &["operation", "reason"],
        help: "times that an action of a sub-wallet was held up: its transaction lacks coins for gas, or the sender holds it back (`reason` as in the answer). Exists from the first one on",
    },
    Metric {
        name: WALLET_FILES_UNUSABLE,
        kind: Gauge,
        labels: &["code"],
        help: "files of sub-wallets that cannot be used, by the code of the fault ([WALLETS](WALLETS.md#local)); `other` for a file that cannot be read. Their owners are refused; the log, `/status/detail` and `wallets check` name them",
    },
    Metric {
        name: WALLET_ACTIONS_UNCHARGED,
        kind: Counter,
        labels: &["operation"],
        help: "actions of sub-wallets that were done but not charged, because the window of their payment closed before it was settled, or because the payment has paid for another request. Of several servers, one counts an action",
    },
    Metric {
        name: WALLET_ACTIONS_REORGANISED,
        kind: Counter,
        labels: &[],
        help: "ended actions of sub-wallets that a reorganisation changed",
    },
    Metric {
        name: JUDGEMENTS,
        kind: Counter,
        labels: &["result"],
        help: "judgements of what swaps, deposits and delegated plans are worth. `result` is `holds`, or the code of the refusal: `worth_unknown` means that the sources of prices did not allow a judgement",
    },
    Metric {
        name: "svc_wallet_gas_topups_micro_usd_total",
        kind: Counter,
        labels: &["chain"],
        help: "sum of the gas account's top-ups for plans and actions, in millionths of a dollar. Exists from the first one on",
    },
];

/// Describes every metric to the recorder.
pub(super) fn describe() {
    for metric in METRICS {
        match metric.kind {
            Counter => describe_counter!(metric.name, metric.help),
            Gauge => describe_gauge!(metric.name, metric.help),
            Histogram => describe_histogram!(metric.name, metric.help),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;
    use std::path::Path;

    use super::*;

    const HEAD: &str = "| metric | labels | |\n|---|---|---|\n";

    fn rows() -> String {
        let mut rows = String::new();
        for metric in METRICS {
            let labels: Vec<String> = metric
                .labels
                .iter()
                .map(|label| format!("`{label}`"))
                .collect();
            let kind = match metric.kind {
                Counter => "",
                Gauge => "gauge: ",
                Histogram => "histogram: ",
            };
            writeln!(
                rows,
                "| `{}` | {} | {kind}{} |",
                metric.name,
                labels.join(", "),
                metric.help
            )
            .unwrap();
        }
        rows
    }

    #[test]
    fn generated_docs_of_metrics_are_those_of_the_table() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/OPERATIONS.md");
        let page = std::fs::read_to_string(&path).unwrap();
        let (before, rest) = page.split_once(HEAD).unwrap();
        let (written, after) = rest.split_once("\n\n").unwrap();
        let rows = rows();
        if std::env::var_os("UPDATE_DOCS").is_some() {
            std::fs::write(&path, format!("{before}{HEAD}{rows}\n{after}")).unwrap();
        } else {
            assert_eq!(
                format!("{written}\n"),
                rows,
                "docs/OPERATIONS.md is out of date: run `cargo xtask docs`"
            );
        }
    }
}
