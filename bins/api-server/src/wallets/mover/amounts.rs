//! Converts between dollars and tokens.

use alloy_primitives::U256;
use exact::{Decimal as Exact, format_units};
use readings::{Decimal, Figure};

/// Decimal places of an amount of dollars.
const USD_DIGITS: u32 = 6;

/// The worth of an amount of a token, cut after six decimal places; `None` when it cannot be
/// computed.
pub(super) fn usd(atoms: U256, decimals: u8, price_usd: Decimal) -> Option<Decimal> {
    let tokens: Figure = format_units(atoms, decimals).parse().ok()?;
    let worth = tokens.0.checked_mul(price_usd)?;
    Some(worth.trunc_with_scale(USD_DIGITS).normalize())
}

/// The largest amount of a token, in its smallest unit, that is worth at most `max_usd`.
pub(super) fn most_atoms(max_usd: Decimal, decimals: u8, price_usd: Decimal) -> Option<U256> {
    let tokens = max_usd.checked_div(price_usd)?;
    let tokens = tokens.trunc_with_scale(u32::from(decimals)).normalize();
    let atoms = tokens.to_string().parse::<Exact>().ok()?.atoms(decimals)?;
    // The quotient is rounded to 28 digits, possibly up, so its worth is computed again.
    let worth: Figure = format_units(atoms, decimals).parse().ok()?;
    match worth.0.checked_mul(price_usd)? > max_usd {
        true => Some(atoms.saturating_sub(U256::from(1))),
        false => Some(atoms),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dollars(text: &str) -> Decimal {
        text.parse::<Figure>().unwrap().0
    }

    #[test]
    fn a_bound_in_dollars_is_never_passed() {
        for (max, decimals, price, expected) in [
            ("1000", 6, "1", 1_000_000_000_u64),
            ("1000", 6, "0.9998", 1_000_200_040),
            ("1000", 6, "3", 333_333_333),
            ("0.0000001", 6, "1", 0),
            ("5", 0, "2", 2),
        ] {
            let most = most_atoms(dollars(max), decimals, dollars(price)).unwrap();
            assert_eq!(most, U256::from(expected), "{max} at {price}");
            assert!(usd(most, decimals, dollars(price)).unwrap() <= dollars(max));
        }
        let most = most_atoms(dollars("1000"), 18, dollars("0.7")).unwrap();
        assert_eq!(format_units(most, 18), "1428.571428571428571428");
        assert!(usd(most, 18, dollars("0.7")).unwrap() <= dollars("1000"));
        assert_eq!(most_atoms(dollars("1"), 6, Decimal::ZERO), None);
    }

    #[test]
    fn a_worth_is_cut_after_six_digits() {
        let worth = usd(U256::from(1_234_567), 6, dollars("0.9999999"));
        assert_eq!(worth, Some(dollars("1.234566")));
        assert_eq!(usd(U256::ZERO, 6, dollars("1")), Some(Decimal::ZERO));
        assert_eq!(usd(U256::MAX, 0, dollars("1")), None);
    }
}
