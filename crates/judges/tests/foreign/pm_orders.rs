//! npm `@polymarket/clob-client-v2` builds, hashes and signs the same orders as our plans.

use alloy_primitives::B256;
use ethers_core::types::{H256, RecoveryMessage, Signature};
use judges::{Toolchain, judge};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::rails::pm_order::{PmCase, orders};
use crate::rails::{Case, Plan, sample};

/// Up to this size the client's floats represent every amount exactly.
const EXACT_SHARES: u64 = 100_000;

#[derive(Debug, Deserialize)]
struct Verdict {
    body: Value,
    typed_data_hash: B256,
}

fn input(case: &PmCase, plan: &Plan) -> Value {
    let body = &plan.payload()["post"]["body_template"]["order"];
    json!({
        "private_key": case.signer.private_key(),
        "token_id": case.token_id.to_string(),
        "price": case.price.to_string(),
        "size": case.size.to_string(),
        "side": case.side(),
        "tick_size": case.tick.to_string(),
        "neg_risk": case.neg_risk,
        "post_only": case.post_only,
        "builder_code": case.builder_code,
        "salt": body["salt"],
        "timestamp": body["timestamp"],
        "typed_data": plan.payload()["typed_data"],
    })
}

async fn verdicts(cases: &[PmCase], plans: &[Plan]) -> Vec<Verdict> {
    let toolchain = Toolchain::from_env().unwrap();
    let inputs: Vec<Value> = cases
        .iter()
        .zip(plans)
        .map(|(case, plan)| input(case, plan))
        .collect();
    let verdicts: Vec<Verdict> = judge(toolchain.node_agent("clob-order.mjs"), &inputs)
        .await
        .unwrap();
    assert_eq!(verdicts.len(), cases.len());
    verdicts
}

/// Asserts that the client's body equals the plan's, without the members that the plan leaves to
/// the caller, and that its signature is over the plan's order hash.
fn check(case: &PmCase, plan: &Plan, verdict: Verdict) {
    let payload = plan.payload();
    let order_hash: B256 = payload["order_hash"].as_str().unwrap().parse().unwrap();
    assert_eq!(verdict.typed_data_hash, order_hash);

    let mut body = verdict.body;
    let signature = body["order"]["signature"].take();
    assert_eq!(body["owner"].take(), "");
    assert_eq!(body, payload["post"]["body_template"], "{case:#?}");

    let signature: Signature = signature.as_str().unwrap().parse().unwrap();
    let digest = RecoveryMessage::Hash(H256(order_hash.0));
    let signer = signature.recover(digest).unwrap();
    assert_eq!(signer.0, case.signer.address.into_array());
}

#[tokio::test]
async fn orders_are_built_hashed_and_signed_alike() {
    let cases = sample(300, orders(EXACT_SHARES));
    let plans: Vec<Plan> = cases.iter().map(Case::plan).collect();
    let verdicts = verdicts(&cases, &plans).await;
    for ((case, plan), verdict) in cases.iter().zip(&plans).zip(verdicts) {
        check(case, plan, verdict);
    }
}

/// The client's floats round large amounts, so the test compares only its hash of the plan's own
/// typed data.
#[tokio::test]
async fn orders_of_any_size_are_hashed_alike() {
    let cases = sample(300, orders(10_000_000_000));
    let plans: Vec<Plan> = cases.iter().map(Case::plan).collect();
    let mut rounded = 0;
    for ((case, plan), verdict) in cases.iter().zip(&plans).zip(verdicts(&cases, &plans).await) {
        let template = &plan.payload()["post"]["body_template"]["order"];
        let theirs = &verdict.body["order"];
        if ["makerAmount", "takerAmount"]
            .iter()
            .all(|name| theirs[name] == template[name])
        {
            check(case, plan, verdict);
        } else {
            rounded += 1;
            assert_eq!(json!(verdict.typed_data_hash), plan.payload()["order_hash"]);
        }
    }
    assert!(rounded < cases.len() / 2, "{rounded} of {}", cases.len());
}
