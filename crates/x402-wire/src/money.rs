//! Prices, in millionths of a dollar.

use std::fmt;

use alloy_primitives::U256;
use thiserror::Error;

/// A price in millionths of a dollar: the smallest unit of a dollar token with six decimals.
///
/// # Example
/// ```
/// use x402_wire::MicroUsd;
///
/// const PRICE: MicroUsd = MicroUsd::dollars("0.002"); // malformed text would not compile
/// assert_eq!(PRICE.atomic(), 2_000);
/// assert_eq!(PRICE.to_string(), "0.002");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MicroUsd(u64);

/// A price text that is not an unsigned decimal with at most six fraction digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Error)]
#[error("expected dollars as a decimal with at most six fraction digits")]
pub struct PriceError;

impl MicroUsd {
    /// Parses the dollars of a literal. Meant for constants.
    ///
    /// # Panics
    /// When the text is malformed; in a constant that is a compile error.
    #[must_use]
    #[expect(clippy::panic, reason = "in a constant this is a compile error")]
    pub const fn dollars(text: &str) -> Self {
        match Self::parse(text) {
            Ok(price) => price,
            Err(PriceError) => panic!("a price is a decimal with at most six fraction digits"),
        }
    }

    /// Reads dollars: digits, optionally a point and one to six digits.
    ///
    /// # Errors
    /// [`PriceError`] for anything else, including signs, exponents, `"$1"`, `".5"` and overflow.
    ///
    /// # Example
    /// ```
    /// use x402_wire::{MicroUsd, PriceError};
    ///
    /// assert_eq!(MicroUsd::parse("0.002")?.atomic(), 2_000);
    /// assert_eq!(MicroUsd::parse("$0.002"), Err(PriceError));
    /// # Ok::<(), PriceError>(())
    /// ```
    #[expect(
        clippy::indexing_slicing,
        clippy::as_conversions,
        reason = "a const fn has neither iterators nor `From`; every index is below the length"
    )]
    pub const fn parse(text: &str) -> Result<Self, PriceError> {
        let bytes = text.as_bytes();
        let mut value: u64 = 0;
        let mut digits_before = 0usize;
        let mut fraction: Option<u32> = None;
        let mut i = 0;
        while i < bytes.len() {
            match (bytes[i], fraction) {
                (b'.', None) => fraction = Some(0),
                (digit @ b'0'..=b'9', _) => {
                    value = match value.checked_mul(10) {
                        Some(v) => match v.checked_add((digit - b'0') as u64) {
                            Some(v) => v,
                            None => return Err(PriceError),
                        },
                        None => return Err(PriceError),
                    };
                    match fraction {
                        None => digits_before += 1,
                        Some(n) if n < 6 => fraction = Some(n + 1),
                        Some(_) => return Err(PriceError),
                    }
                }
                _ => return Err(PriceError),
            }
            i += 1;
        }
        let fraction_digits = match fraction {
            Some(0) => return Err(PriceError),
            Some(n) => n,
            None => 0,
        };
        if digits_before == 0 {
            return Err(PriceError);
        }
        match value.checked_mul(10u64.pow(6 - fraction_digits)) {
            Some(atomic) => Ok(Self(atomic)),
            None => Err(PriceError),
        }
    }

    /// Returns the amount in the asset's smallest unit: dollars times 1,000,000.
    #[must_use]
    pub const fn atomic(self) -> u64 {
        self.0
    }

    /// Returns [`Self::atomic`] as the integer that messages and the chain use.
    #[must_use]
    pub fn amount(self) -> U256 {
        U256::from(self.0)
    }
}

impl fmt::Display for MicroUsd {
    /// Writes dollars as the shortest decimal: `0.01`, `1`, `0.000001`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (whole, fraction) = (self.0 / 1_000_000, self.0 % 1_000_000);
        if fraction == 0 {
            return write!(f, "{whole}");
        }
        let digits = format!("{fraction:06}");
        write!(f, "{whole}.{}", digits.trim_end_matches('0'))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn malformed_prices_are_refused() {
        for text in [
            "",
            ".",
            "1.",
            ".5",
            "$1",
            "1e3",
            "+1",
            "-1",
            " 1",
            "1.1234567",
            "99999999999999999999",
            "1.2.3",
        ] {
            assert_eq!(MicroUsd::parse(text), Err(PriceError), "{text}");
        }
        assert_eq!(MicroUsd::parse("18446744073709.551616"), Err(PriceError));
    }

    proptest! {
        #[test]
        fn text_and_value_round_trip(atomic: u64) {
            let price = MicroUsd(atomic);
            prop_assert_eq!(MicroUsd::parse(&price.to_string()), Ok(price));
        }
    }
}
