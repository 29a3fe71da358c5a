//! A server's operations on revocations.

use alloy_primitives::B256;
use delegation_fence::{Domain, Grant, RevocationReceipt, verify_log};

use super::{AMOUNT, OTHER_ID, granted, in_domain, state};
use crate::sample::{ACCOUNT, BASE, NOW};
use crate::stage::{DAY, GRANT_ID, NOBODY, delegate, grant, owner, revocation, sign};
use crate::world::{World, code, ordered};

/// Attack 8.
#[tokio::test]
async fn a_revocation_is_for_ever_and_reads_back() {
    let world = granted().await;
    let signed = revocation(GRANT_ID, NOW - 5);
    let receipt = world.desk.receive_revocation(signed.clone()).await.unwrap();
    assert_eq!(receipt.revoked_at().unix(), NOW - 5);
    let (records, next) = world.desk.log(ACCOUNT, GRANT_ID, 0).await.unwrap();
    let texts: Vec<String> = records.iter().map(|record| record.to_json()).collect();
    let log = verify_log([format!("[{}]", texts.join(",")).as_str()]).unwrap();
    receipt.require_in(&log).unwrap();
    assert_eq!((next, log.is_revoked()), (None, true));
    assert_eq!(
        RevocationReceipt::parse(&receipt.to_json()),
        Ok(receipt.clone())
    );
    assert_eq!(state(&world.desk, GRANT_ID).await, "revoked");

    // The revocation comes again, at another server, much later, and with another time: the first
    // one counts.
    world.clock.pass(DAY);
    let again = world.another(1).await.receive_revocation(signed).await;
    assert_eq!(again.unwrap(), receipt);
    let other = world
        .desk
        .receive_revocation(revocation(GRANT_ID, NOW))
        .await;
    assert_eq!(other.unwrap().revoked_at(), receipt.revoked_at());
    assert_eq!(world.log(GRANT_ID).await, ["granted", "revoked"]);

    // The same grant comes again.
    let replayed = world
        .desk
        .receive_grant(sign(grant(GRANT_ID), &owner()))
        .await;
    assert_eq!(code(replayed), "grant_revoked");
    let submitted = world.desk.submit(&ordered(AMOUNT, GRANT_ID)).await;
    assert_eq!(code(submitted), "grant_revoked");
}

/// Attacks 8 and 9.
#[tokio::test]
async fn a_revocation_before_its_grant_is_kept() {
    let world = World::new().await;
    world
        .desk
        .receive_revocation(revocation(GRANT_ID, NOW))
        .await
        .unwrap();
    let read = world.desk.grant_state(ACCOUNT, GRANT_ID).await.unwrap();
    assert_eq!((read.state, read.expires_at), ("revoked", None));
    let late = world
        .desk
        .receive_grant(sign(grant(GRANT_ID), &owner()))
        .await;
    assert_eq!(code(late), "grant_revoked");
    assert_eq!(world.log(GRANT_ID).await, ["revoked"]);
    // Another grant is not affected.
    let other = world
        .desk
        .receive_grant(sign(grant(OTHER_ID), &owner()))
        .await;
    assert_eq!(code(other), "ok");
}

#[tokio::test]
async fn a_revocation_of_all_ends_what_was_issued_until_then() {
    let world = granted().await;
    let receipt = world
        .desk
        .receive_revocation(revocation(B256::ZERO, NOW))
        .await
        .unwrap();
    let (records, _) = world.desk.log(ACCOUNT, B256::ZERO, 0).await.unwrap();
    let log = format!("[{}]", records[0].to_json());
    receipt
        .require_in(&verify_log([log.as_str()]).unwrap())
        .unwrap();
    assert_eq!(state(&world.desk, GRANT_ID).await, "revoked");
    assert_eq!(world.log(GRANT_ID).await, ["granted", "revoked"]);
    // This grant was issued before the revocation, and arrives after it.
    let late = world
        .desk
        .receive_grant(sign(grant(OTHER_ID), &owner()))
        .await;
    assert_eq!(code(late), "grant_revoked");
    let new = Grant {
        issued_at: NOW + 1,
        not_before: NOW + 1,
        ..grant(OTHER_ID)
    };
    assert_eq!(
        code(world.desk.receive_grant(sign(new, &owner())).await),
        "ok"
    );
    // The time of the revocation of all grants does not go back.
    let earlier = world
        .desk
        .receive_revocation(revocation(B256::ZERO, NOW - 9))
        .await;
    assert_eq!(earlier.unwrap().revoked_at().unix(), NOW);
}

#[tokio::test]
async fn a_revocation_of_somebody_else_changes_nothing() {
    let world = granted().await;
    let message = revocation(GRANT_ID, NOW).message().clone();
    let foreign = delegation_fence::Revocation {
        account: NOBODY,
        ..message.clone()
    };
    let skewed = |revoked_at| delegation_fence::Revocation {
        revoked_at,
        ..message.clone()
    };
    for (signed, refused_by) in [
        (
            sign(message.clone(), &delegate()),
            "revocation_not_by_account",
        ),
        (sign(foreign, &owner()), "account_not_owned"),
        (
            in_domain(Domain::new(BASE, B256::ZERO), message.clone()),
            "domain_salt_mismatch",
        ),
        (sign(skewed(NOW - 301), &owner()), "revocation_time_skewed"),
        (sign(skewed(NOW + 301), &owner()), "revocation_time_skewed"),
    ] {
        let received = world.desk.receive_revocation(signed).await;
        assert_eq!(code(received), refused_by);
    }
    assert_eq!(state(&world.desk, GRANT_ID).await, "active");
    let edge = sign(skewed(NOW - 300), &owner());
    assert_eq!(code(world.desk.receive_revocation(edge).await), "ok");
}

#[tokio::test]
async fn the_service_ends_its_own_permission() {
    let world = granted().await;
    world
        .desk
        .revoke_by_service(ACCOUNT, GRANT_ID)
        .await
        .unwrap();
    assert_eq!(state(&world.desk, GRANT_ID).await, "revoked");
    assert_eq!(world.log(GRANT_ID).await, ["granted", "revoked"]);
}
