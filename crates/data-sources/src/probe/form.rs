//! The recorded form of each answer: the members that a reading depends on. `forms.json` is written
//! by the test that drops, renames and retypes every member of every recorded answer and compares
//! the readings.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    sync::OnceLock,
};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{
    shape::{Kind, Shape, parent},
    witness::Exchange,
};

const FORMS: &str = include_str!("forms.json");

/// The form of the answer to one question.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Form {
    /// The members that the reading depends on, by path.
    pub members: BTreeMap<String, Member>,
    /// The other recorded members.
    pub unread: BTreeSet<String>,
}

/// One member that a reading depends on. As text: `text`, `number text` (both read alike), `?text`
/// (it may be missing).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Member {
    /// Whether the reading changes without it.
    pub needed: bool,
    /// The kinds that leave the reading unchanged.
    pub kinds: BTreeSet<Kind>,
}

impl TryFrom<String> for Member {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let (needed, kinds) = match text.strip_prefix('?') {
            Some(kinds) => (false, kinds),
            None => (true, text.as_str()),
        };
        let kinds = kinds.split(' ').map(Kind::named).collect::<Option<_>>();
        let kinds = kinds.ok_or_else(|| format!("{text:?} names no kinds"))?;
        Ok(Self { needed, kinds })
    }
}

impl From<Member> for String {
    fn from(member: Member) -> Self {
        let kinds: Vec<&str> = member.kinds.iter().map(|kind| kind.as_str()).collect();
        let mark = if member.needed { "" } else { "?" };
        format!("{mark}{}", kinds.join(" "))
    }
}

/// A member that differs from the recorded form.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Change {
    /// Its JSON path; `[]` is any element of a list.
    pub path: String,
    /// The kinds that are read.
    pub expected: Vec<Kind>,
    /// The observed kinds; empty when the member is missing.
    pub observed: Vec<Kind>,
    /// The member that may have replaced it.
    pub perhaps: Option<String>,
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words = |kinds: &[Kind]| {
            let words: Vec<&str> = kinds.iter().map(|kind| kind.as_str()).collect();
            words.join(" or ")
        };
        if self.observed.is_empty() {
            write!(f, "{} is missing", self.path)?;
        } else {
            let (observed, expected) = (words(&self.observed), words(&self.expected));
            write!(f, "{} is {observed} instead of {expected}", self.path)?;
        }
        match &self.perhaps {
            Some(perhaps) => write!(f, " (perhaps renamed to {perhaps})"),
            None => Ok(()),
        }
    }
}

/// Every form by the key of its exchange ([`form_key`]).
#[must_use]
pub fn forms() -> &'static BTreeMap<String, Form> {
    static READ: OnceLock<BTreeMap<String, Form>> = OnceLock::new();
    // A test reads the file, so it is always readable.
    READ.get_or_init(|| serde_json::from_str(FORMS).unwrap_or_default())
}

/// The key of an answer: its source, and the part of the request that distinguishes the questions
/// of one source.
#[must_use]
pub fn form_key(exchange: &Exchange) -> String {
    let path = exchange.path_and_query.split(['?', '#']).next();
    let part = |part: &str| {
        let digits = part.bytes().filter(u8::is_ascii_digit).count();
        // Addresses, ids and years do not distinguish questions.
        if digits >= 3 || part.contains("..") {
            "*".to_owned()
        } else {
            part.to_owned()
        }
    };
    let path: Vec<String> = path.unwrap_or_default().split('/').map(part).collect();
    let query = exchange.path_and_query.split_once('?');
    let pairs = query.map_or("", |(_, query)| query).split('&');
    let mut names: Vec<&str> = pairs.filter_map(|pair| pair.split('=').next()).collect();
    names.retain(|name| !name.is_empty());
    names.sort_unstable();
    let sent = exchange.sent.as_deref();
    let sent: Option<Value> = sent.and_then(|sent| serde_json::from_str(sent).ok());
    let named = |name: &str| Some(sent.as_ref()?.get(name)?.as_str()?.to_owned());
    let question = named("type").or_else(|| named("method"));
    let mut key = format!("{} {}", exchange.source, path.join("/"));
    if !names.is_empty() {
        key.push_str(&format!("?{}", names.join("&")));
    }
    if let Some(question) = question {
        key.push_str(&format!(" {question}"));
    }
    key
}

