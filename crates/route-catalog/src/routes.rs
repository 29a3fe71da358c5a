//! The rows of the table, sorted by family. A row does not know its operation:
//! [`Operation`](crate::Operation) binds each operation to its row.

pub(crate) mod ai;
pub(crate) mod chains;
pub(crate) mod defi;
pub(crate) mod derivatives;
pub(crate) mod macro_data;
pub(crate) mod news;
pub(crate) mod security;
pub(crate) mod tokens;
pub(crate) mod wallet;
pub(crate) mod yield_watch;

use crate::{HOME_CHAIN, Parameter, Rule, SECURITY_CHAINS};

/// The time of most routes: some reads of upstreams.
const READ_SECONDS: u64 = 10;
/// The time of the routes that ask a model.
const AI_SECONDS: u64 = 120;
/// The time of the routes that wait until a transaction is mined.
const ACTION_SECONDS: u64 = 60;

/// The refusal text of the routes that have no other.
const ALL_SOURCES_DOWN: &str = "no source answers";

/// An optional address. Without it, the call is about the payer's own sub-wallet.
const OPTIONAL_ADDRESS: Parameter = Parameter::optional(
    "address",
    Rule::Address,
    "0x1f9840a85d5aF5bf1D1762F925BDADdC4201F984",
    "The account. Default: the payer's own sub-wallet.",
);

const SYMBOL: Parameter = Parameter::required(
    "symbol",
    Rule::Symbol,
    "OKB",
    "Token symbol, case-insensitive, with or without a leading `$`.",
);

const CURSOR: Parameter = Parameter::optional(
    "cursor",
    Rule::Cursor,
    "eyJvIjo1MH0",
    "The `next_cursor` of the previous answer.",
);

/// The text form of the id of [`HOME_CHAIN`].
const HOME_CHAIN_ID: &str = "196";

/// The parameter `chain`.
const CHAIN: Parameter = Parameter::defaulted(
    "chain",
    Rule::Chain(&SECURITY_CHAINS),
    HOME_CHAIN_ID,
    "Chain id or name, case-insensitive.",
);

const fn limit(max: u64, default: &'static str) -> Parameter {
    Parameter::defaulted(
        "limit",
        Rule::Integer { min: 1, max },
        default,
        "Most rows to return.",
    )
}

const _: () = assert!(HOME_CHAIN.id == 196);
