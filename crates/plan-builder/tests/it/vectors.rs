//! Checks the plans of `fixtures/vectors/plans`. This code builds them, and any other
//! implementation must verify them. `UPDATE_VECTORS=1` writes them again.

pub(crate) mod recorded;

use std::{
    fs,
    path::PathBuf,
    pin::pin,
    task::{Context, Poll, Waker},
};

use calldata_checks::{Rail, UtcSeconds};
use plan_builder::{
    FeeDocument, Moment, Policy, Refusal, Request, Sealed, bridge, perp_order, pm_order,
    ports::NoSimulator, rail_of_plan, swap, verify,
};
use recorded::Recorded;
use serde_json::{Value, json};

const NOW: u64 = 1_790_000_000;

#[test]
fn this_code_builds_and_verifies_the_vectors() {
    let mut index = Vec::new();
    for rail in Rail::ALL {
        let request = request(rail);
        let sealed = build(&request).unwrap();
        compare(
            &format!("{}.plan.json", rail.as_str()),
            &format!("{}\n", sealed.json()),
        );
        let plan = read(&format!("{}.plan.json", rail.as_str()));
        assert_eq!(rail_of_plan(&plan), Ok(rail));
        let now = UtcSeconds::from_unix(NOW + 10);
        let verified = verify(&request, plan.trim_end(), now, &policy()).unwrap();
        assert_eq!(verified.payload_digest(), sealed.payload_digest());
        assert_eq!(verified.intent_digest(), request.intent_digest().unwrap());
        // Other white space changes nothing.
        assert_eq!(
            verify(&request, &plan, now, &policy()),
            Ok(verified.clone())
        );
        index.push(json!({
            "rail": rail.as_str(),
            "verified_at": now.to_string(),
            "payload_digest": verified.payload_digest(),
            "intent_digest": verified.intent_digest(),
        }));
    }
    compare(
        "index.json",
        &format!("{}\n", serde_json::to_string_pretty(&index).unwrap()),
    );
}

/// The swap in the documentation of the crate. Its request sets the least output.
#[test]
fn the_vector_with_a_minimum_is_built_and_its_minimum_is_established() {
    let arguments = read("swap_with_minimum.request.json");
    let request = Request::parse(Rail::Swap, &arguments).unwrap();
    let sealed = build(&request).unwrap();
    compare(
        "swap_with_minimum.plan.json",
        &format!("{}\n", sealed.json()),
    );
    let now = UtcSeconds::from_unix(NOW + 10);
    let open = |request: &Request, plan: &str| -> Vec<&str> {
        let verified = verify(request, plan, now, &policy()).unwrap();
        let open = verified.report().not_established().iter();
        open.map(|check| check.name).collect()
    };
    assert_eq!(open(&request, sealed.json()), [""; 0]);
    assert_eq!(
        open(&self::request(Rail::Swap), &read("swap.plan.json")),
        ["agg_min_out_slippage_bound"]
    );
}

#[test]
fn the_example_configuration_is_valid_once_the_address_is_filled_in() {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/fees.example.toml");
    let text = fs::read_to_string(path).unwrap();
    let review = |text: &str| toml::from_str::<FeeDocument>(text).unwrap().review();
    // Nobody can use the example by mistake, because it lacks the address of its reader.
    let problems = review(&text).unwrap_err().problems;
    assert_eq!(problems.len(), 1, "{problems:?}");
    assert_eq!(problems[0].key, "recipients[0].address");
    assert!(problems[0].expected.contains("an address of your own"));
    let own = text.replace(
        exact::address::PLACEHOLDER,
        "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed",
    );
    let reviewed = review(&own).unwrap();
    assert_eq!(reviewed.chains.len(), 8);
    // Every leg names its exchanges, so the aggregator may use no other one.
    assert!(reviewed.chains.iter().all(|chain| chain.tools().is_some()));
}

/// The digest is over the canonical form that an independent implementation of RFC 8785 writes.
#[test]
fn digests_are_over_the_canonical_form() {
    for rail in Rail::ALL {
        let mut plan: Value =
            serde_json::from_str(&read(&format!("{}.plan.json", rail.as_str()))).unwrap();
        let claimed = plan["submission"]
            .as_object_mut()
            .unwrap()
            .remove("payload_digest")
            .unwrap();
        assert_eq!(claimed, json!(keccak(&plan)), "{}", rail.as_str());
    }
}

#[test]
fn a_plan_of_one_request_is_no_plan_of_another() {
    let now = UtcSeconds::from_unix(NOW + 10);
    for rail in Rail::ALL {
        let plan = read(&format!("{}.plan.json", rail.as_str()));
        for other in Rail::ALL.into_iter().filter(|other| *other != rail) {
            let refusal = verify(&request(other), &plan, now, &policy()).unwrap_err();
            assert_eq!(refusal.check, Refusal::PLAN_MALFORMED);
        }
        let mut arguments: Value =
            serde_json::from_str(&read(&format!("{}.request.json", rail.as_str()))).unwrap();
        arguments["accountProfile"]["address"] =
            json!("0x70997970C51812dc3A010C7d01b50e0d17dc79C8");
        let other = Request::parse(rail, &arguments.to_string()).unwrap();
        let refusal = verify(&other, &plan, now, &policy()).unwrap_err();
        let bound = [
            "agg_receiver_account_bound",
            "bridge_recipient_account_bound",
            "pm_maker_signer_account_bound",
            "perp_account_bound",
        ];
        assert!(bound.contains(&&*refusal.check), "{refusal}");
    }
}

