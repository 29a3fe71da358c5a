//! Integers of contracts as decimals.

use alloy_primitives::U256;
use readings::Decimal;

/// `atoms` divided by ten to the power of `digits`. Fraction digits that a decimal cannot hold are
/// cut off. `None` when the integer part does not fit.
pub(super) fn decimal(atoms: U256, digits: u32) -> Option<Decimal> {
    let (mut atoms, mut scale) = (atoms, digits);
    loop {
        let whole = i128::try_from(atoms).ok();
        let fits = scale <= Decimal::MAX_SCALE;
        if let Some(decimal) = whole
            .filter(|_| fits)
            .and_then(|atoms| Decimal::try_from_i128_with_scale(atoms, scale).ok())
        {
            return Some(decimal.normalize());
        }
        scale = scale.checked_sub(1)?;
        atoms = atoms.checked_div(U256::from(10))?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(atoms: &str, digits: u32) -> Option<String> {
        decimal(atoms.parse().unwrap(), digits).map(|decimal| decimal.to_string())
    }

    #[test]
    fn the_point_is_set_and_only_the_tail_is_cut() {
        assert_eq!(text("1000000", 6).as_deref(), Some("1"));
        assert_eq!(text("1", 18).as_deref(), Some("0.000000000000000001"));
        assert_eq!(text("1", 30).as_deref(), Some("0"));
        assert_eq!(
            text("123456789012345678901234567890123456", 18).as_deref(),
            Some("123456789012345678.90123456789")
        );
        assert_eq!(text("123456789012345678901234567890", 0), None);
        assert_eq!(decimal(U256::MAX, 18), None);
    }
}
