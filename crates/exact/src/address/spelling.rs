//! Parses addresses and checks their spelling.
//!
//! It judges the form and the checksum only. [`check_payee`](super::check_payee) judges whether an
//! address may receive money.

use std::fmt;

use alloy_primitives::Address;
use serde::de::{Deserialize, Deserializer, Error, Visitor};
use thiserror::Error;

/// The placeholder in examples for an address that only their reader can know.
pub const PLACEHOLDER: &str = "0xYOUR_OWN_ADDRESS";

/// The reason why a text is not accepted as an address.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum AddressFault {
    /// The text is still [`PLACEHOLDER`].
    #[error("expected an address of your own, observed the example's {PLACEHOLDER}")]
    Placeholder,
    /// The text is not `0x` and 40 hexadecimal digits. The message does not repeat it: it may be a
    /// key in the wrong place.
    #[error("expected 0x and 40 hexadecimal digits, observed another text of {length} characters")]
    Form {
        /// The number of its characters.
        length: usize,
    },
    /// The digits have both cases and do not match the checksum: at least one character is wrong.
    #[error(
        "expected {expected} if its digits are right, observed {observed}, whose checksum (EIP-55) does not hold"
    )]
    Checksum {
        /// The checksummed spelling of these digits. A digit may be wrong: compare them with the
        /// source of the address.
        expected: String,
        /// The spelling that was read.
        observed: String,
    },
}

impl AddressFault {
    /// A stable code for logs.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Placeholder => "address_placeholder",
            Self::Form { .. } => "address_form",
            Self::Checksum { .. } => "address_checksum",
        }
    }
}

/// Reads `0x` and 40 hexadecimal digits. Digits of both cases must be those of the checksum
/// (EIP-55); digits of one case carry none.
///
/// # Errors
/// [`AddressFault`].
///
/// ```
/// use exact::address::{AddressFault, parse};
///
/// let address = parse("0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaed")?;
/// assert_eq!(parse("0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"), Ok(address));
/// assert_eq!(parse("0x12"), Err(AddressFault::Form { length: 4 }));
/// # Ok::<(), AddressFault>(())
/// ```
pub fn parse(text: &str) -> Result<Address, AddressFault> {
    if text == PLACEHOLDER {
        return Err(AddressFault::Placeholder);
    }
    let bytes = crate::parse_hex_array(text).ok_or_else(|| AddressFault::Form {
        length: text.chars().count(),
    })?;
    let address = Address::new(bytes);
    let digits = text.trim_start_matches("0x");
    let is_one_case = !digits.contains(|digit: char| digit.is_ascii_lowercase())
        || !digits.contains(|digit: char| digit.is_ascii_uppercase());
    if is_one_case || Address::parse_checksummed(text, None).is_ok() {
        return Ok(address);
    }
    Err(AddressFault::Checksum {
        expected: address.to_checksum(None),
        observed: text.to_owned(),
    })
}

/// A field of a configuration that holds an address. Deserialising accepts any text and keeps its
/// fault; the check of the whole configuration reports the fault under the field's key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfiguredAddress(Result<Address, AddressFault>);

impl ConfiguredAddress {
    /// Returns the address.
    ///
    /// # Errors
    /// The [`AddressFault`] of the text that was read.
    pub fn get(&self) -> Result<Address, AddressFault> {
        self.0.clone()
    }
}

impl From<Address> for ConfiguredAddress {
    fn from(address: Address) -> Self {
        Self(Ok(address))
    }
}

impl<'de> Deserialize<'de> for ConfiguredAddress {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Text;
        impl Visitor<'_> for Text {
            type Value = ConfiguredAddress;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an address as text: 0x and 40 hexadecimal digits")
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<ConfiguredAddress, E> {
                Ok(ConfiguredAddress(parse(text)))
            }
        }
        deserializer.deserialize_str(Text)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// An example of EIP-55.
    const GOOD: &str = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed";

    #[test]
    fn one_case_carries_no_checksum() {
        let address = parse(GOOD).unwrap();
        let digits = &GOOD[2..];
        for spelling in [digits.to_lowercase(), digits.to_uppercase()] {
            assert_eq!(parse(&format!("0x{spelling}")), Ok(address));
        }
        assert_eq!(
            parse("0x1234567890123456789012345678901234567890").map(|address| address.0[0]),
            Ok(0x12)
        );
    }

    #[test]
    fn one_wrong_digit_or_case_is_found_and_both_spellings_are_named() {
        let wrong = GOOD.replace("Aed", "Aee");
        let fault = parse(&wrong).unwrap_err();
        let AddressFault::Checksum { expected, observed } = &fault else {
            panic!("{fault:?}")
        };
        assert_eq!(*observed, wrong);
        assert_eq!(parse(expected).unwrap().to_checksum(None), *expected);
        assert!(expected.eq_ignore_ascii_case(&wrong) && *expected != wrong);
        let fault = parse(&GOOD.replace("BeAed", "beAed")).unwrap_err();
        assert!(fault.to_string().starts_with(&format!("expected {GOOD} ")));
    }

    #[test]
    fn another_form_is_not_repeated() {
        let key = "59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d";
        let with_prefix = format!("0x{key}");
        for text in [
            key,
            &with_prefix,
            "",
            "0x",
            "0x12",
            &GOOD[2..],
            &GOOD.replace("0x", "0X"),
            &format!(" {GOOD}"),
            &GOOD.replace('5', "g"),
            &GOOD.replace('5', "ä"),
        ] {
            let length = text.chars().count();
            let fault = parse(text).unwrap_err();
            assert_eq!(fault, AddressFault::Form { length }, "{text}");
            assert!(!fault.to_string().contains(key));
        }
    }

    #[test]
    fn a_placeholder_is_refused_by_name() {
        assert_eq!(parse(PLACEHOLDER), Err(AddressFault::Placeholder));
        assert!(AddressFault::Placeholder.to_string().contains(PLACEHOLDER));
    }

    #[test]
    fn only_texts_are_fields() {
        assert!(serde_json::from_str::<ConfiguredAddress>("5").is_err());
        let field: ConfiguredAddress = serde_json::from_str(&format!("{GOOD:?}")).unwrap();
        assert_eq!(field.get(), parse(GOOD));
        assert_eq!(field, parse(GOOD).unwrap().into());
    }

    proptest! {
        #[test]
        fn a_checksummed_spelling_is_read_and_no_other_digit_passes(
            bytes: [u8; 20], at in 2..42usize, digit in "[0-9a-fA-F]"
        ) {
            let address = Address::new(bytes);
            let spelling = address.to_checksum(None);
            prop_assert_eq!(parse(&spelling), Ok(address));
            let mut changed = spelling.clone();
            changed.replace_range(at..=at, &digit);
            let both_cases = changed[2..].contains(|c: char| c.is_ascii_lowercase())
                && changed[2..].contains(|c: char| c.is_ascii_uppercase());
            if changed != spelling && both_cases {
                // A checksum has 15 bits on average, so it accepts some changed texts, spelt as
                // their own.
                let passed = parse(&changed);
                let own = passed.as_ref().is_ok_and(|read| read.to_checksum(None) == changed);
                let refused = matches!(passed, Err(AddressFault::Checksum { .. }));
                prop_assert!(own || refused, "{}: {:?}", changed, passed);
            }
        }
    }
}
