//! Every refusal that a caller can meet, by status and code.

use std::sync::{Arc, atomic::Ordering};

use alloy_primitives::{B256, U256};
use api_server::config::DelegationSection;
use delegation_fence::{
    AccountKind, Domain, Grant, Limit, Message, Order, Revocation, Signature, Signed, TypedData,
};
use serde_json::{Value, json};
use test_support::eventually;

use crate::delegation::dying::Dying;
use crate::delegation::sample::{ACCOUNT, NOW, STRANGER};
use crate::delegation::served::{Served, body};
use crate::delegation::stage::{
    DAY, GRANT_ID, NOBODY, PROJECT, delegate, grant, key, limit, owner, revocation, sign,
};
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

/// The signature of a file as another text.
fn resigned(file: &str, edit: impl FnOnce(Vec<u8>) -> Vec<u8>) -> String {
    let mut value: Value = serde_json::from_str(file).unwrap();
    let bytes = alloy_primitives::hex::decode(value["signature"].as_str().unwrap()).unwrap();
    value["signature"] = alloy_primitives::hex::encode_prefixed(edit(bytes)).into();
    value.to_string()
}

/// Attacks 5, 35, 40, 41 and 42: what cannot be read is 422, at every endpoint that takes a signed
/// file, and its signature is not repeated.
#[tokio::test]
async fn malformed_documents() {
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
    // Escape codes of a terminal do not come back.
    let escape = grant.replace(PROJECT, "\\u001b[2J");
    let answer = served.post(GRANTS, escape).await;
    assert!(
        !answer.text.contains('\u{1b}') && !answer.text.contains("\\u001b"),
        "{answer:?}"
    );
}

/// Attacks 1 to 6, 10, 24 and 25.
#[tokio::test]
async fn grants() {
    let served = granted().await;
    let with = |edit: fn(&mut Grant)| {
        let mut message = grant(OTHER_ID);
        edit(&mut message);
        sign(message, &owner()).to_json()
    };
    for (file, code) in [
        (
            in_domain(Domain::new(8453, B256::ZERO), grant(OTHER_ID)),
            "domain_salt_mismatch",
        ),
        (
            sign(grant(OTHER_ID), &key(0x77)).to_json(),
            "grant_not_by_account",
        ),
        (
            with(|grant| (grant.grant_id, grant.delegate) = (GRANT_ID, STRANGER)),
            "grant_id_taken",
        ),
        (with(|grant| grant.grant_id = B256::ZERO), "grant_id_zero"),
        (with(|grant| grant.account = NOBODY), "account_not_owned"),
        (
            with(|grant| grant.account_kind = AccountKind::Eoa),
            "account_kind_unsupported",
        ),
        (
            with(|grant| grant.account_kind = AccountKind::Safe),
            "account_kind_unsupported",
        ),
        (
            with(|grant| grant.account_kind = AccountKind::Eoa7702),
            "account_kind_unsupported",
        ),
        (
            with(|grant| grant.issued_at = NOW + 61),
            "grant_issued_in_future",
        ),
        (
            with(|grant| grant.expires_at = grant.not_before),
            "grant_window_empty",
        ),
        (
            with(|grant| grant.expires_at = grant.issued_at + 180 * DAY + 1),
            "grant_lifetime_too_long",
        ),
        (
            with(|grant| {
                grant.policy_name = delegation_fence::Name::new("svc-base-swap-fence.v9").unwrap()
            }),
            "grant_policy_name_mismatch",
        ),
        (
            with(|grant| grant.rules_digest = B256::ZERO),
            "grant_policy_digest_mismatch",
        ),
        (
            with(|grant| grant.project_id = delegation_fence::Name::new("other").unwrap()),
            "grant_project_mismatch",
        ),
        (
            with(|grant| grant.capability = delegation_fence::Name::new("other").unwrap()),
            "grant_capability_mismatch",
        ),
        (
            with(|grant| grant.delegate = alloy_primitives::Address::ZERO),
            "grant_delegate_invalid",
        ),
        (
            with(|grant| grant.per_swap_cap = U256::ZERO),
            "grant_cap_zero",
        ),
        (
            with(|grant| grant.per_swap_cap += U256::ONE),
            "grant_cap_above_policy",
        ),
    ] {
        assert_refused(&served, GRANTS, file, 403, code).await;
    }
    // Late: the clock passes the longest life.
    served.clock.pass(91 * DAY);
    let late = sign(grant(OTHER_ID), &owner()).to_json();
    assert_refused(&served, GRANTS, late, 403, "grant_expired").await;
}

