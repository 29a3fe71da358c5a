//! Tests of pruning. Answers are deleted after their retention, and entries when no look-up needs
//! them any more.

use ledger::{Claim, Journal, Options, PaymentStatus, PendingSettlement, Pruned, Spent, State};

use crate::support::{
    Bench, ENTRY_RETENTION, NOW, OPTIONS, PRIVATE_RETENTION, RETENTION, bring, claim, find, key,
    look_up, pay, prune_all, receipt, refused, reserved, settlement, stored,
};

const NOTHING: Pruned = Pruned {
    entries: 0,
    answers: 0,
    endless: None,
    more: false,
};

fn pruned(entries: u64, answers: u64) -> Pruned {
    Pruned {
        entries,
        answers,
        ..NOTHING
    }
}

#[tokio::test]
async fn closed_entries_are_deleted_after_their_retention() {
    let ledger = Bench::new();
    for (nonce, state) in (0..).zip(State::ALL) {
        bring(&ledger, nonce, state).await;
    }
    assert_eq!(prune_all(&ledger, NOW + RETENTION - 1).await, NOTHING);
    // These are the released entry and the answer of the settled one.
    assert_eq!(prune_all(&ledger, NOW + RETENTION).await, pruned(1, 1));
    assert_eq!(look_up(&ledger, 5).await, None, "released");
    let settled = || async { find(&ledger, 4, NOW).await };
    let expired = PaymentStatus::AnswerExpired {
        transaction: receipt(4).transaction,
    };
    assert_eq!(settled().await, Some(expired.clone()));
    let last = NOW + ENTRY_RETENTION - 1;
    assert_eq!(prune_all(&ledger, last).await, NOTHING);
    assert_eq!(settled().await, Some(expired));
    assert_eq!(prune_all(&ledger, last + 1).await, pruned(1, 0));
    assert_eq!(settled().await, None);
    // These entries stay at any age.
    assert_eq!(prune_all(&ledger, NOW + 1_000_000_000).await, NOTHING);
    for nonce in [0, 1, 2, 3, 6] {
        let found = find(&ledger, nonce, NOW).await;
        assert!(found.is_some(), "in flight, unknown or undecidable");
    }
}

/// Others have seen the authorization and may have executed it. The entry stays, because its payer
/// must not be asked to sign anew on a guess.
#[tokio::test]
async fn a_released_payment_that_came_to_a_settlement_stays_as_long_as_a_settled_one() {
    let ledger = Bench::new();
    let entry = reserved(&ledger, claim(1)).await;
    ledger
        .begin_settlement(entry, settlement(1), NOW)
        .await
        .unwrap();
    ledger
        .release(entry, "insufficient_funds", Spent::NOTHING, NOW)
        .await
        .unwrap();
    prune_all(&ledger, NOW + ENTRY_RETENTION - 1).await;
    let record = look_up(&ledger, 1).await.unwrap();
    assert!(record.attempted, "{record:?}");
    assert_eq!(
        prune_all(&ledger, NOW + ENTRY_RETENTION).await,
        pruned(1, 0)
    );
    assert_eq!(look_up(&ledger, 1).await, None);
}

#[tokio::test]
async fn an_entry_stays_as_long_as_its_answer_and_its_authorization() {
    // Entries are kept for less time than answers, and the authorization outlives both.
    let ledger = Bench::with(Options {
        entry_retention_seconds: 0,
        ..OPTIONS
    });
    let long = || Claim {
        valid_before: NOW + 10 * RETENTION,
        ..claim(1)
    };
    pay(&ledger, 2, NOW).await.unwrap();
    let entry = reserved(&ledger, long()).await;
    ledger
        .begin_settlement(entry, settlement(1), NOW)
        .await
        .unwrap();
    ledger.settle(entry, key(1), receipt(1), NOW).await.unwrap();
    let released = Claim {
        valid_before: NOW + 10 * RETENTION,
        ..claim(3)
    };
    let released = reserved(&ledger, released).await;
    ledger
        .release(released, "refused", Spent::NOTHING, NOW)
        .await
        .unwrap();

    assert_eq!(prune_all(&ledger, NOW + RETENTION - 1).await, NOTHING);
    assert_eq!(prune_all(&ledger, NOW + RETENTION).await, pruned(1, 1));
    // Deleted answers stay deleted, even when the clock is set back.
    let expired = PaymentStatus::AnswerExpired {
        transaction: receipt(1).transaction,
    };
    assert_eq!(refused(&ledger, long()).await, expired);
    let last = NOW + 10 * RETENTION - 1;
    assert_eq!(prune_all(&ledger, last).await, NOTHING);
    assert_eq!(prune_all(&ledger, last + 1).await, pruned(2, 0));
}

