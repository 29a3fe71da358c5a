//! Recovery, reconciliation's list, abandoned entries, pruning, the probe.

use ledger::{Claim, EntryId, Journal, Pruned, Recovery, SqliteLedger, Standing, State};

use crate::support::{
    Bench, NOW, RETENTION, bring, claim, find, pay, refused, reserved, settlement, stored,
};

#[tokio::test]
async fn a_restart_releases_what_had_not_come_to_settlement() {
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
            State::Settling | State::Unknown => Some(Standing::Unknown {
                entry,
                transaction: None,
            }),
            State::Settled => Some(Standing::Answered(stored(nonce, NOW))),
        };
        assert_eq!(find(&ledger, nonce, NOW + 10).await, expected, "{state}");
    }
    assert_eq!(ledger.recover(NOW + 11).await.unwrap(), Recovery::default());
}

#[tokio::test]
async fn the_undecided_come_with_all_it_takes_to_decide_them() {
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
async fn only_what_has_long_not_moved_is_abandoned() {
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
    // Reserved long ago, but its settlement has just begun.
    let moved = bring(&ledger, 4, State::Reserved).await;
    ledger
        .begin_settlement(moved, settlement(4), NOW + 100)
        .await
        .unwrap();

    let abandoned = ledger.abandon(NOW + 99, NOW + 200).await.unwrap();
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
        Some(Standing::Unknown { .. })
    ));
    assert!(matches!(
        find(&ledger, 3, NOW).await,
        Some(Standing::InFlight { .. })
    ));
    assert!(matches!(
        find(&ledger, 4, NOW).await,
        Some(Standing::InFlight { .. })
    ));

    // Those who were given up too early: before settlement the next move is refused, after it the charge counts.
    assert!(
        ledger
            .begin_settlement(old, settlement(1), NOW + 201)
            .await
            .is_err()
    );
    ledger
        .settle(old_settling, crate::support::receipt(2), NOW + 201)
        .await
        .unwrap();
    ledger.release(young, "refused", NOW + 201).await.unwrap();
}

async fn prune_all(ledger: &SqliteLedger, now: u64) -> Pruned {
    let mut total = Pruned::default();
    loop {
        let pruned = ledger.prune(now).await.unwrap();
        total.entries += pruned.entries;
        total.answers += pruned.answers;
        if !pruned.more {
            return total;
        }
    }
}

#[tokio::test]
async fn pruning_takes_what_is_closed_expired_and_past_its_retention() {
    let ledger = Bench::new();
    for (nonce, state) in (0..).zip(State::ALL) {
        bring(&ledger, nonce, state).await;
    }
    let nothing = Pruned::default();
    assert_eq!(prune_all(&ledger, NOW + RETENTION - 1).await, nothing);
    let pruned = prune_all(&ledger, NOW + RETENTION).await;
    assert_eq!(
        pruned,
        Pruned {
            entries: 2,
            ..nothing
        }
    );
    assert_eq!(find(&ledger, 4, NOW).await, None, "settled");
    for nonce in 0..4 {
        assert!(find(&ledger, nonce, NOW).await.is_some(), "open or unknown");
    }
    // However old they get.
    assert_eq!(prune_all(&ledger, NOW + 1_000_000_000).await, nothing);
}

#[tokio::test]
async fn an_authorization_that_is_still_good_is_remembered_without_its_answer() {
    let ledger = Bench::new();
    let long = || Claim {
        valid_before: NOW + 10 * RETENTION,
        ..claim(1)
    };
    let entry = reserved(&ledger, long()).await;
    ledger
        .begin_settlement(entry, settlement(1), NOW)
        .await
        .unwrap();
    ledger
        .settle(entry, crate::support::receipt(1), NOW)
        .await
        .unwrap();

    let pruned = prune_all(&ledger, NOW + RETENTION).await;
    assert_eq!(
        pruned,
        Pruned {
            answers: 1,
            ..Pruned::default()
        }
    );
    // Even for a clock that was set back: what is gone is gone.
    assert_eq!(refused(&ledger, long()).await, Standing::AnswerExpired);
    assert_eq!(
        prune_all(&ledger, NOW + 10 * RETENTION - 1).await,
        Pruned::default()
    );
    let pruned = prune_all(&ledger, NOW + 10 * RETENTION).await;
    assert_eq!(
        pruned,
        Pruned {
            entries: 1,
            ..Pruned::default()
        }
    );
}

#[tokio::test]
async fn pruning_goes_in_small_batches_past_what_stays() {
    let ledger = Bench::new();
    // More than a batch of entries that stay, in front of those that go.
    for nonce in 0..150 {
        reserved(&ledger, claim(nonce)).await;
    }
    for nonce in 150..450 {
        let entry = reserved(&ledger, claim(nonce)).await;
        ledger.release(entry, "refused", NOW).await.unwrap();
    }
    let later = NOW + RETENTION;
    pay(&ledger, 1_000, later).await.unwrap();
    let mut batches = Vec::new();
    loop {
        let pruned = ledger.prune(later).await.unwrap();
        batches.push(pruned.entries);
        if !pruned.more {
            break;
        }
    }
    assert_eq!(batches.iter().sum::<u64>(), 300);
    assert!(
        batches.len() >= 3 && batches.iter().all(|&n| n <= 128),
        "{batches:?}"
    );
    // The next round begins at the front again.
    let first = refused(&ledger, claim(0)).await;
    let Standing::InFlight { entry, .. } = first else {
        panic!("{first:?}")
    };
    ledger.release(entry, "refused", later).await.unwrap();
    let much_later = later + RETENTION;
    assert_eq!(prune_all(&ledger, much_later).await.entries, 2);
}

#[tokio::test]
async fn a_probe_writes_and_leaves_nothing() {
    let ledger = Bench::new();
    ledger.probe().await.unwrap();
    let commits = ledger.stats().commits;
    ledger.probe().await.unwrap();
    assert_eq!(ledger.stats().commits, commits + 1);
    let size = std::fs::metadata(ledger.path()).unwrap().len();
    for _ in 0..50 {
        ledger.probe().await.unwrap();
    }
    assert_eq!(std::fs::metadata(ledger.path()).unwrap().len(), size);
}
