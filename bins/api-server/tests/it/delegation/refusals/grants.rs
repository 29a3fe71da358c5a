//! Tests of refused grants, limits and revocations.

use alloy_primitives::{B256, U256};
use delegation_fence::{AccountKind, Domain, Grant, Limit, Revocation};

use super::{
    AMOUNT, GRANTS, LIMITS, OTHER_ID, REVOCATIONS, SUBMISSIONS, assert_refused, granted, in_domain,
};
use crate::delegation::sample::{ACCOUNT, NOW, STRANGER};
use crate::delegation::served::body;
use crate::delegation::stage::{
    DAY, GRANT_ID, NOBODY, delegate, grant, key, limit, owner, revocation, sign,
};
use crate::delegation::world::ordered;

/// Attacks 1 to 6, 10, 24 and 25 of `docs/THREATS.md`.
#[tokio::test]
async fn grants_are_refused_by_name() {
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
    // The clock passes the longest life of a grant.
    served.clock.pass(91 * DAY);
    let late = sign(grant(OTHER_ID), &owner()).to_json();
    assert_refused(&served, GRANTS, late, 403, "grant_expired").await;
}

/// Attacks 8 and 9 of `docs/THREATS.md`.
#[tokio::test]
async fn revocations_are_refused_by_name_and_are_final() {
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
    // The revocation comes before its grant.
    served
        .post(REVOCATIONS, revocation(OTHER_ID, NOW).to_json())
        .await
        .ok(200);
    let early = format!("{GRANTS}/{ACCOUNT}/{OTHER_ID}");
    assert_eq!(served.get(&early).await.ok(200)["state"], "revoked");
    let tombstoned = sign(grant(OTHER_ID), &owner()).to_json();
    assert_refused(&served, GRANTS, tombstoned, 403, "grant_revoked").await;
    // The revoked grant is submitted again.
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
async fn limits_are_refused_by_name() {
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