/// A member that reads like a missing one would give the same plan a second digest.
#[test]
fn a_plan_has_one_digest() {
    let now = UtcSeconds::from_unix(NOW + 10);
    for rail in Rail::ALL {
        let text = read(&format!("{}.plan.json", rail.as_str()));
        for member in ["exports", "simulation"] {
            let mut plan: Value = serde_json::from_str(&text).unwrap();
            plan[member] = Value::Null;
            let refusal = verify(&request(rail), &reseal(plan).to_string(), now, &policy());
            assert_eq!(
                refusal.unwrap_err().check,
                Refusal::PLAN_MALFORMED,
                "{member}"
            );
        }
        let mut plan: Value = serde_json::from_str(&text).unwrap();
        plan["not_established"] = json!([]);
        if rail != Rail::Swap {
            plan["judgements"] = json!([]);
        }
        assert!(verify(&request(rail), &reseal(plan).to_string(), now, &policy()).is_err());
    }
}

/// A judgement is the plan's own statement. Its name, its meaning and its place are not.
#[test]
fn a_plan_states_the_judgement_of_its_rail_and_no_other() {
    let now = UtcSeconds::from_unix(NOW + 10);
    let swap: Value = serde_json::from_str(&read("swap.plan.json")).unwrap();
    let judged = &swap["judgements"];
    let [mut other, mut twice] = [judged.clone(), judged.clone()];
    other[0]["name"] = json!("agg_price_is_fair");
    twice.as_array_mut().unwrap().push(judged[0].clone());
    let mut hidden = judged.clone();
    hidden[0]["observed"] = json!("fair\u{202e}");
    for (rail, judgements) in [
        (Rail::Swap, json!([])),
        (Rail::Swap, other),
        (Rail::Swap, twice),
        (Rail::Swap, hidden),
        (Rail::Bridge, judged.clone()),
        (Rail::PmOrder, judged.clone()),
        (Rail::PerpOrder, judged.clone()),
    ] {
        let text = read(&format!("{}.plan.json", rail.as_str()));
        let mut plan: Value = serde_json::from_str(&text).unwrap();
        plan["judgements"] = judgements;
        let refusal = verify(&request(rail), &reseal(plan).to_string(), now, &policy());
        let refusal = refusal.unwrap_err();
        assert_eq!(refusal.check, Refusal::PLAN_REBUILT, "{rail:?}");
        assert!(refusal.message.contains("judgements"), "{refusal}");
    }
}

/// A plan with one changed leaf is refused. When its digest is computed again, the refusal is
/// another one than that of the digest. `forgeries.rs` changes many leaves together.
#[test]
fn no_member_can_be_changed() {
    let now = UtcSeconds::from_unix(NOW + 10);
    let mut found = Vec::new();
    for rail in Rail::ALL {
        let request = request(rail);
        let plan: Value =
            serde_json::from_str(&read(&format!("{}.plan.json", rail.as_str()))).unwrap();
        let leaves = leaves_of(&plan);
        assert!(leaves.len() > 50, "{}", leaves.len());
        let mut free = Vec::new();
        for pointer in leaves {
            for edited in edits(&plan, &pointer) {
                let refusal = verify(&request, &edited.to_string(), now, &policy()).unwrap_err();
                let expected = ["payload_digest_committed", Refusal::PLAN_MALFORMED];
                assert!(expected.contains(&&*refusal.check), "{pointer}: {refusal}");
                match verify(&request, &reseal(edited).to_string(), now, &policy()) {
                    Err(refusal) => {
                        assert_ne!(refusal.check, "payload_digest_committed", "{pointer}")
                    }
                    Ok(_) => free.push(pointer.clone()),
                }
            }
        }
        free.dedup();
        found.push((rail, free));
    }
    for (rail, free) in found {
        assert_eq!(free, labels(rail), "{}", rail.as_str());
    }
}

/// The members that the others do not determine: names, times of readings, and what a quote or a
/// venue claims, within the bounds of the checks. The digest covers them. Only somebody with the
/// same quote can tell whether they were true.
fn labels(rail: Rail) -> &'static [&'static str] {
    match rail {
        Rail::Swap => &[
            "/artifact_id",
            "/judgements/0/observed",
            "/payload/quote/call_from",
            "/payload/quote/read_at",
            "/payload/quote/source",
            "/payload/quote/tool",
        ],
        Rail::Bridge => &[
            "/artifact_id",
            "/payload/quote/chain_min_fee",
            "/payload/quote/fast_allowance",
            "/payload/quote/read_at",
            "/payload/quote/standard_bps",
        ],
        Rail::PmOrder => &[
            "/artifact_id",
            "/payload/market/condition_id",
            "/payload/market/tokens/1/outcome",
            "/payload/market/tokens/1/token_id",
        ],
        Rail::PerpOrder => &[
            "/artifact_id",
            "/payload/venue/approved_builder_fee",
            "/payload/venue/max_leverage",
            "/payload/venue/read_at",
        ],
    }
}

