//! A file that is not as it was written: named, and nothing is made of it.

use super::*;

/// The file of a ledger with twenty claims, which is closed, and another connection to it.
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
    let settlement = Settlement {
        payment: payment(),
        answer: crate::Answer::new(200, Vec::new(), "body".into()),
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
    ledger.settle(entry, receipt, claim.now).await.unwrap();
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

/// What keeps a claim from being looked up must be whole.
#[tokio::test]
async fn a_filter_that_changed_on_disk_is_not_believed() {
    let (_folder, path, other) = twenty_claims().await;
    let shortened = other.execute("UPDATE generation SET filter = x'00'", []);
    assert_eq!(shortened, Ok(2));
    let ledger = SqliteLedger::open(path.to_str().unwrap(), Options::default()).unwrap();
    for nonce in [0, 10, 30] {
        let refused = ledger.reserve(claim(nonce)).await.unwrap_err();
        assert_eq!(refused.code(), "ledger_damaged", "{nonce}");
    }
}

/// A payment that cannot be looked up is not taken for a first one.
#[tokio::test]
async fn digests_that_changed_on_disk_are_not_read_past() {
    let (_folder, ledger) = open();
    for nonce in 0..20 {
        ledger.reserve(claim(nonce)).await.unwrap();
    }
    let damage = ledger.submit("damage", |store| {
        let sql = "UPDATE bucket SET digests = substr(digests, 2)";
        Ok(store.connection().execute(sql, [])?)
    });
    assert!(damage.await.unwrap() > 0);
    let mut damaged = 0;
    for nonce in 0..20 {
        match ledger.reserve(claim(nonce)).await {
            Ok(Reservation::Known(PaymentStatus::InFlight { .. })) => {}
            other => {
                assert_eq!(other.unwrap_err().code(), "ledger_damaged", "{nonce}");
                damaged += 1;
            }
        }
    }
    assert_eq!(damaged, 16);
}

/// A file that cannot be read on is named, and is free for whoever looks into it.
#[tokio::test]
async fn a_ledger_that_has_lost_its_place_is_refused_and_given_back() {
    let (_folder, path, other) = twenty_claims().await;
    let shortened = other.execute("UPDATE entry SET authorization = x'00' WHERE id = 20", []);
    assert_eq!(shortened, Ok(1));
    // Often: a thread that nobody waited for might still be in time once.
    for _ in 0..400 {
        let opened = SqliteLedger::open(path.to_str().unwrap(), Options::default());
        assert_eq!(
            opened.unwrap_err(),
            LedgerError::Damaged { path: path.clone() }
        );
        let lock = std::fs::File::open(path.with_extension("db.lock")).unwrap();
        lock.try_lock().unwrap();
    }
}
