//! Tests of the checks of mandates that notify, and of their times.

use std::sync::Arc;

use tokio::sync::Notify;
use watch_server::{Edition, EditionFuture, MemoryStore, Yields};
use yield_watch::{Decision, Event, Mode, State, verify};

use crate::stage::{Board, HOUR, OWNER, Stage, distinct, held, market, payment, terms};

#[tokio::test]
async fn a_mandate_is_checked_when_it_is_due_and_records_each_rise_once() {
    let stage = Stage::new();
    let process = stage.process();
    let kept = process.mandate(Mode::Notify).await;
    stage
        .board
        .show(0, vec![market("a", "5"), market("b", "4")]);
    for (at, yields) in [(60, "5"), (2 * HOUR, "6"), (4 * HOUR, "6"), (6 * HOUR, "3")] {
        stage.time.set(at);
        stage.board.show(at, vec![market("a", yields)]);
        process.watcher.sweep().await;
        // The mandate is not due again immediately.
        process.watcher.sweep().await;
    }
    let found = process
        .mandates
        .find(OWNER, &kept.watched.mandate().id)
        .await
        .unwrap();
    let told = found.watched.opportunity().unwrap();
    assert_eq!((told.seq, told.delta_bps), (2, Some(100)));
    assert_eq!(found.watched.last_decision(), Some(Decision::NoChange));
    assert_eq!(
        process.events(&kept).await,
        [
            Event::Created,
            Event::NoChange,
            Event::Opportunity,
            Event::NoChange,
            Event::NoChange
        ]
    );
}

#[tokio::test]
async fn old_or_missing_yields_decide_nothing_and_are_recorded() {
    let stage = Stage::new();
    let process = stage.process();
    let kept = process.mandate(Mode::Notify).await;
    stage.time.set(60);
    process.watcher.sweep().await;
    stage.board.show(60, vec![market("a", "5")]);
    stage.time.set(2 * HOUR);
    process.watcher.sweep().await;
    assert_eq!(
        process.events(&kept).await,
        [Event::Created, Event::Unavailable, Event::StaleData]
    );
}

#[tokio::test]
async fn the_expiry_of_a_mandate_is_recorded() {
    let stage = Stage::new();
    let process = stage.process();
    let kept = process.mandate(Mode::Notify).await;
    stage.time.set(24 * HOUR);
    process.watcher.sweep().await;
    process.watcher.sweep().await;
    assert_eq!(
        process.events(&kept).await,
        [Event::Created, Event::Expired]
    );
    let id = &kept.watched.mandate().id;
    let cancelled = process.mandates.cancel(OWNER, id).await.unwrap();
    let ended = cancelled.kept.watched.mandate().ended.unwrap();
    assert_eq!(ended.state, State::Expired);
    assert_eq!(ended.at, kept.watched.mandate().expires_at);
}

#[tokio::test]
async fn a_clock_that_is_set_back_makes_no_check_and_allows_a_cancellation() {
    let stage = Stage::new();
    let process = stage.process();
    let kept = process.mandate(Mode::Notify).await;
    stage.time.set(3 * HOUR);
    process.watcher.sweep().await;
    stage.time.set(HOUR);
    process.watcher.sweep().await;
    assert_eq!(process.events(&kept).await.len(), 2);
    let cancelled = process
        .mandates
        .cancel(OWNER, &kept.watched.mandate().id)
        .await;
    let at = cancelled.unwrap().kept.watched.mandate().ended.unwrap().at;
    assert_eq!(
        at,
        crate::stage::begin() + jiff::SignedDuration::from_hours(3)
    );
    assert_eq!(process.events(&kept).await.last(), Some(&Event::Cancelled));
}

#[tokio::test]
async fn after_an_outage_mandates_are_checked_in_batches_and_their_next_checks_are_spread_out() {
    let stage = Stage::new();
    let process = stage.process_on(Arc::new(MemoryStore::default()));
    let mut all = Vec::new();
    for number in 1..=60 {
        let mut terms = terms(Mode::Notify);
        terms.owner = format!("eip155:196:0x{number:040x}");
        all.push(
            process
                .mandates
                .create(payment(number), terms, None)
                .await
                .unwrap(),
        );
    }
    stage.time.set(20 * HOUR);
    stage.board.show(20 * HOUR, vec![market("a", "5")]);
    process.watcher.sweep().await;
    let mut checked = 0;
    for kept in &all {
        checked += usize::from(process.events(kept).await.len() == 2);
    }
    assert_eq!(checked, 32);
    process.watcher.sweep().await;
    process.watcher.sweep().await;
    let mut due = Vec::new();
    for kept in &all {
        assert_eq!(process.events(kept).await.len(), 2);
        let mandate = kept.watched.mandate();
        let found = process
            .mandates
            .find(&mandate.owner, &mandate.id)
            .await
            .unwrap();
        due.push(found.due_at.unwrap());
    }
    assert!(distinct(due) > 30, "the next checks are spread out");
}