/// Attacks 8 and 9.
#[tokio::test]
async fn revocations_and_what_follows_them() {
    let served = granted().await;
    let message = revocation(GRANT_ID, NOW).message().clone();
    let with = |edit: fn(&mut Revocation)| {
        let mut changed = message.clone();
        edit(&mut changed);
        sign(changed, &owner()).to_json()
    };
    for (file, code) in [
        (
            sign(message.clone(), &delegate()).to_json(),
            "revocation_not_by_account",
        ),
        (
            with(|it| it.project_id = delegation_fence::Name::new("other").unwrap()),
            "revocation_project_mismatch",
        ),
        (with(|it| it.revoked_at -= 301), "revocation_time_skewed"),
        (with(|it| it.revoked_at += 301), "revocation_time_skewed"),
        (with(|it| it.account = NOBODY), "account_not_owned"),
        (
            in_domain(Domain::new(8453, B256::ZERO), message.clone()),
            "domain_salt_mismatch",
        ),
    ] {
        assert_refused(&served, REVOCATIONS, file, 403, code).await;
    }
    let path = format!("{GRANTS}/{ACCOUNT}/{GRANT_ID}");
    assert_eq!(served.get(&path).await.ok(200)["state"], "active");
    // One that comes before its grant, and the grant after it.
    served
        .post(REVOCATIONS, revocation(OTHER_ID, NOW).to_json())
        .await
        .ok(200);
    let early = format!("{GRANTS}/{ACCOUNT}/{OTHER_ID}");
    assert_eq!(served.get(&early).await.ok(200)["state"], "revoked");
    let tombstoned = sign(grant(OTHER_ID), &owner()).to_json();
    assert_refused(&served, GRANTS, tombstoned, 403, "grant_revoked").await;
    // The grant that was revoked, again.
    served
        .post(REVOCATIONS, revocation(GRANT_ID, NOW).to_json())
        .await
        .ok(200);
    let replayed = sign(grant(GRANT_ID), &owner()).to_json();
    assert_refused(&served, GRANTS, replayed, 403, "grant_revoked").await;
    let submitted = body(&ordered(AMOUNT, GRANT_ID), None).to_string();
    assert_refused(&served, SUBMISSIONS, submitted, 403, "grant_revoked").await;
    assert_eq!(served.get(&path).await.ok(200)["state"], "revoked");
}

#[tokio::test]
async fn limits() {
    let served = granted().await;
    let message = limit(7).message().clone();
    let with = |edit: fn(&mut Limit)| {
        let mut changed = message.clone();
        edit(&mut changed);
        sign(changed, &owner()).to_json()
    };
    assert_refused(
        &served,
        LIMITS,
        sign(message.clone(), &delegate()).to_json(),
        403,
        "limit_not_by_account",
    )
    .await;
    assert_refused(
        &served,
        LIMITS,
        with(|it| it.issued_at += 61),
        403,
        "limit_issued_in_future",
    )
    .await;
    assert_refused(
        &served,
        LIMITS,
        with(|it| it.grant_id = OTHER_ID),
        404,
        "grant_not_found",
    )
    .await;
    let tight =
        with(|it| (it.per_swap_cap, it.outflow_24h) = (U256::ZERO, U256::from(1_000_000_006)));
    served.post(LIMITS, tight).await.ok(200);
    let submitted = body(&ordered(AMOUNT, GRANT_ID), None).to_string();
    assert_refused(&served, SUBMISSIONS, submitted, 403, "limit_outflow").await;
}

