//! Compares perpetuals orders with PyPI `hyperliquid-python-sdk` and npm `@nktkas/hyperliquid`:
//! they compute the same connection ids and signatures.

use alloy_primitives::{Address, B256};
use ethers_core::types::{H256, RecoveryMessage, Signature, U256};
use judges::{Toolchain, judge};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::process::Command;

use crate::rails::perp_order::{PerpCase, orders};
use crate::rails::{Case, Plan, sample};

/// A signature that a client made.
#[derive(Debug, Deserialize)]
struct Signed {
    r: String,
    s: String,
    v: u64,
}

impl Signed {
    /// The signer, when the signature is over this digest.
    fn signer_of(&self, digest: B256) -> Address {
        // Both numbers may lack their leading zeros.
        let integer = |text: &str| U256::from_str_radix(text.trim_start_matches("0x"), 16).unwrap();
        let signature = Signature {
            r: integer(&self.r),
            s: integer(&self.s),
            v: self.v,
        };
        let signer = signature
            .recover(RecoveryMessage::Hash(H256(digest.0)))
            .unwrap();
        Address::from(signer.0)
    }
}

#[derive(Debug, Deserialize)]
struct Python {
    connection_id: B256,
    signature: Signed,
    signer: Address,
    action: String,
    rebuilt: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Node {
    connection_id: B256,
    signature: Signed,
    action: String,
    posted: Value,
}

fn generated() -> (Vec<PerpCase>, Vec<Plan>) {
    let cases = sample(300, orders());
    let plans = cases.iter().map(Case::plan).collect();
    // Every form of order must occur often enough.
    let count = |has: fn(&PerpCase) -> bool| cases.iter().filter(|case| has(case)).count();
    for forms in [
        count(|case| case.vault.is_some()),
        count(|case| case.cloid.is_some()),
        count(|case| case.builder.is_some()),
        count(|case| case.take_profit.is_some() && case.stop_loss.is_some()),
        count(|case| case.take_profit.is_none() && case.stop_loss.is_none()),
        count(|case| case.asset.dex_index > 0),
    ] {
        assert!(forms > 30, "{forms}");
    }
    (cases, plans)
}

async fn verdicts<V: serde::de::DeserializeOwned>(
    command: Command,
    cases: &[PerpCase],
    plans: &[Plan],
) -> Vec<V> {
    let inputs: Vec<Value> = cases
        .iter()
        .zip(plans)
        .map(|(case, plan)| json!({"private_key": case.signer.private_key(), "plan": plan.text}))
        .collect();
    let verdicts: Vec<V> = judge(command, &inputs).await.unwrap();
    assert_eq!(verdicts.len(), cases.len());
    verdicts
}

fn check(case: &PerpCase, plan: &Plan, connection_id: B256, signature: &Signed) {
    let example = &plan.payload()["example"];
    assert_eq!(json!(connection_id), example["connection_id"], "{case:#?}");
    let digest: B256 = example["eip712_digest"].as_str().unwrap().parse().unwrap();
    assert_eq!(
        signature.signer_of(digest),
        case.signer.address,
        "{case:#?}"
    );
}

#[tokio::test]
async fn the_python_sdk_hashes_and_signs_alike() {
    let toolchain = Toolchain::from_env().unwrap();
    let (cases, plans) = generated();
    let command = toolchain.python_agent("hyperliquid_order.py");
    let mut rebuilt = 0;
    for ((case, plan), verdict) in cases
        .iter()
        .zip(&plans)
        .zip(verdicts::<Python>(command, &cases, &plans).await)
    {
        check(case, plan, verdict.connection_id, &verdict.signature);
        assert_eq!(verdict.signer, case.signer.address);
        // The SDK's own builders make the same action from the same numbers.
        if let Some(text) = verdict.rebuilt {
            rebuilt += 1;
            assert_eq!(text, verdict.action);
        }
    }
    assert!(rebuilt > cases.len() / 2, "{rebuilt}");
}

#[tokio::test]
async fn the_node_client_posts_and_signs_alike() {
    let toolchain = Toolchain::from_env().unwrap();
    let (cases, plans) = generated();
    let command = toolchain.node_agent("hyperliquid-order.mjs");
    for ((case, plan), verdict) in cases
        .iter()
        .zip(&plans)
        .zip(verdicts::<Node>(command, &cases, &plans).await)
    {
        check(case, plan, verdict.connection_id, &verdict.signature);
        let (recipe, example) = (&plan.payload()["recipe"], &plan.payload()["example"]);
        let mut posted = json!({
            "action": verdict.action,
            "nonce": example["nonce"],
            "expiresAfter": recipe["expires_after"],
        });
        if recipe["vault_address"].is_string() {
            posted["vaultAddress"] = recipe["vault_address"].clone();
        }
        assert_eq!(verdict.posted, posted, "{case:#?}");
    }
}
