//! Tests of tokens that take a fee on their own transfers: what a simulation shows about them, and
//! what a plan says without one.

use std::sync::Mutex;

use alloy_primitives::{Address, B256, keccak256};
use calldata_checks::Step;
use plan_builder::{
    Refusal, Request, Sealed, SimulationMode,
    ports::{NoSimulator, PortError, PortErrorReason, SimulatedCall, Simulator},
    verify,
};
use serde_json::{Value, json};

use crate::swap::{
    sample::{arguments, now, parse, policy},
    simulation::{Chain, GROSS, build_in, set},
};

const NOTE: &str = "Nobody examined whether one of the tokens takes a fee";

struct Away(PortErrorReason);

impl Simulator for Away {
    async fn simulate(
        &self,
        _: u64,
        _: Address,
        _: &[Step],
    ) -> Result<Option<Vec<SimulatedCall>>, PortError> {
        Err(PortError {
            source_name: "rpc".into(),
            reason: self.0.clone(),
        })
    }
}

fn chain(edit: fn(&mut Vec<SimulatedCall>)) -> Chain<fn(&mut Vec<SimulatedCall>)> {
    Chain {
        edit,
        ran: Mutex::default(),
    }
}

/// The ways in which a plan comes without a simulation.
fn not_simulated() -> Vec<(&'static str, Sealed)> {
    use SimulationMode::{Off, Preferred, Required};
    let away = |reason| build_in(Preferred, &Away(reason)).unwrap();
    let poor = chain(|o| set(&mut o[0], GROSS - 1));
    vec![
        ("off", build_in(Off, &chain(|_| {})).unwrap()),
        ("no endpoint", build_in(Preferred, &NoSimulator).unwrap()),
        (
            "endpoint away",
            away(PortErrorReason::Unavailable {
                detail: "time-out".to_owned(),
            }),
        ),
        (
            "endpoint limited",
            away(PortErrorReason::RateLimited { retry_after: None }),
        ),
        (
            "answer of another form",
            build_in(Preferred, &chain(|o| drop(o.pop()))).unwrap(),
        ),
        (
            "unreadable balance",
            build_in(Preferred, &chain(|o| o[0].success = false)).unwrap(),
        ),
        ("no funds", build_in(Preferred, &poor).unwrap()),
        ("no funds, required", build_in(Required, &poor).unwrap()),
    ]
}

fn plan_of(sealed: &Sealed) -> Value {
    serde_json::from_str(sealed.json()).unwrap()
}

fn verified(text: &str) -> Result<(), Refusal> {
    let request = Request::Swap(parse(&arguments()).unwrap());
    verify(&request, text, now(), &policy()).map(drop)
}

fn resealed(mut plan: Value) -> String {
    let submission = plan["submission"].as_object_mut().unwrap();
    submission.remove("payload_digest");
    let digest: B256 = keccak256(serde_json_canonicalizer::to_vec(&plan).unwrap());
    plan["submission"]["payload_digest"] = json!(digest.to_string());
    plan.to_string()
}

fn notes(plan: &Value) -> usize {
    let notes = plan["disclosure"]["notes"].as_array().unwrap().iter();
    notes
        .filter(|note| note.as_str().unwrap().starts_with(NOTE))
        .count()
}

#[test]
fn a_plan_that_was_not_simulated_says_that_transfer_fees_were_not_examined() {
    for (how, sealed) in not_simulated() {
        let plan = plan_of(&sealed);
        assert_eq!(plan["disclosure"]["transfer_fees"], "not_examined", "{how}");
        assert_eq!(notes(&plan), 1, "{how}");
        verified(sealed.json()).unwrap();
    }
}

#[test]
fn a_forged_note_that_transfer_fees_were_examined_is_refused() {
    for (how, sealed) in not_simulated() {
        let edits: [fn(&mut Value); 3] = [
            |plan| {
                plan["disclosure"]["transfer_fees"] = json!("within_minimum_in_simulation");
            },
            |plan| {
                let notes = plan["disclosure"]["notes"].as_array_mut().unwrap();
                notes.retain(|note| !note.as_str().unwrap().starts_with(NOTE));
            },
            |plan| drop(plan.as_object_mut().unwrap().remove("disclosure")),
        ];
        for edit in edits {
            let mut plan = plan_of(&sealed);
            edit(&mut plan);
            let refusal = verified(&plan.to_string()).unwrap_err();
            assert_eq!(refusal.check, "payload_digest_committed", "{how}");
            let refusal = verified(&resealed(plan)).unwrap_err();
            assert_eq!(refusal.check, Refusal::PLAN_REBUILT, "{how}");
        }
    }
}

/// A simulation shows that the minimum arrives. It does not show that the token takes no fee,
/// because the fee may be less than the difference of the expected output and the minimum.
#[test]
fn a_simulated_plan_says_that_the_minimum_arrived() {
    let sealed = build_in(SimulationMode::Preferred, &chain(|_| {})).unwrap();
    let plan = plan_of(&sealed);
    assert_eq!(
        plan["disclosure"]["transfer_fees"],
        "within_minimum_in_simulation"
    );
    assert_eq!(notes(&plan), 0);
    verified(sealed.json()).unwrap();
}
