//! Tests of plans that someone changed and sealed again, so that every part consistently names
//! another order.

use alloy_primitives::{Bytes, hex};
use calldata_checks::perp_order::{WireAction, hash, msgpack};
use plan_builder::{Refusal, verify};
use serde_json::{Value, json};

use crate::perp_order::venue::{
    Venue, arguments, build, check, now, parse, plan, policy_with_builder, protected, reseal,
    reviewing,
};

fn sealed() -> Value {
    serde_json::from_str(plan(&protected()).json()).unwrap()
}

/// Returns the name of the check that refuses a changed plan. Its digest was computed again.
#[track_caller]
fn refused(change: impl FnOnce(&mut Value)) -> String {
    let mut plan = sealed();
    change(&mut plan);
    reseal(&mut plan);
    let refusal = check(&protected(), &plan.to_string()).unwrap_err();
    refusal.check.into_owned()
}

/// The bytes, the JSON, the example and the digest name the same other order.
#[test]
fn another_order_that_is_consistent_in_itself_is_refused() {
    type Change = fn(&mut WireAction);
    let changes: [(Change, &str); 9] = [
        (
            |action| action.orders[0].price = "100001".to_owned(),
            "perp_side_price_size_bound",
        ),
        (
            |action| action.orders[0].is_buy = false,
            "perp_side_price_size_bound",
        ),
        (
            |action| action.orders[0].size = "0.1".to_owned(),
            "perp_side_price_size_bound",
        ),
        (
            |action| action.orders.truncate(1),
            "perp_side_price_size_bound",
        ),
        (
            |action| action.orders[2].reduce_only = false,
            "perp_tpsl_reduce_only",
        ),
        (
            |action| action.orders[2].price = "1".to_owned(),
            "perp_tpsl_limit_bound",
        ),
        // A market stop-loss does not fill when it accepts no price worse than its trigger, or a
        // smaller range than it may.
        (
            |action| action.orders[2].price = "95000".to_owned(),
            "perp_tpsl_limit_bound",
        ),
        (
            |action| action.orders[2].price = "85501".to_owned(),
            "perp_tpsl_limit_bound",
        ),
        (
            |action| action.orders[0].cloid = Some(format!("0x{}", "ab".repeat(16))),
            "perp_cloid_bound",
        ),
    ];
    for (index, (change, name)) in changes.into_iter().enumerate() {
        let observed = refused(|plan| rewrite(&mut plan["payload"], change));
        assert_eq!(observed, name, "change {index}");
    }
}

/// Changes the action in the bytes and the JSON, and computes the example from it.
fn rewrite(payload: &mut Value, change: impl FnOnce(&mut WireAction)) {
    let bytes: Bytes = payload["action_msgpack"].as_str().unwrap().parse().unwrap();
    let mut action = msgpack::decode(&bytes).unwrap();
    change(&mut action);
    let bytes = msgpack::encode(&action).unwrap();
    payload["action"] = rmp_serde::from_slice(&bytes).unwrap();
    payload["action_msgpack"] = json!(hex::encode_prefixed(&bytes));
    let nonce = payload["example"]["nonce"].as_u64().unwrap();
    let expires_after = payload["recipe"]["expires_after"].as_u64();
    let id = hash::connection_id(&bytes, nonce, None, expires_after);
    payload["example"]["connection_id"] = json!(id.to_string());
    payload["example"]["eip712_digest"] = json!(hash::agent_digest("a", id).to_string());
}

