//! The problems of a request's parameters. Each has a path, a code and a message.

use std::fmt;

use serde::ser::{Serialize, SerializeMap, Serializer};

/// The longest piece of a caller's text that a problem shows, in characters.
const MAX_OBSERVED_CHARS: usize = 64;

/// The most problems that are reported for one request.
pub(crate) const MAX_PROBLEMS: usize = 32;

/// One problem with one parameter. The answer lists all problems of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The path of the parameter: `query.token`, `body.slippage`, `body.rules.check_interval`,
    /// `body`.
    pub path: String,
    /// The kind of the problem.
    pub fault: ParameterFault,
}

impl Problem {
    pub(crate) fn new(path: impl Into<String>, fault: ParameterFault) -> Self {
        Self {
            path: path.into(),
            fault,
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path, self.fault)
    }
}

impl Serialize for Problem {
    /// Writes `{"path", "code", "message", "expected"?, "observed"?}`.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("path", &self.path)?;
        map.serialize_entry("code", self.fault.code())?;
        map.serialize_entry("message", &self.fault.to_string())?;
        if let Some(expected) = self.fault.expected() {
            map.serialize_entry("expected", expected)?;
        }
        if let Some(observed) = self.fault.observed() {
            map.serialize_entry("observed", observed)?;
        }
        map.end()
    }
}

/// The kinds of problem that a parameter can have.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ParameterFault {
    /// A required parameter is absent.
    #[error("is required: expected {expected}")]
    Missing {
        /// The rule in words.
        expected: String,
    },
    /// A parameter is given more than once.
    #[error("is given {observed} times, expected once")]
    Duplicate {
        /// How often it is given.
        observed: usize,
    },
    /// The route does not take a parameter of this name.
    #[error("is not a name this route takes{}, expected {expected}", meant(.nearest))]
    Unknown {
        /// The name that the caller probably means.
        nearest: Option<&'static str>,
        /// The names that the route takes.
        expected: String,
    },
    /// The value breaks the parameter's rule.
    #[error("expected {expected}, observed {observed}")]
    Invalid {
        /// The rule in words.
        expected: String,
        /// The shortened value; only its length when the value may be private.
        observed: String,
    },
    /// The JSON value has another type.
    #[error("expected {expected}, observed {observed}")]
    WrongType {
        /// The rule in words.
        expected: String,
        /// The type of the JSON value.
        observed: &'static str,
    },
    /// A `%` is not followed by two hexadecimal digits.
    #[error("expected two hexadecimal digits after %, observed {observed}")]
    Escape {
        /// The escape, shortened.
        observed: String,
    },
    /// The percent-decoded bytes are not UTF-8.
    #[error("expected UTF-8 after percent-decoding, observed an invalid byte at offset {offset}")]
    NotUtf8 {
        /// The position of the first bad byte in the decoded value.
        offset: usize,
    },
    /// The body is not JSON.
    #[error("expected a JSON object, observed invalid JSON at line {line} column {column}")]
    NotJson {
        /// The line of the first bad byte, from 1.
        line: usize,
        /// The column of the first bad byte, from 0.
        column: usize,
    },
    /// The body nests deeper than any route needs.
    #[error("expected at most {expected} levels of nesting")]
    TooDeep {
        /// The limit.
        expected: usize,
    },
    /// Two values that must differ are the same.
    #[error("must differ from {other}")]
    Same {
        /// The other parameter.
        other: &'static str,
    },
    /// The caller gives none, or more than one, of a group that needs exactly one.
    #[error("expected exactly one of {}, observed {observed}", .names.join(" or "))]
    NotExactlyOne {
        /// The group.
        names: &'static [&'static str],
        /// How many of them the caller gives.
        observed: usize,
    },
    /// The caller gives more than one of a group.
    #[error("expected at most one of {}, observed {observed}", .names.join(" or "))]
    MoreThanOne {
        /// The group.
        names: &'static [&'static str],
        /// How many of them the caller gives.
        observed: usize,
    },
    /// The caller gives a parameter without the one that it needs.
    #[error("is taken only together with {other}")]
    Alone {
        /// The parameter that it needs.
        other: &'static str,
    },
    /// The end of a range lies before its start.
    #[error("must not be before {other}")]
    Before {
        /// The parameter that begins the range.
        other: &'static str,
    },
    /// The request has more problems than are reported.
    #[error("has more problems than the {reported} that are listed")]
    TooMany {
        /// The number of listed problems.
        reported: usize,
    },
}

