//! The verifier's short way, for a plan that stands as this crate writes it: what follows from nothing else is picked from
//! the text, everything is judged and written again, and it must give the same text, byte for byte. Then nothing has to be
//! compared member by member, and however a part was picked, it is the one that stands there.

use alloy_primitives::B256;
use memchr::memmem;
use plan_checks::{Commitment, DigestStanding, UtcSeconds};
use serde::de::DeserializeOwned;

use super::{Verified, judge_labels, judge_payload};
use crate::{
    Policy,
    envelope::SCHEMA_VERSION,
    rail::{RailPlan, rail_of},
    seal::{self, Labels},
    wire::Word,
};

/// Verifies a plan that has this crate's own spelling. `None` for every other one, and for what does not hold: that is for
/// the long way to name.
pub(super) fn verify<R: RailPlan>(
    request: &R::Request,
    text: &str,
    now: UtcSeconds,
    policy: &Policy,
) -> Option<Verified> {
    let payload: R::Payload = value(behind(text, r#","payload":"#)?)?;
    let (_, tail) = text.rsplit_once(r#","schema_version":""#)?;
    let tail = tail.strip_prefix(SCHEMA_VERSION)?.strip_prefix('"')?;
    let simulation = match tail.strip_prefix(r#","simulation":"#) {
        Some(from_simulation) => Some(value(from_simulation)?),
        None => None,
    };
    let claimed: B256 = string(tail, r#","payload_digest":""#)?.parse().ok()?;
    let labels = Labels {
        artifact_id: string(text, r#","artifact_id":""#)?.to_owned(),
        valid_until: string(tail, r#","valid_until":""#)?.parse().ok()?,
        created_millis: created_millis::<R>(request, &payload, text)?,
        simulation,
    };
    let commitment = Commitment {
        valid_until: labels.valid_until,
        now,
        // Computed below, over the text that it is a part of.
        digest: DigestStanding::Recomputed {
            claimed,
            computed: claimed,
        },
    };
    let (report, terms) = judge_payload::<R>(request, &payload, policy, commitment).ok()?;
    judge_labels::<R>(request, &payload, &labels).ok()?;
    let valid_until = labels.valid_until;
    let mut body = seal::body::<R>(request, payload, &report, terms, labels).ok()?;
    let intent_digest = body.intent_digest.0;
    body.is_written_as::<R>(text, Word(claimed))
        .then(|| Verified {
            rail: rail_of::<R>(),
            payload_digest: claimed,
            intent_digest,
            valid_until,
            report,
        })
}

/// The one label of the exports, where they were asked for.
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

/// The value that a text begins with.
fn value<T: DeserializeOwned>(text: &str) -> Option<T> {
    T::deserialize(&mut serde_json::Deserializer::from_str(text)).ok()
}

/// The string that follows some text, as far as it has no escapes.
fn string<'a>(text: &'a str, before: &str) -> Option<&'a str> {
    Some(behind(text, before)?.split_once('"')?.0)
}

/// What follows the first occurrence of a mark.
fn behind<'a>(text: &'a str, mark: &str) -> Option<&'a str> {
    text.get(memmem::find(text.as_bytes(), mark.as_bytes())? + mark.len()..)
}
