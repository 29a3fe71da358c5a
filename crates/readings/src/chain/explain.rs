//! The explanation of a transaction: facts, and sentences about them from templates.
//!
//! It uses only the nodes' data ([`Record`](super::record::Record)) and the further facts that a
//! caller has looked up ([`Knowledge`](super::knowledge::Knowledge)). It fetches nothing. A fact
//! that cannot be determined is missing, with a reason.

mod action;
mod shown;
mod warnings;

use std::collections::BTreeSet;

use alloy_primitives::Address;
use exact::format_units;
use jiff::Timestamp;
use serde::{Serialize, Serializer};

pub use self::{
    action::Action,
    shown::{ShownApproval, ShownAsset, ShownCall, ShownChange, ShownDelegation, ShownTransfer},
    warnings::Warning,
};
use super::{
    balances,
    builtin::{self, calls},
    events::{self, Events},
    fee::{self, Fee},
    knowledge::{Knowledge, Replay},
    network::NATIVE_DECIMALS,
    record::{ExecutionOutcome, Record, Testimony},
    revert,
    signature::Confidence,
};

/// The most elements of each list that are shown.
pub const MAX_SHOWN: usize = 100;

/// The state of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// A block has it, and it took effect.
    Success,
    /// A block has it, and everything except the fee was undone.
    Reverted,
    /// No block has it yet.
    Pending,
    /// A block has it, but the receipt does not state the outcome.
    Unstated,
}

/// The explanation of a transaction: `data` of `/tx-explainer`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Explanation {
    /// Its chain.
    pub chain: ChainName,
    /// Its hash.
    pub hash: String,
    /// Its state.
    pub status: Status,
    /// How many nodes confirm it.
    pub evidence: Evidence,
    /// The height of its block.
    pub block: Option<u64>,
    /// The time of its block.
    #[serde(serialize_with = "seconds")]
    pub timestamp: Option<Timestamp>,
    /// The sender.
    pub from: String,
    /// The called account. None when it creates a contract.
    pub to: Option<String>,
    /// The native coin that it carries, in whole coins.
    pub value: String,
    /// The symbol of the native coin.
    pub native_symbol: &'static str,
    /// Its fee.
    pub fee: Option<Fee>,
    /// Its action, in one word and one sentence.
    pub action: Action,
    /// The call that it makes.
    pub decoded_call: Option<ShownCall>,
    /// How certain the signature of that call is. None when there is no call.
    pub signature_confidence: Option<Confidence>,
    /// The transfers. None while there cannot be any.
    pub transfers: Option<Vec<ShownTransfer>>,
    /// The approvals. None while there cannot be any.
    pub approvals: Option<Vec<ShownApproval>>,
    /// The EIP-7702 signatures that it carries, absent when it carries none. They count even when
    /// the rest of the transaction is undone.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub delegations: Vec<ShownDelegation>,
    /// The balance changes. None while there cannot be any, or when they cannot be determined.
    pub balance_changes: Option<Vec<ShownChange>>,
    /// The contracts that took part.
    pub contracts: Vec<Contract>,
    /// Why it reverted.
    pub revert_reason: Option<String>,
    /// Warnings for the reader.
    pub warnings: Vec<Warning>,
    /// Lists that were cut, with their full lengths.
    #[serde(skip)]
    pub cut: Vec<(&'static str, usize)>,
    /// Members that are null, each with the reason.
    #[serde(skip)]
    pub missing: Vec<(&'static str, String)>,
}

/// How many nodes confirm the state, the logs and the content.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Evidence {
    /// `two_nodes_agree` or `one_nodes_word`.
    pub basis: &'static str,
    /// The number of nodes that agree.
    pub nodes: u8,
    /// Why only one node confirms it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<&'static str>,
}

impl From<Testimony> for Evidence {
    fn from(testimony: Testimony) -> Self {
        match testimony {
            Testimony::TwoNodes => Self {
                basis: "two_nodes_agree",
                nodes: 2,
                reason: None,
            },
            Testimony::OneNode(reason) => Self {
                basis: "one_nodes_word",
                nodes: 1,
                reason: Some(reason),
            },
        }
    }
}

/// A chain by id and name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct ChainName {
    /// EIP-155 id.
    pub id: u64,
    /// Name in lower case.
    pub name: &'static str,
}

