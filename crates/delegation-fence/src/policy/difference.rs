//! The changes between two policies.

use serde_json::Value;

use super::Policy;

/// One member that differs between two policies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// Its path: `$.per_swap_cap.max`.
    pub path: String,
    /// Its value in the first policy, as JSON; `None` when it has no such member.
    pub before: Option<String>,
    /// Its value in the second policy.
    pub after: Option<String>,
}

/// Every member that differs between two policies, in the order of their names.
///
/// # Example
/// ```
/// use delegation_fence::{Policy, differences};
///
/// let text = include_str!("../../../../fixtures/vectors/delegation.json");
/// let vectors: serde_json::Value = serde_json::from_str(text).unwrap();
/// let mut document = vectors["rules_document"]["document"].clone();
/// let before = Policy::parse(&document.to_string())?;
/// document["version"] = 4.into();
/// let after = Policy::parse(&document.to_string())?;
///
/// let changes = differences(&before, &after);
/// assert_eq!(changes.len(), 1);
/// assert_eq!(changes[0].path, "$.version");
/// assert_eq!((changes[0].before.as_deref(), changes[0].after.as_deref()), (Some("3"), Some("4")));
/// # Ok::<(), delegation_fence::Refusal>(())
/// ```
#[must_use]
pub fn differences(before: &Policy, after: &Policy) -> Vec<Change> {
    let value = |policy: &Policy| serde_json::from_str(policy.canonical()).ok();
    let (before, after): (Option<Value>, Option<Value>) = (value(before), value(after));
    let mut changes = Vec::new();
    compare("$", before.as_ref(), after.as_ref(), &mut changes);
    changes
}

fn compare(path: &str, before: Option<&Value>, after: Option<&Value>, changes: &mut Vec<Change>) {
    match (before, after) {
        (Some(Value::Object(old)), Some(Value::Object(new))) => {
            let mut names: Vec<_> = old.keys().chain(new.keys()).collect();
            names.sort_unstable();
            names.dedup();
            for name in names {
                compare(
                    &format!("{path}.{name}"),
                    old.get(name),
                    new.get(name),
                    changes,
                );
            }
        }
        (Some(Value::Array(old)), Some(Value::Array(new))) => {
            for index in 0..old.len().max(new.len()) {
                compare(
                    &format!("{path}[{index}]"),
                    old.get(index),
                    new.get(index),
                    changes,
                );
            }
        }
        (before, after) if before == after => {}
        (before, after) => changes.push(Change {
            path: path.to_owned(),
            before: before.map(Value::to_string),
            after: after.map(Value::to_string),
        }),
    }
}
