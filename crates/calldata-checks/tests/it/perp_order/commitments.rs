//! Plans with wrong bytes, fee, digests or expiry, each refused by its name.

use alloy_primitives::{B128, B256};
use calldata_checks::{
    BasisPoints, DigestStanding, UtcSeconds,
    perp_order::{WireBuilder, WireOrderKind},
};

use crate::perp_order::draft::{BUILDER, Draft};

#[test]
fn another_builder_or_fee() {
    Draft::with_builder().judge().unwrap();
    let changes: [fn(&mut Draft); 8] = [
        |draft| draft.plan.action.builder = None,
        |draft| draft.plan.action.builder.as_mut().unwrap().fee = 46,
        // The fee is in basis points instead of tenths of them.
        |draft| draft.plan.action.builder.as_mut().unwrap().fee = 4,
        |draft| draft.plan.action.builder.as_mut().unwrap().fee = 0,
        |draft| {
            let other = "0x00000000000000000000000000000000000000aa";
            draft.plan.action.builder.as_mut().unwrap().address = other.to_owned();
        },
        |draft| draft.policy.perp_builder = None,
        // The fee is not approved, or not enough is approved.
        |draft| draft.plan.venue.approved_builder_fee = None,
        |draft| draft.plan.venue.approved_builder_fee = Some(44),
    ];
    for (index, change) in changes.into_iter().enumerate() {
        let name = Draft::with_builder().refused_after(change);
        assert_eq!(name, "perp_builder_fee_exact", "change {index}");
    }
    let name = Draft::with_builder().refused_after(|draft| {
        draft.policy.perp_builder.as_mut().unwrap().fee_tenth_bps = 101;
        draft.plan.action.builder.as_mut().unwrap().fee = 101;
        draft.plan.venue.approved_builder_fee = Some(1000);
    });
    assert_eq!(name, "perp_builder_fee_exact");
    let name = Draft::plain().refused_after(|draft| {
        let address = "0x1922810825c90f4270048b96da7b1803cd8609ef".to_owned();
        draft.plan.action.builder = Some(WireBuilder { address, fee: 10 });
    });
    assert_eq!(name, "perp_builder_fee_exact");
    let name =
        Draft::plain().refused_after(|draft| draft.plan.venue.approved_builder_fee = Some(100));
    assert_eq!(name, "perp_builder_fee_exact");
}

#[test]
fn a_builder_fee_exactly_at_the_cap_of_the_venue() {
    let mut draft = Draft::with_builder();
    draft.policy.perp_builder.as_mut().unwrap().fee_tenth_bps = 100;
    draft.plan.action.builder.as_mut().unwrap().fee = 100;
    draft.plan.venue.approved_builder_fee = Some(100);
    draft.commit();
    draft.judge().unwrap();
}

#[test]
fn an_approval_is_at_most_what_an_account_can_give() {
    for (approved, holds) in [(45, true), (1000, true), (1001, false), (u64::MAX, false)] {
        let mut draft = Draft::with_builder();
        draft.plan.venue.approved_builder_fee = Some(approved);
        draft.commit();
        let refused = draft.judge().err().map(|failure| failure.check);
        let expected = (!holds).then_some("perp_builder_fee_exact");
        assert_eq!(refused, expected, "{approved}");
    }
}

