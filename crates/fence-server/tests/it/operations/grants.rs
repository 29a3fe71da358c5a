//! A server's operations on grants and limits.

use alloy_primitives::{B256, U256};
use delegation_fence::{AccountKind, Domain, Grant, Novelty};

use super::{AMOUNT, OTHER_ID, granted, in_domain, state};
use crate::sample::{ACCOUNT, BASE, NOW, STRANGER};
use crate::stage::{DAY, GRANT_ID, NOBODY, delegate, grant, key, limit, owner, sign};
use crate::world::{World, code, ordered};

#[tokio::test]
async fn a_grant_is_received_once_and_reads_back() {
    let world = World::new().await;
    assert_eq!(state(&world.desk, GRANT_ID).await, "grant_not_found");
    let signed = sign(grant(GRANT_ID), &owner());
    let first = world.desk.receive_grant(signed.clone()).await.unwrap();
    assert_eq!((first.novelty, first.state), (Novelty::New, "active"));
    let again = world.another(1).await.receive_grant(signed).await.unwrap();
    assert_eq!(again.novelty, Novelty::Again);
    let read = world.desk.grant_state(ACCOUNT, GRANT_ID).await.unwrap();
    assert_eq!(
        (read.state, read.kind),
        ("active", Some(AccountKind::SubWallet))
    );
    assert_eq!(read.expires_at.unwrap().unix(), grant(GRANT_ID).expires_at);
    assert_eq!(world.log(GRANT_ID).await, ["granted"]);

    let later = Grant {
        not_before: NOW + 100,
        ..grant(OTHER_ID)
    };
    let received = world
        .desk
        .receive_grant(sign(later, &owner()))
        .await
        .unwrap();
    assert_eq!(received.state, "not_yet_valid");
    world.clock.pass(100);
    assert_eq!(state(&world.desk, OTHER_ID).await, "active");
    world.clock.pass(90 * DAY);
    assert_eq!(state(&world.desk, OTHER_ID).await, "expired");
}

/// Attacks 1 to 6, 10, 11, 24 and 25, as far as a submitted grant can make them.
#[tokio::test]
async fn a_grant_that_is_not_the_accounts_own_is_refused() {
    let world = granted().await;
    let changed = |edit: fn(&mut Grant)| {
        let mut message = grant(OTHER_ID);
        edit(&mut message);
        sign(message, &owner())
    };
    for (signed, refused_by) in [
        (
            in_domain(Domain::new(BASE, B256::ZERO), grant(OTHER_ID)),
            "domain_salt_mismatch",
        ),
        (sign(grant(OTHER_ID), &key(0x77)), "grant_not_by_account"),
        (changed(|grant| grant.per_swap_cap = U256::from(7)), "ok"),
        (changed(|grant| grant.delegate = STRANGER), "grant_id_taken"),
        (
            changed(|grant| grant.grant_id = B256::ZERO),
            "grant_id_zero",
        ),
        (changed(|grant| grant.account = NOBODY), "account_not_owned"),
        (
            changed(|grant| grant.account_kind = AccountKind::Eoa),
            "account_kind_unsupported",
        ),
        (
            changed(|grant| grant.account_kind = AccountKind::Safe),
            "account_kind_unsupported",
        ),
        (
            changed(|grant| grant.account_kind = AccountKind::Eoa7702),
            "account_kind_unsupported",
        ),
        (
            changed(|grant| grant.expires_at = grant.issued_at + 181 * DAY),
            "grant_lifetime_too_long",
        ),
        (
            changed(|grant| grant.per_swap_cap += U256::ONE),
            "grant_cap_above_policy",
        ),
        (
            changed(|grant| grant.rules_digest = B256::ZERO),
            "grant_policy_digest_mismatch",
        ),
    ] {
        let received = world.desk.receive_grant(signed).await;
        assert_eq!(code(received), refused_by);
    }
    assert_eq!(world.log(OTHER_ID).await, ["granted"]);
}

#[tokio::test]
async fn a_limit_only_tightens() {
    let world = granted().await;
    for (cap, counts) in [
        (9_000_000, 9_000_000),
        (10_000_000, 9_000_000),
        (8_000_000, 8_000_000),
    ] {
        let (tightest, effective) = world.desk.receive_limit(limit(cap)).await.unwrap();
        assert_eq!(tightest.per_swap_cap, Some(U256::from(counts)));
        assert_eq!(effective, U256::from(counts));
    }
    assert_eq!(world.log(GRANT_ID).await, ["granted", "limited", "limited"]);
    let submitted = world.desk.submit(&ordered(AMOUNT, GRANT_ID)).await;
    assert_eq!(code(submitted), "fence_approve_cap");
    let unknown = delegation_fence::Limit {
        grant_id: OTHER_ID,
        ..limit(7).message().clone()
    };
    let received = world.desk.receive_limit(sign(unknown, &owner())).await;
    assert_eq!(code(received), "grant_not_found");
    let foreign = sign(limit(7).message().clone(), &delegate());
    assert_eq!(
        code(world.desk.receive_limit(foreign).await),
        "limit_not_by_account"
    );
}
