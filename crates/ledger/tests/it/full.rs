//! Tests of a full disk, as SQLite sees it: the size limit gives the same error.

use ledger::{Journal, LedgerError, Options, PaymentStatus, State};

use crate::support::{
    Bench, NOW, OPTIONS, RETENTION, bring, claim, find, key, pay, payment, receipt, reserved,
    settlement, stored,
};

const SMALL: Options = Options {
    max_bytes: Some(132 * 1024),
    ..OPTIONS
};

/// Pays until the ledger is full. Returns the number of successful payments.
async fn fill(ledger: &Bench) -> u64 {
    for nonce in 0..10_000 {
        match pay(ledger, nonce, NOW).await {
            Ok(_) => {}
            Err(error) => {
                assert_eq!(error, LedgerError::Full);
                return nonce;
            }
        }
    }
    panic!("the limit does not hold")
}

async fn assert_kept(ledger: &Bench, payments: u64) {
    assert!(payments > 20, "{payments}");
    for nonce in 0..payments {
        let expected = Some(PaymentStatus::Answered(stored(nonce, NOW)));
        assert_eq!(find(ledger, nonce, NOW).await, expected);
    }
}

#[tokio::test]
async fn full_loses_nothing_and_ends_with_the_first_room() {
    let ledger = Bench::in_file(SMALL);
    let payments = fill(&ledger).await;
    assert_kept(&ledger, payments).await;
    let size = std::fs::metadata(ledger.path()).unwrap().len();
    assert!(size <= 132 * 1024, "{size}");

    let later = NOW + RETENTION;
    while ledger.prune(later).await.unwrap().more {}
    ledger.probe().await.unwrap();
    // One payment fewer fits than before, because the payment that found no room is still open.
    for nonce in 20_000..20_000 + payments / 2 {
        pay(&ledger, nonce, later).await.unwrap();
    }
}

#[tokio::test]
async fn full_ends_with_a_higher_limit() {
    let mut ledger = Bench::in_file(SMALL);
    let payments = fill(&ledger).await;
    assert_eq!(ledger.probe().await, Err(LedgerError::Full));
    ledger.reopen();
    ledger.recover(NOW).await.unwrap();
    assert_kept(&ledger, payments).await;
    for nonce in 20_000..20_100 {
        pay(&ledger, nonce, NOW).await.unwrap();
    }
}

#[tokio::test]
async fn a_charge_without_room_is_recorded_later() {
    let ledger = Bench::in_file(SMALL);
    let entry = bring(&ledger, 50_000, State::Settling).await;
    fill(&ledger).await;
    // Ever smaller receipts fill the last free bytes of half-filled pages.
    let mut receipt = receipt(50_000);
    receipt.header = "x".repeat(8_000);
    assert_eq!(
        ledger
            .settle(entry, key(50_000), receipt.clone(), NOW)
            .await,
        Err(LedgerError::Full)
    );
    let in_flight = PaymentStatus::InFlight {
        entry,
        state: State::Settling,
    };
    assert_eq!(find(&ledger, 50_000, NOW).await, Some(in_flight));

    let later = NOW + RETENTION;
    while ledger.prune(later).await.unwrap().more {}
    ledger
        .settle(entry, key(50_000), receipt.clone(), later)
        .await
        .unwrap();
    let Some(PaymentStatus::Answered(answered)) = find(&ledger, 50_000, later).await else {
        panic!("not answered")
    };
    assert_eq!(answered.receipt, receipt);
}

#[tokio::test]
async fn a_small_request_succeeds_beside_one_that_does_not_fit() {
    let ledger = Bench::in_file(SMALL);
    let small = reserved(&ledger, claim(1)).await;
    let large = reserved(&ledger, claim(2)).await;
    let mut too_large = settlement(2);
    too_large.payment = payment(2, &"x".repeat(1 << 20));
    // The claims are polled together, so they are queued together. It must not matter whether they
    // share a batch.
    let (first, second, third) = tokio::join!(
        ledger.begin_settlement(small, settlement(1), NOW),
        ledger.begin_settlement(large, too_large, NOW),
        ledger.reserve(claim(3)),
    );
    assert_eq!((first, second), (Ok(()), Err(LedgerError::Full)));
    assert!(third.is_ok());
    // The failed move left nothing, so a smaller one succeeds.
    ledger
        .begin_settlement(large, settlement(2), NOW)
        .await
        .unwrap();
}

#[tokio::test]
async fn a_limit_too_small_for_an_empty_ledger_is_full_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("service.db");
    let options = Options {
        max_bytes: Some(8192),
        ..OPTIONS
    };
    let error = ledger::SqliteLedger::open(path.to_str().unwrap(), options).unwrap_err();
    assert_eq!(error, LedgerError::Full);
}
