//! Both ways of the verifier agree on every plan, and on every change of one.

use std::{fs, path::PathBuf, sync::LazyLock};

use calldata_checks::Rail;
use proptest::{prelude::*, sample::Index};
use serde_json::{Value, json};

use super::*;
use crate::{
    FeeDocument, Request, bridge::BridgeRail, perp_order::PerpOrderRail, pm_order::PmOrderRail,
    swap::SwapRail,
};

const NOW: UtcSeconds = UtcSeconds::from_unix(1_790_000_010);

fn read(name: &str) -> String {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/vectors/plans");
    fs::read_to_string(folder.join(name)).unwrap()
}

static POLICY: LazyLock<Policy> = LazyLock::new(|| {
    let document: FeeDocument = toml::from_str(&read("fees.toml")).unwrap();
    Policy::new(document.review().unwrap())
});

static PLANS: LazyLock<Vec<(Request, String)>> = LazyLock::new(plans);

fn request(rail: Rail) -> Request {
    Request::parse(rail, &read(&format!("{}.request.json", rail.as_str()))).unwrap()
}

/// Every plan of the vectors, and one plan with all optional parts for each rail with steps.
fn plans() -> Vec<(Request, String)> {
    let mut plans: Vec<_> = Rail::ALL
        .into_iter()
        .map(|rail| {
            let plan = read(&format!("{}.plan.json", rail.as_str()));
            (request(rail), plan.trim_end().to_owned())
        })
        .collect();
    let swap = json!({"kind": "safe", "exports": ["eip5792", "safe_tx_builder"]});
    plans.push(with_extras::<SwapRail>(
        Rail::Swap,
        &swap,
        |request| match request {
            Request::Swap(request) => request,
            other => panic!("{other:?}"),
        },
    ));
    let bridge = json!({"kind": "eoa", "exports": ["eip5792"]});
    plans.push(with_extras::<BridgeRail>(
        Rail::Bridge,
        &bridge,
        |request| match request {
            Request::Bridge(request) => request,
            other => panic!("{other:?}"),
        },
    ));
    plans
}

/// The plan of a vector, sealed again with exports and a simulation.
fn with_extras<R: RailPlan>(
    rail: Rail,
    extras: &Value,
    of_rail: fn(&Request) -> &R::Request,
) -> (Request, String) {
    let mut arguments: Value =
        serde_json::from_str(&read(&format!("{}.request.json", rail.as_str()))).unwrap();
    arguments["accountProfile"]["kind"] = extras["kind"].clone();
    arguments["exports"] = extras["exports"].clone();
    let request = Request::parse(rail, &arguments.to_string()).unwrap();
    let given: Body<'_, R::Payload, R::Fees> =
        serde_json::from_str(&read(&format!("{}.plan.json", rail.as_str()))).unwrap();
    let commitment = Commitment {
        valid_until: given.valid_until.0,
        now: NOW,
        digest: DigestStanding::Sealing,
    };
    let JudgedPayload { report, terms, .. } =
        judge_payload::<R>(of_rail(&request), &given.payload, &POLICY, commitment).unwrap();
    let simulation = json!({
        "at": NOW.to_string(),
        "method": "eth_simulateV1",
        "note": "nothing was simulated: the account does not hold the input, so nobody has seen these steps succeed",
        "outcome": "insufficient_balance",
    });
    let labels = Labels {
        artifact_id: given.artifact_id,
        valid_until: given.valid_until.0,
        created_millis: 1_790_000_000_123,
        simulation: Some(serde_json::from_value(simulation).unwrap()),
    };
    let mut body =
        seal::body::<R>(of_rail(&request), given.payload, &report, terms, labels).unwrap();
    let text = body.write::<R>().unwrap().text;
    (request, text)
}

/// The verdict of both ways on a text.
#[derive(Debug)]
struct Said {
    short: Option<Verified>,
    long: Result<Verified, Refusal>,
    whole: Result<Verified, Refusal>,
    /// The text as this crate writes it, sealed anew; `None` for a text that is no plan.
    written: Option<String>,
}

fn say<R: RailPlan>(request: &R::Request, text: &str, now: UtcSeconds) -> Said {
    let body = serde_json::from_str::<Body<'_, R::Payload, R::Fees>>(text);
    Said {
        short: as_written::verify::<R>(request, text, now, &POLICY),
        long: taken_apart::<R>(request, text, now, &POLICY),
        whole: verify::<R>(request, text, now, &POLICY),
        written: body.ok().and_then(|mut body| Some(body.write::<R>()?.text)),
    }
}

fn said(request: &Request, text: &str, now: UtcSeconds) -> Said {
    match request {
        Request::Swap(request) => say::<SwapRail>(request, text, now),
        Request::Bridge(request) => say::<BridgeRail>(request, text, now),
        Request::PmOrder(request) => say::<PmOrderRail>(request, text, now),
        Request::PerpOrder(request) => say::<PerpOrderRail>(request, text, now),
    }
}

/// Returns the long way's verdict, after checking that both ways agree. The short way accepts
/// exactly the plans that hold and have this crate's spelling.
fn agreed(request: &Request, text: &str, now: UtcSeconds) -> Result<Verified, Refusal> {
    let Said {
        short,
        long,
        whole,
        written,
    } = said(request, text, now);
    assert_eq!(whole, long, "{text}");
    let own_spelling = written.as_deref() == Some(text);
    assert_eq!(short, long.clone().ok().filter(|_| own_spelling), "{text}");
    long
}