/// Attacks 11, 18, 21 to 24, 28, 45 and 46, as far as they come in a body. A dry run names the same
/// rule.
#[tokio::test]
async fn submissions() {
    let served = granted().await;
    let usual = ordered(AMOUNT, GRANT_ID);
    let with = |edit: fn(&mut Order)| {
        let mut message = usual.order.message().clone();
        edit(&mut message);
        let mut changed = usual.clone();
        changed.order = sign(message, &delegate());
        body(&changed, None)
    };
    let edited = |pointer: &str, value: Value| {
        let mut changed = body(&usual, None);
        *changed.pointer_mut(pointer).unwrap() = value;
        changed
    };
    let mut foreign = usual.clone();
    foreign.order = sign(usual.order.message().clone(), &key(0x77));
    let above = body(&ordered(5_000_000_001, GRANT_ID), None);
    for (submitted, status, code) in [
        (body(&foreign, None), 403, "order_not_by_delegate"),
        (
            with(|order| order.deadline = NOW - 1),
            403,
            "order_deadline_passed",
        ),
        (
            with(|order| order.min_amount_out = U256::ZERO),
            403,
            "order_min_out_invalid",
        ),
        (
            with(|order| order.output_token = STRANGER),
            403,
            "order_mismatch",
        ),
        (
            with(|order| order.call_hash = B256::ZERO),
            403,
            "order_mismatch",
        ),
        (
            with(|order| order.payload_digest = B256::ZERO),
            403,
            "order_mismatch",
        ),
        (
            edited("/grant_id", json!(OTHER_ID.to_string())),
            404,
            "grant_not_found",
        ),
        (
            edited("/account", json!(NOBODY.to_string())),
            404,
            "grant_not_found",
        ),
        (
            edited("/envelope/payload/steps/1/kind", json!("call")),
            403,
            "envelope_unverified",
        ),
        (
            edited("/request/fromAmount", json!("1000000008")),
            403,
            "envelope_unverified",
        ),
        (
            edited("/envelope", json!("plan")),
            403,
            "envelope_unverified",
        ),
        (edited("/request", json!([])), 403, "envelope_unverified"),
        (above, 403, "fence_approve_cap"),
    ] {
        let answer = served.post(SUBMISSIONS, submitted.to_string()).await;
        assert_eq!(answer.error(), (status, code.to_owned()), "{answer:?}");
        // A plan that does not verify names its check; nothing else has one.
        let check = &answer.json()["error"]["check"];
        assert_eq!(
            check.is_string(),
            code == "envelope_unverified",
            "{answer:?}"
        );
        let mut tried = submitted.clone();
        tried["dry_run"] = true.into();
        let tried = served.post(SUBMISSIONS, tried.to_string()).await.ok(200);
        assert_eq!(
            (&tried["admitted"], &tried["refused_by"]),
            (&json!(false), &json!(code))
        );
    }
    // A duplicate member, of which two readers take different ones.
    let text = body(&usual, None).to_string();
    let twice = text.replacen("\"payload\":{", "\"payload\":{\"steps\":[],", 1);
    assert_refused(&served, SUBMISSIONS, twice, 403, "envelope_unverified").await;
    let twice = text.replacen("{\"account\"", "{\"grant_id\":\"0x00\",\"account\"", 1);
    assert_refused(&served, SUBMISSIONS, twice, 422, "typed_data_malformed").await;

    // Too late for the plan, and for the order.
    served.clock.pass(31);
    assert_refused(
        &served,
        SUBMISSIONS,
        text.clone(),
        403,
        "order_deadline_passed",
    )
    .await;
    let patient = with(|order| order.deadline = NOW + 1000).to_string();
    assert_refused(&served, SUBMISSIONS, patient, 403, "plan_expired").await;
}

#[tokio::test]
async fn a_used_plan_comes_before_the_plan_in_flight() {
    let served = granted().await;
    let first = ordered(AMOUNT, GRANT_ID);
    let text = body(&first, None).to_string();
    served.post(SUBMISSIONS, text.clone()).await.ok(202);
    served.post(SUBMISSIONS, text).await.ok(200);
    let mut again = first.clone();
    let mut message = first.order.message().clone();
    message.deadline -= 1;
    again.order = sign(message, &delegate());
    assert_refused(
        &served,
        SUBMISSIONS,
        body(&again, None).to_string(),
        409,
        "order_already_used",
    )
    .await;
    let other = body(&ordered(AMOUNT + 1, GRANT_ID), None).to_string();
    assert_refused(&served, SUBMISSIONS, other, 409, "plan_in_flight").await;
    let tried = served
        .post(SUBMISSIONS, body(&first, Some(true)).to_string())
        .await
        .ok(200);
    assert_eq!(tried["refused_by"], "order_already_used");
}

/// Attack 34: what cannot be read is not guessed.
#[tokio::test]
async fn records_and_custody_that_are_away() {
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
    // Ends at its first write.
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
    // What a server depends on is looked at every two seconds at most.
    let says = async || {
        let unready = unready(&served).await;
        unready.contains(&"fence".to_owned()).then_some(())
    };
    eventually("a server without its records is not ready", says).await;
}

/// What keeps a server from being ready.
async fn unready(served: &Served) -> Vec<String> {
    let said = served.get("/readyz").await.json();
    let reasons = said["reasons"].as_array().unwrap().iter();
    reasons
        .map(|reason| reason["component"].as_str().unwrap().to_owned())
        .collect()
}
