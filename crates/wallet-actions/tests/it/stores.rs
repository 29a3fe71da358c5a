//! Tests of the promises of every store: the file, the database, and the store in memory for tests
//! in simulated time.

use std::sync::Arc;

use alloy_primitives::{Address, B256, Bytes};
use serde_json::Value;
use storage::postgres::{Condition, Postgres};
use test_support::postgres::Schema;
use wallet_actions::{
    At, CHARGED_WITHIN_SECONDS, Intent, Operation, PostgresStore, SqliteStore, State, Status, Step,
    StepKind, Store, StoreError,
};

use crate::memory::Memory;
use crate::mortal::payment;

fn intent(id: u8, number: u8, wallet: u8) -> Intent {
    let id = alloy_primitives::hex::encode([id; 16]);
    Intent {
        id: id.parse().unwrap(),
        revision: 0,
        owner: "eip155:196:0x70997970C51812dc3A010C7d01b50e0d17dc79C8".to_owned(),
        wallet: Address::repeat_byte(wallet),
        payment: payment(number),
        call: "the call".to_owned(),
        purchase: None,
        awaits_charge: true,
        price_micro_usd: 50_000,
        operation: Operation::Withdraw,
        created_at: 100 + u64::from(number),
        not_after: 900,
        state: State::Running,
        halted: None,
        held: None,
        steps: Vec::new(),
        allowance: None,
        bridge: None,
        plan: Value::Null,
        ended_at: None,
        is_final: false,
        uncharged_at: None,
        reorganised_at: None,
    }
}

/// Makes a transaction that was ordered and not sent.
fn unsent() -> Step {
    Step {
        kind: StepKind::Transfer,
        chain_id: 196,
        to: Address::ZERO,
        input: Bytes::new(),
        expects: None,
        returns_amount: false,
        returns_at_most: None,
        status: Status::Unsent,
    }
}

/// Checks that a forbidden payment begins nothing, and that its earlier intent stays.
async fn forbids(store: &dyn Store) {
    assert_eq!(store.forbidden(payment(20)).await.unwrap(), None);
    let forbidden = store.forbid(payment(20), "cancelled", 107).await.unwrap();
    assert_eq!(
        (forbidden.reason.as_str(), forbidden.intent),
        ("cancelled", None)
    );
    // The first reason is kept.
    let again = store.forbid(payment(20), "paused", 108).await.unwrap();
    assert_eq!(again.reason, "cancelled");
    let refused = StoreError::Forbidden {
        reason: "cancelled".to_owned(),
    };
    assert_eq!(
        store.insert(intent(20, 20, 20), None).await,
        Err(refused.clone())
    );
    assert_eq!(store.of_payment(payment(20)).await.unwrap(), None);
    assert_eq!(
        store.forbidden(payment(20)).await.unwrap().as_deref(),
        Some("cancelled")
    );
    // An existing intent continues. After it has ended without effect, no other one may begin.
    let begun = store.insert(intent(21, 21, 21), None).await.unwrap();
    let forbidden = store.forbid(payment(21), "cancelled", 109).await.unwrap();
    assert_eq!(forbidden.intent, Some(begun.clone()));
    assert_eq!(
        store.insert(intent(22, 21, 21), None).await,
        Ok(begun.clone())
    );
    let ended = Intent {
        state: State::Cancelled,
        ..begun
    };
    let ended = store.write(ended).await.unwrap();
    assert_eq!(store.insert(intent(23, 21, 21), None).await, Err(refused));
    assert_eq!(store.of_payment(payment(21)).await.unwrap(), Some(ended));
}

/// Stores an intent of its own payment and wallet, and writes this change of it.
async fn stored(
    store: &dyn Store,
    number: u8,
    at: u64,
    change: impl FnOnce(&mut Intent),
) -> Intent {
    let new = Intent {
        created_at: at,
        ..intent(number, number, number)
    };
    let mut stored = store.insert(new, None).await.unwrap();
    change(&mut stored);
    store.write(stored).await.unwrap()
}

