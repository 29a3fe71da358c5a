//! What every store has to do. A store of another kind runs the same.

use alloy_primitives::B256;
use calldata_checks::StepKind;
use delegation_fence::{
    Block, Budget, Entry, Event, HaltReason, Instance, LogEvent, Record, Rule, Transaction,
    verify_log,
};
use fence_server::{Change, StoreError, Write};

use crate::{
    sample::{ACCOUNT, NOW},
    stage::{
        BUDGET, DAY, GRANT_ID, NOBODY, Shelf, acceptance, at, fence_policy, grant, instance, limit,
        look, now, owner, received, revocation, write,
    },
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
    }
}

fn log_of(records: &[Record]) -> Vec<LogEvent> {
    let text: Vec<String> = records.iter().map(Record::to_json).collect();
    verify_log([format!("[{}]", text.join(",")).as_str()]).unwrap();
    records.iter().map(Record::event).collect()
}

#[tokio::test]
async fn what_was_written_is_read_by_another_process() {
    let shelf = Shelf::new();
    let (one, two) = (shelf.open(), shelf.open());
    let empty = look(&*one).await;
    assert_eq!((empty.version, &empty.grant), (0, &None));

    assert_eq!(one.write(write(&empty, granted(GRANT_ID))).await, Ok(1));
    let view = look(&*two).await;
    let tight = instance()
        .receive_limit(limit(7), owner().address(), now())
        .unwrap();
    let change = Change::Limit(Box::new(tight));
    assert_eq!(two.write(write(&view, change)).await, Ok(2));

    let view = look(&*one).await;
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

    // A grant of another instance is none here.
    let elsewhere = Instance {
        domain: delegation_fence::Domain::new(8453, B256::ZERO),
        ..instance()
    };
    let refusal = view.account(&elsewhere).unwrap_err();
    assert_eq!(refusal.rule, Rule::DomainSaltMismatch);
}

#[tokio::test]
async fn of_two_writes_on_one_reading_one_is_made() {
    let shelf = Shelf::new();
    let (one, two) = (shelf.open(), shelf.open());
    let (first, second) = (look(&*one).await, look(&*two).await);
    one.write(write(&first, granted(GRANT_ID))).await.unwrap();
    let late = two.write(write(&second, ended(GRANT_ID, NOW))).await;
    assert_eq!(late, Err(StoreError::Conflict { account: ACCOUNT }));
    assert_eq!(look(&*one).await.ended, None);
    assert_eq!(one.log(ACCOUNT, GRANT_ID, 0, 9).await.unwrap().len(), 1);
}

