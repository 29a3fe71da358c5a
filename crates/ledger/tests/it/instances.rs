//! Tests of several servers on one ledger in a PostgreSQL database. Without a database the tests
//! pass without effect.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use ledger::{
    AnyLedger, Journal, LedgerError, PaymentStatus, PostgresLedger, Purchase, Recovery,
    Reservation, Spent, State,
};
use storage::postgres::{Postgres, PostgresOptions};

use test_support::postgres::Schema;

use crate::support::{
    NOW, OPTIONS, bring, claim, credit, find, key, look_up, receipt, refused, reserved, settlement,
    stored,
};

/// The lease is longer than a test, so it ends only where a test ends it.
pub(crate) const LEASE: Duration = Duration::from_secs(600);

pub(crate) fn postgres(url: &str, connections: usize) -> Postgres {
    let options = PostgresOptions {
        connections,
        ..PostgresOptions::default()
    };
    Postgres::new(url.parse().unwrap(), options).unwrap()
}

pub(crate) async fn server(url: &str) -> AnyLedger {
    let ledger = PostgresLedger::open(postgres(url, 8), OPTIONS, LEASE).await;
    AnyLedger::Postgres(ledger.unwrap())
}

pub(crate) fn instance(ledger: &AnyLedger) -> i64 {
    match ledger {
        AnyLedger::Postgres(ledger) => ledger.instance().id(),
        AnyLedger::Sqlite(_) => panic!("a file has no instances"),
    }
}

/// Ends the lease of a server, as if the server had been suspended for that long.
pub(crate) async fn expire(url: &str, ledger: &AnyLedger) {
    let sql = "UPDATE instance SET lease_until = clock_timestamp() WHERE id = $1";
    let id = instance(ledger);
    postgres(url, 1).query("expire", sql, &[&id]).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn an_authorization_at_two_servers_at_once_is_reserved_by_one() {
    let Some(schema) = Schema::new() else { return };
    let url = schema.url();
    let servers = [server(url).await, server(url).await].map(Arc::new);
    for nonce in 0..20 {
        let claims: Vec<_> = (0..10)
            .map(|n| {
                let server = Arc::clone(&servers[n % 2]);
                tokio::spawn(async move { server.reserve(claim(nonce)).await.unwrap() })
            })
            .collect();
        let mut winners = 0;
        for claim in claims {
            match claim.await.unwrap() {
                Reservation::Reserved(_) => winners += 1,
                Reservation::Known(status) => {
                    assert!(
                        matches!(status, PaymentStatus::InFlight { .. }),
                        "{status:?}"
                    );
                }
                Reservation::ReservedBeside(entry) => panic!("{entry} is beside nothing"),
            }
        }
        assert_eq!(winners, 1);
    }
}

/// One of many authorizations with one identifier of a payer is reserved.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn an_identifier_at_two_servers_at_once_is_used_by_one() {
    let Some(schema) = Schema::new() else { return };
    let url = schema.url();
    let servers = [server(url).await, server(url).await].map(Arc::new);
    for round in 0..10 {
        let claims: Vec<_> = (0..10)
            .map(|n| {
                let server = Arc::clone(&servers[usize::try_from(n).unwrap() % 2]);
                let claim = ledger::Claim {
                    payment_id: Some(format!("payment-{round}")),
                    ..claim(round * 100 + n)
                };
                tokio::spawn(async move { server.reserve(claim).await.unwrap() })
            })
            .collect();
        let mut winners = 0;
        for claim in claims {
            match claim.await.unwrap() {
                Reservation::Reserved(_) => winners += 1,
                Reservation::Known(status) => {
                    assert!(matches!(status, PaymentStatus::Occupied(_)), "{status:?}")
                }
                Reservation::ReservedBeside(entry) => panic!("{entry} is beside nothing"),
            }
        }
        assert_eq!(winners, 1);
    }
}

