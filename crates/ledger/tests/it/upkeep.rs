//! Tests of recovery, of the list for reconciliation, of abandoned entries, of the probe and of the
//! size.

use ledger::{Claim, EntryId, Journal, PaymentStatus, Recovery, Spent, State};

use crate::support::{Bench, NOW, OPTIONS, bring, claim, find, reserved, settlement, stored};

#[tokio::test]
async fn a_restart_releases_entries_before_settlement() {
    let mut ledger = Bench::new();
    let mut entries = Vec::new();
    for (nonce, state) in (0..).zip(State::ALL) {
        entries.push(bring(&ledger, nonce, state).await);
    }
    ledger.reopen();
    let recovery = ledger.recover(NOW + 10).await.unwrap();
    assert_eq!(
        recovery,
        Recovery {
            released: 2,
            unknown: 1
        }
    );
    for (nonce, state) in (0..).zip(State::ALL) {
        let entry = entries[usize::try_from(nonce).unwrap()];
        let expected = match state {
            State::Reserved | State::Working | State::Released => None,
            State::Settling | State::Unknown => Some(PaymentStatus::Unknown {
                entry,
                transaction: None,
            }),
            State::Undecidable => Some(PaymentStatus::Undecidable {
                entry,
                transaction: None,
            }),
            State::Settled => Some(PaymentStatus::Answered(stored(nonce, NOW))),
        };
        assert_eq!(find(&ledger, nonce, NOW + 10).await, expected, "{state}");
    }
    assert_eq!(ledger.recover(NOW + 11).await.unwrap(), Recovery::default());
}

#[tokio::test]
async fn undecided_entries_come_with_all_data_for_a_decision() {
    let mut ledger = Bench::new();
    let settling = bring(&ledger, 7, State::Settling).await;
    bring(&ledger, 8, State::Settled).await;
    ledger.reopen();
    assert_eq!(
        ledger.undecided(None, 10).await.unwrap(),
        [],
        "not before it is decided"
    );
    ledger.recover(NOW + 10).await.unwrap();
    let undecided = ledger.undecided(None, 10).await.unwrap();
    assert_eq!(undecided.len(), 1);
    assert_eq!(undecided[0].entry, settling);
    assert_eq!(
        undecided[0].payload_json,
        settlement(7).payment.payload().raw()
    );
    assert_eq!(
        undecided[0].requirements_json,
        settlement(7).payment.requirements_json()
    );
    assert_eq!(undecided[0].since, NOW + 10);
}

#[tokio::test]
async fn the_undecided_come_in_pages() {
    let ledger = Bench::new();
    let mut entries = Vec::new();
    for nonce in 0..7 {
        entries.push(bring(&ledger, nonce, State::Unknown).await);
    }
    let mut seen: Vec<EntryId> = Vec::new();
    loop {
        let page = ledger.undecided(seen.last().copied(), 3).await.unwrap();
        assert!(page.len() <= 3);
        if page.is_empty() {
            break;
        }
        seen.extend(page.iter().map(|undecided| undecided.entry));
    }
    assert_eq!(seen, entries);
}

#[tokio::test]
async fn only_entries_without_a_recent_move_are_abandoned() {
    let ledger = Bench::new();
    let old = bring(&ledger, 1, State::Reserved).await;
    let old_settling = bring(&ledger, 2, State::Settling).await;
    let young = reserved(
        &ledger,
        Claim {
            now: NOW + 100,
            ..claim(3)
        },
    )
    .await;
    // The entry was reserved long ago, but its settlement has just begun.
    let moved = bring(&ledger, 4, State::Reserved).await;
    ledger
        .begin_settlement(moved, settlement(4), NOW + 100)
        .await
        .unwrap();

    let abandoned = ledger
        .abandon(Vec::new(), NOW + 99, NOW + 200)
        .await
        .unwrap();
    assert_eq!(
        abandoned,
        Recovery {
            released: 1,
            unknown: 1
        }
    );
    assert_eq!(find(&ledger, 1, NOW).await, None);
    assert!(matches!(
        find(&ledger, 2, NOW).await,
        Some(PaymentStatus::Unknown { .. })
    ));
    assert!(matches!(
        find(&ledger, 3, NOW).await,
        Some(PaymentStatus::InFlight { .. })
    ));
    assert!(matches!(
        find(&ledger, 4, NOW).await,
        Some(PaymentStatus::InFlight { .. })
    ));

    // These entries were closed too early. Before settlement, the next move is refused; after it,
    // the charge counts.
    assert!(
        ledger
            .begin_settlement(old, settlement(1), NOW + 201)
            .await
            .is_err()
    );
    ledger
        .settle(
            old_settling,
            crate::support::key(2),
            crate::support::receipt(2),
            NOW + 201,
        )
        .await
        .unwrap();
    ledger
        .release(young, "refused", Spent::NOTHING, NOW + 201)
        .await
        .unwrap();
}

#[tokio::test]
async fn a_probe_writes_and_leaves_nothing() {
    let ledger = Bench::in_file(OPTIONS);
    ledger.probe().await.unwrap();
    let commits = ledger.sqlite().stats().commits;
    ledger.probe().await.unwrap();
    assert_eq!(ledger.sqlite().stats().commits, commits + 1);
    let size = std::fs::metadata(ledger.path()).unwrap().len();
    for _ in 0..50 {
        ledger.probe().await.unwrap();
    }
    assert_eq!(std::fs::metadata(ledger.path()).unwrap().len(), size);
}

#[tokio::test]
async fn its_size_is_that_of_the_file_and_the_log() {
    let ledger = Bench::in_file(OPTIONS);
    let length = |path: &std::path::Path| std::fs::metadata(path).unwrap().len();
    bring(&ledger, 1, State::Settled).await;
    let log = ledger.path().with_extension("db-wal");
    assert!(length(&log) > 0);
    assert_eq!(
        ledger.size_bytes(),
        Ok(length(&ledger.path()) + length(&log))
    );
    let before = ledger.size_bytes().unwrap();
    bring(&ledger, 2, State::Settled).await;
    assert!(ledger.size_bytes().unwrap() > before);
}

#[cfg(unix)]
#[tokio::test]
async fn a_size_that_cannot_be_read_is_named() {
    let ledger = Bench::in_file(OPTIONS);
    // The ledger's folder is replaced by a file.
    let folder = ledger.folder.path();
    let aside = folder.with_extension("aside");
    std::fs::rename(folder, &aside).unwrap();
    std::fs::write(folder, b"").unwrap();
    let observed = ledger.size_bytes().unwrap_err().code();
    std::fs::remove_file(folder).unwrap();
    std::fs::rename(&aside, folder).unwrap();
    assert_eq!(observed, "ledger_cannot_open");
}
