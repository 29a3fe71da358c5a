//! A swap's slippage tolerance, as callers write it.

use std::fmt;

use calldata_checks::okx::SlippageTolerance;
use exact::{DecimalError, DecimalText};

/// Fraction digits of a percentage that are kept.
const PERCENT_DIGITS: u8 = 6;

/// A slippage tolerance in **percent** (`"1"` is one percent), with the text that it came in: the
/// caller and OKX's v6 `slippagePercent` write it alike. The v5 interface took a fraction instead;
/// this type never holds one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SlippagePercent {
    text: DecimalText,
    tolerance: SlippageTolerance,
}

impl SlippagePercent {
    /// Reads a tolerance between 0.1 and 50 percent with at most six fraction digits.
    ///
    /// # Errors
    ///
    /// [`SlippageError`]
    pub fn parse(text: &str) -> Result<Self, SlippageError> {
        let decimal = DecimalText::parse(text)?;
        let millionths = decimal.to_atoms(PERCENT_DIGITS)?;
        let millionths = u64::try_from(millionths).map_err(|_| DecimalError::Overflow)?;
        let tolerance = SlippageTolerance::from_millionths(millionths).map_err(|_| {
            SlippageError::OutOfRange {
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
            text: DecimalText::from(1),
            tolerance: SlippageTolerance::default(),
        }
    }
}

impl fmt::Display for SlippagePercent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.text.fmt(f)
    }
}

/// The reason why text is not a slippage tolerance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SlippageError {
    /// Not a decimal of at most six fraction digits.
    #[error(transparent)]
    Decimal(#[from] DecimalError),
    /// Outside the range of the field.
    #[error("outside the range from {min} to {max}")]
    OutOfRange {
        /// Smallest value taken.
        min: &'static str,
        /// Largest value taken.
        max: &'static str,
    },
}

impl SlippageError {
    /// Stable code of this refusal.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Decimal(error) => error.code(),
            Self::OutOfRange { .. } => "decimal_out_of_range",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
