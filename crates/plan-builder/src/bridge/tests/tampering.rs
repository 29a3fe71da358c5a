//! Tests of changed plans: the verifier refuses every change by name, even with a recomputed
//! digest.

use alloy_primitives::hex;
use serde_json::{Value, json};

use super::{ACCOUNT, Chains, Fees, built, envelope, moment, policy, request, verify};
use crate::{Refusal, bridge::BridgeRequest, digest};

fn fast() -> (BridgeRequest, Value) {
    let request = request(json!({"transferSpeed": "fast"}));
    let plan = built(&request, &Fees::default(), &Chains::default()).unwrap();
    (request, envelope(&plan))
}

/// Recomputes the digest of a changed plan, as a forger would.
fn resealed(mut envelope: Value) -> String {
    let submission = envelope["submission"].as_object_mut().unwrap();
    submission.remove("payload_digest");
    let digest = digest::keccak(&digest::canonical(&envelope).unwrap());
    envelope["submission"]["payload_digest"] = json!(digest.to_string());
    String::from_utf8(digest::canonical(&envelope).unwrap()).unwrap()
}

fn check(request: &BridgeRequest, text: &str) -> String {
    let refusal = verify(request, text, moment().now(), &policy()).unwrap_err();
    refusal.check.into_owned()
}

#[test]
fn a_plan_that_is_sealed_again_unchanged_is_the_same() {
    let (request, envelope) = fast();
    assert!(verify(&request, &resealed(envelope), moment().now(), &policy()).is_ok());
}

#[test]
fn a_changed_plan_with_its_old_digest_is_refused() {
    let (request, mut envelope) = fast();
    envelope["payload"]["quote"]["max_fee"] = json!("1");
    assert_eq!(
        check(&request, &envelope.to_string()),
        "payload_digest_committed"
    );
}

#[test]
fn every_forged_member_is_refused_by_name() {
    let foreign = "0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC";
    for (pointer, value, name) in [
        ("/payload/chain_id", json!(1), "bridge_route_enumerated"),
        (
            "/payload/steps/0/to",
            json!(foreign),
            "bridge_token_native_usdc",
        ),
        (
            "/payload/steps/1/value",
            json!("1"),
            "bridge_targets_value_bound",
        ),
        (
            "/payload/steps/2/to",
            json!(foreign),
            "bridge_targets_value_bound",
        ),
        (
            "/payload/steps/2/kind",
            json!("approve"),
            "erc20_allowance_reset_ordered",
        ),
        ("/payload/quote/fast_bps", json!("1.4"), "bridge_fee_cap"),
        (
            "/payload/quote/fast_allowance",
            json!("1"),
            "bridge_finality_exact",
        ),
        ("/payload/quote/max_fee", json!("1"), Refusal::PLAN_REBUILT),
        (
            "/payload/quote/max_fee_by",
            json!("caller"),
            Refusal::PLAN_REBUILT,
        ),
        (
            "/payload/quote/minted_at_least",
            json!("1234567890"),
            Refusal::PLAN_REBUILT,
        ),
        (
            "/payload/quote/minted_at_most",
            json!("1234567891"),
            Refusal::PLAN_REBUILT,
        ),
        (
            "/payload/quote/forward_fee",
            json!("1"),
            Refusal::PLAN_REBUILT,
        ),
        (
            "/payload/destination/chain_id",
            json!(1),
            Refusal::PLAN_REBUILT,
        ),
        (
            "/payload/destination/domain",
            json!(0),
            Refusal::PLAN_REBUILT,
        ),
        (
            "/payload/destination/token",
            json!(foreign),
            Refusal::PLAN_REBUILT,
        ),
        (
            "/payload/post_submission/mint/to",
            json!(foreign),
            Refusal::PLAN_REBUILT,
        ),
        (
            "/payload/post_submission/attestation",
            json!("ask 0x00"),
            Refusal::PLAN_REBUILT,
        ),
        (
            "/fee_attribution/protocol_fee/max_fee",
            json!("0"),
            Refusal::PLAN_REBUILT,
        ),
        (
            "/fee_attribution/mechanism",
            json!("free"),
            Refusal::PLAN_REBUILT,
        ),
        (
            "/account_binding/address",
            json!(foreign),
            Refusal::PLAN_REBUILT,
        ),
        (
            "/account_binding/roles/1",
            json!("owner"),
            Refusal::PLAN_REBUILT,
        ),
        (
            "/assertions/6/observed",
            json!("cheap"),
            Refusal::PLAN_REBUILT,
        ),
        (
            "/valid_until",
            json!("2027-01-16T08:00:00Z"),
            "artifact_expiry_committed",
        ),
        (
            "/payload/recipient",
            json!(foreign),
            Refusal::PLAN_MALFORMED,
        ),
        (
            "/payload/destination/control/kind",
            json!("safe"),
            Refusal::PLAN_MALFORMED,
        ),
        (
            "/payload/destination/control/owner",
            json!(foreign),
            Refusal::PLAN_MALFORMED,
        ),
        (
            "/payload/quote/standard_bps",
            json!("0.0"),
            Refusal::PLAN_MALFORMED,
        ),
        (
            "/payload/steps/2/data",
            json!("0x8E0250EE"),
            Refusal::PLAN_MALFORMED,
        ),
    ] {
        let (request, mut envelope) = fast();
        match envelope.pointer_mut(pointer) {
            Some(member) => *member = value,
            None => {
                let (parent, name) = pointer.rsplit_once('/').unwrap();
                envelope.pointer_mut(parent).unwrap()[name] = value;
            }
        }
        assert_eq!(check(&request, &resealed(envelope)), name, "{pointer}");
    }
}