#[test]
fn text_that_is_not_canonical() {
    let changes: [fn(&mut Draft); 15] = [
        |draft| draft.plan.action.orders[0].price = "100000.0".to_owned(),
        |draft| draft.plan.action.orders[0].price = "0100000".to_owned(),
        |draft| draft.plan.action.orders[0].price = "+100000".to_owned(),
        |draft| draft.plan.action.orders[0].price = "1e5".to_owned(),
        |draft| draft.plan.action.orders[0].price = "-0".to_owned(),
        |draft| draft.plan.action.orders[0].size = "0.0010".to_owned(),
        |draft| draft.plan.action.orders[0].size = ".001".to_owned(),
        |draft| draft.plan.action.orders[0].size = "NaN".to_owned(),
        |draft| draft.plan.action.orders[0].cloid = Some(format!("0x{}", "AB".repeat(16))),
        |draft| draft.plan.action.orders[0].cloid = Some("ab".repeat(16)),
        |draft| draft.plan.action.orders[0].cloid = Some(format!("0x{}", "ab".repeat(15))),
        |draft| draft.plan.action.kind = "cancel".to_owned(),
        |draft| draft.plan.action.grouping = "none".to_owned(),
        |draft| {
            let tif = "FrontendMarket".to_owned();
            draft.plan.action.orders[0].kind = WireOrderKind::Limit { tif };
        },
        |draft| {
            let address = BUILDER.to_string();
            draft.plan.action.builder = Some(WireBuilder { address, fee: 10 });
        },
    ];
    for (index, change) in changes.into_iter().enumerate() {
        let name = Draft::plain().refused_after(change);
        assert_eq!(name, "perp_action_canonical", "change {index}");
    }
    let name = Draft::protected().refused_after(|draft| {
        if let WireOrderKind::Trigger { trigger_price, .. } = &mut draft.plan.action.orders[1].kind
        {
            *trigger_price = "110000.0".to_owned();
        }
    });
    assert_eq!(name, "perp_action_canonical");
}

