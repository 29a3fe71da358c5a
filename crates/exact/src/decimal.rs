//! Exact, unsigned decimals for prices and sizes, without floats.
//!
//! A [`Decimal`] is a number: two spellings of it are one value.
//! [`DecimalText`](crate::DecimalText) keeps the spelling. Neither knows units or signs.

mod error;
mod text;

use std::{cmp::Ordering, fmt, str::FromStr};

use alloy_primitives::U256;

pub use self::{
    error::DecimalError,
    text::{DecimalText, format_units},
};

/// The most digits of a decimal: the product of two then never overflows 256 bits.
const MAX_DIGITS: usize = 36;

/// An unsigned decimal in lowest terms: `mantissa` times ten to the power of minus `scale`. Prints
/// in the canonical form `^(0|[1-9]\d*)(\.\d*[1-9])?$`: no leading zeros, no trailing zeros, no
/// exponent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Decimal {
    mantissa: u128,
    scale: u8,
}

impl Decimal {
    /// Zero.
    pub const ZERO: Self = Self {
        mantissa: 0,
        scale: 0,
    };

    /// Creates `mantissa` times ten to the power of minus `scale`, in lowest terms.
    ///
    /// # Errors
    /// More than 36 digits or decimals.
    ///
    /// ```
    /// use exact::{Decimal, DecimalError};
    ///
    /// let value = Decimal::new(2_500, 3)?;
    /// assert_eq!(value.to_string(), "2.5");
    /// assert_eq!((value.mantissa(), value.scale()), (25, 1));
    /// assert!(!value.is_integer() && !value.is_zero());
    /// assert_eq!(Decimal::new(1, 37), Err(DecimalError::TooManyDigits));
    /// # Ok::<(), DecimalError>(())
    /// ```
    pub const fn new(mantissa: u128, scale: u8) -> Result<Self, DecimalError> {
        if scale > 36 || mantissa >= 10u128.pow(36) {
            return Err(DecimalError::TooManyDigits);
        }
        let (mut mantissa, mut scale) = (mantissa, scale);
        while scale > 0 && mantissa.is_multiple_of(10) {
            mantissa /= 10;
            scale -= 1;
        }
        Ok(Self { mantissa, scale })
    }

    /// The digits without the point.
    #[must_use]
    pub const fn mantissa(self) -> u128 {
        self.mantissa
    }

    /// Digits after the point, in lowest terms.
    #[must_use]
    pub const fn scale(self) -> u8 {
        self.scale
    }

    /// Returns whether the value is zero.
    #[must_use]
    pub const fn is_zero(self) -> bool {
        self.mantissa == 0
    }

    /// Returns whether the value has no fraction.
    #[must_use]
    pub const fn is_integer(self) -> bool {
        self.scale == 0
    }

    /// Counts the significant figures: the digits without the zeros at either end. An integer's
    /// trailing zeros do not count.
    ///
    /// ```
    /// let price: exact::Decimal = "0.00120".parse()?;
    /// assert_eq!(price.significant_figures(), 2);
    /// # Ok::<(), exact::DecimalError>(())
    /// ```
    #[must_use]
    pub fn significant_figures(self) -> u32 {
        let mut mantissa = self.mantissa;
        while mantissa != 0 && mantissa.is_multiple_of(10) {
            mantissa /= 10;
        }
        if mantissa == 0 {
            0
        } else {
            mantissa.ilog10() + 1
        }
    }

    /// Returns the value in units of ten to the power of minus `decimals`; `None` when it is not a
    /// whole number of them.
    ///
    /// ```
    /// let size: exact::Decimal = "2.5".parse()?;
    /// assert_eq!(size.atoms(6).map(|atoms| atoms.to_string()).as_deref(), Some("2500000"));
    /// assert_eq!(size.atoms(0), None);
    /// # Ok::<(), exact::DecimalError>(())
    /// ```
    #[must_use]
    pub fn atoms(self, decimals: u8) -> Option<U256> {
        let up = decimals.checked_sub(self.scale)?;
        U256::from(self.mantissa).checked_mul(U256::from(10).checked_pow(U256::from(up))?)
    }

    /// Multiplies exactly.
    ///
    /// # Errors
    /// The product has more digits than a decimal can have.
    ///
    /// ```
    /// let (size, price): (exact::Decimal, exact::Decimal) = ("2.5".parse()?, "0.1".parse()?);
    /// assert_eq!(size.checked_mul(price)?.to_string(), "0.25");
    /// # Ok::<(), exact::DecimalError>(())
    /// ```
    pub fn checked_mul(self, other: Self) -> Result<Self, DecimalError> {
        let (a, b) = (U256::from(self.mantissa), U256::from(other.mantissa));
        // Two mantissas below 10^36 multiply to less than 2^240.
        let mut product = a.saturating_mul(b);
        let mut scale = self.scale.saturating_add(other.scale);
        let ten = U256::from(10);
        while scale > 0 && (product % ten).is_zero() {
            product /= ten;
            scale -= 1;
        }
        let mantissa = u128::try_from(product).map_err(|_| DecimalError::TooManyDigits)?;
        Self::new(mantissa, scale)
    }

    /// Returns whether the value is a whole multiple of `unit`; no value is a multiple of zero.
    ///
    /// ```
    /// use exact::Decimal;
    ///
    /// let (price, tick): (Decimal, Decimal) = ("0.55".parse()?, "0.01".parse()?);
    /// assert!(price.is_multiple_of(tick));
    /// assert!(!tick.is_multiple_of(price));
    /// # Ok::<(), exact::DecimalError>(())
    /// ```
    #[must_use]
    pub fn is_multiple_of(self, unit: Self) -> bool {
        let scale = self.scale.max(unit.scale);
        match (self.atoms(scale), unit.atoms(scale)) {
            (Some(value), Some(unit)) if !unit.is_zero() => (value % unit).is_zero(),
            _ => false,
        }
    }
}

