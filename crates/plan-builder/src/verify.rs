//! The verifier. It decodes a plan, runs the same checks on it as the builder, builds it again, and
//! compares the two.

use alloy_primitives::B256;
use calldata_checks::{
    CheckReport, Commitment, DigestStanding, Failure, UtcSeconds, Violation,
    commitment::{ARTIFACT_EXPIRY, CLOCK_TOLERANCE_SECONDS, MAX_LIFE_SECONDS, PAYLOAD_DIGEST},
    judge,
};
use serde_json::Value;

use crate::{
    Judgement, OwnReadings, Policy, Refusal, Verified, digest,
    envelope::Body,
    rail::{RailPlan, ReadAgain, Terms, rail_of},
    seal::{self, Labels, intent_digest, unwritable},
    simulation::Simulation,
};

/// Verifies a plan of one rail.
///
/// # Errors
/// The first check that does not hold, in this order: the form (`plan_malformed`), the digest
/// (`payload_digest_committed`), the request that the plan answers, the rail's table, every member
/// that the others determine.
pub(crate) fn verify<R: RailPlan>(
    request: &R::Request,
    text: &str,
    now: UtcSeconds,
    policy: &Policy,
    own: &OwnReadings,
) -> Result<Verified, Refusal> {
    let mut given: Body<'_, R::Payload, R::Fees> = parse(text)?;
    if given.rail.0 != rail_of::<R>() {
        return Err(malformed("a plan of another rail")
            .comparing(rail_of::<R>().as_str(), given.rail.0.as_str()));
    }
    let claimed = given
        .submission
        .payload_digest
        .ok_or_else(|| malformed("submission.payload_digest is missing"))?
        .0;
    let written = given.write::<R>().ok_or_else(unwritable)?;
    let computed = if written.sealed().as_deref() == Some(text) {
        written.digest
    } else {
        foreign_digest(text)?
    };
    let commitment = Commitment {
        valid_until: given.valid_until.0,
        now,
        digest: DigestStanding::Recomputed { claimed, computed },
    };
    commitment
        .judge_digest()
        .map_err(|violation| Failure::new(PAYLOAD_DIGEST, violation))?;
    let JudgedPayload {
        report,
        terms,
        facts,
    } = judge_payload::<R>(request, &given.payload, policy, commitment)?;
    let intent = intent_digest::<R>(request).ok_or_else(unwritable)?;
    if given.intent_digest.0 != intent {
        return Err(Refusal::new(
            Refusal::INTENT_DIGEST,
            "the plan was sealed for another request",
        )
        .comparing(intent, given.intent_digest.0));
    }
    let created_millis = given
        .exports
        .as_ref()
        .map_or(0, |exports| exports.created_millis());
    let labels = Labels {
        artifact_id: given.artifact_id,
        valid_until: given.valid_until.0,
        created_millis,
        judgements: given.judgements,
        simulation: given.simulation,
    };
    judge_labels::<R>(request, &given.payload, policy, &labels)?;
    let (valid_until, judgements) = (labels.valid_until, labels.judgements.clone());
    let read_again = R::read_again(&facts, &given.payload, own)?;
    let (account, account_kind, chain_id) = (terms.account, terms.kind, terms.chain_id);
    let plan = R::content(&given.payload, facts, labels.simulation.as_ref())
        .ok_or_else(|| malformed("the payload holds no plan"))?;
    let mut rebuilt_body = seal::body::<R>(request, given.payload, &report, terms, labels)?;
    let again = rebuilt_body.unsealed().ok_or_else(unwritable)?;
    if again != written.unsealed() {
        return Err(first_difference(&again, written.unsealed()));
    }
    // A plan must have only one digest. A member that reads like another one (`null` like a missing
    // member) would give it a second digest.
    if written.digest != claimed {
        return Err(
            malformed("a member has another form than in plans").comparing(written.digest, claimed)
        );
    }
    let established = match read_again {
        None => report.clone().without_readings(&[]),
        Some(ReadAgain { facts, checks }) => judge(&facts)?.without_readings(checks),
    };
    Ok(Verified {
        payload_digest: claimed,
        intent_digest: intent,
        valid_until,
        account,
        account_kind,
        chain_id,
        report: established,
        plan_report: report,
        judgements,
        plan,
    })
}

/// The result of judging the payload's own bytes.
struct JudgedPayload<R: RailPlan> {
    report: CheckReport,
    terms: Terms<R::Fees>,
    facts: R::Facts,
}

/// Judges the payload's own bytes for the request, and computes the terms that they determine.
fn judge_payload<R: RailPlan>(
    request: &R::Request,
    payload: &R::Payload,
    policy: &Policy,
    commitment: Commitment,
) -> Result<JudgedPayload<R>, Refusal> {
    judge_reading(R::read_at(payload), commitment.valid_until)?;
    let facts = R::facts(request, payload, policy, commitment)?;
    let report = judge(&facts)?;
    let terms = R::terms(request, payload, policy, &facts)?;
    Ok(JudgedPayload {
        report,
        terms,
        facts,
    })
}

