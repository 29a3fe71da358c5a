//! Tests of simulated plans: what is recorded, and what is refused.

use std::{sync::Mutex, time::Duration};

use alloy_primitives::{Address, B256, Bytes, U256, b256};
use alloy_sol_types::{Revert, SolError as _};
use calldata_checks::{Step, StepKind, UtcSeconds};
use plan_builder::{
    Policy, Refusal, Request, Sealed, SimulationMode,
    ports::{NoSimulator, PortError, PortErrorReason, SimulatedCall, SimulatedLog, Simulator},
    swap, verify,
};
use serde_json::{Value, json};

use crate::swap::sample::{
    ACCOUNT, Aggregator, BASE, NOW, OWN, QUOTED, USDC, WETH, arguments, moment, now, parse, policy,
    ready,
};

const TRANSFER: B256 = b256!("ddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef");
pub(crate) const GROSS: u64 = 1_000_000_007;
const MINIMUM: u64 = QUOTED / 10_000 * 9950;

/// A chain that executes a plan as planned, unless `edit` changes the outcome.
pub(crate) struct Chain<E> {
    pub(crate) edit: E,
    pub(crate) ran: Mutex<Vec<Step>>,
}

impl<E: Fn(&mut Vec<SimulatedCall>) + Send + Sync> Simulator for Chain<E> {
    async fn simulate(
        &self,
        chain_id: u64,
        account: Address,
        calls: &[Step],
    ) -> Result<Option<Vec<SimulatedCall>>, PortError> {
        assert_eq!((chain_id, account), (BASE, ACCOUNT));
        self.ran.lock().unwrap().extend_from_slice(calls);
        let word = |value: u64| outcome(U256::from(value).to_be_bytes::<32>().into());
        let mut outcomes = vec![
            word(2 * GROSS),
            word(5),
            word(7),
            outcome(Bytes::new()),
            outcome(Bytes::new()),
            outcome(Bytes::new()),
            word(GROSS),
            word(0),
            word(7 + MINIMUM),
        ];
        outcomes[5].logs.push(transfer(USDC, ACCOUNT));
        (self.edit)(&mut outcomes);
        Ok(Some(outcomes))
    }
}

fn outcome(return_data: Bytes) -> SimulatedCall {
    SimulatedCall {
        success: true,
        return_data,
        gas_used: 21_000,
        logs: Vec::new(),
    }
}

fn transfer(token: Address, from: Address) -> SimulatedLog {
    SimulatedLog {
        address: token,
        topics: vec![TRANSFER, from.into_word(), OWN.into_word()],
        data: Bytes::new(),
    }
}

pub(crate) fn set(call: &mut SimulatedCall, value: u64) {
    call.return_data = U256::from(value).to_be_bytes::<32>().into();
}

fn policy_in(mode: SimulationMode) -> Policy {
    let mut policy = policy();
    policy.simulation = mode;
    policy
}

fn build<S: Simulator>(simulator: &S) -> Result<Sealed, Refusal> {
    build_in(SimulationMode::default(), simulator)
}

pub(crate) fn build_in<S: Simulator>(
    mode: SimulationMode,
    simulator: &S,
) -> Result<Sealed, Refusal> {
    let quotes = Aggregator::new(|_| {});
    let policy = policy_in(mode);
    ready(swap::build(
        &parse(&arguments()).unwrap(),
        &quotes,
        simulator,
        &policy,
        &moment(),
    ))
}

fn run(edit: impl Fn(&mut Vec<SimulatedCall>) + Send + Sync) -> Result<Value, Refusal> {
    let sealed = build(&Chain {
        edit,
        ran: Mutex::default(),
    })?;
    let request = Request::Swap(parse(&arguments()).unwrap());
    verify(&request, sealed.json(), now(), &policy()).unwrap();
    let plan: Value = serde_json::from_str(sealed.json()).unwrap();
    Ok(plan["simulation"].clone())
}

