//! The rows of the routes about the payer's sub-wallet and its actions.

use x402_wire::MicroUsd;

use super::{ACTION_SECONDS, READ_SECONDS};
use crate::{Constraint, Method, Parameter, Route, Rule, WALLET_CHAINS, WorkClass};

const CHAIN_ID: Parameter = Parameter::required(
    "chain_id",
    Rule::Chain(&WALLET_CHAINS),
    "196",
    "Chain of the action, by id or name.",
);

const AMOUNT: Parameter =
    Parameter::required("amount", Rule::Amount, "25.5", "Human-readable amount.");

const TOKEN: Parameter = Parameter::required(
    "token",
    Rule::Address,
    "0x779Ded0c9e1022225f8E0630b35a9b54bE713736",
    "Token contract.",
);

const PRODUCT_ID: Parameter = Parameter::optional(
    "product_id",
    Rule::Line { max: 128 },
    "aave-v3-xlayer-usdg",
    "One product of the protocol.",
);

const MAX_PRICE_IMPACT: Parameter = Parameter::optional(
    "max_price_impact_bps",
    Rule::Integer { min: 0, max: 9_999 },
    "100",
    "The most of the worth that may be lost, in basis points. Tightens the operator's limit, or loosens it up to the operator's ceiling.",
);

/// An EIP-3009 `TransferWithAuthorization` from the payer to its own sub-wallet, in the form of the
/// scheme `exact`.
pub(super) const PRINCIPAL_AUTH: Parameter = Parameter::optional(
    "principal_auth",
    Rule::Object(&[
        Parameter::required(
            "signature",
            Rule::Bytes { min: 65, max: 4096 },
            concat!(
                "0x0000000000000000000000000000000000000000000000000000000000000001",
                "00000000000000000000000000000000000000000000000000000000000000011b"
            ),
            "Signature of the authorization.",
        ),
        Parameter::required(
            "authorization",
            Rule::Object(&[
                Parameter::required(
                    "from",
                    Rule::Address,
                    "0x1f9840a85d5aF5bf1D1762F925BDADdC4201F984",
                    "The payer.",
                ),
                Parameter::required(
                    "to",
                    Rule::Address,
                    "0x70997970C51812dc3A010C7d01b50e0d17dc79C8",
                    "The payer's sub-wallet.",
                ),
                Parameter::required(
                    "value",
                    Rule::Uint256,
                    "25500000",
                    "At least the missing amount.",
                ),
                Parameter::required("validAfter", Rule::Uint256, "0", "Unix seconds."),
                Parameter::required("validBefore", Rule::Uint256, "1795223995", "Unix seconds."),
                Parameter::required(
                    "nonce",
                    Rule::Hash,
                    "0x0000000000000000000000000000000000000000000000000000000000000001",
                    "32 random bytes.",
                ),
            ]),
            "",
            "The signed message.",
        ),
    ]),
    "",
    "Transfers at least the missing amount from the payer to the sub-wallet (EIP-3009).",
);

/// The example answer of an action, as `api-server` renders an intent: its operation, its
/// transactions and its result.
macro_rules! action {
    ($operation:literal, [$($before:literal),*], $result:literal) => {
        concat!(
            r#"{"intent_id":"4f1c0d2ab97e4c6f8d3b5a7e9c1f2038","operation":""#,
            $operation,
            r#"","sub_wallet":"0x70997970C51812dc3A010C7d01b50e0d17dc79C8","status":"completed","steps":["#,
            $(
                r#"{"kind":""#,
                $before,
                r#"","chain_id":196,"status":"success","tx_hash":"0x5c504ed432cb51138bcf09aa5e8a410dd4a1e204ef84bfed1be16dfba1b22060","block":20999998},"#,
            )*
            r#"{"kind":"call","chain_id":196,"status":"success","tx_hash":"0x88df016429689c079f3b2f6ad39fa052532c56795b733da78a91ebe6a713944b","block":21000000}],"result":"#,
            $result,
            r#","refund_needed":false,"created_at":"2026-11-21T01:00:00Z","ended_at":"2026-11-21T01:00:09Z"}"#
        )
    };
}