fn leaves_of(value: &Value) -> Vec<String> {
    fn walk(value: &Value, at: String, found: &mut Vec<String>) {
        match value {
            Value::Object(members) => {
                for (name, value) in members {
                    walk(
                        value,
                        format!("{at}/{}", name.replace('~', "~0").replace('/', "~1")),
                        found,
                    );
                }
            }
            Value::Array(items) => {
                for (index, value) in items.iter().enumerate() {
                    walk(value, format!("{at}/{index}"), found);
                }
            }
            _ => found.push(at),
        }
    }
    let mut found = Vec::new();
    walk(value, String::new(), &mut found);
    found.retain(|pointer| pointer != "/submission/payload_digest");
    found
}

/// Returns plans in which one leaf is changed, in ways that keep its form where possible, and one
/// plan in which the leaf is removed.
fn edits(plan: &Value, pointer: &str) -> Vec<Value> {
    let leaf = plan.pointer(pointer).unwrap();
    let changed = match leaf {
        Value::String(text) => {
            let mut texts = vec![format!("{text}0")];
            if let Some(last) = text.chars().rev().find(char::is_ascii_digit) {
                let at = text.rfind(last).unwrap();
                let other = if last == '9' {
                    "8".to_owned()
                } else {
                    char::from(u8::try_from(last).unwrap() + 1).to_string()
                };
                texts.push(format!("{}{other}{}", &text[..at], &text[at + 1..]));
            }
            texts.into_iter().map(Value::String).collect()
        }
        Value::Number(number) => vec![json!(number.as_u64().unwrap() + 1), json!(0)],
        Value::Bool(flag) => vec![json!(!flag)],
        Value::Null => vec![json!(1)],
        _ => vec![],
    };
    let mut edited: Vec<_> = changed
        .into_iter()
        .filter(|value| value != leaf)
        .map(|value| {
            let mut plan = plan.clone();
            *plan.pointer_mut(pointer).unwrap() = value;
            plan
        })
        .collect();
    let (parent, name) = pointer.rsplit_once('/').unwrap();
    let mut without = plan.clone();
    match without.pointer_mut(parent).unwrap() {
        Value::Object(members) => drop(members.remove(&name.replace("~1", "/").replace("~0", "~"))),
        Value::Array(items) => drop(items.remove(name.parse().unwrap())),
        _ => {}
    }
    edited.push(without);
    edited
}

fn reseal(mut plan: Value) -> Value {
    if let Some(submission) = plan["submission"].as_object_mut() {
        submission.remove("payload_digest");
    }
    let digest = keccak(&plan);
    plan["submission"]["payload_digest"] = json!(digest);
    plan
}

fn keccak(value: &Value) -> String {
    alloy_primitives::keccak256(serde_json_canonicalizer::to_vec(value).unwrap()).to_string()
}

pub(crate) fn request(rail: Rail) -> Request {
    Request::parse(rail, &read(&format!("{}.request.json", rail.as_str()))).unwrap()
}

fn build(request: &Request) -> Result<Sealed, Refusal> {
    let ports = Recorded {
        read_at: UtcSeconds::from_unix(NOW),
    };
    let (policy, simulator) = (policy(), NoSimulator);
    let moment = Moment {
        now_millis: NOW * 1000 + 123,
        entropy: [0x5a; 32],
    };
    now_or_never(async {
        match request {
            Request::Swap(request) => {
                swap::build(request, &ports, &simulator, &policy, &moment).await
            }
            Request::Bridge(request) => {
                bridge::build(request, &ports, &ports, &simulator, &policy, &moment).await
            }
            Request::PmOrder(request) => pm_order::build(request, &ports, &policy, &moment).await,
            Request::PerpOrder(request) => {
                perp_order::build(request, &ports, &policy, &moment).await
            }
        }
    })
}

pub(crate) fn policy() -> Policy {
    let document: FeeDocument = toml::from_str(&read("fees.toml")).unwrap();
    Policy::new(document.review().unwrap())
}

/// Runs a future to its end. Ports that answer from memory never wait.
fn now_or_never<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => panic!("a port that answers from memory waited"),
    }
}

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/vectors/plans")
}

pub(crate) fn read(name: &str) -> String {
    fs::read_to_string(folder().join(name)).unwrap_or_default()
}

fn compare(name: &str, expected: &str) {
    if std::env::var_os("UPDATE_VECTORS").is_some() {
        fs::write(folder().join(name), expected).unwrap();
    }
    assert!(
        read(name) == expected,
        "fixtures/vectors/plans/{name} is not what is built: UPDATE_VECTORS=1 writes it again"
    );
}
