//! Reads untrusted JSON. Numbers stay as they were written: no float is ever made of one. Every
//! error names its place as a JSON path.
//!
//! The readers judge form and size only. Each adapter judges the values.

mod typed;

use std::{collections::BTreeMap, fmt};

use alloy_primitives::{Address, B256, Bytes, U256};
use exact::{Decimal, DecimalText};
use serde::{
    Deserialize, Deserializer,
    de::{Error as _, MapAccess, Visitor},
};
use serde_json::value::RawValue;

pub(crate) use self::typed::read_json;
use crate::{error::SourceErrorKind, text::clean, transport::not_json};

/// Text quoted in an error is cut to this many characters.
const QUOTED_CHARS: usize = 80;
/// Highest power of ten in a number in scientific notation.
const MAX_EXPONENT: u32 = 36;

type Read<T> = Result<T, SourceErrorKind>;

/// An unread value in an upstream's answer, with its JSON path.
#[derive(Clone, Debug)]
pub(crate) struct Json<'a> {
    text: &'a str,
    path: String,
}

impl<'a> Json<'a> {
    /// The whole body.
    pub(crate) fn document(body: &'a [u8]) -> Read<Self> {
        Self::parse(body, "$")
    }

    /// A document inside a string of another one, which is at `path`.
    pub(crate) fn nested(text: &'a str, path: &str) -> Read<Self> {
        Self::parse(text.as_bytes(), path)
    }

    fn parse(body: &'a [u8], path: &str) -> Read<Self> {
        let raw: &RawValue =
            serde_json::from_slice(body).map_err(|error| match not_json(&error) {
                SourceErrorKind::Malformed {
                    expected, observed, ..
                } => SourceErrorKind::Malformed {
                    path: path.to_owned(),
                    expected,
                    observed,
                },
                other => other,
            })?;
        Ok(Self {
            text: raw.get(),
            path: path.to_owned(),
        })
    }

    /// A document that was parsed before, at `path` of the whole body.
    pub(crate) fn of(raw: &'a RawValue, path: &str) -> Self {
        Self {
            text: raw.get(),
            path: path.to_owned(),
        }
    }

    /// The value as it was written, to be kept.
    pub(crate) fn to_raw(&self) -> Read<Box<RawValue>> {
        RawValue::from_string(self.text.to_owned()).map_err(|error| not_json(&error))
    }

