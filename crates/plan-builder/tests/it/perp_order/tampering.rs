//! Tests of plans that were changed after they were sealed.

use serde_json::{Value, json};

use crate::perp_order::venue::{arguments, check, plan, protected, reseal};

const OTHER: &str = "0x00000000000000000000000000000000000000AA";

fn sealed() -> Value {
    serde_json::from_str(plan(&protected()).json()).unwrap()
}

/// Returns the name of the check that refuses a changed plan. Its digest was computed again.
#[track_caller]
fn refused(change: impl FnOnce(&mut Value)) -> String {
    let mut plan = sealed();
    change(&mut plan);
    reseal(&mut plan);
    check(&protected(), &plan.to_string())
        .unwrap_err()
        .check
        .into_owned()
}

#[test]
fn any_change_without_a_new_digest_is_refused() {
    for pointer in [
        "/valid_until",
        "/payload/recipe/expires_after",
        "/payload/action/orders/0/p",
        "/payload/venue/mark_price",
        "/assertions/0/observed",
    ] {
        let mut plan = sealed();
        *plan.pointer_mut(pointer).unwrap() = match pointer {
            "/valid_until" => json!("2026-01-11T15:58:00Z"),
            "/payload/recipe/expires_after" => json!(1),
            _ => json!("1"),
        };
        let refusal = check(&protected(), &plan.to_string()).unwrap_err();
        assert_eq!(refusal.check, "payload_digest_committed", "{pointer}");
    }
}

#[test]
fn changed_members_of_the_payload_are_refused_by_name() {
    let set = |pointer: &'static str, value: Value| {
        move |plan: &mut Value| *plan.pointer_mut(pointer).expect("the member is there") = value
    };
    for (pointer, value, name) in [
        ("/payload/order_owner", json!(OTHER), "perp_account_bound"),
        (
            "/payload/recipe/vault_address",
            json!(OTHER.to_lowercase()),
            "perp_account_bound",
        ),
        (
            "/payload/recipe/message/source",
            json!("b"),
            "perp_network_exact",
        ),
        (
            "/payload/recipe/domain/chainId",
            json!(1),
            "perp_network_exact",
        ),
        ("/payload/kind", json!("other"), "perp_network_exact"),
        (
            "/payload/endpoint",
            json!("https://example.org/exchange"),
            "perp_network_exact",
        ),
        ("/payload/venue/coin", json!("ETH"), "perp_asset_bound"),
        ("/payload/venue/asset", json!(1), "perp_asset_bound"),
        (
            "/payload/venue/is_delisted",
            json!(true),
            "perp_asset_bound",
        ),
        (
            "/payload/venue/sz_decimals",
            json!(2),
            "perp_size_lot_exact",
        ),
        (
            "/payload/venue/mark_price",
            json!("94999"),
            "perp_tpsl_direction",
        ),
        (
            "/payload/venue/mark_price",
            Value::Null,
            "perp_tpsl_direction",
        ),
        (
            "/payload/action/orders/0/p",
            json!("99999"),
            "perp_action_canonical",
        ),
        (
            "/payload/action/orders/2/r",
            json!(false),
            "perp_action_canonical",
        ),
        (
            "/payload/action/orders/2/t/trigger/isMarket",
            json!(false),
            "perp_action_canonical",
        ),
        (
            "/payload/action/grouping",
            json!("na"),
            "perp_action_canonical",
        ),
        (
            "/payload/action_msgpack",
            json!("0x80"),
            "perp_action_canonical",
        ),
        (
            "/payload/recipe/types/Agent/0/type",
            json!("bytes"),
            "perp_action_hash_committed",
        ),
        (
            "/payload/recipe/types/EIP712Domain",
            json!([]),
            "perp_action_hash_committed",
        ),
        (
            "/payload/recipe/types/EIP712Domain/2/type",
            json!("uint64"),
            "perp_action_hash_committed",
        ),
        (
            "/payload/recipe/connection_id",
            json!("keccak256(action)"),
            "perp_action_hash_committed",
        ),
        (
            "/payload/example/nonce",
            json!(1_768_146_914_156_u64),
            "perp_action_hash_committed",
        ),
        (
            "/payload/recipe/expires_after",
            json!(1_768_147_034_001_u64),
            "perp_action_hash_committed",
        ),
        (
            "/payload/recipe/expires_after",
            Value::Null,
            "perp_action_hash_committed",
        ),
        (
            "/payload/disclosures/leverage",
            json!("set to 50"),
            "plan_rebuilt_exact",
        ),
        ("/payload/steps", json!([{}]), "plan_malformed"),
        (
            "/payload/recipe/domain/verifyingContract",
            json!("0x00"),
            "plan_malformed",
        ),
        (
            "/payload/venue/mark_price",
            json!("100200.50"),
            "plan_malformed",
        ),
        (
            "/valid_until",
            json!("2026-01-11T15:58:00Z"),
            "perp_expiry_committed",
        ),
        (
            "/account_binding/address",
            json!(OTHER),
            "plan_rebuilt_exact",
        ),
        (
            "/account_binding/roles",
            json!(["sender"]),
            "plan_rebuilt_exact",
        ),
        ("/required_capabilities", json!([]), "plan_rebuilt_exact"),
        ("/fee_attribution/version", json!("0"), "plan_rebuilt_exact"),
        (
            "/replay_disclosure/onchain_replay_boundary",
            json!("none"),
            "plan_rebuilt_exact",
        ),
        (
            "/submission/adapter_owned_fields",
            json!(["action"]),
            "plan_rebuilt_exact",
        ),
        (
            "/assertions/6/observed",
            json!("1000000 USD"),
            "plan_rebuilt_exact",
        ),
    ] {
        assert_eq!(
            refused(set(pointer, value.clone())),
            name,
            "{pointer} as {value}"
        );
    }
}

#[test]
fn members_that_are_null_missing_or_unknown_are_refused() {
    type Change = fn(&mut Value);
    let changes: [Change; 6] = [
        |plan| plan["payload"]["action"]["orders"][0]["c"] = Value::Null,
        |plan| plan["payload"]["action"]["builder"] = Value::Null,
        |plan| plan["payload"]["venue"]["approved_builder_fee"] = Value::Null,
        |plan| {
            plan["payload"]["recipe"]
                .as_object_mut()
                .unwrap()
                .remove("vault_address");
        },
        |plan| {
            plan["payload"]["venue"]
                .as_object_mut()
                .unwrap()
                .remove("mark_price");
        },
        |plan| plan["payload"]["action"]["orders"][0]["cloid"] = json!("0x01"),
    ];
    for (index, change) in changes.into_iter().enumerate() {
        assert_eq!(refused(change), "plan_malformed", "change {index}");
    }
}

#[test]
fn a_plan_for_another_request_is_refused() {
    let plan = plan(&protected());
    let mut other = protected();
    other["accountProfile"]["address"] = json!(OTHER.to_lowercase());
    assert_eq!(
        check(&other, plan.json()).unwrap_err().check,
        "perp_account_bound"
    );
    let refusal = check(&arguments(json!({})), plan.json()).unwrap_err();
    assert_eq!(refusal.check, "perp_side_price_size_bound");
    let mut other = protected();
    other["coin"] = json!("ETH");
    assert_eq!(
        check(&other, plan.json()).unwrap_err().check,
        "perp_asset_bound"
    );
}
