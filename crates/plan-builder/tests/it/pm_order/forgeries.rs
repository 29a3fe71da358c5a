//! Tests of changed plans whose digest fits. A forger can compute the digest, too.

use alloy_primitives::B256;
use calldata_checks::{Facts, pm_order::PmOrderFacts};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::pm_order::stage::{Stage, buy, policy, sell, stages};

const OTHER: &str = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8";

#[track_caller]
fn forged(stage: &Stage, pointer: &str, value: Value) -> String {
    let mut plan = stage.plan();
    *plan.pointer_mut(pointer).expect(pointer) = value;
    stage.forgery(&plan)
}

#[test]
fn changed_members_of_the_payload_are_refused_by_name() {
    let word = json!(B256::repeat_byte(1).to_string());
    for (pointer, value, name) in [
        (
            "/payload/typed_data/message/maker",
            json!(OTHER),
            "pm_maker_signer_account_bound",
        ),
        (
            "/payload/order/signer",
            json!(OTHER),
            "pm_maker_signer_account_bound",
        ),
        (
            "/payload/typed_data/domain/version",
            json!("1"),
            "pm_domain_exact",
        ),
        (
            "/payload/typed_data/domain/chainId",
            json!(1),
            "pm_domain_exact",
        ),
        (
            "/payload/typed_data/domain/verifyingContract",
            json!(OTHER),
            "pm_domain_exact",
        ),
        (
            "/payload/typed_data/types/EIP712Domain",
            json!([]),
            "pm_domain_exact",
        ),
        (
            "/payload/market/neg_risk",
            json!(true),
            "pm_neg_risk_exchange_matched",
        ),
        (
            "/payload/prerequisites/0/spender",
            json!(OTHER),
            "pm_neg_risk_exchange_matched",
        ),
        (
            "/payload/prerequisites/0/contract",
            json!(OTHER),
            "pm_side_bound",
        ),
        (
            "/payload/typed_data/message/tokenId",
            json!("5"),
            "pm_token_bound",
        ),
        ("/payload/market/closed", json!(true), "pm_token_bound"),
        (
            "/payload/market/tokens/0/token_id",
            json!("9"),
            "pm_token_bound",
        ),
        (
            "/payload/typed_data/message/side",
            json!(1),
            "pm_side_bound",
        ),
        (
            "/payload/post/body_template/order/side",
            json!("SELL"),
            "pm_side_bound",
        ),
        (
            "/payload/market/tick_size",
            json!("0.02"),
            "pm_price_tick_aligned",
        ),
        (
            "/payload/market/read_at",
            json!("2026-09-21T13:00:00Z"),
            "artifact_expiry_committed",
        ),
        (
            "/payload/market/min_order_size",
            json!("101"),
            "pm_size_lot_bound",
        ),
        (
            "/payload/typed_data/message/makerAmount",
            json!("50000001"),
            "pm_amount_exact",
        ),
        (
            "/payload/order/takerAmount",
            json!("99999999"),
            "pm_amount_exact",
        ),
        (
            "/payload/prerequisites/0/amount",
            json!("50000001"),
            "pm_amount_exact",
        ),
        (
            "/payload/post/body_template/orderType",
            json!("FOK"),
            "pm_order_type_gtc_no_expiry",
        ),
        (
            "/payload/post/body_template/postOnly",
            json!(true),
            "pm_order_type_gtc_no_expiry",
        ),
        (
            "/payload/order/expiration",
            json!("1790000100"),
            "pm_order_type_gtc_no_expiry",
        ),
        (
            "/payload/post/path",
            json!("/orders"),
            "pm_order_type_gtc_no_expiry",
        ),
        (
            "/payload/typed_data/message/builder",
            word.clone(),
            "pm_builder_exact",
        ),
        ("/payload/order/metadata", word.clone(), "pm_builder_exact"),
        ("/payload/order_hash", word, "pm_struct_hash_recomputed"),
        (
            "/payload/typed_data/message/salt",
            json!("1"),
            "pm_struct_hash_recomputed",
        ),
        (
            "/payload/post/body_template/order/salt",
            json!(1),
            "pm_struct_hash_recomputed",
        ),
        (
            "/payload/typed_data/primaryType",
            json!("EIP712Domain"),
            "pm_struct_hash_recomputed",
        ),
        ("/payload/market/version", json!(3), "pm_version_pinned"),
    ] {
        assert_eq!(forged(&buy(), pointer, value), name, "{pointer}");
    }
}

/// No check decodes the labels and disclosures, but the other members determine them.
#[test]
fn changed_labels_and_disclosures_are_refused() {
    for (pointer, value) in [
        ("/payload/prerequisites/0/state", json!("approved")),
        ("/payload/prerequisites/0/read_back", json!("name()")),
        ("/payload/venue/maker_eligibility", json!("checked")),
        ("/payload/venue/geoblock", json!("ok")),
        ("/payload/venue/lifetime", json!("until valid_until")),
        ("/fee_attribution/version", json!("2020-01-01")),
        ("/fee_attribution/mechanism", json!("venue_builder_code")),
        ("/account_binding/address", json!(OTHER)),
        ("/account_binding/roles", json!(["maker"])),
        ("/required_capabilities", json!([])),
        (
            "/submission/adapter_owned_fields",
            json!(["signature", "maker"]),
        ),
        (
            "/replay_disclosure/onchain_replay_boundary",
            json!("signer_account_nonce"),
        ),
        (
            "/replay_disclosure/tool_guarantees_single_execution",
            json!(true),
        ),
        ("/assertions/0/observed", json!("anything")),
    ] {
        assert_eq!(
            forged(&buy(), pointer, value),
            "plan_rebuilt_exact",
            "{pointer}"
        );
    }
    let approve = json!("approve(address,uint256)");
    let pointer = "/payload/prerequisites/0/function";
    assert_eq!(forged(&sell(), pointer, approve), "pm_side_bound");
}

