//! Exact amounts, compared with an oracle of plain integers.

use alloy_primitives::U256;
use calldata_checks::{
    Decimal,
    pm_order::{AMOUNTS, PRICE, SIZE, Side, TICKS},
};
use proptest::prelude::*;

use crate::pm_order::plan::{Plan, buy, sell};

fn plan(side: Side) -> Plan {
    match side {
        Side::Buy => buy(),
        Side::Sell => sell(),
    }
}

/// The plan of a request, with amounts in millionths.
fn with(
    side: Side,
    tick: Decimal,
    price: Decimal,
    size: Decimal,
    shares: u128,
    cost: u128,
) -> Plan {
    let mut plan = plan(side);
    plan.market.tick_size = tick;
    plan.market.min_order_size = "0.01".parse().unwrap();
    plan.request.price = price;
    plan.request.size = size;
    let (shares, cost) = (U256::from(shares), U256::from(cost));
    match side {
        Side::Buy => plan.set_amounts(cost, shares),
        Side::Sell => plan.set_amounts(shares, cost),
    }
    plan.rehash();
    plan
}

fn sides() -> impl Strategy<Value = Side> {
    prop_oneof![Just(Side::Buy), Just(Side::Sell)]
}

/// Ticks of 1, 0.1, … in ten-thousandths.
fn tick_units(tick: Decimal) -> u128 {
    u128::try_from(tick.atoms(4).unwrap()).unwrap()
}

proptest! {
    #[test]
    fn any_aligned_price_and_size_has_exact_amounts(
        side in sides(),
        tick in 0..TICKS.len(),
        step in any::<prop::sample::Index>(),
        cents in 1..10u128.pow(15),
    ) {
        let tick = TICKS[tick];
        let unit = tick_units(tick);
        let most = usize::try_from(10_000 / unit - 1).unwrap();
        let units = unit * u128::try_from(1 + step.index(most)).unwrap();
        let price = Decimal::new(units, 4).unwrap();
        let size = Decimal::new(cents, 2).unwrap();
        let (shares, cost) = (cents * 10_000, cents * units);
        let plan = with(side, tick, price, size, shares, cost);
        prop_assert!(plan.judge().is_ok(), "{:?}", plan.judge());
        for (shares, cost) in [(shares + 1, cost), (shares, cost + 1), (shares - 1, cost), (shares, cost - 1)] {
            prop_assert_eq!(with(side, tick, price, size, shares, cost).refusal(), AMOUNTS);
        }
    }

    #[test]
    fn any_price_off_the_tick_or_out_of_range_is_refused(
        side in sides(),
        tick in 0..TICKS.len(),
        units in 0..12_000_000u128,
    ) {
        // Prices in ten-millionths, ticks of at least 1,000 of them.
        let tick = TICKS[tick];
        let unit = tick_units(tick) * 1_000;
        let aligned = units % unit == 0 && units >= unit && units <= 10_000_000 - unit;
        let price = Decimal::new(units, 7).unwrap();
        let size = "100".parse().unwrap();
        let plan = with(side, tick, price, size, 100_000_000, units * 10);
        match plan.judge() {
            Ok(_) => prop_assert!(aligned),
            Err(failure) => {
                prop_assert!(!aligned);
                prop_assert_eq!(failure.check, PRICE);
            }
        }
    }
}

/// Amounts that floats get wrong, as clients of the venue do.
#[test]
fn amounts_that_floats_get_wrong() {
    for (tick, price, size, shares, cost) in [
        ("0.1", "0.8", "8439.88", 8_439_880_000, 6_751_904_000),
        ("0.01", "0.57", "19.99", 19_990_000, 11_394_300),
        ("0.01", "0.29", "1.15", 1_150_000, 333_500),
        (
            "0.0001",
            "0.9999",
            "123456789.01",
            123_456_789_010_000,
            123_444_443_331_099,
        ),
    ] {
        let [tick, price, size] = [tick, price, size].map(|text| text.parse().unwrap());
        for side in [Side::Buy, Side::Sell] {
            with(side, tick, price, size, shares, cost).judge().unwrap();
        }
    }
}