pub(crate) const SUB_WALLET: Route = Route {
    method: Method::Get,
    path: "/sub-wallet",
    resource: "/sub-wallet",
    price: MicroUsd::dollars("0.01"),
    summary: "The payer's sub-wallet",
    description: "The sub-wallet of the payer of this call: address, custody, balances, nonces and \
                  policy. The first call makes it; no other route does.",
    refuses: "the custody provider does not answer, or the server makes no further wallets \
              (`wallets_full`, `too_many_new_wallets`)",
    query: &[],
    body: &[],
    constraints: &[],
    core: &["sub_wallet"],
    datasets: &[],
    work: WorkClass::Data,
    work_seconds: READ_SECONDS,
    example: r#"{"owner":"eip155:196:0x1f9840a85d5af5bf1d1762f925bdaddc4201f984","sub_wallet":"0x70997970C51812dc3A010C7d01b50e0d17dc79C8","provisioned_at":"2026-11-20T10:00:00Z","custody":{"provider":"local","attestation":null},"chains":[196,8453],"balances":[{"chain_id":196,"symbol":"USDG","amount":"820.5"}],"nonce_state":{"196":4},"policy":{"withdraw_to":"owner"}}"#,
};

pub(crate) const AUTO_SWAP: Route = Route {
    method: Method::Post,
    path: "/auto-swap",
    resource: "/auto-swap",
    price: MicroUsd::dollars("0.05"),
    summary: "Swap from the sub-wallet",
    description: "Swaps tokens of the payer's sub-wallet and answers with every transaction. \
                  Charged when a transaction of the sub-wallet is in a block or pending: 200 when \
                  the action has ended, 202 while it continues (`GET /intents/{id}` reports its \
                  end).",
    refuses: "the payer has no sub-wallet (404 `no_sub_wallet`), it lacks funds (409 `funds_required`), \
              there is no route, or the output is not worth the input or nobody can tell (422)",
    query: &[],
    body: &[
        CHAIN_ID,
        Parameter::required(
            "from_token",
            Rule::Address,
            "0x779Ded0c9e1022225f8E0630b35a9b54bE713736",
            "Token to sell.",
        ),
        Parameter::required(
            "to_token",
            Rule::Address,
            "0xe538905cf8410324e03A5A23C1c177a474D59b2b",
            "Token to buy.",
        ),
        AMOUNT,
        Parameter::defaulted(
            "slippage",
            Rule::Decimal {
                min: "0.1",
                max: "50",
            },
            "1",
            "Slippage tolerance in percent.",
        ),
        MAX_PRICE_IMPACT,
        PRINCIPAL_AUTH,
        Parameter::optional(
            "deadline",
            Rule::Timestamp,
            "2026-11-21T01:05:00Z",
            "Do not broadcast after this time.",
        ),
    ],
    constraints: &[Constraint::Differ("from_token", "to_token")],
    core: &["custody"],
    datasets: &[],
    work: WorkClass::Transaction,
    work_seconds: ACTION_SECONDS,
    example: action!(
        "swap",
        ["approve"],
        r#"{"chain_id":196,"from_token":"0x779Ded0c9e1022225f8E0630b35a9b54bE713736","to_token":"0xe538905cf8410324e03A5A23C1c177a474D59b2b","decimals":18,"amount":"25.5","quoted_out":"0.241","min_out":"0.23859","judged":{"artifact_id":"xlayer-swap","checks":["erc20_allowance_reset_ordered"]},"amount_out":"0.241","amount_out_atoms":"241000000000000000","amount_out_at_least_atoms":"238590000000000000","allowance_left_atoms":"0"}"#
    ),
};

