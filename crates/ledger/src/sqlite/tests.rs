//! Tests of behaviour that is visible only inside the crate: batches, and failures in the middle of
//! one.

use std::{sync::mpsc, time::Duration};

use alloy_primitives::{Address, B256, U256};
use x402_wire::{AuthorizationKey, Network, Payment};

use super::*;
use crate::spending::Spent;
use crate::{
    answer::{PendingSettlement, StoredReceipt},
    claim::{Claim, RequestBinding},
    journal::Journal,
    purchase::Purchase,
    state::State,
    status::Reservation,
};

mod credit;
mod damage;

fn open() -> (tempfile::TempDir, SqliteLedger) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger.db");
    let ledger = SqliteLedger::open(path.to_str().unwrap(), Options::default()).unwrap();
    (folder, ledger)
}

pub(super) fn claim(nonce: u8) -> Claim {
    Claim {
        key: AuthorizationKey {
            network: Network::evm(196),
            asset: Address::repeat_byte(1),
            payer: Address::repeat_byte(2),
            nonce: B256::repeat_byte(nonce),
        },
        request: RequestBinding::new("GET", "/price", None, b""),
        payment_id: None,
        amount: U256::from(2000),
        valid_before: 1_000_300,
        purchase: Purchase::Unproven,
        now: 1_000_000,
    }
}

fn payment() -> Payment {
    const REQUIREMENTS: &str = r#"{"scheme":"exact","network":"eip155:196","amount":"2000",
        "asset":"0x0101010101010101010101010101010101010101",
        "payTo":"0x0101010101010101010101010101010101010101",
        "maxTimeoutSeconds":300,"extra":{"name":"USD₮0","version":"1"}}"#;
    let payload = format!(
        r#"{{"x402Version":2,"accepted":{REQUIREMENTS},"payload":{{"signature":"0x","authorization":{{
            "from":"0x0202020202020202020202020202020202020202",
            "to":"0x0101010101010101010101010101010101010101",
            "value":"2000","validAfter":"0","validBefore":"1000300","nonce":"{}"}}}}}}"#,
        B256::repeat_byte(1)
    );
    Payment::restore(payload.as_bytes(), REQUIREMENTS.as_bytes()).unwrap()
}

/// Keeps the writer busy with a batch of its own, until the returned sender is dropped.
async fn hold(
    ledger: &SqliteLedger,
) -> (
    mpsc::Sender<()>,
    impl Future<Output = Result<(), LedgerError>> + use<>,
) {
    let (gate, wait) = mpsc::channel();
    let (entered, started) = oneshot::channel();
    let mut entered = Some(entered);
    let held = ledger.submit("hold", move |_| {
        if let Some(entered) = entered.take() {
            entered.send(()).unwrap();
        }
        let _ = wait.recv();
        Ok(())
    });
    let held = tokio::spawn(held);
    started.await.unwrap();
    (gate, async move { held.await.unwrap() })
}

/// Queues `n` claims as one batch, with `extra` in their middle. Returns whether they got their
/// authorizations.
async fn one_batch<T: Send + 'static>(
    ledger: &SqliteLedger,
    n: u8,
    extra: impl FnMut(&mut Store<'_>) -> Result<T, Failure> + Send + 'static,
) -> (Vec<Result<bool, LedgerError>>, Result<T, LedgerError>) {
    let (gate, held) = hold(ledger).await;
    let queue = |nonce: u8| {
        let claim = claim(nonce);
        let digest = claim.key.digest();
        ledger.submit("reserve", move |store: &mut Store<'_>| {
            let claimed = store.reserve(digest, &claim)?;
            Ok(matches!(claimed, Reservation::Reserved(_)))
        })
    };
    // `submit` queues the request at once. The answers are awaited later.
    let mut claims: Vec<_> = (0..n / 2).map(queue).collect();
    let extra = ledger.submit("extra", extra);
    claims.extend((n / 2..n).map(queue));
    drop(gate);
    held.await.unwrap();
    let mut results = Vec::new();
    for claim in claims {
        results.push(claim.await);
    }
    (results, extra.await)
}

fn reserved(result: &Result<Reservation, LedgerError>) -> bool {
    matches!(result, Ok(Reservation::Reserved(_)))
}