/// One of many authorizations for the same purchase is reserved, and a delivery that one server
/// knows frees the place for both.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_purchase_at_two_servers_at_once_is_reserved_by_one() {
    let Some(schema) = Schema::new() else { return };
    let url = schema.url();
    let servers = [server(url).await, server(url).await].map(Arc::new);
    for round in 0..10 {
        let claims: Vec<_> = (0..10)
            .map(|n| {
                let server = Arc::clone(&servers[usize::try_from(n).unwrap() % 2]);
                let claim = ledger::Claim {
                    purchase: Purchase::Reading,
                    ..claim(round * 100 + n)
                };
                let key = claim.key;
                tokio::spawn(async move { (server.reserve(claim).await.unwrap(), key, n) })
            })
            .collect();
        let mut winners = Vec::new();
        for claim in claims {
            match claim.await.unwrap() {
                (Reservation::Reserved(entry), key, n) => winners.push((entry, key, n)),
                (Reservation::Known(status), ..) => {
                    assert!(matches!(status, PaymentStatus::Occupied(_)), "{status:?}");
                }
                (Reservation::ReservedBeside(entry), ..) => panic!("{entry} is beside nothing"),
            }
        }
        let [(entry, key, n)] = winners[..] else {
            panic!("{winners:?}")
        };
        let nonce = round * 100 + n;
        let winner = &servers[usize::try_from(n).unwrap() % 2];
        winner
            .begin_settlement(entry, settlement(nonce), NOW)
            .await
            .unwrap();
        winner
            .settle(entry, key, receipt(nonce), NOW)
            .await
            .unwrap();
        winner.mark_delivered(entry);
        // The next reservation of the same server takes the mark along.
        let next = ledger::Claim {
            purchase: Purchase::Reading,
            ..claim(10_000 + round)
        };
        let next = winner.reserve(next).await.unwrap();
        let Reservation::Reserved(next) = next else {
            panic!("{next:?}")
        };
        winner
            .release(next, "refused", Spent::NOTHING, NOW)
            .await
            .unwrap();
    }
}

#[tokio::test]
async fn entries_of_a_living_server_are_its_own() {
    let Some(schema) = Schema::new() else { return };
    let url = schema.url();
    let (a, b) = (server(url).await, server(url).await);
    let working = bring(&a, 1, State::Working).await;
    let settling = bring(&a, 2, State::Settling).await;
    bring(&a, 3, State::Unknown).await;
    assert_eq!(b.recover(NOW).await, Ok(Recovery::default()));
    let everything = u64::MAX;
    let abandoned = b.abandon(Vec::new(), everything, NOW).await;
    assert_eq!(abandoned, Ok(Recovery::default()));
    assert_eq!(b.undecided(None, 10).await, Ok(Vec::new()));
    // Another server cannot move the entry either.
    let refused = Err(LedgerError::TakenOver { entry: settling });
    let marked = b.mark_unknown(settling, None, "not mine", NOW);
    assert_eq!(marked.await, refused);
    a.release(working, "refused", Spent::NOTHING, NOW)
        .await
        .unwrap();
    a.settle(settling, key(2), receipt(2), NOW).await.unwrap();
    let answered = Some(PaymentStatus::Answered(stored(2, NOW)));
    assert_eq!(find(&b, 2, NOW).await, answered);
}

#[tokio::test]
async fn entries_of_an_expired_server_go_to_another_and_the_sleeper_writes_nothing() {
    let Some(schema) = Schema::new() else { return };
    let url = schema.url();
    let (a, b) = (server(url).await, server(url).await);
    let working = bring(&a, 1, State::Working).await;
    let settling = bring(&a, 2, State::Settling).await;
    let unknown = bring(&a, 3, State::Unknown).await;
    expire(url, &a).await;

    // The server wakes up before any other server has noticed.
    let lost = || Err(LedgerError::LeaseLost);
    assert_eq!(
        a.begin_settlement(working, settlement(1), NOW).await,
        lost()
    );
    assert_eq!(a.settle(settling, key(2), receipt(2), NOW).await, lost());
    assert_eq!(a.settle(unknown, key(3), receipt(3), NOW).await, lost());
    assert_eq!(
        a.release(working, "late", Spent::NOTHING, NOW).await,
        lost()
    );
    assert_eq!(a.recover(NOW).await, Ok(Recovery::default()));

    let taken = Recovery {
        released: 1,
        unknown: 1,
    };
    assert_eq!(b.recover(NOW).await, Ok(taken));
    let listed = b.undecided(None, 10).await.unwrap();
    let listed: Vec<_> = listed.iter().map(|undecided| undecided.entry).collect();
    assert_eq!(listed, [settling, unknown]);
    // The server wakes up after another one has taken over.
    assert_eq!(a.reserve(claim(4)).await, Err(LedgerError::LeaseLost));
    assert_eq!(look_up(&b, 4).await, None);
    assert!(a.mark_unknown(unknown, None, "late", NOW).await.is_err());
    b.settle(settling, key(2), receipt(2), NOW).await.unwrap();
    b.release(unknown, "void", Spent::NOTHING, NOW)
        .await
        .unwrap();
    assert_eq!(credit(&b).await, 2_000);
    assert_eq!(reserved(&b, claim(1)).await, {
        let PaymentStatus::InFlight { entry, .. } = refused(&b, claim(1)).await else {
            panic!("not in flight");
        };
        entry
    });
}