    /// The value as it was written.
    pub(crate) fn raw(&self) -> &'a str {
        self.text
    }

    pub(crate) fn path(&self) -> &str {
        &self.path
    }

    /// Whether the value is `null`.
    pub(crate) fn is_null(&self) -> bool {
        self.text == "null"
    }

    /// Reads an object; an object with a repeated member is refused.
    pub(crate) fn object(&self) -> Read<Object<'a>> {
        if !self.text.starts_with('{') {
            return Err(self.malformed("an object"));
        }
        let members = serde_json::from_str(self.text)
            .map_err(|_| self.malformed("an object with each member once"))?;
        Ok(Object {
            members,
            path: self.path.clone(),
        })
    }

    /// A member of an object; `null` counts as missing.
    pub(crate) fn member(&self, key: &str) -> Read<Self> {
        self.object()?.member(key)
    }

    /// A member of an object; `None` when it is missing, `null` or `""`.
    pub(crate) fn find(&self, key: &str) -> Option<Self> {
        let member = self.object().ok()?.find(key);
        member.filter(|member| member.text != "\"\"")
    }

    pub(crate) fn elements(&self) -> Read<Vec<Self>> {
        let elements: Vec<&RawValue> =
            serde_json::from_str(self.text).map_err(|_| self.malformed("a list"))?;
        let at = |(index, raw): (usize, &'a RawValue)| Self {
            text: raw.get(),
            path: format!("{}[{index}]", self.path),
        };
        Ok(elements.into_iter().enumerate().map(at).collect())
    }

    /// The only element of a list.
    pub(crate) fn only(&self) -> Read<Self> {
        let [only] = self.exactly("a list of one element")?;
        Ok(only)
    }

    /// The elements of a list of exactly `N`.
    pub(crate) fn exactly<const N: usize>(&self, expected: &'static str) -> Read<[Self; N]> {
        <[Self; N]>::try_from(self.elements()?).map_err(|_| self.malformed(expected))
    }

    /// A string, unchanged.
    pub(crate) fn text(&self) -> Read<String> {
        if !self.text.starts_with('"') {
            return Err(self.malformed("a string"));
        }
        serde_json::from_str(self.text).map_err(|_| self.malformed("a string"))
    }

    /// A string for people, cleaned and cut.
    pub(crate) fn label(&self, max_chars: usize) -> Read<String> {
        let label = clean(&self.text()?, max_chars);
        (!label.is_empty())
            .then_some(label)
            .ok_or_else(|| self.malformed("a text"))
    }

    /// A string that is compared with ours. It is refused when cleaning would change it, because a
    /// hidden character must not make two texts equal.
    pub(crate) fn exact(&self, max_chars: usize) -> Read<String> {
        let text = self.text()?;
        (clean(&text, max_chars) == text)
            .then_some(text)
            .ok_or_else(|| self.malformed("a short text without hidden characters"))
    }

    pub(crate) fn flag(&self) -> Read<bool> {
        match self.text {
            "true" => Ok(true),
            "false" => Ok(false),
            _ => Err(self.malformed("true or false")),
        }
    }

    /// A flag, or its word as a string: some sources write it either way.
    pub(crate) fn flag_or_text(&self) -> Read<bool> {
        match self.text {
            "\"true\"" => Ok(true),
            "\"false\"" => Ok(false),
            _ => self.flag(),
        }
    }

    /// A number without sign, fraction and exponent.
    pub(crate) fn integer<T: std::str::FromStr>(&self) -> Read<T> {
        let digits = is_digits(self.text);
        digits
            .then(|| self.text.parse().ok())
            .flatten()
            .ok_or_else(|| self.malformed("a whole number"))
    }

    /// A number without fraction and exponent, of either sign.
    pub(crate) fn signed(&self) -> Read<i64> {
        let digits = is_digits(self.text.strip_prefix('-').unwrap_or(self.text));
        digits
            .then(|| self.text.parse().ok())
            .flatten()
            .ok_or_else(|| self.malformed("a whole number"))
    }

    /// A number as it was written, or a string with a plain decimal number; exact and unsigned.
    pub(crate) fn decimal(&self) -> Read<Decimal> {
        let decimal = match self.text.bytes().next() {
            Some(b'"') => self.text()?.parse().ok(),
            _ => number(self.text),
        };
        decimal.ok_or_else(|| self.malformed("an unsigned decimal number of at most 36 digits"))
    }

    /// A string with a plain decimal number of any length, as it was written.
    pub(crate) fn decimal_text(&self) -> Read<DecimalText> {
        self.text()
            .ok()
            .and_then(|text| DecimalText::parse(&text).ok())
            .ok_or_else(|| self.malformed("a string with a plain decimal number"))
    }

    /// A string, or an integer as its digits: some members are documented as either.
    pub(crate) fn code(&self) -> Read<String> {
        let integer = is_digits(self.text.strip_prefix('-').unwrap_or(self.text));
        match integer {
            true => Ok(self.text.to_owned()),
            false => self
                .text()
                .map_err(|_| self.malformed("a string or an integer")),
        }
    }

    /// A string of decimal digits within 256 bits.
    pub(crate) fn digits(&self) -> Read<U256> {
        self.text()
            .ok()
            .and_then(|text| exact::parse_digits(&text))
            .ok_or_else(|| self.malformed("a string of decimal digits"))
    }

    /// A string with `0x` and at most 64 hexadecimal digits, or with decimal digits.
    pub(crate) fn quantity(&self) -> Read<U256> {
        let read = |text: String| match text.strip_prefix("0x") {
            Some(hex) => {
                let plain = (1..=64).contains(&hex.len())
                    && hex.bytes().all(|digit| digit.is_ascii_hexdigit());
                plain.then(|| U256::from_str_radix(hex, 16).ok()).flatten()
            }
            None => exact::parse_digits(&text),
        };
        self.text()
            .ok()
            .and_then(read)
            .ok_or_else(|| self.malformed("a quantity in hexadecimal or decimal digits"))
    }

    pub(crate) fn address(&self) -> Read<Address> {
        self.hexadecimal()
            .and_then(|bytes| Address::try_from(bytes.as_slice()).ok())
            .ok_or_else(|| self.malformed("an address"))
    }

    pub(crate) fn word(&self) -> Read<B256> {
        self.hexadecimal()
            .and_then(|bytes| B256::try_from(bytes.as_slice()).ok())
            .ok_or_else(|| self.malformed("32 bytes in hexadecimal"))
    }

    pub(crate) fn bytes(&self) -> Read<Bytes> {
        self.hexadecimal()
            .map(Bytes::from)
            .ok_or_else(|| self.malformed("0x and hexadecimal bytes"))
    }

    fn hexadecimal(&self) -> Option<Vec<u8>> {
        exact::parse_hex(&self.text().ok()?)
    }

    pub(crate) fn malformed(&self, expected: &'static str) -> SourceErrorKind {
        SourceErrorKind::Malformed {
            path: self.path.clone(),
            expected,
            observed: clean(self.text, QUOTED_CHARS),
        }
    }
}

