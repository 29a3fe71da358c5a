//! Tests of every refusal that a caller can meet, by status and code.

mod grants;
mod submissions;

use std::sync::Arc;
use std::sync::atomic::Ordering;

use alloy_primitives::{B256, U256};
use api_server::config::DelegationSection;
use delegation_fence::{Domain, Message, Signature, Signed, TypedData};
use serde_json::Value;
use test_support::eventually;

use crate::delegation::dying::Dying;
use crate::delegation::sample::{ACCOUNT, NOW};
use crate::delegation::served::{Served, body};
use crate::delegation::stage::{GRANT_ID, PROJECT, grant, limit, owner, revocation, sign};
use crate::delegation::world::{Clock, ordered};

const OTHER_ID: B256 = B256::repeat_byte(0x23);
const AMOUNT: u64 = 1_000_000_007;
const GRANTS: &str = "/delegation/grants";
const REVOCATIONS: &str = "/delegation/revocations";
const LIMITS: &str = "/delegation/limits";
const SUBMISSIONS: &str = "/delegation/submissions";

async fn granted() -> Served {
    let served = Served::new().await;
    let signed = sign(grant(GRANT_ID), &owner()).to_json();
    served.post(GRANTS, signed).await.ok(201);
    served
}

async fn assert_refused(served: &Served, path: &str, text: String, status: u16, code: &str) {
    let answer = served.post(path, text).await;
    assert_eq!(answer.error(), (status, code.to_owned()), "{answer:?}");
}

fn in_domain<M: Message>(domain: Domain, message: M) -> String {
    use alloy_signer::SignerSync as _;
    let typed_data = TypedData::new(domain, message).unwrap();
    let signature = owner().sign_hash_sync(&typed_data.digest()).unwrap();
    Signed::new(
        typed_data,
        Signature::from_bytes(&signature.as_bytes()).unwrap(),
    )
    .to_json()
}

/// Replaces the signature of a file.
fn resigned(file: &str, edit: impl FnOnce(Vec<u8>) -> Vec<u8>) -> String {
    let mut value: Value = serde_json::from_str(file).unwrap();
    let bytes = alloy_primitives::hex::decode(value["signature"].as_str().unwrap()).unwrap();
    value["signature"] = alloy_primitives::hex::encode_prefixed(edit(bytes)).into();
    value.to_string()
}

/// Attacks 5, 35, 40, 41 and 42 of `docs/THREATS.md`. Every endpoint that takes a signed file
/// answers an unreadable one with 422, and does not repeat its signature.
#[tokio::test]
async fn malformed_documents_are_refused() {
    let served = granted().await;
    let grant = sign(grant(OTHER_ID), &owner()).to_json();
    let high_s = |mut bytes: Vec<u8>| {
        let order = U256::from_str_radix(
            "fffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141",
            16,
        )
        .unwrap();
        let s = order - U256::from_be_slice(&bytes[32..64]);
        bytes[32..64].copy_from_slice(&s.to_be_bytes::<32>());
        bytes[64] = 55 - bytes[64];
        bytes
    };
    for (file, code) in [
        (String::new(), "typed_data_malformed"),
        ("[]".to_owned(), "typed_data_malformed"),
        ("\u{fffd}".to_owned(), "typed_data_malformed"),
        (
            grant.replacen("{\"", "{\"more\":1,\"", 1),
            "typed_data_malformed",
        ),
        (
            grant.replacen("\"signature\"", "\"typed_data\":{},\"signature\"", 1),
            "typed_data_malformed",
        ),
        (
            grant.replace("FenceGrant", "FenceOrder"),
            "typed_data_types",
        ),
        (
            resigned(&grant, |bytes| bytes[..64].to_vec()),
            "signature_compact",
        ),
        (
            resigned(&grant, |bytes| [bytes, vec![0]].concat()),
            "signature_length",
        ),
        (
            resigned(&grant, |mut bytes| {
                bytes[64] -= 27;
                bytes
            }),
            "signature_recovery_id",
        ),
        (resigned(&grant, high_s), "signature_high_s"),
        (
            resigned(&grant, |mut bytes| {
                bytes[..32].fill(0);
                bytes
            }),
            "signature_zero",
        ),
    ] {
        let answer = served.post(GRANTS, file).await;
        assert_eq!(answer.error(), (422, code.to_owned()));
        assert!(
            !answer
                .text
                .contains(&grant[grant.len() - 40..grant.len() - 4]),
            "{answer:?}"
        );
    }
    for path in [REVOCATIONS, LIMITS, SUBMISSIONS] {
        assert_refused(&served, path, "{}".to_owned(), 422, "typed_data_malformed").await;
        assert_refused(
            &served,
            path,
            grant.clone(),
            422,
            match path {
                SUBMISSIONS => "typed_data_malformed",
                _ => "typed_data_types",
            },
        )
        .await;
    }
    let answer = served
        .send(served.request("POST", GRANTS).body(vec![0xff, 0xfe]))
        .await;
    assert_eq!(answer.error(), (422, "typed_data_malformed".to_owned()));
    // The refusal repeats no escape codes of a terminal.
    let escape = grant.replace(PROJECT, "\\u001b[2J");
    let answer = served.post(GRANTS, escape).await;
    assert!(
        !answer.text.contains('\u{1b}') && !answer.text.contains("\\u001b"),
        "{answer:?}"
    );
}

