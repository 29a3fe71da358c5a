//! Tests of mandates that move money, with a mover that a test directs.

use watch_server::{Kept, MoveStop};
use yield_watch::{Event, Mode, MoveKey, MoveOutcome, Position};

use crate::stage::{HOUR, OWNER, Process, Stage, Wallet, held, market};

/// Makes a mandate whose wallet holds a product of 4 percent, while another product yields 6.
async fn acting() -> (Stage, Process, Kept) {
    let stage = Stage::new();
    stage.wallet.holds(held("a", "4"));
    stage
        .board
        .show(60, vec![market("a", "4"), market("b", "6")]);
    let process = stage.process();
    let kept = process.mandate(Mode::Auto).await;
    stage.time.set(60);
    (stage, process, kept)
}

fn key(kept: &Kept) -> MoveKey {
    MoveKey::new(&kept.watched.mandate().id, 1)
}

#[tokio::test]
async fn an_opportunity_moves_the_money_once_within_the_rules() {
    let (stage, process, kept) = acting().await;
    process.watcher.sweep().await;
    process.watcher.sweep().await;
    let signed = stage.wallet.signed();
    assert_eq!(signed.len(), 1);
    assert_eq!(signed[0].key, key(&kept));
    assert_eq!(signed[0].from.as_ref().unwrap().pool, "a");
    assert_eq!(signed[0].to.pool, "b");
    assert_eq!(signed[0].max_move_usd.to_string(), "1000");
    let asked = [Event::Created, Event::Opportunity, Event::MoveAsked];
    let events = process.events(&kept).await;
    assert_eq!(events[..3], asked);
    assert_eq!(events[3..], [Event::Moved]);
    // No market yields more than the current one.
    stage.wallet.holds(held("b", "6"));
    stage.time.set(2 * HOUR);
    stage
        .board
        .show(2 * HOUR, vec![market("a", "4"), market("b", "6")]);
    process.watcher.sweep().await;
    assert_eq!(process.events(&kept).await.last(), Some(&Event::NoChange));
    assert_eq!(stage.wallet.signed().len(), 1);
}

#[tokio::test]
async fn idle_money_is_invested_and_an_empty_wallet_moves_nothing() {
    let (stage, process, kept) = acting().await;
    let idle = |usd: &str| Position::Idle {
        idle_usd: usd.parse().unwrap(),
    };
    stage.wallet.holds(idle("0"));
    process.watcher.sweep().await;
    assert_eq!(process.events(&kept).await.last(), Some(&Event::NoChange));
    stage.wallet.holds(idle("5000"));
    stage.time.set(2 * HOUR);
    stage.board.show(2 * HOUR, vec![market("b", "6")]);
    process.watcher.sweep().await;
    let signed = stage.wallet.signed();
    assert_eq!((signed.len(), &signed[0].from), (1, &None));
}

#[tokio::test]
async fn old_yields_or_a_silent_wallet_move_nothing() {
    let (stage, process, kept) = acting().await;
    stage.wallet.silent(true);
    process.watcher.sweep().await;
    stage.wallet.silent(false);
    stage.time.set(2 * HOUR);
    process.watcher.sweep().await;
    assert_eq!(
        process.events(&kept).await,
        [Event::Created, Event::Unavailable, Event::StaleData]
    );
    assert_eq!(stage.wallet.signed(), []);
}

#[tokio::test]
async fn a_refusal_is_recorded_with_its_reason() {
    let (stage, process, kept) = acting().await;
    stage.wallet.refuse("product_at_its_cap");
    process.watcher.sweep().await;
    let found = process
        .mandates
        .find(OWNER, &kept.watched.mandate().id)
        .await
        .unwrap();
    let reason = "product_at_its_cap".to_owned();
    let expected = (key(&kept), MoveOutcome::Refused { reason });
    assert_eq!(found.watched.last_move(), Some(&expected));
    assert_eq!(
        process.events(&kept).await.last(),
        Some(&Event::MoveRefused)
    );
}

#[tokio::test]
async fn a_cancellation_stops_a_move_that_is_not_signed() {
    let (stage, process, kept) = acting().await;
    stage.wallet.slow();
    process.watcher.sweep().await;
    assert_eq!(process.events(&kept).await.last(), Some(&Event::MoveAsked));
    let id = &kept.watched.mandate().id;
    let cancelled = process.mandates.cancel(OWNER, id).await.unwrap();
    assert_eq!(cancelled.stopped, Some(MoveStop::Stopped));
    assert_eq!(cancelled.kept.due_at, None);
    let events = process.events(&kept).await;
    assert_eq!(events[3..], [Event::Cancelled, Event::MoveStopped]);
    stage.time.set(2 * HOUR);
    process.watcher.sweep().await;
    assert_eq!(
        (process.events(&kept).await.len(), stage.wallet.signed()),
        (5, vec![])
    );
    let again = process.mandates.cancel(OWNER, id).await.unwrap();
    assert_eq!(again.kept, cancelled.kept);
}

#[tokio::test]
async fn a_signed_move_ends_after_the_cancellation_and_its_end_is_recorded() {
    let (stage, process, kept) = acting().await;
    stage.wallet.slow();
    process.watcher.sweep().await;
    let id = &kept.watched.mandate().id;
    let found = process.mandates.find(OWNER, id).await.unwrap();
    stage
        .wallet
        .sign(found.watched.open_move().cloned().unwrap());
    let cancelled = process.mandates.cancel(OWNER, id).await.unwrap();
    assert_eq!(cancelled.stopped, Some(MoveStop::TooLate));
    stage.time.set(120);
    process.watcher.sweep().await;
    assert_eq!(process.events(&kept).await.last(), Some(&Event::Cancelled));
    stage.wallet.end(&key(&kept), Wallet::moved("900"));
    stage.time.set(240);
    process.watcher.sweep().await;
    assert_eq!(process.events(&kept).await.last(), Some(&Event::Moved));
    let found = process.mandates.find(OWNER, id).await.unwrap();
    assert_eq!(found.due_at, None);
}

#[tokio::test]
async fn a_silent_mover_is_asked_until_it_answers() {
    let (stage, process, kept) = acting().await;
    stage.wallet.slow();
    process.watcher.sweep().await;
    stage.wallet.silent(true);
    let id = &kept.watched.mandate().id;
    let cancelled = process.mandates.cancel(OWNER, id).await.unwrap();
    assert_eq!(cancelled.stopped, Some(MoveStop::NotKnown));
    stage.time.set(120);
    process.watcher.sweep().await;
    stage.wallet.silent(false);
    stage.time.set(240);
    process.watcher.sweep().await;
    let events = process.events(&kept).await;
    assert_eq!(events[3..], [Event::Cancelled, Event::MoveStopped]);
}

#[tokio::test]
async fn a_move_that_is_not_signed_before_its_yields_are_stale_is_stopped() {
    let (stage, process, kept) = acting().await;
    // The check is recorded, and the mover does not sign in time.
    stage.wallet.slow();
    process.watcher.sweep().await;
    stage.time.set(60 + 5_401);
    process.watcher.sweep().await;
    let found = process
        .mandates
        .find(OWNER, &kept.watched.mandate().id)
        .await
        .unwrap();
    let reason = "stale_data".to_owned();
    let expected = (key(&kept), MoveOutcome::Stopped { reason });
    assert_eq!(found.watched.last_move(), Some(&expected));
    assert_eq!(stage.wallet.signed(), []);
}
