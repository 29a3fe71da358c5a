//! Reading of untrusted JSON where every disappointment says its place.

use alloy_primitives::{Address, U256};
use serde_json::Value;

use crate::{decimal::Decimal, error::SourceErrorKind, text::clean, transport::QUOTED_CHARS};

/// A place in an upstream's answer, with its JSON pointer.
#[derive(Clone, Debug)]
pub(crate) struct Node<'a> {
    value: &'a Value,
    path: String,
}

impl<'a> Node<'a> {
    pub(crate) fn root(value: &'a Value) -> Self {
        Self {
            value,
            path: String::new(),
        }
    }

    pub(crate) fn value(&self) -> &'a Value {
        self.value
    }

    /// A member that must be there.
    pub(crate) fn member(&self, key: &'static str) -> Result<Self, SourceErrorKind> {
        self.find(key).ok_or_else(|| SourceErrorKind::Malformed {
            path: format!("{}/{key}", self.path),
            expected: "a member",
            observed: "nothing".to_owned(),
        })
    }

    /// A member that may be missing; `null` and `""` count as missing.
    pub(crate) fn find(&self, key: &str) -> Option<Self> {
        let value = self.value.get(key)?;
        let absent = value.is_null() || value.as_str() == Some("");
        (!absent).then(|| Self {
            value,
            path: format!("{}/{key}", self.path),
        })
    }

    pub(crate) fn elements(&self) -> Result<Vec<Self>, SourceErrorKind> {
        let elements = self
            .value
            .as_array()
            .ok_or_else(|| self.malformed("a list"))?;
        Ok(elements
            .iter()
            .enumerate()
            .map(|(index, value)| Self {
                value,
                path: format!("{}/{index}", self.path),
            })
            .collect())
    }

    /// The only element of a list.
    pub(crate) fn only(&self) -> Result<Self, SourceErrorKind> {
        let mut elements = self.elements()?;
        match (elements.pop(), elements.is_empty()) {
            (Some(only), true) => Ok(only),
            _ => Err(self.malformed("a list of one element")),
        }
    }

    pub(crate) fn text(&self) -> Result<&'a str, SourceErrorKind> {
        self.value
            .as_str()
            .ok_or_else(|| self.malformed("a string"))
    }

    /// A string, or an integer as its digits: some members are documented as either.
    pub(crate) fn code(&self) -> Result<String, SourceErrorKind> {
        match self.value {
            Value::String(text) => Ok(text.clone()),
            Value::Number(number) if number.is_u64() || number.is_i64() => Ok(number.to_string()),
            _ => Err(self.malformed("a string or an integer")),
        }
    }

    /// A string of decimal digits within 256 bits.
    pub(crate) fn atoms(&self) -> Result<U256, SourceErrorKind> {
        let text = self.text()?;
        let digits =
            !text.is_empty() && text.len() <= 78 && text.bytes().all(|b| b.is_ascii_digit());
        digits
            .then(|| U256::from_str_radix(text, 10).ok())
            .flatten()
            .ok_or_else(|| self.malformed("a string of decimal digits"))
    }

    pub(crate) fn decimal(&self) -> Result<Decimal, SourceErrorKind> {
        Decimal::parse(self.text()?)
            .map_err(|_| self.malformed("a string with a plain decimal number"))
    }

    pub(crate) fn address(&self) -> Result<Address, SourceErrorKind> {
        let text = self.text()?;
        let hex = text.strip_prefix("0x").filter(|hex| hex.len() == 40);
        hex.and_then(|_| text.parse().ok())
            .ok_or_else(|| self.malformed("an address"))
    }

    pub(crate) fn bytes(&self) -> Result<Vec<u8>, SourceErrorKind> {
        let text = self.text()?;
        let hex = text.strip_prefix("0x").filter(|hex| hex.len() % 2 == 0);
        hex.and_then(|hex| alloy_primitives::hex::decode(hex).ok())
            .ok_or_else(|| self.malformed("0x and hexadecimal bytes"))
    }

    pub(crate) fn malformed(&self, expected: &'static str) -> SourceErrorKind {
        SourceErrorKind::Malformed {
            path: self.path.clone(),
            expected,
            observed: clean(&self.value.to_string(), QUOTED_CHARS),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_disappointment_names_its_place() {
        let json = json!({"data": [{"price": 1.5, "to": "0x12", "n": "-1", "none": ""}]});
        let row = Node::root(&json).member("data").unwrap().only().unwrap();
        let place = |result: Result<(), SourceErrorKind>| match result {
            Err(SourceErrorKind::Malformed { path, .. }) => path,
            other => panic!("{other:?}"),
        };
        assert_eq!(
            place(row.member("price").and_then(|n| n.decimal()).map(drop)),
            "/data/0/price"
        );
        assert_eq!(
            place(row.member("to").and_then(|n| n.address()).map(drop)),
            "/data/0/to"
        );
        assert_eq!(
            place(row.member("n").and_then(|n| n.atoms()).map(drop)),
            "/data/0/n"
        );
        assert_eq!(place(row.member("none").map(drop)), "/data/0/none");
        assert!(row.find("none").is_none() && row.find("missing").is_none());
    }
}