#[test]
fn a_json_action_that_says_something_else() {
    type Change = (&'static str, fn(&mut Draft));
    let changes: [Change; 7] = [
        ("another order", |draft| {
            draft.plan.action.orders[0].price = "99999".to_owned();
        }),
        ("another order", |draft| {
            draft.plan.action.orders[0].price = "100000.0".to_owned();
        }),
        ("another order", |draft| {
            let cloid = format!("0x{}", "ab".repeat(16));
            draft.plan.action.orders[0].cloid = Some(cloid);
        }),
        ("another type", |draft| {
            draft.plan.action.kind = "cancel".to_owned();
        }),
        ("another grouping", |draft| {
            draft.plan.action.grouping = "na".to_owned();
        }),
        ("another number of orders", |draft| {
            draft.plan.action.orders.pop();
        }),
        ("another builder", |draft| {
            let address = "0x1922810825c90f4270048b96da7b1803cd8609ef".to_owned();
            draft.plan.action.builder = Some(WireBuilder { address, fee: 10 });
        }),
    ];
    for (difference, change) in changes {
        let mut draft = Draft::protected();
        change(&mut draft);
        let failure = draft.judge().unwrap_err();
        assert_eq!(failure.check, "perp_action_canonical");
        assert_eq!(failure.violation.observed, difference);
    }
}

#[test]
fn bytes_that_are_not_an_action() {
    let mut draft = Draft::plain();
    for bytes in [&b""[..], b"\x80", b"\xc0", b"{\"type\":\"order\"}"] {
        draft.plan.action_msgpack = bytes.to_vec().into();
        draft.commit_bytes();
        assert_eq!(draft.refused(), "perp_action_canonical");
    }
}

#[test]
fn a_digest_or_a_recipe_of_something_else() {
    let changes: [fn(&mut Draft); 17] = [
        |draft| draft.plan.example.connection_id = B256::ZERO,
        |draft| draft.plan.example.eip712_digest = B256::ZERO,
        |draft| draft.plan.example.nonce += 1,
        |draft| draft.plan.recipe.expires_after = None,
        |draft| *draft.plan.recipe.expires_after.as_mut().unwrap() += 1000,
        |draft| draft.plan.recipe.connection_id.push(' '),
        |draft| draft.plan.recipe.primary_type = "HyperliquidTransaction:Agent".to_owned(),
        |draft| draft.plan.recipe.message_connection_id = format!("{}", B256::ZERO),
        |draft| draft.plan.recipe.agent_type.reverse(),
        |draft| {
            draft.plan.recipe.agent_type.pop();
        },
        // A wallet would sign for another domain.
        |draft| draft.plan.recipe.domain_type.clear(),
        |draft| draft.plan.recipe.domain_type.reverse(),
        |draft| {
            draft.plan.recipe.domain_type.pop();
        },
        // The expiry is marked by 01 or left out, or the vault is text.
        |draft| {
            let template = "0x{nonce:16hex}0001{expires_after:16hex}";
            draft.plan.recipe.preimage_suffix_template = template.to_owned();
        },
        |draft| draft.plan.recipe.preimage_suffix_template = "0x{nonce:16hex}00".to_owned(),
        // The nonce is at the far end of the venue's window, or in the past.
        |draft| {
            draft.plan.example.nonce += 86_000_000;
            draft.commit_bytes();
        },
        |draft| {
            draft.plan.example.nonce -= 86_000_000;
            draft.commit_bytes();
        },
    ];
    for (index, change) in changes.into_iter().enumerate() {
        let mut draft = Draft::plain();
        change(&mut draft);
        assert_eq!(
            draft.refused(),
            "perp_action_hash_committed",
            "change {index}"
        );
    }
}

/// The longest life is 600 seconds; the plan may begin anywhere inside its first second.
#[test]
fn a_nonce_is_a_time_within_the_life_of_the_plan() {
    let last = Draft::plain().commitment.valid_until.unix_millis();
    for (nonce, holds) in [
        (last - 601_001, false),
        (last - 601_000, true),
        (last, true),
        (last + 1, false),
    ] {
        let mut draft = Draft::plain();
        draft.plan.example.nonce = nonce;
        draft.commit();
        let check = draft.judge().map(drop).map_err(|failure| failure.check);
        let expected = Err("perp_action_hash_committed");
        assert_eq!(check, if holds { Ok(()) } else { expected }, "{nonce}");
    }
}

#[test]
fn an_expiry_that_is_not_valid_until() {
    for expires_after in [
        None,
        Some(0),
        Some(1_768_146_974),
        Some(1_768_146_974_001),
        Some(u64::MAX),
    ] {
        let name =
            Draft::plain().refused_after(|draft| draft.plan.recipe.expires_after = expires_after);
        assert_eq!(name, "perp_expiry_committed", "{expires_after:?}");
    }
}

#[test]
fn another_client_order_id() {
    let asked = B128::repeat_byte(0xab);
    let mut named = Draft::protected();
    named.ask.cloid = Some(asked);
    named.plan.action.orders[0].cloid = Some(asked.to_string());
    named.commit();
    let changes: [fn(&mut Draft); 4] = [
        |draft| draft.plan.action.orders[0].cloid = None,
        |draft| draft.plan.action.orders[0].cloid = Some(B128::repeat_byte(0xac).to_string()),
        |draft| draft.plan.action.orders[1].cloid = Some(B128::repeat_byte(0xac).to_string()),
        |draft| draft.ask.cloid = None,
    ];
    for change in changes {
        assert_eq!(named.clone().refused_after(change), "perp_cloid_bound");
    }
}

#[test]
fn an_altered_or_overdue_plan() {
    let name = Draft::plain().refused_after(|draft| {
        let (claimed, computed) = (B256::ZERO, B256::repeat_byte(1));
        draft.commitment.digest = DigestStanding::Recomputed { claimed, computed };
    });
    assert_eq!(name, "payload_digest_committed");
    let name = Draft::plain().refused_after(|draft| {
        draft.commitment.now = UtcSeconds::from_unix(draft.commitment.valid_until.unix());
    });
    assert_eq!(name, "artifact_expiry_committed");
}

#[test]
fn a_tolerance_of_nothing_and_of_everything() {
    let mut draft = Draft::protected();
    draft.policy.perp_max_trigger_slippage = BasisPoints::new(0).unwrap();
    assert_eq!(draft.refused(), "perp_tpsl_limit_bound");
    draft.policy.perp_max_trigger_slippage = BasisPoints::MAX;
    assert_eq!(draft.refused(), "perp_tpsl_limit_bound");
    // The whole price as a tolerance still leaves the least price.
    draft.plan.action.orders[2].price = "0.1".to_owned();
    draft.commit();
    draft.judge().unwrap();
}
