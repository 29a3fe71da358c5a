//! The protocol's rule for the highest fee of a burn, in integers from the decimal text of the
//! reading (the rule of `@circle-fin/provider-cctp-v2`).
//!
//! | transfer | `maxFee` |
//! |---|---|
//! | standard or fast | `base + floor(base / 10)` |
//! | forwarded | that, and the highest forwarding fee |
//! | the caller gave one | that one |
//!
//! `base` is `ceil(amount * round(bps * 100) / 1000000)`, with the `bps` of the transfer.
//!
//! The package's own rule gives 0 for a standard transfer, because the protocol charged nothing for
//! one when the rule was written. Where the protocol charges, a burn with 0 reverts or is never
//! attested, so this module charges standard transfers as well. The package also rounds to
//! hundredths of a basis point, even down; this module raises such a fee to the needed one.
//!
//! Every fee must cover [`RouteFees::needed`]. The protocol does not refuse a fast burn with a
//! lower one: the burn silently waits for finality. A burn below the chain's own least fee
//! (`getMinFeeAmount`) reverts.

use alloy_primitives::U256;

use super::kinds::TransferSpeed;
use crate::Decimal;

/// The fees of a directed route, as they were read.
///
/// # Example
/// ```
/// use alloy_primitives::U256;
/// use calldata_checks::bridge::{TransferSpeed, fees::{FeeError, RouteFees}};
///
/// let fees = RouteFees {
///     fast_bps: Some("1.3".parse()?),
///     standard_bps: "0".parse()?,
///     forward_fee: None,
///     chain_min_fee: None,
/// };
/// let amount = U256::from(1_234_567_890);
/// assert_eq!(fees.needed(amount, TransferSpeed::Fast, false), Ok(U256::from(160_494)));
/// assert_eq!(fees.by_rule(amount, TransferSpeed::Fast, false), Ok(U256::from(176_543)));
/// assert_eq!(fees.by_rule(amount, TransferSpeed::Fast, true), Err(FeeError::NoForwardFee));
/// # Ok::<(), calldata_checks::DecimalError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RouteFees {
    /// Basis points of a fast transfer, when the route has a fee for one.
    pub fast_bps: Option<Decimal>,
    /// Basis points of a standard transfer.
    pub standard_bps: Decimal,
    /// The highest forwarding fee in the smallest unit of USDC, when the request asked for
    /// forwarding.
    pub forward_fee: Option<U256>,
    /// The least `maxFee` that the source chain accepts for the amount (`getMinFeeAmount`), in the
    /// smallest unit of USDC; zero where the chain has no such switch, `None` where it was not
    /// read.
    pub chain_min_fee: Option<U256>,
}

/// The reason why a fee cannot be computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum FeeError {
    /// The reading has no fee of a fast transfer.
    #[error("no fast fee was read for this route")]
    NoFastFee,
    /// The reading has no forwarding fee.
    #[error("no forwarding fee was read for this route")]
    NoForwardFee,
    /// The fee has more than 256 bits.
    #[error("the fee does not fit 256 bits")]
    Overflow,
}

impl RouteFees {
    /// Computes the highest fee by the protocol's rule, in the smallest unit of USDC, for a caller
    /// without a limit of its own.
    ///
    /// # Errors
    /// [`FeeError`]
    pub fn by_rule(
        &self,
        amount: U256,
        speed: TransferSpeed,
        forward: bool,
    ) -> Result<U256, FeeError> {
        let base = rounded_fee(amount, self.bps(speed)?).ok_or(FeeError::Overflow)?;
        let buffered = base
            .checked_add(base / U256::from(10))
            .ok_or(FeeError::Overflow)?;
        let protocol = buffered.max(self.protocol_fee(amount, speed)?);
        self.with_forwarding(protocol, forward)
    }

    /// Computes the fee that the protocol will take by the reading, in the smallest unit of USDC:
    /// exact, rounded up, without a buffer.
    ///
    /// # Errors
    /// [`FeeError`]
    pub fn needed(
        &self,
        amount: U256,
        speed: TransferSpeed,
        forward: bool,
    ) -> Result<U256, FeeError> {
        self.with_forwarding(self.protocol_fee(amount, speed)?, forward)
    }

    /// Computes the protocol's least fee without forwarding: the larger one of its service's and
    /// the source chain's.
    fn protocol_fee(&self, amount: U256, speed: TransferSpeed) -> Result<U256, FeeError> {
        let fee = exact_fee(amount, self.bps(speed)?).ok_or(FeeError::Overflow)?;
        Ok(fee.max(self.chain_min_fee.unwrap_or_default()))
    }

