//! Refused plans, and the name of each refusal. A forged plan announces the hash of its own
//! members, so that only the check in question separates it from a signature.

mod signed_data;

use alloy_primitives::{B256, U256};
use calldata_checks::pm_order::{
    AMOUNTS, BUILDER, COLLATERAL, CONDITIONAL_TOKENS, Exchange, MAKER, NEG_RISK, ORDER_HASH,
    ORDER_TYPE, PmBuilderFee, SIDE, TOKEN, VERSION,
};
use calldata_checks::{DigestStanding, UtcSeconds, commitment};
use serde_json::{Value, json};

use crate::pm_order::plan::{Plan, buy, plans, sell};

pub(crate) const OTHER: &str = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8";

/// Changes one member of the signed order consistently, and announces the new hash.
fn forged(member: &str, value: Value) -> &'static str {
    let mut plan = buy();
    plan.set_order(member, &value);
    plan.rehash();
    plan.refusal()
}

fn domain_forged(pointer: &str, value: Value) -> &'static str {
    let mut plan = buy();
    plan.set(pointer, value);
    plan.rehash();
    plan.refusal()
}

/// Changes one member and no other.
pub(crate) fn changed(pointer: &str, value: Value) -> &'static str {
    let mut plan = buy();
    assert_ne!(plan.json.pointer(pointer), Some(&value));
    plan.set(pointer, value);
    plan.refusal()
}

#[test]
fn another_maker_or_signer() {
    assert_eq!(forged("maker", json!(OTHER)), MAKER);
    assert_eq!(forged("signer", json!(OTHER)), MAKER);
}

#[test]
fn signature_types_of_other_account_kinds() {
    for kind in [1, 2, 3, 255] {
        assert_eq!(forged("signatureType", json!(kind)), MAKER);
    }
    assert_eq!(
        changed("/typed_data/message/signatureType", json!(256)),
        MAKER
    );
}

#[test]
fn an_account_on_another_chain() {
    for chain_id in [1, 80_002, 0] {
        let mut plan = buy();
        plan.request.chain_id = chain_id;
        assert_eq!(plan.refusal(), MAKER);
    }
}

#[test]
fn the_exchange_of_the_other_kind_of_market() {
    for mut plan in [buy(), sell()] {
        plan.market.neg_risk = !plan.market.neg_risk;
        assert_eq!(plan.refusal(), NEG_RISK);
    }
    let neg_risk = Exchange::NegRisk.address().to_string();
    assert_eq!(
        domain_forged("/typed_data/domain/verifyingContract", json!(neg_risk)),
        NEG_RISK
    );
}

#[test]
fn an_approval_to_somebody_else_or_of_another_token() {
    assert_eq!(changed("/approval/spender", json!(OTHER)), NEG_RISK);
    assert_eq!(
        changed("/approval/contract", json!(CONDITIONAL_TOKENS.to_string())),
        SIDE
    );
    let usdc_e = "0x2791Bca1f2de4661ED88A30C99A7a9449Aa84174";
    assert_eq!(changed("/approval/contract", json!(usdc_e)), SIDE);
    for function in [
        "setApprovalForAll(address,bool)",
        "transfer(address,uint256)",
        "",
    ] {
        assert_eq!(changed("/approval/function", json!(function)), SIDE);
    }
    assert_eq!(
        changed("/approval/amount", json!(U256::MAX.to_string())),
        AMOUNTS
    );
    let mut plan = sell();
    plan.set("/approval/contract", json!(COLLATERAL.to_string()));
    assert_eq!(plan.refusal(), SIDE);
}

#[test]
fn another_token() {
    // The market's other token would be the opposite purchase.
    assert_eq!(forged("tokenId", json!("5")), TOKEN);
    let mut plan = buy();
    plan.request.token_id = U256::from(6);
    plan.set_order("tokenId", &json!("6"));
    plan.rehash();
    assert_eq!(plan.refusal(), TOKEN);
}

#[test]
fn another_market_or_outcome_than_the_caller_names() {
    let mut plan = buy();
    plan.request.condition_id = Some(B256::ZERO);
    assert_eq!(plan.refusal(), TOKEN);
    for outcome in ["No", "yes", ""] {
        let mut plan = buy();
        plan.request.outcome = Some(outcome.to_owned());
        assert_eq!(plan.refusal(), TOKEN);
    }
    let mut plan = buy();
    (plan.request.condition_id, plan.request.outcome) = (None, None);
    plan.judge().unwrap();
}

#[test]
fn a_market_that_takes_no_orders() {
    let states: [fn(&mut Plan); 4] = [
        |plan| plan.market.accepting_orders = false,
        |plan| plan.market.order_book = false,
        |plan| plan.market.active = false,
        |plan| plan.market.closed = true,
    ];
    for state in states {
        let mut plan = buy();
        state(&mut plan);
        assert_eq!(plan.refusal(), TOKEN);
    }
}

#[test]
fn the_other_side() {
    assert_eq!(forged("side", json!(1)), SIDE);
    assert_eq!(changed("/typed_data/message/side", json!(2)), SIDE);
    for side in ["buy", "0", ""] {
        assert_eq!(changed("/order/side", json!(side)), SIDE);
        assert_eq!(changed("/post_body/order/side", json!(side)), SIDE);
    }
}

