//! Amounts as people read them.

use alloy_primitives::U256;
use dev_chain::base;

/// Fraction digits of USDC.
pub(super) const USDC: u8 = 6;
/// Fraction digits of WETH.
pub(super) const WETH: u8 = 18;

/// An amount of USDC.
pub(super) fn usdc(atoms: U256) -> String {
    format!("{} USDC", decimal(atoms, USDC))
}

/// An amount of WETH.
pub(super) fn weth(atoms: U256) -> String {
    format!("{} WETH", decimal(atoms, WETH))
}

/// Basis points as a percentage.
pub(super) fn percent(bps: u16) -> String {
    format!("{}.{:02} %", bps / 100, bps % 100)
}

/// The name of an address of the stage.
pub(super) fn name(address: alloy_primitives::Address) -> String {
    match address {
        base::USDC => "USDC".to_owned(),
        base::WETH => "WETH".to_owned(),
        base::ROUTER => "router".to_owned(),
        other => other.to_string(),
    }
}

/// Atoms with a decimal point, without zeros at the end.
fn decimal(atoms: U256, digits: u8) -> String {
    let digits = usize::from(digits);
    let text = format!(
        "{:0>width$}",
        atoms.to_string(),
        width = digits.saturating_add(1)
    );
    let (whole, fraction) = text.split_at(text.len().saturating_sub(digits));
    let fraction = fraction.trim_end_matches('0');
    if fraction.is_empty() {
        whole.to_owned()
    } else {
        format!("{whole}.{fraction}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_rounded() {
        let check = |atoms: u128, digits, text: &str| {
            assert_eq!(decimal(U256::from(atoms), digits), text);
        };
        check(0, USDC, "0");
        check(1, USDC, "0.000001");
        check(2_500_000, USDC, "2.5");
        check(1_000_000_000, USDC, "1000");
        check(397_800_000_000_000_000, WETH, "0.3978");
        check(1_000_000_000_000_000_001, WETH, "1.000000000000000001");
        assert_eq!(percent(5), "0.05 %");
        assert_eq!(percent(1030), "10.30 %");
    }
}
