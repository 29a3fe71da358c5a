//! A grant's log: changed, missing, moved and added records are detected, and a receipt proves the
//! end.

use alloy_primitives::{B256, U256, keccak256};
use alloy_signer::SignerSync as _;
use calldata_checks::{StepKind, UtcSeconds};
use delegation_fence::{
    Domain, Instance, LogEntry, LogEvent, LogHead, LogRecord, Name, Now, Revocation,
    RevocationReceipt, Rule, Signature, Signed, Transaction, TypedData, verify_log,
};
use proptest::prelude::*;
use serde_json::{Value, json};

const NOW: u64 = 1_795_000_000;
const PLAN: B256 = B256::repeat_byte(0x44);

fn at(second: u64) -> UtcSeconds {
    UtcSeconds::from_unix(NOW + second)
}

/// A grant, a plan whose call reverted, its clear, a refusal, and the revocation.
fn log() -> Vec<LogRecord> {
    let of_plan = |second, event| LogEntry {
        payload_digest: Some(PLAN),
        ..LogEntry::new(at(second), event)
    };
    let sealed = |second, step, read_back: u64| LogEntry {
        step: Some(step),
        tx_hash: Some(B256::repeat_byte(7)),
        block_hash: Some(B256::repeat_byte(8)),
        read_back: Some(U256::from(read_back)),
        ..of_plan(second, LogEvent::Sealed)
    };
    let entries = [
        LogEntry::new(at(0), LogEvent::Granted),
        of_plan(1, LogEvent::Admitted),
        sealed(3, Transaction::Step(StepKind::ApproveReset), 0),
        sealed(5, Transaction::Step(StepKind::Approve), 1_000_000_007),
        of_plan(5, LogEvent::Halted),
        sealed(7, Transaction::Clear(0), 0),
        of_plan(8, LogEvent::Finished),
        LogEntry {
            refused_by: Some(Rule::OrderAlreadyUsed),
            ..of_plan(9, LogEvent::Refused)
        },
        LogEntry::new(at(10), LogEvent::Revoked),
    ];
    let mut head = LogHead::EMPTY;
    entries
        .into_iter()
        .map(|entry| head.append(entry).unwrap())
        .collect()
}

fn values() -> Vec<Value> {
    log()
        .iter()
        .map(|record| serde_json::from_str(&record.to_json()).unwrap())
        .collect()
}

fn refused(records: &[Value]) -> Option<Rule> {
    let text = json!(records).to_string();
    verify_log([text.as_str()])
        .err()
        .map(|refusal| refusal.rule)
}

/// Repairs everything that a forger can: the hashes of every record from an index on.
fn rehashed(mut records: Vec<Value>, from: usize) -> Vec<Value> {
    let mut previous = (from > 0).then(|| records[from - 1]["hash"].clone());
    for record in records.iter_mut().skip(from) {
        if let Some(previous) = previous {
            record["prev_hash"] = previous;
        }
        record.as_object_mut().unwrap().remove("hash");
        let hash = keccak256(serde_json_canonicalizer::to_vec(record).unwrap());
        record["hash"] = json!(hash);
        previous = Some(record["hash"].clone());
    }
    records
}

#[test]
fn a_log_verifies_in_every_form_that_a_server_gives_it() {
    let records = values();
    assert_eq!(refused(&records), None);
    let (first, second) = records.split_at(4);
    let pages = [
        json!({"records": first, "next_cursor": "4"}).to_string(),
        json!({"records": second, "next_cursor": null}).to_string(),
    ];
    let verified = verify_log(pages.iter().map(String::as_str)).unwrap();
    assert_eq!(verified.records(), log());
    assert!(verified.is_revoked());
    assert_eq!(verified.open_plans(), Vec::<B256>::new());
    assert_eq!(verified.head().next_seq, 9);
    let begun = json!(records[..4]).to_string();
    assert_eq!(verify_log([begun.as_str()]).unwrap().open_plans(), [PLAN]);
    assert_eq!(verify_log([]).unwrap().head(), LogHead::EMPTY);
    assert_eq!(verify_log(["[]"]).unwrap().head(), LogHead::EMPTY);
}

#[test]
fn every_manipulation_of_a_log_has_a_name() {
    let records = values();
    // A record is changed, with and without repaired hashes.
    let mut changed = records.clone();
    changed[3]["read_back"] = "0".into();
    assert_eq!(refused(&changed), Some(Rule::LogHash));
    let one = rehashed(changed.clone(), 3)[3].clone();
    changed[3] = one;
    assert_eq!(refused(&changed), Some(Rule::LogChain));
    // Missing records in the middle and at the beginning; moved ones; repeated ones.
    let mut shorter = records.clone();
    shorter.remove(4);
    assert_eq!(refused(&shorter), Some(Rule::LogSequence));
    assert_eq!(refused(&records[1..]), Some(Rule::LogSequence));
    let mut moved = records.clone();
    moved.swap(2, 3);
    assert_eq!(refused(&moved), Some(Rule::LogSequence));
    let mut twice = records.clone();
    twice.insert(3, records[2].clone());
    assert_eq!(refused(&twice), Some(Rule::LogSequence));
    // The clock ran backwards.
    let mut earlier = records.clone();
    earlier[4]["at"] = at(4).to_string().into();
    assert_eq!(refused(&rehashed(earlier, 4)), Some(Rule::LogTime));
    // A plan is admitted after the revocation.
    let mut used = records.clone();
    let mut again = records[1].clone();
    again["seq"] = 9.into();
    again["at"] = at(11).to_string().into();
    used.push(again);
    assert_eq!(
        refused(&rehashed(used, 9)),
        Some(Rule::LogUseAfterRevocation)
    );
}

