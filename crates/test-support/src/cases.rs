//! Reads the cases of `fixtures/cases/`, and judges what a test observed by their expectations. The
//! folder's README describes the form.

#![expect(
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test says what it needs by panicking"
)]

use std::path::Path;

use serde_json::{Map, Value};

/// The folder of the cases.
const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/cases");

/// One case: a file, or one variant of it.
#[derive(Debug, Clone)]
pub struct Case {
    /// The file's id and the variant's name.
    pub name: String,
    /// The input.
    pub given: Value,
    /// The expectation.
    pub expect: Value,
    /// The file's own members.
    pub file: Value,
}

/// What a test observed.
#[derive(Debug, Clone, Default)]
pub struct Observed {
    /// The answer's status; 0 without an answer.
    pub status: u16,
    /// The answer as JSON; null when it is none.
    pub answer: Value,
    /// What is no part of the answer, by its name.
    pub named: Map<String, Value>,
}

/// Returns the cases of a kind, in the order of their files.
///
/// # Panics
/// If a file cannot be read, or no file has this kind.
#[must_use]
pub fn cases(kind: &str) -> Vec<Case> {
    let files = std::fs::read_dir(Path::new(FOLDER)).unwrap();
    let mut paths: Vec<_> = files.map(|file| file.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|it| it == "json"));
    paths.sort();
    let mut cases = Vec::new();
    for path in paths {
        let text = std::fs::read_to_string(&path).unwrap();
        let file: Value = serde_json::from_str(&text)
            .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        if file["kind"] == kind {
            cases.extend(variants(&file));
        }
    }
    assert!(!cases.is_empty(), "no case has the kind {kind}");
    cases
}

fn variants(file: &Value) -> Vec<Case> {
    let id = file["id"].as_str().unwrap();
    let case = |name: String, given: &Value, expect: &Value| Case {
        name,
        given: laid_over(&file["given"], given),
        expect: expect.clone(),
        file: file.clone(),
    };
    let Some(variants) = file["variants"].as_array() else {
        return vec![case(id.to_owned(), &Value::Null, &file["expect"])];
    };
    let variants = variants.iter().map(|variant| {
        let name = format!("{id}, {}", variant["name"].as_str().unwrap());
        let expect = variant.get("expect").unwrap_or(&file["expect"]);
        case(name, &variant["given"], expect)
    });
    variants.collect()
}

fn laid_over(under: &Value, over: &Value) -> Value {
    let mut members = under.as_object().cloned().unwrap_or_default();
    members.extend(over.as_object().cloned().unwrap_or_default());
    Value::Object(members)
}

impl Case {
    /// A text of the input.
    ///
    /// # Panics
    /// If it is missing.
    #[must_use]
    pub fn text(&self, name: &str) -> &str {
        self.given[name]
            .as_str()
            .unwrap_or_else(|| panic!("{}: given.{name} is no text", self.name))
    }

    /// Asserts that the expectation fits what was observed.
    ///
    /// # Panics
    /// If it does not fit, or has a form that this reader does not know.
    #[track_caller]
    pub fn judge(&self, observed: &Observed) {
        let any_of = self.expect["any_of"].as_array();
        let any_of = any_of.unwrap_or_else(|| panic!("{}: no expect.any_of", self.name));
        assert!(
            any_of.iter().any(|entry| observed.fits(entry)),
            "{}: expected {}, observed {observed:?}",
            self.name,
            self.expect
        );
    }
}

impl Observed {
    fn fits(&self, entry: &Value) -> bool {
        let entry = entry.as_object().unwrap();
        entry.iter().all(|(name, expected)| match name.as_str() {
            "status" => is_one_of(&self.status.into(), expected),
            "where" => {
                let mut paths = expected.as_object().unwrap().iter();
                paths.all(|(path, condition)| self.holds(path, condition))
            }
            other => panic!("unknown expectation {other}"),
        })
    }

    fn holds(&self, path: &str, condition: &Value) -> bool {
        let named = self.named.get(path).cloned();
        let value = named.unwrap_or_else(|| at(&self.answer, path));
        let Some(condition) = condition.as_object() else {
            return is_one_of(&value, condition);
        };
        let text = value
            .as_str()
            .map_or_else(|| value.to_string(), str::to_owned);
        let text = text.to_lowercase();
        condition
            .iter()
            .all(|(name, patterns)| match name.as_str() {
                "has" => list(patterns).all(|pattern| has(&text, pattern)),
                "has_not" => list(patterns).all(|pattern| !has(&text, pattern)),
                other => panic!("unknown condition {other}"),
            })
    }
}

fn is_one_of(value: &Value, expected: &Value) -> bool {
    match expected {
        Value::Array(values) => values.contains(value),
        one => one == value,
    }
}

fn list(value: &Value) -> impl Iterator<Item = &str> {
    let one = std::slice::from_ref(value);
    let texts = value.as_array().map_or(one, Vec::as_slice);
    texts.iter().map(|text| text.as_str().unwrap())
}

/// Whether a text in small letters has one of a pattern's alternatives.
fn has(text: &str, pattern: &str) -> bool {
    let mut alternatives = vec![String::new()];
    let mut letters = pattern.chars();
    while let Some(letter) = letters.next() {
        if letter == '|' {
            alternatives.push(String::new());
            continue;
        }
        let letter = match letter {
            '\\' => letters.next().filter(|c| !c.is_alphanumeric()),
            other => Some(other),
        };
        let letter = letter.unwrap_or_else(|| panic!("not a plain pattern: {pattern}"));
        let last = alternatives.last_mut().unwrap();
        last.extend(letter.to_lowercase());
    }
    alternatives.iter().any(|it| text.contains(it))
}

/// The value at a path such as `error.code` or `[0].id`; null when it is not there.
fn at(value: &Value, path: &str) -> Value {
    let mut pointer = String::new();
    for step in path.replace('[', ".").replace(']', "").split('.') {
        if !step.is_empty() {
            pointer.push('/');
            pointer.push_str(step);
        }
    }
    value.pointer(&pointer).cloned().unwrap_or_default()
}
