//! Tests of damaged files: they give a named error and never a result.

use super::*;

/// Makes a ledger file with twenty claims, closes it, and opens another connection to it.
async fn twenty_claims() -> (tempfile::TempDir, PathBuf, rusqlite::Connection) {
    let (folder, ledger) = open();
    for nonce in 0..20 {
        ledger.reserve(claim(nonce)).await.unwrap();
    }
    let path = ledger.path.clone();
    drop(ledger);
    let other = rusqlite::Connection::open(&path).unwrap();
    (folder, path, other)
}

#[tokio::test]
async fn an_answer_that_changed_on_disk_is_not_served() {
    let (_folder, ledger) = open();
    let claim = claim(1);
    let Reservation::Reserved(entry) = ledger.reserve(claim.clone()).await.unwrap() else {
        panic!("taken")
    };
    let settlement = PendingSettlement {
        payment: payment(),
        answer: crate::PaidAnswer::new(200, Vec::new(), "body".into()),
        private: false,
    };
    ledger
        .begin_settlement(entry, settlement, claim.now)
        .await
        .unwrap();
    let receipt = StoredReceipt {
        header: String::new(),
        transaction: String::new(),
    };
    ledger
        .settle(entry, claim.key, receipt, claim.now)
        .await
        .unwrap();
    ledger
        .submit("damage", |store| {
            store
                .connection()
                .execute("UPDATE answer SET body = x'00'", [])?;
            Ok(())
        })
        .await
        .unwrap();
    assert_eq!(
        ledger.reserve(claim).await.unwrap_err().code(),
        "ledger_damaged"
    );
}

/// When an entry cannot be read, its payment does not count as new.
#[tokio::test]
async fn an_entry_that_cannot_be_read_is_an_error() {
    let (_folder, path, other) = twenty_claims().await;
    let changed = other.execute("UPDATE entry SET state = 99 WHERE id = 20", []);
    assert_eq!(changed, Ok(1));
    let ledger = SqliteLedger::open(path.to_str().unwrap(), Options::default()).unwrap();
    let refused = ledger.reserve(claim(19)).await.unwrap_err();
    assert_eq!(refused.code(), "ledger_damaged");
    assert!(reserved(&ledger.reserve(claim(20)).await));
}

/// A file that lacks one of its tables is refused, and other programs can use it again.
#[tokio::test]
async fn a_ledger_that_lacks_a_table_is_refused_and_given_back() {
    let (_folder, path, other) = twenty_claims().await;
    other.execute("DROP TABLE receipt", []).unwrap();
    // The test tries this often. A thread for which nobody waits could be in time by chance once.
    for _ in 0..400 {
        let opened = SqliteLedger::open(path.to_str().unwrap(), Options::default());
        assert_eq!(opened.unwrap_err().code(), "ledger_storage");
        let lock = std::fs::File::open(path.with_extension("db.lock")).unwrap();
        lock.try_lock().unwrap();
    }
}
