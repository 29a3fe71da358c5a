//! The rows of the routes about transactions and balances on several chains.

use x402_wire::MicroUsd;

use super::{OPTIONAL_ADDRESS, READ_SECONDS};
use crate::{Dataset, EVM_CHAINS, Method, Parameter, Route, Rule, WorkClass};

pub(crate) const TX_EXPLAINER: Route = Route {
    method: Method::Get,
    path: "/tx-explainer",
    resource: "/tx-explainer",
    price: MicroUsd::dollars("0.01"),
    summary: "Transaction explained",
    description: "Decodes and explains an EVM transaction: action, transfers, approvals, balance \
                  changes, fee and revert reason; `evidence` says whether two nodes agree. Without \
                  `chain`, eleven chains are searched. An answer about a transaction an hour deep \
                  in its chain stays fresh for a week, one about a pending transaction for 5 s.",
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
    datasets: &[],
    work: WorkClass::Data,
    work_seconds: READ_SECONDS,
    example: include_str!("../examples/tx_explainer.json"),
};

pub(crate) const PORTFOLIO: Route = Route {
    method: Method::Get,
    path: "/portfolio",
    resource: "/portfolio",
    price: MicroUsd::dollars("0.001"),
    summary: "Multi-chain token balances",
    description: "Token balances of an account across chains. A chain is `ok` only when its index \
                  covers it and its own coin was read. Unreadable parts are labelled, and the \
                  total is then marked as incomplete.",
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
    datasets: &[Dataset::TokenList],
    work: WorkClass::Data,
    work_seconds: READ_SECONDS,
    example: include_str!("../examples/portfolio.json"),
};
