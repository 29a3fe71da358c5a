//! Tests of the promises that every store with turns makes.
//!
//! The store decides when a lease ends: in memory by the clock of the runtime, in a database by the
//! clock of the database.

use std::sync::Arc;
use std::time::Duration;

use alloy_primitives::Address;
use test_support::eventually;
use tx_sender::{
    Closing, Lane, MemoryStore, Store, StoreError, Takeover, TurnEnd, TurnFence, TurnStore,
};

use super::{LANE, NOW, record};

const ACCOUNT: Address = Address::repeat_byte(7);
/// A lease that is longer than every test.
const LONG: Duration = Duration::from_secs(600);
const SHORT: Duration = Duration::from_millis(200);

async fn take<S: TurnStore>(store: &S, work: &str) -> Option<TurnFence> {
    store.take_turn(ACCOUNT, work, LONG).await.unwrap()
}

/// Waits until the turn is free for a work, and takes it for a long time.
async fn taken<S: TurnStore>(store: &S, work: &str) -> TurnFence {
    eventually("the turn", async || take(store, work).await).await
}

async fn an_account_has_one_turn_and_a_later_one_a_higher_token<S: TurnStore>(store: &S) {
    let one = take(store, "a").await.unwrap();
    assert_eq!(one.account, ACCOUNT);
    for work in ["a", "b"] {
        assert_eq!(take(store, work).await, None);
    }
    let other = Address::repeat_byte(8);
    let other = store.take_turn(other, "b", LONG).await.unwrap();
    assert!(other.is_some());
    assert!(store.renew_turn(one, LONG).await.unwrap());
    store.end_turn(one, TurnEnd::Finished).await.unwrap();
    let two = take(store, "b").await.unwrap();
    assert!(two.token > one.token);
    // What the first holder does too late has no effect.
    assert!(!store.renew_turn(one, LONG).await.unwrap());
    store.end_turn(one, TurnEnd::Finished).await.unwrap();
    assert_eq!(take(store, "a").await, None);
}

async fn interrupted_work_comes_first_for_the_length_of_a_lease<S: TurnStore>(store: &S) {
    let one = take(store, "a").await.unwrap();
    store.end_turn(one, TurnEnd::Interrupted).await.unwrap();
    assert_eq!(take(store, "b").await, None);
    let two = take(store, "a").await.unwrap();
    assert!(two.token > one.token);
    store.end_turn(two, TurnEnd::Interrupted).await.unwrap();
    // The other work waits for the length of the lease that it asks for.
    let brief = Duration::from_millis(1);
    let others = async || store.take_turn(ACCOUNT, "b", brief).await.unwrap();
    eventually("the turn of other work", others).await;
}

async fn a_lease_ends_and_goes_on_only_while_nobody_has_taken_it<S: TurnStore>(store: &S) {
    let one = store.take_turn(ACCOUNT, "a", SHORT).await.unwrap();
    let one = one.unwrap();
    // On a database this is real time, because its clock ends the lease. The holder gets no notice
    // of the end.
    tokio::time::sleep(SHORT).await;
    assert!(store.renew_turn(one, SHORT).await.unwrap());
    let two = taken(store, "a").await;
    assert!(two.token > one.token);
    assert!(!store.renew_turn(one, LONG).await.unwrap());
    assert!(store.renew_turn(two, LONG).await.unwrap());
}

async fn only_the_newest_turn_submits<S: TurnStore + Store>(store: &S) {
    let one = take(store, "a").await.unwrap();
    let first = store.insert_in_turn(record("a"), one).await.unwrap();
    assert_eq!(store.get("a").await.unwrap(), Some(first.clone()));
    store.end_turn(one, TurnEnd::Finished).await.unwrap();
    let two = take(store, "b").await.unwrap();
    let lost = Err(StoreError::TurnLost { account: ACCOUNT });
    assert_eq!(store.insert_in_turn(record("b"), one).await, lost);
    assert_eq!(store.get("b").await.unwrap(), None);
    // A record that is already there is no new submission.
    assert_eq!(
        store.insert_in_turn(record("a"), one).await,
        Ok(first.clone())
    );
    let second = store.insert_in_turn(record("b"), two).await.unwrap();
    assert!(second.id > first.id);
    assert_eq!(store.live(LANE).await.unwrap(), [first, second]);
    // Nobody was ever given this token.
    let never = TurnFence {
        token: two.token + 1,
        ..two
    };
    assert_eq!(store.insert_in_turn(record("c"), never).await, lost);
    assert_eq!(store.insert(record("c")).await.unwrap().key, "c");
}

