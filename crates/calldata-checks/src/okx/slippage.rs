//! The most that an output may fall below the quoted one, as an exact number.

use std::{fmt, str::FromStr};

use alloy_primitives::U256;

/// One percent, in millionths of a percent.
const PERCENT: u64 = 1_000_000;
/// One hundred percent.
const WHOLE: u64 = 100 * PERCENT;
/// Fraction digits of a percentage.
const DIGITS: usize = 6;

/// A slippage tolerance between 0.1 and 50 percent, in steps of a millionth
/// of a percent. Reads and prints as **percent**: `1` is one percent.
///
/// ```
/// use alloy_primitives::U256;
/// use calldata_checks::okx::SlippageTolerance;
///
/// let tolerance: SlippageTolerance = "0.50".parse()?;
/// assert_eq!(tolerance.to_string(), "0.5");
/// assert_eq!(SlippageTolerance::from_millionths(500_000), Ok(tolerance));
/// assert_eq!(tolerance.floor_of(U256::from(1_000)), Some(U256::from(995)));
/// assert!("0.05".parse::<SlippageTolerance>().is_err());
/// # Ok::<(), calldata_checks::okx::SlippageError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SlippageTolerance(u64);

/// The refusal of text or a number that is no slippage tolerance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[error("not a percentage between 0.1 and 50 with at most 6 fraction digits")]
pub struct SlippageError;

impl SlippageTolerance {
    /// Creates a tolerance from millionths of a percent.
    ///
    /// # Errors
    /// [`SlippageError`] outside 0.1 to 50 percent.
    pub const fn from_millionths(millionths: u64) -> Result<Self, SlippageError> {
        if millionths < PERCENT / 10 || millionths > 50 * PERCENT {
            return Err(SlippageError);
        }
        Ok(Self(millionths))
    }

    /// Computes the lowest output within the tolerance: `floor(quoted × (1 − slippage))`. `None`
    /// when the product exceeds 256 bits; no real amount comes near.
    #[must_use]
    pub fn floor_of(self, quoted: U256) -> Option<U256> {
        let kept = U256::from(WHOLE.checked_sub(self.0)?);
        quoted.checked_mul(kept)?.checked_div(U256::from(WHOLE))
    }
}

impl Default for SlippageTolerance {
    /// One percent.
    fn default() -> Self {
        Self(PERCENT)
    }
}

impl FromStr for SlippageTolerance {
    type Err = SlippageError;

    /// Reads digits with an optional fraction. Leading zeros, and trailing zeros of the fraction,
    /// make no difference.
    fn from_str(text: &str) -> Result<Self, SlippageError> {
        let (whole, fraction) = match text.split_once('.') {
            Some((_, "")) => return Err(SlippageError),
            Some(parts) => parts,
            None => (text, ""),
        };
        let plain = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
        let fraction = fraction.trim_end_matches('0');
        if whole.is_empty() || !plain(whole) || !plain(fraction) || fraction.len() > DIGITS {
            return Err(SlippageError);
        }
        let padding = std::iter::repeat_n(b'0', DIGITS - fraction.len());
        let digits = whole.bytes().chain(fraction.bytes()).chain(padding);
        digits
            .map(|digit| u64::from(digit - b'0'))
            .try_fold(0_u64, |sum, digit| sum.checked_mul(10)?.checked_add(digit))
            .ok_or(SlippageError)
            .and_then(Self::from_millionths)
    }
}

impl fmt::Display for SlippageTolerance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (whole, fraction) = (self.0 / PERCENT, self.0 % PERCENT);
        if fraction == 0 {
            return write!(f, "{whole}");
        }
        let fraction = format!("{fraction:06}");
        write!(f, "{whole}.{}", fraction.trim_end_matches('0'))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_floor_is_that_of_the_recorded_quote() {
        let one: SlippageTolerance = "1".parse().unwrap();
        assert_eq!(one, SlippageTolerance::default());
        let floor = one.floor_of(U256::from(120_273_456));
        assert_eq!(floor, Some(U256::from(119_070_721)));
        assert_eq!(one.floor_of(U256::MAX), None);
    }

    #[test]
    fn spelling_makes_no_difference_and_the_range_holds() {
        let read = |text: &str| text.parse::<SlippageTolerance>().ok();
        assert_eq!(read("01.0000000"), Some(SlippageTolerance::default()));
        for text in ["0.1", "50", "50.000000", "0.100001"] {
            assert!(read(text).is_some(), "{text}");
        }
        for text in [
            "",
            ".",
            "1.",
            ".5",
            "-1",
            "+1",
            "1e1",
            "NaN",
            "1%",
            "0.099999",
            "50.000001",
            "1.0000001",
            "99999999999999999999999",
        ] {
            assert_eq!(read(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn a_printed_tolerance_reads_as_the_same(millionths in 100_000_u64..=50_000_000) {
            let tolerance = SlippageTolerance::from_millionths(millionths).unwrap();
            prop_assert_eq!(tolerance.to_string().parse(), Ok(tolerance));
        }
    }
}
