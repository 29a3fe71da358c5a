//! Tests of the public record of an authorization.

use ledger::{Claim, EntryId, Journal, PaymentRecord, Resolution, Spent, State, StoredReceipt};

use crate::support::{
    Bench, ENTRY_RETENTION, NOW, RETENTION, bring, claim, key, look_up, prune_all, receipt,
    reserved, settlement,
};

fn record(entry: EntryId, state: State) -> PaymentRecord {
    PaymentRecord {
        entry,
        state,
        since: NOW,
        transaction: None,
        reason: None,
        is_repetition: false,
        is_retired: false,
        attempted: false,
    }
}

#[tokio::test]
async fn the_record_shows_every_state() {
    let mut ledger = Bench::new();
    let mut expected = Vec::new();
    for (nonce, state) in (0..).zip(State::ALL) {
        let entry = bring(&ledger, nonce, state).await;
        let reason = match state {
            State::Unknown => Some("timeout".to_owned()),
            State::Released => Some("refused".to_owned()),
            State::Undecidable => Some("nobody knows".to_owned()),
            _ => None,
        };
        let attempted = match state {
            State::Reserved | State::Working | State::Released => false,
            State::Settling | State::Unknown | State::Settled | State::Undecidable => true,
        };
        let transaction = (state == State::Settled).then(|| receipt(nonce).transaction);
        expected.push(PaymentRecord {
            transaction,
            reason,
            attempted,
            ..record(entry, state)
        });
    }
    for _ in 0..2 {
        for (nonce, expected) in (0..).zip(&expected) {
            assert_eq!(look_up(&ledger, nonce).await.as_ref(), Some(expected));
        }
        assert_eq!(look_up(&ledger, 77).await, None);
        ledger.reopen();
        for record in &mut expected {
            record.state = ledger.reopened(record.state);
        }
    }
}

#[tokio::test]
async fn the_record_of_a_release_says_whether_a_settlement_was_attempted() {
    let ledger = Bench::new();
    for (nonce, state, attempted) in [
        (1, State::Reserved, false),
        (2, State::Working, false),
        (3, State::Settling, true),
        (4, State::Unknown, true),
    ] {
        let entry = bring(&ledger, nonce, state).await;
        ledger
            .release(entry, "refused", Spent::NOTHING, NOW + 7)
            .await
            .unwrap();
        let expected = PaymentRecord {
            since: NOW + 7,
            reason: Some("refused".to_owned()),
            attempted,
            ..record(entry, State::Released)
        };
        assert_eq!(look_up(&ledger, nonce).await, Some(expected), "{state}");
        // The authorization has left the server, whatever happens to its next entry.
        for now in [NOW + 8, NOW + 9] {
            let next = Claim {
                now,
                ..claim(nonce)
            };
            let next = reserved(&ledger, next).await;
            let expected = PaymentRecord {
                since: now,
                attempted,
                ..record(next, State::Reserved)
            };
            assert_eq!(look_up(&ledger, nonce).await, Some(expected));
            ledger
                .release(next, "no data", Spent::NOTHING, now)
                .await
                .unwrap();
            assert_eq!(look_up(&ledger, nonce).await.unwrap().attempted, attempted);
        }
    }
    let entry = bring(&ledger, 5, State::Undecidable).await;
    let reason = "not on chain".to_owned();
    ledger
        .resolve(entry, Resolution::Released { reason }, NOW)
        .await
        .unwrap();
    let found = look_up(&ledger, 5).await.unwrap();
    assert!(found.attempted && found.is_retired && found.state == State::Released);
    assert_eq!(found.reason.as_deref(), Some("not on chain"));
}

#[tokio::test]
async fn a_settled_entry_shows_the_receipts_transaction_even_after_pruning() {
    let ledger = Bench::new();
    let entry = bring(&ledger, 1, State::Unknown).await;
    let learned = Some("0xb2".to_owned());
    ledger
        .mark_unknown(entry, learned.clone(), "pending", NOW + 5)
        .await
        .unwrap();
    let found = look_up(&ledger, 1).await.unwrap();
    assert_eq!((found.transaction, found.since), (learned, NOW));
    assert_eq!(found.reason.as_deref(), Some("pending"));
    // The receipt has another transaction than the known one.
    ledger
        .settle(entry, key(1), receipt(1), NOW + 9)
        .await
        .unwrap();
    let settled = PaymentRecord {
        since: NOW + 9,
        transaction: Some(receipt(1).transaction),
        attempted: true,
        ..record(entry, State::Settled)
    };
    assert_eq!(look_up(&ledger, 1).await, Some(settled.clone()));
    let pruned = prune_all(&ledger, NOW + 9 + RETENTION).await;
    assert_eq!((pruned.answers, pruned.entries), (1, 0));
    assert_eq!(look_up(&ledger, 1).await, Some(settled));
    prune_all(&ledger, NOW + 9 + ENTRY_RETENTION).await;
    assert_eq!(look_up(&ledger, 1).await, None);
}

#[tokio::test]
async fn a_scheme_without_a_transaction_has_none() {
    let ledger = Bench::new();
    let entry = reserved(&ledger, claim(1)).await;
    ledger
        .begin_settlement(entry, settlement(1), NOW)
        .await
        .unwrap();
    let receipt = StoredReceipt {
        header: "eyJ9".to_owned(),
        transaction: String::new(),
    };
    ledger.settle(entry, key(1), receipt, NOW).await.unwrap();
    for now in [NOW, NOW + RETENTION] {
        prune_all(&ledger, now).await;
        let found = look_up(&ledger, 1).await.unwrap();
        assert_eq!((found.state, found.transaction), (State::Settled, None));
    }
}

/// A time before the last change counts as the time of that change.
#[tokio::test]
async fn time_does_not_run_backwards() {
    let ledger = Bench::new();
    for (nonce, late) in [(1, NOW - 500), (2, NOW + 500)] {
        let entry = reserved(&ledger, claim(nonce)).await;
        ledger
            .begin_settlement(entry, settlement(nonce), late)
            .await
            .unwrap();
        let expected = late.max(NOW);
        assert_eq!(look_up(&ledger, nonce).await.unwrap().since, expected);
        ledger
            .mark_unknown(entry, None, "timeout", NOW - 600)
            .await
            .unwrap();
        assert_eq!(look_up(&ledger, nonce).await.unwrap().since, expected);
        ledger
            .mark_undecidable(entry, "no one", NOW - 600)
            .await
            .unwrap();
        assert_eq!(look_up(&ledger, nonce).await.unwrap().since, expected);
        let resolution = Resolution::Settled(receipt(nonce));
        ledger.resolve(entry, resolution, NOW - 700).await.unwrap();
        assert_eq!(look_up(&ledger, nonce).await.unwrap().since, expected);
    }
    let young = Claim {
        now: NOW + 9,
        ..claim(3)
    };
    let entry = reserved(&ledger, young).await;
    ledger
        .release(entry, "refused", Spent::NOTHING, NOW)
        .await
        .unwrap();
    assert_eq!(look_up(&ledger, 3).await.unwrap().since, NOW + 9);
}
