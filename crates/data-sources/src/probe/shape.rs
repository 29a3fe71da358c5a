//! The shape of a JSON document: its members by path, and the kind of each. Two documents of one
//! form have one shape, whatever their values and however long their lists.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use serde_json::Value;

/// Objects with more members than this count as tables whose keys are data.
const TABLE: usize = 40;
/// Objects with these names are tables, however few members they have.
const TABLES: [&str; 3] = [".chainTvls", ".assetMap", ".coins"];
/// Keys with at least this many digits are addresses, ids or dates.
const DIGITS: usize = 4;

/// The kind of a JSON value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// `null`.
    Null,
    /// `true` or `false`.
    Flag,
    /// A number.
    Number,
    /// A string.
    Text,
    /// A list.
    List,
    /// An object.
    Object,
}

impl Kind {
    /// Every kind.
    pub const ALL: [Self; 6] = [
        Self::Null,
        Self::Flag,
        Self::Number,
        Self::Text,
        Self::List,
        Self::Object,
    ];

    /// The kind of a value.
    #[must_use]
    pub fn of(value: &Value) -> Self {
        match value {
            Value::Null => Self::Null,
            Value::Bool(_) => Self::Flag,
            Value::Number(_) => Self::Number,
            Value::String(_) => Self::Text,
            Value::Array(_) => Self::List,
            Value::Object(_) => Self::Object,
        }
    }

    /// `null`, `flag`, `number`, `text`, `list` or `object`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Flag => "flag",
            Self::Number => "number",
            Self::Text => "text",
            Self::List => "list",
            Self::Object => "object",
        }
    }

    /// The kind with this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == name)
    }
}

/// The members of a document by path. `[]` stands for any element of a list, and `*` for any member
/// of a table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Shape {
    members: BTreeMap<String, BTreeSet<Kind>>,
}

impl Shape {
    /// The shape of `document`.
    #[must_use]
    pub fn of(document: &Value) -> Self {
        let mut shape = Self::default();
        shape.read("$".to_owned(), document);
        shape
    }

    /// The kinds at `path`; `None` when there is no such member.
    #[must_use]
    pub fn kinds(&self, path: &str) -> Option<&BTreeSet<Kind>> {
        self.members.get(path)
    }

    /// Every path with its kinds, in order.
    pub fn members(&self) -> impl Iterator<Item = (&str, &BTreeSet<Kind>)> {
        self.members
            .iter()
            .map(|(path, kinds)| (path.as_str(), kinds))
    }

    fn read(&mut self, path: String, value: &Value) {
        match value {
            Value::Array(elements) => {
                for element in elements {
                    self.read(format!("{path}[]"), element);
                }
            }
            Value::Object(members) => {
                for (key, member) in members {
                    self.read(below(&path, members.len(), key), member);
                }
            }
            _ => {}
        }
        self.members
            .entry(path)
            .or_default()
            .insert(Kind::of(value));
    }
}

/// The path of the member `key` of an object at `path` with this many members.
pub(super) fn below(path: &str, members: usize, key: &str) -> String {
    let plain = !key.is_empty()
        && key
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
        && !key.starts_with("0x")
        && !key.bytes().all(|byte| byte.is_ascii_digit())
        && key.bytes().filter(u8::is_ascii_digit).count() < DIGITS;
    let table = members > TABLE || TABLES.iter().any(|name| path.ends_with(name));
    match plain && !table {
        true => format!("{path}.{key}"),
        false => format!("{path}.*"),
    }
}

/// The path of the object or list that contains a path's member.
#[must_use]
pub(super) fn parent(path: &str) -> Option<&str> {
    if let Some(list) = path.strip_suffix("[]") {
        return Some(list);
    }
    path.rsplit_once('.').map(|(parent, _)| parent)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn elements_and_tables_are_generalised() {
        let shape = Shape::of(&json!({
            "rows": [{"a": "1"}, {"a": 1, "b": null}],
            "prices": {"bsc:0x1": {"usd": 1.5}},
        }));
        let text: Vec<String> = shape
            .members()
            .map(|(path, kinds)| {
                let kinds: Vec<&str> = kinds.iter().map(|kind| kind.as_str()).collect();
                format!("{path} {}", kinds.join(" "))
            })
            .collect();
        assert_eq!(
            text,
            [
                "$ object",
                "$.prices object",
                "$.prices.* object",
                "$.prices.*.usd number",
                "$.rows list",
                "$.rows[] object",
                "$.rows[].a number text",
                "$.rows[].b null",
            ]
        );
        assert_eq!(parent("$.rows[].a"), Some("$.rows[]"));
        assert_eq!(parent("$.rows[]"), Some("$.rows"));
        assert_eq!(parent("$"), None);
    }
}
