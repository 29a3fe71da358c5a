//! Tests of the promises that every store of records makes.

mod turns;

use std::sync::Arc;

use alloy_primitives::{Address, B256, Bytes};
use tx_sender::{
    Attempt, Closing, Fees, Inclusion, Kind, Lane, MemoryStore, Record, Store, StoreError, Takeover,
};

use crate::support::{LANE, NOW, transfer};

const OTHER: Lane = Lane {
    chain_id: 8453,
    account: Address::repeat_byte(9),
};

fn record(key: &str) -> Record {
    Record::prepared(key, LANE, transfer(1), NOW)
}

fn attempt(byte: u8) -> Attempt {
    Attempt {
        kind: Kind::Request,
        fees: Fees::Dynamic {
            max: u128::MAX,
            tip: 3,
        },
        hash: B256::repeat_byte(byte),
        raw: Bytes::from(vec![byte; 200]),
        noop_gas: None,
    }
}

async fn take(store: &dyn Store, holder: &str, now: u64) -> Option<tx_sender::Fence> {
    store
        .acquire(LANE, holder, now, 30, Takeover::WhenOver)
        .await
        .unwrap()
}

async fn a_key_has_one_record(store: &dyn Store) {
    let first = store.insert(record("a")).await.unwrap();
    let again = store.insert(record("a")).await.unwrap();
    assert_eq!(first, again);
    let other = store.insert(record("b")).await.unwrap();
    assert!(other.id > first.id);
    assert_eq!(store.get("a").await.unwrap(), Some(first.clone()));
    assert_eq!(store.get("c").await.unwrap(), None);
    assert_eq!(store.live(LANE).await.unwrap(), [first, other]);
    assert_eq!(store.live(OTHER).await.unwrap(), []);
    assert_eq!(store.lanes().await.unwrap(), [LANE]);
}

async fn a_write_is_conditional_on_the_revision(store: &dyn Store) {
    let fence = take(store, "one", NOW).await.unwrap();
    let read = store.insert(record("a")).await.unwrap();
    let written = store
        .write(fence, vec![read.claim(5).unwrap()])
        .await
        .unwrap();
    assert!(written[0].revision > read.revision);
    let stale = store.write(fence, vec![read.claim(6).unwrap()]).await;
    assert_eq!(stale.unwrap_err().code(), "sender_record_conflict");
    let stale = store.amend(read.close(Closing::Cancelled).unwrap()).await;
    assert_eq!(stale.unwrap_err().code(), "sender_record_conflict");
    // The store keeps all members of a record.
    let signed = written[0].sign(attempt(1)).unwrap();
    let written = store.write(fence, vec![signed.clone()]).await.unwrap();
    let expected = Record {
        revision: written[0].revision,
        ..signed
    };
    assert_eq!(store.get("a").await.unwrap().unwrap(), expected);
}

async fn a_nonce_has_one_record(store: &dyn Store) {
    let fence = take(store, "one", NOW).await.unwrap();
    let (a, b) = (
        store.insert(record("a")).await.unwrap(),
        store.insert(record("b")).await.unwrap(),
    );
    let both = vec![a.claim(5).unwrap(), b.claim(5).unwrap()];
    let refused = store.write(fence, both).await.unwrap_err();
    assert_eq!(refused.code(), "sender_record_conflict");
    // The write takes effect as a whole or not at all.
    assert_eq!(store.get("a").await.unwrap(), Some(a.clone()));
    let written = store.write(fence, vec![a.claim(5).unwrap()]).await.unwrap();
    let refused = store.write(fence, vec![b.claim(5).unwrap()]).await;
    assert!(matches!(refused, Err(StoreError::Conflict { .. })));
    // A released nonce is free again.
    let released = written[0].release().unwrap();
    store.write(fence, vec![released]).await.unwrap();
    store.write(fence, vec![b.claim(5).unwrap()]).await.unwrap();
}