impl Form {
    /// The differences between `shape` and this form, and the number of members that were not
    /// recorded.
    #[must_use]
    pub fn compare(&self, shape: &Shape) -> (Vec<Change>, u64) {
        let mut changes: Vec<Change> = Vec::new();
        for (path, member) in &self.members {
            // Below a missing member, everything is missing.
            let known = changes.iter().any(|change| is_below(path, &change.path));
            if known || !stands_in(shape, path) {
                continue;
            }
            changes.extend(self.change(path, member, shape));
        }
        let added = shape.members().filter(|(path, _)| {
            let known = self.members.contains_key(*path) || self.unread.contains(*path);
            // Members below an unknown or unread member do not count as additions.
            !known && parent(path).is_none_or(|parent| self.members.contains_key(parent))
        });
        (changes, u64::try_from(added.count()).unwrap_or(u64::MAX))
    }

    fn change(&self, path: &str, member: &Member, shape: &Shape) -> Option<Change> {
        let expected = member.kinds.iter().copied().collect();
        let Some(kinds) = shape.kinds(path) else {
            return member.needed.then(|| Change {
                path: path.to_owned(),
                expected,
                observed: Vec::new(),
                perhaps: self.renamed(path, shape),
            });
        };
        // `null` in some rows is how sources write an absent value.
        let nothing = kinds.iter().all(|kind| *kind == Kind::Null);
        let odd: Vec<Kind> = kinds
            .iter()
            .copied()
            .filter(|kind| !member.kinds.contains(kind) && (nothing || *kind != Kind::Null))
            .collect();
        let named = !odd.is_empty() && (member.needed || !nothing);
        named.then(|| Change {
            path: path.to_owned(),
            expected,
            observed: odd,
            perhaps: None,
        })
    }

    /// An unrecorded member beside the place where `path` is missing.
    fn renamed(&self, path: &str, shape: &Shape) -> Option<String> {
        let beside = parent(path)?;
        let wanted = &self.members.get(path)?.kinds;
        let mut new = shape.members().filter(|(other, kinds)| {
            parent(other) == Some(beside)
                && !self.members.contains_key(*other)
                && !self.unread.contains(*other)
                && kinds.iter().any(|kind| wanted.contains(kind))
        });
        match (new.next(), new.next()) {
            (Some((only, _)), None) => Some(only.to_owned()),
            _ => None,
        }
    }
}

/// Whether `path` lies below `other`.
fn is_below(path: &str, other: &str) -> bool {
    path.strip_prefix(other)
        .is_some_and(|rest| rest.starts_with(['.', '[']))
}

/// Whether the answer has any place for `path`: an empty list has no rows that could lack a member.
fn stands_in(shape: &Shape, path: &str) -> bool {
    if path.ends_with("[]") || path.ends_with(".*") {
        // A list without rows and a table without entries are valid answers.
        return shape.kinds(path).is_some();
    }
    parent(path).is_none_or(|parent| {
        shape
            .kinds(parent)
            .is_some_and(|kinds| kinds.contains(&Kind::Object))
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn form() -> Form {
        serde_json::from_value(json!({
            "members": {"$": "list", "$[]": "object", "$[].price": "number text", "$[].size": "?text"},
            "unread": ["$[].note"],
        }))
        .unwrap()
    }

    fn compared(document: serde_json::Value) -> (Vec<String>, u64) {
        let (changes, added) = form().compare(&Shape::of(&document));
        (changes.iter().map(ToString::to_string).collect(), added)
    }

    #[test]
    fn changes_are_named_by_their_path() {
        let same = (Vec::new(), 0);
        assert_eq!(compared(json!([{"price": "1", "size": "2"}])), same);
        assert_eq!(compared(json!([{"price": 1, "note": 1}])), same);
        assert_eq!(compared(json!([])), same);
        assert_eq!(compared(json!([{"price": 1}, {"price": null}])), same);
        let named = |text: &str, added| (vec![text.to_owned()], added);
        for (document, expected) in [
            (json!([{}]), named("$[].price is missing", 0)),
            (
                json!([{"px": "1"}]),
                named("$[].price is missing (perhaps renamed to $[].px)", 1),
            ),
            (
                json!([{"price": true}]),
                named("$[].price is flag instead of number or text", 0),
            ),
            (
                json!([{"price": null}]),
                named("$[].price is null instead of number or text", 0),
            ),
            (
                json!([{"price": 1, "size": 2}]),
                named("$[].size is number instead of text", 0),
            ),
            (json!({}), named("$ is object instead of list", 0)),
        ] {
            assert_eq!(compared(document.clone()), expected, "{document}");
        }
        assert_eq!(
            compared(json!([{"price": 1, "new": {"a": 1, "b": 2}}])),
            (Vec::new(), 1)
        );
    }

    #[test]
    fn the_file_is_readable() {
        let read: BTreeMap<String, Form> = serde_json::from_str(FORMS).unwrap();
        assert_eq!(&read, forms());
    }
}
