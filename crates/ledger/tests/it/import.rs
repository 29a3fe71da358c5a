//! Tests of copying a ledger from a file into a database.

use std::{collections::BTreeMap, net::IpAddr};

use ledger::{
    Claim, EntryId, Filter, Journal, LedgerError, PaymentStatus, Spent, SqliteLedger, State,
};
use tempfile::TempDir;

use crate::support::{
    Bench, NOW, OPTIONS, RETENTION, bring, claim, credit, find, key, paid, pay, receipt, reserved,
    stored,
};

/// Makes a ledger file with payments in every state, one pruned answer, and deficits of newcomers,
/// and closes it. Also returns the records of its entries.
async fn file() -> (TempDir, Vec<ledger::EntryRecord>) {
    let ledger = Bench::in_file(OPTIONS);
    pay(&ledger, 100, NOW - RETENTION).await.unwrap();
    let pruned = ledger.prune(NOW).await.unwrap();
    assert_eq!(pruned.answers, 1);
    for (nonce, state) in (0..).zip(State::ALL) {
        bring(&ledger, nonce, state).await;
    }
    let identified = Claim {
        payment_id: Some("order-17".to_owned()),
        ..claim(50)
    };
    reserved(&ledger, identified).await;
    let spent = Spent {
        pool: 70,
        address: Some((IpAddr::from([192, 0, 2, 1]), 30)),
        ..Spent::NOTHING
    };
    ledger.debit(key(0).payer, spent, NOW).await.unwrap();
    let records = ledger.entries(&Filter::default(), None, 100).await.unwrap();
    (ledger.close(), records)
}

fn source(folder: &TempDir) -> SqliteLedger {
    let path = folder.path().join("service.db");
    SqliteLedger::open(path.to_str().unwrap(), OPTIONS).unwrap()
}

#[tokio::test]
async fn everything_moves_and_goes_on() {
    let mut target = Bench::new();
    if target.postgres().is_none() {
        return;
    }
    let (folder, records) = file().await;
    let from = source(&folder);
    let sums = (
        from.credit(key(0).payer).await,
        from.paid(key(0).payer).await,
        from.missing(NOW).await,
    );
    let copied = target.postgres().unwrap().import(from).await.unwrap();
    let mut states: BTreeMap<State, u64> = BTreeMap::new();
    for record in &records {
        *states.entry(record.state).or_default() += 1;
    }
    assert_eq!(copied.states, states);
    assert_eq!((copied.entries(), copied.payers), (9, 1));
    // These entries are settling, unknown, settled and undecidable.
    assert_eq!(copied.answers, 4);

    let now = target.entries(&Filter::default(), None, 100).await.unwrap();
    assert_eq!(now, records);
    assert_eq!(
        (
            Ok(credit(&target).await),
            Ok(paid(&target).await),
            target.missing(NOW).await
        ),
        sums
    );
    // The next server takes over the open entries. No authorization can be claimed twice.
    target.reopen();
    let recovered = target.recover(NOW).await.unwrap();
    assert_eq!((recovered.released, recovered.unknown), (3, 1));
    assert_eq!(target.undecided(None, 10).await.unwrap().len(), 2);
    assert_eq!(target.undecidable(None, 10).await.unwrap().len(), 1);
    let answered = PaymentStatus::Answered(stored(4, NOW));
    assert_eq!(find(&target, 4, NOW).await, Some(answered));
    let expired = PaymentStatus::AnswerExpired {
        transaction: receipt(100).transaction,
    };
    assert_eq!(find(&target, 100, NOW).await, Some(expired));
    let last = records.last().map(|record| record.entry);
    let next = reserved(&target, claim(200)).await;
    assert!(Some(next) > last, "{next} was used");
}

#[tokio::test]
async fn a_ledger_with_payments_takes_no_other() {
    let target = Bench::new();
    let Some(postgres) = target.postgres() else {
        return;
    };
    let (folder, _) = file().await;
    let own = bring(&target, 1, State::Settled).await;
    let refused = postgres.import(source(&folder)).await;
    assert_eq!(refused, Err(LedgerError::NotEmpty));
    let all = target.entries(&Filter::default(), None, 100).await.unwrap();
    let all: Vec<EntryId> = all.into_iter().map(|record| record.entry).collect();
    assert_eq!(all, [own]);
}

/// Equal rows have equal digests, and one changed byte changes the digest.
#[tokio::test]
async fn the_digest_covers_the_rows() {
    let mut digests = Vec::new();
    let (folder, _) = file().await;
    for change in [
        "",
        "",
        "UPDATE answer SET body = x'00' WHERE id = (SELECT max(id) FROM answer)",
        "UPDATE credit SET paid = paid + 1",
        "UPDATE entry SET cause = 'another' WHERE id = (SELECT max(id) FROM entry)",
    ] {
        let target = Bench::new();
        let Some(postgres) = target.postgres() else {
            return;
        };
        let path = folder.path().join("service.db");
        rusqlite::Connection::open(&path)
            .unwrap()
            .execute_batch(change)
            .unwrap();
        digests.push(postgres.import(source(&folder)).await.unwrap().digest);
    }
    assert_eq!(digests[0], digests[1]);
    for pair in digests[1..].windows(2) {
        assert_ne!(pair[0], pair[1]);
    }
}

/// The database changes a row during the copy, or drops it.
#[tokio::test]
async fn a_copy_that_differs_leaves_nothing() {
    let (folder, records) = file().await;
    for (spoiled, entries) in [
        ("NEW.cause := 'changed'; RETURN NEW;", 9),
        ("NEW.amount := NEW.amount + 1; RETURN NEW;", 9),
        ("IF NEW.state = 7 THEN RETURN NULL; END IF; RETURN NEW;", 8),
    ] {
        let target = Bench::new();
        let Some(ledger) = target.postgres() else {
            return;
        };
        let run = async |sql: &str| ledger.postgres().query("spoil", sql, &[]).await.unwrap();
        run(&format!(
            "CREATE FUNCTION spoil() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN {spoiled} END $$"
        ))
        .await;
        run("CREATE TRIGGER spoil BEFORE INSERT ON ledger_entry FOR EACH ROW EXECUTE FUNCTION spoil()")
            .await;
        match ledger.import(source(&folder)).await {
            Err(LedgerError::NotCopied { expected, observed }) => {
                assert!(expected.starts_with("9 entries ("), "{expected}");
                let counted = format!("{entries} entries (");
                assert!(observed.starts_with(&counted), "{observed}");
                assert_ne!(expected, observed);
            }
            other => panic!("{spoiled}: {other:?}"),
        }
        for table in ["entry", "answer", "credit", "newcomer"] {
            let rows = run(&format!("SELECT FROM ledger_{table}")).await;
            assert!(rows.is_empty(), "{spoiled}: ledger_{table}");
        }
        // The file is unchanged, and can be copied once the cause is gone.
        run("DROP TRIGGER spoil ON ledger_entry").await;
        ledger.import(source(&folder)).await.unwrap();
        let now = target.entries(&Filter::default(), None, 100).await.unwrap();
        assert_eq!(now, records);
    }
}
