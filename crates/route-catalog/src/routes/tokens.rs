//! Swap, approval, tokens and prices on the home chain.

use x402_wire::MicroUsd;

use super::{ALL_SOURCES_DOWN, CHAIN, CURSOR, READ_SECONDS, SYMBOL, limit};
use crate::{Constraint, Method, Operation, Parameter, Route, Rule};

const TOKEN: Parameter = Parameter::required(
    "token",
    Rule::Address,
    "0x779Ded0c9e1022225f8E0630b35a9b54bE713736",
    "Token contract on chain 196.",
);

/// Service document 2.2.
pub(crate) const SWAP: Route = Route {
    operation: Operation::Swap,
    method: Method::Post,
    path: "/swap",
    resource: "/swap",
    price: MicroUsd::dollars("0.01"),
    summary: "Swap quote and calldata",
    description: "Quote and calldata for a swap on chain 196 through a DEX aggregator, built for \
                  the given wallet to sign and broadcast. Nothing is broadcast.",
    refuses: "the source token is not accepted, there is no route, or the calldata does not decode \
              to exactly this swap",
    query: &[],
    body: &[
        Parameter::required(
            "fromToken",
            Rule::Address,
            "0x779Ded0c9e1022225f8E0630b35a9b54bE713736",
            "Source token: USDT or USDG on chain 196.",
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
    work_seconds: READ_SECONDS,
    example: r#"{"from_token":"0x779Ded0c9e1022225f8E0630b35a9b54bE713736","to_token":"0xe538905cf8410324e03A5A23C1c177a474D59b2b","amount_atoms":"25500000","quote":{"amount_out_atoms":"241093500000000000","min_amount_out_atoms":"238682565000000000","price_impact_pct":"0.02","route":[{"venue":"Uniswap V3","share_pct":"100"}]},"tx":{"from":"0x1f9840a85d5aF5bf1D1762F925BDADdC4201F984","to":"0x7c5bEE2a8091C3ef39072f64F18Fac913060AEaF","data":"0xf2c42696","value":"0","gas_limit":"312000","chain_id":196},"bound":{"function":"dagSwapByOrderId","receiver":"0x1f9840a85d5aF5bf1D1762F925BDADdC4201F984","reviewed_version":"2026-11-21","deadline":"2026-11-21T01:10:00Z","surplus_cut":{"above_amount_out_atoms":"241093500000000000","rate_per_mille":10,"recipient":"0x9965507D1a55bcC2695C58ba16FB37d819B0A4dc","shared_with":null},"trailing_bytes":64},"to_token_checks":{"is_honeypot":false,"tax_rate":"0"},"slippage_pct":"1","broadcast":false}"#,
};

pub(crate) const APPROVE: Route = Route {
    operation: Operation::Approve,
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
    work_seconds: READ_SECONDS,
    example: r#"{"to":"0x779Ded0c9e1022225f8E0630b35a9b54bE713736","data":"0x095ea7b30000000000000000000000008b773d83bc66be128c60e07e17c8901f7a64f0000000000000000000000000000000000000000000000000000000000001851960","value":"0","spender":"0x8b773D83bc66Be128c60e07E17C8901f7a64F000","amount":"25500000","chain_id":196,"gas_limit":"70000","decoded":{"function":"approve(address,uint256)","args":{"spender":"0x8b773D83bc66Be128c60e07E17C8901f7a64F000","amount":"25500000"}},"needs_reset":false,"reviewed_version":"2026-11-21"}"#,
};

pub(crate) const PRICE: Route = Route {
    operation: Operation::Price,
    method: Method::Get,
    path: "/price",
    resource: "/price",
    price: MicroUsd::dollars("0.002"),
    summary: "USD price of one token",
    description: "USD price of a token on chain 196 with its source, its time and how far it is \
                  confirmed.",
    refuses: "no source prices the token",
    query: &[TOKEN],
    body: &[],
    constraints: &[],
    core: &["price_usd"],
    work_seconds: READ_SECONDS,
    example: r#"{"token":"0x779Ded0c9e1022225f8E0630b35a9b54bE713736","chain_id":196,"price_usd":"0.9998","source":"okx.market-price","as_of":"2026-11-21T01:00:00Z","confidence":"single_source"}"#,
};

pub(crate) const ALL_TOKENS: Route = Route {
    operation: Operation::AllTokens,
    method: Method::Get,
    path: "/all-tokens",
    resource: "/all-tokens",
    price: MicroUsd::dollars("0.002"),
    summary: "Tokens of the chain's DEX",
    description: "The full list of tokens that the DEX on chain 196 supports, with checksummed \
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
    work_seconds: READ_SECONDS,
    example: r#"{"chain_id":196,"count":1,"tokens":[{"address":"0x779Ded0c9e1022225f8E0630b35a9b54bE713736","symbol":"USD₮0","name":"USD₮0","decimals":6,"logo_url":"https://static.okx.com/cdn/wallet/logo/USDT.png"}],"next_cursor":null}"#,
};

pub(crate) const SUPPORTED_TOKENS: Route = Route {
    operation: Operation::SupportedTokens,
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
    work_seconds: READ_SECONDS,
    example: r#"{"query":"OKB","chain_id":196,"tokens":[{"address":"0xe538905cf8410324e03A5A23C1c177a474D59b2b","symbol":"WOKB","name":"Wrapped OKB","decimals":18,"price_usd":"105.77","change_24h_pct":"-1.2","market_cap_usd":null,"liquidity_usd":"5210443.1","holders":48211,"verified":true}],"next_cursor":null}"#,
};

pub(crate) const MARKET_ALPHA: Route = Route {
    operation: Operation::MarketAlpha,
    method: Method::Get,
    path: "/market-alpha",
    resource: "/market-alpha",
    price: MicroUsd::dollars("0.005"),
    summary: "Live pricing of curated tokens",
    description: "Market intelligence for the curated tokens of chain 196: price, changes, volume, \
                  liquidity, holders, and the movers.",
    refuses: "fewer than half of the tokens are priced",
    query: &[],
    body: &[],
    constraints: &[],
    core: &["tokens"],
    work_seconds: READ_SECONDS,
    example: r#"{"chain_id":196,"tokens":[{"address":"0xe538905cf8410324e03A5A23C1c177a474D59b2b","symbol":"WOKB","price_usd":"105.77","change_5m_pct":"0.1","change_1h_pct":"-0.4","change_4h_pct":"0.9","change_24h_pct":"-1.2","volume_24h_usd":"1830221.4","liquidity_usd":"5210443.1","market_cap_usd":"2221170000","holders":48211,"txs_24h":9120}],"movers":{"gainers":["xETH"],"losers":["WOKB"]},"total_volume_24h_usd":"9120441.9"}"#,
};

pub(crate) const TOKEN_DETAILS: Route = Route {
    operation: Operation::TokenDetails,
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
    work_seconds: READ_SECONDS,
    example: r#"{"id":"okb","symbol":"OKB","name":"OKB","price_usd":"105.77","market_cap_usd":"2221170000","fdv_usd":"2221170000","volume_24h_usd":"61234567","change_1h_pct":"-0.4","change_24h_pct":"-1.2","change_7d_pct":"3.4","change_30d_pct":"-8.1","circulating_supply":"21000000","max_supply":"21000000","ath":{"price":"255.5","date":"2025-08-21"},"rank":38,"contracts":[{"chain_id":196,"address":"0xe538905cf8410324e03A5A23C1c177a474D59b2b"}],"alternatives":[]}"#,
};

pub(crate) const TOKEN_DEEP_DIVE: Route = Route {
    operation: Operation::TokenDeepDive,
    method: Method::Get,
    path: "/token-deep-dive",
    resource: "/token-deep-dive",
    price: MicroUsd::dollars("0.05"),
    summary: "Everything about one token in one call",
    description: "Price and market cap, contract security, derivatives funding and open interest, \
                  opinion-leader context and DEX price. Best coverage on majors. Every leg says \
                  whether it is ok, unavailable or not applicable.",
    refuses: "the core token details are missing",
    query: &[SYMBOL],
    body: &[],
    constraints: &[],
    core: &["token_details"],
    work_seconds: READ_SECONDS,
    example: r#"{"symbol":"BTC","token_details":{"status":"ok","reason":null,"as_of":"2026-11-21T01:00:00Z","data":{"price_usd":"98120.5","market_cap_usd":"1953000000000"}},"security":{"status":"not_applicable","reason":"no_contract","as_of":null,"data":null},"derivatives":{"status":"ok","reason":null,"as_of":"2026-11-21T01:00:00Z","data":{"oi_usd":"31200000000"}},"kol_context":{"status":"unavailable","reason":"source_disabled","as_of":null,"data":null},"dex_price":{"status":"not_applicable","reason":"no_contract","as_of":null,"data":null}}"#,
};
