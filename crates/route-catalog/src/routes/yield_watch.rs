//! The rows of the routes about the payer's yield plans and standing mandates.

use x402_wire::MicroUsd;

use super::{ACTION_SECONDS, CURSOR, READ_SECONDS, defi::RISKS, limit, wallet::PRINCIPAL_AUTH};
use crate::{Dataset, Method, Parameter, Route, Rule, WALLET_CHAINS, WorkClass};

/// The path under which the whole family counts as one resource.
const FAMILY: &str = "/yield-watch";

const MANDATE_ID: &str = "65abd05479744ffc794209ed53889366";

const ID: Parameter = Parameter::required(
    "id",
    Rule::Line { max: 64 },
    MANDATE_ID,
    "Id of the mandate.",
);

pub(crate) const YIELD_COPILOT: Route = Route {
    method: Method::Post,
    path: "/yield-copilot",
    resource: "/yield-copilot",
    price: MicroUsd::dollars("0.05"),
    summary: "Yield plan",
    description: "The reviewed products in which an amount would earn most after gas and slippage, \
                  with the unsigned transactions from the payer's own address. With `execute`, the \
                  first plan runs from the payer's sub-wallet and the answer is that of \
                  `/auto-defi-invest`: charged when a transaction is in a block or pending, 202 \
                  while the action continues.",
    refuses: "the yield snapshot is missing, no reviewed product takes the asset or fits the amount and \
              the risk, or, with `execute`, the payer has no sub-wallet (404 `no_sub_wallet`) \
              or it lacks funds (409 `funds_required`)",
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
    method: Method::Post,
    path: FAMILY,
    resource: FAMILY,
    price: MicroUsd::dollars("0.001"),
    summary: "Create a yield mandate",
    description: "Creates a standing mandate (201). From then on the yields are checked against \
                  its rules once in each `check_interval`. `notify` records each finding: poll \
                  `GET /yield-watch` or the audit. `auto` also moves funds of the payer's \
                  sub-wallet, within the rules and on fresh yields only. The same payment makes \
                  one mandate.",
    refuses: "the rules are out of bounds, the payer has 20 active mandates, or `auto` has no custody \
              or no sub-wallet (404 `no_sub_wallet`)",
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
                Parameter::defaulted(
                    "max_moves_per_day",
                    Rule::Integer { min: 1, max: 24 },
                    "1",
                    "Most moves in any 24 hours.",
                ),
                Parameter::defaulted(
                    "min_gain_usd",
                    Rule::Decimal {
                        min: "0",
                        max: "1000000",
                    },
                    "1",
                    "Fewest dollars that a move gains until the mandate's end, at present yields and after its cost.",
                ),
            ]),
            "",
            "The bounds of the mandate.",
        ),
        Parameter::required(
            "mode",
            Rule::Choice(&["notify", "auto"]),
            "notify",
            "Notify only, or act from the sub-wallet.",
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
    example: include_str!("../examples/create_yield_watch.json"),
};

pub(crate) const CANCEL_YIELD_WATCH: Route = Route {
    method: Method::Delete,
    path: FAMILY,
    resource: FAMILY,
    price: MicroUsd::dollars("0.001"),
    summary: "Cancel a yield mandate",
    description: "Cancels a mandate, confirmed by reading it back, and stops a move that has not \
                  been signed. Cancelling again gives the same `confirmed_at`.",
    refuses: "the id is unknown",
    query: &[ID],
    body: &[],
    constraints: &[],
    core: &[],
    datasets: &[],
    work: WorkClass::Data,
    work_seconds: READ_SECONDS,
    example: include_str!("../examples/cancel_yield_watch.json"),
};

pub(crate) const LIST_YIELD_WATCH: Route = Route {
    method: Method::Get,
    path: FAMILY,
    resource: FAMILY,
    price: MicroUsd::dollars("0.001"),
    summary: "The payer's yield mandates",
    description: "The mandates of the payer of this call, the newest first, or one of them: each \
                  with its last check, its last decision and its last opportunity.",
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
    example: include_str!("../examples/list_yield_watch.json"),
};

pub(crate) const AUDIT_YIELD_WATCH: Route = Route {
    method: Method::Get,
    path: "/yield-watch/audit",
    resource: FAMILY,
    price: MicroUsd::dollars("0.001"),
    summary: "Audit trail of a mandate",
    description: "The append-only, hash-chained decisions of a mandate, the oldest first, 100 a \
                  page. Anyone can verify them offline.",
    refuses: "the id is unknown",
    query: &[ID, CURSOR],
    body: &[],
    constraints: &[],
    core: &[],
    datasets: &[],
    work: WorkClass::Data,
    work_seconds: READ_SECONDS,
    example: include_str!("../examples/audit_yield_watch.json"),
};