/// Attack 34 of `docs/THREATS.md`: the server refuses when it cannot read its state.
#[tokio::test]
async fn missing_records_and_custody_are_refused() {
    let served = granted().await;
    served.custody.is_away.store(true, Ordering::SeqCst);
    let submitted = body(&ordered(AMOUNT, GRANT_ID), None).to_string();
    assert_refused(
        &served,
        SUBMISSIONS,
        submitted.clone(),
        503,
        "custody_unavailable",
    )
    .await;
    let other = sign(grant(OTHER_ID), &owner()).to_json();
    assert_refused(&served, GRANTS, other, 503, "custody_unavailable").await;

    let folder = tempfile::tempdir().unwrap();
    let store = fence_server::SqliteStore::open(folder.path().join("service.fence.db")).unwrap();
    // This store fails at its first write.
    let store = Arc::new(Dying::new(Arc::new(store), 1, false));
    let served = Served::over(store, DelegationSection::default(), Clock::new(), folder).await;
    assert!(!unready(&served).await.contains(&"fence".to_owned()));
    let signed = sign(grant(GRANT_ID), &owner()).to_json();
    assert_refused(
        &served,
        GRANTS,
        signed.clone(),
        503,
        "fence_store_unavailable",
    )
    .await;
    assert_refused(&served, GRANTS, signed, 503, "fence_unreadable").await;
    assert_refused(
        &served,
        SUBMISSIONS,
        submitted,
        503,
        "fence_store_unavailable",
    )
    .await;
    let revoked = revocation(GRANT_ID, NOW).to_json();
    assert_refused(
        &served,
        REVOCATIONS,
        revoked,
        503,
        "fence_store_unavailable",
    )
    .await;
    assert_refused(
        &served,
        LIMITS,
        limit(7).to_json(),
        503,
        "fence_store_unavailable",
    )
    .await;
    for path in [
        format!("{GRANTS}/{ACCOUNT}/{GRANT_ID}"),
        format!("{GRANTS}/{ACCOUNT}/{GRANT_ID}/log"),
        format!("{SUBMISSIONS}/{GRANT_ID}"),
    ] {
        assert_eq!(
            served.get(&path).await.error(),
            (503, "fence_store_unavailable".to_owned())
        );
    }
    assert_eq!(
        served.get("/delegation/policy").await.error(),
        (503, "fence_unreadable".to_owned())
    );
    assert_eq!(
        served.get("/delegation/status").await.ok(200)["present"],
        false
    );
    // The server checks its dependencies at most every two seconds, so the test asks several times.
    let says = async || {
        let unready = unready(&served).await;
        unready.contains(&"fence".to_owned()).then_some(())
    };
    eventually("a server without its records is not ready", says).await;
}

/// The components that keep a server from being ready.
async fn unready(served: &Served) -> Vec<String> {
    let said = served.get("/readyz").await.json();
    let reasons = said["reasons"].as_array().unwrap().iter();
    reasons
        .map(|reason| reason["component"].as_str().unwrap().to_owned())
        .collect()
}
