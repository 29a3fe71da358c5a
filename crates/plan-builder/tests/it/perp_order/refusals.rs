//! Tests of orders that get no plan. Each is refused by a name.

use plan_builder::ports::PortErrorReason;
use serde_json::{Value, json};

use crate::perp_order::venue::{Venue, arguments, build, policy, policy_with_builder};

#[track_caller]
fn refused(changes: Value, change: impl FnOnce(&mut Venue)) -> String {
    let mut venue = Venue::bitcoin();
    change(&mut venue);
    let refusal = build(&arguments(changes), &venue, &policy()).unwrap_err();
    refusal.check.into_owned()
}

#[test]
fn coins_that_are_not_traded_here_are_refused() {
    assert_eq!(
        refused(json!({"coin": "NOPE"}), |_| {}),
        "token_unsupported"
    );
    assert_eq!(
        refused(json!({}), |venue| venue.asset.delisted = true),
        "perp_asset_bound"
    );
    for id in [10_000, 10_107, 99_999, 100_000, 100_000_000, 100_000_011] {
        let name = refused(json!({}), |venue| venue.asset.asset_id = id);
        assert_eq!(name, "perp_asset_bound", "{id}");
    }
    // The venue answers with another coin than the requested one.
    let name = refused(json!({"coin": "xyz:BTC"}), |venue| {
        venue.asset.coin = "xyz:BTC".to_owned()
    });
    assert_eq!(name, "perp_asset_bound");
}

#[test]
fn prices_and_sizes_that_the_venue_does_not_take_are_refused() {
    for (changes, name) in [
        (json!({"price": "100000.5"}), "perp_price_tick_exact"),
        (
            json!({"price": "12345.6", "size": "1"}),
            "perp_price_tick_exact",
        ),
        (
            json!({"stopLoss": {"triggerPrice": "95000.5"}}),
            "perp_price_tick_exact",
        ),
        (
            json!({"takeProfit": {"triggerPrice": "110000", "limitPrice": "109999.5"}}),
            "perp_price_tick_exact",
        ),
        (json!({"size": "0.001001"}), "perp_size_lot_exact"),
        (json!({"size": "0.00009"}), "perp_min_notional"),
        (
            json!({"price": "9".repeat(36), "size": "1"}),
            "perp_price_band",
        ),
        (json!({"price": "1000000"}), "perp_price_band"),
        (
            json!({"side": "sell", "price": "1000", "size": "1"}),
            "perp_price_band",
        ),
    ] {
        assert_eq!(refused(changes.clone(), |_| {}), name, "{changes}");
    }
}

#[test]
fn protections_that_do_not_protect_are_refused() {
    let tp = |trigger: &str| json!({"takeProfit": {"triggerPrice": trigger}});
    let sl = |trigger: &str| json!({"stopLoss": {"triggerPrice": trigger}});
    let short = |mut changes: Value| {
        changes["side"] = json!("sell");
        changes
    };
    for changes in [
        tp("99999"),
        tp("100000"),
        sl("100000"),
        sl("100100"),
        short(tp("100000")),
        short(tp("100100")),
        short(sl("99999")),
        short(sl("100100")),
    ] {
        assert_eq!(
            refused(changes.clone(), |_| {}),
            "perp_tpsl_direction",
            "{changes}"
        );
    }
    let name = refused(sl("95000"), |venue| venue.asset.mark_price = None);
    assert_eq!(name, "perp_tpsl_direction");
    assert_eq!(
        refused(json!({}), |venue| venue.asset.mark_price = None),
        "perp_price_band"
    );
    let mut reducing = sl("95000");
    reducing["reduceOnly"] = json!(true);
    assert_eq!(refused(reducing, |_| {}), "perp_tpsl_reduce_only");
    for limit in ["95001", "85499"] {
        let changes = json!({"stopLoss": {"triggerPrice": "95000", "limitPrice": limit}});
        assert_eq!(refused(changes, |_| {}), "perp_tpsl_limit_bound", "{limit}");
    }
}

#[test]
fn a_builder_fee_that_is_not_approved_is_refused() {
    for approved in [0, 9] {
        let mut venue = Venue::bitcoin();
        venue.approved = approved;
        let refusal = build(&arguments(json!({})), &venue, &policy_with_builder()).unwrap_err();
        assert_eq!(refusal.check, "perp_builder_fee_exact");
        assert_eq!(refusal.observed, Some(approved.to_string()));
    }
}

#[test]
fn a_venue_that_does_not_answer_gives_no_plan() {
    let detail = || "after 2 s".to_owned();
    for (reason, name) in [
        (
            PortErrorReason::Unavailable { detail: detail() },
            "quote_unavailable",
        ),
        (
            PortErrorReason::RateLimited { retry_after: None },
            "rate_limited",
        ),
        (
            PortErrorReason::Malformed {
                path: "$[0]".to_owned(),
                detail: detail(),
            },
            "quote_malformed",
        ),
        (
            PortErrorReason::Unknown {
                subject: "coin".to_owned(),
            },
            "token_unsupported",
        ),
    ] {
        assert_eq!(
            refused(json!({}), |venue| venue.failure = Some(reason)),
            name
        );
    }
}
