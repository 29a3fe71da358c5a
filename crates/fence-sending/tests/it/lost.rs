//! Commits that a database has lost: a replica that takes over may lack the last ones.

use std::sync::Arc;

use calldata_checks::StepKind;
use delegation_fence::{Event, HaltReason, State};
use fence_server::Store as _;
use test_support::{Fuse, eventually};
use tx_sender::{MemoryStore, Store as _};

use crate::stage::{GRANT, World, wallet};

/// The server that has acknowledged a revocation writes it again, also while it sends nothing.
#[tokio::test(start_paused = true)]
async fn a_lost_revocation_is_written_again() {
    let world = World::new();
    let process = world.process(Fuse::eternal()).await;
    world.store.lose_ends("1");
    let account = wallet().address();
    let revoked = process.delegations.revoke_by_service(account, GRANT).await;
    revoked.unwrap();
    world.store.lose_ends("2");
    eventually("the revocation", async || {
        let view = world.store.view(account, GRANT, None).await;
        view.unwrap().ended
    })
    .await;
}

/// Everything about a plan is lost after its acceptance.
#[tokio::test(start_paused = true)]
async fn a_plan_whose_records_are_lost_swaps_once() {
    let mut world = World::new();
    world.servers = true;
    let process = world.process(Fuse::eternal()).await;
    let first = world.accept();
    assert_eq!(world.ended(first).await, State::Done);
    let plan = world.accept();
    assert_eq!(world.ended(plan).await, State::Done);
    assert_eq!(world.swaps(), 2);
    drop(process);

    let records = MemoryStore::default();
    for step in StepKind::ALL {
        let key = format!("fence/{first}/{}/0", step.as_str());
        let record = world.records.get(&key).await.unwrap();
        records.insert(record.unwrap()).await.unwrap();
    }
    world.records = Arc::new(records);
    world.store.lose_events(plan);
    let _process = world.process(Fuse::eternal()).await;
    assert_eq!(world.ended(plan).await, State::HaltedClean);
    let halted = Event::Halting {
        at: StepKind::ApproveReset,
        reason: HaltReason::Displaced,
    };
    assert!(world.store.kept(plan).unwrap().events.contains(&halted));
    assert_eq!(world.swaps(), 2);
}
