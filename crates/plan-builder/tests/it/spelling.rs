//! Tests that the verifier reads a plan by its meaning. Another spelling of the same JSON is the
//! same plan, and a text that means anything else is refused.

use calldata_checks::{Rail, UtcSeconds};
use plan_builder::{Refusal, Request, verify};
use proptest::{prelude::*, sample::Index};
use serde_json::{Value, json};

use crate::vectors::{policy, read, request};

const NOW: UtcSeconds = UtcSeconds::from_unix(1_790_000_010);

/// The plan of each rail, and its request.
fn plans() -> Vec<(Request, String)> {
    let plan = |rail: Rail| read(&format!("{}.plan.json", rail.as_str()));
    Rail::ALL
        .into_iter()
        .map(|rail| (request(rail), plan(rail).trim_end().to_owned()))
        .collect()
}

#[test]
fn another_spelling_is_the_same_plan() {
    for (request, plan) in plans() {
        let verified = verify(&request, &plan, NOW, &policy()).unwrap();
        let value: Value = serde_json::from_str(&plan).unwrap();
        for spelled in [
            format!("{plan}\n"),
            format!(" {plan}"),
            serde_json::to_string_pretty(&value).unwrap(),
            plan.replace("\"rail\"", "\"\\u0072ail\""),
        ] {
            let observed = verify(&request, &spelled, NOW, &policy());
            assert_eq!(observed.as_ref(), Ok(&verified), "{spelled}");
        }
    }
}

#[test]
fn a_plan_ends_at_its_second() {
    for (request, plan) in plans() {
        let until = verify(&request, &plan, NOW, &policy())
            .unwrap()
            .valid_until();
        let last = UtcSeconds::from_unix(until.unix() - 1);
        assert!(verify(&request, &plan, last, &policy()).is_ok());
        let refusal = verify(&request, &plan, until, &policy()).unwrap_err();
        assert_eq!(refusal.check, "artifact_expiry_committed");
    }
}

/// A reader that takes the first or the last of the two members would read the right value.
#[test]
fn a_member_that_occurs_twice_is_refused() {
    for (request, text) in plans() {
        let plan: Value = serde_json::from_str(&text).unwrap();
        for (name, value) in plan.as_object().unwrap() {
            let member = format!("{}:{value}", json!(name));
            let front = text.replacen('{', &format!("{{{member},"), 1);
            let back = format!("{},{member}}}", text.strip_suffix('}').unwrap());
            for twice in [front, back] {
                let refusal = verify(&request, &twice, NOW, &policy()).unwrap_err();
                assert_eq!(refusal.check, Refusal::PLAN_MALFORMED, "{name}");
            }
        }
    }
}

/// A change of the text of a plan.
#[derive(Debug, Clone)]
enum Edit {
    Replace(Index, char),
    Insert(Index, char),
    Remove(Index, usize),
    Repeat(Index, usize),
}

impl Edit {
    fn apply(&self, text: &mut String) {
        match *self {
            Self::Replace(at, with) => {
                let at = at.index(text.len());
                text.replace_range(at..=at, with.encode_utf8(&mut [0; 4]));
            }
            Self::Insert(at, what) => text.insert(at.index(text.len()), what),
            Self::Remove(at, length) => {
                let at = at.index(text.len());
                text.replace_range(at..text.len().min(at + length), "");
            }
            Self::Repeat(at, length) => {
                let at = at.index(text.len());
                let part = text[at..text.len().min(at + length)].to_owned();
                text.insert_str(at, &part);
            }
        }
    }
}

fn edit() -> impl Strategy<Value = Edit> {
    let written = prop::sample::select(
        r#"{}[]",:\ 0123456789abcdefABCDEFxZntr"#
            .chars()
            .collect::<Vec<_>>(),
    );
    let (again, at) = (written.clone(), any::<Index>);
    prop_oneof![
        (at(), written).prop_map(|(at, with)| Edit::Replace(at, with)),
        (at(), again).prop_map(|(at, what)| Edit::Insert(at, what)),
        (at(), 1..80usize).prop_map(|(at, length)| Edit::Remove(at, length)),
        (at(), 1..80usize).prop_map(|(at, length)| Edit::Repeat(at, length)),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn an_edited_text_is_refused_or_means_the_same(
        which in any::<Index>(),
        edits in prop::collection::vec(edit(), 1..3),
    ) {
        let plans = plans();
        let (request, plan) = which.get(&plans);
        let mut text = plan.clone();
        for edit in &edits {
            edit.apply(&mut text);
        }
        if verify(request, &text, NOW, &policy()).is_ok() {
            let [edited, original]: [Value; 2] =
                [&text, plan].map(|text| serde_json::from_str(text).unwrap());
            prop_assert_eq!(edited, original);
        }
    }
}