async fn the_next_nonce_follows_those_of_all_records<S: TurnStore + Store>(store: &S) {
    let next = async || store.next_nonce(LANE).await.unwrap();
    let read = store.insert(record("a")).await.unwrap();
    assert_eq!(next().await, None);
    let fence = store
        .acquire(LANE, "one", NOW, 60, Takeover::WhenOver)
        .await;
    let fence = fence.unwrap().unwrap();
    let claimed = vec![read.claim(5).unwrap()];
    store.write(fence, claimed).await.unwrap();
    assert_eq!(next().await, Some(6));
    // Another request waits for its nonce.
    let waiting = store.insert(record("b")).await.unwrap();
    assert_eq!(next().await, Some(7));
    let closed = waiting.close(Closing::Cancelled).unwrap();
    store.amend(closed).await.unwrap();
    assert_eq!(next().await, Some(6));
    let other = Lane {
        chain_id: LANE.chain_id + 1,
        ..LANE
    };
    assert_eq!(store.next_nonce(other).await.unwrap(), None);
}

/// Checks that the next holder of a turn finds every record that was inserted under the earlier
/// turn.
async fn submissions_race_a_turn<S: TurnStore + Store>(store: Arc<S>) {
    let one = take(&*store, "a").await.unwrap();
    let mut submissions = tokio::task::JoinSet::new();
    for number in 0..40 {
        let store = Arc::clone(&store);
        submissions.spawn(async move {
            let key = format!("raced {number}");
            store.insert_in_turn(record(&key), one).await.is_ok()
        });
    }
    // Some submissions are done, and the others are in progress.
    submissions.join_next().await;
    store.end_turn(one, TurnEnd::Finished).await.unwrap();
    take(&*store, "b").await.unwrap();
    let found = store.live(LANE).await.unwrap();
    let inserted = 1 + submissions
        .join_all()
        .await
        .iter()
        .filter(|done| **done)
        .count();
    assert_eq!(found.len(), inserted);
    assert_eq!(store.live(LANE).await.unwrap(), found);
}

mod in_memory {
    use super::*;

    macro_rules! conforms {
        ($($rule:ident),*) => {
            $(
                #[tokio::test(start_paused = true)]
                async fn $rule() {
                    super::$rule(&MemoryStore::default()).await;
                }
            )*
        };
    }

    conforms!(
        an_account_has_one_turn_and_a_later_one_a_higher_token,
        interrupted_work_comes_first_for_the_length_of_a_lease,
        a_lease_ends_and_goes_on_only_while_nobody_has_taken_it,
        only_the_newest_turn_submits,
        the_next_nonce_follows_those_of_all_records
    );

    #[tokio::test(start_paused = true)]
    async fn submissions_race_a_turn() {
        super::submissions_race_a_turn(Arc::new(MemoryStore::default())).await;
    }
}

/// The same tests on a database. Without a database they do nothing.
mod in_postgres {
    use super::super::in_postgres::opened;
    use super::*;

    macro_rules! conforms {
        ($($rule:ident),*) => {
            $(
                #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn $rule() {
                    if let Some((_schema, [store])) = opened(["wallets"]).await {
                        super::$rule(&store).await;
                    }
                }
            )*
        };
    }

    conforms!(
        an_account_has_one_turn_and_a_later_one_a_higher_token,
        interrupted_work_comes_first_for_the_length_of_a_lease,
        a_lease_ends_and_goes_on_only_while_nobody_has_taken_it,
        only_the_newest_turn_submits,
        the_next_nonce_follows_those_of_all_records
    );

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn submissions_race_a_turn() {
        for _ in 0..10 {
            if let Some((_schema, [store])) = opened(["wallets"]).await {
                super::submissions_race_a_turn(Arc::new(store)).await;
            }
        }
    }

    /// An account has one turn in the whole database.
    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn books_share_turns() {
        if let Some((_schema, [one, two])) = opened(["wallets", "settlement"]).await {
            let turn = take(&one, "a").await.unwrap();
            assert_eq!(take(&two, "a").await, None);
            two.insert_in_turn(record("a"), turn).await.unwrap();
            assert_eq!(one.get("a").await.unwrap(), None);
        }
    }

    /// A replica that takes over may lack the last turns.
    #[tokio::test]
    async fn a_turn_that_the_database_has_lost_gives_no_right() {
        let Some((schema, [one, two])) = opened(["wallets"; 2]).await else {
            return;
        };
        let lost = take(&one, "a").await.unwrap();
        let lose = "DELETE FROM sender_turn";
        schema.connect().query("lose", lose, &[]).await.unwrap();
        let turn = take(&two, "b").await.unwrap();
        let refused = Err(StoreError::TurnLost {
            account: lost.account,
        });
        assert_eq!(one.insert_in_turn(record("a"), lost).await, refused);
        assert_eq!(
            two.insert_in_turn(record("a"), turn).await.unwrap().key,
            "a"
        );
    }
}

/// A file gives out no turns, and accepts none of another store.
#[tokio::test]
async fn a_file_refuses_new_records_with_a_turn() {
    let folder = tempfile::tempdir().unwrap();
    let store = tx_sender::SqliteStore::open(folder.path().join("sender.db")).unwrap();
    let turn = take(&MemoryStore::default(), "a").await.unwrap();
    let lost = Err(StoreError::TurnLost { account: ACCOUNT });
    assert_eq!(store.insert_in_turn(record("a"), turn).await, lost);
    let known = store.insert(record("a")).await.unwrap();
    assert_eq!(store.insert_in_turn(record("a"), turn).await, Ok(known));
}