/// The plans have members that an order does not have, or wrong JSON types.
#[test]
fn other_forms_are_refused() {
    for (pointer, member, value) in [
        (
            "/payload/typed_data/domain",
            "salt",
            json!(B256::ZERO.to_string()),
        ),
        ("/payload/typed_data/message", "expiration", json!("0")),
        ("/payload/typed_data/types", "Other", json!([])),
        ("/payload/order", "feeRateBps", json!("0")),
        ("/payload/order", "taker", json!(OTHER)),
        ("/payload/post/body_template/order", "nonce", json!("0")),
        (
            "/payload/post/body_template/order",
            "signature",
            json!("0x"),
        ),
        (
            "/payload/post/body_template/order",
            "salt",
            json!("479249096354"),
        ),
        (
            "/payload/post/body_template/order",
            "salt",
            json!(479_249_096_354.5),
        ),
        (
            "/payload/post/body_template",
            "owner",
            json!("00000000-0000-0000-0000-000000000001"),
        ),
        ("/payload/typed_data/message", "side", json!("0")),
        ("/payload/typed_data/message", "tokenId", json!(5)),
        ("/payload/order", "side", json!(0)),
        ("/payload/market", "tick_size", json!(0.01)),
        ("/payload/market", "tick_size", json!("0.010")),
        ("/payload", "steps", json!([{"kind": "call"}])),
        ("/payload", "prerequisites", json!([])),
    ] {
        let stage = buy();
        let mut plan = stage.plan();
        plan.pointer_mut(pointer).unwrap()[member] = value;
        assert_eq!(stage.forgery(&plan), "plan_malformed", "{pointer} {member}");
    }
}

/// The plan has a whole order for another request, which is consistent in itself.
#[test]
fn the_plan_of_another_request_is_refused() {
    let (stage, mut other) = (buy(), buy());
    other.arguments["size"] = json!("1000");
    assert_eq!(stage.forgery(&other.plan()), "pm_amount_exact");
    let mut other = buy();
    other.arguments["maxCost"] = json!("50");
    assert_eq!(stage.forgery(&other.plan()), "intent_digest_bound");
    let mut other = buy();
    other.arguments["side"] = json!("SELL");
    assert_eq!(stage.forgery(&other.plan()), "pm_side_bound");
}

#[test]
fn a_changed_plan_with_its_old_digest_is_refused() {
    let stage = buy();
    let mut plan = stage.plan();
    plan["payload"]["order"]["salt"] = json!("1");
    let refusal = stage.verify(&plan.to_string()).unwrap_err();
    assert_eq!(refusal.check, "payload_digest_committed");
}

#[test]
fn a_plan_that_is_over_or_under_another_policy_is_refused() {
    let stage = buy();
    let plan = stage.build().unwrap();
    let mut late = stage.clone();
    late.moment.now_millis += 90_000;
    assert_eq!(
        late.verify(plan.json()).unwrap_err().check,
        "artifact_expiry_committed"
    );
    let mut early = stage.clone();
    early.moment.now_millis += 89_000;
    early.verify(plan.json()).unwrap();
    let mut other = stage;
    other.policy = policy(B256::repeat_byte(1));
    assert_eq!(
        other.verify(plan.json()).unwrap_err().check,
        "pm_builder_exact"
    );
}

/// Collects the paths of the values that are neither an object nor a list.
fn leaves(value: &Value, path: &str, found: &mut Vec<String>) {
    match value {
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                leaves(item, &format!("{path}/{index}"), found);
            }
        }
        Value::Object(members) => {
            for (name, member) in members {
                leaves(member, &format!("{path}/{name}"), found);
            }
        }
        _ => found.push(path.to_owned()),
    }
}

/// The members that may change: the plan's name, and facts of the market that the order does not
/// depend on. Nobody can check these readings later.
const FREE: [&str; 8] = [
    "/artifact_id",
    "/payload/market/condition_id",
    "/payload/market/min_order_size",
    "/payload/market/read_at",
    "/payload/market/taker_fee_rate",
    "/payload/market/tick_size",
    "/payload/market/tokens/1/outcome",
    "/payload/market/tokens/1/token_id",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    /// Changes any other leaf of a plan, and computes the digest again. The plan is refused by a
    /// known name.
    #[test]
    fn any_changed_leaf_is_refused(
        which in 0..3usize,
        leaf in any::<prop::sample::Index>(),
        at in any::<prop::sample::Index>(),
        digit in "[0-9a-f]",
    ) {
        let stage = stages().swap_remove(which);
        let plan = stage.plan();
        let mut paths = Vec::new();
        leaves(&plan, "", &mut paths);
        paths.retain(|path| !FREE.contains(&path.as_str()) && path != "/submission/payload_digest");
        let path = &paths[leaf.index(paths.len())];
        let mut changed = plan.clone();
        let value = changed.pointer_mut(path).unwrap();
        *value = match &*value {
            Value::String(text) => {
                let mut characters: Vec<_> = text.chars().map(String::from).collect();
                let at = at.index(characters.len());
                characters[at] = digit;
                json!(characters.concat())
            }
            Value::Bool(flag) => json!(!flag),
            Value::Number(number) => json!(number.as_u64().unwrap() + 1),
            _ => json!(1),
        };
        if changed != plan {
            let name = stage.forgery(&changed);
            let known = PmOrderFacts::CHECKS.iter().any(|check| check.name == name)
                || plan_builder::Refusal::NAMES.iter().any(|(known, _)| *known == name);
            prop_assert!(known, "{path}: {name}");
        }
    }
}