pub(crate) const AUTO_BRIDGE: Route = Route {
    method: Method::Post,
    path: "/auto-bridge",
    resource: "/auto-bridge",
    price: MicroUsd::dollars("0.05"),
    summary: "Bridge from the sub-wallet",
    description: "Moves a token of the payer's sub-wallet to another chain. Charged when a \
                  transaction of the sub-wallet is in a block or pending: 200 when the action has \
                  ended, 202 while it continues (`GET /intents/{id}` reports its end).",
    refuses: "the payer has no sub-wallet (404 `no_sub_wallet`), it lacks funds (409 `funds_required`), \
              or the route is outside the supported set",
    query: &[],
    body: &[
        Parameter::required(
            "from_chain",
            Rule::Chain(&WALLET_CHAINS),
            "8453",
            "Source chain.",
        ),
        Parameter::required(
            "to_chain",
            Rule::Chain(&WALLET_CHAINS),
            "42161",
            "Target chain.",
        ),
        TOKEN,
        AMOUNT,
        Parameter::optional(
            "recipient",
            Rule::Address,
            "0x1f9840a85d5aF5bf1D1762F925BDADdC4201F984",
            "One of the payer's own addresses. Default: the sub-wallet.",
        ),
        PRINCIPAL_AUTH,
    ],
    constraints: &[Constraint::Differ("from_chain", "to_chain")],
    core: &["custody"],
    datasets: &[],
    work: WorkClass::Transaction,
    work_seconds: ACTION_SECONDS,
    example: action!(
        "bridge",
        ["approve"],
        r#"{"from_chain":8453,"to_chain":42161,"token":"0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913","minted_token":"0xaf88d065e77c8cC2239327C5EDb3A432268e5831","decimals":6,"recipient":"0x70997970C51812dc3A010C7d01b50e0d17dc79C8","amount":"25.5","max_fee":"0","judged":{"rail":"bridge","checks":["erc20_allowance_reset_ordered"]},"minted":"25.5","minted_atoms":"25500000","minted_at_least_atoms":"25500000","allowance_left_atoms":"0"}"#
    ),
};

pub(crate) const AUTO_WITHDRAW: Route = Route {
    method: Method::Post,
    path: "/auto-withdraw",
    resource: "/auto-withdraw",
    price: MicroUsd::dollars("0.05"),
    summary: "Withdraw to the payer",
    description: "Sends a token of the sub-wallet to the payer, and to nobody else. Charged when a \
                  transaction of the sub-wallet is in a block or pending: 200 when the action has \
                  ended, 202 while it continues (`GET /intents/{id}` reports its end).",
    refuses: "the payer has no sub-wallet (404 `no_sub_wallet`), there is nothing to withdraw, or the \
              payer is a contract that the chain does not have at its address",
    query: &[],
    body: &[
        CHAIN_ID,
        TOKEN,
        Parameter::required(
            "amount",
            Rule::AmountOr("max"),
            "max",
            "Human-readable amount, or `max`.",
        ),
    ],
    constraints: &[],
    core: &["custody"],
    datasets: &[],
    work: WorkClass::Transaction,
    work_seconds: ACTION_SECONDS,
    example: action!(
        "withdraw",
        [],
        r#"{"chain_id":196,"token":"0x779Ded0c9e1022225f8E0630b35a9b54bE713736","decimals":6,"recipient":"0x1f9840a85d5aF5bf1D1762F925BDADdC4201F984","amount":"25.5","leaves":"0","delivered":"25.5","delivered_atoms":"25500000","delivered_at_least_atoms":"25500000"}"#
    ),
};