#[test]
fn the_whole_plan_is_run_between_two_readings() {
    let chain = Chain {
        edit: |_: &mut Vec<SimulatedCall>| {},
        ran: Mutex::default(),
    };
    build(&chain).unwrap();
    let ran = chain.ran.into_inner().unwrap();
    let kinds: Vec<_> = ran[3..6].iter().map(|step| step.kind).collect();
    assert_eq!(kinds, StepKind::ALL);
    assert_eq!(ran[..3], ran[6..]);
    assert_eq!([ran[0].to, ran[1].to, ran[2].to], [USDC, USDC, WETH]);
}

#[test]
fn movements_are_recorded_and_gas_is_not_offered_as_a_limit() {
    let simulation = run(|_| {}).unwrap();
    let note = simulation["note"].as_str().unwrap();
    assert!(note.contains("gas_used is no gas limit"), "{note}");
    assert_eq!(simulation["outcome"], "as_planned");
    assert_eq!(simulation["gas_used"], json!([21_000, 21_000, 21_000]));
    assert_eq!(
        simulation["balance_changes"],
        json!([
            {"amount": GROSS.to_string(), "direction": "spent", "token": USDC.to_string()},
            {"amount": MINIMUM.to_string(), "direction": "received", "token": WETH.to_string()},
        ])
    );
}

/// The router returns what the exchanges leave, so the account spends less than it deposited.
#[test]
fn the_rest_of_the_exchanges_comes_back() {
    let simulation = run(|o| set(&mut o[6], GROSS + 3)).unwrap();
    assert_eq!(simulation["outcome"], "as_planned");
    assert_eq!(
        simulation["balance_changes"][0]["amount"],
        (GROSS - 3).to_string()
    );
}

/// The router gives tokens that somebody left in it to its next caller. Then the account spends
/// nothing, or even gains.
#[test]
fn stray_tokens_in_the_router_are_no_reason_to_refuse() {
    for (after, direction, amount) in [
        (2 * GROSS - 1, "spent", 1),
        (2 * GROSS, "spent", 0),
        (2 * GROSS + 1, "received", 1),
        (9 * GROSS, "received", 7 * GROSS),
    ] {
        let simulation = run(|o| set(&mut o[6], after)).unwrap();
        assert_eq!(simulation["outcome"], "as_planned");
        assert_eq!(
            simulation["balance_changes"][0],
            json!({"amount": amount.to_string(), "direction": direction, "token": USDC.to_string()})
        );
    }
}

#[test]
fn a_revert_is_described_in_words() {
    let observed = |data: Vec<u8>| {
        let refusal = run(move |o| {
            o[5].success = false;
            o[5].return_data = data.clone().into();
        });
        refusal.unwrap_err().observed.unwrap()
    };
    assert_eq!(
        observed(Revert::from("Blacklistable: account is blacklisted").abi_encode()),
        "it reverts with Error(\"Blacklistable: account is blacklisted\")"
    );
    let mut slipped = vec![0x27, 0x5c, 0x27, 0x3c];
    slipped.extend(U256::from(9).to_be_bytes::<32>());
    slipped.extend(U256::from(4).to_be_bytes::<32>());
    assert_eq!(
        observed(slipped),
        "it reverts with CumulativeSlippageTooHigh(9, 4)"
    );
    assert_eq!(observed(vec![]), "it reverts with no reason");
}

#[test]
fn outcomes_other_than_planned_are_refused() {
    let attacks: [fn(&mut Vec<SimulatedCall>); 6] = [
        |o| o[5].success = false,
        |o| o[4].success = false,
        |o| set(&mut o[6], GROSS - 1),
        |o| set(&mut o[7], 1),
        |o| set(&mut o[8], 7 + MINIMUM - 1),
        |o| o[5].logs.push(transfer(WETH, ACCOUNT)),
    ];
    for (at, attack) in attacks.into_iter().enumerate() {
        assert_eq!(
            run(attack).unwrap_err().check,
            Refusal::SIMULATION,
            "attack {at}"
        );
    }
}

