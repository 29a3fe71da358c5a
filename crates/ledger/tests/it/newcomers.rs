//! Tests of the deficits of the pool of newcomers and of the shares of addresses.

use std::net::IpAddr;

use ledger::{Allowance, Journal, Missing, Options, Spent, State};

use crate::support::{Bench, NOW, OPTIONS, bring, claim, credit, key, pay, reserved};

/// The last second that the file can store.
const LATE: u64 = u64::MAX >> 1;

fn address(last: u8) -> IpAddr {
    [192, 0, 2, last].into()
}

fn of_pool(pool: u64) -> Spent {
    Spent {
        pool,
        ..Spent::NOTHING
    }
}

fn of_share(last: u8, micro_usd: u64) -> Spent {
    Spent {
        address: Some((address(last), micro_usd)),
        ..Spent::NOTHING
    }
}

async fn missing(ledger: &Bench, now: u64) -> Missing {
    let mut missing = ledger.missing(now).await.unwrap();
    missing.addresses.sort_unstable();
    missing
}

async fn missing_of_pool(ledger: &Bench, now: u64) -> u64 {
    missing(ledger, now).await.pool
}

#[tokio::test]
async fn a_cost_is_missing_until_it_has_refilled() {
    let mut ledger = Bench::new();
    assert_eq!(missing(&ledger, NOW).await, Missing::default());
    let payer = key(1).payer;
    ledger.debit(payer, of_pool(300), NOW).await.unwrap();
    ledger.debit(payer, of_share(1, 50), NOW).await.unwrap();
    ledger.debit(payer, of_share(2, 7), NOW).await.unwrap();
    for (seconds, pool, shares) in [
        (0, 300, &[(address(1), 50), (address(2), 7)][..]),
        (3, 270, &[(address(1), 44), (address(2), 1)]),
        (4, 260, &[(address(1), 42)]),
        (29, 10, &[]),
        (30, 0, &[]),
        (u64::MAX, 0, &[]),
    ] {
        let expected = Missing {
            pool,
            addresses: shares.to_vec(),
        };
        let now = NOW.saturating_add(seconds);
        assert_eq!(missing(&ledger, now).await, expected, "{seconds}");
        ledger.reopen();
        assert_eq!(missing(&ledger, now).await, expected, "{seconds}");
    }
    // A later cost adds to the deficit that is left.
    ledger.debit(payer, of_pool(100), NOW + 10).await.unwrap();
    assert_eq!(missing_of_pool(&ledger, NOW + 10).await, 300);
    // A late write does not refill for time that was counted already.
    ledger.debit(payer, of_pool(1), NOW).await.unwrap();
    assert_eq!(missing_of_pool(&ledger, NOW).await, 301);
    assert_eq!(missing_of_pool(&ledger, NOW + 10).await, 301);
    assert_eq!(missing_of_pool(&ledger, NOW + 20).await, 201);
    // A clock that was hours ahead does not stop the refill.
    let ahead = NOW + 3700;
    ledger.debit(payer, of_pool(400), ahead).await.unwrap();
    ledger.debit(payer, of_pool(1), NOW + 20).await.unwrap();
    assert_eq!(missing_of_pool(&ledger, NOW + 30).await, 301);
    assert_eq!(credit(&ledger).await, 0);
}