#[test]
fn named_off_tick_prices_are_refused() {
    for (tick, price) in [
        ("0.01", "0.555"),
        ("0.0025", "0.0055"),
        ("0.005", "0.001"),
        ("0.1", "0.15"),
        ("0.0001", "0.00005"),
        ("0.0001", "0.12345"),
    ] {
        let [tick, price] = [tick, price].map(|text| text.parse().unwrap());
        let plan = with(
            Side::Buy,
            tick,
            price,
            "100".parse().unwrap(),
            100_000_000,
            1,
        );
        assert_eq!(plan.refusal(), PRICE);
    }
}

/// The ends of the range are prices; values beyond them are not.
#[test]
fn the_range_is_one_tick_from_both_ends() {
    for tick in TICKS {
        let unit = tick_units(tick);
        for (units, holds) in [
            (0, false),
            (unit, true),
            (10_000 - unit, true),
            (10_000, false),
            (10_000 + unit, false),
        ] {
            let price = Decimal::new(units, 4).unwrap();
            let plan = with(
                Side::Sell,
                tick,
                price,
                "100".parse().unwrap(),
                100_000_000,
                units * 10_000,
            );
            assert_eq!(plan.judge().is_ok(), holds, "{price} at {tick}");
            if !holds {
                assert_eq!(plan.refusal(), PRICE);
            }
        }
    }
}

#[test]
fn an_unknown_tick_is_refused() {
    for tick in ["0", "0.02", "0.00001", "1"] {
        let mut plan = buy();
        plan.market.tick_size = tick.parse().unwrap();
        assert_eq!(plan.refusal(), PRICE, "{tick}");
    }
}

/// A tick is a number: `0.010` is 0.01.
#[test]
fn a_tick_is_compared_as_a_number() {
    let mut plan = buy();
    plan.market.tick_size = "0.010".parse().unwrap();
    plan.judge().unwrap();
}

#[test]
fn a_size_of_more_than_two_decimals_is_refused_not_floored() {
    for (size, shares) in [
        ("100.001", 100_001_000),
        ("99.999", 99_990_000),
        ("0.001", 0),
    ] {
        let [price, tick] = ["0.5", "0.01"].map(|text| text.parse().unwrap());
        let plan = with(
            Side::Buy,
            tick,
            price,
            size.parse().unwrap(),
            shares,
            shares / 2,
        );
        assert_eq!(plan.refusal(), SIZE);
    }
}

#[test]
fn a_size_below_the_minimum_is_refused() {
    for (size, holds) in [("4.99", false), ("5", true), ("5.01", true)] {
        let mut plan = buy();
        plan.request.size = size.parse().unwrap();
        let millionths = plan.request.size.atoms(6).unwrap();
        plan.set_amounts(millionths / U256::from(2), millionths);
        plan.rehash();
        assert_eq!(plan.judge().is_ok(), holds, "{size}");
        if !holds {
            assert_eq!(plan.refusal(), SIZE);
        }
    }
    let mut plan = buy();
    plan.request.size = Decimal::ZERO;
    plan.market.min_order_size = Decimal::ZERO;
    assert_eq!(plan.refusal(), SIZE);
}

#[test]
fn a_size_that_no_amount_holds_is_refused() {
    let mut plan = buy();
    plan.request.size = "9".repeat(36).parse().unwrap();
    assert_eq!(plan.refusal(), AMOUNTS);
}

/// The first vector costs 50, the second brings 1234.436544.
#[test]
fn the_callers_own_limits_hold() {
    for (limit, holds) in [("50", true), ("50.0000001", true), ("49.999999", false)] {
        let mut plan = buy();
        plan.request.max_cost = Some(limit.parse().unwrap());
        assert_eq!(plan.judge().is_ok(), holds, "{limit}");
        if !holds {
            assert_eq!(plan.refusal(), AMOUNTS);
        }
    }
    for (limit, holds) in [
        ("1234.436544", true),
        ("1234", true),
        ("1234.4365441", false),
    ] {
        let mut plan = sell();
        plan.request.min_proceeds = Some(limit.parse().unwrap());
        assert_eq!(plan.judge().is_ok(), holds, "{limit}");
        if !holds {
            assert_eq!(plan.refusal(), AMOUNTS);
        }
    }
}

#[test]
fn a_limit_of_the_other_side_is_refused() {
    let mut plan = buy();
    plan.request.min_proceeds = Some("1".parse().unwrap());
    assert_eq!(plan.refusal(), AMOUNTS);
    let mut plan = sell();
    plan.request.max_cost = Some("10000".parse().unwrap());
    assert_eq!(plan.refusal(), AMOUNTS);
}
