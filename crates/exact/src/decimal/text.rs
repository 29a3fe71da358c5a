//! Plain decimal text, kept as it was written: prices, human-readable amounts and percentages.
//!
//! [`DecimalText`] converts to whole numbers of the smallest unit exactly or not at all. The caller
//! knows the unit.

use std::{
    cmp::Ordering,
    fmt,
    hash::{Hash, Hasher},
    str::FromStr,
};

use alloy_primitives::U256;

use crate::DecimalError;

/// A non-negative decimal number that keeps its text: digits, optionally a point and more digits
/// (`^\d+(\.\d+)?$`). No sign, no exponent, no `NaN`, no grouping. Texts of the same number are
/// equal.
#[derive(Clone, Debug)]
pub struct DecimalText {
    text: String,
    whole: usize,
}

impl DecimalText {
    /// The longest text that is read, in bytes. A 256-bit number fits, with a point and 21 digits
    /// after it.
    pub const MAX_LEN: usize = 100;

    /// Reads decimal text.
    ///
    /// # Errors
    /// [`DecimalError::Empty`], [`DecimalError::TooLong`] or [`DecimalError::Format`].
    ///
    /// ```
    /// use exact::DecimalText;
    /// assert_eq!(DecimalText::parse("118.420")?.as_str(), "118.420");
    /// assert!(DecimalText::parse("0.00")?.is_zero());
    /// assert!(DecimalText::parse("1e5").is_err());
    /// # Ok::<(), exact::DecimalError>(())
    /// ```
    pub fn parse(text: &str) -> Result<Self, DecimalError> {
        let (whole, _) = split(text)?;
        Ok(Self {
            text: text.to_owned(),
            whole: whole.len(),
        })
    }

    /// Returns the text exactly as it was read.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Returns whether every digit is zero.
    #[must_use]
    pub fn is_zero(&self) -> bool {
        self.text.bytes().all(|byte| matches!(byte, b'0' | b'.'))
    }

    /// Returns the shortest text of the same number.
    ///
    /// ```
    /// assert_eq!(exact::DecimalText::parse("01.50")?.canonical(), "1.5");
    /// # Ok::<(), exact::DecimalError>(())
    /// ```
    #[must_use]
    pub fn canonical(&self) -> String {
        match self.significant() {
            ("", "") => "0".to_owned(),
            (whole, "") => whole.to_owned(),
            ("", fraction) => format!("0.{fraction}"),
            (whole, fraction) => format!("{whole}.{fraction}"),
        }
    }

    /// Returns the number in units of `10^-decimals`, exactly.
    ///
    /// # Errors
    /// [`DecimalError::ExcessDigits`] when there are more fraction digits than `decimals`, even if
    /// they are zero (nothing is rounded or dropped in silence). [`DecimalError::Overflow`] above
    /// 2^256 − 1.
    ///
    /// ```
    /// use exact::{DecimalError, DecimalText};
    /// assert_eq!(DecimalText::parse("1.5")?.to_atoms(6)?.to_string(), "1500000");
    /// assert_eq!(
    ///     DecimalText::parse("0.1234567")?.to_atoms(6),
    ///     Err(DecimalError::ExcessDigits { allowed: 6, observed: 7 })
    /// );
    /// # Ok::<(), DecimalError>(())
    /// ```
    pub fn to_atoms(&self, decimals: u8) -> Result<U256, DecimalError> {
        let (whole, fraction) = self.parts();
        let allowed = usize::from(decimals);
        let padding = allowed
            .checked_sub(fraction.len())
            .ok_or(DecimalError::ExcessDigits {
                allowed,
                observed: fraction.len(),
            })?;
        whole
            .bytes()
            .chain(fraction.bytes())
            .chain(std::iter::repeat_n(b'0', padding))
            .try_fold(U256::ZERO, |value, digit| {
                value
                    .checked_mul(U256::from(10))?
                    .checked_add(U256::from(digit.wrapping_sub(b'0')))
            })
            .ok_or(DecimalError::Overflow)
    }

    /// Returns the digits before and after the point.
    fn parts(&self) -> (&str, &str) {
        let (whole, rest) = self.text.split_at(self.whole);
        (whole, rest.strip_prefix('.').unwrap_or(rest))
    }

    /// The parts without leading and trailing zeros.
    fn significant(&self) -> (&str, &str) {
        let (whole, fraction) = self.parts();
        (
            whole.trim_start_matches('0'),
            fraction.trim_end_matches('0'),
        )
    }
}

/// Splits a plain decimal number into the digits before and after the point. Without a point the
/// second part is empty.
pub(crate) fn split(text: &str) -> Result<(&str, &str), DecimalError> {
    if text.is_empty() {
        return Err(DecimalError::Empty);
    }
    if text.len() > DecimalText::MAX_LEN {
        return Err(DecimalError::TooLong {
            max: DecimalText::MAX_LEN,
            observed: text.len(),
        });
    }
    let (whole, fraction) = match text.split_once('.') {
        Some((_, "")) => return Err(DecimalError::Format),
        Some(parts) => parts,
        None => (text, ""),
    };
    let digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || !digits(whole) || !digits(fraction) {
        return Err(DecimalError::Format);
    }
    Ok((whole, fraction))
}