#[test]
fn a_malformed_log_is_refused() {
    let malformed = Some(Rule::LogMalformed);
    let edits: [fn(&mut Value); 7] = [
        |record| record["extra"] = 1.into(),
        |record| record["step"] = Value::Null,
        |record| record["step"] = "clear-9".into(),
        |record| record["event"] = "paid".into(),
        |record| record["read_back"] = "007".into(),
        |record| record["at"] = "now".into(),
        |record| drop(record.as_object_mut().unwrap().remove("prev_hash")),
    ];
    for edit in edits {
        let mut records = values();
        edit(&mut records[0]);
        assert_eq!(refused(&rehashed(records, 0)), malformed);
    }
    for text in [
        "",
        "{}",
        "{\"records\":1}",
        "{\"records\":[],\"more\":1}",
        "[[]]",
    ] {
        assert_eq!(
            verify_log([text]).err().map(|refusal| refusal.rule),
            malformed,
            "{text}"
        );
    }
    // A record has no hash.
    let mut records = values();
    records[0].as_object_mut().unwrap().remove("hash");
    assert_eq!(refused(&records), Some(Rule::LogHash));
}

fn receipt(record: &LogRecord) -> RevocationReceipt {
    let key: alloy_signer_local::PrivateKeySigner =
        "0x59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d"
            .parse()
            .unwrap();
    let domain = Domain::new(8453, B256::repeat_byte(0x11));
    let project_id = Name::new("shop").unwrap();
    let revocation = Revocation {
        account: key.address(),
        chain_id: 8453,
        grant_id: B256::repeat_byte(0x22),
        project_id: project_id.clone(),
        revoked_at: NOW + 10,
    };
    let typed_data = TypedData::new(domain.clone(), revocation).unwrap();
    let signature = key.sign_hash_sync(&typed_data.digest()).unwrap().as_bytes();
    let signed = Signed::new(typed_data, Signature::from_bytes(&signature).unwrap());
    let received = Instance { domain, project_id }
        .receive_revocation(signed, key.address(), Now::offline(at(10)))
        .unwrap();
    RevocationReceipt::new(&received, at(10), record)
}

/// A log that was cut, or rewritten without the revocation, does not contain the receipt's record.
#[test]
fn a_receipt_tells_a_log_that_was_cut() {
    let records = log();
    let receipt = receipt(records.last().unwrap());
    assert_eq!(
        RevocationReceipt::parse(&receipt.to_json()).unwrap(),
        receipt
    );
    let whole = json!(values()).to_string();
    receipt
        .require_in(&verify_log([whole.as_str()]).unwrap())
        .unwrap();
    let cut = json!(values()[..8]).to_string();
    let cut = verify_log([cut.as_str()]).unwrap();
    assert_eq!(
        receipt.require_in(&cut).unwrap_err().rule,
        Rule::ReceiptNotInLog
    );
    let mut anew = values();
    anew[3]["read_back"] = "0".into();
    let anew = json!(rehashed(anew, 3)).to_string();
    let anew = verify_log([anew.as_str()]).unwrap();
    assert_eq!(
        receipt.require_in(&anew).unwrap_err().rule,
        Rule::ReceiptNotInLog
    );
}

#[test]
fn a_receipt_of_another_state_is_refused() {
    let text = receipt(log().last().unwrap()).to_json();
    for (from, to) in [
        ("\"state\":\"revoked\"", "\"state\":\"active\""),
        ("\"read_back\":true", "\"read_back\":false"),
        ("\"log_seq\":8", "\"log_seq\":-8"),
    ] {
        let changed = text.replace(from, to);
        assert_ne!(changed, text);
        assert_eq!(
            RevocationReceipt::parse(&changed).unwrap_err().rule,
            Rule::TypedDataMalformed
        );
    }
}

proptest! {
    /// After any change of a byte the log is the same, or it is refused.
    #[test]
    fn a_changed_byte_is_seen(place in 0..8192_usize, byte in b' '..=b'~') {
        let text = json!(values()).to_string();
        let mut bytes = text.clone().into_bytes();
        let place = place % bytes.len();
        bytes[place] = byte;
        let changed = String::from_utf8(bytes).unwrap();
        if let Ok(verified) = verify_log([changed.as_str()]) {
            prop_assert_eq!(verified.records(), log());
        }
    }
}
