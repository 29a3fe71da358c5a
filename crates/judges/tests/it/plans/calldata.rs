//! Compares the calldata of swap and bridge plans.

use proptest::prelude::*;
use proptest::sample::Index;
use serde_json::{Value, json};

use crate::facts::{self, Function, lower};
use crate::foreign_abi;
use crate::rails::bridge::{BridgeCase, CHAINS, bridges};
use crate::rails::swap::{SwapCase, swaps};
use crate::rails::{Case, Plan, bytes};

/// The content of a step's calldata. Asserts that both decoders read the same.
fn agreed(function: Function, data: &[u8]) -> Value {
    let facts = facts::read(function, data).expect("canonical calldata");
    assert_eq!(foreign_abi::read(function, data), Some(facts.clone()));
    facts
}

fn check_approvals(plan: &Plan, token: &str, spender: &str, amount: &str) {
    for (step, expected) in [(0, "0"), (1, amount)] {
        let facts = agreed(Function::Approve, &plan.step_data(step));
        assert_eq!(facts, json!({"spender": spender, "amount": expected}));
        let to = plan.payload()["steps"][step]["to"].as_str().unwrap();
        assert_eq!(to.to_lowercase(), token);
    }
    for step in 0..3 {
        assert_eq!(plan.payload()["steps"][step]["value"], "0");
    }
}

fn check_swap(case: &SwapCase) {
    let plan = case.plan();
    let facts = agreed(Function::Swap, &plan.step_data(2));
    let legs = facts["legs"].as_array().unwrap();
    let fees = agreed(Function::ForwardFees, &bytes(&legs[0]["call_data"]));

    // The bytes match the request and the quote.
    let reviewed = case.reviewed();
    let gross = case.from_amount.to_string();
    let (account, token) = (lower(case.account), lower(case.from_token));
    let router = lower(reviewed.router);
    check_approvals(&plan, &token, &router, &gross);
    assert_eq!(
        plan.payload()["steps"][2]["to"]
            .as_str()
            .unwrap()
            .to_lowercase(),
        router
    );
    assert_eq!(facts["receiver"], account);
    assert_eq!(facts["min_amount_out"], case.to_amount_min.to_string());
    assert_eq!(facts["integrator"], "svc");
    assert_eq!(legs[0]["from_amount"], gross);
    assert_eq!(legs[0]["requires_deposit"], true);
    assert_eq!(legs[0]["call_to"], lower(reviewed.forwarder));
    assert_eq!(legs[legs.len() - 1]["receiving"], lower(case.to_token));
    assert_eq!(fees["token"], token);

    // The envelope's fees match the bytes.
    let attribution = &plan.json["fee_attribution"];
    let mut told: Vec<Value> = attribution["recipients"]
        .as_array()
        .unwrap()
        .iter()
        .map(|part| {
            json!([
                part["address"].as_str().unwrap().to_lowercase(),
                part["amount"]
            ])
        })
        .collect();
    let mut paid = fees["distributions"].as_array().unwrap().clone();
    told.sort_by_key(Value::to_string);
    paid.sort_by_key(Value::to_string);
    assert_eq!(told, paid);
}

fn check_bridge(case: &BridgeCase) {
    let plan = case.plan();
    let facts = agreed(Function::Burn, &plan.step_data(2));
    let (_, _, _, usdc) = CHAINS[case.from];
    let amount = case.amount.to_string();
    let messenger = "0x28b5a0e9c621a5badaa536219b3a228c8168cf5d";
    check_approvals(&plan, &usdc.to_lowercase(), messenger, &amount);
    assert_eq!(
        plan.payload()["steps"][2]["to"]
            .as_str()
            .unwrap()
            .to_lowercase(),
        messenger
    );
    assert_eq!(facts["amount"], amount);
    assert_eq!(facts["burn_token"], usdc.to_lowercase());
    assert_eq!(facts["destination_domain"], CHAINS[case.to].1.to_string());
    assert_eq!(facts["mint_recipient"], lower(case.account.into_word()));
    assert_eq!(facts["destination_caller"], format!("0x{}", "0".repeat(64)));
    assert_eq!(
        facts["min_finality_threshold"],
        if case.fast { "1000" } else { "2000" }
    );
    assert_eq!(facts["hook"].is_string(), case.forward);
    assert_eq!(facts["max_fee"], plan.payload()["quote"]["max_fee"]);
}

/// Asserts that both decoders read changed calldata as the same call, or that both refuse it as not
/// canonical.
fn check_changed(function: Function, mut data: Vec<u8>, change: &Change) {
    change.apply(&mut data);
    assert_eq!(
        facts::read(function, &data),
        foreign_abi::read(function, &data),
        "{function:?} {}",
        lower(&data)
    );
}

/// How a test damages calldata.
#[derive(Debug, Clone)]
enum Change {
    Flip(Index, u8),
    Insert(Index, Vec<u8>),
    Remove(Index, usize),
    Extend(Vec<u8>),
}

impl Change {
    fn apply(&self, data: &mut Vec<u8>) {
        match self {
            Self::Flip(at, bits) => {
                let at = at.index(data.len());
                data[at] ^= bits;
            }
            Self::Insert(at, bytes) => {
                let at = at.index(data.len());
                data.splice(at..at, bytes.iter().copied());
            }
            Self::Remove(at, count) => {
                let at = at.index(data.len());
                let end = (at + count).min(data.len());
                data.drain(at..end);
            }
            Self::Extend(bytes) => data.extend_from_slice(bytes),
        }
    }
}

fn changes() -> impl Strategy<Value = Change> {
    let bytes = || proptest::collection::vec(any::<u8>(), 1..=64);
    prop_oneof![
        8 => (any::<Index>(), 1u8..).prop_map(|(at, bits)| Change::Flip(at, bits)),
        1 => (any::<Index>(), bytes()).prop_map(|(at, bytes)| Change::Insert(at, bytes)),
        1 => (any::<Index>(), 1usize..=64).prop_map(|(at, count)| Change::Remove(at, count)),
        1 => bytes().prop_map(Change::Extend),
    ]
}

proptest! {
    #[test]
    fn swap_plans_read_the_same(case in swaps()) {
        check_swap(&case);
    }

    #[test]
    fn bridge_plans_read_the_same(case in bridges()) {
        check_bridge(&case);
    }

    #[test]
    fn changed_swap_calldata_reads_the_same_or_is_refused(case in swaps(), changes in proptest::collection::vec(changes(), 16)) {
        let data = case.calldata("svc").to_vec();
        let facts = facts::read(Function::Swap, &data).unwrap();
        let fees = bytes(&facts["legs"][0]["call_data"]);
        for change in &changes {
            check_changed(Function::Swap, data.clone(), change);
            check_changed(Function::ForwardFees, fees.clone(), change);
        }
    }

    #[test]
    fn changed_burns_read_the_same_or_are_refused(case in bridges(), changes in proptest::collection::vec(changes(), 16)) {
        let plan = case.plan();
        for change in &changes {
            check_changed(Function::Burn, plan.step_data(2), change);
            check_changed(Function::Approve, plan.step_data(1), change);
        }
    }
}
