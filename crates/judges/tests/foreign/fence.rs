//! Compares `delegation-fence` with other projects. npm `viem`, PyPI `eth-account`, `cast` and
//! `alloy-dyn-abi` hash and sign the messages as it does, and accept its signatures. PyPI `rfc8785`
//! writes the same bytes of policies and of records of logs. eth-account and `cast` open our key
//! files.

use std::io::Write as _;

use alloy_dyn_abi::TypedData as DynamicTypedData;
use alloy_primitives::{Address, B256, U256, keccak256};
use delegation_fence::{LogEntry, LogEvent, LogHead, Policy, Signature};
use judges::{Toolchain, fence_cli, judge, run};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::process::Command;

use crate::fence_messages::{Case, KEYS, cases};

#[derive(Debug, Deserialize)]
struct Verdict {
    domain_separator: B256,
    message_hash: B256,
    digest: B256,
    signature: String,
    signer: Address,
    our_signer: Address,
}

fn key(index: usize) -> keystore::Key {
    keystore::Key::from_text(KEYS[index % KEYS.len()]).unwrap()
}

/// The signature that our tool makes for a case.
fn ours(index: usize, case: &Case) -> Signature {
    Signature::from_bytes(&key(index).sign(case.digest).unwrap()).unwrap()
}

fn order(cases: &[Case]) -> Vec<Value> {
    cases
        .iter()
        .enumerate()
        .map(|(index, case)| {
            let typed_data: Value = serde_json::from_str(&case.json).unwrap();
            json!({
                "private_key": KEYS[index % KEYS.len()], "typed_data": typed_data,
                "ours": ours(index, case).to_string(),
            })
        })
        .collect()
}

fn compare(cases: &[Case], verdicts: &[Verdict]) {
    assert_eq!(verdicts.len(), cases.len());
    for (index, (case, verdict)) in cases.iter().zip(verdicts).enumerate() {
        assert_eq!(verdict.domain_separator, case.domain_hash, "{}", case.json);
        assert_eq!(verdict.message_hash, case.message_hash, "{}", case.json);
        assert_eq!(verdict.digest, case.digest, "{}", case.json);
        let signature = Signature::parse(&verdict.signature).unwrap();
        assert_eq!(signature.recover(case.digest).unwrap(), verdict.signer);
        // The others recover our key from our signature, and write the same bytes.
        assert_eq!(verdict.our_signer, key(index).address(), "{}", case.json);
        assert_eq!(verdict.signature, ours(index, case).to_string());
    }
}

#[test]
fn alloy_dyn_abi_hashes_the_same_from_the_file_alone() {
    for case in cases() {
        let typed_data: DynamicTypedData = serde_json::from_str(&case.json).unwrap();
        assert_eq!(
            typed_data.eip712_signing_hash().unwrap(),
            case.digest,
            "{}",
            case.json
        );
    }
}

#[tokio::test]
async fn viem_hashes_and_signs_the_same() {
    let toolchain = Toolchain::from_env().unwrap();
    let cases = cases();
    let verdicts: Vec<Verdict> = judge(toolchain.node("fence.mjs"), &order(&cases))
        .await
        .unwrap();
    compare(&cases, &verdicts);
}

#[tokio::test]
async fn eth_account_hashes_and_signs_the_same_and_rfc8785_writes_the_same_documents() {
    #[derive(Deserialize)]
    struct All {
        messages: Vec<Verdict>,
        documents: Vec<String>,
        key_files: Vec<Address>,
    }
    let toolchain = Toolchain::from_env().unwrap();
    let cases = cases();
    let vectors: Value =
        serde_json::from_str(include_str!("../../../../fixtures/vectors/delegation.json")).unwrap();
    let example = include_str!("../../../../docs/fence-policy.example.json");
    let policies = [
        vectors["rules_document"]["document"].clone(),
        serde_json::from_str(example).unwrap(),
    ];
    // The hash covers the record without its `hash`.
    let mut head = LogHead::EMPTY;
    let sealed = LogEntry {
        payload_digest: Some(B256::repeat_byte(0x44)),
        tx_hash: Some(B256::repeat_byte(7)),
        block_hash: Some(B256::repeat_byte(8)),
        read_back: Some(U256::MAX),
        ..LogEntry::new("2026-11-21T01:00:05Z".parse().unwrap(), LogEvent::Sealed)
    };
    let granted = LogEntry::new("2026-11-21T01:00:00Z".parse().unwrap(), LogEvent::Granted);
    let records = [granted, sealed].map(|entry| head.append(entry).unwrap());
    let without_hash = records.each_ref().map(|record| {
        let mut record: Value = serde_json::from_str(&record.to_json()).unwrap();
        record.as_object_mut().unwrap().remove("hash").unwrap();
        record
    });
    let documents: Vec<&Value> = policies.iter().chain(&without_hash).collect();
    let written = keystore::encrypt(&key(0), PASSWORD.as_bytes()).unwrap();
    let file: Value = serde_json::from_str(&written).unwrap();
    let input = json!({
        "messages": order(&cases), "documents": documents,
        "key_files": [{"file": file, "password": PASSWORD}],
    });
    let all: All = judge(toolchain.python_agent("fence.py"), &input)
        .await
        .unwrap();
    compare(&cases, &all.messages);
    assert_eq!(all.documents.len(), documents.len());
    for (document, canonical) in policies.iter().zip(&all.documents) {
        let policy = Policy::parse(&document.to_string()).unwrap();
        assert_eq!(policy.canonical(), canonical);
        assert_eq!(policy.digest(), keccak256(canonical));
    }
    for (record, canonical) in records.iter().zip(&all.documents[policies.len()..]) {
        assert_eq!(record.hash(), keccak256(canonical));
    }
    assert_eq!(all.key_files, [key(0).address()]);
}