#[test]
fn a_contract_cannot_be_passed_off_as_a_key() {
    let (request, mut envelope) = fast();
    let contract = json!({"contract": format!("0x{}", hex::encode([1; 32]))});
    envelope["payload"]["destination"]["control"]["source_code"] = contract;
    let name = check(&request, &resealed(envelope));
    assert_eq!(name, "bridge_recipient_controlled_on_destination");
}

#[test]
fn a_plan_of_a_safe_needs_its_readings() {
    let (_, envelope) = fast();
    let profile = json!({"kind": "safe", "address": ACCOUNT.to_string(), "chainId": 8453});
    let safe = request(json!({"transferSpeed": "fast", "accountProfile": profile}));
    let name = check(&safe, &resealed(envelope));
    assert_eq!(name, "bridge_recipient_controlled_on_destination");
}

#[test]
fn a_plan_is_for_one_request() {
    let (_, envelope) = fast();
    let text = resealed(envelope);
    for (changes, name) in [
        (json!({"amount": "1234567891"}), "bridge_amount_bound"),
        (json!({"toChainId": 1}), "bridge_domain_bound"),
        (json!({"transferSpeed": "standard"}), "bridge_fee_cap"),
        (json!({"minAmountOut": "1234391348"}), "bridge_fee_cap"),
        (
            json!({"minAmountOut": "1234391347"}),
            Refusal::INTENT_DIGEST,
        ),
        (json!({"exports": ["eip5792"]}), Refusal::INTENT_DIGEST),
    ] {
        let mut asked = json!({"transferSpeed": "fast"});
        for (member, value) in changes.as_object().unwrap() {
            asked[member.as_str()] = value.clone();
        }
        assert_eq!(check(&request(asked), &text), name, "{changes}");
    }
}

#[test]
fn no_flipped_byte_of_a_step_survives() {
    let (request, envelope) = fast();
    for step in 0..3 {
        let data = envelope["payload"]["steps"][step]["data"].as_str().unwrap();
        let data = hex::decode(data).unwrap();
        for at in 0..data.len() {
            for flip in [0x01, 0x80] {
                let mut forged = data.clone();
                forged[at] ^= flip;
                let mut envelope = envelope.clone();
                envelope["payload"]["steps"][step]["data"] = json!(hex::encode_prefixed(&forged));
                let name = check(&request, &resealed(envelope));
                assert!(
                    name.starts_with("bridge_") || name == "erc20_allowance_reset_ordered",
                    "{name} for byte {at} of step {step}"
                );
            }
        }
    }
}
