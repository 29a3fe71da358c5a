//! Tests of the promises of every store of mandates. Each test runs on every kind of store.

use std::sync::Arc;

use storage::postgres::Condition;
use test_support::postgres::Schema;
use watch_server::{
    Creation, Kept, MemoryStore, PostgresStore, SqliteStore, Store, StoreError, Write,
};
use yield_watch::{MAX_ACTIVE, Mandate, Mode, Watched};

use crate::stage::{OTHER, OWNER, Stage, begin, events, terms};

fn creation(id: &str, owner: &str) -> Creation {
    let terms = terms(Mode::Notify);
    let mandate = Mandate {
        id: id.to_owned(),
        owner: owner.to_owned(),
        rules: terms.rules,
        mode: terms.mode,
        created_at: begin(),
        expires_at: terms.expires_at,
        last_check_at: None,
        ended: None,
    };
    let (watched, record) = Watched::create(mandate).unwrap();
    Creation {
        watched,
        record,
        claim: None,
        now: begin(),
    }
}

/// Makes a write that ends a mandate, on the condition of the revision that was read.
fn end(kept: &Kept) -> Write {
    let mut watched = kept.watched.clone();
    let record = watched.end(begin()).unwrap();
    Write {
        revision: kept.revision,
        lease: None,
        due_at: watched.due_at(),
        watched,
        records: record.into_iter().collect(),
    }
}

/// Where a store keeps its content. It must live as long as the store.
enum Home {
    Memory,
    File { _stage: Stage },
    Database { _schema: Schema },
}

/// Two handles of one store, and where the store keeps its content.
type Handles = (Arc<dyn Store>, Arc<dyn Store>, Home);

async fn postgres(schema: &Schema) -> Arc<dyn Store> {
    Arc::new(PostgresStore::open(schema.connect()).await.unwrap())
}

/// Opens two handles of each kind of store. PostgreSQL is left out when there is no database.
async fn each() -> Vec<Handles> {
    let memory = MemoryStore::default();
    let stage = Stage::new();
    let (one, two) = (stage.store(), stage.store());
    let mut each: Vec<Handles> = vec![
        (Arc::new(memory.clone()), Arc::new(memory), Home::Memory),
        (Arc::new(one), Arc::new(two), Home::File { _stage: stage }),
    ];
    if let Some(schema) = Schema::new() {
        let (one, two) = (postgres(&schema).await, postgres(&schema).await);
        each.push((one, two, Home::Database { _schema: schema }));
    }
    each
}

#[tokio::test]
async fn one_handle_reads_the_writes_of_the_other() {
    for (one, two, _stage) in each().await {
        one.probe().await.unwrap();
        let kept = one.create(creation("a", OWNER)).await.unwrap();
        assert_eq!(two.find("a").await, Ok(Some(kept.clone())));
        assert_eq!(two.find("b").await, Ok(None));
        assert_eq!(two.find("a\0").await, Ok(None));
        assert!(two.write(end(&kept)).await.unwrap() > kept.revision);
        let ended = one.find("a").await.unwrap().unwrap();
        assert!(ended.watched.mandate().ended.is_some());
        assert_eq!((ended.due_at, ended.place), (None, kept.place));
        let records = one.records("a", 0, 9).await.unwrap();
        assert_eq!(events(&records).len(), 2);
        assert_eq!(one.records("a", 1, 9).await.unwrap(), records[1..]);
        assert_eq!(one.records("a", 0, 1).await.unwrap(), records[..1]);
        assert_eq!(one.records("b", 0, 9).await.unwrap(), []);
    }
}

#[tokio::test]
async fn of_two_writes_on_one_reading_one_is_made() {
    for (one, two, _stage) in each().await {
        let kept = one.create(creation("a", OWNER)).await.unwrap();
        assert!(one.write(end(&kept)).await.is_ok());
        assert_eq!(two.write(end(&kept)).await, Err(StoreError::Conflict));
        assert_eq!(one.records("a", 0, 9).await.unwrap().len(), 2);
        let mut other = creation("b", OWNER);
        let unknown = Kept {
            place: 9,
            revision: 1,
            due_at: None,
            watched: other.watched.clone(),
        };
        assert_eq!(two.write(end(&unknown)).await, Err(StoreError::Conflict));
        // A second creation with the same id returns the existing mandate.
        other = creation("a", OTHER);
        let again = two.create(other).await.unwrap();
        assert_eq!(again.watched.mandate().owner, OWNER);
    }
}

