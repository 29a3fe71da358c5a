//! Computes the limit price of a market trigger: the worst price that it accepts.

use alloy_primitives::U256;
use calldata_checks::{BasisPoints, Decimal, perp_order::Side};

/// The most significant figures of a price that is not an integer.
const FIGURES: i64 = 5;
/// The most decimals of a perpetual's price and size together.
const DECIMALS: u8 = 6;

/// Computes the worst price that a market trigger accepts: within `tolerance` of the trigger price,
/// and on the tick. It is below the trigger for a sale, and above it for a purchase. The rounding
/// goes toward the trigger, so that the tolerance is never exceeded. `None` when the result has
/// more digits than a decimal can hold.
pub(super) fn worst_price(
    side: Side,
    trigger: Decimal,
    tolerance: BasisPoints,
    size_decimals: u8,
) -> Option<Decimal> {
    let whole = BasisPoints::MAX.get();
    let share = match side {
        Side::Sell => whole.checked_sub(tolerance.get())?,
        Side::Buy => whole.checked_add(tolerance.get())?,
    };
    // The bound is digits / 10^scale. Basis points are four decimals.
    let digits = U256::from(trigger.mantissa()).checked_mul(U256::from(share))?;
    let scale = trigger.scale().checked_add(4)?;
    let decimals = tick_decimals(digits, scale, size_decimals)?;
    let unit = power(scale);
    let scaled = digits.checked_mul(power(decimals))?;
    let rounded = match side {
        Side::Sell => scaled.div_ceil(unit).max(U256::from(1)),
        Side::Buy => scaled.checked_div(unit)?,
    };
    Decimal::new(u128::try_from(rounded).ok()?, decimals).ok()
}

/// The most decimals that a price of the size of `digits / 10^scale` may have.
fn tick_decimals(digits: U256, scale: u8, size_decimals: u8) -> Option<u8> {
    let most = DECIMALS.saturating_sub(size_decimals);
    let length = i64::try_from(digits.to_string().len()).ok()?;
    // The first digit counts 10^exponent.
    let exponent = length.checked_sub(1)?.checked_sub(i64::from(scale))?;
    let decimals = FIGURES.checked_sub(1)?.checked_sub(exponent)?;
    u8::try_from(decimals.clamp(0, i64::from(most))).ok()
}

fn power(exponent: u8) -> U256 {
    U256::from(10).pow(U256::from(exponent))
}

#[cfg(test)]
mod tests {
    use calldata_checks::perp_order::{self as checks, price_on_tick};
    use proptest::prelude::*;

    use super::*;

    fn worst(side: Side, trigger: &str, bps: u16, size_decimals: u8) -> String {
        let tolerance = BasisPoints::new(bps).unwrap();
        worst_price(side, trigger.parse().unwrap(), tolerance, size_decimals)
            .unwrap()
            .to_string()
    }

    #[test]
    fn known_prices() {
        for (side, trigger, bps, size_decimals, expected) in [
            (Side::Sell, "95000", 1000, 5, "85500"),
            (Side::Buy, "105000", 1000, 5, "115500"),
            // The bounds are 111110.4 and 135801.6. Whole prices may have any number of figures.
            (Side::Sell, "123456", 1000, 5, "111111"),
            (Side::Buy, "123456", 1000, 5, "135801"),
            // The bounds are 1111.05 and 1357.95. Prices of this size have one decimal.
            (Side::Sell, "1234.5", 1000, 1, "1111.1"),
            (Side::Buy, "1234.5", 1000, 1, "1357.9"),
            // The bounds are 0.0011106 and 0.0013574. Prices of this size have six decimals.
            (Side::Sell, "0.001234", 1000, 0, "0.001111"),
            (Side::Buy, "0.001234", 1000, 0, "0.001357"),
            // The price is just above or below a power of ten, where the tick changes.
            (Side::Buy, "9.9999", 1, 2, "10"),
            (Side::Buy, "9999.5", 100, 1, "10099"),
            (Side::Sell, "10000", 1, 1, "9999"),
            (Side::Sell, "10001", 5, 1, "9996"),
            // With szDecimals of 6 or more, only whole prices exist.
            (Side::Sell, "7", 1000, 6, "7"),
            (Side::Buy, "7", 1000, 9, "7"),
            // Even with a tolerance of the whole price there is a price.
            (Side::Sell, "7", 10_000, 2, "0.0001"),
        ] {
            assert_eq!(
                worst(side, trigger, bps, size_decimals),
                expected,
                "{trigger} {bps}"
            );
        }
        let wide = "9".repeat(36).parse().unwrap();
        assert_eq!(worst_price(Side::Buy, wide, BasisPoints::MAX, 0), None);
    }

    proptest! {
        /// The checks compute the price in another way, and require exactly that price in a plan.
        #[test]
        fn the_builders_price_is_the_one_that_the_checks_require(
            (mantissa, scale) in prop_oneof![
                (1u128..100_000, 0u8..=6),
                (1..10u128.pow(36), Just(0)),
            ],
            size_decimals in 0u8..=8,
            bps in 0u16..=10_000,
            sell: bool,
        ) {
            let side = if sell { Side::Sell } else { Side::Buy };
            let scale = scale.min(6u8.saturating_sub(size_decimals));
            let trigger = Decimal::new(mantissa, scale).unwrap();
            let tolerance = BasisPoints::new(bps).unwrap();
            prop_assert_eq!(
                worst_price(side, trigger, tolerance, size_decimals),
                checks::worst_price(side, trigger, tolerance, size_decimals)
            );
        }

        /// The price is on the tick and between the bound and the trigger, and no tick is nearer to
        /// the bound.
        #[test]
        fn the_worst_price_is_the_last_tick_before_the_bound(
            mantissa in 1u128..100_000,
            scale in 0u8..=6,
            size_decimals in 0u8..=6,
            bps in 1u16..5_000,
            sell: bool,
        ) {
            let side = if sell { Side::Sell } else { Side::Buy };
            let trigger = Decimal::new(mantissa, scale).unwrap();
            prop_assume!(price_on_tick(trigger, size_decimals));
            let tolerance = BasisPoints::new(bps).unwrap();
            let price = worst_price(side, trigger, tolerance, size_decimals).unwrap();
            prop_assert!(price_on_tick(price, size_decimals), "{price}");
            let share = if sell { 10_000 - bps } else { 10_000 + bps };
            let bound = trigger.checked_mul(Decimal::new(share.into(), 4).unwrap()).unwrap();
            let (low, high) = if sell { (bound, trigger) } else { (trigger, bound) };
            prop_assert!(low <= price && price <= high, "{low} {price} {high}");
            // A price that is one step of the finest grid further is beyond the bound, or off the
            // tick.
            let step = |value: Decimal, d: u8| -> Option<Decimal> {
                let atoms = u128::try_from(value.atoms(d)?).ok()?;
                Decimal::new(if sell { atoms.checked_sub(1)? } else { atoms + 1 }, d).ok()
            };
            for d in price.scale()..=6 {
                let Some(further) = step(price, d) else { continue };
                let inside = if sell { further >= bound } else { further <= bound };
                prop_assert!(!(inside && price_on_tick(further, size_decimals)), "{further}");
            }
        }
    }
}