/// A contract that took part.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Contract {
    /// Its address.
    pub address: String,
    /// `called`, `called_inside`, `created` or `token`.
    pub role: &'static str,
    /// The name of the contract, if it has this address on every chain.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<&'static str>,
    /// Whether the source code is published and compiles to the deployed code. Absent when no
    /// source was asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verified: Option<bool>,
    /// The contracts to which it delegates.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub implementations: Vec<String>,
    /// Whether the code of one of these is verified. Absent when there are none, or when the
    /// look-up failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub implementation_verified: Option<bool>,
}

/// Explains a transaction with the knowledge that is available.
#[must_use]
pub fn explain(record: &Record, known: &Knowledge) -> Explanation {
    let transaction = &record.transaction;
    let status = status(record);
    let logs = record
        .receipt
        .as_ref()
        .map(|receipt| receipt.logs.as_slice());
    let events = events::read(record.network, logs.unwrap_or_default());
    let fee = fee::fee(record);
    let call = calls::root(transaction, known);
    let undetermined = transaction.undetermined_balances();
    let (changes, unknown_sums) = match undetermined {
        Some(_) => (Vec::new(), 0),
        None => balances::changes(record, &events, fee.as_ref().ok()),
    };
    let view = View {
        record,
        known,
        status,
        events: &events,
        changes: &changes,
        fee_is_known: fee.is_ok(),
        call: call.as_ref(),
    };
    let mut missing = Vec::new();
    let (revert_reason, reason_missing) = revert_reason(record, known, status);
    missing.extend(reason_missing.map(|reason| ("revert_reason", reason)));
    if status == Status::Pending {
        let pending = [
            "block",
            "timestamp",
            "transfers",
            "approvals",
            "balance_changes",
        ];
        missing.extend(pending.map(|field| (field, "pending".to_owned())));
    } else {
        if record.time.is_none() {
            missing.push(("timestamp", "block_unavailable".to_owned()));
        }
        missing.extend(undetermined.map(|reason| ("balance_changes", reason.to_owned())));
    }
    missing.extend(
        fee.as_ref()
            .err()
            .map(|reason| ("fee", (*reason).to_owned())),
    );
    if transaction.to.is_none() {
        missing.push(("to", NOT_APPLICABLE.to_owned()));
    }
    let mut budget = shown::budget();
    let decoded_call = call.as_ref().map(|call| shown::call(call, &mut budget));
    if decoded_call.is_none() {
        missing.push(("decoded_call", NOT_APPLICABLE.to_owned()));
        missing.push(("signature_confidence", NOT_APPLICABLE.to_owned()));
    }
    let confidence = call.as_ref().map(|call| {
        let reading = call.reading.as_ref();
        reading.map_or(Confidence::Unknown, |reading| reading.confidence)
    });
    let (action, mut warnings) = action::action(&view);
    warnings.extend(warnings::warnings(&view, unknown_sums, budget.was_cut()));
    let seen = status != Status::Pending;
    let (transfers, all_transfers) = shown::transfers(&view);
    let (contracts, all_contracts) = contracts(&view);
    let delegations = shown::delegations(&view);
    if delegations.iter().any(|of| of.authority.is_none()) {
        missing.push((
            "delegations[].authority",
            "signature_of_no_account".to_owned(),
        ));
    }
    if delegations.iter().any(|of| of.chain_id.is_none()) {
        missing.push(("delegations[].chain_id", "no_chain_has_this_id".to_owned()));
    }
    let lists = [
        ("delegations", transaction.authorizations.len()),
        ("contracts", all_contracts),
        ("transfers", all_transfers),
        ("approvals", events.approvals.len()),
        ("balance_changes", changes.len()),
    ];
    // A pending transaction has moved nothing yet, but it already names contracts and delegates.
    let long = |(list, total): &(&str, usize)| {
        (seen || ["contracts", "delegations"].contains(list)) && *total > MAX_SHOWN
    };
    Explanation {
        cut: lists.into_iter().filter(long).collect(),
        chain: ChainName {
            id: record.network.id,
            name: record.network.name,
        },
        hash: transaction.hash.to_string(),
        status,
        evidence: record.testimony.into(),
        block: transaction.block.map(|block| block.number),
        timestamp: record.time,
        from: transaction.from.to_checksum(None),
        to: transaction.to.map(|to| to.to_checksum(None)),
        value: format_units(transaction.value, NATIVE_DECIMALS),
        native_symbol: record.network.native_symbol,
        fee: fee.ok(),
        action,
        decoded_call,
        signature_confidence: confidence,
        transfers: seen.then_some(transfers),
        approvals: seen.then(|| shown::approvals(&view)),
        delegations,
        balance_changes: (seen && undetermined.is_none()).then(|| shown::changes(&view)),
        contracts,
        revert_reason,
        warnings,
        missing,
    }
}

