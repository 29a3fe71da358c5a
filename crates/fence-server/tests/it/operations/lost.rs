//! Writes that a server has acknowledged and its database has lost: a replica that takes over may
//! lack the last commits.

use std::sync::Arc;

use alloy_primitives::{B256, U256};
use fence_server::{Delegations, PostgresStore};
use test_support::postgres::Schema;

use super::{AMOUNT, OTHER_ID, state};
use crate::dying::Dying;
use crate::sample::NOW;
use crate::stage::{DAY, GRANT_ID, grant, limit, look, owner, revocation, sign};
use crate::world::{Clock, Custody, code, desk, log, ordered};

struct World {
    schema: Schema,
    store: Arc<Dying>,
    clock: Clock,
    desk: Delegations,
}

/// A server whose database has the usual grant, and will lose what comes after it; without a
/// database there is nothing to run on.
async fn granted() -> Option<World> {
    let schema = Schema::new()?;
    let store = PostgresStore::open(schema.connect()).await.unwrap();
    let store = Arc::new(Dying::never(Arc::new(store)));
    store.begin_history("1");
    let clock = Clock::new();
    let desk = desk(store.clone(), 1, &clock, &Custody::new()).await;
    let granted = desk.receive_grant(sign(grant(GRANT_ID), &owner())).await;
    granted.unwrap();
    desk.reassert().await.unwrap();
    schema.keep().await;
    Some(World {
        schema,
        store,
        clock,
        desk,
    })
}

#[tokio::test]
async fn a_lost_revocation_is_made_again_before_a_plan_is_judged() {
    let Some(world) = granted().await else { return };
    let signed = revocation(GRANT_ID, NOW);
    let told = world.desk.receive_revocation(signed).await.unwrap();
    world.schema.lose().await;
    assert_eq!(state(&world.desk, GRANT_ID).await, "active");
    world.clock.pass(1);
    world.store.begin_history("2");
    let submitted = world.desk.submit(&ordered(AMOUNT, GRANT_ID)).await;
    assert_eq!(code(submitted), "grant_revoked");
    // The log has it once, and its receipt is the one that its holder has.
    assert_eq!(
        log(&*world.store, GRANT_ID).await,
        ["granted", "revoked", "refused grant_revoked"]
    );
    let again = world.desk.receive_revocation(revocation(GRANT_ID, NOW));
    assert_eq!(again.await.unwrap(), told);
}

#[tokio::test]
async fn everything_lost_is_made_again_however_late() {
    let Some(world) = granted().await else { return };
    let desk = &world.desk;
    desk.receive_limit(limit(7)).await.unwrap();
    desk.receive_revocation(revocation(OTHER_ID, NOW))
        .await
        .unwrap();
    desk.receive_revocation(revocation(B256::ZERO, NOW - 20))
        .await
        .unwrap();
    world.schema.lose().await;
    world.clock.pass(DAY);
    // While the history is the same, nothing was lost and nothing is written.
    desk.reassert().await.unwrap();
    assert_eq!(look(&*world.store).await.limits, []);
    world.store.begin_history("2");
    for _ in 0..2 {
        desk.reassert().await.unwrap();
        let view = look(&*world.store).await;
        assert_eq!(view.limits[0].signed.message().per_swap_cap, U256::from(7));
        assert_eq!(view.ended_all.unwrap().at, NOW - 20);
        assert_eq!(state(desk, OTHER_ID).await, "revoked");
        // This grant was issued after the revocation of all grants, which does not end it.
        assert_eq!(state(desk, GRANT_ID).await, "active");
        assert_eq!(log(&*world.store, GRANT_ID).await, ["granted", "limited"]);
    }
}