    fn bps(&self, speed: TransferSpeed) -> Result<Decimal, FeeError> {
        match speed {
            TransferSpeed::Standard => Ok(self.standard_bps),
            TransferSpeed::Fast => self.fast_bps.ok_or(FeeError::NoFastFee),
        }
    }

    fn with_forwarding(&self, protocol: U256, forward: bool) -> Result<U256, FeeError> {
        if !forward {
            return Ok(protocol);
        }
        protocol
            .checked_add(self.forward_fee.ok_or(FeeError::NoForwardFee)?)
            .ok_or(FeeError::Overflow)
    }
}

/// Computes `ceil(amount * round(bps * 100) / 1000000)`, half rounded up.
fn rounded_fee(amount: U256, bps: Decimal) -> Option<U256> {
    let unit = unit_of(bps)?;
    let hundredths = U256::from(bps.mantissa()).checked_mul(U256::from(100))?;
    let rounded = hundredths.checked_add(unit / U256::from(2))? / unit;
    Some(amount.checked_mul(rounded)?.div_ceil(U256::from(1_000_000)))
}

/// Computes `ceil(amount * bps / 10000)`, exact.
fn exact_fee(amount: U256, bps: Decimal) -> Option<U256> {
    let whole = unit_of(bps)?.checked_mul(U256::from(10_000))?;
    Some(
        amount
            .checked_mul(U256::from(bps.mantissa()))?
            .div_ceil(whole),
    )
}