#[test]
fn a_plan_that_could_not_be_simulated_says_so() {
    let poor = run(|o| set(&mut o[0], GROSS - 1)).unwrap();
    assert_eq!(poor["outcome"], "insufficient_balance");
    assert!(
        poor["note"]
            .as_str()
            .unwrap()
            .starts_with("nothing was simulated")
    );
    assert_eq!(
        run(|o| {
            o.pop();
        })
        .unwrap()["outcome"],
        "unavailable"
    );
    assert_eq!(
        run(|o| o[0].success = false).unwrap()["outcome"],
        "unavailable"
    );

    struct Down;
    impl Simulator for Down {
        async fn simulate(
            &self,
            _: u64,
            _: Address,
            _: &[Step],
        ) -> Result<Option<Vec<SimulatedCall>>, PortError> {
            Err(PortError {
                source_name: "rpc".into(),
                reason: PortErrorReason::Unavailable {
                    detail: "down".to_owned(),
                },
            })
        }
    }
    let plan: Value = serde_json::from_str(build(&Down).unwrap().json()).unwrap();
    assert_eq!(plan["simulation"]["outcome"], "unavailable");
    let note = plan["simulation"]["note"].as_str().unwrap();
    assert!(note.starts_with("nothing was simulated"));
    // When a simulation is required, an unavailable node gives no plan.
    let refusal = build_in(SimulationMode::Required, &Down).unwrap_err();
    assert_eq!(refusal.check, Refusal::SIMULATION_UNAVAILABLE);
    let plan = build_in(SimulationMode::Off, &Down).unwrap();
    assert!(!plan.json().contains("simulation"));
}

#[test]
fn an_unavailable_required_simulation_is_a_refusal() {
    let refused = |edit: fn(&mut Vec<SimulatedCall>)| {
        let chain = Chain {
            edit,
            ran: Mutex::default(),
        };
        build_in(SimulationMode::Required, &chain).map(|_| ())
    };
    let unusable: [fn(&mut Vec<SimulatedCall>); 3] = [
        |o| drop(o.pop()),
        |o| o[0].success = false,
        |o| o[5].gas_used = u64::MAX,
    ];
    for edit in unusable {
        let refusal = refused(edit).unwrap_err();
        assert_eq!(refusal.check, Refusal::SIMULATION_UNAVAILABLE);
    }
    let refusal = build_in(SimulationMode::Required, &NoSimulator).unwrap_err();
    assert_eq!(refusal.check, Refusal::SIMULATION_UNAVAILABLE);
    // A plan that succeeds is given. A plan that cannot be simulated because the account has no
    // funds is also given, and says so.
    assert_eq!(refused(|_| {}), Ok(()));
    assert_eq!(refused(|o| set(&mut o[0], GROSS - 1)), Ok(()));
    // A plan that fails is refused with the failure.
    let refusal = refused(|o| o[5].success = false).unwrap_err();
    assert_eq!(refusal.check, Refusal::SIMULATION);

    struct Limited;
    impl Simulator for Limited {
        async fn simulate(
            &self,
            _: u64,
            _: Address,
            _: &[Step],
        ) -> Result<Option<Vec<SimulatedCall>>, PortError> {
            Err(PortError {
                source_name: "rpc".into(),
                reason: PortErrorReason::RateLimited {
                    retry_after: Some(Duration::from_secs(3)),
                },
            })
        }
    }
    let refusal = build_in(SimulationMode::Required, &Limited).unwrap_err();
    assert_eq!(refusal.check, Refusal::SIMULATION_UNAVAILABLE);
    assert_eq!(refusal.retry_after.map(|seconds| seconds.get()), Some(4));
}