#[tokio::test]
async fn each_unknown_entry_is_looked_at_by_one_server() {
    let Some(schema) = Schema::new() else { return };
    let url = schema.url();
    let gone = server(url).await;
    for nonce in 0..40 {
        bring(&gone, nonce, State::Unknown).await;
    }
    gone.close().await.unwrap();
    let servers = [server(url).await, server(url).await].map(Arc::new);
    let looks: Vec<_> = servers
        .iter()
        .map(|server| {
            let server = Arc::clone(server);
            tokio::spawn(async move { server.undecided(None, 100).await.unwrap() })
        })
        .collect();
    let mut seen = BTreeSet::new();
    for look in looks {
        for undecided in look.await.unwrap() {
            assert!(seen.insert(undecided.entry), "{} twice", undecided.entry);
        }
    }
    assert_eq!(seen.len(), 40);
}

/// A server that continues after it has lost its lease is another instance. It keeps the entries
/// that no other server has taken over.
#[tokio::test]
async fn a_server_without_a_lease_registers_anew() {
    let Some(schema) = Schema::new() else { return };
    let url = schema.url();
    let lease = Duration::from_secs(4);
    let a = PostgresLedger::open(postgres(url, 4), OPTIONS, lease).await;
    let a = AnyLedger::Postgres(a.unwrap());
    let first = instance(&a);
    let entry = bring(&a, 1, State::Settling).await;
    expire(url, &a).await;
    registered_anew(&a, first).await;
    bring(&a, 2, State::Settled).await;
    let nothing = Recovery::default();
    assert_eq!(server(url).await.recover(NOW).await, Ok(nothing));
    a.settle(entry, key(1), receipt(1), NOW).await.unwrap();
}

/// A facilitator may report the outcome of a settlement only to the server that asked for it. That
/// server records the outcome although another one has taken the entry over meanwhile.
#[tokio::test]
async fn a_receipt_is_recorded_by_the_server_that_has_it() {
    let Some(schema) = Schema::new() else { return };
    let url = schema.url();
    let (a, b) = (server(url).await, server(url).await);
    let first = instance(&a);
    let entry = bring(&a, 1, State::Settling).await;
    expire(url, &a).await;
    let unknown = Recovery {
        unknown: 1,
        ..Recovery::default()
    };
    assert_eq!(b.recover(NOW).await, Ok(unknown));
    assert_eq!(b.undecided(None, 10).await.unwrap().len(), 1);
    assert_eq!(a.reserve(claim(2)).await, Err(LedgerError::LeaseLost));
    registered_anew(&a, first).await;
    // Every other move of the entry belongs to the other server.
    let taken = Err(LedgerError::TakenOver { entry });
    assert_eq!(
        a.release(entry, "late", Spent::NOTHING, NOW).await,
        taken.clone()
    );
    assert_eq!(a.mark_unknown(entry, None, "late", NOW).await, taken);
    // A number alone is not enough: the authorization must be the entry's.
    let other_payment = a.settle(entry, key(3), receipt(3), NOW).await;
    assert_eq!(other_payment, Err(LedgerError::NoSuchEntry { entry }));
    a.settle(entry, key(1), receipt(1), NOW).await.unwrap();
    let answered = Some(PaymentStatus::Answered(stored(1, NOW)));
    assert_eq!(find(&b, 1, NOW).await, answered);
    assert_eq!(credit(&b).await, 2_000);
    assert_eq!(b.undecided(None, 10).await, Ok(Vec::new()));
}

/// A server that starts on a replica cannot know the numbers that running calls of other servers
/// use, so it skips numbers.
#[tokio::test]
async fn a_server_that_starts_skips_numbers_that_running_calls_may_use() {
    let Some(schema) = Schema::new() else { return };
    let a = server(schema.url()).await;
    let held = bring(&a, 1, State::Settling).await;
    let b = server(schema.url()).await;
    let first = bring(&b, 2, State::Reserved).await;
    assert!(first.number() > held.number() + 1_000);
}

/// Servers that start at the same time do not set the sequence of numbers back.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn numbers_never_go_back() {
    let Some(schema) = Schema::new() else { return };
    let running = server(schema.url()).await;
    for round in 0..6 {
        let starts: Vec<_> = (0..6)
            .map(|n| {
                let url = schema.url().to_owned();
                let nonce = 10 * round + n;
                tokio::spawn(async move { reserved(&server(&url).await, claim(nonce)).await })
            })
            .collect();
        let mut highest = 0;
        for start in starts {
            highest = highest.max(start.await.unwrap().number());
        }
        let next = reserved(&running, claim(10 * round + 9)).await.number();
        assert!(next > highest, "{next} after {highest}");
    }
}

pub(crate) async fn registered_anew(ledger: &AnyLedger, first: i64) {
    test_support::eventually("a new number", async || {
        (instance(ledger) != first).then_some(())
    })
    .await;
}

