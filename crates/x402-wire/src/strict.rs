//! Strict forms of numbers, addresses and 32-byte words in messages, for `#[serde(with = "…")]`.
//!
//! Money is lost when two readers understand a message differently. Clients read `"1e3"`, `" 1"`,
//! `"+1"`, `"0x10"` and leading zeros differently, so these forms are refused.

use alloy_primitives::{Address, B256, U256};
use exact::parse_hex_array;
use serde::{Deserialize, Deserializer, de::Error};
use std::borrow::Cow;

fn text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Cow<'de, str>, D::Error> {
    #[derive(Deserialize)]
    #[serde(transparent)]
    struct Text<'a>(#[serde(borrow)] Cow<'a, str>);
    Text::deserialize(deserializer).map(|text| text.0)
}

/// Returns the beginning of foreign text without control characters. It can then neither fill nor
/// falsify logs and answers.
pub(crate) fn clip(text: &str) -> String {
    exact::shortened(text, 80)
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

/// `Address` as `0x` and 40 digits. Any case is read, and EIP-55 is written.
pub(crate) mod address {
    use super::*;

    pub(crate) fn serialize<S: serde::Serializer>(v: &Address, s: S) -> Result<S::Ok, S::Error> {
        s.collect_str(v)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(d: D) -> Result<Address, D::Error> {
        let text = text(d)?;
        parse_hex_array(&text).map(Address::new).ok_or_else(|| {
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
        parse_hex_array(&text).map(B256::new).ok_or_else(|| {
            D::Error::custom(format_args!(
                "expected 0x and 64 hexadecimal digits, observed `{}`",
                clip(&text)
            ))
        })
    }
}
