//! Strict JSON: no duplicate member anywhere, and nothing after the value.
//!
//! [`parse_json`] names the duplicates by their paths. It leaves it to the caller to refuse unknown
//! members, floats and values of a wrong type.

use std::{cell::RefCell, fmt};

use serde::de::{DeserializeSeed, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

use crate::shortened;

/// The most defects that are reported for one text. A text with more duplicates counts as no JSON.
const MOST_DEFECTS: usize = 32;

/// The most characters of a foreign name that are repeated in a path.
const SHOWN: usize = 80;

/// One defect of a JSON text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{path}: expected {expected}, got {observed}")]
pub struct JsonDefect {
    /// The path of the defect, for example `$.slippage.maxBps`. Foreign names in it are shortened
    /// and have no control characters.
    pub path: String,
    /// The expected value.
    pub expected: &'static str,
    /// The observed value.
    pub observed: String,
}

/// Parses JSON text. Numbers that are not exact 64-bit integers stay floats: the caller refuses
/// them.
///
/// # Errors
/// The duplicate members with their paths, at most 32, or one problem at `$` for text that is not
/// JSON (or nested deeper than 128).
///
/// ```
/// assert!(exact::parse_json(r#"{"a":1}"#).is_ok());
/// let defects = exact::parse_json(r#"{"a":1,"\u0061":2}"#).unwrap_err();
/// assert_eq!(defects[0].to_string(), "$.a: expected each member once, got a duplicate member");
/// ```
pub fn parse_json(text: &str) -> Result<Value, Vec<JsonDefect>> {
    let defects = RefCell::new(Vec::new());
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let seed = Node {
        path: Path::Root,
        defects: &defects,
    };
    let parsed = seed
        .deserialize(&mut deserializer)
        .and_then(|value| deserializer.end().map(|()| value));
    let found = defects.into_inner();
    match parsed {
        Ok(value) if found.is_empty() => Ok(value),
        // After the greatest number of defects the rest of the text is not read.
        Err(error) if found.len() < MOST_DEFECTS => Err(vec![JsonDefect {
            path: "$".to_owned(),
            expected: "JSON",
            observed: format!(
                "an error at line {} column {}",
                error.line(),
                error.column()
            ),
        }]),
        _ => Err(found),
    }
}

/// The path to a value, as a link to its parent. It becomes text only when a defect is reported.
#[derive(Clone, Copy)]
enum Path<'a> {
    Root,
    Member(&'a Path<'a>, &'a str),
    Item(&'a Path<'a>, usize),
}

impl fmt::Display for Path<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Root => f.write_str("$"),
            Self::Member(parent, name) => write!(f, "{parent}.{}", shortened(name, SHOWN)),
            Self::Item(parent, index) => write!(f, "{parent}[{index}]"),
        }
    }
}

struct Node<'a> {
    path: Path<'a>,
    defects: &'a RefCell<Vec<JsonDefect>>,
}

impl<'de> DeserializeSeed<'de> for Node<'_> {
    type Value = Value;

    fn deserialize<D: serde::Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Node<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<Value, E> {
        Number::from_f64(value)
            .map(Value::Number)
            .ok_or_else(|| E::custom("a number out of range"))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::String(value.to_owned()))
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(Value::String(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<Value, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = access.next_element_seed(Node {
            path: Path::Item(&self.path, items.len()),
            defects: self.defects,
        })? {
            items.push(item);
        }
        Ok(Value::Array(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Value, A::Error> {
        let mut members = Map::new();
        while let Some(name) = access.next_key::<String>()? {
            let path = Path::Member(&self.path, &name);
            let value = access.next_value_seed(Node {
                path,
                defects: self.defects,
            })?;
            if members.contains_key(&name) {
                let mut defects = self.defects.borrow_mut();
                defects.push(JsonDefect {
                    path: path.to_string(),
                    expected: "each member once",
                    observed: "a duplicate member".to_owned(),
                });
                if defects.len() >= MOST_DEFECTS {
                    return Err(A::Error::custom("too many duplicate members"));
                }
            }
            members.insert(name, value);
        }
        Ok(Value::Object(members))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn duplicates_are_named_at_every_depth() {
        let defects = parse_json(r#"{"a":1,"b":{"c":1,"c":2},"a":[{"d":1,"d":1}]}"#).unwrap_err();
        let paths: Vec<_> = defects.iter().map(|p| p.path.as_str()).collect();
        assert_eq!(paths, ["$.b.c", "$.a[0].d", "$.a"]);
    }

    #[test]
    fn the_first_duplicates_of_many_are_named() {
        for (members, named) in [(2, 1), (32, 31), (33, 32), (34, 32), (500, 32)] {
            let text = format!("{{{}}}", vec![r#""a":1"#; members].join(","));
            let defects = parse_json(&text).unwrap_err();
            assert_eq!(defects.len(), named, "{members}");
            assert!(defects.iter().all(|defect| defect.path == "$.a"));
        }
    }

    #[test]
    fn an_escaped_name_is_the_same_name() {
        assert_eq!(
            parse_json(r#"{"a":1,"\u0061":2}"#).unwrap_err()[0].path,
            "$.a"
        );
    }

    #[test]
    fn text_that_is_not_json_is_refused() {
        for text in [
            "",
            "{",
            "{}x",
            "{\"a\":1,}",
            "NaN",
            "1e999",
            &"[".repeat(200),
        ] {
            let defects = parse_json(text).unwrap_err();
            assert_eq!(defects[0].path, "$", "{text}");
        }
    }

    #[test]
    fn values_are_kept() {
        let text = r#"{"a":[1,-2,18446744073709551615,"x",null,true],"b":{}}"#;
        assert_eq!(
            parse_json(text).unwrap(),
            serde_json::from_str::<Value>(text).unwrap()
        );
    }
}
