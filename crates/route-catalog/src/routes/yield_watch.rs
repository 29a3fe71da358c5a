//! Yield plans and standing mandates of the payer.

use x402_wire::MicroUsd;

use super::{ACTION_SECONDS, CURSOR, READ_SECONDS, defi::RISKS, limit, wallet::PRINCIPAL_AUTH};
use crate::{Dataset, Method, Operation, Parameter, Route, Rule, WALLET_CHAINS, WorkClass};

/// The family that counts as one resource.
const FAMILY: &str = "/yield-watch";

const MANDATE_ID: &str = "01JDB3X8M5";

const ID: Parameter = Parameter::required(
    "id",
    Rule::Line { max: 64 },
    MANDATE_ID,
    "Id of the mandate.",
);

pub(crate) const YIELD_COPILOT: Route = Route {
    operation: Operation::YieldCopilot,
    method: Method::Post,
    path: "/yield-copilot",
    resource: "/yield-copilot",
    price: MicroUsd::dollars("0.05"),
    summary: "Yield plan",
    description: "Where an amount would earn most among reviewed products, after gas and slippage, with the \
                  unsigned transactions from the payer's own address. With `execute` the first plan is run \
                  from the payer's sub-wallet and the answer is that of `/auto-defi-invest`: charged when \
                  a transaction stands or is on its way, 202 while it goes on.",
    refuses: "the yield snapshot is missing, no reviewed product takes the asset or fits the amount and \
              the risk, or, with `execute`, the sub-wallet lacks funds (409 `funds_required`)",
    query: &[],
    body: &[
        Parameter::required("asset", Rule::Symbol, "USDT0", "Asset symbol."),
        Parameter::required("amount", Rule::Amount, "1000", "Human-readable amount."),
        Parameter::defaulted(
            "risk",
            Rule::Choice(RISKS),
            "low",
            "The highest risk to take.",
        ),
        Parameter::optional(
            "chains",
            Rule::Chains(&WALLET_CHAINS),
            "196,8453",
            "Default: all.",
        ),
        Parameter::defaulted("execute", Rule::Boolean, "false", "Run the first plan."),
        PRINCIPAL_AUTH,
    ],
    constraints: &[],
    core: &["snapshot"],
    datasets: &[Dataset::YieldPools],
    work: WorkClass::Transaction,
    work_seconds: ACTION_SECONDS,
    example: include_str!("../examples/yield_copilot.json"),
};

pub(crate) const CREATE_YIELD_WATCH: Route = Route {
    operation: Operation::CreateYieldWatch,
    method: Method::Post,
    path: FAMILY,
    resource: FAMILY,
    price: MicroUsd::dollars("0.001"),
    summary: "Create a yield mandate",
    description: "Creates a standing mandate that watches yields by the given rules, and notifies \
                  or acts.",
    refuses: "the rules are out of bounds",
    query: &[],
    body: &[
        Parameter::required(
            "rules",
            Rule::Object(&[
                Parameter::required(
                    "min_apy_delta_bps",
                    Rule::Integer {
                        min: 1,
                        max: 100_000,
                    },
                    "50",
                    "Least gain in APY, in basis points.",
                ),
                Parameter::required(
                    "max_slippage_bps",
                    Rule::Integer { min: 1, max: 5_000 },
                    "50",
                    "Most slippage of a move, in basis points.",
                ),
                Parameter::required(
                    "max_move_usd",
                    Rule::Amount,
                    "1000",
                    "Most dollars to move at once.",
                ),
                Parameter::required(
                    "allowed_protocols",
                    Rule::Lines { max: 32 },
                    "aave-v3",
                    "Protocol slugs.",
                ),
                Parameter::required(
                    "check_interval",
                    Rule::Integer {
                        min: 3_600,
                        max: 15_552_000,
                    },
                    "3600",
                    "Seconds between checks, at least one hour.",
                ),
            ]),
            "",
            "The bounds of the mandate.",
        ),
        Parameter::required(
            "mode",
            Rule::Choice(&["notify", "auto"]),
            "notify",
            "Tell, or act from the sub-wallet.",
        ),
        Parameter::required(
            "expires_at",
            Rule::Timestamp,
            "2027-01-31T00:00:00Z",
            "End of the mandate, at most 180 days ahead.",
        ),
    ],
    constraints: &[],
    core: &[],
    datasets: &[],
    work: WorkClass::Data,
    work_seconds: READ_SECONDS,
    example: r#"{"id":"01JDB3X8M5","state":"active","rules":{"min_apy_delta_bps":50,"max_slippage_bps":50,"max_move_usd":"1000","allowed_protocols":["aave-v3"],"check_interval":3600},"mode":"notify","expires_at":"2027-01-31T00:00:00Z"}"#,
};

pub(crate) const CANCEL_YIELD_WATCH: Route = Route {
    operation: Operation::CancelYieldWatch,
    method: Method::Delete,
    path: FAMILY,
    resource: FAMILY,
    price: MicroUsd::dollars("0.001"),
    summary: "Cancel a yield mandate",
    description: "Cancels a mandate, confirmed by reading it back. Cancelling again is the same \
                  answer.",
    refuses: "the id is unknown",
    query: &[ID],
    body: &[],
    constraints: &[],
    core: &[],
    datasets: &[],
    work: WorkClass::Data,
    work_seconds: READ_SECONDS,
    example: r#"{"id":"01JDB3X8M5","state":"cancelled","confirmed_at":"2026-11-21T01:00:00Z"}"#,
};

pub(crate) const LIST_YIELD_WATCH: Route = Route {
    operation: Operation::ListYieldWatch,
    method: Method::Get,
    path: FAMILY,
    resource: FAMILY,
    price: MicroUsd::dollars("0.001"),
    summary: "The payer's yield mandates",
    description: "The mandates of the payer of this call, or one of them.",
    refuses: "the id is unknown",
    query: &[
        Parameter::optional("id", Rule::Line { max: 64 }, MANDATE_ID, "One mandate."),
        limit(100, "20"),
        CURSOR,
    ],
    body: &[],
    constraints: &[],
    core: &[],
    datasets: &[],
    work: WorkClass::Data,
    work_seconds: READ_SECONDS,
    example: r#"{"mandates":[{"id":"01JDB3X8M5","state":"active","rules":{"min_apy_delta_bps":50},"mode":"notify","created_at":"2026-11-20T10:00:00Z","expires_at":"2027-01-31T00:00:00Z","last_check_at":"2026-11-21T00:00:00Z"}],"next_cursor":null}"#,
};

pub(crate) const AUDIT_YIELD_WATCH: Route = Route {
    operation: Operation::AuditYieldWatch,
    method: Method::Get,
    path: "/yield-watch/audit",
    resource: FAMILY,
    price: MicroUsd::dollars("0.001"),
    summary: "Audit trail of a mandate",
    description: "The append-only, hash-chained decisions of a mandate.",
    refuses: "the id is unknown",
    query: &[ID, CURSOR],
    body: &[],
    constraints: &[],
    core: &[],
    datasets: &[],
    work: WorkClass::Data,
    work_seconds: READ_SECONDS,
    example: r#"{"records":[{"seq":1,"at":"2026-11-20T11:00:00Z","decision":"hold","inputs_digest":"0x88df016429689c079f3b2f6ad39fa052532c56795b733da78a91ebe6a713944b","action":null,"tx_hash":null,"prev_hash":"0x0000000000000000000000000000000000000000000000000000000000000000","hash":"0x5d41402abc4b2a76b9719d911017c592aa3f1e7c0d0b6f2b5a3e8a5b1c2d3e4f"}],"next_cursor":null}"#,
};
