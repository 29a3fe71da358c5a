//! Shares in hundredths of a percent.

use alloy_primitives::U256;

/// A share in hundredths of a percent, at most the whole.
///
/// # Example
/// ```
/// use alloy_primitives::U256;
/// use calldata_checks::BasisPoints;
///
/// let fee = BasisPoints::new(30).unwrap(); // 0.3 %
/// assert_eq!(fee.floor_of(U256::from(999)), Some(U256::from(2)));
/// assert_eq!(fee.ceil_of(U256::from(999)), Some(U256::from(3)));
/// assert_eq!(fee.floor_of_rest(U256::from(1_000)), Some(U256::from(997)));
/// let least = BasisPoints::at_least_of(U256::from(2_500_001), U256::from(1_000_000_000));
/// assert_eq!(least.get(), 26); // rounded up
/// assert_eq!(BasisPoints::new(10_001), None);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BasisPoints(pub(super) u16);

impl BasisPoints {
    /// A share of zero.
    pub const NONE: Self = Self(0);

    /// The whole.
    pub const MAX: Self = Self(10_000);

    /// Creates a share; `None` above 10,000.
    #[must_use]
    pub const fn new(bps: u16) -> Option<Self> {
        if bps <= Self::MAX.0 {
            Some(Self(bps))
        } else {
            None
        }
    }

    /// Returns the number.
    #[must_use]
    pub const fn get(self) -> u16 {
        self.0
    }

    /// Returns the least whole number of basis points of `whole` that gives at least `part`, so
    /// that a share is never understated. [`Self::MAX`] for a part above the whole, and on
    /// overflow.
    #[must_use]
    pub fn at_least_of(part: U256, whole: U256) -> Self {
        let scale = U256::from(Self::MAX.0);
        let bps = part
            .checked_mul(scale)
            .filter(|_| !whole.is_zero())
            .map(|scaled| scaled.div_ceil(whole));
        match bps {
            _ if part.is_zero() => Self(0),
            Some(bps) if bps < scale => Self(u16::try_from(bps).unwrap_or(Self::MAX.0)),
            _ => Self::MAX,
        }
    }

    /// Computes `floor(amount * bps / 10000)`; `None` past 256 bits.
    #[must_use]
    pub fn floor_of(self, amount: U256) -> Option<U256> {
        Some(amount.checked_mul(U256::from(self.0))? / U256::from(Self::MAX.0))
    }

    /// Computes `ceil(amount * bps / 10000)`; `None` past 256 bits.
    #[must_use]
    pub fn ceil_of(self, amount: U256) -> Option<U256> {
        let share = amount.checked_mul(U256::from(self.0))?;
        Some(share.div_ceil(U256::from(Self::MAX.0)))
    }

    /// Computes `floor(amount * (10000 - bps) / 10000)`: the least that a slippage of these basis
    /// points allows, rounded as aggregators round it. `None` past 256 bits.
    #[must_use]
    pub fn floor_of_rest(self, amount: U256) -> Option<U256> {
        let rest = Self::MAX.0.saturating_sub(self.0);
        Self(rest).floor_of(amount)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_in_basis_points_is_never_understated() {
        let of = |part: u64, whole: u64| {
            BasisPoints::at_least_of(U256::from(part), U256::from(whole)).get()
        };
        assert_eq!(of(2_500_000, 1_000_000_007), 25);
        assert_eq!(of(2_500_001, 1_000_000_000), 26);
        assert_eq!(
            (of(0, 0), of(0, 7), of(7, 7), of(8, 7), of(1, 0)),
            (0, 0, 10_000, 10_000, 10_000)
        );
        assert_eq!(of(1, 1_000_000_000), 1);
        assert_eq!(
            BasisPoints::at_least_of(U256::MAX, U256::MAX),
            BasisPoints::MAX
        );
        let bps = BasisPoints::new(30).unwrap();
        assert_eq!(bps.ceil_of(U256::from(999)), Some(U256::from(3)));
        assert_eq!(bps.ceil_of(U256::from(10_000)), Some(U256::from(30)));
        assert_eq!(bps.ceil_of(U256::MAX), None);
    }

    #[test]
    fn the_least_that_a_slippage_allows() {
        // A recorded quote has 2105433773, which at 1 % gives 2084379435.
        let one_percent = BasisPoints::new(100).unwrap();
        assert_eq!(
            one_percent.floor_of_rest(U256::from(2_105_433_773u64)),
            Some(U256::from(2_084_379_435u64))
        );
        assert_eq!(
            BasisPoints::MAX.floor_of_rest(U256::from(7)),
            Some(U256::ZERO)
        );
        assert_eq!(one_percent.floor_of_rest(U256::MAX), None);
    }
}
