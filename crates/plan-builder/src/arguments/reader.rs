//! Reads a JSON object by its declarations, and collects every problem.

use std::cell::RefCell;

use exact::shortened;
use serde_json::{Map, Value};

use super::{Argument, MOST_PROBLEMS, Member, Object, Problem, Property};
use crate::Refusal;

/// The most characters of a foreign value that a problem repeats.
const SHOWN: usize = 80;

/// Collects the problems of one set of arguments.
#[derive(Debug, Default)]
pub(crate) struct Outcome(RefCell<Vec<Problem>>);

impl Outcome {
    /// Notes a problem that concerns more than one declaration.
    pub(crate) fn note(
        &self,
        path: &str,
        expected: impl Into<String>,
        observed: impl Into<String>,
    ) {
        let mut problems = self.0.borrow_mut();
        // The list is bounded. Already the first problem makes the arguments fail.
        if problems.len() >= MOST_PROBLEMS {
            return;
        }
        problems.push(Problem {
            path: path.to_owned(),
            expected: expected.into(),
            observed: observed.into(),
        });
    }

    /// Returns the parsed request, if no problem was noted.
    ///
    /// # Errors
    /// `input_invalid` with every problem. A `value` of `None` always comes with a problem, because
    /// a missing value is always noted.
    pub(crate) fn finish<T>(self, value: Option<T>) -> Result<T, Refusal> {
        let problems = self.0.into_inner();
        match value {
            Some(value) if problems.is_empty() => Ok(value),
            _ => Err(Refusal::of_input(problems)),
        }
    }
}

/// Reads one object.
#[derive(Debug)]
pub(crate) struct Reader<'a> {
    members: &'a Map<String, Value>,
    path: String,
    properties: &'static [Property],
    outcome: &'a Outcome,
}

/// Parses the JSON text of arguments. Refuses members that occur twice.
///
/// # Errors
/// `input_invalid`
pub(crate) fn parse(text: &str) -> Result<Value, Refusal> {
    exact::parse_json(text)
        .map_err(|defects| Refusal::of_input(defects.into_iter().map(Problem::from).collect()))
}

impl<'a> Reader<'a> {
    /// Makes a reader of the whole arguments object. Notes its unknown members at once.
    pub(crate) fn over(
        arguments: &'a Value,
        properties: &'static [Property],
        outcome: &'a Outcome,
    ) -> Option<Self> {
        Self::of(arguments, "$".to_owned(), properties, outcome)
    }

    fn of(
        value: &'a Value,
        path: String,
        properties: &'static [Property],
        outcome: &'a Outcome,
    ) -> Option<Self> {
        let Some(members) = value.as_object() else {
            outcome.note(&path, "an object", shown(value));
            return None;
        };
        let unknown = |name: &&String| !properties.iter().any(|property| property.name() == *name);
        for name in members.keys().filter(unknown).take(MOST_PROBLEMS) {
            let known: Vec<_> = properties.iter().map(Property::name).collect();
            outcome.note(
                &format!("{path}.{}", shortened(name, SHOWN)),
                format!("no unknown member (known: {})", known.join(", ")),
                "an unknown member",
            );
        }
        Some(Self {
            members,
            path,
            properties,
            outcome,
        })
    }

    /// Reads a member that must be present.
    pub(crate) fn required<T>(&self, argument: &Argument<T>) -> Option<T> {
        match self.members.get(argument.name) {
            Some(json) => self.read(argument, json),
            None => {
                self.outcome.note(
                    &self.path_of(argument.name),
                    argument.kind.expectation(),
                    "nothing",
                );
                None
            }
        }
    }

    /// Reads a member that may be missing. `null` counts as missing. The outer `None` means that a
    /// problem was noted.
    pub(crate) fn optional<T>(&self, argument: &Argument<T>) -> Option<Option<T>> {
        match self.members.get(argument.name) {
            None | Some(Value::Null) => Some(None),
            Some(json) => self.read(argument, json).map(Some),
        }
    }

    /// Reads a nested object. `None` when it is missing or is not an object. A missing object is
    /// noted when it is required.
    pub(crate) fn object(&self, object: &'static Object) -> Option<Reader<'a>> {
        let path = self.path_of(object.name);
        match self.members.get(object.name) {
            None | Some(Value::Null) => {
                let required = self.properties.iter().any(|property| {
                    property.required
                        && matches!(property.member, Member::Object(o) if o.name == object.name)
                });
                if required {
                    self.outcome.note(&path, "an object", "nothing");
                }
                None
            }
            Some(value) => Reader::of(value, path, object.properties, self.outcome),
        }
    }

    /// Returns whether a member is present.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.members.get(name).is_some_and(|value| !value.is_null())
    }

    /// Returns the path of a member.
    pub(crate) fn path_of(&self, name: &str) -> String {
        format!("{}.{name}", self.path)
    }

    fn read<T>(&self, argument: &Argument<T>, json: &Value) -> Option<T> {
        let value = argument.value(json);
        if value.is_none() {
            self.outcome.note(
                &self.path_of(argument.name),
                argument.kind.expectation(),
                shown(json),
            );
        }
        value
    }
}

/// How a problem shows a foreign value: its kind, and its text when that is short.
fn shown(json: &Value) -> String {
    match json {
        Value::Null => "null".to_owned(),
        Value::Bool(_) => "a boolean".to_owned(),
        Value::Number(number) => format!("the number {number}"),
        Value::String(text) => format!("the string {:?}", shortened(text, SHOWN)),
        Value::Array(_) => "an array".to_owned(),
        Value::Object(_) => "an object".to_owned(),
    }
}