/// Checks that a purchase begins no second intent while its first one may still be charged.
async fn begins_no_purchase_twice(store: &dyn Store) {
    const AT: u64 = 500_000;
    let bought = |number: u8, purchase: u8, created_at| Intent {
        created_at,
        purchase: Some(B256::repeat_byte(purchase)),
        ..intent(number, number, number)
    };
    let first = store.insert(bought(60, 1, AT), None).await.unwrap();
    let uncharged = Err(StoreError::Uncharged {
        intent: first.id.clone(),
    });
    let following = Intent {
        state: State::Following,
        ..first.clone()
    };
    let following = store.write(following).await.unwrap();
    let owner = following.owner.clone();
    let found = |owner, purchase, since| store.uncharged(owner, B256::repeat_byte(purchase), since);
    assert_eq!(found(&owner, 1, AT).await, Ok(Some(first.id.clone())));
    for (owner, purchase, since) in [
        (owner.as_str(), 1, AT + 1),
        (owner.as_str(), 2, AT),
        ("eip155:196:0x", 1, AT),
    ] {
        assert_eq!(found(owner, purchase, since).await, Ok(None));
    }
    // Other payments of the purchase begin nothing, even a day later. The same payment gets its
    // intent.
    let last = AT + CHARGED_WITHIN_SECONDS;
    for created_at in [AT, last] {
        let second = store.insert(bought(61, 1, created_at), None).await;
        assert_eq!(second, uncharged);
    }
    assert_eq!(store.of_payment(payment(61)).await, Ok(None));
    let again = Intent {
        payment: payment(60),
        ..bought(61, 1, AT)
    };
    assert_eq!(store.insert(again, None).await, Ok(following.clone()));
    // Other purchases begin, and so does this one when the first intent is charged or too old.
    store.insert(bought(62, 2, AT), None).await.unwrap();
    store.insert(intent(63, 63, 63), None).await.unwrap();
    let later = Intent {
        awaits_charge: false,
        ..bought(64, 1, last + 1)
    };
    store.insert(later, None).await.unwrap();
    let charged = Intent {
        awaits_charge: false,
        ..following
    };
    store.write(charged).await.unwrap();
    store.insert(bought(61, 1, AT), None).await.unwrap();
}

/// Checks that only intents are listed whose calls may still have to be charged, each once.
async fn lists_the_uncharged_in_pages(store: &dyn Store) {
    const AT: u64 = 5_000;
    let mut expected = Vec::new();
    for (number, at) in [(32, AT), (31, AT), (33, AT + 1), (34, AT + 2), (35, AT + 2)] {
        let listed = stored(store, number, at, |it| it.state = State::Following).await;
        expected.push((at, Some(listed.id)));
    }
    expected.sort();
    stored(store, 36, AT, |it| it.state = State::Cancelled).await;
    stored(store, 37, AT - 1, |it| it.state = State::Following).await;
    stored(store, 38, AT, |it| {
        (it.state, it.awaits_charge) = (State::Following, false);
    })
    .await;
    let mut listed = Vec::new();
    let mut after = (AT, None);
    loop {
        let page = store.awaiting_charge(after, 2).await.unwrap();
        assert!(page.len() <= 2);
        listed.extend(page.clone());
        match page.last() {
            Some(last) => after = last.clone(),
            None => break,
        }
    }
    assert_eq!(listed, expected);
}

/// Checks that what cost nobody anything is deleted after its time, and nothing else.
async fn forgets_the_empty(store: &dyn Store) {
    const AT: u64 = 90;
    let over = |it: &mut Intent| (it.state, it.is_final) = (State::Failed, true);
    let in_block = |is_success: bool| {
        let at = At {
            transaction: B256::ZERO,
            number: 1,
            block: B256::ZERO,
        };
        let sealed = Status::Sealed {
            at,
            gas_limit: 21_000,
            received: None,
        };
        let status = if is_success {
            sealed
        } else {
            Status::Reverted { at }
        };
        vec![Step { status, ..unsent() }]
    };
    let mut empty = Vec::new();
    for number in 41..44 {
        empty.push(stored(store, number, AT - 1, over).await);
    }
    let sent = |it: &mut Intent| {
        over(it);
        it.steps = vec![unsent()];
    };
    empty.push(stored(store, 44, AT - 1, sent).await);
    let kept = [
        stored(store, 45, AT, over).await,
        stored(store, 46, AT - 1, |it| it.state = State::Following).await,
        // A reorganisation may still give it an effect.
        stored(store, 47, AT - 1, |it| {
            sent(it);
            it.is_final = false;
        })
        .await,
        stored(store, 48, AT - 1, |it| {
            over(it);
            it.steps = in_block(true);
        })
        .await,
        stored(store, 49, AT - 1, |it| {
            over(it);
            it.steps = in_block(false);
        })
        .await,
    ];
    store
        .forbid(payment(50), "cancelled", AT - 1)
        .await
        .unwrap();
    store.forbid(payment(51), "cancelled", AT).await.unwrap();

    let left = async || {
        let mut left = 0;
        for intent in &empty {
            left += usize::from(store.get(&intent.id).await.unwrap().is_some());
        }
        left
    };
    store.forget(AT - 1, 9).await.unwrap();
    assert_eq!(left().await, 4);
    // In pages.
    store.forget(AT, 3).await.unwrap();
    assert_eq!(left().await, 1);
    store.forget(AT, 3).await.unwrap();
    assert_eq!(left().await, 0);
    for intent in kept {
        assert_eq!(store.get(&intent.id).await.unwrap(), Some(intent));
    }
    assert_eq!(store.forbidden(payment(50)).await.unwrap(), None);
    assert!(store.forbidden(payment(51)).await.unwrap().is_some());
    // The payment begins another intent, as before.
    let again = store.insert(intent(52, 41, 41), None).await.unwrap();
    assert_eq!(again.payment, payment(41));
}

