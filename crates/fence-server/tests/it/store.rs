//! The promises of every store. A store of another kind runs the same tests.

mod lost;
mod plans;

use alloy_primitives::B256;
use delegation_fence::{Instance, LogEntry, LogEvent, LogRecord, Rule, verify_log};
use fence_server::{Change, Holder, StoreError};

use crate::sample::{ACCOUNT, NOW};
use crate::stage::{
    DAY, GRANT_ID, NOBODY, StoreLocation, at, fence_policy, grant, instance, limit, look, now,
    owner, received, revocation, write,
};

const OTHER_ID: B256 = B256::repeat_byte(0x23);

fn granted(grant_id: B256) -> Change {
    Change::Grant(Box::new(received(grant(grant_id))), Vec::new())
}

fn ended(grant_id: B256, ended_at: u64) -> Change {
    Change::End {
        grant_id,
        ended_at,
        signed: Some(Box::new(revocation(grant_id, ended_at))),
        holder: Holder::Known,
    }
}

fn log_of(records: &[LogRecord]) -> Vec<LogEvent> {
    let text: Vec<String> = records.iter().map(LogRecord::to_json).collect();
    verify_log([format!("[{}]", text.join(",")).as_str()]).unwrap();
    records.iter().map(LogRecord::event).collect()
}

#[tokio::test]
async fn records_are_read_by_another_process() {
    let location = StoreLocation::new();
    let (one, two) = (location.open(), location.open());
    let empty = look(&*one).await;
    assert_eq!((empty.version, &empty.grant), (0, &None));

    let first = one.write(write(&empty, granted(GRANT_ID))).await.unwrap();
    let view = look(&*two).await;
    assert_eq!(view.version, first);
    let tight = instance()
        .receive_limit(limit(7), owner().address(), now())
        .unwrap();
    let change = Change::Limit(Box::new(tight));
    let second = two.write(write(&view, change)).await.unwrap();
    assert!(second > first);

    let view = look(&*one).await;
    assert_eq!(view.version, second);
    assert_eq!(view.grant.as_ref().unwrap().owner, owner().address());
    let account = view.account(&instance()).unwrap();
    let policy = fence_policy(1);
    let standing = account.standing(GRANT_ID, &policy, now()).unwrap();
    let active = standing.require_active().unwrap();
    assert_eq!(active.cap(), alloy_primitives::U256::from(7));
    let records = one.log(ACCOUNT, GRANT_ID, 0, 9).await.unwrap();
    assert_eq!(log_of(&records), [LogEvent::Granted, LogEvent::Limited]);
    assert_eq!(
        two.log(ACCOUNT, GRANT_ID, 1, 9).await.unwrap(),
        records[1..]
    );

    // A grant of another instance does not count here.
    let elsewhere = Instance {
        domain: delegation_fence::Domain::new(8453, B256::ZERO),
        ..instance()
    };
    let refusal = view.account(&elsewhere).unwrap_err();
    assert_eq!(refusal.rule, Rule::DomainSaltMismatch);
}

#[tokio::test]
async fn of_two_writes_on_one_reading_one_is_made() {
    let location = StoreLocation::new();
    let (one, two) = (location.open(), location.open());
    let (first, second) = (look(&*one).await, look(&*two).await);
    one.write(write(&first, granted(GRANT_ID))).await.unwrap();
    let late = two.write(write(&second, ended(GRANT_ID, NOW))).await;
    assert_eq!(late, Err(StoreError::Conflict { account: ACCOUNT }));
    assert_eq!(look(&*one).await.ended, None);
    assert_eq!(one.log(ACCOUNT, GRANT_ID, 0, 9).await.unwrap().len(), 1);
}

#[tokio::test]
async fn an_end_stays_and_is_recorded_once() {
    let location = StoreLocation::new();
    let store = location.open();
    // The end arrives before its grant.
    store
        .write(write(&look(&*store).await, ended(GRANT_ID, NOW)))
        .await
        .unwrap();
    store
        .write(write(&look(&*store).await, ended(GRANT_ID, NOW + 5)))
        .await
        .unwrap();
    let view = look(&*store).await;
    assert_eq!(view.ended.unwrap().at, NOW);
    let account = view.account(&instance()).unwrap();
    assert_eq!(account.revoked_at(GRANT_ID), Some(NOW));
    let mut account = account;
    let refusal = account.receive(received(grant(GRANT_ID))).unwrap_err();
    assert_eq!(refusal.rule, Rule::GrantRevoked);
    let records = store.log(ACCOUNT, GRANT_ID, 0, 9).await.unwrap();
    assert_eq!(log_of(&records), [LogEvent::Revoked]);
}

