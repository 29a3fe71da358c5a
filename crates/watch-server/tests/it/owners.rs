//! Tests of creating, reading and cancelling mandates.

use std::sync::Arc;

use test_support::postgres::Schema;
use watch_server::{PostgresStore, WatchError, mandate_id};
use yield_watch::{Event, Mode, State};

use crate::dying::Dying;
use crate::stage::{HOUR, OTHER, OWNER, Stage, payment, terms};

#[tokio::test]
async fn a_payment_creates_one_mandate() {
    let stage = Stage::new();
    let process = stage.process();
    let first = process
        .mandates
        .create(payment(1), terms(Mode::Notify), None);
    let first = first.await.unwrap();
    assert_eq!(first.watched.mandate().id, mandate_id(payment(1)));
    // The payment comes again later, at another process, when its terms would be refused for a new
    // mandate.
    stage.time.set(48 * HOUR);
    let other = stage.process();
    let again = other.mandates.create(payment(1), terms(Mode::Notify), None);
    assert_eq!(again.await.unwrap(), first);
    assert_eq!(
        process.mandates.list(OWNER, None, 9).await.unwrap().len(),
        1
    );
    let mut changed = terms(Mode::Notify);
    changed.rules.min_apy_delta_bps = 51;
    let refused = other.mandates.create(payment(1), changed, None).await;
    assert_eq!(refused, Err(WatchError::OtherTerms));
    let late = other
        .mandates
        .create(payment(2), terms(Mode::Notify), None)
        .await;
    assert!(matches!(late, Err(WatchError::Invalid(problems)) if problems.len() == 1));
}

/// While a payment's mandate is active, the server does not ask the payer to pay for another one.
#[tokio::test]
async fn a_payment_has_an_active_mandate_until_it_ends() {
    let stage = Stage::new();
    let mandates = stage.process().mandates;
    assert_eq!(mandates.is_active(payment(1)).await, Ok(false));
    let kept = mandates.create(payment(1), terms(Mode::Notify), None);
    let id = kept.await.unwrap().watched.mandate().id.clone();
    assert_eq!(mandates.is_active(payment(1)).await, Ok(true));
    assert_eq!(mandates.is_active(payment(2)).await, Ok(false));
    mandates.cancel(OWNER, &id).await.unwrap();
    assert_eq!(mandates.is_active(payment(1)).await, Ok(false));
}

#[tokio::test]
async fn an_owner_cannot_see_or_cancel_the_mandate_of_another_one() {
    let stage = Stage::new();
    let process = stage.process();
    let kept = process
        .mandates
        .create(payment(1), terms(Mode::Notify), None);
    let id = kept.await.unwrap().watched.mandate().id.clone();
    let mandates = &process.mandates;
    assert_eq!(mandates.find(OTHER, &id).await, Err(WatchError::NotFound));
    assert_eq!(mandates.cancel(OTHER, &id).await, Err(WatchError::NotFound));
    let audit = mandates.audit(OTHER, &id, 0, 9).await;
    assert_eq!(audit, Err(WatchError::NotFound));
    assert_eq!(mandates.list(OTHER, None, 9).await, Ok(Vec::new()));
    assert!(mandates.find(OWNER, &id).await.is_ok());
}

#[tokio::test]
async fn an_owner_has_at_most_twenty_active_mandates() {
    let stage = Stage::new();
    let process = stage.process();
    for number in 1..=20 {
        let made = process
            .mandates
            .create(payment(number), terms(Mode::Notify), None);
        made.await.unwrap();
    }
    let refused = process
        .mandates
        .create(payment(21), terms(Mode::Notify), None);
    assert_eq!(refused.await, Err(WatchError::TooMany));
    let mut of_other = terms(Mode::Notify);
    of_other.owner = OTHER.to_owned();
    assert!(
        process
            .mandates
            .create(payment(22), of_other, None)
            .await
            .is_ok()
    );
    process
        .mandates
        .cancel(OWNER, &mandate_id(payment(3)))
        .await
        .unwrap();
    let made = process
        .mandates
        .create(payment(21), terms(Mode::Notify), None);
    assert!(made.await.is_ok());
    // The list is sorted by age, the newest first, and includes the ended one.
    let page = process.mandates.list(OWNER, None, 15).await.unwrap();
    let rest = process
        .mandates
        .list(OWNER, Some(page[14].place), 15)
        .await
        .unwrap();
    assert_eq!((page.len(), rest.len()), (15, 6));
    assert_eq!(page[0].watched.mandate().id, mandate_id(payment(21)));
    assert_eq!(rest[5].watched.mandate().id, mandate_id(payment(1)));
}

/// After a failover, a replica may lack the last commits. A mandate that has ended by itself is not
/// remembered any more.
#[tokio::test]
async fn a_cancellation_that_the_database_has_lost_is_made_again() {
    for (hours, is_remembered) in [(23, true), (24, false)] {
        let Some(schema) = Schema::new() else { return };
        let stage = Stage::new();
        let store = PostgresStore::open(schema.connect()).await.unwrap();
        let store = Arc::new(Dying::never(Arc::new(store)));
        store.begin_history("1");
        let process = stage.process_on(store.clone());
        let kept = process
            .mandates
            .create(payment(1), terms(Mode::Notify), None)
            .await;
        let id = kept.unwrap().watched.mandate().id.clone();
        process.mandates.reassert().await.unwrap();
        schema.keep().await;
        process.mandates.cancel(OWNER, &id).await.unwrap();
        schema.lose().await;
        let is_active = async || {
            let kept = process.mandates.find(OWNER, &id).await.unwrap();
            kept.watched.mandate().ended.is_none()
        };
        process.mandates.reassert().await.unwrap();
        assert!(is_active().await);
        stage.time.set(hours * HOUR);
        store.begin_history("2");
        process.mandates.reassert().await.unwrap();
        assert_eq!(is_active().await, !is_remembered);
        process.watcher.sweep().await;
        assert!(!is_active().await);
    }
}

#[tokio::test]
async fn a_repeated_cancellation_keeps_the_first_record_and_its_time() {
    let stage = Stage::new();
    let process = stage.process();
    let kept = process.mandate(Mode::Notify).await;
    let id = kept.watched.mandate().id.clone();
    stage.time.set(100);
    let first = process.mandates.cancel(OWNER, &id).await.unwrap();
    stage.time.set(200);
    let second = stage.process().mandates.cancel(OWNER, &id).await.unwrap();
    assert_eq!(first.kept, second.kept);
    let ended = first.kept.watched.mandate().ended.unwrap();
    assert_eq!(ended.state, State::Cancelled);
    assert_eq!(
        ended.at,
        crate::stage::begin() + jiff::SignedDuration::from_secs(100)
    );
    assert_eq!(
        process.events(&kept).await,
        [Event::Created, Event::Cancelled]
    );
    assert_eq!((first.kept.due_at, first.stopped), (None, None));
}
