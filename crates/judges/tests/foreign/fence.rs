//! npm `viem`, PyPI `eth-account` and `cast` hash and sign the fence's messages as `delegation-fence` does; PyPI `rfc8785` writes its
//! policies with the same bytes.

use std::io::Write as _;

use alloy_primitives::{Address, B256, keccak256};
use delegation_fence::{Policy, Signature};
use judges::{Toolchain, judge, run};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::fence_messages::{Case, KEYS, cases};

#[derive(Debug, Deserialize)]
struct Verdict {
    domain_separator: B256,
    message_hash: B256,
    digest: B256,
    signature: String,
    signer: Address,
}

fn order(cases: &[Case]) -> Vec<Value> {
    cases
        .iter()
        .enumerate()
        .map(|(index, case)| {
            let typed_data: Value = serde_json::from_str(&case.json).unwrap();
            json!({"private_key": KEYS[index % KEYS.len()], "typed_data": typed_data})
        })
        .collect()
}

fn compare(cases: &[Case], verdicts: &[Verdict]) {
    assert_eq!(verdicts.len(), cases.len());
    for (case, verdict) in cases.iter().zip(verdicts) {
        assert_eq!(verdict.domain_separator, case.domain_hash, "{}", case.json);
        assert_eq!(verdict.message_hash, case.message_hash, "{}", case.json);
        assert_eq!(verdict.digest, case.digest, "{}", case.json);
        let signature = Signature::parse(&verdict.signature).unwrap();
        assert_eq!(signature.recover(case.digest).unwrap(), verdict.signer);
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
async fn eth_account_hashes_and_signs_the_same_and_rfc8785_writes_the_same_policies() {
    #[derive(Deserialize)]
    struct Both {
        messages: Vec<Verdict>,
        policies: Vec<String>,
    }
    let toolchain = Toolchain::from_env().unwrap();
    let cases = cases();
    let vectors: Value =
        serde_json::from_str(include_str!("../../../../fixtures/vectors/delegation.json")).unwrap();
    let example = include_str!("../../../../docs/fence-policy.example.json");
    let documents = [
        vectors["rules_document"]["document"].clone(),
        serde_json::from_str(example).unwrap(),
    ];
    let input = json!({"messages": order(&cases), "policies": documents});
    let both: Both = judge(toolchain.python_agent("fence.py"), &input)
        .await
        .unwrap();
    compare(&cases, &both.messages);
    for (document, canonical) in documents.iter().zip(&both.policies) {
        let policy = Policy::parse(&document.to_string()).unwrap();
        assert_eq!(policy.canonical(), canonical);
        assert_eq!(policy.digest(), keccak256(canonical));
    }
}

/// `cast` prints the signature alone: that it recovers to the key's address for our digest says that the digest is the same.
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