/// An object, split into its members.
#[derive(Clone, Debug)]
pub(crate) struct Object<'a> {
    members: Members<'a>,
    path: String,
}

impl<'a> Object<'a> {
    /// A required member; `null` counts as missing.
    pub(crate) fn member(&self, key: &str) -> Read<Json<'a>> {
        self.find(key).ok_or_else(|| SourceErrorKind::Malformed {
            path: format!("{}.{key}", self.path),
            expected: "a member",
            observed: "nothing".to_owned(),
        })
    }

    /// A member that may be missing or `null`.
    pub(crate) fn find(&self, key: &str) -> Option<Json<'a>> {
        let raw = self.members.0.get(key)?;
        let json = Json {
            text: raw.get(),
            path: format!("{}.{key}", self.path),
        };
        (!json.is_null()).then_some(json)
    }

    /// A required member that may be `null`.
    pub(crate) fn nullable(&self, key: &str) -> Read<Option<Json<'a>>> {
        if self.members.0.contains_key(key) {
            Ok(self.find(key))
        } else {
            self.member(key).map(Some)
        }
    }

    /// A flag that a source leaves out when it is false.
    pub(crate) fn flag_or_false(&self, key: &str) -> Read<bool> {
        self.find(key).map_or(Ok(false), |json| json.flag())
    }
}

#[derive(Clone, Debug)]
struct Members<'a>(BTreeMap<String, &'a RawValue>);

impl<'de: 'a, 'a> Deserialize<'de> for Members<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Once;

        impl<'de> Visitor<'de> for Once {
            type Value = BTreeMap<String, &'de RawValue>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = BTreeMap::new();
                while let Some((key, value)) = map.next_entry::<String, &RawValue>()? {
                    if members.insert(key, value).is_some() {
                        return Err(A::Error::custom("a member twice"));
                    }
                }
                Ok(members)
            }
        }

        deserializer.deserialize_map(Once).map(Self)
    }
}

fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|digit| digit.is_ascii_digit())
}

/// The exact value of a JSON number: serialisers write small ones as `1e-7`.
fn number(text: &str) -> Option<Decimal> {
    let Some((digits, exponent)) = text.split_once(['e', 'E']) else {
        return text.parse().ok();
    };
    let digits: Decimal = digits.parse().ok()?;
    let (down, places) = match exponent.strip_prefix('-') {
        Some(places) => (true, places),
        None => (false, exponent.strip_prefix('+').unwrap_or(exponent)),
    };
    let places: u32 = places
        .parse()
        .ok()
        .filter(|places| *places <= MAX_EXPONENT)?;
    let scale = u32::from(digits.scale());
    let (mantissa, scale) = if down {
        (digits.mantissa(), scale.checked_add(places)?)
    } else {
        let beyond = places.saturating_sub(scale);
        let grown = digits.mantissa().checked_mul(10u128.checked_pow(beyond)?)?;
        (grown, scale.saturating_sub(places))
    };
    Decimal::new(mantissa, u8::try_from(scale).ok()?).ok()
}

#[cfg(test)]
mod tests;
