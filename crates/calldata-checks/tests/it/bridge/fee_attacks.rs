//! Mistakes of a careless constructor about fees.

use alloy_primitives::U256;
use calldata_checks::{BasisPoints, fees::BridgeCaps};

use crate::bridge::plan::{Plan, refused};

#[test]
fn a_fast_burn_without_a_fee_is_silently_slow() {
    let free = Plan::fast().with_burn(|b| b.max_fee = U256::ZERO);
    refused(&free, "bridge_fee_cap", "follows from the fees read");
    // The caller may not ask for it either, down to one unit below the fast fee of 160494.
    for max_fee in [0, 1, 160_493] {
        let low = Plan::fast().asking(|a| a.max_fee = Some(U256::from(max_fee)));
        refused(&low, "bridge_fee_cap", "silently be a standard one");
    }
    let enough = Plan::fast().asking(|a| a.max_fee = Some(U256::from(160_494)));
    assert!(enough.judge().is_ok());
}

#[test]
fn a_fractional_fee_read_as_an_integer() {
    // 1 basis point instead of 1.3.
    let truncated = Plan::fast().with_burn(|b| b.max_fee = U256::from(135_803));
    refused(&truncated, "bridge_fee_cap", "follows from the fees read");
}

#[test]
fn a_fee_that_does_not_follow_from_the_reading() {
    for max_fee in [176_542, 176_544, 160_494] {
        let other = Plan::fast().with_burn(|b| b.max_fee = U256::from(max_fee));
        refused(&other, "bridge_fee_cap", "follows from the fees read");
    }
    let charged = Plan::standard().with_burn(|b| b.max_fee = U256::from(1));
    refused(&charged, "bridge_fee_cap", "follows from the fees read");
    let dearer = Plan::standard().reading(|c| c.fees.chain_min_fee = Some(U256::from(7)));
    assert!(dearer.judge().is_ok());
    for max_fee in [0, 6, 8] {
        let other = dearer
            .clone()
            .with_burn(|b| b.max_fee = U256::from(max_fee));
        refused(&other, "bridge_fee_cap", "follows from the fees read");
    }
    // A caller's own fee is used as it is: another one in the bytes is refused, even the rule's.
    let own = Plan::fast().asking(|a| a.max_fee = Some(U256::from(200_000)));
    assert!(own.judge().is_ok());
    let replaced = own.with_burn(|b| b.max_fee = U256::from(176_543));
    refused(&replaced, "bridge_fee_cap", "follows from the fees read");
}

#[test]
fn a_fee_that_is_not_below_the_amount() {
    for (amount, max_fee) in [(1, 1), (1_000_000, 1_000_000), (1_000_000, 5_000_000)] {
        let plan = Plan::standard().asking(|a| {
            a.amount = U256::from(amount);
            a.max_fee = Some(U256::from(max_fee));
        });
        refused(&plan, "bridge_fee_cap", "not below the amount");
    }
    let smallest = Plan::fast().asking(|a| a.amount = U256::from(1));
    refused(&smallest, "bridge_fee_cap", "not below the amount");
}

#[test]
fn forwarding_of_a_small_amount() {
    let plan = |amount: u64| {
        Plan::standard()
            .reading(|c| c.fees.forward_fee = Some(U256::from(3_503_729)))
            .asking(|a| {
                a.amount = U256::from(amount);
                a.forward = true;
            })
    };
    for amount in [1, 3_000_000, 3_503_729] {
        refused(&plan(amount), "bridge_fee_cap", "not below the amount");
    }
    // From there to ten times the fee, the fee would be most of the amount.
    for amount in [3_503_730, 35_037_280] {
        refused(&plan(amount), "bridge_fee_cap", "forwarding fee is above");
    }
    assert!(plan(35_037_290).judge().is_ok());
    let whole = plan(3_503_730).reading(|c| c.caps.forward_share = BasisPoints::MAX);
    assert!(whole.judge().is_ok());
}

#[test]
fn forwarding_that_its_fee_does_not_cover() {
    let low = Plan::standard().asking(|a| {
        a.forward = true;
        a.max_fee = Some(U256::from(249_999));
    });
    refused(&low, "bridge_fee_cap", "a forwarded transfer");
    let fast = Plan::fast().asking(|a| {
        a.forward = true;
        a.max_fee = Some(U256::from(410_493));
    });
    refused(&fast, "bridge_fee_cap", "a forwarded transfer");
    assert!(
        fast.asking(|a| a.max_fee = Some(U256::from(410_494)))
            .judge()
            .is_ok()
    );
    let unread = Plan::standard()
        .reading(|c| c.fees.forward_fee = None)
        .asking(|a| a.forward = true);
    refused(&unread, "bridge_fee_cap", "cannot be computed");
}

