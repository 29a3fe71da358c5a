//! Shows arguments in the form of an answer: numbers as decimal strings, addresses with their
//! checksum. Everything has a bound, and is marked where it was cut.

use alloy_dyn_abi::DynSolValue;
use alloy_json_abi::Param;
use alloy_primitives::hex;
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::{chain::text::identifier, text::clean};

/// The most elements of one list that are shown.
const MAX_ELEMENTS: usize = 50;
/// The most bytes of a value that are shown whole.
const MAX_BYTES: usize = 256;
/// The most characters of a text.
const MAX_TEXT: usize = 256;

/// One argument of a call.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Argument {
    /// Its name, when the declaration has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Its type.
    #[serde(rename = "type")]
    pub ty: String,
    /// Its value. Numbers are decimal strings, bytes are `0x` and hexadecimal digits, and tuples
    /// are objects when their members have names. A value that was cut is `{"cut": …}`.
    pub value: Value,
}

/// How many values of one transaction may still be shown.
#[derive(Clone, Copy, Debug)]
pub struct Budget {
    left: usize,
    cut: bool,
}

impl Budget {
    /// Makes a budget of this many values.
    #[must_use]
    pub fn of(values: usize) -> Self {
        Self {
            left: values,
            cut: false,
        }
    }

    /// Whether anything was cut.
    #[must_use]
    pub fn was_cut(&self) -> bool {
        self.cut
    }

    pub(crate) fn take(&mut self) -> bool {
        match self.left.checked_sub(1) {
            Some(left) => {
                self.left = left;
                true
            }
            None => {
                self.cut = true;
                false
            }
        }
    }
}

pub(super) fn value(value: &DynSolValue, declared: Option<&Param>, budget: &mut Budget) -> Value {
    if !budget.take() {
        return json!({"cut": true});
    }
    match value {
        DynSolValue::Bool(flag) => json!(flag),
        DynSolValue::Int(number, _) => json!(number.to_string()),
        DynSolValue::Uint(number, _) => json!(number.to_string()),
        DynSolValue::FixedBytes(word, size) => {
            json!(hex::encode_prefixed(word.get(..*size).unwrap_or_default()))
        }
        DynSolValue::Address(address) => json!(address.to_checksum(None)),
        DynSolValue::Function(function) => json!(hex::encode_prefixed(function)),
        DynSolValue::Bytes(bytes) => long_bytes(bytes, budget),
        DynSolValue::String(text) => long_text(text, budget),
        DynSolValue::Array(elements) | DynSolValue::FixedArray(elements) => {
            list(elements, declared, budget)
        }
        DynSolValue::Tuple(members) => tuple(members, declared, budget),
        // No decoder of calldata returns structs with names.
        #[allow(
            unreachable_patterns,
            reason = "the variant exists when any crate of the graph asks for typed data (EIP-712)"
        )]
        other => other
            .as_fixed_seq()
            .map_or(Value::Null, |members| tuple(members, declared, budget)),
    }
}

fn long_bytes(bytes: &[u8], budget: &mut Budget) -> Value {
    let Some(head) = bytes
        .get(..MAX_BYTES)
        .filter(|head| head.len() < bytes.len())
    else {
        return json!(hex::encode_prefixed(bytes));
    };
    budget.cut = true;
    json!({"cut": true, "bytes": bytes.len(), "head": hex::encode_prefixed(head)})
}

fn long_text(text: &str, budget: &mut Budget) -> Value {
    let shown = clean(text, MAX_TEXT);
    budget.cut |= text.chars().count() > MAX_TEXT;
    json!(shown)
}

fn list(elements: &[DynSolValue], declared: Option<&Param>, budget: &mut Budget) -> Value {
    let mut shown: Vec<Value> = Vec::new();
    for element in elements.iter().take(MAX_ELEMENTS) {
        shown.push(value(element, declared, budget));
        if budget.left == 0 {
            break;
        }
    }
    let left_out = elements.len().saturating_sub(shown.len());
    if left_out > 0 {
        budget.cut = true;
        shown.push(json!({"cut": true, "elements": left_out}));
    }
    Value::Array(shown)
}

/// Shows a tuple as an object when every member has a distinct name, otherwise as a list.
fn tuple(members: &[DynSolValue], declared: Option<&Param>, budget: &mut Budget) -> Value {
    let components = declared
        .map(|param| param.components.as_slice())
        .unwrap_or_default();
    let names: Option<Vec<&str>> = components
        .iter()
        .map(|param| identifier(&param.name))
        .collect();
    let names = names.filter(|names| names.len() == members.len() && distinct(names));
    let component = |place: usize| components.get(place);
    match names {
        Some(names) => {
            let mut object = Map::new();
            for (place, (name, member)) in names.into_iter().zip(members).enumerate() {
                object.insert(name.to_owned(), value(member, component(place), budget));
            }
            Value::Object(object)
        }
        None => {
            let shown = members.iter().enumerate();
            Value::Array(
                shown
                    .map(|(place, member)| value(member, component(place), budget))
                    .collect(),
            )
        }
    }
}

fn distinct(names: &[&str]) -> bool {
    let mut sorted = names.to_vec();
    sorted.sort_unstable();
    sorted.windows(2).all(|pair| pair.first() != pair.last())
}