async fn keeps_its_promises(store: &dyn Store) {
    let first = store.insert(intent(1, 1, 1), None).await.unwrap();
    assert_eq!(first.revision, 1);
    // The same payment returns its intent.
    assert_eq!(store.insert(intent(2, 1, 1), None).await.unwrap(), first);
    // A wallet has one running intent. Another wallet is independent.
    let busy = store.insert(intent(3, 3, 1), None).await.unwrap_err();
    assert_eq!(
        busy,
        StoreError::Busy {
            running: first.id.clone()
        }
    );
    assert_eq!(
        store.is_busy(first.wallet).await.unwrap(),
        Some(first.id.clone())
    );
    let other = store.insert(intent(4, 4, 2), None).await.unwrap();
    assert_eq!(
        store.open().await.unwrap(),
        [first.id.clone(), other.id.clone()]
    );

    let followed = Intent {
        state: State::Following,
        ..first.clone()
    };
    let followed = store.write(followed).await.unwrap();
    assert!(followed.revision > first.revision);
    let stale = store.write(first.clone()).await.unwrap_err();
    assert_eq!(
        stale,
        StoreError::Conflict {
            id: first.id.clone()
        }
    );
    assert_eq!(store.is_busy(first.wallet).await.unwrap(), None);
    assert_eq!(store.get(&first.id).await.unwrap(), Some(followed.clone()));

    let ended = Intent {
        state: State::Cancelled,
        ..followed
    };
    let ended = store.write(ended).await.unwrap();
    assert_eq!(store.open().await.unwrap(), vec![other.id.clone()]);
    // An ended intent is listed until it is final. A reopened one is open, and blocks no other.
    assert_eq!(store.unsettled().await.unwrap(), vec![ended.id.clone()]);
    let reopened = Intent {
        state: State::Reopened,
        ..ended
    };
    let reopened = store.write(reopened).await.unwrap();
    assert!(store.unsettled().await.unwrap().is_empty());
    assert_eq!(store.open().await.unwrap().len(), 2);
    assert_eq!(store.is_busy(reopened.wallet).await.unwrap(), None);
    // While a reorganisation may give the intent an effect, its payment begins no other one.
    let failed = Intent {
        state: State::Failed,
        steps: vec![unsent()],
        ..reopened
    };
    let failed = store.write(failed).await.unwrap();
    assert_eq!(
        store.insert(intent(5, 1, 1), None).await.unwrap(),
        failed.clone()
    );
    let last = Intent {
        state: State::Cancelled,
        is_final: true,
        ..failed
    };
    let ended = store.write(last).await.unwrap();
    assert_eq!(store.open().await.unwrap(), vec![other.id.clone()]);
    assert!(store.unsettled().await.unwrap().is_empty());
    // The intent had no effect and gets none, so its payment may begin another one.
    let again = store.insert(intent(5, 1, 1), None).await.unwrap();
    assert_ne!(again.id, ended.id);
    assert_eq!(
        store.of_payment(payment(1)).await.unwrap(),
        Some(again.clone())
    );
    assert_eq!(store.of_payment(payment(9)).await.unwrap(), None);
    let newest = store.of_owner(&other.owner, 0, 2).await.unwrap();
    assert_eq!(newest.first(), Some(&other));
    assert_eq!(newest.len(), 2);
    assert!(
        store
            .of_owner("eip155:196:0x", 0, 9)
            .await
            .unwrap()
            .is_empty()
    );

    forbids(store).await;
    lists_the_uncharged_in_pages(store).await;
    forgets_the_empty(store).await;
    begins_no_purchase_twice(store).await;
}

