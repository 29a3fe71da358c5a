//! Bytes as hexadecimal digits after exactly one `0x`.
//!
//! The decoder skips a prefix of its own, `0x` or `0X`, so that `0x0x…` would pass without the
//! check here.

use alloy_primitives::hex;

/// Reads `0x` and an even number of digits of any case.
///
/// ```
/// assert_eq!(exact::parse_hex("0xaB01"), Some(vec![0xab, 1]));
/// assert_eq!(exact::parse_hex("ab01"), None);
/// ```
#[must_use]
pub fn parse_hex(text: &str) -> Option<Vec<u8>> {
    hex::decode(digits(text)?).ok()
}

/// Reads `0x` and the digits of exactly `N` bytes, of any case.
///
/// ```
/// assert_eq!(exact::parse_hex_array("0xaB01"), Some([0xab, 1]));
/// assert_eq!(exact::parse_hex_array::<3>("0xaB01"), None);
/// ```
#[must_use]
pub fn parse_hex_array<const N: usize>(text: &str) -> Option<[u8; N]> {
    hex::decode_to_array(digits(text)?).ok()
}

/// Reads `0x` and an even number of lower-case digits: the only spelling of the bytes.
///
/// ```
/// assert_eq!(exact::parse_lower_hex("0xab01"), Some(vec![0xab, 1]));
/// assert_eq!(exact::parse_lower_hex("0xaB01"), None);
/// ```
#[must_use]
pub fn parse_lower_hex(text: &str) -> Option<Vec<u8>> {
    hex::decode(lower_digits(text)?).ok()
}

/// Reads `0x` and the lower-case digits of exactly `N` bytes: their only spelling.
///
/// ```
/// assert_eq!(exact::parse_lower_hex_array("0xab01"), Some([0xab, 1]));
/// assert_eq!(exact::parse_lower_hex_array::<2>("0xaB01"), None);
/// ```
#[must_use]
pub fn parse_lower_hex_array<const N: usize>(text: &str) -> Option<[u8; N]> {
    hex::decode_to_array(lower_digits(text)?).ok()
}

/// Returns the text after the prefix. The decoder judges whether it consists of digits.
fn digits(text: &str) -> Option<&str> {
    text.strip_prefix("0x")
        .filter(|digits| !matches!(digits.as_bytes(), [b'0', b'x' | b'X', ..]))
}

fn lower_digits(text: &str) -> Option<&str> {
    // The loop has no early end, so that one instruction compares many bytes.
    let has_upper = |digits: &str| {
        digits
            .bytes()
            .fold(false, |seen, byte| seen | byte.is_ascii_uppercase())
    };
    digits(text).filter(|digits| !has_upper(digits))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn one_prefix_and_whole_bytes() {
        assert_eq!(parse_hex("0x"), Some(vec![]));
        for text in [
            "", "ab", "0xa", "0xzz", "0X00", "0x0x00", " 0x00", "0x00 ", "0x0X00", "0x+1", "0x٣",
        ] {
            assert_eq!(parse_hex(text), None, "{text}");
            assert_eq!(parse_lower_hex(text), None, "{text}");
        }
        assert!(parse_hex("0xA0").is_some() && parse_lower_hex("0xA0").is_none());
    }

    #[test]
    fn an_array_has_its_full_length() {
        let body = "779Ded0c9e1022225f8E0630b35a9b54bE713736";
        assert!(parse_hex_array::<20>(&format!("0x{body}")).is_some());
        assert!(parse_lower_hex_array::<20>(&format!("0x{body}")).is_none());
        assert!(parse_lower_hex_array::<20>(&format!("0x{}", body.to_lowercase())).is_some());
        for refused in [
            body.to_owned(),
            format!("0X{body}"),
            format!("0x{body}0"),
            format!("0x0x{}", &body[..38]),
            format!("0x0x{body}"),
            format!("0x0X{body}"),
            format!(" 0x{body}"),
            format!("0x{}g", &body[..39]),
        ] {
            assert_eq!(parse_hex_array::<20>(&refused), None, "{refused}");
        }
    }

    proptest! {
        #[test]
        fn written_values_are_read_back(bytes: Vec<u8>) {
            let text = hex::encode_prefixed(&bytes);
            prop_assert_eq!(parse_lower_hex(&text), Some(bytes.clone()));
            prop_assert_eq!(parse_hex(&text.to_uppercase().replace("0X", "0x")), Some(bytes));
        }
    }
}
