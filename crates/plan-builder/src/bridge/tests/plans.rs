use alloy_primitives::{U256, hex};
use calldata_checks::{
    Facts, UtcSeconds,
    bridge::{BridgeFacts, chains::CHAINS},
};
use serde_json::{Value, json};

use super::{ACCOUNT, Account, Chains, Fees, built, envelope, moment, policy, request, verify};
use crate::{Refusal, bridge::min_fee::getMinFeeAmountCall, digest};

fn route(source: u64, destination: u64) -> Value {
    json!({
        "accountProfile": {"kind": "eoa", "address": ACCOUNT.to_string(), "chainId": source},
        "fromChainId": source,
        "toChainId": destination,
    })
}

fn vectors() -> Vec<Value> {
    let file = include_str!("../../../tests/data/bridge_calldata.json");
    let vectors: Value = serde_json::from_str(file).unwrap();
    vectors["vectors"].as_array().unwrap().clone()
}

/// The vectors have `maxFee` as an input, so here the caller sets it.
#[test]
fn the_recorded_plans_are_built_byte_for_byte() {
    let vectors = vectors();
    assert_eq!(vectors.len(), 4);
    for row in vectors {
        let mode = row["mode"].as_str().unwrap();
        let mut changes = route(
            row["srcChainId"].as_u64().unwrap(),
            row["dstChainId"].as_u64().unwrap(),
        );
        changes["amount"] = row["amount"].clone();
        changes["maxFee"] = row["maxFee"].clone();
        changes["transferSpeed"] = json!(if mode == "fast" { "fast" } else { "standard" });
        changes["forward"] = json!(mode.ends_with("_forwarded"));
        let plan = built(&request(changes), &Fees::default(), &Chains::default()).unwrap();
        let payload = &envelope(&plan)["payload"];
        assert_eq!(payload["chain_id"], row["srcChainId"]);
        assert_eq!(payload["steps"], row["steps"], "{mode}");
    }
}

#[test]
fn every_route_is_built_and_verified() {
    for source in &CHAINS {
        for destination in CHAINS.iter().filter(|d| d.chain_id != source.chain_id) {
            for (speed, forward) in [
                ("standard", false),
                ("standard", true),
                ("fast", false),
                ("fast", true),
            ] {
                if speed == "fast" && !source.fast_source {
                    continue;
                }
                let mut changes = route(source.chain_id, destination.chain_id);
                changes["transferSpeed"] = json!(speed);
                changes["forward"] = json!(forward);
                let request = request(changes);
                let fees = Fees::default();
                let read = Chains::default().with(source.chain_id, Account::default());
                let plan = built(&request, &fees, &read).unwrap();
                let asked = fees.asked.into_inner().unwrap();
                assert_eq!(asked, [(source.domain, destination.domain, forward)]);
                let verified = verify(&request, plan.json(), moment().now(), &policy()).unwrap();
                assert_eq!(verified.payload_digest, plan.payload_digest());
                let names: Vec<_> = verified
                    .plan_report()
                    .assertions()
                    .iter()
                    .map(|a| a.name)
                    .collect();
                let table: Vec<_> = BridgeFacts::CHECKS.iter().map(|check| check.name).collect();
                assert_eq!(names, table);
            }
        }
    }
}

#[test]
fn a_fast_plan_carries_the_fee_of_the_worked_example() {
    let request = request(json!({"transferSpeed": "fast"}));
    let plan = built(&request, &Fees::default(), &Chains::default()).unwrap();
    let envelope = envelope(&plan);
    assert_eq!(
        envelope["payload"]["quote"],
        json!({
            "fast_allowance": "52455615650179",
            "fast_bps": "1.3",
            "max_fee": "176543",
            "max_fee_by": "protocol_rule",
            "minted_at_least": "1234391347",
            "minted_at_most": "1234567890",
            "read_at": "2027-01-15T08:00:00Z",
            "standard_bps": "0",
        })
    );
    assert_eq!(
        envelope["fee_attribution"],
        json!({
            "mechanism": "none",
            "protocol_fee": {"deducted": "at the mint, from 0 to max_fee", "max_fee": "176543"},
            "upfront_fees": "not_used",
            "version": "2026-11-01",
        })
    );
    assert!(plan.json().len() < 9_500, "{} bytes", plan.json().len());
}

