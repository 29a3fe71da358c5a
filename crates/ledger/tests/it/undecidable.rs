//! Tests of entries that only the operator can decide.

use ledger::{EntryId, Journal, OpenCounts, PaymentStatus, Recovery, Resolution, State, Undecided};
use x402_wire::{AuthorizationKey, Payment};

use crate::support::{
    Bench, NOW, bring, claim, credit, find, key, prune_all, receipt, refused, settlement, stored,
};

#[tokio::test]
async fn an_undecidable_entry_is_listed_only_for_the_operator() {
    let mut ledger = Bench::new();
    let unknown = bring(&ledger, 1, State::Unknown).await;
    let transaction = Some("0xb2".to_owned());
    let undecidable = bring(&ledger, 2, State::Unknown).await;
    ledger
        .mark_unknown(undecidable, transaction.clone(), "timeout", NOW)
        .await
        .unwrap();
    ledger
        .mark_undecidable(undecidable, "window over, no RPC", NOW + 50)
        .await
        .unwrap();
    for _ in 0..2 {
        let listed = ledger.undecided(None, 10).await.unwrap();
        let listed: Vec<EntryId> = listed.iter().map(|entry| entry.entry).collect();
        assert_eq!(listed, [unknown]);
        let listed = ledger.undecidable(None, 10).await.unwrap();
        assert_eq!(listed.len(), 1);
        let listed = &listed[0];
        assert_eq!(listed.entry, undecidable);
        let payment = settlement(2).payment;
        assert_eq!(listed.payload_json, payment.payload().raw());
        assert_eq!(listed.requirements_json, payment.requirements_json());
        assert_eq!(listed.transaction, transaction);
        assert_eq!(listed.since, NOW + 50);
        assert_eq!(listed.cause.as_deref(), Some("window over, no RPC"));
        assert_eq!(listed.amount, claim(2).amount);
        assert_eq!(listed.payer, key(2).payer);
        assert_eq!((&*listed.method, &*listed.path), ("GET", "/price"));
        assert_eq!(
            find(&ledger, 2, NOW).await,
            Some(PaymentStatus::Undecidable {
                entry: undecidable,
                transaction: transaction.clone()
            })
        );
        ledger.reopen();
    }
}

#[tokio::test]
async fn undecidable_entries_come_in_pages() {
    let ledger = Bench::new();
    let mut entries = Vec::new();
    for nonce in 0..7 {
        entries.push(bring(&ledger, nonce, State::Undecidable).await);
    }
    let mut seen: Vec<EntryId> = Vec::new();
    loop {
        let page = ledger.undecidable(seen.last().copied(), 3).await.unwrap();
        assert!(page.len() <= 3);
        if page.is_empty() {
            break;
        }
        seen.extend(page.iter().map(|entry| entry.entry));
    }
    assert_eq!(seen, entries);
}

#[tokio::test]
async fn no_server_moves_an_undecidable_entry() {
    let mut ledger = Bench::new();
    let entry = bring(&ledger, 1, State::Undecidable).await;
    let expected = Some(PaymentStatus::Undecidable {
        entry,
        transaction: None,
    });
    let much_later = NOW + 1_000_000_000;
    let nothing = Recovery::default();
    assert_eq!(
        ledger.abandon(Vec::new(), much_later, much_later).await,
        Ok(nothing)
    );
    assert_eq!(prune_all(&ledger, much_later).await.entries, 0);
    ledger.reopen();
    assert_eq!(ledger.recover(much_later).await, Ok(nothing));
    assert_eq!(find(&ledger, 1, much_later).await, expected);
}

#[tokio::test]
async fn the_operator_decides_an_undecidable_entry_once() {
    let ledger = Bench::new();
    let charged = bring(&ledger, 1, State::Undecidable).await;
    let uncharged = bring(&ledger, 2, State::Undecidable).await;
    let settled = Resolution::Settled(receipt(1));
    let released = Resolution::Released {
        reason: "never left the payer".to_owned(),
    };
    let retired = PaymentStatus::Retired {
        reason: "never left the payer".to_owned(),
    };
    ledger
        .resolve(charged, settled.clone(), NOW + 60)
        .await
        .unwrap();
    ledger
        .resolve(uncharged, released.clone(), NOW + 60)
        .await
        .unwrap();
    // The answer was kept for this decision, and now belongs to the payer.
    let answered = PaymentStatus::Answered(stored(1, NOW + 60));
    assert_eq!(find(&ledger, 1, NOW + 60).await, Some(answered));
    assert_eq!(find(&ledger, 2, NOW + 60).await, Some(retired.clone()));
    assert_eq!(credit(&ledger).await, 2_000);
    for resolution in [settled, released] {
        for entry in [charged, uncharged] {
            let again = ledger.resolve(entry, resolution.clone(), NOW + 61).await;
            assert_eq!(again.unwrap_err().code(), "ledger_wrong_state");
        }
    }
    assert_eq!(credit(&ledger).await, 2_000);
    assert_eq!(ledger.undecidable(None, 10).await.unwrap(), []);
    // Its payer signs a new one, so nothing may be charged for this one.
    assert_eq!(refused(&ledger, claim(2)).await, retired);
}

#[tokio::test]
async fn open_entries_are_counted() {
    let mut ledger = Bench::new();
    assert_eq!(ledger.open_counts().await, Ok(OpenCounts::default()));
    for (nonce, state) in (0..).zip(State::ALL) {
        bring(&ledger, nonce, state).await;
    }
    // The oldest entry is the one that has been unknown for the longest time, and not the one with
    // the lowest number.
    let entry = bring(&ledger, 10, State::Settling).await;
    ledger
        .mark_unknown(entry, None, "timeout", NOW + 80)
        .await
        .unwrap();
    let mut expected = OpenCounts {
        in_flight: 3,
        unknown: 2,
        undecidable: 1,
        oldest_unknown: Some(NOW),
    };
    for _ in 0..2 {
        assert_eq!(ledger.open_counts().await, Ok(expected));
        ledger.reopen();
    }
    ledger.recover(NOW + 90).await.unwrap();
    expected.in_flight = 0;
    expected.unknown = 3;
    assert_eq!(ledger.open_counts().await, Ok(expected));
    for undecided in ledger.undecided(None, 10).await.unwrap() {
        let oldest = ledger.open_counts().await.unwrap().oldest_unknown;
        assert!(oldest.is_some_and(|oldest| oldest <= undecided.since));
        ledger
            .settle(undecided.entry, key_of(&undecided), receipt(3), NOW + 91)
            .await
            .unwrap();
    }
    let expected = OpenCounts {
        undecidable: 1,
        ..OpenCounts::default()
    };
    assert_eq!(ledger.open_counts().await, Ok(expected));
}

fn key_of(undecided: &Undecided) -> AuthorizationKey {
    let payload = undecided.payload_json.as_bytes();
    let payment = Payment::restore(payload, undecided.requirements_json.as_bytes());
    payment.unwrap().key()
}
