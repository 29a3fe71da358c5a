//! Reads JSON bodies without losing duplicate keys, and limits their nesting. `parse` compares the
//! result with a route's parameters.

use std::{cell::Cell, fmt};

use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};

use crate::problem::ParameterFault;

/// The deepest nesting of a body. The routes need three levels at most; one level more allows a
/// more useful message.
pub(crate) const MAX_DEPTH: usize = 4;

/// A JSON value with every member of every object, including repeated ones.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Json {
    Null,
    Boolean(bool),
    /// A number that fits into a `u64`.
    Integer(u64),
    /// Any other number.
    Number,
    Text(String),
    List(Vec<Json>),
    Object(Vec<(String, Json)>),
}

impl Json {
    /// Reads one JSON text of at most [`MAX_DEPTH`] levels. A byte-order mark before it is ignored.
    pub(crate) fn parse(bytes: &[u8]) -> Result<Self, ParameterFault> {
        let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
        let too_deep = Cell::new(false);
        let mut deserializer = serde_json::Deserializer::from_slice(bytes);
        let parsed = Seed {
            depth: 0,
            too_deep: &too_deep,
        }
        .deserialize(&mut deserializer)
        .and_then(|json| deserializer.end().map(|()| json));
        parsed.map_err(|error| {
            if too_deep.get() {
                ParameterFault::TooDeep {
                    expected: MAX_DEPTH,
                }
            } else {
                ParameterFault::NotJson {
                    line: error.line(),
                    column: error.column(),
                }
            }
        })
    }

    /// Returns the type in words.
    pub(crate) const fn kind(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Boolean(_) => "a boolean",
            Self::Integer(_) | Self::Number => "a number",
            Self::Text(_) => "a string",
            Self::List(_) => "a list",
            Self::Object(_) => "an object",
        }
    }
}

#[derive(Clone, Copy)]
struct Seed<'a> {
    depth: usize,
    too_deep: &'a Cell<bool>,
}

impl Seed<'_> {
    fn deeper<E: serde::de::Error>(self) -> Result<Self, E> {
        if self.depth >= MAX_DEPTH {
            self.too_deep.set(true);
            return Err(E::custom("too deep"));
        }
        Ok(Self {
            depth: self.depth + 1,
            ..self
        })
    }
}

impl<'de> DeserializeSeed<'de> for Seed<'_> {
    type Value = Json;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Json, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Seed<'_> {
    type Value = Json;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Json, E> {
        Ok(Json::Null)
    }

    fn visit_bool<E>(self, boolean: bool) -> Result<Json, E> {
        Ok(Json::Boolean(boolean))
    }

    fn visit_u64<E>(self, integer: u64) -> Result<Json, E> {
        Ok(Json::Integer(integer))
    }

    fn visit_i64<E>(self, _: i64) -> Result<Json, E> {
        Ok(Json::Number)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Json, E> {
        Ok(Json::Number)
    }

    fn visit_str<E>(self, text: &str) -> Result<Json, E> {
        Ok(Json::Text(text.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut entries: A) -> Result<Json, A::Error> {
        let seed = self.deeper()?;
        let mut list = Vec::new();
        while let Some(entry) = entries.next_element_seed(seed)? {
            list.push(entry);
        }
        Ok(Json::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Json, A::Error> {
        let seed = self.deeper()?;
        let mut object = Vec::new();
        while let Some(key) = members.next_key::<String>()? {
            if object.len() == MAX_MEMBERS {
                return Err(A::Error::custom("too many members"));
            }
            object.push((key, members.next_value_seed(seed)?));
        }
        Ok(Json::Object(object))
    }
}

/// The most members of one object. This is far more than any route has, and it bounds the search
/// for duplicates.
const MAX_MEMBERS: usize = 256;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn repeated_keys_are_kept() {
        let json = Json::parse(br#"{"a":1,"a":"x"}"#).unwrap();
        let expected = vec![
            ("a".to_owned(), Json::Integer(1)),
            ("a".to_owned(), Json::Text("x".to_owned())),
        ];
        assert_eq!(json, Json::Object(expected));
    }

    #[test]
    fn one_byte_order_mark_is_ignored() {
        assert_eq!(
            Json::parse("\u{feff}{}".as_bytes()),
            Ok(Json::Object(Vec::new()))
        );
        assert!(Json::parse("\u{feff}\u{feff}{}".as_bytes()).is_err());
    }

    #[test]
    fn nesting_is_limited() {
        assert!(Json::parse(b"[[[[1]]]]").is_ok());
        let too_deep = Err(ParameterFault::TooDeep {
            expected: MAX_DEPTH,
        });
        assert_eq!(Json::parse(b"[[[[[1]]]]]"), too_deep);
        assert_eq!(Json::parse("[".repeat(60_000).as_bytes()), too_deep);
        assert_eq!(Json::parse("{\"a\":".repeat(10_000).as_bytes()), too_deep);
    }

    #[test]
    fn malformed_json_is_refused_with_its_place() {
        assert_eq!(
            Json::parse(b""),
            Err(ParameterFault::NotJson { line: 1, column: 0 })
        );
        assert_eq!(
            Json::parse(b"{\n\"a\":}"),
            Err(ParameterFault::NotJson { line: 2, column: 5 })
        );
        for text in [
            &b"{} x"[..],
            b"{\"a\":1,}",
            b"{\"a\":\"\xff\"}",
            b"nul",
            b"'a'",
            b"{a:1}",
        ] {
            assert!(
                matches!(Json::parse(text), Err(ParameterFault::NotJson { .. })),
                "{text:?}"
            );
        }
    }

    #[test]
    fn numbers_that_are_not_u64_keep_no_value() {
        for text in ["-1", "1.0", "1e3", "18446744073709551616"] {
            assert_eq!(Json::parse(text.as_bytes()), Ok(Json::Number), "{text}");
        }
        assert_eq!(
            Json::parse(b"18446744073709551615"),
            Ok(Json::Integer(u64::MAX))
        );
    }

    proptest! {
        #[test]
        fn no_bytes_panic(bytes in any::<Vec<u8>>()) {
            let _ = Json::parse(&bytes);
        }
    }
}
