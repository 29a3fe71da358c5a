//! Exact decimal text: prices, human-readable amounts and percentages without a float.

use std::{fmt, str::FromStr};

use alloy_primitives::U256;
use calldata_checks::okx::SlippageTolerance;

/// Longest decimal text that is read, in characters. No price or amount needs more.
const MAX_LEN: usize = 96;

/// A non-negative decimal number kept as the text it came in: digits, optionally a point and more
/// digits (`^\d+(\.\d+)?$`). No sign, no exponent, no `NaN`, no grouping.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decimal {
    text: String,
    point: Option<usize>,
}

impl Decimal {
    /// Reads decimal text.
    ///
    /// # Errors
    ///
    /// [`DecimalError::Empty`], [`DecimalError::TooLong`] or [`DecimalError::Format`].
    ///
    /// ```
    /// use data_sources::Decimal;
    /// assert_eq!(Decimal::parse("118.42")?.as_str(), "118.42");
    /// assert!(Decimal::parse("1e5").is_err());
    /// # Ok::<(), data_sources::DecimalError>(())
    /// ```
    pub fn parse(text: &str) -> Result<Self, DecimalError> {
        if text.is_empty() {
            return Err(DecimalError::Empty);
        }
        if text.len() > MAX_LEN {
            return Err(DecimalError::TooLong {
                max: MAX_LEN,
                observed: text.len(),
            });
        }
        let (whole, fraction) = match text.split_once('.') {
            Some((whole, fraction)) => (whole, Some(fraction)),
            None => (text, None),
        };
        let digits = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
        if !digits(whole) || !fraction.is_none_or(digits) {
            return Err(DecimalError::Format);
        }
        Ok(Self {
            text: text.to_owned(),
            point: fraction.map(|_| whole.len()),
        })
    }

    /// The text exactly as it was read.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Whether every digit is zero.
    pub fn is_zero(&self) -> bool {
        self.text.bytes().all(|b| matches!(b, b'0' | b'.'))
    }

    /// The number in units of `10^-decimals`, exactly.
    ///
    /// # Errors
    ///
    /// [`DecimalError::ExcessDigits`] when there are more fraction digits than `decimals`, even if
    /// they are zero (nothing is rounded or dropped in silence), [`DecimalError::Overflow`] above
    /// 2^256 − 1.
    ///
    /// ```
    /// use data_sources::{Decimal, DecimalError};
    /// assert_eq!(Decimal::parse("1.5")?.to_atoms(6)?.to_string(), "1500000");
    /// assert_eq!(
    ///     Decimal::parse("0.1234567")?.to_atoms(6),
    ///     Err(DecimalError::ExcessDigits { allowed: 6, observed: 7 })
    /// );
    /// # Ok::<(), DecimalError>(())
    /// ```
    pub fn to_atoms(&self, decimals: u8) -> Result<U256, DecimalError> {
        let (whole, fraction) = match self.point {
            Some(_) => self.text.split_once('.').unwrap_or((&self.text, "")),
            None => (self.text.as_str(), ""),
        };
        let allowed = usize::from(decimals);
        if fraction.len() > allowed {
            return Err(DecimalError::ExcessDigits {
                allowed,
                observed: fraction.len(),
            });
        }
        let padding = std::iter::repeat_n(b'0', allowed - fraction.len());
        whole
            .bytes()
            .chain(fraction.bytes())
            .chain(padding)
            .try_fold(U256::ZERO, |acc, digit| {
                acc.checked_mul(U256::from(10))
                    .and_then(|acc| acc.checked_add(U256::from(digit.wrapping_sub(b'0'))))
                    .ok_or(DecimalError::Overflow)
            })
    }
}

impl fmt::Display for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl FromStr for Decimal {
    type Err = DecimalError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::parse(text)
    }
}

/// Fraction digits of a percentage that are kept.
const PERCENT_DIGITS: u8 = 6;

/// A slippage tolerance in **percent** (`"1"` is one percent), with the text that it came in: the
/// caller and OKX's v6 `slippagePercent` write it alike. The v5 interface took a fraction instead;
/// this type never holds one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SlippagePercent {
    text: Decimal,
    tolerance: SlippageTolerance,
}

impl SlippagePercent {
    /// Reads a tolerance between 0.1 and 50 percent with at most six fraction digits.
    ///
    /// # Errors
    ///
    /// Those of [`Decimal`], and [`DecimalError::OutOfRange`].
    pub fn parse(text: &str) -> Result<Self, DecimalError> {
        let decimal = Decimal::parse(text)?;
        let millionths = decimal.to_atoms(PERCENT_DIGITS)?;
        let millionths = u64::try_from(millionths).map_err(|_| DecimalError::Overflow)?;
        let tolerance = SlippageTolerance::from_millionths(millionths).map_err(|_| {
            DecimalError::OutOfRange {
                min: "0.1",
                max: "50",
            }
        })?;
        Ok(Self {
            text: decimal,
            tolerance,
        })
    }