#[test]
fn amounts_that_swap_or_cheat() {
    let mut plan = buy();
    plan.set_amounts(U256::from(100_000_000), U256::from(50_000_000));
    plan.rehash();
    assert_eq!(plan.refusal(), AMOUNTS);
    // The same price for ten times the size.
    let mut plan = buy();
    plan.set_amounts(U256::from(500_000_000), U256::from(1_000_000_000));
    plan.rehash();
    assert_eq!(plan.refusal(), AMOUNTS);
}

#[test]
fn a_reading_that_is_too_old_or_from_the_future() {
    let mut plan = buy();
    let now = plan.commitment.now.unix();
    for (read_at, holds) in [
        (now - 60, true),
        (now - 61, false),
        (now + 60, true),
        (now + 61, false),
    ] {
        plan.market.read_at = UtcSeconds::from_unix(read_at);
        assert_eq!(plan.judge().is_ok(), holds);
        if !holds {
            assert_eq!(plan.refusal(), "pm_price_tick_aligned");
        }
    }
}

#[test]
fn other_ways_to_post() {
    for order_type in ["GTD", "FOK", "FAK", "gtc", ""] {
        assert_eq!(
            changed("/post_body/orderType", json!(order_type)),
            ORDER_TYPE
        );
    }
    for expiration in ["1790000600", "00", "", "never"] {
        assert_eq!(changed("/order/expiration", json!(expiration)), ORDER_TYPE);
        assert_eq!(
            changed("/post_body/order/expiration", json!(expiration)),
            ORDER_TYPE
        );
    }
    assert_eq!(changed("/post_body/postOnly", json!(true)), ORDER_TYPE);
    assert_eq!(changed("/post_body/deferExec", json!(true)), ORDER_TYPE);
    assert_eq!(changed("/method", json!("DELETE")), ORDER_TYPE);
    assert_eq!(changed("/path", json!("/orders")), ORDER_TYPE);
    let mut plan = buy();
    plan.request.post_only = true;
    assert_eq!(plan.refusal(), ORDER_TYPE);
    plan.set("/post_body/postOnly", json!(true));
    plan.judge().unwrap();
}

#[test]
fn another_builder_or_metadata() {
    let word = json!(B256::repeat_byte(1).to_string());
    assert_eq!(forged("builder", word.clone()), BUILDER);
    assert_eq!(forged("metadata", word), BUILDER);
    let mut plan = plans().swap_remove(2);
    plan.builder_code = B256::ZERO;
    assert_eq!(plan.refusal(), BUILDER);
}

#[test]
fn a_builder_fee_that_was_not_read_or_is_above_the_cap() {
    let fee = |maker: &str, taker: &str| {
        Some(PmBuilderFee {
            maker_bps: maker.parse().unwrap(),
            taker_bps: taker.parse().unwrap(),
        })
    };
    let judged = |of: usize, fee| {
        let mut plan = plans().swap_remove(of);
        plan.builder_fee = fee;
        plan.judge().map(|_| ()).map_err(|failure| failure.check)
    };
    // The third one carries a code; the first one none, and so no fee.
    for (of, fee, holds) in [
        (2, fee("0", "0"), true),
        (2, fee("100", "99.99"), true),
        (2, fee("100.01", "0"), false),
        (2, fee("0", "101"), false),
        (2, fee("0", "10000"), false),
        (2, None, false),
        (0, None, true),
        (0, fee("0", "0"), false),
    ] {
        let expected = if holds { Ok(()) } else { Err(BUILDER) };
        assert_eq!(judged(of, fee), expected, "{of} {fee:?}");
    }
}

#[test]
fn a_timestamp_in_seconds_or_out_of_the_plans_life() {
    assert_eq!(forged("timestamp", json!("1790000000")), ORDER_HASH);
    let plan = buy();
    let (now, end) = (
        plan.commitment.now.unix_millis(),
        plan.commitment.valid_until.unix_millis(),
    );
    for (timestamp, holds) in [
        (end - 120_000, true),
        (end - 120_001, false),
        (now + 60_000, true),
        (now + 60_001, false),
    ] {
        let mut plan = plan.clone();
        plan.set_order("timestamp", &json!(timestamp.to_string()));
        plan.rehash();
        assert_eq!(plan.judge().is_ok(), holds);
        if !holds {
            assert_eq!(plan.refusal(), ORDER_HASH);
        }
    }
}

#[test]
fn another_version_of_the_venue() {
    for version in [0, 1, 3] {
        let mut plan = buy();
        plan.market.version = version;
        assert_eq!(plan.refusal(), VERSION);
    }
}

#[test]
fn another_digest_or_a_plan_that_is_over() {
    let mut plan = buy();
    plan.commitment.digest = DigestStanding::Recomputed {
        claimed: B256::ZERO,
        computed: B256::repeat_byte(1),
    };
    assert_eq!(plan.refusal(), commitment::PAYLOAD_DIGEST);
    let mut plan = buy();
    plan.commitment.now = plan.commitment.valid_until;
    assert_eq!(plan.refusal(), commitment::ARTIFACT_EXPIRY);
}