/// The wallets of `aggr_deferred` sign no end. Only an authorization that must not pay again is
/// kept for it.
#[tokio::test]
async fn endless_authorizations_are_kept_and_counted_unless_they_are_unused() {
    let ledger = Bench::new();
    let endless = |nonce| Claim {
        valid_before: u64::MAX,
        ..claim(nonce)
    };
    let (settled, attempted) = (
        reserved(&ledger, endless(1)).await,
        reserved(&ledger, endless(2)).await,
    );
    for (nonce, entry) in [(1, settled), (2, attempted)] {
        let begun = ledger.begin_settlement(entry, settlement(nonce), NOW);
        begun.await.unwrap();
    }
    let paid = ledger.settle(settled, key(1), receipt(1), NOW);
    paid.await.unwrap();
    let (retired, unused) = (
        reserved(&ledger, endless(3)).await,
        reserved(&ledger, endless(4)).await,
    );
    for entry in [attempted, retired, unused] {
        let released = ledger.release(entry, "refused", Spent::NOTHING, NOW);
        released.await.unwrap();
    }
    assert!(ledger.retire(retired, false).await.unwrap());

    let late = NOW + 1_000_000_000;
    let expected = Pruned {
        endless: Some(3),
        ..pruned(1, 1)
    };
    assert_eq!(ledger.prune(late).await.unwrap(), expected);
    assert_eq!(look_up(&ledger, 4).await, None, "unused");
    let kept = PaymentStatus::AnswerExpired {
        transaction: receipt(1).transaction,
    };
    assert_eq!(refused(&ledger, endless(1)).await, kept);
    assert!(look_up(&ledger, 2).await.unwrap().attempted);
    let status = refused(&ledger, endless(3)).await;
    assert!(
        matches!(status, PaymentStatus::Retired { .. }),
        "{status:?}"
    );
}

#[tokio::test]
async fn a_private_answer_goes_sooner_and_its_record_stays_as_long() {
    let ledger = Bench::new();
    for nonce in [1, 2] {
        let entry = reserved(&ledger, claim(nonce)).await;
        let private = PendingSettlement {
            private: nonce == 1,
            ..settlement(nonce)
        };
        ledger.begin_settlement(entry, private, NOW).await.unwrap();
        ledger
            .settle(entry, key(nonce), receipt(nonce), NOW)
            .await
            .unwrap();
    }
    let last = NOW + PRIVATE_RETENTION - 1;
    assert_eq!(prune_all(&ledger, last).await, NOTHING);
    let answered = PaymentStatus::Answered(stored(1, NOW));
    assert_eq!(find(&ledger, 1, last).await, Some(answered));
    // The answer is not returned any longer, whether it is already deleted or not.
    let expired = PaymentStatus::AnswerExpired {
        transaction: receipt(1).transaction,
    };
    assert_eq!(find(&ledger, 1, last + 1).await, Some(expired.clone()));
    assert_eq!(prune_all(&ledger, last + 1).await, pruned(0, 1));
    assert_eq!(find(&ledger, 1, NOW).await, Some(expired));
    let answered = PaymentStatus::Answered(stored(2, NOW));
    assert_eq!(find(&ledger, 2, last + 1).await, Some(answered));
    let record = look_up(&ledger, 1).await.unwrap();
    assert_eq!(record.transaction, Some(receipt(1).transaction));
}

