//! The rows of the routes about protocols, yields and idle capital.

use x402_wire::MicroUsd;

use super::{ALL_SOURCES_DOWN, CURSOR, OPTIONAL_ADDRESS, READ_SECONDS, limit};
use crate::{Constraint, Dataset, EVM_CHAINS, Method, Parameter, Route, Rule, WorkClass};

const SNAPSHOT_MISSING: &str = "the yield snapshot is missing";

pub(crate) const DEFI_ANALYTICS: Route = Route {
    method: Method::Get,
    path: "/defi-analytics",
    resource: "/defi-analytics",
    price: MicroUsd::dollars("0.001"),
    summary: "TVL rankings and movers",
    description: "TVL rankings, breakdown by chain, gainers and losers. Movers have at least 10 \
                  million dollars of TVL.",
    refuses: "the protocol is unknown",
    query: &[Parameter::optional(
        "protocol",
        Rule::Line { max: 64 },
        "aave-v3",
        "Filter to one protocol, by slug or name.",
    )],
    body: &[],
    constraints: &[],
    core: &["protocols"],
    datasets: &[],
    work: WorkClass::Data,
    work_seconds: READ_SECONDS,
    example: include_str!("../examples/defi_analytics.json"),
};

pub(crate) const YIELD_ALPHA: Route = Route {
    method: Method::Get,
    path: "/yield-alpha",
    resource: "/yield-alpha",
    price: MicroUsd::dollars("0.001"),
    summary: "Top yield opportunities",
    description: "The top DeFi yield opportunities across chains after filters for TVL, outliers \
                  and history, each with a risk grade and its reasons.",
    refuses: SNAPSHOT_MISSING,
    query: &[],
    body: &[],
    constraints: &[],
    core: &["snapshot"],
    datasets: &[Dataset::YieldPools],
    work: WorkClass::Data,
    work_seconds: READ_SECONDS,
    example: include_str!("../examples/yield_alpha.json"),
};

pub(crate) const YIELD_MARKETS: Route = Route {
    method: Method::Get,
    path: "/yield-markets",
    resource: "/yield-markets",
    price: MicroUsd::dollars("0.001"),
    summary: "Yield markets with filters",
    description: "Yield markets by chain, asset, protocol and size, sorted by APY or TVL.",
    refuses: SNAPSHOT_MISSING,
    query: &[
        Parameter::optional(
            "chain",
            Rule::Chain(&EVM_CHAINS),
            "xlayer",
            "Chain id or name.",
        ),
        Parameter::optional("asset", Rule::Symbol, "USDG", "Asset symbol."),
        Parameter::optional(
            "protocol",
            Rule::Line { max: 64 },
            "aave-v3",
            "Slug or name.",
        ),
        Parameter::optional(
            "stable",
            Rule::Flag,
            "true",
            "Stablecoin markets only, or none.",
        ),
        Parameter::optional(
            "min_tvl",
            Rule::Decimal {
                min: "0",
                max: "1000000000000",
            },
            "1000000",
            "Least TVL in dollars.",
        ),
        Parameter::defaulted(
            "sort",
            Rule::Choice(&["apy", "tvl"]),
            "apy",
            "Descending order.",
        ),
        limit(200, "50"),
        CURSOR,
    ],
    body: &[],
    constraints: &[],
    core: &["snapshot"],
    datasets: &[Dataset::YieldPools],
    work: WorkClass::Data,
    work_seconds: READ_SECONDS,
    example: include_str!("../examples/yield_markets.json"),
};

pub(crate) const YIELD_FARMING_ACTIVE: Route = Route {
    method: Method::Get,
    path: "/yield-farming-active",
    resource: "/yield-farming-active",
    price: MicroUsd::dollars("0.001"),
    summary: "Open yield positions",
    description: "The open yield positions of an account with their value, APY and health. \
                  `apy_source` names the source of a row's APY.",
    refuses: ALL_SOURCES_DOWN,
    query: &[OPTIONAL_ADDRESS],
    body: &[],
    constraints: &[],
    core: &["positions"],
    datasets: &[Dataset::YieldPools],
    work: WorkClass::Data,
    work_seconds: READ_SECONDS,
    example: include_str!("../examples/yield_farming_active.json"),
};