impl PartialOrd for Decimal {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Decimal {
    fn cmp(&self, other: &Self) -> Ordering {
        // Mantissas have at most 36 digits and scales differ by at most 36: the products fit 256
        // bits.
        let scale = self.scale.max(other.scale);
        self.atoms(scale).cmp(&other.atoms(scale))
    }
}

impl fmt::Display for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.scale == 0 {
            return write!(f, "{}", self.mantissa);
        }
        let unit = 10u128.pow(u32::from(self.scale));
        let width = usize::from(self.scale);
        write!(
            f,
            "{}.{:0width$}",
            self.mantissa / unit,
            self.mantissa % unit
        )
    }
}

impl FromStr for Decimal {
    type Err = DecimalError;

    /// Reads digits with an optional fraction. Trailing zeros of the fraction are dropped. Leading
    /// zeros, signs, exponents, separators and blanks are refused.
    fn from_str(text: &str) -> Result<Self, DecimalError> {
        let (whole, fraction) = text::split(text)?;
        if whole.len() > 1 && whole.starts_with('0') {
            return Err(DecimalError::Format);
        }
        let fraction = fraction.trim_end_matches('0');
        if whole.len() + fraction.len() > MAX_DIGITS {
            return Err(DecimalError::TooManyDigits);
        }
        let mantissa = whole
            .bytes()
            .chain(fraction.bytes())
            .fold(0u128, |value, digit| value * 10 + u128::from(digit - b'0'));
        let scale = u8::try_from(fraction.len()).map_err(|_| DecimalError::TooManyDigits)?;
        Self::new(mantissa, scale)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn decimal(text: &str) -> Decimal {
        text.parse().unwrap()
    }

    #[test]
    fn the_canonical_form() {
        for (text, canonical) in [
            ("0", "0"),
            ("0.0", "0"),
            ("1", "1"),
            ("10", "10"),
            ("1.50", "1.5"),
            ("50000.0", "50000"),
            ("0.001234", "0.001234"),
            (
                "123456789012345678901234567890.123456",
                "123456789012345678901234567890.123456",
            ),
        ] {
            assert_eq!(decimal(text).to_string(), canonical);
        }
    }

    #[test]
    fn other_forms_are_refused() {
        for text in [
            ".", ".5", "5.", "00", "01", "+1", "-1", "1e3", " 1", "1 ", "1,5", "1_000", "0x1",
            "1.2.3", "٣", "NaN",
        ] {
            assert_eq!(text.parse::<Decimal>(), Err(DecimalError::Format), "{text}");
        }
        assert_eq!(
            "1".repeat(37).parse::<Decimal>(),
            Err(DecimalError::TooManyDigits)
        );
        assert_eq!(
            format!("0.{}1", "0".repeat(35)).parse::<Decimal>(),
            Err(DecimalError::TooManyDigits)
        );
        assert_eq!(
            Decimal::new(10u128.pow(36), 0),
            Err(DecimalError::TooManyDigits)
        );
        assert_eq!(Decimal::new(1, 37), Err(DecimalError::TooManyDigits));
        assert!("9".repeat(36).parse::<Decimal>().is_ok());
    }

    #[test]
    fn arithmetic_is_exact() {
        assert_eq!(
            decimal("0.1").checked_mul(decimal("0.2")),
            Ok(decimal("0.02"))
        );
        assert_eq!(decimal("2.5").checked_mul(decimal("4")), Ok(decimal("10")));
        // 10^36 tenths have a digit too many, and 10^35 tenths do not.
        let largest = decimal(&format!("5{}", "0".repeat(35)));
        assert_eq!(
            largest.checked_mul(decimal("0.2")),
            Ok(decimal(&format!("1{}", "0".repeat(35))))
        );
        assert_eq!(
            largest.checked_mul(decimal("2")),
            Err(DecimalError::TooManyDigits)
        );
        assert_eq!(decimal("0.1").atoms(6), Some(U256::from(100_000)));
        assert_eq!(decimal("0.1234567").atoms(6), None);
        assert!(decimal("0.55").is_multiple_of(decimal("0.01")));
        assert!(!decimal("0.555").is_multiple_of(decimal("0.01")));
        assert!(!decimal("0.0055").is_multiple_of(decimal("0.0025")));
        assert!(!decimal("1").is_multiple_of(Decimal::ZERO));
        assert_eq!(decimal("123000").significant_figures(), 3);
        assert_eq!(decimal("0.00120").significant_figures(), 2);
        assert_eq!(Decimal::ZERO.significant_figures(), 0);
        assert!(decimal("0.99") < decimal("1") && decimal("10") > decimal("9.999"));
        let wide = "9".repeat(36).parse::<Decimal>().unwrap();
        assert_eq!(wide.checked_mul(wide), Err(DecimalError::TooManyDigits));
    }

    proptest! {
        #[test]
        fn text_and_value_agree(mantissa in 0..10u128.pow(18), scale in 0u8..18) {
            let value = Decimal::new(mantissa, scale).unwrap();
            prop_assert_eq!(decimal(&value.to_string()), value);
        }

        #[test]
        fn order_is_that_of_the_cross_product(a in 0..10u128.pow(12), sa in 0u8..12, b in 0..10u128.pow(12), sb in 0u8..12) {
            let (x, y) = (Decimal::new(a, sa).unwrap(), Decimal::new(b, sb).unwrap());
            let cross = (a * 10u128.pow(u32::from(sb))).cmp(&(b * 10u128.pow(u32::from(sa))));
            prop_assert_eq!(x.cmp(&y), cross);
        }
    }
}
