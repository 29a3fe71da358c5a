//! Changes one member of a JSON document at every place where it occurs.

use data_sources::probe::Kind;
use serde_json::{Map, Value, json};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mutation {
    Drop,
    Rename,
    Retype(Kind),
}

/// Returns `document` with the member at `path` changed at every place that the path names.
pub(crate) fn mutated(document: &Value, path: &str, mutation: Mutation) -> Value {
    let mut changed = document.clone();
    let steps = steps(path);
    if steps.is_empty() {
        if let Mutation::Retype(kind) = mutation {
            changed = retyped(&changed, kind);
        }
        return changed;
    }
    change(&mut changed, &steps, mutation);
    changed
}

#[derive(Clone, Debug, PartialEq)]
enum Step {
    Member(String),
    Any,
    Element,
}

fn steps(path: &str) -> Vec<Step> {
    let mut steps = Vec::new();
    for part in path.split('.').skip(1) {
        let name = part.trim_end_matches("[]");
        steps.push(match name {
            "*" => Step::Any,
            name => Step::Member(name.to_owned()),
        });
        steps.extend(std::iter::repeat_n(
            Step::Element,
            (part.len() - name.len()) / 2,
        ));
    }
    let root = path.split('.').next().unwrap_or_default();
    let lists = (root.len() - "$".len()) / 2;
    steps.splice(0..0, std::iter::repeat_n(Step::Element, lists));
    steps
}

fn change(value: &mut Value, steps: &[Step], mutation: Mutation) {
    let Some((step, rest)) = steps.split_first() else {
        return;
    };
    match (value, step) {
        (Value::Array(elements), Step::Element) => {
            for element in elements {
                match (rest.is_empty(), mutation) {
                    (true, Mutation::Retype(kind)) => *element = retyped(element, kind),
                    (true, _) => {}
                    (false, _) => change(element, rest, mutation),
                }
            }
        }
        (Value::Object(members), Step::Member(name)) => {
            member(members, name, rest, mutation);
        }
        (Value::Object(members), Step::Any) => {
            let names: Vec<String> = members.keys().cloned().collect();
            for name in names {
                member(members, &name, rest, mutation);
            }
        }
        _ => {}
    }
}

fn member(members: &mut Map<String, Value>, name: &str, rest: &[Step], mutation: Mutation) {
    let Some(value) = members.get_mut(name) else {
        return;
    };
    if !rest.is_empty() {
        return change(value, rest, mutation);
    }
    match mutation {
        Mutation::Retype(kind) => *value = retyped(value, kind),
        Mutation::Drop => {
            members.remove(name);
        }
        Mutation::Rename => {
            if let Some(value) = members.remove(name) {
                members.insert(format!("{name}New"), value);
            }
        }
    }
}

/// Returns a value of another kind that is as close as possible.
fn retyped(value: &Value, kind: Kind) -> Value {
    match (kind, value) {
        (Kind::Null, _) => Value::Null,
        (Kind::Flag, _) => Value::Bool(true),
        (Kind::Number, Value::String(text)) => {
            let number = serde_json::from_str::<Value>(text).ok();
            number.filter(Value::is_number).unwrap_or(json!(7))
        }
        (Kind::Number, _) => json!(7),
        (Kind::Text, Value::Number(number)) => json!(number.to_string()),
        (Kind::Text, Value::Bool(flag)) => json!(flag.to_string()),
        (Kind::Text, _) => json!("x"),
        (Kind::List, _) => json!([]),
        (Kind::Object, _) => json!({}),
    }
}

#[test]
fn a_member_is_changed_at_each_of_its_places() {
    let document = json!({"rows": [{"a": 1, "b": {"c": "2"}}, {"a": 3}]});
    for (path, mutation, expected) in [
        (
            "$.rows[].a",
            Mutation::Drop,
            json!({"rows": [{"b": {"c": "2"}}, {}]}),
        ),
        (
            "$.rows[].b.c",
            Mutation::Retype(Kind::Number),
            json!({"rows": [{"a": 1, "b": {"c": 2}}, {"a": 3}]}),
        ),
        (
            "$.rows",
            Mutation::Rename,
            json!({"rowsNew": [{"a": 1, "b": {"c": "2"}}, {"a": 3}]}),
        ),
        (
            "$.rows[]",
            Mutation::Retype(Kind::Null),
            json!({"rows": [null, null]}),
        ),
        ("$", Mutation::Retype(Kind::List), json!([])),
    ] {
        assert_eq!(mutated(&document, path, mutation), expected, "{path}");
    }
}