/// Judges the members that the others do not determine, as far as possible.
fn judge_labels<R: RailPlan>(
    request: &R::Request,
    payload: &R::Payload,
    policy: &Policy,
    labels: &Labels,
) -> Result<(), Refusal> {
    judge_artifact_id::<R>(&labels.artifact_id)?;
    judge_statements::<R>(&labels.judgements)?;
    let simulation = labels.simulation.as_ref();
    let Some(evm) = R::evm(request, payload) else {
        return match simulation {
            Some(_) => Err(rebuilt("simulation", "nothing", "a simulation of an order")),
            None => Ok(()),
        };
    };
    if !Simulation::satisfies(simulation, policy.simulation) {
        return Err(Refusal::new(
            Refusal::SIMULATION_UNAVAILABLE,
            "plans are accepted only when they could be run, and this one was not",
        ));
    }
    simulation.map_or(Ok(()), |simulation| {
        let life = (R::read_at(payload), labels.valid_until);
        simulation.judge(evm.steps.len(), evm.effect, life)
    })
}

/// Compares names, meanings and forms of the plan's judgements. Nobody can repeat their results.
fn judge_statements<R: RailPlan>(given: &[Judgement]) -> Result<(), Refusal> {
    let is_stated = match given {
        [] => !R::JUDGES_WORTH,
        [only] => R::JUDGES_WORTH && *only == only.rewritten(),
        _ => false,
    };
    let expected = match R::JUDGES_WORTH {
        true => "the judgement of the output's worth, in the form of this crate",
        false => "none",
    };
    match is_stated {
        true => Ok(()),
        false => Err(rebuilt("judgements", expected, "others")),
    }
}

/// Refuses a plan that is valid for longer after its reading than any plan may be.
fn judge_reading(read_at: UtcSeconds, valid_until: UtcSeconds) -> Result<(), Failure> {
    let latest = read_at.saturating_add(MAX_LIFE_SECONDS + CLOCK_TOLERANCE_SECONDS);
    if read_at <= valid_until && valid_until <= latest {
        return Ok(());
    }
    let violation = Violation::new(
        "the plan is not built on a reading of its time",
        format_args!("an end from {read_at} to {latest}"),
        valid_until,
    );
    Err(Failure::new(ARTIFACT_EXPIRY, violation))
}

fn parse<R: serde::de::DeserializeOwned>(text: &str) -> Result<R, Refusal> {
    serde_json::from_str(text).map_err(|error| {
        // The parser's own message could repeat foreign input. The position is enough to find the
        // member.
        let what = match error.classify() {
            serde_json::error::Category::Data => "a missing, unknown, duplicate or mistyped member",
            _ => "not JSON",
        };
        malformed(what).comparing(
            "an envelope of this rail",
            format_args!("{what} at line {} column {}", error.line(), error.column()),
        )
    })
}

/// Computes the digest of a text in another spelling than this crate's. Any JSON with the same
/// canonical form is the same plan.
fn foreign_digest(text: &str) -> Result<B256, Refusal> {
    let mut value = exact::parse_json(text).map_err(|defects| {
        let first = defects
            .first()
            .map_or_else(String::new, ToString::to_string);
        malformed(&first)
    })?;
    if let Some(Value::Object(submission)) = value.get_mut("submission") {
        submission.remove("payload_digest");
    }
    digest::canonical(&value)
        .map(|bytes| digest::keccak(&bytes))
        .ok_or_else(unwritable)
}

fn judge_artifact_id<R: RailPlan>(id: &str) -> Result<(), Refusal> {
    let named = id
        .strip_prefix(rail_of::<R>().as_str())
        .and_then(|rest| rest.strip_prefix('-'))
        .is_some_and(|rest| {
            rest.len() == 32
                && rest
                    .bytes()
                    .all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b))
        });
    if named {
        Ok(())
    } else {
        Err(rebuilt(
            "artifact_id",
            "the rail's name and 32 hex digits",
            &exact::shortened(id, 80),
        ))
    }
}

/// Makes the refusal that names the first member of the envelope that differs.
fn first_difference(expected: &str, observed: &str) -> Refusal {
    let (Ok(Value::Object(expected)), Ok(Value::Object(observed))) = (
        serde_json::from_str(expected),
        serde_json::from_str(observed),
    ) else {
        return unwritable();
    };
    let shown = |value: Option<&Value>| {
        value.map_or_else(
            || "nothing".to_owned(),
            |v| exact::shortened(&v.to_string(), 400),
        )
    };
    expected
        .keys()
        .chain(observed.keys())
        // `submission` differs only because it has the digest of the member that differs.
        .filter(|name| *name != "submission")
        .find(|name| expected.get(*name) != observed.get(*name))
        .map_or_else(
            || rebuilt("submission", &shown(expected.get("submission")), &shown(observed.get("submission"))),
            |name| rebuilt(name, &shown(expected.get(name)), &shown(observed.get(name))),
        )
}

fn rebuilt(member: &str, expected: &str, observed: &str) -> Refusal {
    Refusal::new(
        Refusal::PLAN_REBUILT,
        format!("member {member} differs from the plan's own bytes"),
    )
    .comparing(expected, observed)
}

fn malformed(message: &str) -> Refusal {
    Refusal::new(Refusal::PLAN_MALFORMED, message)
}
