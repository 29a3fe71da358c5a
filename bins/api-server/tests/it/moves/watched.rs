//! Tests of a mandate that acts. The server's own watcher checks it, from idle money to the better
//! vault, and the audit is verified.

use std::sync::Arc;
use std::time::Duration;

use alloy_primitives::B256;
use dev_chain::xlayer::{A_USDG, USDG};
use jiff::SignedDuration;
use test_support::eventually_every;
use watch_server::{Mandates, Pace, SqliteStore, Terms, Watcher, mandate_id};
use yield_watch::{AuditRecord, Event, Mode, verify};

use crate::moves::ports::Gathered;
use crate::moves::stage::{LENT, Process, THOUSAND, VAULT, World, mandate};

const PAYMENT: B256 = B256::repeat_byte(0x77);
/// The pause between two sweeps, in which the moves that they have begun continue.
const SWEEP: Duration = Duration::from_millis(100);

/// The mandates of a process, and their watcher.
fn watcher(world: &World, process: &Process) -> (Mandates, Watcher) {
    let store = SqliteStore::open(world.path("watch.db")).unwrap();
    let now = Arc::clone(&world.now);
    let clock: watch_server::Clock = Arc::new(move || {
        let now = now.load(std::sync::atomic::Ordering::SeqCst);
        jiff::Timestamp::from_second(i64::try_from(now).unwrap()).unwrap()
    });
    let mandates = Mandates::new(Arc::new(store), clock);
    mandates.move_with(process.mover.clone());
    let yields = Gathered(world.yields.clone(), world.now.clone());
    let watcher = Watcher::new(&mandates, Arc::new(yields), Pace::default());
    (mandates, watcher)
}

async fn recorded(mandates: &Mandates) -> Vec<AuditRecord> {
    let owner = mandate("1").owner;
    let id = mandate_id(PAYMENT);
    mandates.audit(&owner, &id, 0, 99).await.unwrap()
}

/// Runs checks, ten seconds of the clock apart, until a move has ended.
async fn until(
    world: &World,
    mandates: &Mandates,
    watcher: &Watcher,
    last: Event,
) -> Vec<AuditRecord> {
    let swept = async || {
        watcher.sweep().await;
        let records = recorded(mandates).await;
        let is_over = records.last().is_some_and(|record| record.decision == last);
        if !is_over {
            world.pass(10);
        }
        is_over.then_some(records)
    };
    eventually_every(SWEEP, format_args!("{last:?}"), swept).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_mandate_invests_and_moves_on_across_a_restart() {
    let world = World::with(THOUSAND).await;
    world.yields.set(LENT, "4");
    let process = world.process();
    let (mandates, checks) = watcher(&world, &process);
    let created = mandate("600");
    let terms = Terms {
        owner: created.owner.clone(),
        rules: created.rules,
        mode: Mode::Auto,
        expires_at: world.time() + SignedDuration::from_hours(24),
    };
    mandates.create(PAYMENT, terms, None).await.unwrap();
    world.pass(60);
    let records = until(&world, &mandates, &checks, Event::Moved).await;
    assert_eq!(records.len(), 4);
    // The chain's clock has gone on, so there is a little interest.
    assert!(world.balance(A_USDG).abs_diff(600_000_000) <= 1_000);
    // The next check moves the rest, and the one after it moves into the better vault.
    world.pass(4_000);
    checks.sweep().await;
    until(&world, &mandates, &checks, Event::Moved).await;
    assert_eq!(world.balance(USDG), 0);
    drop((mandates, checks, process));
    let process = world.process();
    let (mandates, checks) = watcher(&world, &process);
    world.yields.set(VAULT, "6");
    world.pass(4_000);
    checks.sweep().await;
    let records = until(&world, &mandates, &checks, Event::Moved).await;
    assert!(world.in_vault().abs_diff(600_000_000) <= 2);
    let values: Vec<_> = records
        .iter()
        .map(|record| serde_json::to_value(record).unwrap())
        .collect();
    verify(&values).unwrap();
    let moves = records
        .iter()
        .filter(|record| record.decision == Event::Moved);
    assert_eq!(moves.count(), 3);
}
