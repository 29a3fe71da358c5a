//! Transactions and balances across chains.

use x402_wire::MicroUsd;

use super::{OPTIONAL_ADDRESS, READ_SECONDS};
use crate::{EVM_CHAINS, Method, Operation, Parameter, Route, Rule};

pub(crate) const TX_EXPLAINER: Route = Route {
    operation: Operation::TxExplainer,
    method: Method::Get,
    path: "/tx-explainer",
    resource: "/tx-explainer",
    price: MicroUsd::dollars("0.01"),
    summary: "Transaction explained",
    description: "Decodes and explains an EVM transaction: action, transfers, approvals, balance \
                  changes, fee and revert reason. Without `chain` eleven chains are searched.",
    refuses: "no chain knows the transaction",
    query: &[
        Parameter::required(
            "txHash",
            Rule::Hash,
            "0x88df016429689c079f3b2f6ad39fa052532c56795b733da78a91ebe6a713944b",
            "Transaction hash.",
        ),
        Parameter::optional(
            "chain",
            Rule::Chain(&EVM_CHAINS),
            "base",
            "Chain id or name.",
        ),
    ],
    body: &[],
    constraints: &[],
    core: &["transaction"],
    work_seconds: READ_SECONDS,
    example: r#"{"chain":{"id":8453,"name":"base"},"hash":"0x88df016429689c079f3b2f6ad39fa052532c56795b733da78a91ebe6a713944b","status":"success","block":38000000,"timestamp":"2026-11-20T23:59:59Z","from":"0x1f9840a85d5aF5bf1D1762F925BDADdC4201F984","to":"0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913","value":"0","fee":{"native":"0.0000012","usd":"0.004"},"action":{"type":"transfer","summary":"Sent 25 USDC"},"decoded_call":{"function":"transfer(address,uint256)"},"signature_confidence":"verified_abi","transfers":[],"approvals":[],"balance_changes":[],"contracts":[],"revert_reason":null,"warnings":[]}"#,
};

pub(crate) const PORTFOLIO: Route = Route {
    operation: Operation::Portfolio,
    method: Method::Get,
    path: "/portfolio",
    resource: "/portfolio",
    price: MicroUsd::dollars("0.001"),
    summary: "Multi-chain token balances",
    description: "Token balances of an account across chains. A chain that fails is labelled \
                  unavailable, and the total then says that it is not complete.",
    refuses: "every chain fails",
    query: &[
        OPTIONAL_ADDRESS,
        Parameter::optional(
            "chains",
            Rule::Chains(&EVM_CHAINS),
            "196,8453",
            "Comma list of chain ids or names. Default: all.",
        ),
    ],
    body: &[],
    constraints: &[],
    core: &["balances"],
    work_seconds: READ_SECONDS,
    example: r#"{"address":"0x1f9840a85d5aF5bf1D1762F925BDADdC4201F984","total_usd":"820.5","total_usd_complete":true,"chains":[{"chain_id":196,"status":"ok","usd":"820.5","tokens":[{"address":"0x4ae46a509F6b1D9056937BA4500cb143933D2dc8","symbol":"USDG","decimals":6,"raw":"820500000","amount":"820.5","price_usd":"1","value_usd":"820.5","risk":"low"}]}]}"#,
};