#[test]
fn a_standard_plan_is_free_and_reads_no_allowance() {
    let fees = Fees {
        allowance: Err(super::unavailable("circle")),
        ..Fees::default()
    };
    let plan = built(&request(json!({})), &fees, &Chains::default()).unwrap();
    assert_eq!(
        envelope(&plan)["payload"]["quote"],
        json!({
            "max_fee": "0",
            "max_fee_by": "protocol_rule",
            "minted_at_least": "1234567890",
            "minted_at_most": "1234567890",
            "read_at": "2027-01-15T08:00:00Z",
            "standard_bps": "0",
        })
    );
}

/// The protocol charges for a standard transfer. The default speed still gives a plan.
#[test]
fn a_standard_plan_carries_the_fee_that_is_charged() {
    let mut fees = Fees::default();
    fees.reading.as_mut().unwrap().standard_bps = "0.05".parse().unwrap();
    let plan = built(&request(json!({})), &fees, &Chains::default()).unwrap();
    let quote = &envelope(&plan)["payload"]["quote"];
    // 6173 and a tenth of it.
    assert_eq!(
        (&quote["max_fee"], &quote["standard_bps"]),
        (&json!("6790"), &json!("0.05"))
    );
}

#[test]
fn the_least_fee_of_the_source_chain_is_read_and_carried() {
    let plan_with = |answer: Option<Vec<u8>>| {
        let account = Account::default().answering::<getMinFeeAmountCall>(answer);
        let chains = Chains::default().with(8453, account);
        built(&request(json!({})), &Fees::default(), &chains)
    };
    let number = |fee: u64| U256::from(fee).to_be_bytes::<32>().to_vec();
    for (answer, min_fee) in [
        (None, "0"),
        (Some(number(0)), "0"),
        (Some(number(777)), "777"),
    ] {
        let plan = plan_with(answer).unwrap();
        let quote = envelope(&plan)["payload"]["quote"].clone();
        assert_eq!(quote["chain_min_fee"], min_fee);
        assert_eq!(quote["max_fee"], min_fee);
        let verified = verify(&request(json!({})), plan.json(), moment().now(), &policy());
        assert!(verified.is_ok());
    }
    // An answer that is not a number is a fault of the node.
    for answer in [vec![], vec![0; 31], vec![0; 64]] {
        let refusal = plan_with(Some(answer)).unwrap_err();
        assert_eq!(refusal.check, Refusal::QUOTE_MALFORMED);
    }
    let dear = plan_with(Some(number(2_469_137))).unwrap_err();
    assert_eq!(dear.check, "bridge_fee_cap");
}

#[test]
fn a_callers_own_fee_is_used_as_it_is() {
    let request = request(json!({"transferSpeed": "fast", "maxFee": "300000", "forward": true}));
    let refused = built(&request, &Fees::default(), &Chains::default()).unwrap_err();
    assert_eq!(refused.check, "bridge_fee_cap");
    let request =
        super::request(json!({"transferSpeed": "fast", "maxFee": "500000", "forward": true}));
    let plan = built(&request, &Fees::default(), &Chains::default()).unwrap();
    let quote = &envelope(&plan)["payload"]["quote"];
    assert_eq!(
        (&quote["max_fee"], &quote["max_fee_by"]),
        (&json!("500000"), &json!("caller"))
    );
    assert_eq!(quote["forward_fee"], "250000");
}

#[test]
fn the_callers_later_tasks_are_disclosed() {
    let after = |changes| {
        let plan = built(&request(changes), &Fees::default(), &Chains::default()).unwrap();
        envelope(&plan)["payload"]["post_submission"].clone()
    };
    let standard = after(json!({}));
    assert_eq!(standard["mint"]["chain_id"], 42161);
    assert_eq!(
        standard["mint"]["to"],
        "0x81D40F21F12A8F0E3252Bccb954D722d4c464B64"
    );
    assert_eq!(standard["attestation_expiry"], "none");
    assert!(
        standard["attestation"]
            .as_str()
            .unwrap()
            .contains("/v2/messages/6?transactionHash=")
    );
    assert!(
        standard["destination_gas"]
            .as_str()
            .unwrap()
            .contains("native coin is needed")
    );
    let fast = after(json!({"transferSpeed": "fast"}));
    assert!(
        fast["attestation_expiry"]
            .as_str()
            .unwrap()
            .contains("/v2/reattest/")
    );
    let forwarded = after(json!({"forward": true}));
    assert!(
        forwarded["destination_gas"]
            .as_str()
            .unwrap()
            .contains("relayer")
    );
}

