//! A plan in words. All statements about transactions are decoded from the calldata that would be
//! signed, not from the envelope's own description.

mod bridge;
mod order;
mod swap;

use alloy_primitives::{Address, U256};
use serde_json::Value;

use crate::units;

/// Lines of a label and a text; a text may come from a foreign plan.
#[derive(Debug, Default)]
pub(super) struct Words {
    lines: Vec<(&'static str, String)>,
}

impl Words {
    /// The actions of a plan. An unreadable member is named as unreadable, so that a reader sees
    /// that something is missing.
    pub(super) fn of(plan: &Value) -> Self {
        let mut words = Self::default();
        words.add("rail", text(plan, "/rail"));
        words.add("account", account(plan));
        words.add(
            "chain",
            units::chain(integer(plan, "/account_binding/chain_id")),
        );
        match plan.pointer("/rail").and_then(Value::as_str) {
            Some("swap") => swap::describe(plan, &mut words),
            Some("bridge") => bridge::describe(plan, &mut words),
            Some("pm_order") => order::describe_prediction(plan, &mut words),
            Some("perp_order") => order::describe_perpetual(plan, &mut words),
            _ => words.add("does", UNREADABLE.to_owned()),
        }
        words.add("valid until", text(plan, "/valid_until"));
        words
    }

    pub(super) fn add(&mut self, label: &'static str, text: String) {
        self.lines.push((label, text));
    }

    pub(super) fn lines(&self) -> &[(&'static str, String)] {
        &self.lines
    }
}

const UNREADABLE: &str = "cannot be read";

fn text(plan: &Value, pointer: &str) -> String {
    match plan.pointer(pointer) {
        Some(Value::String(text)) => text.clone(),
        Some(value @ (Value::Number(_) | Value::Bool(_))) => value.to_string(),
        _ => UNREADABLE.to_owned(),
    }
}

fn integer(plan: &Value, pointer: &str) -> Option<u64> {
    plan.pointer(pointer).and_then(Value::as_u64)
}

fn amount(plan: &Value, pointer: &str) -> Option<U256> {
    plan.pointer(pointer)?.as_str()?.parse().ok()
}

fn account(plan: &Value) -> String {
    format!(
        "{} ({})",
        text(plan, "/account_binding/address"),
        text(plan, "/account_binding/kind")
    )
}

/// The calldata of a step.
fn data(plan: &Value, step: usize) -> Option<Vec<u8>> {
    let text = plan
        .pointer(&format!("/payload/steps/{step}/data"))?
        .as_str()?;
    exact::parse_hex(text)
}

/// The contract that a step calls.
fn target(plan: &Value, step: usize) -> Option<Address> {
    plan.pointer(&format!("/payload/steps/{step}/to"))?
        .as_str()?
        .parse()
        .ok()
}

/// An allowance: `approve(spender, amount)` of ERC-20.
fn approval(plan: &Value, step: usize) -> Option<(Address, U256)> {
    let data = data(plan, step)?;
    let (selector, arguments) = data.split_at_checked(4)?;
    if selector != [0x09, 0x5e, 0xa7, 0xb3] || arguments.len() != 64 {
        return None;
    }
    let (spender, amount) = arguments.split_at(32);
    let (padding, spender) = spender.split_at(12);
    padding
        .iter()
        .all(|byte| *byte == 0)
        .then(|| (Address::from_slice(spender), U256::from_be_slice(amount)))
}

/// States the allowances that the first two steps set.
fn describe_approvals(plan: &Value, chain_id: Option<u64>, words: &mut Words) {
    let said = (0..2)
        .map(|step| {
            let (token, (spender, amount)) = target(plan, step).zip(approval(plan, step))?;
            Some(format!(
                "{} for {spender}",
                units::amount(chain_id, token, amount)
            ))
        })
        .collect::<Option<Vec<_>>>()
        .map_or_else(|| UNREADABLE.to_owned(), |both| both.join(", then "));
    words.add("allowance", said);
}