async fn a_lane_has_one_holder_and_a_later_one_a_higher_token(store: &dyn Store) {
    let record = store.insert(record("a")).await.unwrap();
    let one = take(store, "one", NOW).await.unwrap();
    assert_eq!(take(store, "two", NOW + 29).await, None);
    assert_eq!(take(store, "one", NOW + 29).await, Some(one));
    assert_eq!(take(store, "two", NOW + 58).await, None);
    let two = take(store, "two", NOW + 59).await.unwrap();
    assert!(two.token > one.token);
    // The first sender does not know yet that it has lost the lane.
    let late = store.write(one, vec![record.claim(1).unwrap()]).await;
    assert_eq!(late, Err(StoreError::Fenced { lane: LANE }));
    assert_eq!(take(store, "one", NOW + 60).await, None);
    let written = store
        .write(two, vec![record.claim(1).unwrap()])
        .await
        .unwrap();

    store.give_back(one, "one").await.unwrap();
    assert_eq!(take(store, "three", NOW + 60).await, None);
    store.give_back(two, "two").await.unwrap();
    let three = take(store, "three", NOW + 60).await.unwrap();
    assert!(three.token > two.token);
    let late = store.write(two, vec![written[0].release().unwrap()]).await;
    assert_eq!(late, Err(StoreError::Fenced { lane: LANE }));

    // The clock of another machine may be behind.
    assert_eq!(take(store, "four", NOW + 30).await, None);
    // The clock is set back by a day. Such a lease counts as over.
    let four = take(store, "four", NOW - 86_400).await.unwrap();
    assert!(four.token > three.token);
    let five = store
        .acquire(LANE, "five", NOW - 86_400, 30, Takeover::AtOnce)
        .await
        .unwrap();
    assert!(five.unwrap().token > four.token);
    // A lease on one lane gives no right to write to another lane.
    let other = store
        .acquire(OTHER, "one", NOW, 30, Takeover::WhenOver)
        .await
        .unwrap();
    let foreign = store
        .write(other.unwrap(), vec![written[0].release().unwrap()])
        .await;
    assert_eq!(foreign, Err(StoreError::Fenced { lane: OTHER }));
}

async fn final_records_are_pruned_and_open_ones_are_not(store: &dyn Store) {
    let fence = take(store, "one", NOW).await.unwrap();
    let (open, done) = (
        store.insert(record("open")).await.unwrap(),
        store.insert(record("done")).await.unwrap(),
    );
    let inclusion = Inclusion {
        hash: B256::repeat_byte(1),
        number: u64::MAX,
        block: B256::repeat_byte(2),
        succeeded: true,
    };
    let signed = done.claim(3).unwrap().sign(attempt(1)).unwrap();
    let mined = signed.broadcast().unwrap().mine(inclusion).unwrap();
    let end = mined.seal().unwrap().finish().unwrap();
    store.write(fence, vec![end]).await.unwrap();
    assert_eq!(store.live(LANE).await.unwrap(), [open]);
    assert!(store.get("done").await.unwrap().unwrap().is_final);
    assert_eq!(store.prune(NOW).await.unwrap(), 0);
    assert_eq!(store.prune(NOW + 1).await.unwrap(), 1);
    assert_eq!(store.get("done").await.unwrap(), None);
    assert!(store.get("open").await.unwrap().is_some());
}

/// When several senders claim a nonce at the same time, exactly one of them gets it.
async fn claims_race(store: Arc<dyn Store>) {
    let fence = take(&*store, "one", NOW).await.unwrap();
    let mut claims = tokio::task::JoinSet::new();
    for number in 0..8 {
        let store = Arc::clone(&store);
        claims.spawn(async move {
            let read = store.insert(record(&number.to_string())).await.unwrap();
            let claimed = store.write(fence, vec![read.claim(9).unwrap()]).await;
            claimed.is_ok()
        });
    }
    let won = claims.join_all().await.into_iter().filter(|won| *won);
    assert_eq!(won.count(), 1);
}

macro_rules! conforms {
    ($make:expr) => {
        #[tokio::test]
        async fn a_key_has_one_record() {
            super::a_key_has_one_record(&*$make.0).await;
        }

        #[tokio::test]
        async fn a_write_is_conditional_on_the_revision() {
            super::a_write_is_conditional_on_the_revision(&*$make.0).await;
        }

        #[tokio::test]
        async fn a_nonce_has_one_record() {
            super::a_nonce_has_one_record(&*$make.0).await;
        }

        #[tokio::test]
        async fn a_lane_has_one_holder_and_a_later_one_a_higher_token() {
            super::a_lane_has_one_holder_and_a_later_one_a_higher_token(&*$make.0).await;
        }

        #[tokio::test]
        async fn final_records_are_pruned_and_open_ones_are_not() {
            super::final_records_are_pruned_and_open_ones_are_not(&*$make.0).await;
        }

        #[tokio::test]
        async fn claims_race() {
            let made = $make;
            super::claims_race(made.0.clone()).await;
        }
    };
}

mod in_memory {
    use super::*;

    fn make() -> (Arc<dyn Store>, ()) {
        (Arc::new(MemoryStore::default()), ())
    }

    conforms!(make());
}

mod in_sqlite {
    use super::*;

    fn make() -> (Arc<dyn Store>, tempfile::TempDir) {
        let folder = tempfile::tempdir().unwrap();
        let store = tx_sender::SqliteStore::open(folder.path().join("sender.db")).unwrap();
        (Arc::new(store), folder)
    }

    conforms!(make());

