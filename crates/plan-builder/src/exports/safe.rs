//! A batch for the Safe Transaction Builder, with its checksum.

use std::borrow::Cow;

use alloy_primitives::B256;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    digest,
    signing::Evm,
    wire::{Digits, Eip55, Hex, StepRecord, Word},
};

/// A batch file.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct Batch {
    chain_id: String,
    created_at: u64,
    meta: Meta,
    transactions: Vec<Transaction>,
    version: Cow<'static, str>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Meta {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    checksum: Option<Word>,
    created_from_owner_address: Cow<'static, str>,
    created_from_safe_address: Eip55,
    description: Cow<'static, str>,
    name: Cow<'static, str>,
    tx_builder_version: Cow<'static, str>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Transaction {
    contract_inputs_values: (),
    contract_method: (),
    data: Hex,
    to: Eip55,
    value: Digits,
}

impl Batch {
    pub(super) fn of(evm: Evm<'_>, created_millis: u64) -> Self {
        let mut batch = Self {
            chain_id: evm.chain_id.to_string(),
            created_at: created_millis,
            meta: Meta {
                checksum: None,
                created_from_owner_address: Cow::Borrowed(""),
                created_from_safe_address: Eip55::of(evm.account),
                description: Cow::Borrowed("Unsigned plan: clear the allowance, approve, call"),
                name: Cow::Borrowed("Execution plan"),
                tx_builder_version: Cow::Borrowed("1.18.2"),
            },
            transactions: evm.steps.iter().map(transaction).collect(),
            version: Cow::Borrowed("1.0"),
        };
        batch.meta.checksum = serde_json::to_value(&batch)
            .ok()
            .map(|value| Word(checksum(value)));
        batch
    }

    pub(super) const fn created_millis(&self) -> u64 {
        self.created_at
    }
}

fn transaction(step: &StepRecord) -> Transaction {
    Transaction {
        contract_inputs_values: (),
        contract_method: (),
        data: step.data.clone(),
        to: step.to,
        value: step.value,
    }
}

/// The builder's checksum: keccak-256 of its own serialisation of the batch, with the name as
/// `null` and without the checksum.
fn checksum(mut batch: Value) -> B256 {
    if let Some(Value::Object(meta)) = batch.get_mut("meta") {
        meta.insert("name".to_owned(), Value::Null);
        meta.remove("checksum");
    }
    let mut text = String::new();
    write(&batch, &mut text);
    digest::keccak(text.as_bytes())
}

/// Writes an object as the list of its sorted names, and then each value followed by a comma.
fn write(value: &Value, text: &mut String) {
    match value {
        Value::Array(items) => {
            text.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    text.push(',');
                }
                write(item, text);
            }
            text.push(']');
        }
        Value::Object(members) => {
            let mut names: Vec<_> = members.keys().collect();
            names.sort_by(|a, b| a.encode_utf16().cmp(b.encode_utf16()));
            text.push('{');
            text.push_str(&serde_json::to_string(&names).unwrap_or_default());
            for name in names {
                if let Some(value) = members.get(name) {
                    write(value, text);
                    text.push(',');
                }
            }
            text.push('}');
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            text.push_str(&value.to_string());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// The Safe Transaction Builder itself wrote this batch file.
    #[test]
    fn the_checksum_equals_the_builders_own() {
        let batch = json!({
            "version": "1.0",
            "chainId": "1",
            "createdAt": 1_761_326_849_944u64,
            "meta": {
                "name": "Transactions Batch",
                "description": "",
                "txBuilderVersion": "1.18.2",
                "createdFromSafeAddress": "0xA77DE01e157f9f57C7c4A326eeE9C4874D0598b6",
                "createdFromOwnerAddress": "",
                "checksum": "0x8b5032f716845c8b08bab3d63dbd9ba92e056f3557793cd041e59b84e16aa989"
            },
            "transactions": [{
                "to": "0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48",
                "value": "0",
                "data": null,
                "contractMethod": {
                    "inputs": [
                        {"internalType": "address", "name": "spender", "type": "address"},
                        {"internalType": "uint256", "name": "value", "type": "uint256"}
                    ],
                    "name": "approve",
                    "payable": false
                },
                "contractInputsValues": {
                    "spender": "0x474e5Ded6b5D078163BFB8F6dBa355C3aA5478C8",
                    "value": "100000000000"
                }
            }]
        });
        assert_eq!(
            checksum(batch).to_string(),
            "0x8b5032f716845c8b08bab3d63dbd9ba92e056f3557793cd041e59b84e16aa989"
        );
    }
}
