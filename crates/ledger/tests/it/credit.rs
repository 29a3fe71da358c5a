//! Tests of the credit that payers earn, and of the uncharged work that reduces it.

use alloy_primitives::{Address, U256};
use ledger::{
    AnyLedger, Claim, EntryId, Journal, LedgerError, Options, PaymentStatus, Spent, State,
};

use crate::support::{
    Bench, CREDIT_CAP, ENTRY_RETENTION, NOW, OPTIONS, PRIVATE_RETENTION, bring, claim, credit, key,
    look_up, paid, pay, prune_all, receipt, request, reserved, settlement,
};

async fn settle(ledger: &AnyLedger, claim: Claim) -> EntryId {
    let key = claim.key;
    let entry = reserved(ledger, claim).await;
    ledger
        .begin_settlement(entry, settlement(1), NOW)
        .await
        .unwrap();
    ledger.settle(entry, key, receipt(1), NOW).await.unwrap();
    entry
}

#[tokio::test]
async fn a_settlement_earns_its_amount_up_to_the_cap() {
    let mut ledger = Bench::new();
    assert_eq!(credit(&ledger).await, 0);
    for (nonce, expected) in [(1, 2_000), (2, 4_000), (3, CREDIT_CAP), (4, CREDIT_CAP)] {
        pay(&ledger, nonce, NOW).await.unwrap();
        assert_eq!(credit(&ledger).await, expected);
        ledger.reopen();
        assert_eq!(credit(&ledger).await, expected);
    }
    // Each payer has its own credit.
    let other = Address::repeat_byte(0xcc);
    assert_eq!(ledger.credit(other).await, Ok(0));
    let mut theirs = claim(9);
    theirs.key.payer = other;
    settle(&ledger, theirs).await;
    assert_eq!(ledger.credit(other).await, Ok(2_000));
    assert_eq!(credit(&ledger).await, CREDIT_CAP);
}

#[tokio::test]
async fn only_a_settlement_earns_and_each_entry_once() {
    let mut ledger = Bench::new();
    for (nonce, state) in (0..).zip(State::ALL) {
        if state != State::Settled {
            bring(&ledger, nonce, state).await;
        }
    }
    assert_eq!(credit(&ledger).await, 0);
    // After a restart the reconciler settles. The amount then comes from the entry.
    let entry = bring(&ledger, 10, State::Settling).await;
    ledger.reopen();
    ledger.recover(NOW).await.unwrap();
    ledger
        .settle(entry, key(10), receipt(10), NOW)
        .await
        .unwrap();
    assert_eq!(credit(&ledger).await, 2_000);
    for now in [NOW, NOW + 1] {
        let again = ledger.settle(entry, key(10), receipt(10), now).await;
        assert_eq!(again.unwrap_err().code(), "ledger_wrong_state");
    }
    assert_eq!(credit(&ledger).await, 2_000);
}

#[tokio::test]
async fn a_release_takes_the_cost_up_to_the_credit() {
    let ledger = Bench::new();
    pay(&ledger, 1, NOW).await.unwrap();
    for (nonce, state, spent, left) in [
        (2, State::Reserved, 0, 2_000),
        (3, State::Working, 300, 1_700),
        (4, State::Unknown, 700, 1_000),
        (5, State::Settling, 1_001, 0),
        (6, State::Reserved, u64::MAX, 0),
    ] {
        let entry = bring(&ledger, nonce, state).await;
        ledger
            .release(entry, "refused", Spent::by_payer(spent), NOW)
            .await
            .unwrap();
        assert_eq!(credit(&ledger).await, left, "{spent}");
        // A refused release subtracts nothing.
        let again = ledger
            .release(entry, "refused", Spent::by_payer(100), NOW)
            .await;
        assert_eq!(again.unwrap_err().code(), "ledger_wrong_state");
        assert_eq!(credit(&ledger).await, left, "{spent}");
    }
    pay(&ledger, 7, NOW).await.unwrap();
    assert_eq!(credit(&ledger).await, 2_000);
}