#[tokio::test]
async fn a_lease_has_one_holder_and_its_token_rises() {
    for (one, two, _stage) in each().await {
        let kept = one.create(creation("a", OWNER)).await.unwrap();
        let at = |seconds: i64| begin() + jiff::SignedDuration::from_secs(seconds);
        let first = one.acquire("a", "p", at(0), 60).await.unwrap().unwrap();
        assert_eq!(two.acquire("a", "q", at(59), 60).await, Ok(None));
        let renewed = one.acquire("a", "p", at(59), 60).await.unwrap();
        assert_eq!(renewed.as_ref(), Some(&first));
        assert_eq!(two.acquire("a", "q", at(118), 60).await, Ok(None));
        let second = two.acquire("a", "q", at(119), 60).await.unwrap().unwrap();
        assert!(second.token > first.token);
        let late = Write {
            lease: Some(first.clone()),
            ..end(&kept)
        };
        assert_eq!(one.write(late).await, Err(StoreError::Fenced));
        // A former holder cannot give the lease back.
        one.give_back(first, "p").await.unwrap();
        assert_eq!(one.acquire("a", "p", at(120), 60).await, Ok(None));
        two.give_back(second, "q").await.unwrap();
        assert!(one.acquire("a", "p", at(120), 60).await.unwrap().is_some());
        // The clocks of processes may differ a little.
        assert_eq!(two.acquire("a", "q", at(61), 60).await, Ok(None));
        // The clock was set back: no lease that is taken now could end as late as the stored one.
        assert!(two.acquire("a", "q", at(0), 60).await.unwrap().is_some());
        assert_eq!(two.acquire("b", "q", at(0), 60).await, Ok(None));
    }
}

#[tokio::test]
async fn due_mandates_are_listed_the_longest_due_first() {
    for (one, _two, _stage) in each().await {
        for id in ["a", "b", "c"] {
            one.create(creation(id, OWNER)).await.unwrap();
        }
        let soon = begin() + jiff::SignedDuration::from_secs(60);
        let due = one.due(soon, 9).await.unwrap();
        assert_eq!(due.len(), 3);
        let mut times = Vec::new();
        for id in &due {
            times.push(one.find(id).await.unwrap().unwrap().due_at);
        }
        assert!(times.is_sorted());
        assert_eq!(one.due(soon, 2).await.unwrap(), due[..2]);
        let before = begin() - jiff::SignedDuration::from_secs(1);
        assert_eq!(one.due(before, 9).await, Ok(Vec::new()));
        one.write(end(&one.find("b").await.unwrap().unwrap()))
            .await
            .unwrap();
        assert!(!one.due(soon, 9).await.unwrap().contains(&"b".to_owned()));
    }
}

#[tokio::test]
async fn another_file_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.db");
    let open = || SqliteStore::open(path.clone());
    drop(open().unwrap());
    assert!(open().is_ok());
    std::fs::write(&path, [0xa5; 8192]).unwrap();
    let mut wal = path.clone().into_os_string();
    wal.push("-wal");
    let _ = std::fs::remove_file(wal);
    assert_eq!(open().unwrap_err().code(), "database_damaged");
}

/// Many processes create mandates for one owner. The limit holds, the places rise, and an id has
/// one mandate.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn creations_race() {
    let most = u8::try_from(MAX_ACTIVE).unwrap();
    for (one, two, _stage) in each().await {
        for id in 4..most {
            let id = format!("before-{id}");
            one.create(creation(&id, OWNER)).await.unwrap();
        }
        let mut races = tokio::task::JoinSet::new();
        // Each of eight mandates is created twice, and there is room for four.
        for number in 0..16 {
            let store = if number % 2 == 0 { &one } else { &two };
            let store = Arc::clone(store);
            let creation = creation(&(number / 2).to_string(), OWNER);
            races.spawn(async move { store.create(creation).await });
        }
        let made = races.join_all().await;
        let is_refused = |made: &Result<Kept, StoreError>| *made == Err(StoreError::TooMany);
        assert_eq!(made.iter().filter(|made| is_refused(made)).count(), 8);
        assert_eq!(made.iter().filter(|made| made.is_ok()).count(), 8);
        let list = two.list(OWNER, None, u32::MAX).await.unwrap();
        assert_eq!(list.len(), MAX_ACTIVE);
        assert!(list.is_sorted_by(|newer, older| newer.place > older.place));
        let next = one.list(OWNER, Some(list[3].place), 2).await.unwrap();
        assert_eq!(next, list[4..6]);
        for kept in &list {
            let id = &kept.watched.mandate().id;
            assert_eq!(one.records(id, 0, 9).await.unwrap().len(), 1);
        }
    }
}

