//! A server's operations on received messages.

mod grants;
mod lost;
mod plans;
mod revocations;

use std::sync::atomic::Ordering;

use alloy_primitives::{Address, B256, U256};
use delegation_fence::{Domain, Message, Signature, Signed, TypedData};
use fence_server::{Delegations, StoreError};

use crate::sample::{ACCOUNT, NOW, STRANGER};
use crate::stage::{GRANT_ID, fence_policy, grant, look, order, owner, plan, revocation, sign};
use crate::world::{World, code, ordered};

const OTHER_ID: B256 = B256::repeat_byte(0x23);
const AMOUNT: u64 = 1_000_000_007;

async fn granted() -> World {
    let world = World::new().await;
    let received = world.desk.receive_grant(sign(grant(GRANT_ID), &owner()));
    assert_eq!(received.await.unwrap().state, "active");
    world
}

async fn state(desk: &Delegations, grant_id: B256) -> &'static str {
    desk.grant_state(ACCOUNT, grant_id)
        .await
        .map_or_else(|error| error.code(), |state| state.state)
}

fn in_domain<M: Message>(domain: Domain, message: M) -> Signed<M> {
    use alloy_signer::SignerSync as _;
    let typed_data = TypedData::new(domain, message).unwrap();
    let signature = owner().sign_hash_sync(&typed_data.digest()).unwrap();
    Signed::new(
        typed_data,
        Signature::from_bytes(&signature.as_bytes()).unwrap(),
    )
}

/// Attack 34: a policy that is not read back is not present, and nothing is granted or sent by it;
/// revocations are still accepted.
#[tokio::test]
async fn without_the_pinned_policy_only_revocations_are_taken() {
    let world = granted().await;
    assert!(world.desk.status().await.is_present());
    // Another server has installed a newer policy.
    let newer = world.another(2).await;
    assert!(newer.status().await.is_present());
    assert!(!world.desk.status().await.is_present());
    assert_eq!(code(world.desk.policy().await), "fence_name_mismatch");
    assert_eq!(newer.policy().await.unwrap(), fence_policy(2));
    let received = world
        .desk
        .receive_grant(sign(grant(OTHER_ID), &owner()))
        .await;
    assert_eq!(code(received), "fence_name_mismatch");
    let submitted = world.desk.submit(&ordered(AMOUNT, GRANT_ID)).await;
    assert_eq!(code(submitted), "fence_name_mismatch");
    // Both servers report the grant as superseded.
    assert_eq!(state(&world.desk, GRANT_ID).await, "superseded");
    assert_eq!(state(&newer, GRANT_ID).await, "superseded");
    let submitted = newer.submit(&ordered(AMOUNT, GRANT_ID)).await;
    assert_eq!(code(submitted), "grant_superseded");
    assert_eq!(
        code(
            world
                .desk
                .receive_revocation(revocation(GRANT_ID, NOW))
                .await
        ),
        "ok"
    );
    assert_eq!(state(&newer, GRANT_ID).await, "revoked");
    // A replaced policy does not come back, because its grants would.
    let back = world
        .store()
        .install(fence_policy(1), crate::stage::at(NOW))
        .await;
    assert!(
        matches!(back, Err(StoreError::PolicyNotNewer { .. })),
        "{back:?}"
    );
}

#[tokio::test]
async fn custody_names_the_owner_of_an_account() {
    let world = granted().await;
    *world.custody.owner.lock().unwrap() = STRANGER;
    assert_eq!(
        code(world.desk.submit(&ordered(AMOUNT, GRANT_ID)).await),
        "account_not_owned"
    );
    world.custody.is_away.store(true, Ordering::SeqCst);
    assert_eq!(
        code(world.desk.submit(&ordered(AMOUNT, GRANT_ID)).await),
        "custody_unavailable"
    );
    let received = world
        .desk
        .receive_grant(sign(grant(OTHER_ID), &owner()))
        .await;
    assert_eq!(code(received), "custody_unavailable");
    // The signer of the grant may end it, whatever custody answers.
    assert_eq!(
        code(
            world
                .desk
                .receive_revocation(revocation(GRANT_ID, NOW))
                .await
        ),
        "ok"
    );
}

#[tokio::test]
async fn a_log_is_read_in_pages() {
    let world = granted().await;
    let unknown = world.desk.log(Address::ZERO, GRANT_ID, 0).await;
    assert_eq!(code(unknown), "grant_not_found");
    assert_eq!(
        world.desk.log(ACCOUNT, GRANT_ID, 99).await.unwrap(),
        (vec![], None)
    );
    let (request, envelope) = plan(AMOUNT);
    let other = ordered(AMOUNT + 1, GRANT_ID);
    let store = world.store();
    for number in 0..u64::from(fence_server::LOG_PAGE) {
        let entry = delegation_fence::LogEntry {
            payload_digest: Some(B256::from(U256::from(number))),
            refused_by: Some(delegation_fence::Rule::PlanExpired),
            ..delegation_fence::LogEntry::new(
                crate::stage::at(NOW),
                delegation_fence::LogEvent::Refused,
            )
        };
        store
            .note_refusal(ACCOUNT, GRANT_ID, entry, u32::MAX)
            .await
            .unwrap();
    }
    let (first, next) = world.desk.log(ACCOUNT, GRANT_ID, 0).await.unwrap();
    let (second, end) = world
        .desk
        .log(ACCOUNT, GRANT_ID, next.unwrap())
        .await
        .unwrap();
    assert_eq!((first.len(), second.len(), end), (200, 1, None));
    assert_eq!(world.log(GRANT_ID).await.len(), 201);
    // The log has as many refusals as a delegate may cause in a day; the next one is left out.
    assert_eq!(
        code(world.desk.submit(&ordered_late(&request, &envelope)).await),
        "order_mismatch"
    );
    assert_eq!(world.log(GRANT_ID).await.len(), 201);
    assert_eq!(code(world.desk.submit(&other).await), "ok");
    assert_eq!(
        look(&*store).await.in_flight.unwrap().0,
        other.order.message().payload_digest
    );
}

/// A plan under an order over another plan.
fn ordered_late(request: &str, envelope: &str) -> fence_server::Ordered {
    fence_server::Ordered {
        account: ACCOUNT,
        grant_id: GRANT_ID,
        request: request.to_owned(),
        envelope: envelope.to_owned(),
        order: order(&plan(AMOUNT + 2).1, GRANT_ID),
    }
}