/// The first entries were written while the clock was wrong.
#[tokio::test]
async fn a_clock_reading_in_the_future_stops_nothing() {
    let ledger = Bench::new();
    let wrong = NOW + 1_000_000_000;
    pay(&ledger, 1, wrong).await.unwrap();
    let unused = Claim {
        now: wrong,
        ..claim(2)
    };
    let unused = reserved(&ledger, unused).await;
    ledger
        .release(unused, "refused", Spent::NOTHING, wrong)
        .await
        .unwrap();
    for nonce in 10..20 {
        pay(&ledger, nonce, NOW).await.unwrap();
    }
    assert_eq!(prune_all(&ledger, NOW + RETENTION).await, pruned(0, 10));
    assert_eq!(
        prune_all(&ledger, NOW + ENTRY_RETENTION).await,
        pruned(10, 0)
    );
    // The entries with the wrong time stay until that time has passed.
    let answered = Some(PaymentStatus::Answered(stored(1, wrong)));
    assert_eq!(find(&ledger, 1, NOW).await, answered);
    assert_eq!(
        prune_all(&ledger, wrong + ENTRY_RETENTION).await,
        pruned(2, 0)
    );
}

#[tokio::test]
async fn a_clock_that_runs_backwards_deletes_nothing_early() {
    let ledger = Bench::new();
    let entry = reserved(&ledger, claim(1)).await;
    ledger
        .begin_settlement(entry, settlement(1), NOW)
        .await
        .unwrap();
    // The settlement is recorded when the clock has just been set back.
    ledger
        .settle(entry, key(1), receipt(1), NOW - 600)
        .await
        .unwrap();
    for now in [
        0,
        NOW - 600,
        NOW,
        NOW + RETENTION - 600,
        NOW + RETENTION - 1,
    ] {
        assert_eq!(prune_all(&ledger, now).await, NOTHING);
        let answered = Some(PaymentStatus::Answered(stored(1, NOW)));
        assert_eq!(find(&ledger, 1, now).await, answered);
    }
    assert_eq!(prune_all(&ledger, NOW + RETENTION).await, pruned(0, 1));
    assert_eq!(prune_all(&ledger, 0).await, NOTHING);
}

#[tokio::test]
async fn pruning_goes_in_small_batches_past_entries_that_stay() {
    let ledger = Bench::new();
    // More entries than one batch stay, and come before those that are due.
    for nonce in 0..150 {
        reserved(&ledger, claim(nonce)).await;
    }
    for nonce in 150..450 {
        let entry = reserved(&ledger, claim(nonce)).await;
        ledger
            .release(entry, "refused", Spent::NOTHING, NOW)
            .await
            .unwrap();
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
    let PaymentStatus::InFlight { entry, .. } = first else {
        panic!("{first:?}")
    };
    ledger
        .release(entry, "refused", Spent::NOTHING, later)
        .await
        .unwrap();
    let much_later = later + ENTRY_RETENTION;
    assert_eq!(prune_all(&ledger, much_later).await.entries, 2);
}

/// How many entries one run examines in a ledger of this size.
const RUN: u64 = 8_192;

#[tokio::test]
async fn one_run_looks_at_a_part_of_a_large_ledger_and_the_next_goes_on() {
    let mut ledger = Bench::in_file(OPTIONS);
    ledger.change(|file| {
        let sql = "WITH RECURSIVE number (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM number WHERE n < 20000)
             INSERT INTO entry (id, state, authorization, request, payer, valid_before, reserved_at,
                                changed_at, amount, method, path)
             SELECT n, iif(n % 4 = 0, 7, 6), randomblob(16), zeroblob(32), zeroblob(20), ?1, ?1, ?1,
                    '2000', 'GET', '/price'
             FROM number";
        let now = i64::try_from(NOW).unwrap();
        file.execute(sql, [now]).unwrap();
    });
    let mut deleted = Vec::new();
    for _ in 0..4 {
        let commits = ledger.sqlite().stats().commits;
        deleted.push(prune_all(&ledger, NOW + RETENTION).await.entries);
        assert!(ledger.sqlite().stats().commits - commits <= RUN / 128);
    }
    // One of four entries is released. The others can still be looked up.
    let run = RUN / 4;
    assert_eq!(deleted, [run, run, 5_000 - 2 * run, 0]);
}