#[tokio::test]
async fn requests_that_wait_together_are_committed_together() {
    let (_folder, ledger) = open();
    let (results, extra) = one_batch(&ledger, 100, |_| Ok(())).await;
    assert!(results.iter().all(|result| *result == Ok(true)));
    assert_eq!(extra, Ok(()));
    let stats = ledger.stats();
    assert_eq!(
        (stats.commits, stats.largest_batch, stats.requests),
        (1, 101, 102)
    );
}

/// The runtime of one caller has several threads. A task in it answers all callers.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn callers_on_several_threads_are_all_answered() {
    let (_folder, ledger) = open();
    let (results, extra) = one_batch(&ledger, 100, |_| Ok(())).await;
    assert!(results.iter().all(|result| *result == Ok(true)));
    assert_eq!(extra, Ok(()));
    assert_eq!(ledger.stats().commits, 1);
}

#[tokio::test]
async fn callers_are_answered_although_a_runtime_of_one_has_ended() {
    let (_folder, ledger) = open();
    let (gate, held) = hold(&ledger).await;
    let ended = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .build()
        .unwrap();
    let first = {
        let _inside = ended.enter();
        ledger.submit("first", |_| Ok(1))
    };
    let second = ledger.submit("second", |_| Ok(2));
    ended.shutdown_background();
    drop(gate);
    held.await.unwrap();
    assert_eq!((first.await, second.await), (Ok(1), Ok(2)));
}

#[tokio::test]
async fn reading_commits_nothing() {
    let (_folder, ledger) = open();
    ledger.reserve(claim(1)).await.unwrap();
    let commits = ledger.stats().commits;
    let claim = claim(1);
    for _ in 0..3 {
        ledger
            .find(&claim.key, &claim.request, claim.now)
            .await
            .unwrap()
            .unwrap();
        ledger.reserve(claim.clone()).await.unwrap();
        ledger.undecided(None, 10).await.unwrap();
        ledger.undecidable(None, 10).await.unwrap();
        ledger.look_up(&claim.key).await.unwrap().unwrap();
        ledger.open_counts().await.unwrap();
        ledger.credit(claim.key.payer).await.unwrap();
    }
    assert_eq!(ledger.stats().commits, commits);
}

#[tokio::test]
async fn a_mark_costs_no_commit_of_its_own() {
    let (_folder, ledger) = open();
    let Reservation::Reserved(entry) = ledger.reserve(claim(1)).await.unwrap() else {
        panic!("taken")
    };
    ledger.start_work(entry);
    assert_eq!(ledger.stats().commits, 1);
    ledger.reserve(claim(2)).await.unwrap();
    assert_eq!(ledger.stats().commits, 2);
    let claim = claim(1);
    assert_eq!(
        ledger
            .find(&claim.key, &claim.request, claim.now)
            .await
            .unwrap(),
        Some(PaymentStatus::InFlight {
            entry,
            state: State::Working
        })
    );
}

#[tokio::test]
async fn a_failing_request_fails_alone_and_leaves_nothing() {
    let (_folder, ledger) = open();
    let (results, extra) = one_batch(&ledger, 10, |store| {
        let claim = claim(200);
        store.reserve(claim.key.digest(), &claim)?;
        store
            .connection()
            .execute("INSERT INTO nowhere VALUES (1)", [])?;
        Ok(())
    })
    .await;
    assert!(results.iter().all(|result| *result == Ok(true)));
    assert_eq!(extra.unwrap_err().code(), "ledger_storage");
    let lost = claim(200);
    assert_eq!(
        ledger.find(&lost.key, &lost.request, lost.now).await,
        Ok(None)
    );
}

#[tokio::test]
async fn a_failing_commit_fails_its_whole_batch_and_nothing_else() {
    let (_folder, ledger) = open();
    let (results, extra) = one_batch(&ledger, 10, |store| {
        // SQLite checks the reference only at the commit.
        store.connection().execute_batch(
            "CREATE TABLE a (id INTEGER PRIMARY KEY);
             CREATE TABLE b (a INTEGER REFERENCES a (id) DEFERRABLE INITIALLY DEFERRED);
             INSERT INTO b VALUES (7);",
        )?;
        Ok(())
    })
    .await;
    assert!(extra.is_err());
    for result in results {
        assert_eq!(result.unwrap_err().code(), "ledger_storage");
    }
    assert!(reserved(&ledger.reserve(claim(0)).await));
}