#[tokio::test]
async fn of_two_processes_one_checks_a_mandate() {
    let stage = Stage::new();
    let (one, two) = (stage.process(), stage.process());
    let kept = one.mandate(Mode::Notify).await;
    for round in 1..=6 {
        stage.time.set(round * 2 * HOUR);
        stage.board.show(round * 2 * HOUR, vec![market("a", "5")]);
        tokio::join!(one.watcher.sweep(), two.watcher.sweep());
    }
    assert_eq!(one.events(&kept).await.len(), 7);
}

/// Yields that arrive only when a test releases them.
struct Gate {
    board: Arc<Board>,
    asked: Notify,
    open: Notify,
}

impl Yields for Gate {
    fn latest(&self) -> EditionFuture<'_> {
        Box::pin(async {
            self.asked.notify_one();
            self.open.notified().await;
            let edition: Option<Edition> = self.board.latest().await;
            edition
        })
    }
}

impl Gate {
    fn before(board: &Arc<Board>) -> Arc<Self> {
        Arc::new(Self {
            board: Arc::clone(board),
            asked: Notify::new(),
            open: Notify::new(),
        })
    }
}

/// A process is suspended in the middle of a check, and another one checks the mandate meanwhile.
#[tokio::test]
async fn a_check_that_outlives_its_lease_writes_and_moves_nothing() {
    let stage = Stage::new();
    stage.wallet.holds(held("a", "4"));
    let markets = || vec![market("a", "4"), market("b", "6")];
    let gate = Gate::before(&stage.board);
    let sleeper = stage.process_of(Arc::new(stage.store()), gate.clone());
    let other = stage.process();
    let kept = other.mandate(Mode::Auto).await;
    stage.time.set(60);
    stage.board.show(60, markets());
    let watcher = sleeper.watcher.clone();
    let checking = tokio::spawn(async move { watcher.sweep().await });
    gate.asked.notified().await;
    stage.time.set(600);
    stage.board.show(600, markets());
    other.watcher.sweep().await;
    let (events, signed) = (other.events(&kept).await, stage.wallet.signed());
    assert_eq!(signed.len(), 1);
    assert_eq!(events.last(), Some(&Event::Moved));
    gate.open.notify_one();
    checking.await.unwrap();
    assert_eq!(other.events(&kept).await, events);
    assert_eq!(stage.wallet.signed(), signed);
}

#[tokio::test]
async fn a_cancellation_wins_over_a_running_check() {
    let stage = Stage::new();
    let gate = Gate::before(&stage.board);
    let process = stage.process_of(Arc::new(stage.store()), gate.clone());
    let kept = process.mandate(Mode::Notify).await;
    stage.time.set(60);
    stage.board.show(60, vec![market("a", "5")]);
    let watcher = process.watcher.clone();
    let checking = tokio::spawn(async move { watcher.sweep().await });
    gate.asked.notified().await;
    let cancelled = process
        .mandates
        .cancel(OWNER, &kept.watched.mandate().id)
        .await;
    assert!(cancelled.unwrap().kept.watched.mandate().ended.is_some());
    gate.open.notify_one();
    checking.await.unwrap();
    assert_eq!(
        process.events(&kept).await,
        [Event::Created, Event::Cancelled]
    );
}

#[tokio::test]
async fn the_audit_is_read_page_by_page() {
    let stage = Stage::new();
    let process = stage.process();
    let kept = process.mandate(Mode::Notify).await;
    for round in 1..=5 {
        stage.time.set(round * 2 * HOUR);
        process.watcher.sweep().await;
    }
    let id = &kept.watched.mandate().id;
    let mut values = Vec::new();
    for from in [0, 2, 4] {
        let page = process.mandates.audit(OWNER, id, from, 2).await.unwrap();
        assert_eq!(page.len(), 2);
        values.extend(
            page.iter()
                .map(|record| serde_json::to_value(record).unwrap()),
        );
    }
    let head = verify(&values).unwrap();
    let found = process.mandates.find(OWNER, id).await.unwrap();
    assert_eq!(head, found.watched.head());
}
