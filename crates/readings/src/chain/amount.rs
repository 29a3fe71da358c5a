//! Exact sums of gains and losses, without a float.

use alloy_primitives::U256;

/// A sum of gains and losses. It never wraps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Net {
    gained: U256,
    lost: U256,
    /// Whether a sum was too large. Then the result is unknown.
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

    /// Returns the sign (`true` for negative) and the size. `None` when a sum was too large.
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

/// Writes a signed number. Only a negative number has a sign, and zero has none.
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
    fn sums_that_are_too_large_are_unknown() {
        let mut net = Net::default();
        net.gain(U256::from(3));
        net.lose(U256::from(5));
        assert_eq!(net.signed(), Some((true, U256::from(2))));
        net.gain(U256::MAX);
        assert_eq!(net.signed(), None);
    }
}