#[test]
fn the_code_of_an_account_with_a_key_is_read_where_it_can_be() {
    let delegation = [hex!("ef0100").as_slice(), &[0x11; 20]].concat();
    let observed = |chains| {
        let envelope = envelope(&built(&request(json!({})), &Fees::default(), &chains).unwrap());
        let control = envelope["payload"]["destination"]["control"].clone();
        let name = "bridge_recipient_controlled_on_destination";
        let named = |member: &str| {
            let rows = envelope[member].as_array().into_iter().flatten();
            rows.filter(|row| row["name"] == name).count()
        };
        let open = named("not_established");
        assert_eq!(named("assertions"), 1 - open);
        if open == 1 {
            let why = envelope["not_established"][0]["why"].as_str().unwrap();
            assert!(why.starts_with("source code not_read"), "{why}");
        }
        (control, open == 1)
    };
    let code = |word: &str| json!({"kind": "eoa", "source_code": word});
    assert_eq!(observed(Chains::default()), (code("not_read"), true));
    let empty = Chains::default().with(8453, Account::default());
    assert_eq!(observed(empty), (code("empty"), false));
    let delegated = Chains::default().with(8453, Account::of_code(&delegation));
    assert_eq!(observed(delegated), (code("delegated"), false));
    let contract = Chains::default().with(8453, Account::of_code(&hex!("6080")));
    let refusal = built(&request(json!({})), &Fees::default(), &contract).unwrap_err();
    assert_eq!(refusal.check, "bridge_recipient_controlled_on_destination");
}

#[test]
fn the_text_is_canonical_and_anyone_can_compute_the_digest() {
    for changes in [
        json!({}),
        json!({"transferSpeed": "fast", "forward": true, "exports": ["eip5792"]}),
    ] {
        let plan = built(&request(changes), &Fees::default(), &Chains::default()).unwrap();
        let mut envelope = envelope(&plan);
        assert_eq!(
            plan.json().as_bytes(),
            digest::canonical(&envelope).unwrap()
        );
        envelope["submission"]
            .as_object_mut()
            .unwrap()
            .remove("payload_digest");
        let preimage = digest::canonical(&envelope).unwrap();
        assert_eq!(digest::keccak(&preimage), plan.payload_digest());
    }
}

#[test]
fn a_plan_lives_five_minutes() {
    let request = request(json!({}));
    let plan = built(&request, &Fees::default(), &Chains::default()).unwrap();
    let at = |seconds: u64| {
        let now = UtcSeconds::from_unix(1_800_000_000 + seconds);
        verify(&request, plan.json(), now, &policy())
    };
    assert!(at(0).is_ok() && at(299).is_ok());
    assert_eq!(at(300).unwrap_err().check, "artifact_expiry_committed");
}

#[test]
fn the_whole_limit_moves_in_one_burn() {
    let request = request(json!({"amount": "10000000000000", "transferSpeed": "fast"}));
    let plan = built(&request, &Fees::default(), &Chains::default()).unwrap();
    assert_eq!(envelope(&plan)["payload"]["quote"]["max_fee"], "1430000000");
    let scarce = Fees {
        allowance: Ok(U256::from(9_999_999_999_999u64)),
        ..Fees::default()
    };
    let refusal = built(&request, &scarce, &Chains::default()).unwrap_err();
    assert_eq!(refusal.check, "bridge_finality_exact");
}

#[test]
fn a_whole_envelope() {
    let request = request(json!({"transferSpeed": "fast"}));
    let chains = Chains::default().with(8453, Account::default());
    let plan = built(&request, &Fees::default(), &chains).unwrap();
    insta::assert_json_snapshot!(envelope(&plan));
}