#[tokio::test]
async fn an_ended_instance_is_deleted_after_thirty_days() {
    let Some(schema) = Schema::new() else { return };
    let database = schema.connect();
    let (a, b) = (server(schema.url()).await, server(schema.url()).await);
    for (ledger, age) in [(&a, "30 days 1 hour"), (&b, "29 days 23 hours")] {
        let sql = format!(
            "UPDATE instance SET lease_until = clock_timestamp() - interval '{age}' WHERE id = $1"
        );
        let id = instance(ledger);
        database.query("expire", &sql, &[&id]).await.unwrap();
    }
    let (first, second) = (instance(&a), instance(&b));
    let _c = server(schema.url()).await;
    for (id, left) in [(first, 0), (second, 1)] {
        let sql = "SELECT id FROM instance WHERE id = $1";
        let rows = database.query("look", sql, &[&id]).await.unwrap();
        assert_eq!(rows.len(), left);
    }
}

/// A replica that takes over lacks an entry, and would use the entry's number for another payment.
#[tokio::test]
async fn a_number_that_a_running_call_holds_is_not_given_again() {
    let Some(schema) = Schema::new() else { return };
    let (a, b) = (server(schema.url()).await, server(schema.url()).await);
    let first = instance(&a);
    let kept = bring(&a, 1, State::Settling).await;
    let lost = bring(&a, 2, State::Settling).await;
    let database = schema.connect();
    for sql in [
        &format!("DELETE FROM ledger_entry WHERE id = {}", lost.number()),
        &format!("DELETE FROM ledger_answer WHERE entry = {}", lost.number()),
        &format!("SELECT setval('ledger_entry_id', {})", kept.number()),
        "UPDATE instance SET history = 'of the lost one'",
    ] {
        database.query("promote", sql, &[]).await.unwrap();
    }
    // No server can continue under its old lease.
    let lease_lost = Err(LedgerError::LeaseLost);
    assert_eq!(a.settle(kept, key(1), receipt(1), NOW).await, lease_lost);
    assert_eq!(b.recover(NOW).await, Ok(Recovery::default()));
    assert_eq!(a.reserve(claim(3)).await, Err(LedgerError::LeaseLost));
    registered_anew(&a, first).await;
    let other = bring(&a, 3, State::Settling).await;
    assert!(other.number() > lost.number() + 1_000);
    let missing = Err(LedgerError::NoSuchEntry { entry: lost });
    assert_eq!(a.settle(lost, key(2), receipt(2), NOW).await, missing);
    a.settle(kept, key(1), receipt(1), NOW).await.unwrap();
    a.settle(other, key(3), receipt(3), NOW).await.unwrap();
    assert_eq!(find(&a, 2, NOW).await, None);
}

/// After one server has retired a payment, no server can reserve it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_retired_payment_is_reserved_by_no_server() {
    let Some(schema) = Schema::new() else { return };
    let (a, b) = (server(schema.url()).await, server(schema.url()).await);
    let entry = reserved(&a, claim(1)).await;
    let released = a.release(entry, "refused", Spent::NOTHING, NOW);
    assert_eq!(released.await, Ok(()));
    assert_eq!(a.retire(entry, false).await, Ok(true));
    let reason = "refused".to_owned();
    let retired = PaymentStatus::Retired { reason };
    assert_eq!(refused(&b, claim(1)).await, retired);
    assert_eq!(find(&b, 1, NOW).await, Some(retired));
}

/// The number under which a server holds entries changes with its lease.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_owner_is_the_instance() {
    let Some(schema) = Schema::new() else { return };
    let ledger = server(schema.url()).await;
    assert_eq!(ledger.owner(), instance(&ledger));
}

/// Calls that wait for the database must not end the lease of their own server.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_keeps_its_lease_while_its_calls_use_every_connection() {
    let Some(schema) = Schema::new() else { return };
    let options = PostgresOptions {
        connections: 4,
        wait: Duration::from_secs(20),
        statement: Duration::from_secs(20),
    };
    let database = Postgres::new(schema.url().parse().unwrap(), options).unwrap();
    let lease = Duration::from_secs(2);
    let ledger = PostgresLedger::open(database.clone(), OPTIONS, lease)
        .await
        .unwrap();
    let number = ledger.instance().id();
    let calls: Vec<_> = (0..6)
        .map(|_| {
            let database = database.clone();
            let sql = "SELECT pg_sleep(2.5)";
            tokio::spawn(async move { database.query("sleep", sql, &[]).await.unwrap() })
        })
        .collect();
    for call in calls {
        call.await.unwrap();
    }
    let entry = reserved(&AnyLedger::Postgres(ledger.clone()), claim(1)).await;
    assert_eq!(ledger.instance().id(), number, "{entry}");
}