fn meant(nearest: &Option<&'static str>) -> String {
    nearest.map_or_else(String::new, |name| format!(" (did you mean {name}?)"))
}

impl ParameterFault {
    /// Returns the stable code of this kind of problem.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Missing { .. } => "missing",
            Self::Duplicate { .. } => "duplicate",
            Self::Unknown { .. } => "unknown",
            Self::Invalid { .. } => "invalid",
            Self::WrongType { .. } => "wrong_type",
            Self::Escape { .. } => "bad_escape",
            Self::NotUtf8 { .. } => "not_utf8",
            Self::NotJson { .. } => "not_json",
            Self::TooDeep { .. } => "too_deep",
            Self::Same { .. } => "same",
            Self::NotExactlyOne { .. } => "not_exactly_one",
            Self::MoreThanOne { .. } => "more_than_one",
            Self::Alone { .. } => "alone",
            Self::Before { .. } => "before",
            Self::TooMany { .. } => "too_many",
        }
    }

    /// Returns the rule in words. `None` for a problem that is not about one.
    pub fn expected(&self) -> Option<&str> {
        match self {
            Self::Missing { expected }
            | Self::Unknown { expected, .. }
            | Self::Invalid { expected, .. }
            | Self::WrongType { expected, .. } => Some(expected),
            _ => None,
        }
    }

    /// Returns the observed value, shortened. `None` for a problem without one.
    pub fn observed(&self) -> Option<&str> {
        match self {
            Self::Invalid { observed, .. } | Self::Escape { observed } => Some(observed),
            Self::WrongType { observed, .. } => Some(observed),
            _ => None,
        }
    }
}

/// Quotes, escapes and shortens a caller's text for a problem.
pub(crate) fn shown(text: &str) -> String {
    match text.char_indices().nth(MAX_OBSERVED_CHARS) {
        None => format!("{text:?}"),
        Some((end, _)) => {
            let kept = text.get(..end).unwrap_or_default();
            format!("{kept:?}… ({} characters)", text.chars().count())
        }
    }
}

/// Makes a part of a path from a caller's key. A key that could be taken for more than one part is
/// quoted and shortened.
pub(crate) fn path_segment(key: &str) -> String {
    let plain = !key.is_empty()
        && key.len() <= MAX_OBSERVED_CHARS
        && key
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-');
    if plain { key.to_owned() } else { shown(key) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_text_is_shortened_and_control_characters_are_escaped() {
        assert_eq!(shown("0x12"), "\"0x12\"");
        assert_eq!(shown("a\n\u{202e}b"), "\"a\\n\\u{202e}b\"");
        let long = shown(&"é".repeat(500));
        assert!(long.ends_with("… (500 characters)"), "{long}");
        assert!(long.chars().count() < 100);
    }

    #[test]
    fn paths_cannot_be_forged_by_a_key() {
        assert_eq!(path_segment("to_token"), "to_token");
        assert_eq!(path_segment("a.b"), "\"a.b\"");
        assert_eq!(path_segment(""), "\"\"");
    }

    #[test]
    fn a_problem_serialises_the_expected_and_the_observed_value() {
        let problem = Problem::new(
            "query.token",
            ParameterFault::Invalid {
                expected: "an EVM address".into(),
                observed: shown("0x12"),
            },
        );
        let json = serde_json::to_value(&problem).unwrap();
        assert_eq!(
            json,
            serde_json::json!({
                "path": "query.token",
                "code": "invalid",
                "message": "expected an EVM address, observed \"0x12\"",
                "expected": "an EVM address",
                "observed": "\"0x12\"",
            })
        );
    }
}
