//! Tests of refusals: by the upstreams' answers, by the caller's bounds, and by the account.

use std::time::Duration;

use alloy_primitives::U256;
use serde_json::{Value, json};

use super::{Chains, Fees, built, request, unavailable};
use crate::{
    Refusal,
    ports::{BridgeFeeReading, PortError, PortErrorReason},
};

fn check(changes: Value, fees: &Fees) -> String {
    let refusal = built(&request(changes), fees, &Chains::default()).unwrap_err();
    refusal.check.into_owned()
}

fn reading(change: impl FnOnce(&mut BridgeFeeReading)) -> Fees {
    let mut fees = Fees::default();
    change(fees.reading.as_mut().unwrap());
    fees
}

#[test]
fn an_upstream_that_gives_nothing_gives_no_plan() {
    let fast = || json!({"transferSpeed": "fast"});
    let failing = |reason| PortError {
        source_name: "circle".into(),
        reason,
    };
    for (reason, name) in [
        (
            PortErrorReason::Unavailable {
                detail: "503".to_owned(),
            },
            Refusal::QUOTE_UNAVAILABLE,
        ),
        (
            PortErrorReason::RateLimited {
                retry_after: Some(Duration::from_secs(300)),
            },
            Refusal::RATE_LIMITED,
        ),
        (
            PortErrorReason::Malformed {
                path: "$".to_owned(),
                detail: "not JSON".to_owned(),
            },
            Refusal::QUOTE_MALFORMED,
        ),
        (
            PortErrorReason::Refused {
                detail: "404".to_owned(),
            },
            Refusal::QUOTE_REFUSED,
        ),
    ] {
        let error = failing(reason);
        let fees = Fees {
            reading: Err(error.clone()),
            ..Fees::default()
        };
        assert_eq!(check(json!({}), &fees), name);
        let allowance = Fees {
            allowance: Err(error),
            ..Fees::default()
        };
        assert_eq!(check(fast(), &allowance), name);
    }
}

#[test]
fn a_missing_fast_fee_is_the_upstreams_fault() {
    let fees = reading(|r| r.fast_bps = None);
    // The route has fast transfers, so the caller has made no mistake.
    assert_eq!(
        check(json!({"transferSpeed": "fast"}), &fees),
        Refusal::QUOTE_MALFORMED
    );
    assert!(built(&request(json!({})), &fees, &Chains::default()).is_ok());
}

#[test]
fn a_fast_transfer_that_would_be_slow_is_refused() {
    let own = |fee: &str| json!({"transferSpeed": "fast", "maxFee": fee});
    let refusal = built(
        &request(own("160493")),
        &Fees::default(),
        &Chains::default(),
    )
    .unwrap_err();
    assert_eq!(refusal.check, "bridge_fee_cap");
    assert!(refusal.message.contains("silently"), "{}", refusal.message);
    assert_eq!(refusal.expected.as_deref(), Some("at least 160494"));
    assert_eq!(check(own("0"), &Fees::default()), "bridge_fee_cap");
    assert!(
        built(
            &request(own("160494")),
            &Fees::default(),
            &Chains::default()
        )
        .is_ok()
    );
}

#[test]
fn an_amount_that_the_forwarding_fee_would_mostly_take_is_refused() {
    let fees = reading(|r| r.forward_fee = Some(U256::from(3_503_729)));
    let forwarded = |amount: &str| json!({"forward": true, "amount": amount});
    for amount in ["3503729", "3503730", "35037280"] {
        assert_eq!(check(forwarded(amount), &fees), "bridge_fee_cap");
    }
    // The fee may be at most a tenth of the amount.
    assert!(built(&request(forwarded("35037290")), &fees, &Chains::default()).is_ok());
}

#[test]
fn fees_above_the_cap_and_mints_below_the_least_are_refused() {
    let dear = reading(|r| r.fast_bps = Some("20".parse().unwrap()));
    assert_eq!(
        check(json!({"transferSpeed": "fast"}), &dear),
        "bridge_fee_cap"
    );
    let relayer = reading(|r| r.forward_fee = Some(U256::from(25_000_000)));
    assert_eq!(check(json!({"forward": true}), &relayer), "bridge_fee_cap");
    let least = json!({"transferSpeed": "fast", "minAmountOut": "1234391348"});
    assert_eq!(check(least, &Fees::default()), "bridge_fee_cap");
    let huge = reading(|r| r.forward_fee = Some(U256::MAX));
    assert_eq!(
        check(json!({"forward": true, "transferSpeed": "fast"}), &huge),
        "bridge_fee_cap"
    );
}

#[test]
fn a_fast_transfer_beyond_the_allowance_is_refused() {
    let fees = Fees {
        allowance: Ok(U256::ZERO),
        ..Fees::default()
    };
    assert_eq!(
        check(json!({"transferSpeed": "fast"}), &fees),
        "bridge_finality_exact"
    );
}

#[test]
fn a_fault_of_the_account_is_refused_before_the_fees() {
    let fees = Fees {
        reading: Err(unavailable("circle")),
        ..Fees::default()
    };
    let profile = json!({"kind": "safe", "address": super::ACCOUNT.to_string(), "chainId": 8453});
    let name = check(json!({"accountProfile": profile}), &fees);
    assert_eq!(name, "bridge_recipient_controlled_on_destination");
}
