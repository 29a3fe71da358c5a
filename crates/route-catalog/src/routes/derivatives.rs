//! The rows of the routes about funding, open interest and accounts with perpetuals.

use x402_wire::MicroUsd;

use super::{ALL_SOURCES_DOWN, CURSOR, OPTIONAL_ADDRESS, READ_SECONDS, limit};
use crate::{Constraint, Method, Parameter, Route, Rule, WorkClass};

const DEX: Parameter = Parameter::optional(
    "dex",
    Rule::Line { max: 16 },
    "xyz",
    "Name of a builder-deployed perpetuals DEX. Default: the first-party one.",
);
const ONE_DEX: Parameter = Parameter::optional(
    "dex",
    Rule::Line { max: 16 },
    "xyz",
    "Name of one builder-deployed perpetuals DEX. Default: the first-party one and all of these.",
);

/// The candle intervals of the venue. Minutes and months differ in their case.
const INTERVALS: &[&str] = &[
    "1m", "3m", "5m", "15m", "30m", "1h", "2h", "4h", "8h", "12h", "1d", "3d", "1w", "1M",
];

pub(crate) const FUNDING_RATES: Route = Route {
    method: Method::Get,
    path: "/funding-rates",
    resource: "/funding-rates",
    price: MicroUsd::dollars("0.001"),
    summary: "Funding, open interest, long/short",
    description: "Funding rates, open interest and long/short ratios per venue, normalised to 8 \
                  hours and a year. Without `symbol` the top 20 by open interest.",
    refuses: "no venue answers; without `symbol`, also when only Binance answers, because it \
              states open interest coin by coin",
    query: &[Parameter::optional(
        "symbol",
        Rule::Symbol,
        "BTC",
        "Filter to one symbol.",
    )],
    body: &[],
    constraints: &[],
    core: &["venues"],
    datasets: &[],
    work: WorkClass::Data,
    work_seconds: READ_SECONDS,
    example: include_str!("../examples/funding_rates.json"),
};

pub(crate) const HYPERLIQUID_MARKET: Route = Route {
    method: Method::Get,
    path: "/hyperliquid-market",
    resource: "/hyperliquid-market",
    price: MicroUsd::dollars("0.001"),
    summary: "Perpetuals markets",
    description: "Mark, oracle, funding, open interest and volume of the perpetuals markets. With \
                  `coin` also the top of the book, with `interval` also candles.",
    refuses: "the coin or the DEX is unknown",
    query: &[
        Parameter::optional("coin", Rule::Line { max: 32 }, "xyz:TSLA", "One market."),
        DEX,
        Parameter::optional(
            "interval",
            Rule::Choice(INTERVALS),
            "1h",
            "Candle interval; taken only together with `coin`.",
        ),
    ],
    body: &[],
    constraints: &[Constraint::Requires("interval", "coin")],
    core: &["markets"],
    datasets: &[],
    work: WorkClass::Data,
    work_seconds: READ_SECONDS,
    example: include_str!("../examples/hyperliquid_market.json"),
};

pub(crate) const HYPERLIQUID_ACCOUNT: Route = Route {
    method: Method::Get,
    path: "/hyperliquid-account",
    resource: "/hyperliquid-account",
    price: MicroUsd::dollars("0.001"),
    summary: "Perpetuals account",
    description: "Margin summary, positions, spot balances and open orders of an account. An \
                  unused address has zeros, which is a real answer.",
    refuses: ALL_SOURCES_DOWN,
    query: &[OPTIONAL_ADDRESS, ONE_DEX],
    body: &[],
    constraints: &[],
    core: &["account"],
    datasets: &[],
    work: WorkClass::Data,
    work_seconds: READ_SECONDS,
    example: include_str!("../examples/hyperliquid_account.json"),
};

pub(crate) const HL_TRANSACTION_HISTORY: Route = Route {
    method: Method::Get,
    path: "/hl-transaction-history",
    resource: "/hl-transaction-history",
    price: MicroUsd::dollars("0.001"),
    summary: "Perpetuals account history",
    description: "Fills, funding payments and ledger updates of an account, merged and sorted by \
                  time. `truncated` says whether entries of the window are missing: `next_cursor` \
                  continues with the older ones. The venue keeps only the newest 10,000 fills \
                  (`venue_keeps_10000_fills` in `meta.warnings`).",
    refuses: ALL_SOURCES_DOWN,
    query: &[
        OPTIONAL_ADDRESS,
        Parameter::defaulted(
            "type",
            Rule::Choice(&["all", "fills", "funding", "ledger"]),
            "all",
            "The kind of entries.",
        ),
        Parameter::optional(
            "start",
            Rule::Timestamp,
            "2026-11-01T00:00:00Z",
            "Earliest time.",
        ),
        Parameter::optional(
            "end",
            Rule::Timestamp,
            "2026-11-21T00:00:00Z",
            "Latest time.",
        ),
        limit(500, "100"),
        CURSOR,
    ],
    body: &[],
    constraints: &[Constraint::Ordered("start", "end")],
    core: &["history"],
    datasets: &[],
    work: WorkClass::Data,
    work_seconds: READ_SECONDS,
    example: include_str!("../examples/hl_transaction_history.json"),
};