#[tokio::test]
async fn a_cost_is_taken_from_the_payer_of_an_entry_of_an_earlier_run() {
    let mut ledger = Bench::new();
    pay(&ledger, 1, NOW).await.unwrap();
    let entry = bring(&ledger, 2, State::Settling).await;
    ledger.reopen();
    ledger.recover(NOW).await.unwrap();
    ledger
        .release(entry, "refused", Spent::by_payer(500), NOW)
        .await
        .unwrap();
    assert_eq!(credit(&ledger).await, 1_500);
}

#[tokio::test]
async fn a_payer_without_payments_takes_no_room() {
    let mut ledger = Bench::in_file(OPTIONS);
    let rows = |ledger: &mut Bench| {
        let mut rows: i64 = 0;
        ledger.change(|file| {
            let count = file.query_row("SELECT count(*) FROM credit", [], |row| row.get(0));
            rows = count.unwrap();
        });
        rows
    };
    // A payment of zero earns nothing.
    let free = Claim {
        amount: U256::ZERO,
        ..claim(3)
    };
    settle(&ledger, free).await;
    let entry = reserved(&ledger, claim(4)).await;
    ledger
        .release(entry, "refused", Spent::by_payer(2_000), NOW)
        .await
        .unwrap();
    assert_eq!(rows(&mut ledger), 0);
    pay(&ledger, 1, NOW).await.unwrap();
    assert_eq!(rows(&mut ledger), 1);
}

#[tokio::test]
async fn the_sum_of_a_payer_is_never_spent_capped_or_forgotten() {
    let mut ledger = Bench::new();
    assert_eq!(paid(&ledger).await, 0);
    for nonce in 1..=4 {
        pay(&ledger, nonce, NOW).await.unwrap();
        assert_eq!(paid(&ledger).await, 2_000 * nonce);
    }
    assert_eq!(credit(&ledger).await, CREDIT_CAP);
    let entry = reserved(&ledger, claim(5)).await;
    ledger
        .release(entry, "refused", Spent::by_payer(u64::MAX), NOW)
        .await
        .unwrap();
    assert_eq!((credit(&ledger).await, paid(&ledger).await), (0, 8_000));
    // The entries are deleted, but the sum stays, even for payers without credit.
    prune_all(&ledger, NOW + 100 * ENTRY_RETENTION).await;
    assert_eq!(look_up(&ledger, 1).await, None);
    ledger.reopen_with(Options {
        credit_cap_micro_usd: 0,
        ..OPTIONS
    });
    pay(&ledger, 6, NOW).await.unwrap();
    assert_eq!((credit(&ledger).await, paid(&ledger).await), (0, 10_000));
    assert_eq!(ledger.paid(Address::repeat_byte(0xcc)).await, Ok(0));
}

/// A payment is either not settled, or in the sum of its payer.
#[tokio::test]
async fn an_entry_is_unsettled_until_it_is_in_the_sum() {
    let ledger = Bench::new();
    let sums = ledger.paid_sums();
    let unsettled = async |nonce| sums.is_unsettled(key(nonce).digest()).await.unwrap();
    assert!(!unsettled(1).await);
    let entry = reserved(&ledger, claim(1)).await;
    assert!(unsettled(1).await);
    let released = ledger.release(entry, "crashed", Spent::by_payer(0), NOW);
    released.await.unwrap();
    assert!(unsettled(1).await);
    assert_eq!(sums.paid(key(1).payer).await, Ok(0));
    pay(&ledger, 1, NOW).await.unwrap();
    assert!(!unsettled(1).await && !unsettled(2).await);
    assert_eq!(sums.paid(key(1).payer).await, Ok(2_000));
}

#[tokio::test]
async fn sums_of_a_closed_file_are_a_named_error() {
    let ledger = Bench::in_file(OPTIONS);
    let sums = ledger.paid_sums();
    assert_eq!(sums.paid(key(0).payer).await, Ok(0));
    ledger.close();
    assert_eq!(sums.paid(key(0).payer).await, Err(LedgerError::Closed));
}

