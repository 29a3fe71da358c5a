//! Known facts about a transaction in addition to its own data, and the further facts that would
//! help to read it.

use std::collections::{BTreeMap, BTreeSet};

use alloy_json_abi::Param;
use alloy_primitives::{Address, Bytes, Selector};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::{
    abi::Signature,
    builtin::calls,
    events,
    record::{ExecutionOutcome, Record},
};

/// The most entries of a contract's interface that are read.
const MAX_ENTRIES: usize = 4096;
/// The most contracts whose interfaces are looked up.
const MAX_CONTRACTS: usize = 6;
/// The most selectors that are looked up.
const MAX_SELECTORS: usize = 12;
/// The most tokens whose symbols and decimals are looked up.
const MAX_TOKENS: usize = 40;

/// The facts that are known in addition to the transaction. A missing fact was not asked for, or
/// was unavailable.
#[derive(Clone, Debug, Default)]
pub struct Knowledge {
    /// Contracts by address.
    pub contracts: BTreeMap<Address, ContractFacts>,
    /// Contracts whose look-up failed, so that it is not repeated.
    pub unasked: BTreeSet<Address>,
    /// The signatures that databases list for a selector, in their order.
    pub candidates: BTreeMap<Selector, Vec<Candidate>>,
    /// Tokens by address.
    pub tokens: BTreeMap<Address, TokenFacts>,
    /// The result of running a reverted transaction again.
    pub replay: Option<Replay>,
}

/// The published facts about a contract.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ContractFacts {
    /// Whether source code is published that compiles to the deployed code.
    pub verified: bool,
    /// The contracts to which it delegates, as far as they are known.
    pub implementations: Vec<Address>,
    /// Whether one of its implementations is verified. `None` when there are none, or when that is
    /// unknown.
    pub implementation_verified: Option<bool>,
    functions: BTreeMap<Selector, Signature>,
    errors: BTreeMap<Selector, Signature>,
}

/// A signature that a database lists for a selector.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// `name(types)`. The text is untrusted.
    pub text: String,
    /// Whether it occurs in verified code.
    pub verified: bool,
}

/// The facts that a token states about itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TokenFacts {
    /// Its symbol, cleaned. The text is untrusted.
    pub symbol: Option<String>,
    /// Its decimals. `None`, which is not zero, when the token does not state them.
    pub decimals: Option<u8>,
}

/// The result of running a transaction again on the state before its block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Replay {
    /// It reverted.
    Reverted {
        /// The returned data, if the node passes it on.
        data: Option<Bytes>,
        /// The node's message. The text is untrusted.
        message: String,
    },
    /// It did not revert there. So its failure depended on earlier transactions of its block.
    Succeeded,
    /// It could not be run. The reason is a code. Nodes without old states answer so.
    Unavailable(String),
}

/// The facts that would help to read a transaction.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Needs {
    /// Contracts whose published interface would help.
    pub contracts: BTreeSet<Address>,
    /// Selectors whose signature would help.
    pub selectors: BTreeSet<Selector>,
    /// Tokens whose symbol and decimals would help.
    pub tokens: BTreeSet<Address>,
    /// Whether a second run would help to find the reason of the revert.
    pub replay: bool,
}

impl ContractFacts {
    /// Makes a contract with this interface, the JSON ABI of verified code. Leaves out entries that
    /// cannot be read. `None` when the text is not a list.
    #[must_use]
    pub fn verified(abi: &str) -> Option<Self> {
        let entries: Vec<&RawValue> = serde_json::from_str(abi).ok()?;
        let mut facts = Self {
            verified: true,
            ..Self::default()
        };
        for entry in entries.into_iter().take(MAX_ENTRIES) {
            let Ok(entry) = serde_json::from_str::<Entry>(entry.get()) else {
                continue;
            };
            // A function whose inputs are missing would be confused with one that takes none.
            let signature = || Signature::declared(&entry.name, entry.inputs.as_deref()?);
            let read = match entry.kind.as_str() {
                "function" => signature().map(|signature| (&mut facts.functions, signature)),
                "error" => signature().map(|signature| (&mut facts.errors, signature)),
                _ => None,
            };
            if let Some((map, signature)) = read {
                map.entry(signature.selector()).or_insert(signature);
            }
        }
        Some(facts)
    }

