//! The fees on a gross input: the recipients' parts under the named rounding rules.

use alloy_primitives::U256;

use super::{BasisPoints, FeePolicy};

/// The rounding of the recipients' amounts. The aggregator has two kinds of contracts: with a rate
/// for each party (FIXED), or with one total that the parties share (SHARED). Two roundings of the
/// latter are recorded.
///
/// # Example
/// ```
/// use calldata_checks::fees::Rounding;
///
/// assert_eq!(Rounding::from_name("shared-floor"), Some(Rounding::SharedFloor));
/// assert_eq!(Rounding::from_name("nearest"), None);
/// assert!(Rounding::SharedFloor.shares_a_total() && !Rounding::Floor.shares_a_total());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Rounding {
    /// Each recipient gets `floor(gross * bps / 10000)`; the sum leaves the input.
    Floor,
    /// `total = floor(gross * all bps / 10000)` leaves the input. Every other recipient gets the
    /// floor of its part of that total, and the service gets the rest.
    SharedRemainder,
    /// `total = floor(gross * all bps / 10000)` leaves the input. Every recipient gets the floor of
    /// its part of that total. The rest, less than one unit for each, stays in the router.
    SharedFloor,
}

impl Rounding {
    /// Every rule.
    pub const ALL: [Self; 3] = [Self::Floor, Self::SharedRemainder, Self::SharedFloor];

    /// The name in a configuration.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Floor => "floor",
            Self::SharedRemainder => "shared-remainder",
            Self::SharedFloor => "shared-floor",
        }
    }

    /// Finds a rule by its name in a configuration.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|rule| rule.as_str() == name)
    }

    /// Returns whether every recipient's amount follows from the total, so that none may take less
    /// than its part.
    #[must_use]
    pub const fn shares_a_total(self) -> bool {
        matches!(self, Self::SharedRemainder | Self::SharedFloor)
    }
}

/// The fees on a gross input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FeeSplit {
    /// Each recipient's part, in the order of the configuration.
    pub parts: Vec<U256>,
    /// The amount that leaves the input, at least the sum of the parts.
    pub total: U256,
}

impl FeePolicy {
    /// Computes the fees on a gross input, in the input token's smallest unit. `None` past 256
    /// bits, and without an own recipient.
    #[must_use]
    pub fn split(&self, gross: U256) -> Option<FeeSplit> {
        let sum = |parts: &[U256]| {
            parts
                .iter()
                .try_fold(U256::ZERO, |sum, part| sum.checked_add(*part))
        };
        let own = self.recipients.iter().position(|to| to.role == Self::OWN)?;
        let rates = self.recipients.iter().map(|to| to.bps);
        if !self.rounding.shares_a_total() {
            let parts: Vec<U256> = rates
                .map(|bps| bps.floor_of(gross))
                .collect::<Option<_>>()?;
            let total = sum(&parts)?;
            return Some(FeeSplit { parts, total });
        }
        let all: u16 = rates
            .clone()
            .try_fold(0, |all: u16, bps| all.checked_add(bps.get()))?;
        let total = BasisPoints::new(all)?.floor_of(gross)?;
        let part = |bps: BasisPoints| {
            let scaled = total.checked_mul(U256::from(bps.get()))?;
            Some(scaled.checked_div(U256::from(all)).unwrap_or_default())
        };
        let mut parts: Vec<U256> = rates.map(part).collect::<Option<_>>()?;
        if self.rounding == Rounding::SharedRemainder {
            let left = total.checked_sub(sum(&parts)?)?;
            let own = parts.get_mut(own)?;
            *own = own.checked_add(left)?;
        }
        Some(FeeSplit { parts, total })
    }
}

#[cfg(test)]
mod tests {
    use alloy_primitives::{Address, B256};

    use super::*;
    use crate::fees::{BridgeCaps, FeeModel, FeeRecipient};

    fn charging(rounding: Rounding, rates: &[u16]) -> FeePolicy {
        let recipients = rates.iter().enumerate().map(|(index, bps)| FeeRecipient {
            role: if index == 0 { FeePolicy::OWN } else { "other" }.to_owned(),
            address: Address::with_last_byte(u8::try_from(index).unwrap() + 1),
            bps: BasisPoints::new(*bps).unwrap(),
        });
        FeePolicy {
            version: "1".to_owned(),
            fee_model: FeeModel::ForwarderV2,
            integrator: "svc".to_owned(),
            aggregate_cap: BasisPoints::MAX,
            rounding,
            recipients: recipients.collect(),
            chains: Vec::new(),
            deny_tools: Vec::new(),
            pm_builder_code: B256::ZERO,
            pm_max_builder_fee: FeePolicy::PM_MAX_BUILDER_FEE,
            perp_builder: None,
            perp_max_trigger_slippage: BasisPoints::MAX,
            perp_price_band: FeePolicy::PERP_PRICE_BAND,
            perp_assets: Vec::new(),
            bridge_caps: BridgeCaps::DEFAULT,
        }
    }

    fn split(rounding: Rounding, rates: &[u16], gross: u64) -> (Vec<u64>, u64) {
        let split = charging(rounding, rates).split(U256::from(gross)).unwrap();
        let small = |value: &U256| u64::try_from(*value).unwrap();
        (split.parts.iter().map(small).collect(), small(&split.total))
    }

    #[test]
    fn shares_are_floored_and_checked() {
        use Rounding::Floor;
        assert_eq!(split(Floor, &[30], 999), (vec![2], 2));
        assert_eq!(
            split(Floor, &[30, 25], 1_000_000_007),
            (vec![3_000_000, 2_500_000], 5_500_000)
        );
        for rounding in Rounding::ALL {
            assert_eq!(charging(rounding, &[30]).split(U256::MAX), None);
            assert_eq!(charging(rounding, &[]).split(U256::ONE), None);
            assert_eq!(split(rounding, &[0, 0], 1_000), (vec![0, 0], 0));
            assert_eq!(Rounding::from_name(rounding.as_str()), Some(rounding));
        }
        assert_eq!(BasisPoints::new(10_001), None);
    }

    /// The splits of recorded calldata with SHARED contracts (`fixtures/vectors/swap/recorded`).
    #[test]
    fn a_shared_total_is_rounded_in_one_of_two_ways() {
        use Rounding::{SharedFloor, SharedRemainder};
        for (gross, rates, own, other) in [
            (2_001_170_684u64, [85, 15], 17_009_951u64, 3_001_755u64),
            (2_600_265_227, [85, 15], 22_102_255, 3_900_397),
        ] {
            let (parts, total) = split(SharedRemainder, &rates, gross);
            assert_eq!((parts, total), (vec![own, other], own + other));
            let (parts, left) = split(SharedFloor, &rates, gross);
            assert_eq!((parts, left), (vec![own - 1, other], total));
        }
        // One unit was neither paid out nor exchanged: the exchange leg started from 98,998,318.
        let (parts, total) = split(SharedFloor, &[85, 15], 99_998_301);
        assert_eq!((parts, total), (vec![849_985, 149_997], 999_983));
        assert_eq!(99_998_301 - total, 98_998_318);
    }
}
