//! A plan in the records, from its acceptance to its end.

use std::sync::Arc;

use alloy_primitives::B256;
use calldata_checks::StepKind;
use delegation_fence::{Block, Budget, Event, HaltReason, LogEvent, Rule, Transaction};
use fence_server::{Change, Store, StoreError, Write};

use super::{ended, granted, log_of};
use crate::sample::{ACCOUNT, NOW};
use crate::stage::{BUDGET, DAY, GRANT_ID, StoreLocation, acceptance, at, look, write};

/// A store that has a grant.
async fn with_grant() -> (StoreLocation, Arc<dyn Store>) {
    let location = StoreLocation::new();
    let store = location.open();
    let granted = write(&look(&*store).await, granted(GRANT_ID));
    store.write(granted).await.unwrap();
    (location, store)
}

#[tokio::test]
async fn a_plan_is_accepted_once_and_carried_to_its_end() {
    let (location, store) = with_grant().await;
    let view = look(&*store).await;
    let accepted = acceptance(&view, 1_000_000_007).unwrap();
    let plan = accepted.admitted.payload_digest;
    let accept = Change::Accept(Box::new(accepted.clone()));
    store.write(write(&view, accept.clone())).await.unwrap();

    // Another plan waits, and the same plan is not accepted again.
    let view = store.view(ACCOUNT, GRANT_ID, Some(plan)).await.unwrap();
    assert_eq!(view.plan, Some((plan, accepted.admitted.order_digest)));
    let other = acceptance(&look(&*store).await, 1_000_000_008);
    assert_eq!(other.unwrap_err(), "plan_in_flight");
    let again = store.write(write(&view, accept)).await;
    assert_eq!(again, Err(StoreError::Conflict { account: ACCOUNT }));

    // Only the holder of the lease continues.
    let lease = store
        .acquire(ACCOUNT, "one", at(NOW), 60)
        .await
        .unwrap()
        .unwrap();
    assert_eq!(store.acquire(ACCOUNT, "two", at(NOW), 60).await, Ok(None));
    let later = location.open();
    let taken = later
        .acquire(ACCOUNT, "two", at(NOW + 60), 60)
        .await
        .unwrap()
        .unwrap();
    assert!(taken.token > lease.token);
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

    // A revocation between reading and writing is noticed.
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

    for event in [Event::Unsent(reset)].into_iter().chain(halted()) {
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
    let (_location, store) = with_grant().await;
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

/// The last events of a plan that ends without a transaction.
fn halted() -> [Event; 3] {
    let halting = Event::Halting {
        at: StepKind::ApproveReset,
        reason: HaltReason::Refused(Rule::GrantRevoked),
    };
    let block = Block {
        number: 7,
        hash: B256::repeat_byte(7),
    };
    let allowance = alloy_primitives::U256::ZERO;
    let read = Event::ReadBack { allowance, block };
    [halting, read, Event::Finished]
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
    let (_location, store) = with_grant().await;
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

    // The real cost counts from now on.
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
    // The owner's next plan waits for the end of this one.
    let lease = store.acquire(ACCOUNT, "one", at(NOW), 60).await;
    let lease = lease.unwrap().unwrap();
    for event in halted() {
        let kept = store.submission(plan).await.unwrap().unwrap();
        let written = kept.append(event, lease, at(NOW + 1)).unwrap();
        store.write(written).await.unwrap();
    }
    let view = look(&*store).await;
    let tomorrow = Write {
        at: at(NOW + DAY),
        ..write(&view, change)
    };
    store.write(tomorrow).await.unwrap();
}