/// A ledger of version 7 has no sums. Only the payments that the remaining credit shows are known.
#[tokio::test]
async fn a_ledger_without_sums_begins_with_what_is_left_of_credit() {
    let mut ledger = Bench::in_file(OPTIONS);
    for nonce in 1..=4 {
        pay(&ledger, nonce, NOW).await.unwrap();
    }
    ledger.change(|file| {
        file.execute_batch(
            "ALTER TABLE credit DROP COLUMN paid; ALTER TABLE entry DROP COLUMN private;
             ALTER TABLE entry DROP COLUMN network; ALTER TABLE entry DROP COLUMN asset;
             ALTER TABLE entry DROP COLUMN nonce; ALTER TABLE entry DROP COLUMN retired;
             ALTER TABLE answer DROP COLUMN digest_kind; DROP INDEX entry_authorization;
             ALTER TABLE entry DROP COLUMN repeats; ALTER TABLE entry DROP COLUMN repeated;
             DROP TABLE place;
             CREATE TABLE generation (id INTEGER PRIMARY KEY);
             CREATE TABLE bucket (id INTEGER PRIMARY KEY);
             UPDATE entry SET open = 0; PRAGMA user_version = 7;",
        )
        .unwrap();
    });
    assert_eq!(paid(&ledger).await, CREDIT_CAP);
    pay(&ledger, 5, NOW).await.unwrap();
    assert_eq!(paid(&ledger).await, CREDIT_CAP + 2_000);
    // Answers of that time count as public.
    let (key, request) = (key(1), request(0));
    let found = ledger.find(&key, &request, NOW + PRIVATE_RETENTION);
    assert!(matches!(found.await, Ok(Some(PaymentStatus::Answered(_)))));
}

#[tokio::test]
async fn amounts_and_caps_at_the_edge() {
    let payer = key(1).payer;
    for (cap, most) in [(0, 0), (1, 1), (u64::MAX, 1 << 62)] {
        let ledger = Bench::with(Options {
            credit_cap_micro_usd: cap,
            ..OPTIONS
        });
        for nonce in 0..3 {
            let all = Claim {
                amount: U256::MAX,
                ..claim(nonce)
            };
            settle(&ledger, all).await;
            assert_eq!(ledger.credit(payer).await, Ok(most));
        }
        let entry = reserved(&ledger, claim(9)).await;
        ledger
            .release(entry, "refused", Spent::by_payer(u64::MAX), NOW)
            .await
            .unwrap();
        assert_eq!(ledger.credit(payer).await, Ok(0));
    }
}

#[tokio::test]
async fn a_lower_cap_holds_for_earlier_credit() {
    let mut ledger = Bench::new();
    for nonce in 0..3 {
        pay(&ledger, nonce, NOW).await.unwrap();
    }
    ledger.reopen_with(Options {
        credit_cap_micro_usd: 1_000,
        ..OPTIONS
    });
    assert_eq!(credit(&ledger).await, 1_000);
    pay(&ledger, 5, NOW).await.unwrap();
    assert_eq!(credit(&ledger).await, 1_000);
    let entry = reserved(&ledger, claim(6)).await;
    ledger
        .release(entry, "refused", Spent::by_payer(400), NOW)
        .await
        .unwrap();
    assert_eq!(credit(&ledger).await, 600);
}

#[tokio::test]
async fn a_debit_takes_at_most_the_credit_and_is_durable() {
    let mut ledger = Bench::new();
    pay(&ledger, 1, NOW).await.unwrap();
    for (micro_usd, left) in [(300, 1_700), (0, 1_700), (u64::MAX, 0)] {
        let payer = key(1).payer;
        ledger
            .debit(payer, Spent::by_payer(micro_usd), NOW)
            .await
            .unwrap();
        assert_eq!(credit(&ledger).await, left);
        ledger.reopen();
        assert_eq!(credit(&ledger).await, left);
    }
}
