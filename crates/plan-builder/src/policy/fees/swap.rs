//! `[[chains]]` and `[swap]`: the contracts that a swap may touch, and the exchanges that it may
//! not use.

use std::collections::BTreeSet;

use alloy_primitives::{Address, Selector};
use calldata_checks::{
    fees::{ReviewedChain, ReviewedLeg},
    swap::calldata::IMPLEMENTED,
};
use exact::address::ConfiguredAddress;
use serde::Deserialize;

use super::{MOST_ROWS, Problems};
use crate::policy::LifeSeconds;

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ChainTable {
    chain_id: u64,
    router: ConfiguredAddress,
    forwarder: ConfiguredAddress,
    selectors: Vec<Selector>,
    legs: Vec<LegTable>,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
struct LegTable {
    contract: ConfiguredAddress,
    selectors: Vec<Selector>,
    /// The spender that the router must approve for the leg, when it is another contract.
    spender: Option<ConfiguredAddress>,
    #[serde(default)]
    tools: Vec<String>,
    #[serde(default)]
    runs_arbitrary_code: bool,
    max_life_seconds: Option<u64>,
}

/// `[swap]`: the exchanges that the aggregator must not use. The limits of a swap's price are in
/// the server's own configuration, and their earlier keys are refused with their present place.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SwapTable {
    max_price_impact_bps: Option<serde_json::Value>,
    max_price_deviation_bps: Option<serde_json::Value>,
    price_required: Option<serde_json::Value>,
    #[serde(default)]
    deny_tools: Vec<String>,
}

impl SwapTable {
    /// Returns the exchanges that are never asked.
    pub(super) fn review(self, problems: &mut Problems) -> Vec<String> {
        problems.check(
            self.deny_tools.len() <= MOST_TOOLS
                && self.deny_tools.iter().all(|tool| is_tool_key(tool)),
            "swap.deny_tools",
            "at most 32 keys of exchanges as the aggregator writes them (a-z, 0-9, - and _)",
        );
        for (moved, key, place) in [
            (
                self.max_price_impact_bps,
                "swap.max_price_impact_bps",
                "no such key: it is max_price_impact_bps of [worth] in the server's configuration",
            ),
            (
                self.max_price_deviation_bps,
                "swap.max_price_deviation_bps",
                "no such key: it is max_deviation_bps of [worth] in the server's configuration",
            ),
            (
                self.price_required,
                "swap.price_required",
                "no such key: the sources of prices are in [worth] of the server's configuration, and a plan says when they have none",
            ),
        ] {
            problems.check(moved.is_none(), key, place);
        }
        self.deny_tools
    }
}

/// The most exchanges in a list.
const MOST_TOOLS: usize = 32;

/// Returns whether a text can be the aggregator's key of an exchange.
pub(crate) fn is_tool_key(text: &str) -> bool {
    let plain = |b: u8| matches!(b, b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_');
    (1..=64).contains(&text.len()) && text.bytes().all(plain)
}

pub(super) fn chains(tables: Vec<ChainTable>, problems: &mut Problems) -> Vec<ReviewedChain> {
    let mut seen = BTreeSet::new();
    problems.check(tables.len() <= MOST_ROWS, "chains", "at most 256 chains");
    let mut chains = Vec::new();
    for (index, table) in tables.into_iter().enumerate() {
        let key = format!("chains[{index}]");
        problems.check(
            table.chain_id > 0 && seen.insert(table.chain_id),
            &format!("{key}.chain_id"),
            "a chain id, named once",
        );
        problems.check(
            !table.selectors.is_empty()
                && table.selectors.iter().all(|one| IMPLEMENTED.contains(one)),
            &format!("{key}.selectors"),
            "at least one of the functions that are implemented: 0x5fd9ae2e (several legs), 0x4666fc80 (one leg, no fee)",
        );
        problems.check(
            !table.legs.is_empty() && table.legs.len() <= MOST_ROWS,
            &format!("{key}.legs"),
            "1 to 256 reviewed contracts",
        );
        let router = problems.address(&table.router, &format!("{key}.router"));
        let forwarder = problems.address(&table.forwarder, &format!("{key}.forwarder"));
        let (Some(router), Some(forwarder)) = (router, forwarder) else {
            continue;
        };
        problems.check(
            router != Address::ZERO,
            &format!("{key}.router"),
            "an address that is not zero",
        );
        problems.check(
            forwarder != Address::ZERO && forwarder != router,
            &format!("{key}.forwarder"),
            "an address that is neither zero nor the router",
        );
        chains.push(ReviewedChain {
            chain_id: table.chain_id,
            router,
            forwarder,
            selectors: table.selectors,
            legs: legs(table.legs, &key, [router, forwarder], problems),
        });
    }
    chains
}

/// Reads the contracts of a chain's legs. None of them may be one of `others`.
fn legs(
    tables: Vec<LegTable>,
    chain: &str,
    others: [Address; 2],
    problems: &mut Problems,
) -> Vec<ReviewedLeg> {
    let mut legs = Vec::new();
    for (index, table) in tables.into_iter().enumerate() {
        let key = format!("{chain}.legs[{index}]");
        problems.check(
            !table.selectors.is_empty(),
            &format!("{key}.selectors"),
            "at least one selector",
        );
        problems.check(
            table.tools.len() <= MOST_TOOLS && table.tools.iter().all(|tool| is_tool_key(tool)),
            &format!("{key}.tools"),
            "at most 32 keys of exchanges as the aggregator writes them (a-z, 0-9, - and _)",
        );
        if let Some(life) = table.max_life_seconds {
            problems.check(
                (LifeSeconds::MIN..=LifeSeconds::MAX).contains(&life),
                &format!("{key}.max_life_seconds"),
                "30 to 600",
            );
        }
        let refused = |address: Address| address == Address::ZERO || others.contains(&address);
        let contract = problems.address(&table.contract, &format!("{key}.contract"));
        let spender = match &table.spender {
            Some(spender) => problems.address(spender, &format!("{key}.spender")),
            None => contract,
        };
        let (Some(contract), Some(spender)) = (contract, spender) else {
            continue;
        };
        for (name, address) in [("contract", contract), ("spender", spender)] {
            problems.check(
                !refused(address),
                &format!("{key}.{name}"),
                "an address that is neither zero, the router nor the forwarder",
            );
        }
        legs.push(ReviewedLeg {
            contract,
            selectors: table.selectors,
            spender,
            tools: table.tools,
            runs_arbitrary_code: table.runs_arbitrary_code,
            max_life_seconds: table.max_life_seconds,
        });
    }
    legs
}
