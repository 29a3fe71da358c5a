//! Tests of entries in the form in which the operator reads them.

use alloy_primitives::Address;
use ledger::{AnyLedger, Claim, EntryId, EntryRecord, Filter, Journal, Spent, State};

use crate::support::{Bench, NOW, bring, claim, key, receipt, reserved};

async fn all(ledger: &AnyLedger, filter: &Filter) -> Vec<EntryRecord> {
    ledger.entries(filter, None, 1_000).await.unwrap()
}

async fn numbers(ledger: &AnyLedger, filter: &Filter) -> Vec<EntryId> {
    let all = all(ledger, filter).await;
    all.into_iter().map(|record| record.entry).collect()
}

#[tokio::test]
async fn a_record_has_the_claim_and_its_outcome() {
    let mut ledger = Bench::new();
    let paid = reserved(
        &ledger,
        Claim {
            payment_id: Some("order-17".to_owned()),
            ..claim(7)
        },
    )
    .await;
    let settlement = crate::support::settlement(7);
    ledger
        .begin_settlement(paid, settlement, NOW + 1)
        .await
        .unwrap();
    ledger
        .mark_unknown(paid, Some("0xb2".to_owned()), "timeout", NOW + 2)
        .await
        .unwrap();
    let mut expected = EntryRecord {
        entry: paid,
        state: State::Unknown,
        network: Some("eip155:196".to_owned()),
        asset: Some(key(7).asset),
        payer: key(7).payer,
        nonce: Some(key(7).nonce),
        amount: claim(7).amount,
        method: "GET".to_owned(),
        path: "/price".to_owned(),
        payment_id: Some("order-17".to_owned()),
        transaction: Some("0xb2".to_owned()),
        valid_before: NOW + 300,
        reserved_at: NOW,
        changed_at: NOW + 2,
        cause: Some("timeout".to_owned()),
        retired: false,
    };
    assert_eq!(all(&ledger, &Filter::default()).await, [expected.clone()]);
    ledger
        .settle(paid, key(7), receipt(7), NOW + 3)
        .await
        .unwrap();
    expected.state = State::Settled;
    expected.transaction = Some(receipt(7).transaction);
    expected.changed_at = NOW + 3;
    for _ in 0..2 {
        assert_eq!(all(&ledger, &Filter::default()).await, [expected.clone()]);
        ledger.reopen();
    }
    // When its answer and its receipt are deleted, the record is the same.
    let retention = NOW + 3 + crate::support::RETENTION;
    assert_eq!(
        crate::support::prune_all(&ledger, retention).await.answers,
        1
    );
    assert_eq!(all(&ledger, &Filter::default()).await, [expected]);
}

#[tokio::test]
async fn every_state_is_selected_by_itself() {
    let ledger = Bench::new();
    let mut entries = Vec::new();
    for (nonce, state) in (0..).zip(State::ALL) {
        entries.push((bring(&ledger, nonce, state).await, ledger.reopened(state)));
    }
    // The next batch writes the mark that the work has begun.
    ledger.probe().await.unwrap();
    for state in State::ALL {
        let expected: Vec<EntryId> = entries
            .iter()
            .filter(|(_, stored)| *stored == state)
            .map(|(entry, _)| *entry)
            .collect();
        let filter = Filter {
            states: vec![state],
            ..Filter::default()
        };
        assert_eq!(numbers(&ledger, &filter).await, expected, "{state}");
    }
    let filter = Filter {
        states: vec![State::Settled, State::Released],
        ..Filter::default()
    };
    assert_eq!(
        numbers(&ledger, &filter).await,
        [entries[4].0, entries[5].0]
    );
    let everything: Vec<EntryId> = entries.iter().map(|(entry, _)| *entry).collect();
    assert_eq!(numbers(&ledger, &Filter::default()).await, everything);
}

#[tokio::test]
async fn times_payers_numbers_and_identifiers_narrow_the_selection() {
    let ledger = Bench::new();
    let other = Address::repeat_byte(0xcd);
    let mut entries = Vec::new();
    for nonce in 0..4_u64 {
        let mut claim = claim(nonce);
        claim.now = NOW + 10 * nonce;
        claim.payment_id = Some(format!("order-{}", nonce % 2));
        claim.key.payer = match nonce {
            0 | 1 => other,
            _ => claim.key.payer,
        };
        entries.push(reserved(&ledger, claim).await);
    }
    let filter = Filter {
        since: Some(NOW + 10),
        until: Some(NOW + 30),
        ..Filter::default()
    };
    assert_eq!(numbers(&ledger, &filter).await, entries[1..3]);
    let filter = Filter {
        payer: Some(other),
        ..Filter::default()
    };
    assert_eq!(numbers(&ledger, &filter).await, entries[..2]);
    let filter = Filter {
        entry: Some(entries[2]),
        ..Filter::default()
    };
    assert_eq!(numbers(&ledger, &filter).await, entries[2..3]);
    let filter = Filter {
        payment_id: Some("order-1".to_owned()),
        ..Filter::default()
    };
    assert_eq!(numbers(&ledger, &filter).await, [entries[1], entries[3]]);
    let filter = Filter {
        since: Some(u64::MAX),
        ..Filter::default()
    };
    assert_eq!(numbers(&ledger, &filter).await, []);
}

#[tokio::test]
async fn entries_come_in_pages() {
    let ledger = Bench::new();
    let mut entries = Vec::new();
    for nonce in 0..7 {
        let entry = bring(&ledger, nonce, State::Reserved).await;
        match nonce % 2 {
            0 => ledger
                .release(entry, "refused", Spent::NOTHING, NOW)
                .await
                .unwrap(),
            _ => entries.push(entry),
        }
    }
    let filter = Filter {
        states: vec![State::Reserved],
        ..Filter::default()
    };
    let mut seen: Vec<EntryId> = Vec::new();
    loop {
        let page = ledger.entries(&filter, seen.last().copied(), 2);
        let page = page.await.unwrap();
        assert!(page.len() <= 2);
        if page.is_empty() {
            break;
        }
        seen.extend(page.iter().map(|record| record.entry));
    }
    assert_eq!(seen, entries);
}

/// A file of version 9 has no columns for the authorization.
#[tokio::test]
async fn an_entry_of_an_earlier_version_shows_what_is_known_of_it() {
    let mut ledger = Bench::in_file(crate::support::OPTIONS);
    let old = bring(&ledger, 1, State::Settled).await;
    ledger.change(|file| {
        file.execute_batch(
            "ALTER TABLE entry DROP COLUMN network; ALTER TABLE entry DROP COLUMN asset;
             ALTER TABLE entry DROP COLUMN nonce; ALTER TABLE entry DROP COLUMN retired;
             ALTER TABLE entry DROP COLUMN repeats; ALTER TABLE entry DROP COLUMN repeated;
             DROP TABLE place; PRAGMA user_version = 9;",
        )
        .unwrap();
    });
    let new = bring(&ledger, 2, State::Settled).await;
    let records = all(&ledger, &Filter::default()).await;
    let known: Vec<_> = records
        .iter()
        .map(|record| (record.entry, record.asset, record.nonce))
        .collect();
    assert_eq!(
        known,
        [
            (old, None, None),
            (new, Some(key(2).asset), Some(key(2).nonce))
        ]
    );
    assert_eq!(
        (&*records[0].path, records[0].network.as_deref()),
        ("/price", None)
    );
    assert_eq!(records[0].transaction, Some(receipt(1).transaction));
}