#[tokio::test]
async fn a_file_locked_by_another_program_is_busy_until_it_is_not() {
    let (_folder, ledger) = open();
    ledger
        .submit("impatience", |store| {
            Ok(store.connection().busy_timeout(Duration::ZERO)?)
        })
        .await
        .unwrap();
    let other = rusqlite::Connection::open(&ledger.path).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    assert_eq!(ledger.reserve(claim(1)).await, Err(LedgerError::Busy));
    other.execute_batch("ROLLBACK").unwrap();
    assert!(reserved(&ledger.reserve(claim(1)).await));
}

#[tokio::test]
async fn the_log_is_written_back_after_it_has_grown() {
    let (_folder, ledger) = open();
    for nonce in 0..80 {
        ledger
            .submit("fill", |store| {
                store
                    .connection()
                    .execute("INSERT INTO probe (padding) VALUES (zeroblob(1 << 20))", [])?;
                Ok(())
            })
            .await
            .unwrap();
        ledger.reserve(claim(nonce)).await.unwrap();
    }
    assert!(ledger.stats().checkpoints >= 2, "{:?}", ledger.stats());
    let log = std::fs::metadata(ledger.path.with_extension("db-wal"))
        .unwrap()
        .len();
    assert!(log < 48 << 20, "{log} bytes of log for 80 MiB written");
}

/// The index of open entries stays small, because decided entries leave it.
#[tokio::test]
async fn only_undecided_entries_are_marked() {
    let (_folder, ledger) = open();
    let mut entries = Vec::new();
    for nonce in 0..3 {
        let Reservation::Reserved(entry) = ledger.reserve(claim(nonce)).await.unwrap() else {
            panic!("taken")
        };
        let settlement = PendingSettlement {
            payment: payment(),
            answer: crate::PaidAnswer::new(200, Vec::new(), "body".into()),
            private: false,
        };
        ledger
            .begin_settlement(entry, settlement, 1_000_000)
            .await
            .unwrap();
        ledger
            .mark_unknown(entry, None, "test", 1_000_000)
            .await
            .unwrap();
        entries.push(entry);
    }
    let receipt = StoredReceipt {
        header: String::new(),
        transaction: String::new(),
    };
    ledger
        .settle(entries[0], claim(0).key, receipt, 1_000_000)
        .await
        .unwrap();
    ledger
        .release(entries[1], "test", Spent::NOTHING, 1_000_000)
        .await
        .unwrap();
    let marked = ledger.submit("marked", |store| {
        let marked = store
            .connection()
            .prepare("SELECT id FROM entry WHERE open <> 0")?
            .query_map([], |row| row.get(0))?
            .collect::<Result<Vec<i64>, _>>()?;
        Ok(marked)
    });
    assert_eq!(marked.await.unwrap(), [entries[2].number()]);
}

#[test]
fn closing_finishes_the_queued_requests() {
    let (_folder, ledger) = open();
    let claim = claim(1);
    let digest = claim.key.digest();
    let path = ledger.path.clone();
    {
        let claim = claim.clone();
        // No caller waits for the answer of this request.
        drop(ledger.submit("reserve", move |store| store.reserve(digest, &claim)));
    }
    drop(ledger);
    let file = ClaimedFile::claim(path.to_str().unwrap()).unwrap();
    let database = Database::open(file, None).unwrap();
    let mut store = Store::open(&database, Options::default()).unwrap();
    let found = store
        .find(digest, claim.request.digest(), claim.now)
        .unwrap();
    assert!(matches!(
        found,
        Some(PaymentStatus::InFlight {
            state: State::Reserved,
            ..
        })
    ));
}

/// Pruning uses few pages of the cache. The payments after it have the whole cache again.
#[test]
fn pruning_gives_the_pages_of_the_cache_back() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger.db");
    let file = ClaimedFile::claim(path.to_str().unwrap()).unwrap();
    let database = Database::open(file, None).unwrap();
    let mut store = Store::open(&database, Options::default()).unwrap();
    let held = |store: &Store<'_>| -> i32 {
        store
            .connection()
            .pragma_query_value(None, "cache_size", |row| row.get(0))
            .unwrap()
    };
    let before = held(&store);
    assert!(!store.prune(2_000_000_000).unwrap().more);
    assert_eq!((before, held(&store)), (-4096, -4096));
}