#[tokio::test]
async fn a_file_keeps_its_promises_and_its_content() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("service.wallets.db");
    let store = SqliteStore::open(path.clone()).unwrap();
    keeps_its_promises(&store).await;
    let kept = store.of_payment(payment(1)).await.unwrap();
    drop(store);
    let again = SqliteStore::open(path).unwrap();
    assert_eq!(again.of_payment(payment(1)).await.unwrap(), kept);
    assert_eq!(
        again.forbidden(payment(20)).await.unwrap().as_deref(),
        Some("cancelled")
    );
    assert_ne!(payment(1), B256::ZERO);
}

#[tokio::test]
async fn a_store_in_memory_keeps_the_same_promises() {
    keeps_its_promises(&Memory::default()).await;
}

/// Opens a database twice. `None` when there is no database; the test then does nothing.
async fn stores() -> Option<(Schema, [Arc<dyn Store>; 2])> {
    let schema = Schema::new()?;
    let stores: [Arc<dyn Store>; 2] = [
        Arc::new(PostgresStore::open(schema.connect()).await.unwrap()),
        Arc::new(PostgresStore::open(schema.connect()).await.unwrap()),
    ];
    Some((schema, stores))
}

#[tokio::test]
async fn a_database_keeps_its_promises_and_is_shared() {
    let Some((_schema, [one, two])) = stores().await else {
        return;
    };
    keeps_its_promises(&*one).await;
    let kept = one.of_payment(payment(1)).await.unwrap();
    assert!(kept.is_some());
    assert_eq!(two.of_payment(payment(1)).await.unwrap(), kept);
    assert_eq!(
        two.forbidden(payment(20)).await.unwrap().as_deref(),
        Some("cancelled")
    );
}

/// Runs `race` with each number below 16 at the same time, on the two handles in turn.
async fn race<T, F>(stores: &[Arc<dyn Store>; 2], race: impl Fn(u8, Arc<dyn Store>) -> F) -> Vec<T>
where
    T: Send + 'static,
    F: Future<Output = T> + Send + 'static,
{
    let mut races = tokio::task::JoinSet::new();
    for number in 0..16 {
        let store = &stores[usize::from(number % 2)];
        races.spawn(race(number, Arc::clone(store)));
    }
    races.join_all().await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn orders_race_in_two_processes() {
    let Some((_schema, stores)) = stores().await else {
        return;
    };
    // Many orders with one payment give one intent.
    let same = |number, store: Arc<dyn Store>| async move {
        store.insert(intent(number, 1, 1), None).await.unwrap().id
    };
    let ids = race(&stores, same).await;
    assert!(ids.iter().all(|id| *id == ids[0]));
    assert_eq!(stores[0].open().await.unwrap(), ids[..1]);

    // Many payments for one wallet: one of them begins, and the others are refused with its id.
    let others = |number, store: Arc<dyn Store>| async move {
        store
            .insert(intent(100 + number, 100 + number, 2), None)
            .await
    };
    let begun = race(&stores, others).await;
    let running = stores[1].is_busy(Address::repeat_byte(2)).await.unwrap();
    let running = running.unwrap();
    let mut made = 0;
    for begun in begun {
        match begun {
            Ok(intent) => {
                assert_eq!(intent.id, running);
                made += 1;
            }
            Err(refused) => {
                let running = running.clone();
                assert_eq!(refused, StoreError::Busy { running });
            }
        }
    }
    assert_eq!(made, 1);

    // A payment whose intent had no effect begins another one, and only one.
    let kept = stores[0].get(&running).await.unwrap().unwrap();
    let number = u8::try_from(kept.created_at - 100).unwrap();
    let ended = Intent {
        state: State::Failed,
        ..kept
    };
    stores[0].write(ended).await.unwrap();
    let again = move |id, store: Arc<dyn Store>| async move {
        store
            .insert(intent(200 + id, number, 2), None)
            .await
            .unwrap()
            .id
    };
    let ids = race(&stores, again).await;
    assert!(ids.iter().all(|id| *id == ids[0] && *id != running));
}

/// Each driver of an intent writes on the condition of its last reading. Of many drivers, one
/// continues. A driver that was suspended writes nothing.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn drivers_race_in_two_processes() {
    let Some((_schema, stores)) = stores().await else {
        return;
    };
    let read = stores[0].insert(intent(1, 1, 1), None).await.unwrap();
    let sleeper = read.clone();
    let drive = |number: u8, store: Arc<dyn Store>| {
        let halted = Some(number.to_string());
        let next = Intent {
            halted,
            ..read.clone()
        };
        async move { store.write(next).await }
    };
    let written = race(&stores, drive).await;
    let made: Vec<&Intent> = written.iter().flatten().collect();
    assert_eq!(made.len(), 1);
    let kept = stores[1].get(&read.id).await.unwrap();
    assert_eq!(kept.as_ref(), Some(made[0]));
    let late = stores[1].write(sleeper.clone()).await;
    assert_eq!(late, Err(StoreError::Conflict { id: sleeper.id }));
}

