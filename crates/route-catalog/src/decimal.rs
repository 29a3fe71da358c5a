//! Exact comparison and normalisation of decimal text. No value ever becomes a float.

use std::cmp::Ordering;

/// The longest decimal text that is read, in bytes: two uint256 in sequence fit.
pub(crate) const MAX_DECIMAL_BYTES: usize = 100;

/// A decimal number split at its point, without leading or trailing zeros.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Decimal<'a> {
    integer: &'a str,
    fraction: &'a str,
}

impl<'a> Decimal<'a> {
    /// Reads `^\d+(\.\d+)?$`, at most [`MAX_DECIMAL_BYTES`] long.
    pub(crate) fn parse(text: &'a str) -> Option<Self> {
        if text.len() > MAX_DECIMAL_BYTES {
            return None;
        }
        let (integer, fraction) = match text.split_once('.') {
            Some((_, "")) => return None,
            Some(parts) => parts,
            None => (text, ""),
        };
        let digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
        (!integer.is_empty() && digits(integer) && digits(fraction)).then(|| Self {
            integer: integer.trim_start_matches('0'),
            fraction: fraction.trim_end_matches('0'),
        })
    }

    pub(crate) const fn is_zero(&self) -> bool {
        self.integer.is_empty() && self.fraction.is_empty()
    }

    /// The shortest text of the same number.
    pub(crate) fn canonical(&self) -> String {
        let integer = if self.integer.is_empty() {
            "0"
        } else {
            self.integer
        };
        if self.fraction.is_empty() {
            integer.to_owned()
        } else {
            format!("{integer}.{}", self.fraction)
        }
    }
}

impl Ord for Decimal<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.integer
            .len()
            .cmp(&other.integer.len())
            .then_with(|| self.integer.cmp(other.integer))
            .then_with(|| self.fraction.cmp(other.fraction))
    }
}

impl PartialOrd for Decimal<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn only_plain_decimals_are_read() {
        for text in [
            "", ".", "1.", ".5", "-1", "+1", "1e3", "1,5", " 1", "1 ", "0x1", "1.2.3", "٣",
        ] {
            assert_eq!(Decimal::parse(text), None, "{text:?}");
        }
        assert_eq!(Decimal::parse(&"1".repeat(MAX_DECIMAL_BYTES + 1)), None);
        assert!(Decimal::parse(&"1".repeat(MAX_DECIMAL_BYTES)).is_some());
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
            assert_eq!(Decimal::parse(text).unwrap().canonical(), canonical);
        }
    }

    proptest! {
        #[test]
        fn order_agrees_with_integers(a in 0_u64..1_000_000_000_000, b in 0_u64..1_000_000_000_000) {
            let text = |n: u64| format!("{}.{:06}", n / 1_000_000, n % 1_000_000);
            let (left, right) = (text(a), text(b));
            prop_assert_eq!(Decimal::parse(&left).unwrap().cmp(&Decimal::parse(&right).unwrap()), a.cmp(&b));
            prop_assert_eq!(Decimal::parse(&left).unwrap().is_zero(), a == 0);
        }
    }
}