#[tokio::test]
async fn an_end_stays_and_is_recorded_once() {
    let shelf = Shelf::new();
    let store = shelf.open();
    // Before its grant.
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
    let shelf = Shelf::new();
    let store = shelf.open();
    for change in [
        granted(GRANT_ID),
        granted(OTHER_ID),
        ended(OTHER_ID, NOW - 3),
        ended(B256::ZERO, NOW),
        // It only moves forward.
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
async fn a_plan_is_accepted_once_and_carried_to_its_end() {
    let shelf = Shelf::new();
    let store = shelf.open();
    store
        .write(write(&look(&*store).await, granted(GRANT_ID)))
        .await
        .unwrap();
    let view = look(&*store).await;
    let accepted = acceptance(&view, 1_000_000_007).unwrap();
    let plan = accepted.admitted.payload_digest;
    let accept = Change::Accept(Box::new(accepted.clone()));
    store.write(write(&view, accept.clone())).await.unwrap();

    // Another plan waits, the same one is not accepted again.
    let view = store.view(ACCOUNT, GRANT_ID, Some(plan)).await.unwrap();
    assert_eq!(view.plan, Some((plan, accepted.admitted.order_digest)));
    let other = acceptance(&look(&*store).await, 1_000_000_008);
    assert_eq!(other.unwrap_err(), "plan_in_flight");
    let again = store.write(write(&view, accept)).await;
    assert_eq!(again, Err(StoreError::Conflict { account: ACCOUNT }));

    // Only who has the lease goes on.
    let lease = store
        .acquire(ACCOUNT, "one", at(NOW), 60)
        .await
        .unwrap()
        .unwrap();
    assert_eq!(store.acquire(ACCOUNT, "two", at(NOW), 60).await, Ok(None));
    let later = shelf.open();
    let taken = later
        .acquire(ACCOUNT, "two", at(NOW + 60), 60)
        .await
        .unwrap()
        .unwrap();
    assert_eq!(taken.token, lease.token + 1);
    let reset = Transaction::Step(StepKind::ApproveReset);
    let kept = store.submission(plan).await.unwrap().unwrap();
    assert_eq!((&kept.admitted, kept.is_open), (&accepted.admitted, true));
    assert_eq!(kept.envelope, accepted.envelope);
    let stale = kept.append(Event::Ordered(reset), lease, at(NOW)).unwrap();
    assert_eq!(
        store.write(stale).await,
        Err(StoreError::Fenced { account: ACCOUNT })
    );
    let next = kept.append(Event::Ordered(reset), taken, at(NOW)).unwrap();
    store.write(next.clone()).await.unwrap();
    assert_eq!(
        store.write(next).await,
        Err(StoreError::Conflict { account: ACCOUNT })
    );

    // A revocation between reading and writing is seen.
    let kept = store.submission(plan).await.unwrap().unwrap();
    store
        .write(write(&kept.view, ended(GRANT_ID, NOW)))
        .await
        .unwrap();
    let late = kept.append(Event::Unsent(reset), taken, at(NOW)).unwrap();
    assert_eq!(
        store.write(late).await,
        Err(StoreError::Conflict { account: ACCOUNT })
    );

    let block = Block {
        number: 7,
        hash: B256::repeat_byte(7),
    };
    let halting = Event::Halting {
        at: StepKind::ApproveReset,
        reason: HaltReason::Refused(Rule::GrantRevoked),
    };
    let read = Event::ReadBack {
        allowance: alloy_primitives::U256::ZERO,
        block,
    };
    for event in [Event::Unsent(reset), halting, read, Event::Finished] {
        let kept = store.submission(plan).await.unwrap().unwrap();
        assert_eq!(store.sendings(at(NOW + 99)).await, Ok(vec![plan]));
        store
            .write(kept.append(event, taken, at(NOW + 1)).unwrap())
            .await
            .unwrap();
    }
    let kept = store.submission(plan).await.unwrap().unwrap();
    assert!(!kept.is_open);
    assert_eq!(kept.sending().unwrap().state().as_str(), "halted_clean");
    assert_eq!(store.sendings(at(NOW + 99)).await, Ok(vec![]));
    assert_eq!(store.sendings(at(NOW)).await, Ok(vec![plan]));
    assert_eq!(look(&*store).await.in_flight, None);
    let records = store.log(ACCOUNT, GRANT_ID, 0, 99).await.unwrap();
    let told = log_of(&records);
    let expected = [
        LogEvent::Granted,
        LogEvent::Admitted,
        LogEvent::Ordered,
        LogEvent::Revoked,
        LogEvent::Lost,
        LogEvent::Halted,
        LogEvent::ReadBack,
        LogEvent::Finished,
    ];
    assert_eq!(told, expected);
    assert_eq!(records[5].refused_by(), Some("grant_revoked"));
}

#[tokio::test]
async fn a_plan_counts_from_the_order_of_its_third_step() {
    let shelf = Shelf::new();
    let store = shelf.open();
    store
        .write(write(&look(&*store).await, granted(GRANT_ID)))
        .await
        .unwrap();
    let view = look(&*store).await;
    let accepted = acceptance(&view, 1_000_000_007).unwrap();
    let plan = accepted.admitted.payload_digest;
    let amount = accepted.admitted.amount;
    store
        .write(write(&view, Change::Accept(Box::new(accepted))))
        .await
        .unwrap();
    let lease = store
        .acquire(ACCOUNT, "one", at(NOW), 60)
        .await
        .unwrap()
        .unwrap();
    let sealed = |kind, allowance| Event::Sealed {
        transaction: Transaction::Step(kind),
        hash: B256::repeat_byte(1),
        block: Block {
            number: 7,
            hash: B256::repeat_byte(7),
        },
        effective: true,
        allowance,
    };
    let ordered = |kind| Event::Ordered(Transaction::Step(kind));
    for event in [
        ordered(StepKind::ApproveReset),
        sealed(StepKind::ApproveReset, alloy_primitives::U256::ZERO),
        ordered(StepKind::Approve),
        sealed(StepKind::Approve, amount),
    ] {
        let kept = store.submission(plan).await.unwrap().unwrap();
        store
            .write(kept.append(event, lease, at(NOW + 2)).unwrap())
            .await
            .unwrap();
    }
    assert_eq!(look(&*store).await.uses, []);
    let kept = store.submission(plan).await.unwrap().unwrap();
    let call = kept
        .append(ordered(StepKind::Call), lease, at(NOW + 3))
        .unwrap();
    store.write(call).await.unwrap();
    let kept = store.submission(plan).await.unwrap().unwrap();
    let unsent = Event::Unsent(Transaction::Step(StepKind::Call));
    store
        .write(kept.append(unsent, lease, at(NOW + 4)).unwrap())
        .await
        .unwrap();
    let uses = look(&*store).await.uses;
    assert_eq!(uses.len(), 1);
    assert_eq!((uses[0].payload_digest, uses[0].amount), (plan, amount));
    assert_eq!(uses[0].signed_at, at(NOW + 3));
}

fn budget(of_plan: u64, of_account: u64, of_all: u64) -> Budget {
    Budget {
        of_plan,
        of_account,
        of_all,
        ..BUDGET
    }
}

#[tokio::test]
async fn gas_is_within_the_budgets_of_a_day() {
    let shelf = Shelf::new();
    let store = shelf.open();
    store
        .write(write(&look(&*store).await, granted(GRANT_ID)))
        .await
        .unwrap();
    let view = look(&*store).await;
    let accept = |of_plan, of_account, of_all| {
        let mut accepted = acceptance(&view, 1_000_000_007).unwrap();
        accepted.budget = budget(of_plan, of_account, of_all);
        write(&view, Change::Accept(Box::new(accepted)))
    };
    for exhausted in [accept(10, 9, 99), accept(10, 99, 9)] {
        let error = store.write(exhausted).await.unwrap_err();
        assert_eq!(error.code(), "gas_budget_exhausted");
    }
    assert_eq!(look(&*store).await.version, view.version);
    store.write(accept(10, 10, 10)).await.unwrap();

    // What it really cost counts from now on.
    let plan = acceptance(&view, 1_000_000_007)
        .unwrap()
        .admitted
        .payload_digest;
    let gas = Change::Gas {
        payload_digest: plan,
        micro_usd: 4,
    };
    store.write(write(&look(&*store).await, gas)).await.unwrap();
    assert_eq!(
        store.submission(plan).await.unwrap().unwrap().gas_micro_usd,
        4
    );
    let mut second = acceptance(&view, 1_000_000_008).unwrap();
    second.budget = budget(10, 13, 99);
    let change = Change::Accept(Box::new(second));
    let view = look(&*store).await;
    let error = store.write(write(&view, change.clone())).await.unwrap_err();
    assert_eq!(error.code(), "gas_budget_exhausted");
    let tomorrow = Write {
        at: at(NOW + DAY),
        ..write(&view, change)
    };
    store.write(tomorrow).await.unwrap();
}

#[tokio::test]
async fn refusals_are_noted_once_and_not_without_end() {
    let shelf = Shelf::new();
    let store = shelf.open();
    let refusal = |plan: u8, rule| Entry {
        payload_digest: Some(B256::repeat_byte(plan)),
        refused_by: Some(rule),
        ..Entry::new(at(NOW), LogEvent::Refused)
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
    let next_day = Entry {
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
    let shelf = Shelf::new();
    let store = shelf.open();
    assert_eq!(store.installed().await, Ok(None));
    store.install(fence_policy(2), at(NOW)).await.unwrap();
    store.install(fence_policy(2), at(NOW + 1)).await.unwrap();
    let error = store.install(fence_policy(1), at(NOW)).await.unwrap_err();
    assert_eq!(error.code(), "fence_policy_not_newer");
    store.install(fence_policy(3), at(NOW)).await.unwrap();
    let installed = shelf.open().installed().await.unwrap().unwrap();
    assert_eq!(installed.policy().unwrap(), fence_policy(3));
    assert_eq!(
        installed.read_back(),
        delegation_fence::ReadBack::of(&fence_policy(3))
    );
}

#[tokio::test]
async fn a_lease_is_one_holders_at_a_time() {
    let shelf = Shelf::new();
    let (one, two) = (shelf.open(), shelf.open());
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
    // The clock was set back: a lease that ends later than one taken now could is over.
    let second = two
        .acquire(NOBODY, "two", at(10), 60)
        .await
        .unwrap()
        .unwrap();
    assert_eq!(second.token, first.token + 1);
    one.give_back(first, "one").await.unwrap();
    assert_eq!(one.acquire(NOBODY, "one", at(20), 60).await, Ok(None));
    two.give_back(second, "two").await.unwrap();
    let third = one
        .acquire(NOBODY, "one", at(20), 60)
        .await
        .unwrap()
        .unwrap();
    assert_eq!(third.token, second.token + 1);
    one.probe().await.unwrap();
}
