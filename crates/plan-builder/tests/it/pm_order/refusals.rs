//! Tests of requests that get no plan, and of the names of the refusals.

use alloy_primitives::U256;
use calldata_checks::UtcSeconds;
use plan_builder::ports::{PmMarket, PortError, PortErrorReason};
use serde_json::{Value, json};

use crate::pm_order::stage::{Stage, buy, sell};

fn refused(member: &str, value: Value) -> String {
    let mut stage = buy();
    stage.arguments[member] = value;
    stage.refusal()
}

fn refused_market(change: impl FnOnce(&mut PmMarket)) -> String {
    let mut stage = buy();
    change(stage.market());
    stage.refusal()
}

/// The price is off the tick or out of range. It is not rounded.
#[test]
fn a_price_off_the_tick_is_refused() {
    for price in [
        "0.555",
        "0.005",
        "1",
        "0.995",
        "2",
        "0.5555555",
        "0.000000000000000000000001",
    ] {
        assert_eq!(
            refused("price", json!(price)),
            "pm_price_tick_aligned",
            "{price}"
        );
    }
    let mut stage = buy();
    stage.arguments["price"] = json!("0.0055");
    stage.market().tick_size = "0.0025".parse().unwrap();
    assert_eq!(stage.refusal(), "pm_price_tick_aligned");
}

/// The size is finer than the lot. It is not rounded down.
#[test]
fn a_size_that_is_too_fine_or_too_small_is_refused() {
    for size in ["100.001", "99.999999", "0.0000001", "4.99"] {
        assert_eq!(refused("size", json!(size)), "pm_size_lot_bound", "{size}");
    }
    assert_eq!(refused("size", json!("9".repeat(35))), "pm_amount_exact");
}

#[test]
fn an_order_beyond_the_callers_limits_is_refused() {
    assert_eq!(refused("maxCost", json!("49.99")), "pm_amount_exact");
    let mut stage = sell();
    stage.arguments["minProceeds"] = json!("1234.436545");
    assert_eq!(stage.refusal(), "pm_amount_exact");
    stage.arguments["minProceeds"] = json!("1234.436544");
    stage.build().unwrap();
}

#[test]
fn another_market_or_outcome_is_refused() {
    assert_eq!(
        refused("conditionId", json!(format!("0x{}", "08".repeat(32)))),
        "pm_token_bound"
    );
    assert_eq!(refused("outcome", json!("No")), "pm_token_bound");
    let mut stage = buy();
    stage.arguments["conditionId"] = json!(format!("0x{}", "07".repeat(32)));
    stage.arguments["outcome"] = json!("Yes");
    stage.build().unwrap();
}

#[test]
fn a_market_that_is_not_the_tokens_or_takes_no_orders_is_refused() {
    let token = "pm_token_bound";
    assert_eq!(
        refused_market(|market| market.tokens[0].token_id += U256::ONE),
        token
    );
    assert_eq!(
        refused_market(|market| market.accepting_orders = false),
        token
    );
    assert_eq!(refused_market(|market| market.order_book = false), token);
    assert_eq!(refused_market(|market| market.active = false), token);
    assert_eq!(refused_market(|market| market.closed = true), token);
}

#[test]
fn a_venue_of_another_generation_is_refused() {
    assert_eq!(
        refused_market(|market| market.version = 1),
        "pm_version_pinned"
    );
    assert_eq!(
        refused_market(|market| market.version = 3),
        "pm_version_pinned"
    );
}

#[test]
fn an_old_reading_is_refused() {
    let old = |seconds: u64| {
        let mut stage: Stage = buy();
        let now = stage.moment.now().unix();
        stage.market().read_at = UtcSeconds::from_unix(now - seconds);
        stage
    };
    old(60).build().unwrap();
    assert_eq!(old(61).refusal(), "quote_stale");
}

#[test]
fn a_venue_that_does_not_answer_gives_no_plan() {
    for (reason, name) in [
        (
            PortErrorReason::Unavailable {
                detail: "time-out".to_owned(),
            },
            "quote_unavailable",
        ),
        (
            PortErrorReason::RateLimited { retry_after: None },
            "rate_limited",
        ),
        (
            PortErrorReason::Malformed {
                path: "$.mts".to_owned(),
                detail: "a list".to_owned(),
            },
            "quote_malformed",
        ),
        (
            PortErrorReason::Unknown {
                subject: "token".to_owned(),
            },
            "token_unsupported",
        ),
    ] {
        let mut stage = buy();
        stage.market = Err(PortError {
            source_name: "polymarket".into(),
            reason,
        });
        assert_eq!(stage.refusal(), name);
    }
}