/// Formats an amount of the smallest unit in whole units, with every digit and without trailing
/// zeros.
///
/// ```
/// use alloy_primitives::U256;
/// assert_eq!(exact::format_units(U256::from(42_500_000), 6), "42.5");
/// ```
#[must_use]
pub fn format_units(atoms: U256, decimals: u8) -> String {
    let digits = atoms.to_string();
    let places = usize::from(decimals);
    let padded = format!("{digits:0>width$}", width = places.saturating_add(1));
    let (whole, fraction) = padded.split_at(padded.len().saturating_sub(places));
    match fraction.trim_end_matches('0') {
        "" => whole.to_owned(),
        fraction => format!("{whole}.{fraction}"),
    }
}

impl fmt::Display for DecimalText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl From<u64> for DecimalText {
    fn from(integer: u64) -> Self {
        let text = integer.to_string();
        Self {
            whole: text.len(),
            text,
        }
    }
}

impl FromStr for DecimalText {
    type Err = DecimalError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::parse(text)
    }
}

impl Hash for DecimalText {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.significant().hash(state);
    }
}

impl Ord for DecimalText {
    fn cmp(&self, other: &Self) -> Ordering {
        let (one, another) = (self.significant(), other.significant());
        let longer = one.0.len().cmp(&another.0.len());
        longer.then_with(|| one.cmp(&another))
    }
}

impl PartialOrd for DecimalText {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for DecimalText {
    fn eq(&self, other: &Self) -> bool {
        self.significant() == other.significant()
    }
}

impl Eq for DecimalText {}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn decimal(text: &str) -> DecimalText {
        text.parse().unwrap()
    }

    #[test]
    fn only_plain_decimals_are_read() {
        for text in [
            ".", "1.", ".5", "-1", "+1", "1e5", "NaN", "inf", "0x10", "1,5", "1.2.3", " 1", "1 ",
            "１", "٣",
        ] {
            assert_eq!(
                DecimalText::parse(text),
                Err(DecimalError::Format),
                "{text:?}"
            );
        }
        assert_eq!(DecimalText::parse(""), Err(DecimalError::Empty));
        let too_long = DecimalError::TooLong {
            max: 100,
            observed: 101,
        };
        assert_eq!(DecimalText::parse(&"1".repeat(101)), Err(too_long));
        assert!(DecimalText::parse(&"1".repeat(100)).is_ok());
    }

    #[test]
    fn canonical_text_is_the_shortest() {
        for (text, canonical) in [
            ("0", "0"),
            ("000.000", "0"),
            ("01.50", "1.5"),
            ("10", "10"),
            ("0.10", "0.1"),
        ] {
            assert_eq!(decimal(text).canonical(), canonical);
            assert_eq!(decimal(text), decimal(canonical));
            assert_eq!(decimal("010.0"), DecimalText::from(10));
        }
    }

    #[test]
    fn converts_to_atoms_exactly() {
        let atoms = |text: &str, decimals| decimal(text).to_atoms(decimals);
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
    fn every_digit_of_an_amount_stays() {
        let of = |atoms: u128, decimals| format_units(U256::from(atoms), decimals);
        assert_eq!(of(5_000_000_000, 6), "5000");
        assert_eq!(of(1_234_500, 6), "1.2345");
        assert_eq!(of(395_811_000_000_000_000, 18), "0.395811");
        assert_eq!(of(0, 18), "0");
        assert_eq!(of(1, 18), "0.000000000000000001");
        assert_eq!(of(7, 0), "7");
        assert_eq!(of(100, 0), "100");
        assert_eq!(format_units(U256::MAX, 255).len(), 257);
        assert!(format_units(U256::MAX, 18).ends_with(".584007913129639935"));
    }

    proptest! {
        #[test]
        fn atoms_print_back_to_the_same_number(atoms: u128, decimals in 0u8..40) {
            let atoms = U256::from(atoms);
            let text = format_units(atoms, decimals);
            prop_assert_eq!(decimal(&text).to_atoms(decimals), Ok(atoms));
            prop_assert_eq!(decimal(&text).canonical(), text);
        }

        #[test]
        fn any_text_is_read_or_refused(text in ".{0,120}") {
            if let Ok(decimal) = DecimalText::parse(&text) {
                prop_assert_eq!(decimal.as_str(), text);
            }
        }

        #[test]
        fn order_agrees_with_integers(a in 0_u64..1_000_000_000_000, b in 0_u64..1_000_000_000_000) {
            let of = |n: u64| decimal(&format!("{}.{:06}", n / 1_000_000, n % 1_000_000));
            prop_assert_eq!(of(a).cmp(&of(b)), a.cmp(&b));
            prop_assert_eq!(of(a) == of(b), a == b);
            prop_assert_eq!(of(a).is_zero(), a == 0);
        }
    }
}
