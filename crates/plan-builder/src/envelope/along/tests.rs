use proptest::{collection::vec, prelude::*, sample::Index};
use serde::Serialize;

use super::*;

/// A document with one member of each form that envelopes have.
#[derive(Debug, Clone, Serialize)]
struct Document {
    flag: bool,
    list: Vec<Entry>,
    missing: Option<String>,
    nothing: (),
    number: u64,
    #[serde(rename = "odd \"name\"\\")]
    odd: String,
    pair: [String; 2],
    small: i32,
    word: Word,
}

#[derive(Debug, Clone, Serialize)]
struct Entry {
    letter: char,
    text: Shown,
}

#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "snake_case")]
enum Word {
    First,
    SecondOne,
    Third(Option<u8>),
    Fourth { left: Vec<u8>, right: String },
}

/// A value that is written in pieces.
#[derive(Debug, Clone)]
struct Shown(String, u64);

impl Serialize for Shown {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&format_args!("{} of {}", self.0, self.1))
    }
}

/// Strings with all characters that JSON escapes, and strings that look like JSON.
fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        "[ -~]{0,12}",
        "[\"\\\\,:{}\\[\\]a]{0,8}",
        "[\\x00-\\x20\"\\\\é😀\\x7f]{0,6}",
    ]
}

fn word() -> impl Strategy<Value = Word> {
    prop_oneof![
        Just(Word::First),
        Just(Word::SecondOne),
        any::<Option<u8>>().prop_map(Word::Third),
        (vec(any::<u8>(), 0..3), text()).prop_map(|(left, right)| Word::Fourth { left, right }),
    ]
}

prop_compose! {
    fn entry()(letter: char, text in text(), number: u64) -> Entry {
        Entry { letter, text: Shown(text, number) }
    }
}

prop_compose! {
    fn document()(
        flag: bool,
        list in vec(entry(), 0..4),
        missing in proptest::option::of(text()),
        number in prop_oneof![Just(0), Just(u64::MAX), 0..2000_u64],
        odd in text(),
        pair in [text(), text()],
        small in 0..1000,
        word in word(),
    ) -> Document {
        Document { flag, list, missing, nothing: (), number, odd, pair, small, word }
    }
}

proptest! {
    /// The property holds as long as no piece needs an escape; a text that does need one is never
    /// accepted.
    #[test]
    fn only_the_text_that_serde_json_writes_is_accepted(
        document in document(),
        other in document(),
        at: Index,
        byte in prop_oneof![Just(b'"'), Just(b'\\'), Just(b'0'), any::<u8>()],
    ) {
        let written = serde_json::to_string(&document).unwrap();
        let in_pieces = document.list.iter().map(|entry| &entry.text.0);
        let escapes = in_pieces.clone().any(|text| {
            serde_json::to_string(text).unwrap().len() != text.len() + 2
        });
        prop_assert_eq!(is_written_as(&document, &written), !escapes);

        let mut others = vec![serde_json::to_string(&other).unwrap()];
        let mut changed = written.clone().into_bytes();
        let at = at.index(changed.len());
        changed[at] = byte;
        others.extend(String::from_utf8(changed).ok());
        others.push(format!("{written}\n"));
        others.push(written[..written.len() - 1].to_owned());
        others.push(written.replace(",\"number\":", ",\"number\":0"));
        others.push(written.replace('\\', ""));
        for text in others {
            prop_assert!(text == written || !is_written_as(&document, &text), "{}", text);
        }
    }
}

#[test]
fn a_string_that_is_not_escaped_is_not_taken_for_its_json() {
    for text in ["a\"b", "a\\b", "a\nb", "\",\"", "\\\""] {
        let json = serde_json::to_string(text).unwrap();
        assert!(is_written_as(&text, &json), "{json}");
        let raw = format!("\"{text}\"");
        assert!(!is_written_as(&text, &raw), "{raw}");
        assert!(!is_written_as(
            &Shown(text.to_owned(), 1),
            &format!("\"{text} of 1\"")
        ));
    }
    // An escape in one place does not balance a missing one in another.
    for (raw, escaped) in [("a\"b", "a\\b"), ("\"", "\""), ("\\", "\\")] {
        let pair = vec![raw, escaped];
        assert!(is_written_as(&pair, &serde_json::to_string(&pair).unwrap()));
        let half = format!("[\"{raw}\",{}]", serde_json::to_string(escaped).unwrap());
        assert!(!is_written_as(&pair, &half), "{half}");
    }
}

#[test]
fn forms_that_no_envelope_has_are_not_compared() {
    let map = std::collections::BTreeMap::from([("a", 1)]);
    assert!(!is_written_as(&map, r#"{"a":1}"#));
    assert!(!is_written_as(&-1, "-1"));
    assert!(!is_written_as(&1.5, "1.5"));
    #[derive(Serialize)]
    struct Two(u8, u8);
    assert!(!is_written_as(&Two(1, 2), "[1,2]"));
    #[derive(Serialize)]
    enum Pair {
        Of(u8, u8),
    }
    assert!(!is_written_as(&Pair::Of(1, 2), r#"{"Of":[1,2]}"#));
}
