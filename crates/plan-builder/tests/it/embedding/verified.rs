//! Tests that the typed values of a verified plan are those of the plan's own bytes.

use alloy_primitives::{Address, U256, keccak256};
use calldata_checks::{Rail, UtcSeconds};
use plan_builder::{Refusal, Request, Verified, VerifiedPlan, verify};
use serde_json::Value;

use crate::embedding::{NOW, policy, vector};

fn verified(rail: Rail) -> (Verified, Value) {
    let name = rail.as_str();
    let request = Request::parse(rail, &vector(&format!("{name}.request.json"))).unwrap();
    let plan = vector(&format!("{name}.plan.json"));
    let now = UtcSeconds::from_unix(NOW + 10);
    let verified = verify(&request, &plan, now, &policy()).unwrap();
    (verified, serde_json::from_str(&plan).unwrap())
}

fn address(value: &Value) -> Address {
    value.as_str().unwrap().parse().unwrap()
}

fn amount(value: &Value) -> U256 {
    value.as_str().unwrap().parse().unwrap()
}

#[test]
fn every_verified_plan_agrees_with_its_envelope() {
    for rail in Rail::ALL {
        let (verified, envelope) = verified(rail);
        let binding = &envelope["account_binding"];
        assert_eq!(verified.rail(), rail);
        assert_eq!(verified.account(), address(&binding["address"]));
        assert_eq!(verified.chain_id(), binding["chain_id"].as_u64().unwrap());
        let until = envelope["valid_until"].as_str().unwrap();
        assert_eq!(verified.valid_until().to_string(), until);
        let steps = envelope["payload"]["steps"].as_array().unwrap();
        assert_eq!(verified.steps().len(), steps.len());
        for (step, written) in verified.steps().iter().zip(steps) {
            assert_eq!(step.kind.as_str(), written["kind"].as_str().unwrap());
            assert_eq!(step.to, address(&written["to"]));
            assert_eq!(step.value, amount(&written["value"]));
            assert_eq!(step.data.to_string(), written["data"].as_str().unwrap());
        }
    }
}

#[test]
fn a_swap_gives_tokens_amounts_receiver_and_fees() {
    let (verified, envelope) = verified(Rail::Swap);
    let VerifiedPlan::Swap(swap) = verified.plan() else {
        panic!("{verified:?}");
    };
    let quote = &envelope["payload"]["quote"];
    assert_eq!(swap.from_token, address(&quote["from_token"]));
    assert_eq!(swap.to_token, address(&quote["to_token"]));
    assert_eq!(swap.from_amount, amount(&quote["from_amount"]));
    assert_eq!(swap.min_amount_out, amount(&quote["to_amount_min"]));
    assert_eq!(swap.quoted_amount_out, amount(&quote["to_amount"]));
    assert_eq!(swap.receiver, verified.account());
    assert_eq!(swap.spender, swap.steps[2].to);
    assert_eq!(swap.simulated_gas, None);
    let fees = &envelope["fee_attribution"];
    assert_eq!(swap.integrator, fees["integrator"].as_str().unwrap());
    let total: U256 = swap.fees.iter().map(|fee| fee.amount).sum();
    assert_eq!(total, amount(&fees["total_amount"]));
    for recipient in fees["recipients"].as_array().unwrap() {
        let of = |fee: &&calldata_checks::swap::Distribution| {
            fee.recipient == address(&recipient["address"])
        };
        let paid = swap.fees.iter().find(of).unwrap();
        assert_eq!(paid.amount, amount(&recipient["amount"]));
    }
    assert_eq!(swap.legs.len(), 1);
}

#[test]
fn a_bridge_gives_both_ends_and_the_highest_fee() {
    let (verified, envelope) = verified(Rail::Bridge);
    let VerifiedPlan::Bridge(bridge) = verified.plan() else {
        panic!("{verified:?}");
    };
    let (quote, to) = (
        &envelope["payload"]["quote"],
        &envelope["payload"]["destination"],
    );
    assert_eq!(bridge.recipient, verified.account());
    assert_eq!(bridge.max_fee, amount(&quote["max_fee"]));
    assert_eq!(bridge.minted_at_least(), amount(&quote["minted_at_least"]));
    assert_eq!(bridge.amount, amount(&quote["minted_at_most"]));
    assert_eq!(bridge.destination_token, address(&to["token"]));
    assert_eq!(Some(bridge.destination_chain_id), to["chain_id"].as_u64());
    assert_eq!(
        Some(u64::from(bridge.destination_domain)),
        to["domain"].as_u64()
    );
    assert_eq!(bridge.token, bridge.steps[1].to);
    assert_eq!(bridge.spender, bridge.steps[2].to);
}

#[test]
fn a_prediction_market_order_gives_the_message_and_its_hash() {
    let (verified, envelope) = verified(Rail::PmOrder);
    let VerifiedPlan::PmOrder(order) = verified.plan() else {
        panic!("{verified:?}");
    };
    let payload = &envelope["payload"];
    assert_eq!(order.order.hash(&order.domain), order.order_hash);
    let hash = payload["order_hash"].as_str().unwrap();
    assert_eq!(order.order_hash.to_string(), hash);
    assert_eq!(order.order.maker, verified.account());
    let typed: Value = serde_json::from_str(&order.typed_data).unwrap();
    assert_eq!(typed, payload["typed_data"]);
    assert_eq!(
        order.domain.verifying_contract,
        address(&typed["domain"]["verifyingContract"])
    );
    assert_eq!(
        order.order.maker_amount,
        amount(&typed["message"]["makerAmount"])
    );
    assert_eq!(order.approval.spender, order.domain.verifying_contract);
}

#[test]
fn a_perpetuals_order_gives_the_digest_for_any_nonce() {
    let (verified, envelope) = verified(Rail::PerpOrder);
    let VerifiedPlan::PerpOrder(order) = verified.plan() else {
        panic!("{verified:?}");
    };
    let payload = &envelope["payload"];
    let example = &payload["example"];
    let nonce = example["nonce"].as_u64().unwrap();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    assert_eq!(
        order.connection_id(nonce).to_string(),
        text(&example["connection_id"])
    );
    assert_eq!(
        order.signing_digest(nonce).to_string(),
        text(&example["eip712_digest"])
    );
    assert_ne!(order.signing_digest(nonce), order.signing_digest(nonce + 1));
    assert_eq!(
        order.action_msgpack.to_string(),
        text(&payload["action_msgpack"])
    );
    let until = verified.valid_until().unix_millis();
    assert_eq!(order.expires_after, Some(until));
    assert_eq!(order.coin, text(&payload["venue"]["coin"]));
}

/// Calldata with a changed byte gives no values.
#[test]
fn changed_bytes_give_no_values() {
    let (verified, _) = verified(Rail::Swap);
    let request = Request::parse(Rail::Swap, &vector("swap.request.json")).unwrap();
    let plan = vector("swap.plan.json");
    let call = verified.steps()[2].data.to_string();
    let now = UtcSeconds::from_unix(NOW + 10);
    let start = plan.find(&call).unwrap();
    for at in (start + 2..start + call.len()).step_by(37) {
        let mut changed = plan.clone().into_bytes();
        changed[at] = if changed[at] == b'0' { b'1' } else { b'0' };
        let changed = String::from_utf8(changed).unwrap();
        let refusal = verify(&request, &changed, now, &policy()).unwrap_err();
        assert_eq!(refusal.check, "payload_digest_committed", "{at}");
    }
    assert_ne!(keccak256(&verified.steps()[2].data), keccak256([]));
    assert_eq!(Refusal::PLAN_MALFORMED, "plan_malformed");
}
