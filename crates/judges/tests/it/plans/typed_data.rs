//! Compares the digests that are signed on the order rails.

use alloy_primitives::{B256, keccak256};
use ethers_core::types::transaction::eip712::{Eip712, TypedData};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::rails::perp_order::{self, PerpCase};
use crate::rails::pm_order::{self, PmCase};
use crate::rails::{Case, Plan, bytes};

/// The digest that a wallet with `ethers-core` would sign for a typed-data document.
fn digest(document: Value) -> B256 {
    B256::from(typed(document).encode_eip712().unwrap())
}

fn typed(document: Value) -> TypedData {
    serde_json::from_value(document).unwrap()
}

/// Asserts that a device shows the hash of the document (ERC-8213) that `ethers-core` computes.
fn check_shown(plan: &Plan, document: Value) {
    let shown = &plan.json["device_display"]["typed_data"];
    let document = typed(document);
    for (name, hash) in [
        ("domain_hash", document.domain_separator().unwrap()),
        ("message_hash", document.struct_hash().unwrap()),
        ("eip712_digest", document.encode_eip712().unwrap()),
    ] {
        assert_eq!(word(&shown[name]), B256::from(hash), "{name}");
    }
}

fn word(text: &Value) -> B256 {
    B256::from_slice(&bytes(text))
}

fn check_pm_order(case: &PmCase) {
    let plan = case.plan();
    let payload = plan.payload();
    assert_eq!(
        digest(payload["typed_data"].clone()),
        word(&payload["order_hash"])
    );
    check_shown(&plan, payload["typed_data"].clone());
}

fn check_perp_order(case: &PerpCase) {
    let plan = case.plan();
    let (recipe, example) = (&plan.payload()["recipe"], &plan.payload()["example"]);

    // The connection id follows from the plan's own members by the formula of the reference.
    let mut preimage = bytes(&plan.payload()["action_msgpack"]);
    preimage.extend(example["nonce"].as_u64().unwrap().to_be_bytes());
    match recipe["vault_address"].as_str() {
        None => preimage.push(0),
        Some(_) => {
            preimage.push(1);
            preimage.extend(bytes(&recipe["vault_address"]));
        }
    }
    preimage.push(0);
    preimage.extend(recipe["expires_after"].as_u64().unwrap().to_be_bytes());
    let connection_id = keccak256(&preimage);
    assert_eq!(connection_id, word(&example["connection_id"]));
    assert_eq!(recipe["vault_address"].is_string(), case.vault.is_some());

    let field = |name: &str, kind: &str| json!({"name": name, "type": kind});
    let mut types = recipe["types"].clone();
    types["EIP712Domain"] = json!([
        field("name", "string"),
        field("version", "string"),
        field("chainId", "uint256"),
        field("verifyingContract", "address"),
    ]);
    let document = json!({
        "types": types,
        "primaryType": recipe["primary_type"],
        "domain": recipe["domain"],
        "message": {"source": recipe["message"]["source"], "connectionId": connection_id},
    });
    check_shown(&plan, document.clone());
    assert_eq!(digest(document), word(&example["eip712_digest"]));
}

proptest! {
    #[test]
    fn prediction_market_orders(case in pm_order::orders(100_000_000)) {
        check_pm_order(&case);
    }

    #[test]
    fn perpetuals_orders(case in perp_order::orders()) {
        check_perp_order(&case);
    }
}