    /// The text exactly as the caller wrote it.
    pub fn as_str(&self) -> &str {
        self.text.as_str()
    }

    /// The number.
    pub fn tolerance(&self) -> SlippageTolerance {
        self.tolerance
    }
}

impl Default for SlippagePercent {
    /// One percent.
    fn default() -> Self {
        Self {
            text: Decimal {
                text: "1".to_owned(),
                point: None,
            },
            tolerance: SlippageTolerance::default(),
        }
    }
}

impl fmt::Display for SlippagePercent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.text.fmt(f)
    }
}

/// Why decimal text was not accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DecimalError {
    /// No text at all.
    #[error("empty where a decimal number is expected")]
    Empty,
    /// Longer than any number this crate reads.
    #[error("decimal text of {observed} characters, at most {max} are read")]
    TooLong {
        /// Longest text that is read.
        max: usize,
        /// Length observed.
        observed: usize,
    },
    /// Not `digits[.digits]`: a sign, an exponent, a second point, another character.
    #[error("not a plain decimal number")]
    Format,
    /// More fraction digits than the unit has.
    #[error("{observed} fraction digits where at most {allowed} are exact")]
    ExcessDigits {
        /// Fraction digits of the unit.
        allowed: usize,
        /// Fraction digits observed.
        observed: usize,
    },
    /// Above 2^256 − 1 (2^64 − 1 for a percentage).
    #[error("number too large")]
    Overflow,
    /// Outside the range of the field.
    #[error("outside the range from {min} to {max}")]
    OutOfRange {
        /// Smallest value taken.
        min: &'static str,
        /// Largest value taken.
        max: &'static str,
    },
}

impl DecimalError {
    /// Stable code of this refusal.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Empty => "decimal_empty",
            Self::TooLong { .. } => "decimal_too_long",
            Self::Format => "decimal_format",
            Self::ExcessDigits { .. } => "decimal_excess_digits",
            Self::Overflow => "decimal_overflow",
            Self::OutOfRange { .. } => "decimal_out_of_range",
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn refuses_what_is_not_plain_decimal_text() {
        for text in [
            "", ".", "1.", ".5", "-1", "+1", "1e5", "NaN", "inf", "0x10", "1,5", "1.2.3", " 1",
            "１",
        ] {
            assert!(Decimal::parse(text).is_err(), "{text:?}");
        }
        assert!(Decimal::parse(&"9".repeat(97)).is_err());
    }

    #[test]
    fn converts_to_atoms_exactly() {
        let atoms = |text: &str, decimals| Decimal::parse(text).unwrap().to_atoms(decimals);
        assert_eq!(atoms("0007.5", 6), Ok(U256::from(7_500_000)));
        assert_eq!(atoms("1", 0), Ok(U256::from(1)));
        assert_eq!(
            atoms("1.0", 0),
            Err(DecimalError::ExcessDigits {
                allowed: 0,
                observed: 1
            })
        );
        assert_eq!(atoms(&U256::MAX.to_string(), 0), Ok(U256::MAX));
        assert_eq!(
            atoms(&U256::MAX.to_string(), 1),
            Err(DecimalError::Overflow)
        );
    }

    #[test]
    fn slippage_is_percent_and_has_a_range() {
        let one = SlippagePercent::parse("1").unwrap();
        assert_eq!(one, SlippagePercent::default());
        assert_eq!(one.tolerance(), SlippageTolerance::default());
        for (text, ok) in [
            ("0.1", true),
            ("50", true),
            ("0.099999", false),
            ("50.000001", false),
            ("0.1234567", false),
        ] {
            assert_eq!(SlippagePercent::parse(text).is_ok(), ok, "{text}");
        }
    }

    proptest! {
        #[test]
        fn atoms_print_back_to_the_same_number(whole in any::<u64>(), fraction in 0u32..1_000_000) {
            let atoms = Decimal::parse(&format!("{whole}.{fraction:06}")).unwrap().to_atoms(6).unwrap();
            let million = U256::from(1_000_000);
            prop_assert_eq!(atoms / million, U256::from(whole));
            prop_assert_eq!(atoms % million, U256::from(fraction));
        }

        #[test]
        fn any_text_is_read_or_refused(text in ".{0,120}") {
            if let Ok(decimal) = Decimal::parse(&text) {
                prop_assert_eq!(decimal.as_str(), text);
            }
        }
    }
}
