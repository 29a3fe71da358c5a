//! The bytes of a verified plan, for the tools that sign and send them.

use std::fmt::Write as _;

use clap::ValueEnum;
use serde_json::{Value, json};

use crate::Refused;

/// Forms of the verified bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Emit {
    /// The transactions as a JSON array of {chain_id, from, to, value, data, kind}, in their order
    Steps,
    /// One `cast send` command for each transaction, in their order
    Cast,
    /// The batch file of the Safe Transaction Builder that the plan carries
    Safe,
}

/// Writes the bytes in one of the forms. All of them come from the verified plan.
///
/// # Errors
/// `emit_unsupported` for a plan without such bytes.
pub(super) fn emit(plan: &Value, form: Emit) -> Result<String, Refused> {
    if form == Emit::Safe {
        return plan
            .pointer("/exports/safe_tx_builder")
            .map(|batch| format!("{batch}\n"))
            .ok_or_else(|| {
                Refused::new(
                    "emit_unsupported",
                    "the plan carries no batch for a Safe: ask the rail for it with \"exports\": [\"safe_tx_builder\"]",
                )
            });
    }
    let steps = steps(plan).ok_or_else(|| {
        Refused::new(
            "emit_unsupported",
            "the plan holds no transactions: it is an order that is signed as typed data",
        )
    })?;
    Ok(match form {
        Emit::Cast => cast(&steps),
        Emit::Steps | Emit::Safe => format!("{}\n", Value::Array(steps)),
    })
}

fn steps(plan: &Value) -> Option<Vec<Value>> {
    let steps = plan.pointer("/payload/steps")?.as_array()?;
    let from = plan.pointer("/account_binding/address")?;
    let chain_id = plan.pointer("/payload/chain_id")?;
    let with_sender = |step: &Value| {
        Some(json!({
            "chain_id": chain_id,
            "data": step.get("data")?,
            "from": from,
            "kind": step.get("kind")?,
            "to": step.get("to")?,
            "value": step.get("value")?,
        }))
    };
    let steps: Vec<_> = steps.iter().map(with_sender).collect::<Option<_>>()?;
    (!steps.is_empty()).then_some(steps)
}

/// Commands without quotes: a verified plan contains addresses, decimal and hexadecimal digits
/// only.
fn cast(steps: &[Value]) -> String {
    let mut lines = String::new();
    for step in steps {
        let text = |name: &str| step.get(name).and_then(Value::as_str).unwrap_or_default();
        let chain_id = step.get("chain_id").unwrap_or(&Value::Null);
        // Writing to a string cannot fail.
        let _ = writeln!(
            lines,
            "cast send --chain {chain_id} --from {} --value {} {} {}",
            text("from"),
            text("value"),
            text("to"),
            text("data")
        );
    }
    lines
}