/// Returns how many of its smallest steps make one of a decimal.
fn unit_of(decimal: Decimal) -> Option<U256> {
    U256::from(10).checked_pow(U256::from(decimal.scale()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn fees(fast: &str) -> RouteFees {
        RouteFees {
            fast_bps: Some(fast.parse().unwrap()),
            standard_bps: Decimal::ZERO,
            forward_fee: Some(U256::from(3_503_729)),
            chain_min_fee: None,
        }
    }

    fn fast(amount: u64, bps: &str) -> (U256, U256) {
        let (fees, amount) = (fees(bps), U256::from(amount));
        (
            fees.needed(amount, TransferSpeed::Fast, false).unwrap(),
            fees.by_rule(amount, TransferSpeed::Fast, false).unwrap(),
        )
    }

    #[test]
    fn the_worked_example_of_the_vectors() {
        let file = include_str!("../../tests/data/bridge_calldata.json");
        let vectors: serde_json::Value = serde_json::from_str(file).unwrap();
        let example = &vectors["max_fee_formula_example"];
        let text = |key: &str| example[key].as_str().unwrap();
        let amount: U256 = text("amount").parse().unwrap();
        let fees = fees(text("bps"));
        assert_eq!(
            rounded_fee(amount, fees.fast_bps.unwrap()),
            Some(text("base").parse().unwrap())
        );
        let max_fee = fees.by_rule(amount, TransferSpeed::Fast, false);
        assert_eq!(max_fee, Ok(text("maxFee").parse().unwrap()));
        assert_eq!(max_fee, Ok(U256::from(176_543)));
    }

    #[test]
    fn fractional_basis_points_are_exact() {
        for (amount, bps, needed, by_rule) in [
            (1_000_000, "1", 100, 110),
            (1_000_000, "1.3", 130, 143),
            (1_000_000, "1.30", 130, 143),
            (25_000_000, "1", 2500, 2750),
            (1_000_001, "1.3", 131, 144),
            (1, "1.3", 1, 1),
            (9, "14", 1, 1),
            (0, "14", 0, 0),
            (1_000_000, "0", 0, 0),
            // The rule rounds to hundredths of a basis point, half up. The needed fee is exact, and
            // is the minimum.
            (1_000_000_000, "0.125", 12_500, 14_300),
            (1_000_000_000, "0.124", 12_400, 13_200),
            (1_000_000_000, "0.004", 400, 400),
            (1_000_000_000, "0.0000001", 1, 1),
            (1_000_000_000, "1.304", 130_400, 143_000),
        ] {
            let expected = (U256::from(needed), U256::from(by_rule));
            assert_eq!(fast(amount, bps), expected, "{amount} at {bps}");
        }
    }

    #[test]
    fn every_mode_of_the_rule() {
        use TransferSpeed::{Fast, Standard};
        let (fees, amount) = (fees("1.3"), U256::from(1_234_567_890u64));
        for (speed, forward, max_fee) in [
            (Standard, false, 0),
            (Standard, true, 3_503_729),
            (Fast, false, 176_543),
            (Fast, true, 3_680_272),
        ] {
            assert_eq!(
                fees.by_rule(amount, speed, forward),
                Ok(U256::from(max_fee))
            );
        }
        let bare = RouteFees {
            fast_bps: None,
            forward_fee: None,
            ..fees
        };
        assert_eq!(bare.by_rule(amount, Fast, false), Err(FeeError::NoFastFee));
        assert_eq!(bare.needed(amount, Fast, true), Err(FeeError::NoFastFee));
        assert_eq!(
            bare.by_rule(amount, Standard, true),
            Err(FeeError::NoForwardFee)
        );
        assert_eq!(
            bare.needed(amount, Standard, true),
            Err(FeeError::NoForwardFee)
        );
        assert_eq!(bare.by_rule(amount, Standard, false), Ok(U256::ZERO));
    }

    #[test]
    fn a_fee_of_standard_transfers_is_covered_as_one_of_fast_transfers_is() {
        let fees = RouteFees {
            standard_bps: "0.5".parse().unwrap(),
            ..fees("1.3")
        };
        let (amount, speed) = (U256::from(1_000_000), TransferSpeed::Standard);
        assert_eq!(fees.needed(amount, speed, false), Ok(U256::from(50)));
        assert_eq!(fees.by_rule(amount, speed, false), Ok(U256::from(55)));
        assert_eq!(fees.by_rule(amount, speed, true), Ok(U256::from(3_503_784)));
    }

    #[test]
    fn the_least_fee_of_the_chain_is_covered_at_every_speed() {
        let amount = U256::from(1_000_000);
        for (min_fee, fast, standard) in [(0, 143, 0), (100, 143, 100), (500, 500, 500)] {
            let fees = RouteFees {
                chain_min_fee: Some(U256::from(min_fee)),
                ..fees("1.3")
            };
            for (speed, by_rule) in [
                (TransferSpeed::Fast, fast),
                (TransferSpeed::Standard, standard),
            ] {
                let found = fees.by_rule(amount, speed, false);
                assert_eq!(found, Ok(U256::from(by_rule)), "{min_fee} {speed:?}");
                assert!(fees.needed(amount, speed, false).unwrap() >= U256::from(min_fee));
            }
        }
    }

    #[test]
    fn huge_amounts_overflow_instead_of_wrapping() {
        let huge = fees("14");
        for forward in [false, true] {
            let speed = TransferSpeed::Fast;
            assert_eq!(
                huge.by_rule(U256::MAX, speed, forward),
                Err(FeeError::Overflow)
            );
            assert_eq!(
                huge.needed(U256::MAX, speed, forward),
                Err(FeeError::Overflow)
            );
        }
        let wide = fees(&"9".repeat(36));
        assert!(
            wide.by_rule(U256::from(u64::MAX), TransferSpeed::Fast, true)
                .is_ok()
        );
        let full = RouteFees {
            forward_fee: Some(U256::MAX),
            ..huge
        };
        let amount = U256::from(1_000_000);
        assert_eq!(
            full.by_rule(amount, TransferSpeed::Fast, true),
            Err(FeeError::Overflow)
        );
    }

    proptest! {
        #[test]
        fn the_rule_covers_the_needed_fee_at_two_decimals(
            amount in 0..=10_000_000_000_000u64,
            hundredths in 0..=1_400u32,
        ) {
            let bps = format!("{}.{:02}", hundredths / 100, hundredths % 100);
            let (needed, by_rule) = fast(amount, &bps);
            prop_assert!(by_rule >= needed);
            prop_assert!(by_rule <= needed + needed / U256::from(10));
        }

        /// The rule's fee is enough for every fraction of a basis point that the service names, at
        /// either speed.
        #[test]
        fn the_rule_covers_the_needed_fee(
            amount in 0..=10_000_000_000_000u64,
            mantissa in 0..=14_000_000u64,
            scale in 0..=6u8,
            chain_min_fee in proptest::option::of(0..=10_000_000u64),
            forward: bool,
            is_fast: bool,
        ) {
            let bps = Decimal::new(mantissa.into(), scale).unwrap();
            let fees = RouteFees {
                fast_bps: Some(bps),
                standard_bps: bps,
                chain_min_fee: chain_min_fee.map(U256::from),
                ..fees("0")
            };
            let speed = if is_fast { TransferSpeed::Fast } else { TransferSpeed::Standard };
            let amount = U256::from(amount);
            let by_rule = fees.by_rule(amount, speed, forward).unwrap();
            prop_assert!(by_rule >= fees.needed(amount, speed, forward).unwrap());
        }
    }
}
