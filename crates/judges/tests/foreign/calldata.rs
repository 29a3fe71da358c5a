//! Compares our reading of the calldata of generated plans with that of PyPI `eth-abi`.

use judges::{Toolchain, judge};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::facts::{self, Function, lower};
use crate::rails::bridge::bridges;
use crate::rails::swap::swaps;
use crate::rails::{Case, Plan, bytes, sample};

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct Call {
    function: Function,
    data: String,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Reading {
    Read { facts: Value, encoded: String },
    Refused { error: String },
}

impl Call {
    fn new(function: Function, data: &[u8]) -> Self {
        Self {
            function,
            data: lower(data),
        }
    }

    fn bytes(&self) -> Vec<u8> {
        alloy_primitives::hex::decode(&self.data).unwrap()
    }
}

/// Every call of generated plans, including those that pay a fee.
fn calls() -> Vec<Call> {
    let mut calls = Vec::new();
    let mut note = |plan: &Plan, function| {
        calls.push(Call::new(Function::Approve, &plan.step_data(0)));
        calls.push(Call::new(Function::Approve, &plan.step_data(1)));
        calls.push(Call::new(function, &plan.step_data(2)));
    };
    let swaps: Vec<_> = sample(150, swaps()).iter().map(Case::plan).collect();
    for plan in &swaps {
        note(plan, Function::Swap);
    }
    for case in sample(150, bridges()) {
        note(&case.plan(), Function::Burn);
    }
    for plan in &swaps {
        let facts = facts::read(Function::Swap, &plan.step_data(2)).unwrap();
        let fees = bytes(&facts["legs"][0]["call_data"]);
        calls.push(Call::new(Function::ForwardFees, &fees));
    }
    calls
}

async fn readings(calls: &[Call]) -> Vec<Reading> {
    let toolchain = Toolchain::from_env().unwrap();
    let readings: Vec<Reading> = judge(toolchain.python_agent("decode_calldata.py"), &calls)
        .await
        .unwrap();
    assert_eq!(readings.len(), calls.len());
    readings
}

#[tokio::test]
async fn plans_read_the_same_and_are_encoded_identically() {
    let calls = calls();
    assert_eq!(calls.len(), 150 * 7);
    for (call, reading) in calls.iter().zip(readings(&calls).await) {
        let ours = facts::read(call.function, &call.bytes()).expect("canonical calldata");
        match reading {
            Reading::Read { facts, encoded } => {
                assert_eq!(facts, ours, "{call:?}");
                assert_eq!(encoded, call.data);
            }
            Reading::Refused { error } => panic!("{error}: {call:?}"),
        }
    }
}

/// Changes every byte of one call of each function, and adds bytes after it.
#[tokio::test]
async fn changed_calldata_reads_the_same_or_is_refused() {
    let originals = calls();
    let mut changed = Vec::new();
    for function in [
        Function::Approve,
        Function::Burn,
        Function::ForwardFees,
        Function::Swap,
    ] {
        let of_function = originals.iter().filter(|call| call.function == function);
        for call in of_function.step_by(75) {
            let data = call.bytes();
            for at in 0..data.len() {
                for bit in [0x01, 0x80] {
                    let mut data = data.clone();
                    data[at] ^= bit;
                    changed.push(Call::new(function, &data));
                }
            }
            for tail in [&[0u8; 1][..], &[0; 32], &[1; 32]] {
                changed.push(Call::new(function, &[&data[..], tail].concat()));
            }
            changed.push(Call::new(function, &data[..data.len() - 1]));
            changed.push(Call::new(function, &data[..data.len() - 32]));
        }
    }
    let (mut same, mut refused) = (0, 0);
    for (call, reading) in changed.iter().zip(readings(&changed).await) {
        let theirs = match reading {
            Reading::Read { facts, encoded } => (encoded == call.data).then_some(facts),
            Reading::Refused { .. } => None,
        };
        *if theirs.is_some() {
            &mut same
        } else {
            &mut refused
        } += 1;
        assert_eq!(
            facts::read(call.function, &call.bytes()),
            theirs,
            "{call:?}"
        );
    }
    assert!(
        same > 1_000 && refused > 1_000,
        "{same} read, {refused} refused"
    );
}