/// The password of the files that `key new` and `key import` write.
const PASSWORD: &str = "correct horse \u{2603}";

#[tokio::test]
async fn cast_opens_our_key_files() {
    let toolchain = Toolchain::from_env().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let written = keystore::encrypt(&key(0), PASSWORD.as_bytes()).unwrap();
    let (file, password) = (
        folder.path().join("our.key"),
        folder.path().join("password"),
    );
    std::fs::write(&file, written).unwrap();
    std::fs::write(&password, PASSWORD).unwrap();
    let mut cast = toolchain.cast().unwrap();
    cast.args(["wallet", "address", "--keystore"])
        .arg(&file)
        .arg("--password-file")
        .arg(&password);
    let said = run(cast, b"").await.unwrap();
    assert_eq!(said.trim().parse::<Address>().unwrap(), key(0).address());
}

/// `cast` prints only the signature. If our digest recovers the key's address from it, the digests
/// are equal.
#[tokio::test]
async fn cast_signs_the_same_digest() {
    let toolchain = Toolchain::from_env().unwrap();
    for (case, input) in cases().iter().zip(order(&cases())) {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(case.json.as_bytes()).unwrap();
        let key = input["private_key"].as_str().unwrap();
        let mut address = toolchain.cast().unwrap();
        address.args(["wallet", "address", "--private-key", key]);
        let address: Address = run(address, b"").await.unwrap().trim().parse().unwrap();
        let mut sign = toolchain.cast().unwrap();
        sign.args([
            "wallet",
            "sign",
            "--private-key",
            key,
            "--data",
            "--from-file",
        ]);
        sign.arg(file.path());
        let signature = run(sign, b"").await.unwrap();
        let signature = Signature::parse(signature.trim()).unwrap();
        assert_eq!(
            signature.recover(case.digest).unwrap(),
            address,
            "{}",
            case.json
        );
    }
}

/// The steps of a person with a hardware wallet: the tool writes a grant, the wallet signs the
/// file, and the tool attaches the signature.
#[tokio::test]
async fn a_grant_goes_from_the_tool_to_cast_and_back() {
    let toolchain = Toolchain::from_env().unwrap();
    let tool = fence_cli().await.unwrap();
    let folder = tempfile::tempdir().unwrap();
    let account = key(0).address().to_string();
    let delegate = key(1).address().to_string();
    let salt = B256::repeat_byte(0x11).to_string();
    let tool = async |arguments: &[&str]| {
        let mut command = Command::new(&tool);
        command
            .args(arguments)
            .current_dir(folder.path())
            .env("HOME", folder.path())
            .env_remove("XDG_CONFIG_HOME");
        run(command, b"").await.unwrap()
    };
    let of = ["--project-id", "shop", "--salt", &salt];
    let new = [
        "grant",
        "new",
        "--account",
        &account,
        "--delegate",
        &delegate,
    ];
    tool(&[&new[..], &of, &["--out", "grant.json"]].concat()).await;
    let mut sign = toolchain.cast().unwrap();
    sign.current_dir(folder.path()).args([
        "wallet",
        "sign",
        "--private-key",
        KEYS[0],
        "--data",
        "--from-file",
        "grant.json",
    ]);
    let signature = run(sign, b"").await.unwrap();
    let attach = [
        "grant",
        "attach",
        "--in",
        "grant.json",
        "--out",
        "signed.json",
    ];
    tool(&[&attach[..], &["--signature", signature.trim()]].concat()).await;
    let verify = ["grant", "verify", "--in", "signed.json"];
    let said = tool(&[&verify[..], &of].concat()).await;
    assert!(said.contains("verified: grant 0x"), "{said}");
}