/// One of many holders gets the lease. One of many writes on one reading succeeds with its records.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn holders_and_writes_race() {
    for (one, two, _stage) in each().await {
        let kept = one.create(creation("a", OWNER)).await.unwrap();
        let mut races = tokio::task::JoinSet::new();
        for number in 0..16 {
            let store = if number % 2 == 0 { &one } else { &two };
            let (store, write) = (Arc::clone(store), end(&kept));
            races.spawn(async move {
                let holder = number.to_string();
                let lease = store.acquire("a", &holder, begin(), 60).await.unwrap();
                (lease.is_some(), store.write(write).await)
            });
        }
        let raced = races.join_all().await;
        assert_eq!(raced.iter().filter(|(held, _)| *held).count(), 1);
        assert_eq!(raced.iter().filter(|(_, made)| made.is_ok()).count(), 1);
        let late = |made: &Result<u64, StoreError>| *made == Err(StoreError::Conflict);
        assert_eq!(raced.iter().filter(|(_, made)| late(made)).count(), 15);
        assert_eq!(one.records("a", 0, 9).await.unwrap().len(), 2);
    }
}

#[tokio::test]
async fn a_database_refuses_to_change_an_audit() {
    let Some(schema) = Schema::new() else { return };
    let (store, database) = (postgres(&schema).await, schema.connect());
    store.create(creation("a", OWNER)).await.unwrap();
    for sql in [
        "UPDATE watch_record SET seq = 9",
        "DELETE FROM watch_record",
        "TRUNCATE watch_record",
    ] {
        let refused = database.query("change", sql, &[]).await.unwrap_err();
        assert_eq!(refused.code(), "postgres_query", "{sql}");
    }
    assert_eq!(store.records("a", 0, 9).await.unwrap().len(), 1);
}

/// After a failover, a replica may lack the last commits.
#[tokio::test]
async fn a_lease_and_a_revision_that_the_database_has_lost_are_refused() {
    let Some(schema) = Schema::new() else { return };
    let (one, two) = (postgres(&schema).await, postgres(&schema).await);
    let kept = one.create(creation("a", OWNER)).await.unwrap();
    schema.keep().await;
    let lost = one.acquire("a", "p", begin(), 60).await.unwrap();
    let looked = Write {
        records: Vec::new(),
        watched: kept.watched.clone(),
        ..end(&kept)
    };
    let revision = one.write(looked.clone()).await.unwrap();
    schema.lose().await;

    // A check under the lost lease is refused.
    let taken = two.acquire("a", "q", begin(), 60).await.unwrap();
    assert!(taken.is_some());
    let late = Write {
        lease: lost,
        ..looked.clone()
    };
    assert_eq!(one.write(late).await, Err(StoreError::Fenced));
    // A write on the lost revision does not undo the end.
    two.write(end(&kept)).await.unwrap();
    let late = Write { revision, ..looked };
    assert_eq!(one.write(late).await, Err(StoreError::Conflict));
    let kept = two.find("a").await.unwrap().unwrap();
    assert!(kept.watched.mandate().ended.is_some());
}

/// A call whose payment was released meanwhile creates no mandate. It still finds the mandate that
/// the payment has.
#[tokio::test]
async fn a_mandate_is_made_only_while_its_payment_is_claimed() {
    let Some(schema) = Schema::new() else { return };
    let (store, database) = (postgres(&schema).await, schema.connect());
    for sql in [
        "CREATE TABLE claimed (number bigint PRIMARY KEY)",
        "INSERT INTO claimed VALUES (7)",
    ] {
        database.query("claim", sql, &[]).await.unwrap();
    }
    let claimed = |id| {
        let sql = "SELECT number FROM claimed WHERE number = $1 FOR SHARE";
        Creation {
            claim: Some(Condition::new(sql, vec![7])),
            ..creation(id, OWNER)
        }
    };
    let kept = store.create(claimed("a")).await.unwrap();
    let release = "DELETE FROM claimed";
    database.query("release", release, &[]).await.unwrap();
    let late = store.create(claimed("b")).await;
    assert_eq!(late, Err(StoreError::ClaimLost));
    assert_eq!(store.find("b").await, Ok(None));
    assert_eq!(store.create(claimed("a")).await, Ok(kept));
}
