//! Reads documents: a text has exactly one meaning, or a refusal names the place of its defect.
//!
//! The functions know no member and no message. Each caller names the [`Rule`] that refuses.

use alloy_primitives::{B256, keccak256};
use exact::parse_json;
use serde::{Deserialize as _, Serialize, de::DeserializeOwned};
use serde_json::Value;

use crate::{Refusal, Rule};

/// Longest document that is read, in bytes.
const LONGEST: usize = 256 * 1024;

/// The largest integer that every reader of JSON reads exactly.
const LARGEST_SAFE: u64 = (1 << 53) - 1;

/// JSON without duplicate members.
pub(crate) fn parse(rule: Rule, text: &str) -> Result<Value, Refusal> {
    if text.len() > LONGEST {
        return Err(Refusal::new(
            rule,
            "the document is too long",
            format_args!("at most {LONGEST} bytes"),
            text.len(),
        ));
    }
    parse_json(text).map_err(|defects| match defects.into_iter().next() {
        Some(defect) => Refusal::new(
            rule,
            format!("at {}", crate::refusal::shown(&defect.path)),
            defect.expected,
            defect.observed,
        ),
        None => Refusal::new(rule, "not JSON", "JSON", "another text"),
    })
}

/// Refuses a value that should be an object and is not: a struct could also be read from a list.
pub(crate) fn require_object(rule: Rule, what: &'static str, value: &Value) -> Result<(), Refusal> {
    if value.is_object() {
        return Ok(());
    }
    Err(Refusal::new(rule, "not an object", what, "another value"))
}

/// A value of the given type, without further members.
pub(crate) fn read<T: DeserializeOwned>(
    rule: Rule,
    what: &'static str,
    value: Value,
) -> Result<T, Refusal> {
    serde_path_to_error::deserialize(value).map_err(|error| {
        let path = crate::refusal::shown(&error.path().to_string());
        Refusal::new(rule, format!("at {path}"), what, error.inner())
    })
}

/// Refuses numbers that some readers would round.
pub(crate) fn safe_numbers(value: &Value, path: &str) -> Result<(), Refusal> {
    match value {
        Value::Number(number) => match number.as_u64() {
            Some(integer) if integer <= LARGEST_SAFE => Ok(()),
            _ => Err(Refusal::new(
                Rule::TypedDataNumberUnsafe,
                format!("at {}", crate::refusal::shown(path)),
                "an integer of at most 2^53 - 1, or decimal digits as text",
                number,
            )),
        },
        Value::Array(items) => items
            .iter()
            .enumerate()
            .try_for_each(|(index, item)| safe_numbers(item, &format!("{path}[{index}]"))),
        Value::Object(members) => members
            .iter()
            .try_for_each(|(name, member)| safe_numbers(member, &format!("{path}.{name}"))),
        _ => Ok(()),
    }
}

/// The RFC 8785 bytes.
pub(crate) fn canonical<T: Serialize>(rule: Rule, value: &T) -> Result<Vec<u8>, Refusal> {
    serde_json_canonicalizer::to_vec(value)
        .map_err(|error| Refusal::new(rule, "the document has no canonical form", "JSON", error))
}

/// keccak-256 over the RFC 8785 bytes.
pub(crate) fn digest<T: Serialize>(rule: Rule, value: &T) -> Result<B256, Refusal> {
    canonical(rule, value).map(keccak256)
}

/// The form of an address: reads digits of one case, or those of the checksum, and writes those of
/// the checksum.
pub(crate) mod address {
    use std::borrow::Cow;

    use alloy_primitives::Address;
    use serde::{Deserialize, Deserializer, Serializer, de::Error as _};

    pub(crate) fn serialize<S: Serializer>(value: &Address, s: S) -> Result<S::Ok, S::Error> {
        s.collect_str(value)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(d: D) -> Result<Address, D::Error> {
        let text = Cow::<'de, str>::deserialize(d)?;
        exact::address::parse(&text).map_err(D::Error::custom)
    }
}

/// The form of thirty-two bytes: `0x` and 64 lower-case digits.
pub(crate) mod word {
    use alloy_primitives::B256;
    use plan_builder::wire::Word;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(crate) fn serialize<S: Serializer>(value: &B256, s: S) -> Result<S::Ok, S::Error> {
        Word(*value).serialize(s)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(d: D) -> Result<B256, D::Error> {
        Word::deserialize(d).map(|word| word.0)
    }
}

/// Reads an unsigned integer: decimal digits as text, or a JSON integer that every reader reads
/// exactly. Any other value is `None`.
fn digits(value: &Value) -> Option<alloy_primitives::U256> {
    match value {
        Value::Number(number) => number
            .as_u64()
            .filter(|integer| *integer <= LARGEST_SAFE)
            .map(alloy_primitives::U256::from),
        Value::String(_) => plan_builder::wire::Digits::deserialize(value)
            .ok()
            .map(|digits| digits.0),
        _ => None,
    }
}

const NUMBER: &str =
    "expected decimal digits without leading zeros, as text, or an integer of at most 2^53 - 1";

/// The form of an integer of up to 256 bits: reads text or a number, and writes decimal digits as
/// text.
pub(crate) mod uint256 {
    use alloy_primitives::U256;
    use serde::{Deserialize, Deserializer, Serializer, de::Error as _};
    use serde_json::Value;

    pub(crate) fn serialize<S: Serializer>(value: &U256, s: S) -> Result<S::Ok, S::Error> {
        s.collect_str(value)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(d: D) -> Result<U256, D::Error> {
        super::digits(&Value::deserialize(d)?).ok_or_else(|| D::Error::custom(super::NUMBER))
    }
}

/// The form of an integer of up to 64 bits: reads text or a number, and writes decimal digits as
/// text.
pub(crate) mod uint64 {
    use serde::{Deserialize, Deserializer, Serializer, de::Error as _};
    use serde_json::Value;

    pub(crate) fn serialize<S: Serializer>(value: &u64, s: S) -> Result<S::Ok, S::Error> {
        s.collect_str(value)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(d: D) -> Result<u64, D::Error> {
        super::digits(&Value::deserialize(d)?)
            .and_then(|number| u64::try_from(number).ok())
            .ok_or_else(|| D::Error::custom(super::NUMBER))
    }
}
