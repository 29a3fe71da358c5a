//! The rows of the routes for swaps, approvals, tokens and prices on the home chain.

use x402_wire::MicroUsd;

use super::{ALL_SOURCES_DOWN, CHAIN, CURSOR, READ_SECONDS, SYMBOL, limit};
use crate::{Constraint, Dataset, Method, Parameter, Route, Rule, WorkClass};

const TOKEN: Parameter = Parameter::required(
    "token",
    Rule::Address,
    "0x779Ded0c9e1022225f8E0630b35a9b54bE713736",
    "Token contract on X Layer.",
);

/// A swap quote with calldata.
pub(crate) const SWAP: Route = Route {
    method: Method::Post,
    path: "/swap",
    resource: "/swap",
    price: MicroUsd::dollars("0.01"),
    summary: "Swap quote and calldata",
    description: "Quote and calldata for a swap on X Layer through a DEX aggregator, built for \
                  the given wallet to sign and broadcast. Nothing is broadcast.",
    refuses: "the source token is not accepted, there is no route, or the calldata does not decode \
              to exactly this swap",
    query: &[],
    body: &[
        Parameter::required(
            "fromToken",
            Rule::Address,
            "0x779Ded0c9e1022225f8E0630b35a9b54bE713736",
            "Source token: USDT or USDG on X Layer.",
        ),
        Parameter::required(
            "toToken",
            Rule::Address,
            "0xe538905cf8410324e03A5A23C1c177a474D59b2b",
            "Target token; differs from `fromToken`.",
        ),
        Parameter::required(
            "amount",
            Rule::Amount,
            "25.5",
            "Human-readable amount of `fromToken`.",
        ),
        Parameter::required(
            "userWalletAddress",
            Rule::Address,
            "0x1f9840a85d5aF5bf1D1762F925BDADdC4201F984",
            "The wallet that signs and broadcasts.",
        ),
        Parameter::defaulted(
            "slippage",
            Rule::Decimal {
                min: "0.1",
                max: "50",
            },
            "1",
            "Slippage tolerance in percent.",
        ),
    ],
    constraints: &[Constraint::Differ("fromToken", "toToken")],
    core: &["quote"],
    datasets: &[],
    work: WorkClass::Data,
    work_seconds: READ_SECONDS,
    example: include_str!("../examples/swap.json"),
};

pub(crate) const APPROVE: Route = Route {
    method: Method::Get,
    path: "/approve",
    resource: "/approve",
    price: MicroUsd::dollars("0.005"),
    summary: "ERC-20 approval calldata",
    description: "Approval calldata for the DEX router's spender, needed before a swap. Built \
                  locally and compared with the aggregator's own when that is available. Send the \
                  transaction to `to`, which is the token.",
    refuses: "the spender is not reviewed, or the aggregator's calldata differs from ours",
    query: &[
        TOKEN,
        Parameter::required(
            "amount",
            Rule::Uint256,
            "25500000",
            "Allowance in the token's smallest unit; 0 revokes it.",
        ),
    ],
    body: &[],
    constraints: &[],
    core: &[],
    datasets: &[],
    work: WorkClass::Data,
    work_seconds: READ_SECONDS,
    example: include_str!("../examples/approve.json"),
};

pub(crate) const PRICE: Route = Route {
    method: Method::Get,
    path: "/price",
    resource: "/price",
    price: MicroUsd::dollars("0.002"),
    summary: "USD price of one token",
    description: "USD price of a token on X Layer with its source, its time and its confirmation \
                  by other sources.",
    refuses: "no source prices the token, or the sources' prices contradict each other",
    query: &[TOKEN],
    body: &[],
    constraints: &[],
    core: &["price_usd"],
    datasets: &[],
    work: WorkClass::Data,
    work_seconds: READ_SECONDS,
    example: include_str!("../examples/price.json"),
};