pub(crate) const AUTO_DEFI_INVEST: Route = Route {
    method: Method::Post,
    path: "/auto-defi-invest",
    resource: "/auto-defi-invest",
    price: MicroUsd::dollars("0.05"),
    summary: "Deposit into a protocol",
    description: "Deposits an asset of the sub-wallet into a lending market or a vault. Charged \
                  when a transaction of the sub-wallet is in a block or pending: 200 when the \
                  action has ended, 202 while it continues (`GET /intents/{id}` reports its end).",
    refuses: "the payer has no sub-wallet (404 `no_sub_wallet`), it lacks funds (409 `funds_required`), \
              the product is paused, frozen or at its cap, or the shares are not worth the deposit or \
              nobody can tell (422)",
    query: &[],
    body: &[
        CHAIN_ID,
        Parameter::required(
            "protocol",
            Rule::Line { max: 64 },
            "aave-v3",
            "Protocol slug.",
        ),
        Parameter::required("asset", Rule::Symbol, "USDG", "Asset symbol."),
        AMOUNT,
        PRODUCT_ID,
        Parameter::optional("min_shares", Rule::Amount, "25", "Least shares to accept."),
        MAX_PRICE_IMPACT,
        PRINCIPAL_AUTH,
    ],
    constraints: &[],
    core: &["custody"],
    datasets: &[],
    work: WorkClass::Transaction,
    work_seconds: ACTION_SECONDS,
    example: action!(
        "defi_invest",
        ["approve"],
        r#"{"chain_id":196,"protocol":"aave-v3","product_id":"aave-v3-xlayer-usdg","contract":"0xE3F3Caefdd7180F884c01E57f65Df979Af84f116","asset":"0x4ae46a509F6b1D9056937BA4500cb143933D2dc8","amount":"25.5","shares":"0x1111111111111111111111111111111111111111","shares_before_atoms":"0","decimals":6,"min_shares_atoms":"25499999","shares_received":"25.5","shares_received_atoms":"25500000","shares_received_at_least_atoms":"25499999","allowance_left_atoms":"0"}"#
    ),
};

pub(crate) const AUTO_DEFI_WITHDRAW: Route = Route {
    method: Method::Post,
    path: "/auto-defi-withdraw",
    resource: "/auto-defi-withdraw",
    price: MicroUsd::dollars("0.05"),
    summary: "Withdraw from a protocol",
    description: "Withdraws an amount, or a share, of a position back to the sub-wallet. Charged \
                  when a transaction of the sub-wallet is in a block or pending: 200 when the \
                  action has ended, 202 while it continues (`GET /intents/{id}` reports its end).",
    refuses: "the payer has no sub-wallet (404 `no_sub_wallet`), or there is no such position",
    query: &[],
    body: &[
        Parameter::optional(
            "position_id",
            Rule::Line { max: 128 },
            "196-aave-v3-usdg",
            "Position as in `/yield-farming-active`.",
        ),
        PRODUCT_ID,
        Parameter::optional("amount", Rule::Amount, "25.5", "Human-readable amount."),
        Parameter::optional(
            "ratio",
            Rule::Decimal {
                min: "0.000001",
                max: "1",
            },
            "0.5",
            "Share of the position, above 0 and at most 1.",
        ),
    ],
    constraints: &[
        Constraint::ExactlyOne(&["position_id", "product_id"]),
        Constraint::ExactlyOne(&["amount", "ratio"]),
    ],
    core: &["custody"],
    datasets: &[],
    work: WorkClass::Transaction,
    work_seconds: ACTION_SECONDS,
    example: action!(
        "defi_withdraw",
        [],
        r#"{"chain_id":196,"protocol":"aave-v3","product_id":"aave-v3-xlayer-usdg","contract":"0xE3F3Caefdd7180F884c01E57f65Df979Af84f116","asset":"0x4ae46a509F6b1D9056937BA4500cb143933D2dc8","decimals":6,"shares":"0x1111111111111111111111111111111111111111","shares_before_atoms":"25612345","takes_all":true,"min_out":"25.612344","amount_out":"25.612345","amount_out_atoms":"25612345","amount_out_at_least_atoms":"25612344"}"#
    ),
};
