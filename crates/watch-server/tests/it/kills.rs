//! Tests of a process that ends at each of its writes, and of the next process, which continues.

use std::sync::Arc;

use yield_watch::{Event, Mode};

use crate::dying::Dying;
use crate::stage::{HOUR, OWNER, Stage, held, market, payment, terms};

/// Creates, checks, moves and cancels in a process that ends at its write number `left`. Then a
/// second process continues. Returns whether the first process has ended at a write.
async fn killed_at(left: usize, after: bool) -> bool {
    let stage = Stage::new();
    stage.wallet.holds(held("a", "4"));
    stage
        .board
        .show(60, vec![market("a", "4"), market("b", "6")]);
    let store = Arc::new(Dying::new(Arc::new(stage.store()), left, after));
    let process = stage.process_on(store.clone());
    let created = process
        .mandates
        .create(payment(1), terms(Mode::Auto), None)
        .await;
    stage.time.set(60);
    process.watcher.sweep().await;
    if let Ok(kept) = &created {
        let cancelled = process.mandates.cancel(OWNER, &kept.watched.mandate().id);
        drop(cancelled.await);
    }
    let died = store.is_dead();
    drop((process, store));

    // In the next process, the caller sends the same payment again. After the check, it cancels.
    let process = stage.process();
    let kept = process.mandate(Mode::Auto).await;
    // The lease of the ended process must be over first.
    stage.time.set(60 + 300);
    process.watcher.sweep().await;
    process.watcher.sweep().await;
    let id = &kept.watched.mandate().id;
    process.mandates.cancel(OWNER, id).await.unwrap();
    stage.time.set(5 * HOUR);
    process.watcher.sweep().await;

    let place = format!("write {left}, after: {after}");
    assert_eq!(
        process.mandates.list(OWNER, None, 9).await.unwrap().len(),
        1,
        "{place}"
    );
    let events = process.events(&kept).await;
    assert!(stage.wallet.signed().len() <= 1, "{place}: moved twice");
    let count = |event| events.iter().filter(|known| **known == event).count();
    assert_eq!(count(Event::Cancelled), 1, "{place}: {events:?}");
    assert_eq!(
        count(Event::MoveAsked),
        count(Event::Moved) + count(Event::MoveStopped),
        "{place}"
    );
    assert_eq!(
        count(Event::Moved),
        stage.wallet.signed().len(),
        "{place}: {events:?}"
    );
    let found = process.mandates.find(OWNER, id).await.unwrap();
    assert_eq!(
        (found.due_at, found.watched.open_move()),
        (None, None),
        "{place}"
    );
    died
}

#[tokio::test]
async fn the_next_process_continues_whatever_write_ended_the_first_one() {
    for after in [false, true] {
        let mut left = 1;
        while killed_at(left, after).await {
            left += 1;
        }
        assert!(
            left > 5,
            "creation, lease, check, end of the move, lease, cancellation"
        );
    }
}

#[tokio::test]
async fn after_a_restart_the_mover_is_asked_for_the_state_of_an_open_move() {
    let stage = Stage::new();
    stage.wallet.holds(held("a", "4"));
    stage
        .board
        .show(60, vec![market("a", "4"), market("b", "6")]);
    let first = stage.process();
    let kept = first.mandate(Mode::Auto).await;
    stage.wallet.slow();
    stage.time.set(60);
    first.watcher.sweep().await;
    let id = kept.watched.mandate().id.clone();
    let open = first.mandates.find(OWNER, &id).await.unwrap();
    let proposal = open.watched.open_move().cloned().unwrap();
    drop(first);
    stage.wallet.sign(proposal.clone());
    stage
        .wallet
        .end(&proposal.key, crate::stage::Wallet::moved("900"));
    let second = stage.process();
    stage.time.set(600);
    second.watcher.sweep().await;
    assert_eq!(second.events(&kept).await.last(), Some(&Event::Moved));
    assert_eq!(stage.wallet.signed().len(), 1);
}
