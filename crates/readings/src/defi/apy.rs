//! Converts the rates of different sources to one figure: the annual percentage yield, in percent.

use alloy_primitives::U256;
use rust_decimal::Decimal;

/// How often a rate of Aave is compounded in a year: every second.
pub const SECONDS_PER_YEAR: u64 = 31_536_000;

/// The digits after the point of a computed percentage.
const DIGITS: u32 = 6;
/// The digits of Aave's fixed point, in which one is 10^27.
const RAY_DIGITS: u64 = 27;
/// A rate above 100, which is 10,000 % a year, must be in another unit.
const MAX_RATE: u64 = 100;

/// Computes the APY in percent of an Aave `liquidityRate` (a rate for a year with 27 digits,
/// compounded every second): `(1 + r / 31536000)^31536000 − 1`, cut after six digits.
///
/// The computation uses 256-bit integers. Its error is below 10^-18, far below the digits that are
/// kept. `None` for an impossible rate.
/// ```
/// use readings::defi::apy;
///
/// let five_percent: alloy_primitives::U256 = "50000000000000000000000000".parse()?;
/// assert_eq!(apy::of_liquidity_rate(five_percent).unwrap().to_string(), "5.127109");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use]
pub fn of_liquidity_rate(rate: U256) -> Option<Decimal> {
    let ray = U256::from(10).pow(U256::from(RAY_DIGITS));
    if rate > ray.checked_mul(U256::from(MAX_RATE))? {
        return None;
    }
    let times = |a: U256, b: U256| a.checked_mul(b)?.checked_div(ray);
    let mut base = ray.checked_add(rate.checked_div(U256::from(SECONDS_PER_YEAR))?)?;
    let mut grown = ray;
    let mut left = SECONDS_PER_YEAR;
    while left > 0 {
        if left % 2 == 1 {
            grown = times(grown, base)?;
        }
        left /= 2;
        if left > 0 {
            base = times(base, base)?;
        }
    }
    let gain = grown.checked_sub(ray)?;
    // A fraction with 27 digits is a percentage with 25 digits.
    let surplus = RAY_DIGITS.checked_sub(2)?.checked_sub(u64::from(DIGITS))?;
    let kept = gain.checked_div(U256::from(10).pow(U256::from(surplus)))?;
    Decimal::try_from_i128_with_scale(i128::try_from(kept).ok()?, DIGITS).ok()
}

/// Converts a fraction to a percentage: `0.0412` is 4.12 %. `None` when it overflows.
#[must_use]
pub fn of_fraction(rate: Decimal) -> Option<Decimal> {
    rate.checked_mul(Decimal::ONE_HUNDRED)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn apy(rate: &str) -> Option<String> {
        of_liquidity_rate(rate.parse().unwrap()).map(|apy| apy.normalize().to_string())
    }

    /// The expected values come from a 60-digit computation of the same formula.
    #[test]
    fn known_rates_give_known_yields() {
        for (rate, expected) in [
            ("0", "0"),
            ("10000000000000000000000000", "1.005016"),
            ("35100000000000000000000000", "3.572327"),
            ("38123456789012345678901234", "3.885947"),
            ("50000000000000000000000000", "5.127109"),
            ("100000000000000000000000000", "10.517091"),
            ("1000000000000000000000000000", "171.828178"),
            ("10000000000000000000000000000", "2202543.08721"),
        ] {
            assert_eq!(apy(rate).as_deref(), Some(expected), "{rate}");
        }
    }

    #[test]
    fn an_invalid_rate_gives_no_yield() {
        assert_eq!(of_liquidity_rate(U256::MAX), None);
        let wad_of_ray = U256::from(10).pow(U256::from(45));
        assert_eq!(of_liquidity_rate(wad_of_ray), None);
        assert_eq!(of_fraction(Decimal::MAX), None);
        assert_eq!(
            of_fraction("0.0412".parse().unwrap()).unwrap().to_string(),
            "4.1200"
        );
    }

    proptest! {
        /// Compounding raises a yield, but never above that of continuous compounding: e^r < 1 + r
        /// + r².
        #[test]
        fn compounding_stays_between_its_bounds(basis_points in 0_u64..10_000) {
            let rate = U256::from(basis_points) * U256::from(10).pow(U256::from(23));
            let apy = of_liquidity_rate(rate).unwrap();
            let simple = Decimal::new(i64::try_from(basis_points).unwrap(), 2);
            let square = simple * simple / Decimal::ONE_HUNDRED;
            prop_assert!(apy >= simple - Decimal::new(1, DIGITS));
            prop_assert!(apy <= simple + square);
        }
    }
}