/// Judges a JSON value in both ways: with its digest, with a recomputed one, and in this crate's
/// spelling.
fn agreed_on_value(request: &Request, plan: Value) {
    let canonical = |plan: &Value| String::from_utf8(digest::canonical(plan).unwrap()).unwrap();
    drop(agreed(request, &canonical(&plan), NOW));
    let sealed = canonical(&resealed(plan));
    drop(agreed(request, &sealed, NOW));
    if let Some(written) = said(request, &sealed, NOW).written {
        drop(agreed(request, &written, NOW));
    }
}

/// Returns the plan with a recomputed digest.
fn resealed(mut plan: Value) -> Value {
    if let Some(Value::Object(submission)) = plan.get_mut("submission") {
        submission.remove("payload_digest");
        let digest = digest::keccak(&digest::canonical(&plan).unwrap());
        plan["submission"]["payload_digest"] = json!(digest);
    }
    plan
}

/// Collects every member and element, as pointers.
fn members(value: &Value, at: &str, found: &mut Vec<String>) {
    let mut walk = |name: &str, inner: &Value| {
        let at = format!("{at}/{}", name.replace('~', "~0").replace('/', "~1"));
        members(inner, &at, found);
        found.push(at);
    };
    match value {
        Value::Object(inner) => inner.iter().for_each(|(name, inner)| walk(name, inner)),
        Value::Array(inner) => {
            for (index, inner) in inner.iter().enumerate() {
                walk(&index.to_string(), inner);
            }
        }
        _ => {}
    }
}

#[test]
fn plans_in_this_crates_spelling_are_verified_the_short_way() {
    for (request, plan) in &*PLANS {
        let verified = agreed(request, plan, NOW).unwrap();
        assert_eq!(said(request, plan, NOW).short, Some(verified));
    }
}

#[test]
fn another_spelling_is_verified_the_long_way() {
    for (request, plan) in &*PLANS {
        let verified = agreed(request, plan, NOW).unwrap();
        let value: Value = serde_json::from_str(plan).unwrap();
        for spelled in [
            format!("{plan}\n"),
            format!(" {plan}"),
            serde_json::to_string_pretty(&value).unwrap(),
            plan.replace("\"rail\"", "\"\\u0072ail\""),
        ] {
            assert_eq!(agreed(request, &spelled, NOW).as_ref(), Ok(&verified));
        }
    }
}

#[test]
fn both_ways_end_plans_at_the_same_second() {
    for (request, plan) in &*PLANS {
        let until = agreed(request, plan, NOW).unwrap().valid_until;
        let held: Vec<_> = (0..1000)
            .step_by(7)
            .chain([
                until.unix() - 1_790_000_000 - 1,
                until.unix() - 1_790_000_000,
            ])
            .map(|after| UtcSeconds::from_unix(1_790_000_000 + after))
            .filter(|now| agreed(request, plan, *now).is_ok())
            .collect();
        assert!(!held.is_empty());
        assert!(held.iter().all(|now| *now < until));
    }
}

#[test]
fn both_ways_read_every_other_request_the_same() {
    for (index, (_, plan)) in PLANS.iter().enumerate() {
        for (other, (request, _)) in PLANS.iter().enumerate() {
            assert_eq!(agreed(request, plan, NOW).is_ok(), index == other);
        }
    }
}

/// Takes every member away, doubles, empties or replaces it, with the old digest and with a
/// recomputed one.
#[test]
fn both_ways_say_the_same_of_every_changed_member() {
    for (request, text) in &*PLANS {
        let plan: Value = serde_json::from_str(text).unwrap();
        let mut pointers = Vec::new();
        members(&plan, "", &mut pointers);
        assert!(pointers.len() > 60);
        for pointer in pointers {
            let original = plan.pointer(&pointer).unwrap();
            let replaced = match original {
                Value::String(text) if text.starts_with("0x") => json!(text.to_lowercase()),
                Value::String(text) => json!(format!("{text}0")),
                Value::Number(number) => json!(number.as_u64().unwrap() + 1),
                Value::Bool(yes) => json!(!yes),
                _ => json!([original]),
            };
            for changed in [replaced, Value::Null] {
                let mut edited = plan.clone();
                *edited.pointer_mut(&pointer).unwrap() = changed;
                agreed_on_value(request, edited);
            }
        }
    }
}

/// Writes one member a second time, where a reader that takes the last or the first of both would
/// see the right one.
#[test]
fn both_ways_refuse_a_duplicate_member() {
    for (request, text) in &*PLANS {
        let plan: Value = serde_json::from_str(text).unwrap();
        for (name, value) in plan.as_object().unwrap() {
            let member = format!("{}:{value}", json!(name));
            let (front, back) = (
                text.replacen('{', &format!("{{{member},"), 1),
                text.len() - 1,
            );
            let back = format!("{},{member}}}", &text[..back]);
            for twice in [front, back] {
                let refusal = agreed(request, &twice, NOW).unwrap_err();
                assert_eq!(refusal.check, Refusal::PLAN_MALFORMED, "{name}");
            }
        }
    }
}

/// A change of a plan's text.
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
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn both_ways_say_the_same_of_every_edited_text(
        which in any::<Index>(),
        edits in prop::collection::vec(edit(), 1..3),
    ) {
        let (request, plan) = which.get(&PLANS);
        let mut text = plan.clone();
        for edit in &edits {
            edit.apply(&mut text);
        }
        drop(agreed(request, &text, NOW));
        if let Ok(edited) = serde_json::from_str(&text) {
            agreed_on_value(request, edited);
        }
    }
}