    /// Adds the interface of an implementation. `None` when it could not be looked up.
    pub fn delegates_to(&mut self, address: Address, implementation: Option<&Self>) {
        let told = implementation.map(|implementation| implementation.verified);
        let known = self.implementation_verified;
        self.implementation_verified = match (known, told) {
            (Some(true), _) | (_, Some(true)) => Some(true),
            _ if self.implementations.is_empty() => told,
            _ => known.and(told),
        };
        if !self.implementations.contains(&address) {
            self.implementations.push(address);
        }
        let Some(implementation) = implementation else {
            return;
        };
        for (selector, signature) in &implementation.functions {
            self.functions
                .entry(*selector)
                .or_insert_with(|| signature.clone());
        }
        for (selector, signature) in &implementation.errors {
            self.errors
                .entry(*selector)
                .or_insert_with(|| signature.clone());
        }
    }

    /// Whether an interface with any function is known.
    #[must_use]
    pub fn has_functions(&self) -> bool {
        !self.functions.is_empty()
    }

    /// The function with this selector.
    #[must_use]
    pub fn function(&self, selector: Selector) -> Option<&Signature> {
        self.functions.get(&selector)
    }

    /// The error with this selector.
    #[must_use]
    pub fn error(&self, selector: Selector) -> Option<&Signature> {
        self.errors.get(&selector)
    }
}

/// The members of an entry that are read. Compilers have written the other ones in many ways.
#[derive(Deserialize)]
struct Entry {
    #[serde(rename = "type", default = "function")]
    kind: String,
    #[serde(default)]
    name: String,
    inputs: Option<Vec<Param>>,
}

/// The type of an entry that states none.
fn function() -> String {
    "function".to_owned()
}

impl Needs {
    /// Returns the facts that would help to read `record` beyond the known ones. Call it again with
    /// the new facts, because inner calls become visible only when the outer one is decoded. The
    /// result is bounded, however large the transaction is.
    #[must_use]
    pub fn of(record: &Record, known: &Knowledge) -> Self {
        let mut needs = Self::default();
        if let Some(root) = calls::root(&record.transaction, known) {
            root.visit(&mut |call| {
                let Some(to) = call.to else { return };
                let Some(selector) = call.selector() else {
                    return;
                };
                let asked = known.contracts.len().saturating_add(known.unasked.len());
                let open = asked.saturating_add(needs.contracts.len()) < MAX_CONTRACTS;
                if open && !known.contracts.contains_key(&to) && !known.unasked.contains(&to) {
                    needs.contracts.insert(to);
                }
                let sought =
                    known.candidates.len().saturating_add(needs.selectors.len()) < MAX_SELECTORS;
                if call.reading.is_none() && sought && !known.candidates.contains_key(&selector) {
                    needs.selectors.insert(selector);
                }
            });
        }
        if let Some(receipt) = &record.receipt {
            for token in events::tokens(record.network, &receipt.logs) {
                if needs.tokens.len() == MAX_TOKENS {
                    break;
                }
                if !known.tokens.contains_key(&token) {
                    needs.tokens.insert(token);
                }
            }
            needs.replay = receipt.outcome == ExecutionOutcome::Reverted && known.replay.is_none();
        }
        needs
            .tokens
            .extend(token_of_call(record).filter(|token| !known.tokens.contains_key(token)));
        needs
    }

    /// Whether nothing more is needed.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// Returns the token's contract of a call to a token standard. For a pending or reverted
/// transaction no log names the token.
fn token_of_call(record: &Record) -> Option<Address> {
    let root = calls::root(&record.transaction, &Knowledge::default())?;
    let row = root.reading.as_ref()?.row?;
    row.is_of_token().then_some(root.to)?
}