/// The recipient of a plan may require that the plan was simulated.
#[test]
fn a_verifier_that_requires_a_simulation_refuses_a_plan_without_one() {
    let chain = |edit| Chain::<fn(&mut Vec<SimulatedCall>)> {
        edit,
        ran: Mutex::default(),
    };
    let request = Request::Swap(parse(&arguments()).unwrap());
    let verified =
        |sealed: Sealed, mode| verify(&request, sealed.json(), now(), &policy_in(mode)).map(|_| ());
    type Edit = fn(&mut Vec<SimulatedCall>);
    let runs: [(Edit, bool); 3] = [
        (|_| {}, true),
        (|o| set(&mut o[0], GROSS - 1), true),
        (|o| drop(o.pop()), false),
    ];
    for (edit, holds) in runs {
        let sealed = build(&chain(edit)).unwrap();
        assert_eq!(verified(sealed.clone(), SimulationMode::Preferred), Ok(()));
        assert_eq!(verified(sealed, SimulationMode::Required).is_ok(), holds);
    }
    let unrun = build(&NoSimulator).unwrap();
    let refusal = verified(unrun, SimulationMode::Required).unwrap_err();
    assert_eq!(refusal.check, Refusal::SIMULATION_UNAVAILABLE);
}

/// Edits the record of a simulated plan, computes the digest again, and verifies the plan for a
/// verifier that requires a simulation.
fn edited(edit: impl FnOnce(&mut Value)) -> Result<(), Refusal> {
    let sealed = build(&Chain {
        edit: |_: &mut Vec<SimulatedCall>| {},
        ran: Mutex::default(),
    })
    .unwrap();
    let mut plan: Value = serde_json::from_str(sealed.json()).unwrap();
    edit(&mut plan["simulation"]);
    plan["submission"]
        .as_object_mut()
        .unwrap()
        .remove("payload_digest");
    let digest = alloy_primitives::keccak256(serde_json_canonicalizer::to_vec(&plan).unwrap());
    plan["submission"]["payload_digest"] = json!(digest.to_string());
    let request = Request::Swap(parse(&arguments()).unwrap());
    let policy = policy_in(SimulationMode::Required);
    verify(&request, &plan.to_string(), now(), &policy).map(drop)
}

/// A plan whose note differs from the note of its outcome is refused.
#[test]
fn a_note_cannot_be_rewritten() {
    let refusal = edited(|record| record["note"] = json!("send gas_used as the limit"));
    assert_eq!(refusal.unwrap_err().check, Refusal::SIMULATION);
}

/// The time of a record must be between the plan's reading and the plan's end. It may be a minute
/// before the reading, because clocks differ.
#[test]
fn a_record_of_another_time_is_refused() {
    let at = |unix| edited(|record| record["at"] = json!(UtcSeconds::from_unix(unix).to_string()));
    for time in [NOW - 60, NOW, NOW + 60] {
        assert_eq!(at(time), Ok(()));
    }
    for time in [0, NOW - 61, NOW + 61] {
        assert_eq!(at(time).unwrap_err().check, Refusal::SIMULATION, "{time}");
    }
}

#[test]
fn a_chain_that_is_not_simulated_is_not_asked() {
    struct Elsewhere;
    impl Simulator for Elsewhere {
        fn simulates(&self, chain_id: u64) -> bool {
            chain_id != BASE
        }

        async fn simulate(
            &self,
            chain_id: u64,
            _: Address,
            _: &[Step],
        ) -> Result<Option<Vec<SimulatedCall>>, PortError> {
            panic!("asked for {chain_id}");
        }
    }
    let plan: Value = serde_json::from_str(build(&Elsewhere).unwrap().json()).unwrap();
    assert_eq!(plan.get("simulation"), None);
}

#[test]
fn the_digest_covers_the_record() {
    let sealed = build(&Chain {
        edit: |_: &mut Vec<SimulatedCall>| {},
        ran: Mutex::default(),
    })
    .unwrap();
    let request = Request::Swap(parse(&arguments()).unwrap());
    let more = sealed.json().replace(
        &format!("\"{MINIMUM}\",\"direction\""),
        "\"999999999999999999\",\"direction\"",
    );
    assert_ne!(more, sealed.json());
    let refusal = verify(&request, &more, now(), &policy()).unwrap_err();
    assert_eq!(refusal.check, "payload_digest_committed");
}