/// The reason for a null member that does not apply to the transaction.
const NOT_APPLICABLE: &str = "not_applicable";

/// A transaction in the form in which the parts of an explanation read it.
struct View<'a> {
    record: &'a Record,
    known: &'a Knowledge,
    status: Status,
    events: &'a Events,
    changes: &'a [balances::Change],
    fee_is_known: bool,
    call: Option<&'a calls::DecodedCall>,
}

fn status(record: &Record) -> Status {
    match record.receipt.as_ref().map(|receipt| receipt.outcome) {
        None => Status::Pending,
        Some(ExecutionOutcome::Success) => Status::Success,
        Some(ExecutionOutcome::Reverted) => Status::Reverted,
        Some(ExecutionOutcome::Unstated) => Status::Unstated,
    }
}

/// Returns why it reverted, or why that is missing.
fn revert_reason(
    record: &Record,
    known: &Knowledge,
    status: Status,
) -> (Option<String>, Option<String>) {
    if status != Status::Reverted {
        return (None, Some(NOT_APPLICABLE.to_owned()));
    }
    let facts = record
        .transaction
        .to
        .and_then(|to| known.contracts.get(&to));
    let unknown = |reason: &str| (None, Some(reason.to_owned()));
    match &known.replay {
        Some(Replay::Reverted {
            data: Some(data), ..
        }) => (Some(revert::reason(data, facts)), None),
        Some(Replay::Reverted {
            data: None,
            message,
        }) => match revert::reason_of_node(message) {
            Some(reason) => (Some(reason), None),
            None => unknown("node_passes_no_revert_data_on"),
        },
        Some(Replay::Succeeded) => unknown("not_reproduced"),
        Some(Replay::Unavailable(reason)) => unknown(reason),
        None => unknown("replay_unavailable"),
    }
}

/// Returns the contracts that took part, and the number of all of them.
fn contracts(view: &View<'_>) -> (Vec<Contract>, usize) {
    let mut found: Vec<(Address, &'static str)> = Vec::new();
    let mut seen = BTreeSet::new();
    let mut add = |address: Address, role| {
        if seen.insert(address) {
            found.push((address, role));
        }
    };
    if let Some(call) = view.call {
        call.visit(&mut |inner| {
            if let Some(to) = inner.to {
                add(
                    to,
                    if std::ptr::eq(inner, call) {
                        "called"
                    } else {
                        "called_inside"
                    },
                );
            }
        });
    }
    if let Some(created) = view
        .record
        .receipt
        .as_ref()
        .and_then(|receipt| receipt.created)
    {
        add(created, "created");
    }
    let moved = view
        .events
        .transfers
        .iter()
        .filter_map(|transfer| transfer.token);
    for token in moved.chain(view.events.approvals.iter().map(|approval| approval.token)) {
        add(token, "token");
    }
    let shown = |(address, role): (Address, &'static str)| {
        let facts = view.known.contracts.get(&address);
        let implementations = facts
            .map(|facts| facts.implementations.as_slice())
            .unwrap_or_default();
        Contract {
            address: address.to_checksum(None),
            role,
            name: builtin::well_known(address),
            verified: facts.map(|facts| facts.verified),
            implementations: implementations
                .iter()
                .map(|address| address.to_checksum(None))
                .collect(),
            implementation_verified: facts.and_then(|facts| facts.implementation_verified),
        }
    };
    let total = found.len();
    (
        found.into_iter().take(MAX_SHOWN).map(shown).collect(),
        total,
    )
}

fn seconds<S: Serializer>(time: &Option<Timestamp>, serializer: S) -> Result<S::Ok, S::Error> {
    match time {
        Some(time) => serializer.collect_str(&format_args!("{time:.0}")),
        None => serializer.serialize_none(),
    }
}

#[cfg(test)]
mod tests;
