//! Tests of credit, and of the batch in which settlements earn it.

use super::*;
use crate::spending::Spent;
use crate::state::EntryId;

const PAYER: Address = Address::repeat_byte(2);

fn receipt() -> StoredReceipt {
    StoredReceipt {
        header: String::new(),
        transaction: "0xa1".to_owned(),
    }
}

/// Makes entries of the payer that wait for the end of their settlement.
async fn settling(ledger: &SqliteLedger, nonces: std::ops::Range<u8>) -> Vec<EntryId> {
    let mut entries = Vec::new();
    for nonce in nonces {
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
        entries.push(entry);
    }
    entries
}

/// How many changes the table of credit has had since the first call.
async fn count_changes(ledger: &SqliteLedger) -> i64 {
    let sql = "CREATE TABLE IF NOT EXISTS change (payer);
               CREATE TRIGGER IF NOT EXISTS inserted AFTER INSERT ON credit
               BEGIN INSERT INTO change VALUES (NEW.payer); END;
               CREATE TRIGGER IF NOT EXISTS updated AFTER UPDATE ON credit
               BEGIN INSERT INTO change VALUES (NEW.payer); END;";
    let count = ledger.submit("count", move |store| {
        let connection = store.connection();
        connection.execute_batch(sql)?;
        Ok(connection.query_row("SELECT count(*) FROM change", [], |row| row.get(0))?)
    });
    count.await.unwrap()
}

/// Settles entries in one batch, and then runs `extra` in the same batch.
async fn settle_together(
    ledger: &SqliteLedger,
    entries: &[EntryId],
    extra: impl FnMut(&mut Store<'_>) -> Result<(), Failure> + Send + 'static,
) -> (Vec<Result<(), LedgerError>>, Result<(), LedgerError>) {
    let (gate, held) = hold(ledger).await;
    let settled: Vec<_> = entries
        .iter()
        .map(|entry| ledger.settle(*entry, claim(0).key, receipt(), 1_000_000))
        .collect();
    let extra = ledger.submit("extra", extra);
    drop(gate);
    held.await.unwrap();
    let mut results = Vec::new();
    for settled in settled {
        results.push(settled.await);
    }
    (results, extra.await)
}

#[tokio::test]
async fn a_batch_writes_the_credit_of_a_payer_once() {
    let (_folder, ledger) = open();
    let entries = settling(&ledger, 0..40).await;
    assert_eq!(count_changes(&ledger).await, 0);
    let (settled, _) = settle_together(&ledger, &entries, |_| Ok(())).await;
    assert!(settled.iter().all(Result::is_ok));
    assert_eq!(count_changes(&ledger).await, 1);
    assert_eq!(ledger.credit(PAYER).await, Ok(40 * 2_000));
}

#[tokio::test]
async fn a_payer_at_the_cap_costs_one_write_for_its_sum() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger.db");
    let options = Options {
        credit_cap_micro_usd: 3_000,
        ..Options::default()
    };
    let ledger = SqliteLedger::open(path.to_str().unwrap(), options).unwrap();
    for entry in settling(&ledger, 0..2).await {
        ledger
            .settle(entry, claim(0).key, receipt(), 1_000_000)
            .await
            .unwrap();
    }
    let entries = settling(&ledger, 2..4).await;
    assert_eq!(count_changes(&ledger).await, 0);
    let (settled, _) = settle_together(&ledger, &entries, |_| Ok(())).await;
    assert!(settled.iter().all(Result::is_ok));
    assert_eq!(count_changes(&ledger).await, 1);
    assert_eq!(ledger.credit(PAYER).await, Ok(3_000));
    assert_eq!(ledger.paid(PAYER).await, Ok(8_000));
}

/// A rollback of the batch undoes its earnings. The requests then run again one by one, and earn
/// once.
#[tokio::test]
async fn a_batch_that_is_rolled_back_earns_once() {
    let (_folder, ledger) = open();
    let entries = settling(&ledger, 0..10).await;
    let (settled, extra) = settle_together(&ledger, &entries, |store| {
        store
            .connection()
            .execute("INSERT INTO nowhere VALUES (1)", [])?;
        Ok(())
    })
    .await;
    assert!(settled.iter().all(Result::is_ok));
    assert!(extra.is_err());
    assert_eq!(ledger.credit(PAYER).await, Ok(10 * 2_000));
}

#[tokio::test]
async fn a_commit_that_fails_earns_nothing() {
    let (_folder, ledger) = open();
    let entries = settling(&ledger, 0..10).await;
    let (settled, _) = settle_together(&ledger, &entries, |store| {
        // SQLite checks the reference only at the commit.
        store.connection().execute_batch(
            "CREATE TABLE a (id INTEGER PRIMARY KEY);
             CREATE TABLE b (a INTEGER REFERENCES a (id) DEFERRABLE INITIALLY DEFERRED);
             INSERT INTO b VALUES (7);",
        )?;
        Ok(())
    })
    .await;
    assert!(settled.iter().all(Result::is_err));
    assert_eq!(ledger.credit(PAYER).await, Ok(0));
    // After the rollback, the amounts come from the entries.
    let (settled, _) = settle_together(&ledger, &entries, |_| Ok(())).await;
    assert!(settled.iter().all(Result::is_ok));
    assert_eq!(ledger.credit(PAYER).await, Ok(10 * 2_000));
}

/// The earnings are written at the end of a batch, but count in the batch's order.
#[tokio::test]
async fn earlier_credit_can_be_spent_in_the_same_batch() {
    let (_folder, ledger) = open();
    let entries = settling(&ledger, 0..4).await;
    let (gate, held) = hold(&ledger).await;
    let first = ledger.settle(entries[0], claim(0).key, receipt(), 1_000_000);
    let released = ledger.release(entries[1], "test", Spent::by_payer(5_000), 1_000_000);
    let settled = ledger.settle(entries[2], claim(0).key, receipt(), 1_000_000);
    let read = ledger.credit(PAYER);
    let last = ledger.settle(entries[3], claim(0).key, receipt(), 1_000_000);
    drop(gate);
    held.await.unwrap();
    first.await.unwrap();
    released.await.unwrap();
    settled.await.unwrap();
    assert_eq!(read.await, Ok(2_000));
    last.await.unwrap();
    assert_eq!(ledger.credit(PAYER).await, Ok(4_000));
}
