//! Reads the canonical text of single members, and refuses any other text of the same value.

use alloy_primitives::{Address, B256, U256};

use crate::{Failure, Violation};

/// Most characters of a foreign text that a message repeats.
const SHOWN: usize = 120;

/// Reads digits without a leading zero, at most 256 bits.
pub(super) fn number(
    check: &'static str,
    member: &'static str,
    text: &str,
) -> Result<U256, Failure> {
    exact::parse_uint(text)
        .ok_or_else(|| malformed(check, member, "a uint256 in canonical digits", text))
}

/// Reads `0x` and 40 hexadecimal digits, in lower case or with the EIP-55 checksum.
pub(super) fn address(
    check: &'static str,
    member: &'static str,
    text: &str,
) -> Result<Address, Failure> {
    exact::parse_lower_hex_array(text)
        .map(Address::new)
        .or_else(|| Address::parse_checksummed(text, None).ok())
        .ok_or_else(|| malformed(check, member, "an address, lower case or EIP-55", text))
}

/// Reads `0x` and 64 hexadecimal digits in lower case.
pub(super) fn word(check: &'static str, member: &'static str, text: &str) -> Result<B256, Failure> {
    exact::parse_lower_hex_array(text)
        .map(B256::new)
        .ok_or_else(|| malformed(check, member, "32 bytes in lower-case hex", text))
}

/// Requires exactly this text.
pub(super) fn exact(
    check: &'static str,
    member: &'static str,
    expected: &'static str,
    text: &str,
) -> Result<(), Failure> {
    if text == expected {
        return Ok(());
    }
    let message = format!("{member} has another value");
    Err(Failure::new(
        check,
        Violation::new(message, expected, shown(text)),
    ))
}

/// Cuts a foreign text and removes control characters.
pub(super) fn shown(text: &str) -> String {
    exact::shortened(text, SHOWN)
}

fn malformed(check: &'static str, member: &str, expected: &str, text: &str) -> Failure {
    let message = format!("{member} is malformed");
    Failure::new(check, Violation::new(message, expected, shown(text)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_one_text() {
        assert_eq!(number("c", "m", "0"), Ok(U256::ZERO));
        assert_eq!(number("c", "m", &U256::MAX.to_string()), Ok(U256::MAX));
        let above =
            "115792089237316195423570985008687907853269984665640564039457584007913129639936";
        for text in [
            "", "00", "01", "+1", "-1", "1.0", "1e3", "0x1", " 1", "1_0", "\u{661}", above,
        ] {
            let failure = number("c", "m", text).unwrap_err();
            assert_eq!(
                (failure.check, failure.violation.observed),
                ("c", text.to_owned())
            );
        }
    }

    #[test]
    fn addresses_have_two_texts() {
        let text = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266";
        let value = address("c", "m", text).unwrap();
        assert_eq!(address("c", "m", &text.to_lowercase()), Ok(value));
        let upper = format!("0x{}", text[2..].to_uppercase());
        let swapped = text.replace("0xf3", "0xF3");
        for text in [
            &upper,
            &swapped,
            &text[2..],
            &text[..41],
            "",
            "0x",
            &format!("{text}0"),
        ] {
            assert!(address("c", "m", text).is_err(), "{text}");
        }
    }

    #[test]
    fn words_have_one_text() {
        let text = format!("0x{}", "ab".repeat(32));
        assert_eq!(word("c", "m", &text), Ok(B256::repeat_byte(0xab)));
        let upper = format!("0x{}", "AB".repeat(32));
        for text in [&text[2..], &text[..65], &upper, "0x", &format!("{text}00")] {
            assert!(word("c", "m", text).is_err(), "{text}");
        }
    }

    #[test]
    fn foreign_text_is_cut() {
        assert_eq!(shown("a\u{1b}[2Jb\n"), "a[2Jb");
        assert_eq!(shown(&"x".repeat(1000)), format!("{}…", "x".repeat(SHOWN)));
    }
}
