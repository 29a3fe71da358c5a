//! Tests of sealed plans that somebody changed, with the old digest and with a recomputed one.

use alloy_primitives::{B256, hex, keccak256};
use plan_builder::{Refusal, Request, verify};
use serde_json::{Value, json};

use crate::swap::sample::{arguments, now, parse, policy, policy_with, sealed, verified};

/// Collects every leaf of a JSON value, as a pointer.
fn leaves(value: &Value, at: &str, found: &mut Vec<String>) {
    match value {
        Value::Object(members) => {
            for (name, member) in members {
                leaves(member, &format!("{at}/{name}"), found);
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                leaves(item, &format!("{at}/{index}"), found);
            }
        }
        _ => found.push(at.to_owned()),
    }
}

/// Returns another value of the same form.
fn altered(leaf: &Value) -> Value {
    match leaf {
        Value::Bool(yes) => json!(!yes),
        Value::Number(number) => json!(number.as_u64().unwrap() + 1),
        Value::String(text) if text.starts_with("0x") && text.len() > 42 => {
            let mut bytes = hex::decode(text).unwrap();
            *bytes.last_mut().unwrap() ^= 1;
            json!(hex::encode_prefixed(bytes))
        }
        Value::String(text) if text.starts_with("0x") => {
            json!(crate::swap::sample::STRANGER.to_string())
        }
        Value::String(text) if text.ends_with('Z') => json!(text.replace("2026", "2027")),
        Value::String(text) if text.parse::<u128>().is_ok() => {
            json!((text.parse::<u128>().unwrap() + 1).to_string())
        }
        Value::String(text) => json!(format!("{text}x")),
        other => panic!("{other}"),
    }
}

fn plan() -> Value {
    serde_json::from_str(sealed().json()).unwrap()
}

/// Returns the plan with its digest computed again.
fn resealed(mut plan: Value) -> String {
    plan["submission"]
        .as_object_mut()
        .unwrap()
        .remove("payload_digest");
    let digest: B256 = keccak256(serde_json_canonicalizer::to_vec(&plan).unwrap());
    plan["submission"]["payload_digest"] = json!(digest.to_string());
    plan.to_string()
}

#[test]
fn a_changed_member_breaks_the_digest() {
    let plan = plan();
    let mut paths = Vec::new();
    leaves(&plan, "", &mut paths);
    assert!(paths.len() > 80);
    for path in paths {
        let mut changed = plan.clone();
        let leaf = changed.pointer_mut(&path).unwrap();
        *leaf = altered(leaf);
        let refusal = verified(&changed.to_string()).expect_err(&path);
        // Values that no plan can have are refused before the digest is computed.
        let words = ["/result", "/kind", "/ledger", "/trezor", "/signed_as"];
        let unreadable = words.iter().any(|word| path.ends_with(word)) || path == "/rail";
        let expected = if unreadable {
            Refusal::PLAN_MALFORMED
        } else {
            "payload_digest_committed"
        };
        assert_eq!(refusal.check, expected, "{path}");
    }
}

/// Only members that nobody could check offline may still change: the names of the aggregator and
/// the exchange.
#[test]
fn a_changed_member_with_a_digest_of_its_own_is_refused_by_another_name() {
    let plan = plan();
    let mut paths = Vec::new();
    leaves(&plan, "", &mut paths);
    let mut refusals = String::new();
    for path in paths {
        let mut changed = plan.clone();
        let leaf = changed.pointer_mut(&path).unwrap();
        *leaf = altered(leaf);
        let check = match verified(&resealed(changed)) {
            Ok(_) => "accepted".into(),
            Err(refusal) => refusal.check,
        };
        refusals.push_str(&format!("{path}: {check}\n"));
    }
    insta::assert_snapshot!(refusals);
}