pub(crate) const ALL_TOKENS: Route = Route {
    method: Method::Get,
    path: "/all-tokens",
    resource: "/all-tokens",
    price: MicroUsd::dollars("0.002"),
    summary: "Tokens of the chain's DEX",
    description: "The full list of tokens that the DEX on X Layer supports, with checksummed \
                  addresses. Without `limit` the whole list is one answer.",
    refuses: "the list is empty",
    query: &[
        Parameter::optional(
            "limit",
            Rule::Integer {
                min: 1,
                max: 10_000,
            },
            "100",
            "Most rows to return. Default: all.",
        ),
        CURSOR,
    ],
    body: &[],
    constraints: &[],
    core: &["tokens"],
    datasets: &[Dataset::TokenList],
    work: WorkClass::Data,
    work_seconds: READ_SECONDS,
    example: include_str!("../examples/all_tokens.json"),
};

pub(crate) const SUPPORTED_TOKENS: Route = Route {
    method: Method::Get,
    path: "/supported-tokens",
    resource: "/supported-tokens",
    price: MicroUsd::dollars("0.001"),
    summary: "Token search by symbol",
    description: "Tokens of a chain that match a symbol, exact and verified matches first. An \
                  empty list is an answer only when the source answered.",
    refuses: ALL_SOURCES_DOWN,
    query: &[SYMBOL, CHAIN, limit(100, "20"), CURSOR],
    body: &[],
    constraints: &[],
    core: &["tokens"],
    datasets: &[],
    work: WorkClass::Data,
    work_seconds: READ_SECONDS,
    example: include_str!("../examples/supported_tokens.json"),
};

pub(crate) const MARKET_ALPHA: Route = Route {
    method: Method::Get,
    path: "/market-alpha",
    resource: "/market-alpha",
    price: MicroUsd::dollars("0.005"),
    summary: "Live pricing of curated tokens",
    description: "Market intelligence for the curated tokens of X Layer: price, changes, volume, \
                  liquidity, holders, and the movers. `total_volume_24h_usd` adds up the volumes of \
                  the tokens: a swap between two of them counts twice.",
    refuses: "fewer than half of the tokens are priced",
    query: &[],
    body: &[],
    constraints: &[],
    core: &["tokens"],
    datasets: &[],
    work: WorkClass::Data,
    work_seconds: READ_SECONDS,
    example: include_str!("../examples/market_alpha.json"),
};

pub(crate) const TOKEN_DETAILS: Route = Route {
    method: Method::Get,
    path: "/token-details",
    resource: "/token-details",
    price: MicroUsd::dollars("0.001"),
    summary: "Price, market cap and 24 h change",
    description: "Price, market cap, supply, changes, all-time high and contracts of a token. An \
                  ambiguous symbol yields the highest ranked token, the others as alternatives.",
    refuses: "the symbol is unknown",
    query: &[SYMBOL],
    body: &[],
    constraints: &[],
    core: &["token_details"],
    datasets: &[],
    work: WorkClass::Data,
    work_seconds: READ_SECONDS,
    example: include_str!("../examples/token_details.json"),
};

pub(crate) const TOKEN_DEEP_DIVE: Route = Route {
    method: Method::Get,
    path: "/token-deep-dive",
    resource: "/token-deep-dive",
    price: MicroUsd::dollars("0.05"),
    summary: "Everything about one token in one call",
    description: "Price and market cap, contract security, derivatives funding and open interest, \
                  opinion-leader context and DEX price. It adds what the single routes do not \
                  have: hourly candles with the levels at which the price turned and the depth of \
                  the book, every pool, the largest holders, the changes since a day ago, all \
                  articles, checks of the legs against each other, and the events scheduled for \
                  the next 14 days. Best coverage on majors. Every leg says whether it is ok, \
                  unavailable or not applicable.",
    refuses: "the core token details are missing",
    query: &[SYMBOL],
    body: &[],
    constraints: &[],
    core: &["token_details"],
    datasets: &[Dataset::TokenList],
    work: WorkClass::Data,
    work_seconds: READ_SECONDS,
    example: include_str!("../examples/token_deep_dive.json"),
};