    /// Two handles act as two processes on the file.
    #[tokio::test]
    async fn the_file_is_shared_and_survives() {
        let folder = tempfile::tempdir().unwrap();
        let open = || tx_sender::SqliteStore::open(folder.path().join("sender.db")).unwrap();
        let (one, two) = (open(), open());
        let fence = take(&one, "one", NOW).await.unwrap();
        assert_eq!(take(&two, "two", NOW).await, None);
        let read = two.insert(record("a")).await.unwrap();
        let written = one
            .write(fence, vec![read.claim(1).unwrap()])
            .await
            .unwrap();
        assert_eq!(two.get("a").await.unwrap().as_ref(), Some(&written[0]));
        drop((one, two));
        let three = open();
        assert_eq!(three.live(LANE).await.unwrap(), written);
        assert_eq!(take(&three, "one", NOW).await, Some(fence));
    }
}

/// The same tests on a database. Without a database they do nothing.
pub(crate) mod in_postgres {
    use test_support::postgres::Schema;

    use super::*;

    pub(crate) async fn stores<const N: usize>() -> Option<(Schema, [Arc<dyn Store>; N])> {
        let (schema, stores) = opened(["settlement"; N]).await?;
        Some((schema, stores.map(|store| Arc::new(store) as _)))
    }

    /// Opens stores on these books of one schema.
    pub(super) async fn opened<const N: usize>(
        books: [&'static str; N],
    ) -> Option<(Schema, [tx_sender::PostgresStore; N])> {
        let schema = Schema::new()?;
        let mut stores = Vec::new();
        for book in books {
            let store = tx_sender::PostgresStore::open(schema.connect(), book).await;
            stores.push(store.unwrap());
        }
        Some((schema, stores.try_into().ok()?))
    }

    macro_rules! conforms {
        ($($rule:ident),*) => {
            $(
                #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn $rule() {
                    if let Some((_schema, [store])) = stores().await {
                        super::$rule(&*store).await;
                    }
                }
            )*
        };
    }

    conforms!(
        a_key_has_one_record,
        a_write_is_conditional_on_the_revision,
        a_nonce_has_one_record,
        a_lane_has_one_holder_and_a_later_one_a_higher_token,
        final_records_are_pruned_and_open_ones_are_not
    );

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn claims_race() {
        if let Some((_schema, [store])) = stores().await {
            super::claims_race(store).await;
        }
    }

    /// A replica that takes over may lack the last holder of a lane.
    #[tokio::test]
    async fn a_token_that_the_database_has_lost_gives_no_right() {
        let Some((schema, [one, two])) = stores().await else {
            return;
        };
        let fence = take(&*one, "one", NOW).await.unwrap();
        let read = two.insert(record("a")).await.unwrap();
        let lose = "DELETE FROM sender_lane";
        schema.connect().query("lose", lose, &[]).await.unwrap();
        assert!(take(&*two, "two", NOW).await.is_some());
        let written = one.write(fence, vec![read.claim(1).unwrap()]).await;
        assert_eq!(written, Err(StoreError::Fenced { lane: LANE }));
    }

    /// If a request were closed by a lost revision, the bytes that were signed since would be
    /// forgotten.
    #[tokio::test]
    async fn a_revision_that_the_database_has_lost_gives_no_right() {
        let Some((schema, [one, two])) = stores().await else {
            return;
        };
        let fence = take(&*one, "one", NOW).await.unwrap();
        let read = one.insert(record("a")).await.unwrap();
        schema.keep().await;
        let lost = one.write(fence, vec![read.claim(5).unwrap()]).await;
        schema.lose().await;
        let written = two.write(fence, vec![read.claim(6).unwrap()]).await;
        let closed = lost.unwrap()[0].close(Closing::Cancelled).unwrap();
        let refused = one.amend(closed).await.unwrap_err();
        assert_eq!(refused.code(), "sender_record_conflict");
        let found = two.get("a").await.unwrap();
        assert_eq!(found.as_ref(), written.unwrap().first());
    }

    /// Two handles act as two processes on the database.
    #[tokio::test]
    async fn the_database_is_shared() {
        let Some((_schema, [one, two])) = stores().await else {
            return;
        };
        let fence = take(&*one, "one", NOW).await.unwrap();
        assert_eq!(take(&*two, "two", NOW).await, None);
        let read = two.insert(record("a")).await.unwrap();
        let written = one
            .write(fence, vec![read.claim(1).unwrap()])
            .await
            .unwrap();
        assert_eq!(two.get("a").await.unwrap().as_ref(), Some(&written[0]));
        assert_eq!(two.live(LANE).await.unwrap(), written);
        assert_eq!(take(&*two, "one", NOW).await, Some(fence));
    }
}
