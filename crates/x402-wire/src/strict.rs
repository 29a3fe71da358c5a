//! Strict wire forms of numbers, addresses and 32-byte words, for `#[serde(with = "…")]`.
//!
//! Money is lost when two readers disagree about a message. Clients read `"1e3"`, `" 1"`, `"+1"`,
//! `"0x10"` and leading zeros differently, so these forms are refused.

use alloy_primitives::{Address, B256, U256};
use serde::{Deserialize, Deserializer, de::Error};
use std::borrow::Cow;

/// Reads `0x` and 40 hexadecimal digits of any case.
pub(crate) fn parse_address(text: &str) -> Option<Address> {
    parse_fixed::<20>(text).map(Address::from)
}

/// Reads `0x` and 64 hexadecimal digits of any case.
pub(crate) fn parse_word(text: &str) -> Option<B256> {
    parse_fixed::<32>(text).map(B256::from)
}

fn parse_fixed<const N: usize>(text: &str) -> Option<[u8; N]> {
    let digits = text.strip_prefix("0x")?;
    let mut out = [0u8; N];
    alloy_primitives::hex::decode_to_slice(digits, &mut out).ok()?;
    // `hex` skips a prefix of its own, so `0x0x…` would pass with fewer digits.
    (digits.len() == N * 2 && !digits.starts_with("0x")).then_some(out)
}

fn text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Cow<'de, str>, D::Error> {
    #[derive(Deserialize)]
    #[serde(transparent)]
    struct Text<'a>(#[serde(borrow)] Cow<'a, str>);
    Text::deserialize(deserializer).map(|text| text.0)
}

/// The beginning of foreign text, so that it cannot fill logs and answers.
pub(crate) fn clip(text: &str) -> String {
    text.chars().take(80).collect()
}

/// `U256` as a decimal string.
pub(crate) mod decimal {
    use super::*;

    pub(crate) fn serialize<S: serde::Serializer>(value: &U256, s: S) -> Result<S::Ok, S::Error> {
        s.collect_str(value)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(d: D) -> Result<U256, D::Error> {
        let text = text(d)?;
        exact::parse_uint(&text).ok_or_else(|| {
            D::Error::custom(format_args!(
                "expected an unsigned decimal integer string below 2^256, observed `{}`",
                clip(&text)
            ))
        })
    }
}

/// `Address` as `0x` and 40 digits: any case in, EIP-55 out.
pub(crate) mod address {
    use super::*;

    pub(crate) fn serialize<S: serde::Serializer>(v: &Address, s: S) -> Result<S::Ok, S::Error> {
        s.collect_str(v)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(d: D) -> Result<Address, D::Error> {
        let text = text(d)?;
        parse_address(&text).ok_or_else(|| {
            D::Error::custom(format_args!(
                "expected 0x and 40 hexadecimal digits, observed `{}`",
                clip(&text)
            ))
        })
    }
}

/// `B256` as `0x` and 64 digits.
pub(crate) mod word {
    use super::*;

    pub(crate) fn serialize<S: serde::Serializer>(v: &B256, s: S) -> Result<S::Ok, S::Error> {
        s.collect_str(v)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(d: D) -> Result<B256, D::Error> {
        let text = text(d)?;
        parse_word(&text).ok_or_else(|| {
            D::Error::custom(format_args!(
                "expected 0x and 64 hexadecimal digits, observed `{}`",
                clip(&text)
            ))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_prefixed_full_length_hex_is_an_address_or_word() {
        let body = "779Ded0c9e1022225f8E0630b35a9b54bE713736";
        assert!(parse_address(&format!("0x{body}")).is_some());
        assert!(parse_address(&format!("0x{}", body.to_lowercase())).is_some());
        for refused in [
            body.to_owned(),
            format!("0X{body}"),
            format!("0x{body}0"),
            format!("0x0x{}", &body[..38]),
            format!("0x0x{body}"),
            format!(" 0x{body}"),
            format!("0x{}g", &body[..39]),
        ] {
            assert_eq!(parse_address(&refused), None, "{refused}");
        }
        assert!(parse_word(&format!("0x{}", "ab".repeat(32))).is_some());
        assert!(parse_word(&format!("0x{}", "ab".repeat(31))).is_none());
        assert!(parse_word(&format!("0x{}", "ab".repeat(33))).is_none());
    }
}
