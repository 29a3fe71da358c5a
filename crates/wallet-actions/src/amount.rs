//! Converts amounts between decimal text in whole tokens and a token's smallest unit.

use alloy_primitives::U256;
use exact::Decimal;

/// Parses an amount of whole tokens, and returns it in the token's smallest unit. `None` when the
/// text has more digits than the token, or the amount is out of range.
pub(crate) fn atoms(text: &str, decimals: u8) -> Option<U256> {
    text.parse::<Decimal>().ok()?.atoms(decimals)
}

/// Returns `bps` parts per ten thousand of an amount, rounded down.
pub(crate) fn less_bps(amount: U256, bps: u64) -> U256 {
    let kept = U256::from(10_000_u64.saturating_sub(bps));
    match amount.checked_mul(kept) {
        Some(product) => product / U256::from(10_000),
        None => (amount / U256::from(10_000)).saturating_mul(kept),
    }
}

#[cfg(test)]
mod tests {
    use exact::format_units;

    use super::*;

    #[test]
    fn amounts_are_exact_both_ways() {
        for (text, decimals, expected) in [
            ("25.5", 6, 25_500_000_u64),
            ("0.000001", 6, 1),
            ("1", 0, 1),
            ("7", 18, 7_000_000_000_000_000_000),
        ] {
            let amount = atoms(text, decimals).unwrap();
            assert_eq!(amount, U256::from(expected));
            assert_eq!(format_units(amount, decimals), text);
        }
        assert_eq!(atoms("0.0000001", 6), None);
        assert_eq!(format_units(U256::ZERO, 6), "0");
        assert_eq!(less_bps(U256::from(10_000), 10), U256::from(9_990));
        assert_eq!(less_bps(U256::from(99), 10), U256::from(98));
        assert!(less_bps(U256::MAX, 10) < U256::MAX);
    }
}
