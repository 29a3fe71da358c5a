//! The members of one object, each kept as text.
//!
//! Names are unique and compared as they decode. The values are not parsed: each caller reads the
//! ones that it needs.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserialize, Deserializer, Error as _, MapAccess, Visitor};
use serde_json::value::RawValue;
use thiserror::Error;

/// The reason why a text is not an object with unique names.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub(crate) enum MembersError {
    /// The text is not JSON.
    #[error("not JSON: line {line}, column {column}")]
    Syntax {
        /// Counted from 1.
        line: usize,
        /// Counted from 1.
        column: usize,
    },
    /// The value is not an object.
    #[error("expected an object")]
    NotAnObject,
    /// A name occurs twice. Choosing one of its values would be a guess.
    #[error("the member {name:?} occurs twice")]
    Duplicate {
        /// The name.
        name: String,
    },
}

/// A member's value.
pub(crate) type Member<'a> = &'a RawValue;

/// The members of an object in their order. No two have the same name.
#[derive(Debug, Clone, Default)]
pub(crate) struct Members<'a>(Vec<(Cow<'a, str>, Member<'a>)>);

impl<'a> Members<'a> {
    /// Reads an object.
    pub(crate) fn parse(text: &'a str) -> Result<Self, MembersError> {
        let members: Self = serde_json::from_str(text).map_err(|error| {
            if error.is_data() {
                MembersError::NotAnObject
            } else {
                MembersError::Syntax {
                    line: error.line(),
                    column: error.column(),
                }
            }
        })?;
        match members.duplicate() {
            Some(name) => Err(MembersError::Duplicate {
                // Every name that has a meaning here is shorter.
                name: name.chars().take(64).collect(),
            }),
            None => Ok(members),
        }
    }

    /// The value of a member.
    pub(crate) fn find(&self, name: &str) -> Option<Member<'a>> {
        let found = self.0.iter().find(|(found, _)| found == name);
        found.map(|(_, value)| *value)
    }

    fn duplicate(&self) -> Option<&str> {
        let mut names: Vec<&str> = self.0.iter().map(|(name, _)| name.as_ref()).collect();
        names.sort_unstable();
        let mut pairs = names.iter().zip(names.iter().skip(1));
        pairs
            .find(|(name, next)| name == next)
            .map(|(name, _)| *name)
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Members<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Read;
        impl<'de> Visitor<'de> for Read {
            type Value = Members<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members<'de>, A::Error> {
                let mut members = Vec::with_capacity(8);
                while let Some(Name(name)) = map.next_key()? {
                    members.push((name, map.next_value()?));
                }
                Ok(Members(members))
            }
        }
        deserializer.deserialize_map(Read)
    }
}

/// A member's name, borrowed unless it has escapes.
struct Name<'a>(Cow<'a, str>);

impl<'de> Deserialize<'de> for Name<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Read;
        impl<'de> Visitor<'de> for Read {
            type Value = Name<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a name")
            }
            fn visit_borrowed_str<E: serde::de::Error>(
                self,
                name: &'de str,
            ) -> Result<Name<'de>, E> {
                Ok(Name(Cow::Borrowed(name)))
            }
            fn visit_str<E: serde::de::Error>(self, name: &str) -> Result<Name<'de>, E> {
                Ok(Name(Cow::Owned(name.to_owned())))
            }
        }
        deserializer.deserialize_str(Read).map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_are_found_by_their_decoded_names() {
        let members =
            Members::parse(" {\"a\" : 1, \"\\u0062\": {\"x\":[ 1 ]}, \"c\":null} ").unwrap();
        let text = |name: &str| members.find(name).map(RawValue::get);
        assert_eq!(text("a"), Some("1"));
        assert_eq!(text("b"), Some("{\"x\":[ 1 ]}"));
        assert_eq!(text("c"), Some("null"));
        assert_eq!(text("d"), None);
    }

    #[test]
    fn a_value_that_is_no_object_is_refused_by_kind() {
        for text in ["[]", "[{}]", "1", "null", "\"{}\"", "true"] {
            let refused = Members::parse(text).unwrap_err();
            assert_eq!(refused, MembersError::NotAnObject, "{text}");
        }
        for text in [
            "",
            "{",
            "{}x",
            "{a:1}",
            "{\"a\":}",
            "{\"a\":1,}",
            "\u{feff}{}",
            "{\"a\":01}",
        ] {
            let refused = Members::parse(text).unwrap_err();
            assert!(
                matches!(refused, MembersError::Syntax { .. }),
                "{text} {refused}"
            );
        }
    }

    #[test]
    fn a_name_cannot_occur_twice_in_any_spelling() {
        for text in ["{\"a\":1,\"a\":1}", "{\"a\":1,\"b\":2,\"\\u0061\":3}"] {
            let refused = Members::parse(text).unwrap_err();
            assert_eq!(
                refused,
                MembersError::Duplicate {
                    name: "a".to_owned()
                }
            );
        }
    }

    #[test]
    fn many_members_cost_no_more_than_sorting_them() {
        let names: Vec<String> = (0..200_000).map(|n| format!("\"{n}\":0")).collect();
        let text = format!("{{{}}}", names.join(","));
        assert!(Members::parse(&text).unwrap().find("199999").is_some());
    }
}