pub(crate) const YIELD_FARMING_HISTORICAL: Route = Route {
    method: Method::Get,
    path: "/yield-farming-historical",
    resource: "/yield-farming-historical",
    price: MicroUsd::dollars("0.001"),
    summary: "Yield history",
    description: "The APY and TVL history of a pool; without `pool` the deposits and withdrawals of the \
                  payer's own sub-wallet, with the gain of positions that were opened and closed.",
    refuses: "the pool is unknown or has no point in the requested days; without `pool`, the payer \
              has no sub-wallet or `address` is another one (`no_sub_wallet`)",
    query: &[
        Parameter::optional(
            "pool",
            Rule::Line { max: 64 },
            "7da72d09-56ca-4ec5-a45f-59114353e487",
            "Pool id as in `/yield-markets`.",
        ),
        Parameter::optional(
            "address",
            Rule::Address,
            "0x1f9840a85d5aF5bf1D1762F925BDADdC4201F984",
            "The payer's own sub-wallet, the default; any other address is refused.",
        ),
        Parameter::defaulted(
            "days",
            Rule::Integer { min: 1, max: 365 },
            "30",
            "Days back.",
        ),
    ],
    body: &[],
    constraints: &[Constraint::AtMostOne(&["pool", "address"])],
    core: &["history"],
    datasets: &[],
    work: WorkClass::Data,
    work_seconds: READ_SECONDS,
    example: include_str!("../examples/yield_farming_historical.json"),
};

pub(crate) const YIELD_RECOMMENDATIONS: Route = Route {
    method: Method::Get,
    path: "/yield-recommendations",
    resource: "/yield-recommendations",
    price: MicroUsd::dollars("0.001"),
    summary: "Yield for an amount",
    description: "Yield recommendations for an amount, or for the balances of an account: yields \
                  after gas, days to break even, and the liquidity for a withdrawal.",
    refuses: SNAPSHOT_MISSING,
    query: &[
        Parameter::optional(
            "address",
            Rule::Address,
            "0x1f9840a85d5aF5bf1D1762F925BDADdC4201F984",
            "Account whose balances are to be placed, instead of an amount.",
        ),
        Parameter::optional(
            "amount",
            Rule::Amount,
            "1000",
            "Amount to place, in dollars. Without `address` the default is 1000, and `amount_assumed` says so.",
        ),
        Parameter::optional("asset", Rule::Symbol, "USDC", "Asset symbol."),
        Parameter::defaulted(
            "risk",
            Rule::Choice(RISKS),
            "low",
            "The highest risk to take.",
        ),
        Parameter::optional(
            "chains",
            Rule::Chains(&EVM_CHAINS),
            "196,8453",
            "Comma list.",
        ),
    ],
    body: &[],
    constraints: &[Constraint::AtMostOne(&["address", "amount"])],
    core: &["snapshot"],
    datasets: &[Dataset::YieldPools, Dataset::TokenList],
    work: WorkClass::Data,
    work_seconds: READ_SECONDS,
    example: include_str!("../examples/yield_recommendations.json"),
};

pub(crate) const IDLE_CAPITAL: Route = Route {
    method: Method::Get,
    path: "/idle-capital",
    resource: "/idle-capital",
    price: MicroUsd::dollars("0.001"),
    summary: "Assets that earn nothing",
    description: "Stable, ETH and BTC assets of an account that earn nothing, each with the best \
                  low-risk alternative.",
    refuses: "balances are unavailable on every chain",
    query: &[OPTIONAL_ADDRESS],
    body: &[],
    constraints: &[],
    core: &["balances"],
    datasets: &[Dataset::YieldPools, Dataset::TokenList],
    work: WorkClass::Data,
    work_seconds: READ_SECONDS,
    example: include_str!("../examples/idle_capital.json"),
};

/// The risk levels that a caller can choose, ascending.
pub(super) const RISKS: &[&str] = &["low", "medium", "high"];