#[test]
fn the_spelling_may_change_and_the_content_may_not() {
    let plan = plan();
    verified(&plan.to_string()).unwrap();
    verified(&serde_json::to_string_pretty(&plan).unwrap()).unwrap();
    let text = sealed().into_json();
    verified(&text.replace("\"rail\":", "\n\t\"\\u0072ail\" : ")).unwrap();

    let twice = text.replacen('{', "{\"rail\":\"swap\",", 1);
    assert_eq!(verified(&twice).unwrap_err().check, Refusal::PLAN_MALFORMED);
    let inner = text.replacen("\"steps\":", "\"chain_id\":8453,\"steps\":", 1);
    assert_eq!(verified(&inner).unwrap_err().check, Refusal::PLAN_MALFORMED);
    let more = text.replacen('{', "{\"note\":\"\",", 1);
    assert_eq!(verified(&more).unwrap_err().check, Refusal::PLAN_MALFORMED);
    for other in [
        "",
        "null",
        "{}",
        "[]",
        &text[..text.len() - 1],
        &format!("{text}x"),
    ] {
        assert_eq!(verified(other).unwrap_err().check, Refusal::PLAN_MALFORMED);
    }
}

/// Every byte of the text has a meaning, so a changed byte is refused.
#[test]
fn any_changed_byte_of_the_text_is_refused() {
    let text = sealed().into_json();
    for at in 0..text.len() {
        let mut bytes = text.clone().into_bytes();
        bytes[at] ^= 1;
        let changed = String::from_utf8(bytes).unwrap();
        let refusal = verified(&changed).expect_err(&changed);
        assert!(
            ["plan_malformed", "payload_digest_committed"].contains(&refusal.check.as_ref()),
            "{at}: {refusal}"
        );
    }
}

#[test]
fn a_plan_for_another_request_is_refused() {
    let text = sealed().into_json();
    for (edit, check) in [
        (
            json!({"fromAmount": "1000000008"}),
            "agg_token_amount_bound",
        ),
        (json!({"fromAmount": "2000000000"}), "agg_fee_amount_exact"),
        (
            json!({"toToken": crate::swap::sample::OWN}),
            "agg_token_amount_bound",
        ),
        (
            json!({"slippage": {"maxBps": 49}}),
            "agg_min_out_slippage_bound",
        ),
        (json!({"slippage": {"maxBps": 51}}), "intent_digest_bound"),
        (json!({"minAmountOut": "1"}), "intent_digest_bound"),
        (json!({"exports": ["eip5792"]}), "intent_digest_bound"),
        (
            json!({"accountProfile": {"kind": "safe", "address": crate::swap::sample::ACCOUNT, "chainId": 8453}}),
            "intent_digest_bound",
        ),
        (
            json!({"accountProfile": {"kind": "eoa", "address": crate::swap::sample::STRANGER, "chainId": 8453}}),
            "agg_receiver_account_bound",
        ),
    ] {
        let mut arguments = arguments();
        arguments
            .as_object_mut()
            .unwrap()
            .extend(edit.as_object().unwrap().clone());
        let request = Request::Swap(parse(&arguments).unwrap());
        let refusal = verify(&request, &text, now(), &policy()).unwrap_err();
        assert_eq!(refusal.check, check, "{arguments}");
    }
}

#[test]
fn a_plan_under_another_configuration_is_refused() {
    let text = sealed().into_json();
    let request = Request::Swap(parse(&arguments()).unwrap());
    let other = policy_with(|fees| fees["version"] = json!("2026-12-01"));
    assert_eq!(
        verify(&request, &text, now(), &other).unwrap_err().check,
        Refusal::PLAN_REBUILT
    );
    let other = policy_with(|fees| {
        fees["chains"][0]["router"] = json!(crate::swap::sample::STRANGER);
    });
    assert_eq!(
        verify(&request, &text, now(), &other).unwrap_err().check,
        "agg_targets_value_bound"
    );
    let other = policy_with(|fees| fees["chains"][0]["chain_id"] = json!(1));
    assert_eq!(
        verify(&request, &text, now(), &other).unwrap_err().check,
        "chain_unsupported"
    );
}