/// An order and its prohibition always see each other: either the order came first, or it never
/// begins.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_order_and_its_prohibition_race() {
    let Some((_schema, [one, two])) = stores().await else {
        return;
    };
    for number in 0..32 {
        let (insert, forbid) = tokio::join!(
            one.insert(intent(number, number, number), None),
            two.forbid(payment(number), "cancelled", 7)
        );
        let forbidden = forbid.unwrap();
        match insert {
            Ok(intent) => assert_eq!(forbidden.intent, Some(intent)),
            Err(refused) => {
                let reason = "cancelled".to_owned();
                assert_eq!(refused, StoreError::Forbidden { reason });
                assert_eq!(forbidden.intent, None);
            }
        }
    }
}

/// After a failover, a replica may lack the last commits.
#[tokio::test]
async fn a_write_with_a_revision_that_the_database_has_lost_is_refused() {
    let Some((schema, [one, two])) = stores().await else {
        return;
    };
    let read = one.insert(intent(1, 1, 1), None).await.unwrap();
    schema.keep().await;
    let lost = one.write(read.clone()).await.unwrap();
    schema.lose().await;
    let cancelled = Intent {
        state: State::Cancelled,
        ..read
    };
    let cancelled = two.write(cancelled).await.unwrap();
    // The cancelled intent does not begin again.
    let id = lost.id.clone();
    assert_eq!(one.write(lost).await, Err(StoreError::Conflict { id }));
    assert_eq!(two.get(&cancelled.id).await, Ok(Some(cancelled)));
}

/// Makes a table of claims, as another component may have it: one row for each claimed payment.
/// Returns the database, and the condition that the payment is claimed.
async fn claims(schema: &Schema) -> (Postgres, Condition) {
    let database = schema.connect();
    for sql in [
        "CREATE TABLE claimed (number bigint PRIMARY KEY)",
        "INSERT INTO claimed VALUES (7)",
    ] {
        database.query("claim", sql, &[]).await.unwrap();
    }
    let sql = "SELECT number FROM claimed WHERE number = $1 FOR SHARE";
    (database, Condition::new(sql, vec![7]))
}

/// A call whose payment was released meanwhile begins nothing, and changes nothing of the payment's
/// earlier intent.
#[tokio::test]
async fn an_intent_is_stored_only_while_its_payment_is_claimed() {
    let Some((schema, [one, two])) = stores().await else {
        return;
    };
    let (database, claim) = claims(&schema).await;
    let begun = one.insert(intent(1, 1, 1), Some(claim.clone())).await;
    let ended = Intent {
        state: State::Failed,
        ..begun.unwrap()
    };
    let ended = two.write(ended).await.unwrap();
    let release = "DELETE FROM claimed";
    database.query("release", release, &[]).await.unwrap();
    let late = one.insert(intent(2, 1, 1), Some(claim)).await;
    assert_eq!(late, Err(StoreError::ClaimLost));
    assert_eq!(two.of_payment(payment(1)).await, Ok(Some(ended)));
    assert!(two.open().await.unwrap().is_empty());
}
