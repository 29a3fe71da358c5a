//! The parts of a request, and the rules by which a recorded answer matches it.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

/// A request, split into its parts.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Asked {
    pub(crate) method: String,
    pub(crate) host: String,
    pub(crate) path: String,
    pub(crate) query: BTreeMap<String, String>,
    pub(crate) body: Option<Value>,
}

/// The requests that an entry answers. A request must match in every part.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Matcher {
    method: String,
    host: String,
    /// Must equal the request's path. A segment `*` matches any one segment.
    path: String,
    /// Each member must be in the request's query. A value `*` matches any value. The request may
    /// have further members.
    #[serde(default)]
    query: BTreeMap<String, String>,
    /// Must equal the request's JSON body. A string `*` matches any value in its place. Without it,
    /// every body matches.
    #[serde(default)]
    body: Option<Value>,
}

impl Matcher {
    pub(super) fn matches(&self, asked: &Asked) -> bool {
        let query = |(name, value): (&String, &String)| {
            asked
                .query
                .get(name)
                .is_some_and(|asked| value == "*" || asked == value)
        };
        self.method == asked.method
            && self.host == asked.host
            && path(&self.path, &asked.path)
            && self.query.iter().all(query)
            && match (&self.body, &asked.body) {
                (None, _) => true,
                (Some(expected), Some(asked)) => same(expected, asked),
                (Some(_), None) => false,
            }
    }
}

fn path(expected: &str, asked: &str) -> bool {
    let (expected, asked) = (expected.split('/'), asked.split('/'));
    expected.clone().count() == asked.clone().count()
        && expected.zip(asked).all(|(e, a)| e == a || e == "*")
}

fn same(expected: &Value, asked: &Value) -> bool {
    match (expected, asked) {
        (Value::String(any), _) if any == "*" => true,
        (Value::Array(expected), Value::Array(asked)) => {
            expected.len() == asked.len() && expected.iter().zip(asked).all(|(e, a)| same(e, a))
        }
        (Value::Object(expected), Value::Object(asked)) => {
            expected.len() == asked.len()
                && expected
                    .iter()
                    .all(|(key, e)| asked.get(key).is_some_and(|a| same(e, a)))
        }
        (expected, asked) => expected == asked,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_in_a_path_is_one_segment() {
        assert!(path("/fees/6/*", "/fees/6/3") && path("/fees/6/3", "/fees/6/3"));
        for other in ["/fees/6", "/fees/6/3/1", "/fees/7/3", "fees/6/3", "/"] {
            assert!(!path("/fees/6/*", other), "{other}");
        }
    }

    #[test]
    fn bodies_match_exactly_but_for_wildcards() {
        let expected = serde_json::json!([{"chain": "196", "token": "*"}]);
        assert!(same(
            &expected,
            &serde_json::json!([{"token": "0x1", "chain": "196"}])
        ));
        assert!(!same(
            &expected,
            &serde_json::json!([{"token": "0x1", "chain": "1"}])
        ));
        assert!(!same(
            &expected,
            &serde_json::json!([{"token": "0x1", "chain": "196", "more": 1}])
        ));
        assert!(!same(&expected, &serde_json::json!([])));
    }
}