#[test]
fn a_fee_above_the_cap() {
    let dear = Plan::fast().reading(|c| c.fees.fast_bps = Some("19".parse().unwrap()));
    refused(&dear, "bridge_fee_cap", "above the configured cap");
    let relayer = Plan::standard()
        .reading(|c| c.fees.forward_fee = Some(U256::from(23_000_000)))
        .asking(|a| a.forward = true);
    refused(&relayer, "bridge_fee_cap", "above the configured cap");
    // 20 basis points of 1234567890 are 2469135.78.
    let own = |max_fee: u64| Plan::fast().asking(|a| a.max_fee = Some(U256::from(max_fee)));
    assert!(own(2_469_136).judge().is_ok());
    refused(
        &own(2_469_137),
        "bridge_fee_cap",
        "above the configured cap",
    );
    let tight = BridgeCaps {
        fast: BasisPoints::new(1).unwrap(),
        ..BridgeCaps::DEFAULT
    };
    refused(
        &Plan::fast().reading(|c| c.caps = tight),
        "bridge_fee_cap",
        "configured cap",
    );
}

#[test]
fn a_fee_of_standard_transfers_is_paid() {
    // 0.1 basis points of 1234567890 are 12346, and a tenth of that is the buffer.
    let charged = Plan::standard().reading(|c| c.fees.standard_bps = "0.1".parse().unwrap());
    assert!(charged.judge().is_ok());
    let free = charged.clone().with_burn(|b| b.max_fee = U256::ZERO);
    refused(&free, "bridge_fee_cap", "follows from the fees read");
    let low = charged.asking(|a| a.max_fee = Some(U256::from(12_345)));
    refused(&low, "bridge_fee_cap", "fee of a standard transfer");
    assert!(
        low.asking(|a| a.max_fee = Some(U256::from(12_346)))
            .judge()
            .is_ok()
    );
    let dear = Plan::standard().reading(|c| c.fees.standard_bps = "19".parse().unwrap());
    refused(&dear, "bridge_fee_cap", "above the configured cap");
    let tight = Plan::standard()
        .reading(|c| c.fees.standard_bps = "1".parse().unwrap())
        .reading(|c| c.caps.standard = BasisPoints::new(1).unwrap());
    refused(&tight, "bridge_fee_cap", "above the configured cap");
}

#[test]
fn the_least_fee_of_the_chain() {
    // The service names no fee, and the chain requires at least 500.
    let switched = Plan::standard().reading(|c| c.fees.chain_min_fee = Some(U256::from(500)));
    assert!(switched.judge().is_ok());
    let low = switched.asking(|a| a.max_fee = Some(U256::from(499)));
    refused(&low, "bridge_fee_cap", "fee of a standard transfer");
    let dear = Plan::standard().reading(|c| c.fees.chain_min_fee = Some(U256::from(2_469_137)));
    refused(&dear, "bridge_fee_cap", "above the configured cap");
}

#[test]
fn a_fraction_of_a_basis_point_is_no_refusal() {
    for bps in ["0.004", "0.0001", "1.3049"] {
        for plan in [Plan::fast(), Plan::standard()] {
            let plan = plan.reading(|c| {
                c.fees.fast_bps = Some(bps.parse().unwrap());
                c.fees.standard_bps = bps.parse().unwrap();
            });
            assert!(plan.judge().is_ok(), "{bps}");
        }
    }
    // A fee of a few hundred units passes, because its cap is rounded up as well.
    assert!(
        Plan::fast()
            .asking(|a| a.amount = U256::from(400))
            .judge()
            .is_ok()
    );
}

#[test]
fn less_than_the_least_that_was_asked_for() {
    let asking = |least: u64| Plan::fast().asking(|a| a.min_amount_out = Some(U256::from(least)));
    assert!(asking(1_234_391_347).judge().is_ok());
    refused(&asking(1_234_391_348), "bridge_fee_cap", "minAmountOut");
    // A plan with a fee never promises the whole amount; one without a fee does.
    refused(&asking(1_234_567_890), "bridge_fee_cap", "minAmountOut");
    let free = Plan::standard().asking(|a| a.min_amount_out = Some(a.amount));
    assert!(free.judge().is_ok());
    let more = Plan::standard().asking(|a| a.min_amount_out = Some(U256::MAX));
    refused(&more, "bridge_fee_cap", "minAmountOut");
}