#[tokio::test]
async fn no_more_is_missing_than_there_can_be() {
    let mut ledger = Bench::new();
    let payer = key(1).payer;
    for _ in 0..3 {
        ledger.debit(payer, of_pool(900), NOW).await.unwrap();
        ledger.debit(payer, of_pool(u64::MAX), NOW).await.unwrap();
        ledger
            .debit(payer, of_share(1, u64::MAX), NOW)
            .await
            .unwrap();
        let now = missing(&ledger, NOW).await;
        assert_eq!(
            (now.pool, &now.addresses[..]),
            (1_000, &[(address(1), 200)][..])
        );
    }
    // The pool is now smaller than before.
    let small = Allowance {
        capacity: 10,
        per_second: u64::MAX,
    };
    ledger.reopen_with(Options {
        pool: small,
        ..OPTIONS
    });
    assert_eq!(missing_of_pool(&ledger, NOW).await, 10);
    assert_eq!(missing_of_pool(&ledger, NOW + 1).await, 0);
    ledger.debit(payer, of_pool(4), LATE).await.unwrap();
    assert_eq!(missing_of_pool(&ledger, LATE).await, 4);
    // The pool is as large as it can be.
    ledger.reopen_with(Options {
        pool: Allowance {
            capacity: u64::MAX,
            per_second: 0,
        },
        ..OPTIONS
    });
    for _ in 0..3 {
        ledger.debit(payer, of_pool(u64::MAX), LATE).await.unwrap();
    }
    assert_eq!(missing_of_pool(&ledger, LATE).await, 1 << 61);
}

/// The deficit changes together with the move of the entry, or not at all.
#[tokio::test]
async fn a_release_adds_to_the_deficit_with_the_move_of_the_entry() {
    let ledger = Bench::new();
    pay(&ledger, 1, NOW).await.unwrap();
    let entry = reserved(&ledger, claim(2)).await;
    let spent = Spent {
        payer: 1,
        pool: 20,
        address: Some((address(1), 3)),
    };
    ledger.release(entry, "refused", spent, NOW).await.unwrap();
    let expected = Missing {
        pool: 20,
        addresses: vec![(address(1), 3)],
    };
    assert_eq!(missing(&ledger, NOW).await, expected);
    assert_eq!(credit(&ledger).await, 1_999);
    for (nonce, state) in [(3, State::Released), (4, State::Settled)] {
        let entry = bring(&ledger, nonce, state).await;
        let before = credit(&ledger).await;
        let again = ledger.release(entry, "refused", spent, NOW).await;
        assert_eq!(again.unwrap_err().code(), "ledger_wrong_state");
        assert_eq!(missing(&ledger, NOW).await, expected);
        assert_eq!(credit(&ledger).await, before);
    }
}

/// A caller with many addresses cannot fill the file, because a full share has no row and the
/// number of rows is limited.
#[tokio::test]
async fn rows_are_bounded() {
    let mut ledger = Bench::in_file(OPTIONS);
    let payer = key(1).payer;
    let rows = |ledger: &mut Bench| {
        let mut rows: i64 = 0;
        ledger.change(|file| {
            let count = file.query_row("SELECT count(*) FROM newcomer", [], |row| row.get(0));
            rows = count.unwrap();
        });
        rows
    };
    ledger.debit(payer, of_pool(600), NOW).await.unwrap();
    // The first 40 are the oldest ones. All are queued at once, so that they share commits.
    let many = (0..8_192 + 40).map(|number: u32| {
        let spent = Spent {
            address: Some((IpAddr::from(number.to_be_bytes()), 100)),
            ..Spent::NOTHING
        };
        ledger.debit(payer, spent, NOW + u64::from(number >= 40))
    });
    for written in Vec::from_iter(many) {
        written.await.unwrap();
    }
    ledger.prune(NOW + 1).await.unwrap();
    let kept = missing(&ledger, NOW + 1).await;
    assert_eq!((kept.pool, kept.addresses.len()), (590, 8_192));
    assert_eq!(kept.addresses[0].0, IpAddr::from([0, 0, 0, 40]));
    assert_eq!(rows(&mut ledger), 8_193);
    ledger.prune(NOW + 51).await.unwrap();
    assert_eq!(rows(&mut ledger), 1, "only the pool is not full");
    ledger.prune(NOW + 51).await.unwrap();
    assert_eq!(missing(&ledger, NOW + 49).await.pool, 110);
    ledger.prune(NOW + 60).await.unwrap();
    assert_eq!(rows(&mut ledger), 0);
}
