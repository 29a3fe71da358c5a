//! Verifies plans of any text against recorded requests, unchanged and with a corrected digest, as
//! a forger would write it. A verified plan has the digest of an independent RFC 8785
//! implementation, is current, and is one plan however its JSON is spaced. It does not verify after
//! its end, nor for another request.
#![no_main]

use alloy_primitives::{B256, keccak256};
use fuzz::{POLICY, RECORDED};
use libfuzzer_sys::fuzz_target;
use plan_builder::{rail_of_plan, verify};
use serde_json::Value;

fuzz_target!(|data: &[u8]| {
    let Some((choice, rest)) = data.split_first() else {
        return;
    };
    let Ok(text) = std::str::from_utf8(rest) else {
        return;
    };
    let recorded = &RECORDED[usize::from(*choice) % RECORDED.len()];
    let _ = rail_of_plan(text);
    holds(recorded, text);
    if let Some(sealed) = reseal(text) {
        holds(recorded, &sealed);
    }
});

fn holds(recorded: &fuzz::Recorded, text: &str) {
    let Ok(verified) = verify(&recorded.request, text, recorded.now, &POLICY) else {
        return;
    };
    let (plan, digest) = digest(text).unwrap();
    assert_eq!(verified.payload_digest(), digest);
    assert_eq!(plan["submission"]["payload_digest"], digest.to_string());
    assert_eq!(plan["intent_digest"], verified.intent_digest().to_string());
    assert_eq!(
        recorded.request.intent_digest(),
        Ok(verified.intent_digest())
    );
    assert_eq!(rail_of_plan(text), Ok(verified.rail()));
    assert_eq!(verified.rail(), recorded.request.rail());
    assert!(recorded.now < verified.valid_until());
    let pretty = serde_json::to_string_pretty(&plan).unwrap();
    assert_eq!(
        verify(&recorded.request, &pretty, recorded.now, &POLICY).as_ref(),
        Ok(&verified)
    );
    assert!(verify(&recorded.request, text, verified.valid_until(), &POLICY).is_err());
    for other in RECORDED
        .iter()
        .filter(|other| other.request != recorded.request)
    {
        assert!(verify(&other.request, text, other.now, &POLICY).is_err());
    }
}

/// The text with the correct `submission.payload_digest`.
fn reseal(text: &str) -> Option<String> {
    let (mut plan, digest) = digest(text)?;
    let place = plan.get_mut("submission")?.get_mut("payload_digest")?;
    *place = Value::from(digest.to_string());
    Some(plan.to_string())
}

/// A plan and its digest: keccak-256 of its RFC 8785 form without the digest itself.
fn digest(text: &str) -> Option<(Value, B256)> {
    let plan: Value = serde_json::from_str(text).ok()?;
    let mut hashed = plan.clone();
    hashed
        .get_mut("submission")?
        .as_object_mut()?
        .remove("payload_digest")?;
    let bytes = serde_json_canonicalizer::to_vec(&hashed).ok()?;
    Some((plan, keccak256(bytes)))
}
