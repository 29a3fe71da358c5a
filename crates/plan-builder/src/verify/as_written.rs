//! The verifier's short way, for a plan in the form that this crate writes. It picks the parts that
//! no other member determines from the text, judges everything, writes the plan again, and compares
//! the two texts byte for byte. Equal texts need no comparison member by member, and prove that
//! every part was picked from its place.

use alloy_primitives::B256;
use calldata_checks::{Commitment, DigestStanding, UtcSeconds};
use memchr::{memmem, memrchr};
use serde::de::DeserializeOwned;

use super::{JudgedPayload, judge_labels, judge_payload};
use crate::{
    Policy, Verified,
    rail::RailPlan,
    seal::{self, Labels},
    simulation::Simulation,
    wire::Word,
};

/// Verifies a plan in this crate's own spelling. `None` for another spelling, and for a plan that
/// does not hold: the long way names the fault.
pub(super) fn verify<R: RailPlan>(
    request: &R::Request,
    text: &str,
    now: UtcSeconds,
    policy: &Policy,
) -> Option<Verified> {
    let payload: R::Payload = value(behind(text, r#","payload":"#)?)?;
    let end = End::of(text)?;
    let labels = Labels {
        artifact_id: artifact_id(text)?.to_owned(),
        valid_until: end.valid_until,
        created_millis: created_millis::<R>(request, &payload, text)?,
        simulation: end.simulation,
    };
    let claimed = end.payload_digest;
    let commitment = Commitment {
        valid_until: labels.valid_until,
        now,
        // The digest is computed below, over the text that contains it.
        digest: DigestStanding::Recomputed {
            claimed,
            computed: claimed,
        },
    };
    let JudgedPayload {
        report,
        terms,
        facts,
    } = judge_payload::<R>(request, &payload, policy, commitment).ok()?;
    judge_labels::<R>(request, &payload, policy, &labels).ok()?;
    let valid_until = labels.valid_until;
    let (account, account_kind, chain_id) = (terms.account, terms.kind, terms.chain_id);
    let plan = R::content(&payload, facts, labels.simulation.as_ref())?;
    let mut body = seal::body::<R>(request, payload, &report, terms, labels).ok()?;
    let intent_digest = body.intent_digest.0;
    body.is_written_as::<R>(text, Word(claimed))
        .then(|| Verified {
            payload_digest: claimed,
            intent_digest,
            valid_until,
            account,
            account_kind,
            chain_id,
            report,
            plan,
        })
}

/// Reads the only label of the exports, where the request asked for them.
fn created_millis<R: RailPlan>(
    request: &R::Request,
    payload: &R::Payload,
    text: &str,
) -> Option<u64> {
    match R::evm(request, payload) {
        Some(evm) if evm.exports.safe_tx_builder => value(behind(text, r#","createdAt":"#)?),
        _ => Some(0),
    }
}

/// Reads the value at the beginning of a text.
fn value<T: DeserializeOwned>(text: &str) -> Option<T> {
    T::deserialize(&mut serde_json::Deserializer::from_str(text)).ok()
}

/// Returns the text after the first occurrence of a mark.
fn behind<'a>(text: &'a str, mark: &str) -> Option<&'a str> {
    text.get(memmem::find(text.as_bytes(), mark.as_bytes())? + mark.len()..)
}

/// Returns the string after the account, if it has no escapes.
fn artifact_id(text: &str) -> Option<&str> {
    let (_, behind) = text.split_once('}')?;
    let (id, _) = behind
        .strip_prefix(r#","artifact_id":""#)?
        .split_once('"')?;
    Some(id)
}

/// The members after `schema_version`.
struct End {
    simulation: Option<Simulation>,
    payload_digest: B256,
    valid_until: UtcSeconds,
}

impl End {
    /// Reads the members from the last byte backwards: everything after the list of `submission`
    /// has a fixed length.
    fn of(text: &str) -> Option<Self> {
        let text = text.strip_suffix(r#""}"#)?;
        let (text, valid_until) = before_last(text, "2026-11-21T15:30:00Z".len())?;
        let text = text.strip_suffix(r#""},"valid_until":""#)?;
        let (text, payload_digest) = before_last(text, "0x".len() + 2 * B256::ZERO.len())?;
        let (text, _) = text.split_at_checked(memrchr(b'{', text.as_bytes())?)?;
        // The list follows a version, which ends as text, or a simulation.
        let simulation = if text.ends_with(r#"","submission":"#) {
            None
        } else {
            Some(value(behind(text, r#","simulation":"#)?)?)
        };
        Some(Self {
            simulation,
            payload_digest: payload_digest.parse().ok()?,
            valid_until: valid_until.parse().ok()?,
        })
    }
}

/// Splits the last bytes off a text.
fn before_last(text: &str, bytes: usize) -> Option<(&str, &str)> {
    text.split_at_checked(text.len().checked_sub(bytes)?)
}
