//! Tests of audits: what their hashes cover, and which changes of a record are found.

use super::*;
use crate::{Mode, Pool, Rules, Snapshot};

fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

fn mandate() -> Mandate {
    Mandate {
        id: "ab".repeat(16),
        owner: "eip155:196:0x01".to_owned(),
        rules: Rules {
            min_apy_delta_bps: 50,
            max_slippage_bps: 50,
            max_move_usd: "1000".parse().unwrap(),
            allowed_protocols: vec!["aave-v3".to_owned()],
            check_interval: 3_600,
            max_moves_per_day: 24,
            min_gain_usd: "0".parse().unwrap(),
        },
        mode: Mode::Notify,
        created_at: at("2026-11-21T00:00:00Z"),
        expires_at: at("2026-11-22T00:00:00Z"),
        last_check_at: None,
        ended: None,
    }
}

fn inputs(checked_at: &str, baseline: Option<&str>, best: &str) -> Inputs {
    let pool = |apy: &str| Pool {
        pool: "p".to_owned(),
        project: "aave-v3".to_owned(),
        chain: "Base".to_owned(),
        symbol: "USDC".to_owned(),
        apy_pct: apy.parse().unwrap(),
    };
    Inputs {
        checked_at: at(checked_at),
        allowed_protocols: vec!["aave-v3".to_owned()],
        min_apy_delta_bps: 50,
        snapshot: Some(Snapshot {
            id: "s".to_owned(),
            taken_at: at("2026-11-21T00:30:00Z"),
            max_age_seconds: 7_200,
        }),
        baseline: baseline.map(pool),
        best: Some(pool(best)),
        position: None,
        bounds: None,
    }
}

/// Makes an audit with a creation, two checks and a cancellation. Returns its records and its head.
fn audit() -> (Vec<Value>, AuditHead) {
    let mandate = mandate();
    let entries = [
        AuditEntry::created(&mandate),
        AuditEntry::checked(&inputs("2026-11-21T01:00:00Z", None, "5")),
        AuditEntry::checked(&inputs("2026-11-21T02:00:00Z", Some("5"), "6")),
        AuditEntry::cancelled(&mandate, at("2026-11-21T03:00:00Z")),
    ];
    chain(entries)
}

fn chain(entries: impl IntoIterator<Item = AuditEntry>) -> (Vec<Value>, AuditHead) {
    let mut head = AuditHead::EMPTY;
    let records = entries
        .into_iter()
        .map(|entry| serde_json::to_value(head.append(entry).unwrap()).unwrap())
        .collect();
    (records, head)
}

/// Gives a changed record the hash of its bytes, as a forger would.
fn rehash(record: &mut Value) {
    record["hash"] = json!(hash_of(record.clone()).unwrap());
}

fn code(records: &[Value]) -> &'static str {
    verify(records).unwrap_err().code()
}

#[test]
fn an_audit_is_valid_and_ends_at_its_head() {
    let (records, head) = audit();
    assert_eq!(verify(&records), Ok(head));
    assert_eq!(records[0]["prev_hash"], json!(B256::ZERO));
    assert_eq!(records[2]["decision"], "opportunity");
    assert_eq!(records[2]["action"]["delta_bps"], 100);
    assert_eq!(records[2]["tx_hash"], Value::Null);
    assert_eq!(verify([]), Ok(AuditHead::EMPTY));
}

#[test]
fn a_hash_is_keccak_of_the_canonical_bytes_without_it() {
    let (records, _) = audit();
    // The members of this record in the order of RFC 8785, written by hand.
    let last = &records[3];
    let bytes = format!(
        r#"{{"action":{{"inputs":{{"id":"{}"}}}},"at":"2026-11-21T03:00:00Z","decision":"cancelled","inputs_digest":{},"prev_hash":{},"seq":3,"tx_hash":null}}"#,
        mandate().id,
        last["inputs_digest"],
        last["prev_hash"],
    );
    assert_eq!(last["hash"], json!(keccak256(bytes)));
}

#[test]
fn records_that_were_changed_left_out_or_moved_are_refused() {
    let (records, _) = audit();
    for index in 0..records.len() {
        for member in ["at", "decision", "inputs_digest", "prev_hash", "hash"] {
            let mut changed = records.clone();
            changed[index][member] = match member {
                "at" => json!("2026-11-21T09:00:00Z"),
                "decision" => json!("expired"),
                _ => json!(B256::repeat_byte(7)),
            };
            assert_eq!(code(&changed), "audit_hash", "{member} of {index}");
        }
    }
    assert_eq!(code(&records[1..]), "audit_sequence");
    let mut moved = records.clone();
    moved.swap(1, 2);
    assert_eq!(code(&moved), "audit_sequence");
    let mut added = records;
    added[0]["note"] = json!("x");
    assert_eq!(code(&added), "audit_malformed");
}

#[test]
fn a_forger_who_hashes_again_breaks_the_chain_or_the_inputs() {
    let (records, _) = audit();
    let mut chained = records.clone();
    chained[1]["prev_hash"] = json!(B256::repeat_byte(7));
    rehash(&mut chained[1]);
    assert_eq!(code(&chained), "audit_chain");
    let mut fed = records.clone();
    fed[1]["action"]["inputs"]["best"]["apy_pct"] = json!("9");
    rehash(&mut fed[1]);
    assert_eq!(code(&fed), "audit_inputs");
    let mut decided = records;
    decided[1]["decision"] = json!("opportunity");
    rehash(&mut decided[1]);
    assert_eq!(code(&decided), "audit_decision");
}

#[test]
fn time_does_not_run_backwards_and_nothing_follows_the_end() {
    let mandate = mandate();
    let created = AuditEntry::created(&mandate);
    let early = AuditEntry::cancelled(&mandate, at("2026-11-20T00:00:00Z"));
    assert_eq!(
        code(&chain([created.clone(), early.clone()]).0),
        "audit_time"
    );
    let ended = AuditEntry::expired(&mandate, at("2026-11-22T00:00:00Z"));
    let late = AuditEntry::cancelled(&mandate, at("2026-11-23T00:00:00Z"));
    assert_eq!(
        code(&chain([created.clone(), ended, late]).0),
        "audit_order"
    );
    assert_eq!(code(&chain([created.clone(), created]).0), "audit_order");
    assert_eq!(code(&chain([early]).0), "audit_order");
}

#[test]
fn checks_must_have_the_rules_of_the_creation_and_the_baseline_of_the_check_before() {
    let created = AuditEntry::created(&mandate());
    let first = inputs("2026-11-21T01:00:00Z", None, "5");
    let lowered = inputs("2026-11-21T02:00:00Z", Some("4"), "5");
    let forged = [
        created.clone(),
        AuditEntry::checked(&first),
        AuditEntry::checked(&lowered),
    ];
    assert_eq!(code(&chain(forged).0), "audit_continuity");
    let mut other_rules = first;
    other_rules.min_apy_delta_bps = 1;
    let forged = [created, AuditEntry::checked(&other_rules)];
    assert_eq!(code(&chain(forged).0), "audit_continuity");
}
