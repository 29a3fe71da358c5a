//! Amounts in whole units, exact, without a float.

use alloy_primitives::U256;

/// `raw` atoms of an asset with `decimals`, as a plain decimal number without trailing zeros.
#[must_use]
pub fn units(raw: U256, decimals: u8) -> String {
    let digits = raw.to_string();
    let places = usize::from(decimals);
    let padded = format!("{digits:0>width$}", width = places.saturating_add(1));
    let (whole, fraction) = padded.split_at(padded.len().saturating_sub(places));
    let fraction = fraction.trim_end_matches('0');
    if fraction.is_empty() {
        whole.to_owned()
    } else {
        format!("{whole}.{fraction}")
    }
}

/// A sum of gains and losses that never wraps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Net {
    gained: U256,
    lost: U256,
    /// Whether the sums were too large; then the result is unknown.
    overflown: bool,
}

impl Net {
    /// Adds a gain.
    pub fn gain(&mut self, amount: U256) {
        match self.gained.checked_add(amount) {
            Some(sum) => self.gained = sum,
            None => self.overflown = true,
        }
    }

    /// Adds a loss.
    pub fn lose(&mut self, amount: U256) {
        match self.lost.checked_add(amount) {
            Some(sum) => self.lost = sum,
            None => self.overflown = true,
        }
    }

    /// The sign (`true` for negative) and the size; `None` when the sums overflowed.
    #[must_use]
    pub fn signed(self) -> Option<(bool, U256)> {
        if self.overflown {
            return None;
        }
        match self.gained.checked_sub(self.lost) {
            Some(rest) => Some((false, rest)),
            None => Some((true, self.lost.saturating_sub(self.gained))),
        }
    }
}

/// A signed number as text: a sign before the digits of a negative number, none before zero.
#[must_use]
pub fn with_sign(negative: bool, digits: &str) -> String {
    if negative && digits != "0" {
        format!("-{digits}")
    } else {
        digits.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_digit_stays() {
        let of = |raw: u128, decimals| units(U256::from(raw), decimals);
        assert_eq!(of(42_500_000, 6), "42.5");
        assert_eq!(of(0, 18), "0");
        assert_eq!(of(1, 18), "0.000000000000000001");
        assert_eq!(of(1_000_000, 6), "1");
        assert_eq!(of(7, 0), "7");
        assert_eq!(of(100, 0), "100");
        assert_eq!(units(U256::MAX, 255).len(), 257);
        assert!(units(U256::MAX, 18).ends_with(".584007913129639935"));
    }

    #[test]
    fn sums_that_cannot_be_held_are_unknown() {
        let mut net = Net::default();
        net.gain(U256::from(3));
        net.lose(U256::from(5));
        assert_eq!(net.signed(), Some((true, U256::from(2))));
        net.gain(U256::MAX);
        assert_eq!(net.signed(), None);
    }
}