#[tokio::test]
async fn an_end_of_all_is_in_the_log_of_each() {
    let location = StoreLocation::new();
    let store = location.open();
    for change in [
        granted(GRANT_ID),
        granted(OTHER_ID),
        ended(OTHER_ID, NOW - 3),
        ended(B256::ZERO, NOW),
        // The time of the end only moves forward.
        ended(B256::ZERO, NOW - 100),
    ] {
        store
            .write(write(&look(&*store).await, change))
            .await
            .unwrap();
    }
    for grant_id in [GRANT_ID, OTHER_ID] {
        let records = store.log(ACCOUNT, grant_id, 0, 9).await.unwrap();
        assert_eq!(log_of(&records), [LogEvent::Granted, LogEvent::Revoked]);
    }
    let records = store.log(ACCOUNT, B256::ZERO, 0, 9).await.unwrap();
    assert_eq!(log_of(&records), [LogEvent::Revoked]);
    let view = look(&*store).await;
    assert_eq!(view.ended_all.unwrap().at, NOW);
    assert_eq!(view.ended.unwrap().seq, 1);

    store
        .write(write(&view, ended(B256::ZERO, NOW + 60)))
        .await
        .unwrap();
    assert_eq!(look(&*store).await.ended_all.unwrap().at, NOW + 60);
    assert_eq!(store.log(ACCOUNT, B256::ZERO, 0, 9).await.unwrap().len(), 2);
}

#[tokio::test]
async fn refusals_are_noted_once_and_not_without_end() {
    let location = StoreLocation::new();
    let store = location.open();
    let refusal = |plan: u8, rule| LogEntry {
        payload_digest: Some(B256::repeat_byte(plan)),
        refused_by: Some(rule),
        ..LogEntry::new(at(NOW), LogEvent::Refused)
    };
    for (plan, rule) in [
        (1, Rule::PlanExpired),
        (1, Rule::PlanExpired),
        (1, Rule::GrantExpired),
        (2, Rule::PlanExpired),
        (3, Rule::PlanExpired),
    ] {
        store
            .note_refusal(ACCOUNT, GRANT_ID, refusal(plan, rule), 3)
            .await
            .unwrap();
    }
    let records = store.log(ACCOUNT, GRANT_ID, 0, 9).await.unwrap();
    assert_eq!(log_of(&records), [LogEvent::Refused; 3]);
    assert_eq!(look(&*store).await.version, 0);
    let next_day = LogEntry {
        at: at(NOW + DAY),
        ..refusal(3, Rule::PlanExpired)
    };
    store
        .note_refusal(ACCOUNT, GRANT_ID, next_day, 3)
        .await
        .unwrap();
    // A clock that was set back does not take the log's time back.
    store
        .note_refusal(ACCOUNT, GRANT_ID, refusal(4, Rule::PlanExpired), 9)
        .await
        .unwrap();
    let records = store.log(ACCOUNT, GRANT_ID, 0, 9).await.unwrap();
    assert_eq!(log_of(&records), [LogEvent::Refused; 5]);
}

#[tokio::test]
async fn a_policy_that_was_replaced_does_not_come_back() {
    let location = StoreLocation::new();
    let store = location.open();
    assert_eq!(store.installed().await, Ok(None));
    store.install(fence_policy(2), at(NOW)).await.unwrap();
    store.install(fence_policy(2), at(NOW + 1)).await.unwrap();
    let error = store.install(fence_policy(1), at(NOW)).await.unwrap_err();
    assert_eq!(error.code(), "fence_policy_not_newer");
    store.install(fence_policy(3), at(NOW)).await.unwrap();
    let installed = location.open().installed().await.unwrap().unwrap();
    assert_eq!(installed.policy().unwrap(), fence_policy(3));
    assert_eq!(
        installed.read_back(),
        delegation_fence::ReadBack::of(&fence_policy(3))
    );
}

#[tokio::test]
async fn a_lease_is_one_holders_at_a_time() {
    let location = StoreLocation::new();
    let (one, two) = (location.open(), location.open());
    let first = one
        .acquire(NOBODY, "one", at(100), 60)
        .await
        .unwrap()
        .unwrap();
    let renewed = one
        .acquire(NOBODY, "one", at(150), 60)
        .await
        .unwrap()
        .unwrap();
    assert_eq!(first, renewed);
    assert_eq!(two.acquire(NOBODY, "two", at(209), 60).await, Ok(None));
    // The clocks of processes differ a little.
    assert_eq!(two.acquire(NOBODY, "two", at(91), 60).await, Ok(None));
    // The clock was set back: a lease that ends later than one taken now is over.
    let second = two
        .acquire(NOBODY, "two", at(10), 60)
        .await
        .unwrap()
        .unwrap();
    assert!(second.token > first.token);
    one.give_back(first, "one").await.unwrap();
    assert_eq!(one.acquire(NOBODY, "one", at(20), 60).await, Ok(None));
    two.give_back(second, "two").await.unwrap();
    let third = one
        .acquire(NOBODY, "one", at(20), 60)
        .await
        .unwrap()
        .unwrap();
    assert!(third.token > second.token);
    one.probe().await.unwrap();
}
