//! The recorded plans. Two foreign ABI encoders wrote them, and ours must write the same bytes.

use std::str::FromStr;

use alloy_primitives::{Address, B256, Bytes, U256};
use calldata_checks::{
    Facts, Step, StepKind,
    bridge::{AccountKind, Asked, BridgeFacts, TransferSpeed, calldata::Burn, chains},
};
use serde_json::Value;

use crate::bridge::plan::Plan;

fn vectors() -> Vec<Value> {
    let file = include_str!("../../../../../fixtures/vectors/bridge/bridge_calldata.json");
    let Value::Array(rows) = serde_json::from_str::<Value>(file).unwrap()["vectors"].take() else {
        panic!("the vectors are a list");
    };
    assert_eq!(rows.len(), 4);
    rows
}

fn text<T: FromStr<Err: std::fmt::Debug>>(value: &Value) -> T {
    value.as_str().unwrap().parse().unwrap()
}

/// The request of a row. Its `maxFee` is an input of the row, so it is the caller's own here.
fn asked(row: &Value) -> Asked {
    let chain_id = |key: &str| row[key].as_u64().unwrap();
    let source = chains::find(chain_id("srcChainId")).unwrap();
    let destination = chains::find(chain_id("dstChainId")).unwrap();
    assert_eq!(u64::from(source.domain), chain_id("srcDomain"));
    assert_eq!(u64::from(destination.domain), chain_id("dstDomain"));
    let mode = row["mode"].as_str().unwrap();
    Asked {
        account: text(&row["account"]),
        account_kind: AccountKind::Eoa,
        account_chain_id: source.chain_id,
        source_chain_id: source.chain_id,
        destination_chain_id: destination.chain_id,
        token: source.usdc,
        amount: text(&row["amount"]),
        speed: if mode == "fast" {
            TransferSpeed::Fast
        } else {
            TransferSpeed::Standard
        },
        max_fee: Some(text(&row["maxFee"])),
        min_amount_out: None,
        forward: mode.ends_with("_forwarded"),
    }
}

fn steps(row: &Value) -> Vec<Step> {
    let kinds = StepKind::ALL;
    let rows = row["steps"].as_array().unwrap();
    rows.iter()
        .map(|step| Step {
            kind: kinds
                .into_iter()
                .find(|kind| Some(kind.as_str()) == step["kind"].as_str())
                .unwrap(),
            to: Address::parse_checksummed(step["to"].as_str().unwrap(), None).unwrap(),
            value: text(&step["value"]),
            data: text(&step["data"]),
        })
        .collect()
}

#[test]
fn plans_are_encoded_byte_for_byte() {
    for row in vectors() {
        let asked = asked(&row);
        let burn = asked.burn(asked.max_fee.unwrap()).unwrap();
        assert_eq!(burn.steps().to_vec(), steps(&row), "{}", row["mode"]);
    }
}

#[test]
fn calls_are_decoded_to_the_recorded_arguments() {
    for row in vectors() {
        let recorded = &row["decoded_call"];
        let number = |key: &str| u32::try_from(recorded[key].as_u64().unwrap()).unwrap();
        let burn = Burn {
            amount: text::<U256>(&recorded["amount"]),
            destination_domain: number("destinationDomain"),
            mint_recipient: text::<B256>(&recorded["mintRecipient"]),
            burn_token: text(&recorded["burnToken"]),
            destination_caller: text(&recorded["destinationCaller"]),
            max_fee: text(&recorded["maxFee"]),
            min_finality_threshold: number("minFinalityThreshold"),
            hook: recorded.get("hookData").map(text::<Bytes>),
        };
        assert_eq!(
            Burn::decode(&steps(&row)[2].data),
            Ok(burn),
            "{}",
            row["mode"]
        );
    }
}

#[test]
fn recorded_plans_pass_every_check_in_order() {
    let names = [
        "bridge_route_enumerated",
        "bridge_token_native_usdc",
        "bridge_domain_bound",
        "bridge_recipient_account_bound",
        "bridge_recipient_controlled_on_destination",
        "bridge_amount_bound",
        "bridge_fee_cap",
        "bridge_finality_exact",
        "bridge_destination_caller_open",
        "bridge_hook_exact",
        "bridge_targets_value_bound",
        "payload_digest_committed",
        "erc20_allowance_reset_ordered",
        "artifact_expiry_committed",
    ];
    assert_eq!(
        BridgeFacts::CHECKS
            .iter()
            .map(|c| c.name)
            .collect::<Vec<_>>(),
        names
    );
    for row in vectors() {
        let plan = Plan::of(asked(&row)).stepping(|s| *s = steps(&row));
        let report = plan.judge().unwrap();
        let passed: Vec<_> = report.assertions().iter().map(|a| a.name).collect();
        assert_eq!(passed, names, "{}", row["mode"]);
    }
}