/// Someone changes the venue's readings as well. Every part names BTC, and the order is for another
/// coin.
#[test]
fn another_asset_that_is_consistent_in_itself() {
    let swapped = |reviewed: &[(&str, u32, u8)]| {
        let policy = reviewing(reviewed);
        let plan = build(&protected(), &Venue::bitcoin(), &policy).unwrap();
        let mut plan: Value = serde_json::from_str(plan.json()).unwrap();
        let payload = &mut plan["payload"];
        payload["venue"]["asset"] = json!(1);
        payload["venue"]["universe_index"] = json!(1);
        rewrite(payload, |action| {
            for order in &mut action.orders {
                order.asset = 1;
            }
        });
        // The digests of the example are those that a device would show.
        let example = plan["payload"]["example"].clone();
        let id = example["connection_id"].as_str().unwrap().parse().unwrap();
        let shown = &mut plan["device_display"]["typed_data"];
        shown["eip712_digest"] = example["eip712_digest"].clone();
        shown["message_hash"] = json!(hash::agent_hash("a", id).to_string());
        let text = plan["assertions"][2]["observed"].as_str().unwrap();
        let text = text.replace("asset 0", "asset 1");
        plan["assertions"][2]["observed"] = json!(text);
        let bytes = plan["payload"]["action_msgpack"].as_str().unwrap().len() / 2 - 1;
        assert_eq!(
            plan["assertions"][13]["observed"],
            json!(format!("{bytes} bytes"))
        );
        reseal(&mut plan);
        verify(
            &parse(&protected()).unwrap(),
            &plan.to_string(),
            now(),
            &policy,
        )
    };
    let refusal = swapped(&[("BTC", 0, 5)]).unwrap_err();
    assert_eq!(refusal.check, "perp_asset_bound");
    assert_eq!(
        refusal.expected.as_deref(),
        Some("asset 0 with szDecimals 5")
    );
    // When nobody has reviewed the coin, nothing about its asset is established.
    for unlisted in [&[][..], &[("ETH", 1, 4)]] {
        let verified = swapped(unlisted).unwrap();
        let open = verified.report().not_established().iter();
        let open: Vec<_> = open.map(|check| check.name).collect();
        assert_eq!(
            open,
            [
                "perp_asset_bound",
                "perp_price_tick_exact",
                "perp_size_lot_exact",
                "perp_tpsl_direction",
                "perp_tpsl_limit_bound",
                "perp_price_band",
            ]
        );
    }
}

#[test]
fn a_plan_says_whether_its_asset_is_reviewed() {
    let observed = |reviewed: &[(&str, u32, u8)]| {
        let policy = reviewing(reviewed);
        let plan = build(&arguments(json!({})), &Venue::bitcoin(), &policy)?;
        let plan: Value = serde_json::from_str(plan.json()).unwrap();
        Ok::<_, Refusal>(plan["assertions"][2]["observed"].clone())
    };
    let row = |asset_id, size_decimals| ("BTC", asset_id, size_decimals);
    assert_eq!(
        observed(&[row(0, 5)]),
        Ok(json!("BTC is asset 0, reviewed, in USDC"))
    );
    assert_eq!(
        observed(&[]),
        Ok(json!("BTC is asset 0, not reviewed, in USDC"))
    );
    // The venue's facts contradict the review.
    for other in [row(1, 5), row(0, 4)] {
        assert_eq!(observed(&[other]).unwrap_err().check, "perp_asset_bound");
    }
}

/// Numbers of canonical JSON are doubles, so above 2^53 two different plans would have the same
/// digest.
#[test]
fn an_approval_that_no_digest_distinguishes_is_refused() {
    let policy = policy_with_builder();
    let mut venue = Venue::bitcoin();
    venue.approved = 10;
    let request = arguments(json!({}));
    let sealed = build(&request, &venue, &policy).unwrap();
    let approving = |approved: u64| {
        let mut plan: Value = serde_json::from_str(sealed.json()).unwrap();
        plan["payload"]["venue"]["approved_builder_fee"] = json!(approved);
        reseal(&mut plan);
        let verified = verify(&parse(&request).unwrap(), &plan.to_string(), now(), &policy);
        let digest = plan["submission"]["payload_digest"].clone();
        (digest, verified.map_err(|refusal| refusal.check))
    };
    let (one, other) = (approving(1 << 53), approving((1 << 53) + 1));
    assert_eq!(one.0, other.0, "the numbers differ, their digests do not");
    for (_, verified) in [one, other, approving(1001)] {
        assert_eq!(verified.unwrap_err(), "perp_builder_fee_exact");
    }
    assert!(approving(1000).1.is_ok());
    venue.approved = 1001;
    let refusal = build(&request, &venue, &policy).unwrap_err();
    assert_eq!(refusal.check, "perp_builder_fee_exact");
}

/// The other integers of a payload: none may be larger than a double holds exactly.
#[test]
fn integers_beyond_a_double_are_refused() {
    for pointer in [
        "/payload/recipe/expires_after",
        "/payload/recipe/domain/chainId",
        "/payload/example/nonce",
        "/payload/venue/asset",
        "/payload/venue/dex_index",
        "/payload/venue/universe_index",
        "/payload/venue/sz_decimals",
        "/payload/venue/max_leverage",
        "/payload/action/orders/0/a",
        "/account_binding/chain_id",
        "/fee_attribution/fee_tenth_bps",
    ] {
        for above in [(1u64 << 53) + 1, u64::MAX] {
            let mut plan = sealed();
            *plan.pointer_mut(pointer).expect("the member is there") = json!(above);
            reseal(&mut plan);
            assert!(
                check(&protected(), &plan.to_string()).is_err(),
                "{pointer} as {above}"
            );
        }
    }
}
