//! Whole numbers of up to 256 bits, as decimal digits.

use alloy_primitives::U256;

/// The digits of 2^256 − 1.
pub const MAX_UINT_DIGITS: usize = 78;

/// Reads an unsigned integer in its only spelling: decimal digits without sign, spaces or leading
/// zeros. Readers disagree about `"1e3"`, `" 1"`, `"+1"`, `"0x10"` and `"01"`, so they are refused.
///
/// ```
/// assert_eq!(exact::parse_uint("10").map(|ten| ten.to_string()).as_deref(), Some("10"));
/// assert_eq!(exact::parse_uint("010"), None);
/// ```
#[must_use]
pub fn parse_uint(text: &str) -> Option<U256> {
    let has_one_spelling = text.len() == 1 || !text.starts_with('0');
    has_one_spelling.then(|| parse_digits(text)).flatten()
}

/// Reads at most [`MAX_UINT_DIGITS`] decimal digits, leading zeros included.
///
/// ```
/// assert_eq!(exact::parse_digits("007").map(|seven| seven.to_string()).as_deref(), Some("7"));
/// assert_eq!(exact::parse_digits("+7"), None);
/// ```
#[must_use]
pub fn parse_digits(text: &str) -> Option<U256> {
    let is_plain = (1..=MAX_UINT_DIGITS).contains(&text.len())
        && text.bytes().all(|byte| byte.is_ascii_digit());
    if !is_plain {
        return None;
    }
    // Nearly every number is a price or a time and fits a machine word.
    match text.parse::<u64>() {
        Ok(small) => Some(U256::from_limbs([small, 0, 0, 0])),
        Err(_) => U256::from_str_radix(text, 10).ok(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn only_canonical_digits_are_numbers() {
        let max = U256::MAX.to_string();
        assert_eq!(max.len(), MAX_UINT_DIGITS);
        assert_eq!(parse_uint("0"), Some(U256::ZERO));
        assert_eq!(parse_uint(&max), Some(U256::MAX));
        let above_a_word = Some(U256::from(1_u128 << 64));
        assert_eq!(parse_uint("18446744073709551616"), above_a_word);
        let above = format!("{}6", &max[..max.len() - 1]);
        for refused in [
            "", "00", "01", "1e3", " 1", "1 ", "+1", "-1", "0x10", "1.0", "1_0", "١", &above,
        ] {
            assert_eq!(parse_uint(refused), None, "{refused}");
        }
        assert_eq!(parse_digits("007"), Some(U256::from(7)));
        assert_eq!(parse_digits(&format!("0{max}")), None);
        assert_eq!(parse_digits(""), None);
    }

    proptest! {
        #[test]
        fn a_printed_number_is_read_back(limbs: [u64; 4]) {
            let value = U256::from_limbs(limbs);
            prop_assert_eq!(parse_uint(&value.to_string()), Some(value));
        }
    }
}
